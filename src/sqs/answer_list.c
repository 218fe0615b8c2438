// SPDX-License-Identifier: Apache-2.0
/* ListQueues and ListDeadLetterSourceQueues: pages of queue URLs in the order of their names. */
#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "sqs/call.h"
#include "sqs/name.h"

enum { PAGE_MAX = 1000 };

struct page {
    struct sqs_call *call;
    struct sqs_out *out;
    const char *dead_letter; /* only queues that redrive to this one; NULL: all */
    size_t n, max;
    char next[SQS_NAME_MAX + 1]; /* the first name that is left out; "" when none is */
};

static bool page_add(void *arg, struct queue_topic *t)
{
    struct page *page = arg;
    const struct topic_config *config = queue_topic_config(t);
    struct bytes name = bytes_of_text(config->name);
    if (page->dead_letter != NULL &&
        (config->receives_max == 0 || strcmp(config->dead_letter, page->dead_letter) != 0))
        return true;
    if (page->n == page->max) {
        memcpy(page->next, config->name, name.n + 1);
        return false;
    }
    page->n++;
    sqs_out_item_text(page->out, sqs_queue_url(page->call, name));
    return true;
}

/* The token is the next name in base64, which is why it goes with any prefix of that name. */
static bool read_token(struct sqs_call *c, struct bytes *from)
{
    struct bytes token = c->request.next_token, name;
    *from = BYTES_NONE;
    if (token.n == 0)
        return true;
    if (token.n > 200 || codec_base64_decode(token, c->arena, &name) != ERR_OK ||
        !sqs_name_valid(name, sqs_name_is_fifo(name)) || !bytes_start_with(name, c->request.prefix))
        return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Invalid or expired next token.");
    *from = name;
    return true;
}

static void answer_page(struct sqs_call *c, const char *json_name, const char *dead_letter)
{
    const struct sqs_integer *max = &c->request.max_results;
    struct bytes from;
    if (!sqs_check_ranges(c->action, &c->request, &c->fault) || !read_token(c, &from)) {
        sqs_reply_fault(c);
        return;
    }
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    struct page page = {
        .call = c,
        .out = &out,
        .dead_letter = dead_letter,
        .max = max->given ? (size_t)max->value : PAGE_MAX,
    };
    sqs_out_list_begin(&out, json_name, "QueueUrl");
    queue_topics_each(c->front->queue, c->request.prefix, from, page_add, &page);
    sqs_out_list_end(&out);
    if (page.next[0] != 0 && max->given)
        sqs_out_blob(&out, "NextToken", bytes_of_text(page.next));
    else
        sqs_out_absent(&out, "NextToken");
    sqs_reply_send(c, &out);
}

void sqs_answer_ListQueues(struct sqs_call *c)
{
    answer_page(c, "QueueUrls", NULL);
}

/* The one list whose JSON name begins with a small letter: AWS's clients see nothing else. */
void sqs_answer_ListDeadLetterSourceQueues(struct sqs_call *c)
{
    answer_page(c, "queueUrls", c->config->name);
}

// SPDX-License-Identifier: Apache-2.0
/* TagQueue, UntagQueue, ListQueueTags. */
#include "base/check.h"
#include "sqs/attribute.h"
#include "sqs/call.h"

static char *text_of(struct sqs_call *c, struct bytes b)
{
    return (char *)(uintptr_t)arena_copy(c->arena, b).at;
}

static bool holds_zero(struct bytes b)
{
    return b.n > 0 && memchr(b.at, 0, b.n) != NULL;
}

/* ---- TagQueue ---- */

static enum err add(void *arg, struct topic_config *settings)
{
    struct sqs_call *c = arg;
    const struct sqs_pairs *tags = &c->request.tags;
    for (size_t i = 0; i < tags->n; i++)
        topic_tag_set(settings, text_of(c, tags->at[i].name), text_of(c, tags->at[i].value));
    if (settings->tags_n <= TOPIC_TAGS_MAX)
        return ERR_OK;
    sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE, "Too many tags added for queue %s.",
                  settings->name);
    return ERR_INVALID;
}

static void change(struct sqs_call *c, enum err (*how)(void *arg, struct topic_config *settings))
{
    enum err e = queue_topic_change(c->topic, how, c);
    if (e != ERR_OK && c->fault.code == SQS_FAULT_NONE)
        (void)sqs_fault_of_err(&c->fault, e);
}

static void tag_work(struct sqs_call *c)
{
    change(c, add);
}

void sqs_answer_TagQueue(struct sqs_call *c)
{
    if (!sqs_tags_check(&c->request.tags, bytes_of_text(c->config->name), &c->fault))
        sqs_reply_fault(c);
    else
        sqs_call_run(c, tag_work, sqs_reply_fault_or_empty);
}

/* ---- UntagQueue ---- */

/* What is not there need not be taken away. */
static enum err take_away(void *arg, struct topic_config *settings)
{
    struct sqs_call *c = arg;
    const struct sqs_texts *keys = &c->request.tag_keys;
    for (size_t i = 0; i < keys->n; i++)
        if (!holds_zero(keys->at[i]))
            topic_tag_set(settings, text_of(c, keys->at[i]), NULL);
    return ERR_OK;
}

static void untag_work(struct sqs_call *c)
{
    change(c, take_away);
}

void sqs_answer_UntagQueue(struct sqs_call *c)
{
    sqs_call_run(c, untag_work, sqs_reply_fault_or_empty);
}

/* ---- ListQueueTags ---- */

void sqs_answer_ListQueueTags(struct sqs_call *c)
{
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    sqs_out_map_begin(&out, "Tags", "Tag", "Key");
    for (size_t i = 0; i < c->config->tags_n; i++)
        sqs_out_map_put(&out, bytes_of_text(c->config->tags[i].name),
                        bytes_of_text(c->config->tags[i].value));
    sqs_out_map_end(&out);
    sqs_reply_send(c, &out);
}

// SPDX-License-Identifier: Apache-2.0
/* SendMessage and SendMessageBatch. A single message is a batch of one, but for the form of its
 * answer and of its faults. */
#include <inttypes.h>

#include "base/check.h"
#include "base/codec.h"
#include "sqs/call.h"
#include "sqs/message.h"
#include "sqs/show.h"

struct send {
    size_t n;                         /* messages handed to the core */
    size_t entry_of[SQS_ENTRIES_MAX]; /* message → entry */
    struct queue_message messages[SQS_ENTRIES_MAX];
    struct queue_sent sent[SQS_ENTRIES_MAX];
    enum err errs[SQS_ENTRIES_MAX];
    struct sqs_failed failed[SQS_ENTRIES_MAX]; /* by entry */
};

static struct sqs_message_rules rules_of(struct sqs_call *c, bool batch)
{
    return (struct sqs_message_rules){
        .topic = c->config,
        .batch = batch,
        .trace = http_header(c->http, "X-Amzn-Trace-Id"),
    };
}

/* What was sent is answered with the digests of this request, also when the core found that it is
 * a duplicate: clients compare them with what they have just sent. */
static void put_sent(struct sqs_call *c, struct json_writer *w, const struct queue_message *m,
                     const struct sqs_entry *entry, const struct queue_sent *sent)
{
    uint8_t md5[16];
    json_put_key(w, "MD5OfMessageBody");
    sqs_show_md5(w, m->body_md5);
    if (m->attributes_n > 0) {
        json_put_key(w, "MD5OfMessageAttributes");
        sqs_attributes_md5(m->attributes, m->attributes_n, md5);
        sqs_show_md5(w, md5);
    }
    if (entry->system_attributes.n > 0) {
        json_put_key(w, "MD5OfMessageSystemAttributes");
        sqs_trace_md5(m->trace, md5);
        sqs_show_md5(w, md5);
    }
    json_put_key(w, "MessageId");
    sqs_show_uuid(w, sent->id);
    if (c->config->fifo) {
        json_put_key(w, "SequenceNumber");
        sqs_show_sequence(w, sent->number);
    }
}

/* ---- SendMessage ---- */

static void reply_one(struct sqs_call *c)
{
    struct send *send = c->state;
    if (send->errs[0] != ERR_OK) {
        sqs_reply_err(c, send->errs[0]);
        return;
    }
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    json_begin_object(&w);
    put_sent(c, &w, &send->messages[0], &c->request.one, &send->sent[0]);
    json_end_object(&w);
    json_writer_done(&w);
    sqs_reply_json(c, &body);
}

void sqs_answer_SendMessage(struct sqs_call *c)
{
    struct send *send = arena_zeros(c->arena, sizeof *send);
    struct sqs_message_rules rules = rules_of(c, false);
    c->state = send;
    if (!sqs_check_ranges(c->action, &c->request, &c->fault) ||
        !sqs_message_make(&rules, &c->request.one, c->arena, &send->messages[0], &c->fault)) {
        sqs_reply_fault(c);
        return;
    }
    queue_send(c->topic, send->messages, 1, send->sent, send->errs, &c->wait);
    sqs_call_commit(c, reply_one);
}

/* ---- SendMessageBatch ---- */

static bool check_total(struct sqs_call *c)
{
    const struct sqs_entries *e = &c->request.entries;
    size_t bytes = 0;
    for (size_t i = 0; i < e->n; i++)
        bytes += sqs_message_bytes(&e->at[i]);
    if (bytes <= SQS_BATCH_BYTES_MAX)
        return true;
    return sqs_fault_set(&c->fault, SQS_FAULT_BATCH_REQUEST_TOO_LONG,
                         "Batch requests cannot be longer than %d bytes. You have sent %zu bytes.",
                         SQS_BATCH_BYTES_MAX, bytes);
}

/* Makes the messages of the entries that may be sent. On a FIFO queue one bad entry fails them all,
 * for the ones behind it may depend on it. */
static bool make_all(struct sqs_call *c, struct send *send)
{
    struct sqs_message_rules rules = rules_of(c, true);
    for (size_t i = 0; i < c->request.entries.n; i++) {
        const struct sqs_entry *entry = &c->request.entries.at[i];
        struct sqs_fault fault = {.arena = c->arena};
        send->failed[i].id = entry->id;
        if (sqs_check_entry(c->action, &c->request, i, &fault) &&
            sqs_message_make(&rules, entry, c->arena, &send->messages[send->n], &fault)) {
            send->entry_of[send->n++] = i;
            continue;
        }
        if (c->config->fifo) {
            c->fault = fault;
            return false;
        }
        send->failed[i].code = fault.code;
        send->failed[i].text = fault.text;
    }
    return true;
}

static void put_successful(struct sqs_call *c, struct json_writer *w, const struct send *send)
{
    bool any = false;
    for (size_t i = 0; i < send->n; i++) {
        if (send->errs[i] != ERR_OK)
            continue;
        if (!any) {
            json_put_key(w, "Successful");
            json_begin_array(w);
            any = true;
        }
        const struct sqs_entry *entry = &c->request.entries.at[send->entry_of[i]];
        json_begin_object(w);
        json_put_key(w, "Id");
        json_put_string(w, entry->id);
        put_sent(c, w, &send->messages[i], entry, &send->sent[i]);
        json_end_object(w);
    }
    if (any)
        json_end_array(w);
}

/* The first error when nothing was stored and nothing is the client's fault: the whole request may
 * then be sent again, which clients do by themselves on a 503 but not on failed entries. */
static enum err common_error(const struct send *send, size_t entries_n)
{
    if (send->n < entries_n)
        return ERR_OK;
    for (size_t i = 0; i < send->n; i++)
        if (send->errs[i] == ERR_OK)
            return ERR_OK;
    return send->errs[0];
}

static void reply_batch(struct sqs_call *c)
{
    struct send *send = c->state;
    size_t entries_n = c->request.entries.n;
    enum err e = common_error(send, entries_n);
    if (e != ERR_OK) {
        sqs_reply_err(c, e);
        return;
    }
    for (size_t i = 0; i < send->n; i++) {
        if (send->errs[i] == ERR_OK)
            continue;
        struct sqs_fault fault = {.arena = c->arena};
        (void)sqs_fault_of_err(&fault, send->errs[i]);
        send->failed[send->entry_of[i]].code = fault.code;
        send->failed[send->entry_of[i]].text = fault.text;
    }
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    json_begin_object(&w);
    put_successful(c, &w, send);
    sqs_put_failed(&w, send->failed, entries_n);
    json_end_object(&w);
    json_writer_done(&w);
    sqs_reply_json(c, &body);
}

void sqs_answer_SendMessageBatch(struct sqs_call *c)
{
    struct send *send = arena_zeros(c->arena, sizeof *send);
    c->state = send;
    if (!sqs_check_batch(c->action, &c->request, &c->fault) || !check_total(c) ||
        !make_all(c, send)) {
        sqs_reply_fault(c);
        return;
    }
    if (send->n > 0)
        queue_send(c->topic, send->messages, send->n, send->sent, send->errs, &c->wait);
    sqs_call_commit(c, reply_batch);
}

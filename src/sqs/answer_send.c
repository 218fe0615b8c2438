// SPDX-License-Identifier: Apache-2.0
/* SendMessage and SendMessageBatch. A single message is a batch of one, but for the form of its
 * answer and of its faults. */
#include "base/check.h"
#include "front/rules.h"
#include "sqs/call.h"
#include "sqs/message.h"

/* With room for as many messages as there are entries. */
struct send {
    size_t n; /* messages handed to the core */
    struct queue_message *messages;
    struct queue_sent *sent;
    enum err *errs;
    size_t *entry_of;          /* of a batch: message → entry */
    struct sqs_failed *failed; /* by entry */
};

static struct send *send_new(struct sqs_call *c, size_t entries_n)
{
    struct send *send = arena_get(c->arena, sizeof *send);
    *send = (struct send){
        .messages = arena_get(c->arena, entries_n * sizeof *send->messages),
        .sent = arena_zeros(c->arena, entries_n * sizeof *send->sent),
        .errs = arena_zeros(c->arena, entries_n * sizeof *send->errs),
    };
    c->state = send;
    return send;
}

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
static void put_digests(struct sqs_out *out, const struct queue_message *m,
                        const struct sqs_entry *entry)
{
    uint8_t md5[16];
    sqs_out_md5(out, "MD5OfMessageBody", m->body_md5);
    if (m->attributes_n > 0) {
        sqs_attributes_md5(m->attributes, m->attributes_n, md5);
        sqs_out_md5(out, "MD5OfMessageAttributes", md5);
    }
    if (entry->system_attributes.n > 0) {
        sqs_trace_md5(m->trace, md5);
        sqs_out_md5(out, "MD5OfMessageSystemAttributes", md5);
    }
}

static void put_sequence(struct sqs_call *c, struct sqs_out *out, const struct queue_sent *sent)
{
    if (c->config->fifo)
        sqs_out_sequence(out, "SequenceNumber", sent->number);
}

/* OverLimit is what SQS answers when a quota of a queue is used up; it has none of its own for
 * messages that wait. */
static void set_fault(struct sqs_call *c, struct sqs_fault *f, const struct send *send, size_t i)
{
    char text[FRONT_FULL_TEXT_ROOM];
    if (send->errs[i] != ERR_TOPIC_FULL) {
        (void)sqs_fault_of_err(f, send->errs[i]);
        return;
    }
    front_full_text(c->config, &send->sent[i], text);
    (void)sqs_fault_set(f, SQS_FAULT_OVER_LIMIT, "The queue is full: %s.", text);
}

/* ---- SendMessage ---- */

static void reply_one(struct sqs_call *c)
{
    struct send *send = c->state;
    if (send->errs[0] != ERR_OK) {
        set_fault(c, &c->fault, send, 0);
        sqs_reply_fault(c);
        return;
    }
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    put_digests(&out, &send->messages[0], &c->request.one);
    sqs_out_uuid(&out, "MessageId", send->sent[0].id);
    put_sequence(c, &out, &send->sent[0]);
    sqs_reply_send(c, &out);
}

void sqs_answer_SendMessage(struct sqs_call *c)
{
    struct send *send = send_new(c, 1);
    struct sqs_message_rules rules = rules_of(c, false);
    if (!sqs_check_ranges(c->action, &c->request, &c->fault) ||
        !sqs_message_make(&rules, &c->request.one, c->arena, &send->messages[0], &c->fault)) {
        sqs_reply_fault(c);
        return;
    }
    sqs_call_send(c, send->messages, 1, send->sent, send->errs, reply_one);
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

static void put_successful(struct sqs_call *c, struct sqs_out *out, const struct send *send)
{
    sqs_out_list_begin(out, "Successful", "SendMessageBatchResultEntry");
    for (size_t i = 0; i < send->n; i++) {
        if (send->errs[i] != ERR_OK)
            continue;
        const struct sqs_entry *entry = &c->request.entries.at[send->entry_of[i]];
        sqs_out_item_begin(out);
        sqs_out_text(out, "Id", entry->id);
        sqs_out_uuid(out, "MessageId", send->sent[i].id);
        put_digests(out, &send->messages[i], entry);
        put_sequence(c, out, &send->sent[i]);
        sqs_out_item_end(out);
    }
    sqs_out_list_end(out);
}

/* The first error when nothing was stored and nothing is the client's fault: the whole request may
 * then be sent again, which clients do by themselves on a 503 but not on failed entries. */
static enum err common_error(const struct send *send, size_t entries_n)
{
    if (send->n < entries_n)
        return ERR_OK;
    for (size_t i = 0; i < send->n; i++)
        if (send->errs[i] == ERR_OK || send->errs[i] == ERR_TOPIC_FULL)
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
        set_fault(c, &fault, send, i);
        send->failed[send->entry_of[i]].code = fault.code;
        send->failed[send->entry_of[i]].text = fault.text;
    }
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    put_successful(c, &out, send);
    sqs_put_failed(&out, send->failed, entries_n);
    sqs_reply_send(c, &out);
}

void sqs_answer_SendMessageBatch(struct sqs_call *c)
{
    size_t entries_n = c->request.entries.n;
    struct send *send = NULL;
    if (sqs_check_batch(c->action, &c->request, &c->fault) && check_total(c)) {
        send = send_new(c, entries_n);
        send->entry_of = arena_get(c->arena, entries_n * sizeof *send->entry_of);
        send->failed = arena_zeros(c->arena, entries_n * sizeof *send->failed);
    }
    if (send == NULL || !make_all(c, send)) {
        sqs_reply_fault(c);
        return;
    }
    sqs_call_send(c, send->messages, send->n, send->sent, send->errs, reply_batch);
}

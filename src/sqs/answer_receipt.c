// SPDX-License-Identifier: Apache-2.0
/* DeleteMessage and ChangeMessageVisibility, and their batches: what is done to a message by its
 * receipt handle. */
#include "base/check.h"
#include "sqs/call.h"

enum { HANDLE_MAX = 1024 };

struct many {
    const char *xml_item; /* of one that went through */
    struct sqs_failed failed[SQS_ENTRIES_MAX];
};

static bool refuse_handle(struct bytes handle, struct sqs_fault *f)
{
    return sqs_fault_set(f, SQS_FAULT_RECEIPT_HANDLE_IS_INVALID,
                         "The input receipt handle \"%.*s\" is not a valid receipt handle.",
                         (int)(handle.n < HANDLE_MAX ? handle.n : HANDLE_MAX),
                         (const char *)handle.at);
}

static bool delete_one(struct sqs_call *c, const struct sqs_entry *entry, struct sqs_fault *f)
{
    enum err e = queue_delete(c->topic, entry->receipt, false, &c->wait);
    switch ((int)e) {
    case ERR_OK:
    case ERR_GONE: /* deleting again is a success */
        return true;
    case ERR_INVALID:
        return refuse_handle(entry->receipt, f);
    case ERR_LEASE_EXPIRED:
    case ERR_STALE_RECEIPT:
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter ReceiptHandle is invalid. Reason: The "
                             "receipt handle has expired.",
                             SQS_SHOW(entry->receipt));
    default:
        return sqs_fault_of_err(f, e);
    }
}

static bool change_one(struct sqs_call *c, const struct sqs_entry *entry, struct sqs_fault *f)
{
    const struct sqs_integer *seconds = &entry->visibility_s;
    enum err e = queue_extend(c->topic, entry->receipt, seconds->value * 1000, false, &c->wait);
    switch ((int)e) {
    case ERR_OK:
        return true;
    case ERR_INVALID:
        return refuse_handle(entry->receipt, f);
    case ERR_GONE:
    case ERR_LEASE_EXPIRED:
    case ERR_STALE_RECEIPT:
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter ReceiptHandle is invalid. Reason: Message "
                             "does not exist or is not available for visibility timeout change.",
                             SQS_SHOW(entry->receipt));
    case ERR_FULL: /* counted from the receive */
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter VisibilityTimeout is invalid. Reason: Total "
                             "VisibilityTimeout for the message is beyond the limit [43200 "
                             "seconds]",
                             SQS_SHOW(seconds->text));
    default:
        return sqs_fault_of_err(f, e);
    }
}

/* ---- one ---- */

/* A refusal read from the state waits for commit as well: what it saw may not be durable yet. */
void sqs_answer_DeleteMessage(struct sqs_call *c)
{
    (void)delete_one(c, &c->request.one, &c->fault);
    sqs_call_commit(c, sqs_reply_fault_or_empty);
}

void sqs_answer_ChangeMessageVisibility(struct sqs_call *c)
{
    if (!sqs_check_ranges(c->action, &c->request, &c->fault)) {
        sqs_reply_fault(c);
        return;
    }
    (void)change_one(c, &c->request.one, &c->fault);
    sqs_call_commit(c, sqs_reply_fault_or_empty);
}

/* ---- many ---- */

static void reply_many(struct sqs_call *c)
{
    const struct many *many = c->state;
    size_t n = c->request.entries.n;
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    sqs_out_list_begin(&out, "Successful", many->xml_item);
    for (size_t i = 0; i < n; i++) {
        if (many->failed[i].code != SQS_FAULT_NONE)
            continue;
        sqs_out_item_begin(&out);
        sqs_out_text(&out, "Id", many->failed[i].id);
        sqs_out_item_end(&out);
    }
    sqs_out_list_end(&out);
    sqs_put_failed(&out, many->failed, n);
    sqs_reply_send(c, &out);
}

static void answer_many(struct sqs_call *c, const char *xml_item,
                        bool (*one)(struct sqs_call *, const struct sqs_entry *,
                                    struct sqs_fault *))
{
    struct many *many = arena_zeros(c->arena, sizeof *many);
    c->state = many;
    many->xml_item = xml_item;
    if (!sqs_check_batch(c->action, &c->request, &c->fault)) {
        sqs_reply_fault(c);
        return;
    }
    for (size_t i = 0; i < c->request.entries.n; i++) {
        const struct sqs_entry *entry = &c->request.entries.at[i];
        struct sqs_fault fault = {.arena = c->arena};
        if (sqs_check_entry(c->action, &c->request, i, &fault))
            (void)one(c, entry, &fault);
        many->failed[i] = (struct sqs_failed){entry->id, fault.code, fault.text};
    }
    sqs_call_commit(c, reply_many);
}

void sqs_answer_DeleteMessageBatch(struct sqs_call *c)
{
    answer_many(c, "DeleteMessageBatchResultEntry", delete_one);
}

void sqs_answer_ChangeMessageVisibilityBatch(struct sqs_call *c)
{
    answer_many(c, "ChangeMessageVisibilityBatchResultEntry", change_one);
}

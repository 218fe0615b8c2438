// SPDX-License-Identifier: Apache-2.0
/* DeleteMessage and ChangeMessageVisibility, and their batches: what is done to a message by its
 * receipt handle. */
#include "base/check.h"
#include "sqs/call.h"

enum { HANDLE_MAX = 1024 };

struct many {
    const char *xml_item;                      /* of one that went through */
    struct sqs_failed failed[SQS_ENTRIES_MAX]; /* by entry */
    size_t n;                                  /* of those that may be tried */
    size_t entry_of[SQS_ENTRIES_MAX];          /* change → entry */
    struct front_change changes[SQS_ENTRIES_MAX];
};

static bool refuse_handle(struct bytes handle, struct sqs_fault *f)
{
    return sqs_fault_set(f, SQS_FAULT_RECEIPT_HANDLE_IS_INVALID,
                         "The input receipt handle \"%.*s\" is not a valid receipt handle.",
                         (int)(handle.n < HANDLE_MAX ? handle.n : HANDLE_MAX),
                         (const char *)handle.at);
}

static bool deleted(const struct sqs_entry *entry, enum err e, struct sqs_fault *f)
{
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

static bool changed(const struct sqs_entry *entry, enum err e, struct sqs_fault *f)
{
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
                             SQS_SHOW(entry->visibility_s.text));
    default:
        return sqs_fault_of_err(f, e);
    }
}

static struct front_change change_of(const struct sqs_entry *entry, bool is_delete)
{
    return (struct front_change){
        .receipt = entry->receipt,
        .is_delete = is_delete,
        .visibility_ms = is_delete ? 0 : entry->visibility_s.value * 1000,
    };
}

static bool judge(const struct sqs_entry *entry, const struct front_change *change,
                  struct sqs_fault *f)
{
    return change->is_delete ? deleted(entry, change->err, f) : changed(entry, change->err, f);
}

/* ---- one ---- */

static void reply_one(struct sqs_call *c)
{
    (void)judge(&c->request.one, c->state, &c->fault);
    sqs_reply_fault_or_empty(c);
}

static void answer_one(struct sqs_call *c, bool is_delete)
{
    struct front_change *change = arena_get(c->arena, sizeof *change);
    *change = change_of(&c->request.one, is_delete);
    c->state = change;
    sqs_call_change(c, change, 1, reply_one);
}

void sqs_answer_DeleteMessage(struct sqs_call *c)
{
    answer_one(c, true);
}

void sqs_answer_ChangeMessageVisibility(struct sqs_call *c)
{
    if (!sqs_check_ranges(c->action, &c->request, &c->fault))
        sqs_reply_fault(c);
    else
        answer_one(c, false);
}

/* ---- many ---- */

static void reply_many(struct sqs_call *c)
{
    struct many *many = c->state;
    size_t n = c->request.entries.n;
    for (size_t i = 0; i < many->n; i++) {
        size_t k = many->entry_of[i];
        struct sqs_fault fault = {.arena = c->arena};
        (void)judge(&c->request.entries.at[k], &many->changes[i], &fault);
        many->failed[k].code = fault.code;
        many->failed[k].text = fault.text;
    }
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

static void answer_many(struct sqs_call *c, const char *xml_item, bool is_delete)
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
        if (sqs_check_entry(c->action, &c->request, i, &fault)) {
            many->entry_of[many->n] = i;
            many->changes[many->n++] = change_of(entry, is_delete);
        }
        many->failed[i] = (struct sqs_failed){entry->id, fault.code, fault.text};
    }
    sqs_call_change(c, many->changes, many->n, reply_many);
}

void sqs_answer_DeleteMessageBatch(struct sqs_call *c)
{
    answer_many(c, "DeleteMessageBatchResultEntry", true);
}

void sqs_answer_ChangeMessageVisibilityBatch(struct sqs_call *c)
{
    answer_many(c, "ChangeMessageVisibilityBatchResultEntry", false);
}

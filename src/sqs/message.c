// SPDX-License-Identifier: Apache-2.0
#include "sqs/message.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "front/rules.h"

#define ILLEGAL                                                                                    \
    "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | "   \
    "#xE000 to #xFFFD | #x10000 to #x10FFFF"
#define WRONG_TYPE                                                                                 \
    "Value %.*s for parameter %s is invalid. Reason: The request include parameter that is not "   \
    "valid for this queue type."

static bool characters_valid(struct bytes text)
{
    return utf8_first_forbidden(text) == text.n;
}

size_t sqs_message_bytes(const struct sqs_entry *e)
{
    size_t bytes = e->body.n;
    for (size_t i = 0; i < e->attributes.n; i++) {
        const struct sqs_attribute *a = &e->attributes.at[i];
        bool binary = bytes_start_with(a->data_type, BYTES_OF("Binary"));
        bytes += a->name.n + a->data_type.n + (binary ? a->binary.n : a->text.n);
    }
    return bytes;
}

static bool check_body(const struct sqs_entry *e, struct sqs_fault *f)
{
    if (!characters_valid(e->body))
        return sqs_fault_set(f, SQS_FAULT_INVALID_MESSAGE_CONTENTS, ILLEGAL);
    return true;
}

static bool check_size(const struct sqs_message_rules *rules, const struct sqs_entry *e,
                       struct sqs_fault *f)
{
    uint32_t most = rules->topic->message_bytes_max;
    if (sqs_message_bytes(e) > most)
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "One or more parameters %s. Reason: Message must be shorter than %u "
                             "bytes.",
                             rules->batch ? "cannot be validated" : "are invalid", most);
    return true;
}

static bool make_attributes(const struct sqs_entry *e, struct arena *arena,
                            struct queue_message *out, struct sqs_fault *f)
{
    const struct sqs_attributes *sent = &e->attributes;
    if (sent->sent > SQS_MESSAGE_ATTRIBUTES_MAX)
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Number of message attributes [%zu] exceeds the allowed maximum [%d].",
                             sent->sent, SQS_MESSAGE_ATTRIBUTES_MAX);
    if (sent->n == 0)
        return true;
    struct queue_attribute *made = arena_get(arena, sent->n * sizeof *made);
    for (size_t i = 0; i < sent->n; i++)
        if (!sqs_attribute_make(&sent->at[i], &made[i], f))
            return false;
    out->attributes = made;
    out->attributes_n = sent->n;
    return true;
}

static bool make_trace(const struct sqs_message_rules *rules, const struct sqs_entry *e,
                       struct queue_message *out, struct sqs_fault *f)
{
    for (size_t i = 0; i < e->system_attributes.n; i++) {
        const struct sqs_attribute *a = &e->system_attributes.at[i];
        if (!bytes_equal(a->name, BYTES_OF("AWSTraceHeader")))
            return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                                 "Message system attribute name '%.*s' is invalid.",
                                 SQS_SHOW(a->name));
        if (!bytes_equal(a->data_type, BYTES_OF("String")) || !front_trace_valid(a->text))
            return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                                 "Message system attribute 'AWSTraceHeader' must be of type "
                                 "'String' and hold a valid X-Ray trace header.");
        out->trace = a->text;
    }
    /* A client that traces its HTTP calls sets the header on every one, so a header that is not
     * X-Ray's is no reason to refuse a message. */
    if (out->trace.n == 0 && front_trace_valid(rules->trace))
        out->trace = rules->trace;
    return true;
}

static bool check_id(const char *parameter, struct bytes id, struct sqs_fault *f)
{
    if (id.at == NULL || front_id_valid(id))
        return true;
    return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                         "Value %.*s for parameter %s is invalid. Reason: %s can only include "
                         "alphanumeric and punctuation characters. 1 to 128 in length.",
                         SQS_SHOW(id), parameter, parameter);
}

static bool check_fifo(const struct sqs_message_rules *rules, const struct sqs_entry *e,
                       struct sqs_fault *f)
{
    if (e->delay_s.given && e->delay_s.value > 0)
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE, WRONG_TYPE,
                             SQS_SHOW(e->delay_s.text), "DelaySeconds");
    /* The code differs between the single action and the batch on AWS. */
    if (e->group_id.at == NULL)
        return sqs_fault_set(
            f, rules->batch ? SQS_FAULT_INVALID_PARAMETER_VALUE : SQS_FAULT_MISSING_PARAMETER,
            "The request must contain the parameter MessageGroupId.");
    if (e->dedup_id.at == NULL && !rules->topic->content_dedup)
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "The queue should either have ContentBasedDeduplication enabled or "
                             "MessageDeduplicationId provided explicitly");
    return true;
}

static bool check_ids(const struct sqs_message_rules *rules, const struct sqs_entry *e,
                      struct sqs_fault *f)
{
    if (rules->topic->fifo) {
        if (!check_fifo(rules, e, f))
            return false;
    } else if (e->dedup_id.at != NULL) {
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE, WRONG_TYPE,
                             SQS_SHOW(e->dedup_id), "MessageDeduplicationId");
    }
    return check_id("MessageGroupId", e->group_id, f) &&
           check_id("MessageDeduplicationId", e->dedup_id, f);
}

bool sqs_message_make(const struct sqs_message_rules *rules, const struct sqs_entry *e,
                      struct arena *arena, struct queue_message *out, struct sqs_fault *f)
{
    struct queue_message m = {.body = e->body, .group_id = e->group_id, .dedup_id = e->dedup_id};
    if (!check_body(e, f) || !make_attributes(e, arena, &m, f) || !make_trace(rules, e, &m, f) ||
        !check_size(rules, e, f) || !check_ids(rules, e, f))
        return false;
    bool fifo = rules->topic->fifo;
    m.delay_ms = fifo || !e->delay_s.given ? -1 : e->delay_s.value * 1000;
    if (fifo && m.dedup_id.at == NULL)
        m.dedup_id = front_content_dedup_id(m.body, arena);
    digest_md5(m.body, m.body_md5);
    *out = m;
    return true;
}

bool sqs_attribute_wanted(const struct sqs_texts *names, struct bytes name)
{
    for (size_t i = 0; i < names->n; i++) {
        struct bytes n = names->at[i];
        const char *at = n.at;
        if (bytes_equal(n, BYTES_OF("All")) || bytes_equal(n, BYTES_OF("*")) ||
            bytes_equal(n, name))
            return true;
        if (n.n >= 2 && memcmp(at + n.n - 2, ".*", 2) == 0 &&
            bytes_start_with(name, (struct bytes){at, n.n - 2}))
            return true;
    }
    return false;
}

// SPDX-License-Identifier: Apache-2.0
#include "sqs/show.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/codec.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "front/rules.h"
#include "sqs/message.h"

struct attributes {
    struct sqs_out *out;
    const struct sqs_show_rules *rules;
};

static bool wanted(const struct attributes *a, const char *name)
{
    for (size_t list = 0; list < 2; list++) {
        const struct sqs_texts *names = a->rules->system_names[list];
        for (size_t i = 0; i < names->n; i++)
            if (bytes_equal(names->at[i], BYTES_OF("All")) ||
                bytes_equal(names->at[i], bytes_of_text(name)))
                return true;
    }
    return false;
}

static void put_text(const struct attributes *a, const char *name, struct bytes value)
{
    if (value.n > 0 && wanted(a, name))
        sqs_out_map_put(a->out, bytes_of_text(name), value);
}

/* All attributes are strings, also those that are numbers. */
static void put_number(const struct attributes *a, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_text(a, name, bytes_of_text(text));
}

static void put_system(struct sqs_out *out, const struct sqs_show_rules *rules,
                       const struct queue_received *m)
{
    const struct attributes a = {out, rules};
    if (rules->system_names[0]->n == 0 && rules->system_names[1]->n == 0)
        return;
    sqs_out_map_begin(out, "Attributes", "Attribute", "Name");
    put_text(&a, "AWSTraceHeader", m->trace);
    put_number(&a, "ApproximateFirstReceiveTimestamp", m->first_received_wall_ms);
    put_number(&a, "ApproximateReceiveCount", m->receive_count);
    if (m->origin.n > 0 && wanted(&a, "DeadLetterQueueSourceArn")) {
        struct buf arn = BUF_EMPTY;
        sqs_arn_put(&arn, rules->place, m->origin);
        put_text(&a, "DeadLetterQueueSourceArn", buf_bytes(&arn));
        buf_fini(&arn);
    }
    put_text(&a, "MessageDeduplicationId", m->dedup_id);
    put_text(&a, "MessageGroupId", m->group_id);
    /* There is one account, so its number is who sent. */
    put_text(&a, "SenderId", rules->place->account);
    put_number(&a, "SentTimestamp", m->sent_wall_ms);
    if (rules->fifo) {
        char sequence[SQS_SEQUENCE_ROOM];
        put_text(&a, "SequenceNumber", sqs_sequence(m->number, sequence));
    }
    sqs_out_map_end(out);
}

static void put_attribute(struct sqs_out *out, const struct queue_attribute *a)
{
    sqs_out_map_entry_begin(out, a->name);
    sqs_out_text(out, "DataType", a->data_type);
    if (a->binary)
        sqs_out_blob(out, "BinaryValue", a->value);
    else
        sqs_out_text(out, "StringValue", a->value);
    sqs_out_map_entry_end(out);
}

/* The digest covers what is returned, not what was sent: clients digest what they get. */
static void put_user(struct sqs_out *out, const struct sqs_show_rules *rules,
                     const struct queue_received *m)
{
    struct queue_attribute chosen[SQS_MESSAGE_ATTRIBUTES_MAX];
    uint8_t md5[16];
    size_t n = 0;
    if (rules->message_names->n == 0)
        return;
    for (size_t i = 0; i < m->attributes_n && n < SQS_MESSAGE_ATTRIBUTES_MAX; i++)
        if (sqs_attribute_wanted(rules->message_names, m->attributes[i].name))
            chosen[n++] = m->attributes[i];
    if (n == 0)
        return;
    sqs_attributes_md5(chosen, n, md5);
    sqs_out_md5(out, "MD5OfMessageAttributes", md5);
    sqs_out_map_begin(out, "MessageAttributes", "MessageAttribute", "Name");
    for (size_t i = 0; i < n; i++)
        put_attribute(out, &chosen[i]);
    sqs_out_map_end(out);
}

/* The REST API takes any bytes as a body, and marks those that are no SQS text with this attribute.
 * SQS has only text, so they are shown in base64, as one who wanted to send bytes by SQS would send
 * them. */
static bool is_bytes(const struct queue_received *m)
{
    for (size_t i = 0; i < m->attributes_n; i++)
        if (bytes_equal(m->attributes[i].name, BYTES_OF(FRONT_ENCODING_NAME)) &&
            bytes_equal(m->attributes[i].value, BYTES_OF("base64")))
            return utf8_first_forbidden(m->body) != m->body.n;
    return false;
}

/* Clients digest the text that they get. */
static void put_body(struct sqs_out *out, const struct queue_received *m)
{
    struct buf text = BUF_EMPTY;
    uint8_t md5[DIGEST_MD5_BYTES];
    if (!is_bytes(m)) {
        sqs_out_md5(out, "MD5OfBody", m->body_md5);
        sqs_out_text(out, "Body", m->body);
        return;
    }
    codec_base64_put(&text, m->body);
    digest_md5(buf_bytes(&text), md5);
    sqs_out_md5(out, "MD5OfBody", md5);
    sqs_out_text(out, "Body", buf_bytes(&text));
    buf_fini(&text);
}

void sqs_show_message(struct sqs_out *out, const struct sqs_show_rules *rules,
                      const struct queue_received *m)
{
    sqs_out_item_begin(out);
    sqs_out_uuid(out, "MessageId", m->id);
    sqs_out_text(out, "ReceiptHandle", bytes_of_text(m->receipt));
    put_body(out, m);
    put_system(out, rules, m);
    put_user(out, rules, m);
    sqs_out_item_end(out);
}

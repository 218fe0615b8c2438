// SPDX-License-Identifier: Apache-2.0
#include "sqs/show.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/codec.h"
#include "sqs/message.h"

void sqs_show_md5(struct json_writer *w, const uint8_t md5[16])
{
    char hex[33];
    codec_hex_text((struct bytes){md5, 16}, hex);
    json_put_string(w, (struct bytes){hex, 32});
}

void sqs_show_uuid(struct json_writer *w, const uint8_t id[16])
{
    char hex[33], text[CODEC_UUID_ROOM];
    codec_hex_text((struct bytes){id, 16}, hex);
    snprintf(text, sizeof text, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
    json_put_text(w, text);
}

void sqs_show_sequence(struct json_writer *w, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%020" PRIu64, number);
    json_put_text(w, text);
}

void sqs_show_number(struct json_writer *w, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    json_put_text(w, text);
}

struct attributes {
    struct json_writer *w;
    const struct sqs_show_rules *rules;
    bool any;
};

/* Opens Attributes and writes the key, when `name` was asked for. */
static bool wanted(struct attributes *a, const char *name)
{
    bool asked = false;
    for (size_t list = 0; list < 2 && !asked; list++) {
        const struct sqs_texts *names = a->rules->system_names[list];
        for (size_t i = 0; i < names->n && !asked; i++)
            asked = bytes_equal(names->at[i], BYTES_OF("All")) ||
                    bytes_equal(names->at[i], bytes_of_text(name));
    }
    if (!asked)
        return false;
    if (!a->any) {
        json_put_key(a->w, "Attributes");
        json_begin_object(a->w);
        a->any = true;
    }
    json_put_key(a->w, name);
    return true;
}

static void put_text(struct attributes *a, const char *name, struct bytes value)
{
    if (value.n > 0 && wanted(a, name))
        json_put_string(a->w, value);
}

static void put_number(struct attributes *a, const char *name, int64_t value)
{
    if (wanted(a, name))
        sqs_show_number(a->w, value);
}

static void put_system(struct json_writer *w, const struct sqs_show_rules *rules,
                       const struct queue_received *m)
{
    struct attributes a = {w, rules, false};
    put_text(&a, "AWSTraceHeader", m->trace);
    put_number(&a, "ApproximateFirstReceiveTimestamp", m->first_received_wall_ms);
    put_number(&a, "ApproximateReceiveCount", m->receive_count);
    if (m->origin.n > 0 && wanted(&a, "DeadLetterQueueSourceArn")) {
        struct buf arn = BUF_EMPTY;
        sqs_arn_put(&arn, rules->place, m->origin);
        json_put_string(w, buf_bytes(&arn));
        buf_fini(&arn);
    }
    put_text(&a, "MessageDeduplicationId", m->dedup_id);
    put_text(&a, "MessageGroupId", m->group_id);
    /* There is one account, so its number is who sent. */
    put_text(&a, "SenderId", rules->place->account);
    put_number(&a, "SentTimestamp", m->sent_wall_ms);
    if (rules->fifo && wanted(&a, "SequenceNumber"))
        sqs_show_sequence(w, m->number);
    if (a.any)
        json_end_object(w);
}

static void put_attribute(struct json_writer *w, const struct queue_attribute *a)
{
    json_put_key_bytes(w, a->name);
    json_begin_object(w);
    json_put_key(w, "DataType");
    json_put_string(w, a->data_type);
    if (a->binary) {
        json_put_key(w, "BinaryValue");
        json_put_base64(w, a->value);
    } else {
        json_put_key(w, "StringValue");
        json_put_string(w, a->value);
    }
    json_end_object(w);
}

/* The digest covers what is returned, not what was sent: clients digest what they get. */
static void put_user(struct json_writer *w, const struct sqs_show_rules *rules,
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
    json_put_key(w, "MD5OfMessageAttributes");
    sqs_show_md5(w, md5);
    json_put_key(w, "MessageAttributes");
    json_begin_object(w);
    for (size_t i = 0; i < n; i++)
        put_attribute(w, &chosen[i]);
    json_end_object(w);
}

void sqs_show_message(struct json_writer *w, const struct sqs_show_rules *rules,
                      const struct queue_received *m)
{
    json_begin_object(w);
    put_system(w, rules, m);
    json_put_key(w, "Body");
    json_put_string(w, m->body);
    json_put_key(w, "MD5OfBody");
    sqs_show_md5(w, m->body_md5);
    put_user(w, rules, m);
    json_put_key(w, "MessageId");
    sqs_show_uuid(w, m->id);
    json_put_key(w, "ReceiptHandle");
    json_put_text(w, m->receipt);
    json_end_object(w);
}

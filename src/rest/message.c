// SPDX-License-Identifier: Apache-2.0
#include "rest/message.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "front/rules.h"
#include "rest/duration.h"
#include "rest/put.h"

/* The places of one thing in both forms. */
struct named {
    const char *member, *header;
};
static const struct named group_named = {"group_id", "Leaselog-Group-Id"};
static const struct named dedup_named = {"dedup_id", "Leaselog-Deduplication-Id"};
static const struct named delay_named = {"delay", "Leaselog-Delay"};
static const struct named key_named = {"key", "Leaselog-Key"};
static const struct named tombstone_named = {"body", "Leaselog-Tombstone"};

static bool refuse(struct rest_blame blame, struct named what, const char *why,
                   struct rest_fault *f)
{
    if (blame.headers)
        return rest_fault_at(f, REST_PROBLEM_INVALID_HEADER, "header", what.header, "%s", why);
    const struct rest_place at = {blame.at, bytes_of_text(what.member), 0};
    return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, &at, "%s", why);
}

static bool check_ids(const struct topic_config *t, const struct rest_message *m,
                      struct rest_blame blame, struct rest_fault *f)
{
    static const char form[] = "must be 1 to 128 visible ASCII characters";
    if (m->group_id.at != NULL && !front_id_valid(m->group_id))
        return refuse(blame, group_named, form, f);
    if (m->dedup_id.at != NULL && !front_id_valid(m->dedup_id))
        return refuse(blame, dedup_named, form, f);
    if (!t->fifo)
        return true;
    if (m->group_id.at == NULL)
        return refuse(blame, group_named, "a FIFO topic's message needs a group", f);
    if (m->dedup_id.at == NULL && !t->content_dedup)
        return refuse(blame, dedup_named,
                      "a FIFO topic's message needs a deduplication id, or the topic "
                      "content_deduplication",
                      f);
    /* As on SQS: a delay of one message would hold back its group. */
    if (m->delay_given && m->delay_ms > 0)
        return refuse(blame, delay_named, "a FIFO topic's messages have the topic's delay", f);
    return true;
}

static bool check_key(const struct topic_config *t, const struct rest_message *m,
                      struct rest_blame blame, struct rest_fault *f)
{
    if (m->tombstone && !t->compact)
        return refuse(blame, tombstone_named, "only messages of compact topics have no body", f);
    if (m->tombstone && m->body.n > 0)
        return refuse(blame, tombstone_named, "a tombstone has no body", f);
    if (!t->compact)
        return true;
    if (m->key.at == NULL)
        return refuse(blame, key_named, "every message of a compact topic needs a key", f);
    if (m->delay_given && m->delay_ms > 0)
        return refuse(blame, delay_named, "a compact topic's messages have no delay", f);
    return true;
}

static size_t bytes_of(const struct rest_message *m)
{
    size_t bytes = m->body.n;
    for (size_t i = 0; i < m->attributes.n; i++) {
        const struct queue_attribute *a = &m->attributes.at[i];
        bytes += a->name.n + a->data_type.n + a->value.n;
    }
    return bytes;
}

/* Bytes that neither front can show as text are marked as such. */
static bool mark_encoding(struct rest_message *m, struct rest_blame blame, struct rest_fault *f)
{
    if (utf8_first_forbidden(m->body) == m->body.n)
        return true;
    if (m->attributes.n == REST_ATTRIBUTES_MAX) {
        static const struct named what = {"attributes", "Leaselog-Attr-"};
        return refuse(blame, what,
                      "a body that is not text has at most 9 attributes, since " FRONT_ENCODING_NAME
                      " is the tenth",
                      f);
    }
    m->attributes.at[m->attributes.n++] = (struct queue_attribute){
        .name = BYTES_OF(FRONT_ENCODING_NAME),
        .data_type = BYTES_OF("String"),
        .value = BYTES_OF("base64"),
    };
    return true;
}

static bool check_size(const struct topic_config *t, const struct rest_message *m,
                       struct rest_blame blame, struct rest_fault *f)
{
    size_t bytes = bytes_of(m);
    if (m->body.n == 0 && !m->tombstone)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, blame.at,
                               "a message has a body of at least 1 byte");
    if (bytes <= t->message_bytes_max)
        return true;
    if (blame.headers)
        return rest_fault_set(f, REST_PROBLEM_MESSAGE_TOO_BIG,
                              "body and attributes have %zu bytes; at most %u may come", bytes,
                              t->message_bytes_max);
    return rest_body_fault(f, REST_PROBLEM_MESSAGE_TOO_BIG, blame.at,
                           "body and attributes have %zu bytes; at most %u may come", bytes,
                           t->message_bytes_max);
}

bool rest_message_make(const struct topic_config *t, struct rest_message *m,
                       struct rest_blame blame, struct arena *arena, struct queue_message *out,
                       struct rest_fault *f)
{
    /* In JSON null is as if it were not there; only a compact topic makes more of it. */
    m->tombstone = m->tombstone && (t->compact || blame.headers);
    if (!check_ids(t, m, blame, f) || !check_key(t, m, blame, f) || !mark_encoding(m, blame, f) ||
        !check_size(t, m, blame, f))
        return false;
    *out = (struct queue_message){
        .body = m->body,
        .attributes = m->attributes.at,
        .attributes_n = m->attributes.n,
        .trace = front_trace_valid(m->trace) ? m->trace : BYTES_NONE,
        .delay_ms = t->fifo || !m->delay_given ? -1 : m->delay_ms,
        .group_id = m->group_id,
        .dedup_id = m->dedup_id,
        .key = m->key,
        .tombstone = m->tombstone,
    };
    if (t->fifo && m->dedup_id.at == NULL)
        out->dedup_id = front_content_dedup_id(m->body, arena);
    digest_md5(m->body, out->body_md5);
    return true;
}

/* ---- showing ---- */

static void put_text(struct json_writer *w, const char *key, struct bytes text)
{
    if (text.n == 0)
        return;
    json_put_key(w, key);
    json_put_string(w, text);
}

/* As text where it is that, else in base64 under the other name. */
static void put_bytes(struct json_writer *w, const char *key, const char *key_base64,
                      struct bytes value)
{
    bool text = utf8_first_forbidden(value) == value.n;
    json_put_key(w, text ? key : key_base64);
    if (text)
        json_put_string(w, value);
    else
        json_put_base64(w, value);
}

static void put_message(struct json_writer *w, const struct queue_received *m)
{
    rest_put_uuid(w, "id", m->id);
    json_put_key(w, "partition");
    json_put_int64(w, m->partition);
    json_put_key(w, "number");
    json_put_uint64(w, m->number);
    if (m->key.n > 0)
        put_bytes(w, "key", "key_base64", m->key);
    if (m->tombstone) {
        json_put_key(w, "body");
        json_put_null(w);
    } else {
        put_bytes(w, "body", "body_base64", m->body);
    }
    rest_put_md5(w, "md5", m->body_md5);
    rest_attributes_put(w, m->attributes, m->attributes_n);
    rest_put_time(w, "sent_at", m->sent_wall_ms);
}

void rest_record_put(struct json_writer *w, const struct queue_received *m)
{
    put_message(w, m);
    put_text(w, "group_id", m->group_id);
    put_text(w, "dedup_id", m->dedup_id);
}

void rest_message_put(struct json_writer *w, const struct queue_received *m)
{
    put_message(w, m);
    json_put_key(w, "receive_count");
    json_put_int64(w, m->receive_count);
    if (m->first_received_wall_ms > 0)
        rest_put_time(w, "first_received_at", m->first_received_wall_ms);
    put_text(w, "group_id", m->group_id);
    put_text(w, "dedup_id", m->dedup_id);
    put_text(w, "dead_letter_source", m->origin);
    put_text(w, "trace", m->trace);
}

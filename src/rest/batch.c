// SPDX-License-Identifier: Apache-2.0
/* Up to 100 messages in one request, as an object or as a line each (NDJSON). A body that can't be
 * read is refused as a whole; a message that may not be sent fails alone. */
#include <strings.h>

#include "base/check.h"
#include "front/rules.h"
#include "rest/message.h"
#include "rest/put.h"
#include "rest/sent.h"

struct batch {
    size_t n;                         /* messages of the request */
    size_t good_n;                    /* those handed to the core */
    size_t result_of[QUEUE_SEND_MAX]; /* message of the request → of the core */
    struct rest_fault faults[QUEUE_SEND_MAX];
    struct rest_message in[QUEUE_SEND_MAX];
    struct queue_message messages[QUEUE_SEND_MAX];
    struct queue_sent sent[QUEUE_SEND_MAX];
    enum err errs[QUEUE_SEND_MAX];
};

static const struct rest_place messages_place = {NULL, {"messages", 8}, 0};

void rest_sent_put(struct json_writer *w, const struct queue_sent *sent, const uint8_t md5[16],
                   bool tell)
{
    json_begin_object(w);
    rest_put_uuid(w, "id", sent->id);
    json_put_key(w, "partition");
    json_put_int64(w, sent->partition);
    json_put_key(w, "number");
    json_put_uint64(w, sent->number);
    rest_put_md5(w, "md5", md5);
    if (tell && sent->duplicate) {
        json_put_key(w, "duplicate");
        json_put_bool(w, true);
    }
    json_end_object(w);
}

void rest_sent_fault(struct rest_fault *f, enum err e, const struct topic_config *config,
                     const struct queue_sent *sent)
{
    char text[FRONT_FULL_TEXT_ROOM];
    if (e == ERR_TOPIC_FULL) {
        front_full_text(config, sent, text);
        rest_fault_set(f, REST_PROBLEM_TOPIC_FULL, "%s", text);
    } else if (e == ERR_FULL)
        rest_fault_set(f, REST_PROBLEM_TOO_MANY_DEDUPLICATION_IDS, "%s", err_text(e));
    else
        rest_fault_of_err(f, e);
}

/* ---- reading ---- */

static bool read_key(struct json *j, const struct rest_place *at, bool text, struct arena *arena,
                     struct rest_message *m, struct rest_fault *f)
{
    if (m->key.at != NULL)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, at,
                               "key and key_base64 are one thing: give one");
    if (text)
        return rest_body_text(j, at, 1, QUEUE_KEY_BYTES_MAX, &m->key, f);
    if (!rest_body_base64(j, at, arena, &m->key, f))
        return false;
    if (m->key.at == NULL || (m->key.n >= 1 && m->key.n <= QUEUE_KEY_BYTES_MAX))
        return true;
    return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, at, "must have 1 to %d bytes, not %zu",
                           QUEUE_KEY_BYTES_MAX, m->key.n);
}

static bool read_member(struct json *j, struct bytes key, const struct rest_place *up,
                        struct arena *arena, struct rest_message *m, struct rest_fault *f)
{
    const struct rest_place at = {up, key, 0};
    bool is_text = bytes_equal(key, BYTES_OF("body"));
    if (bytes_equal(key, BYTES_OF("key")) || bytes_equal(key, BYTES_OF("key_base64")))
        return read_key(j, &at, key.n == 3, arena, m, f);
    if (is_text || bytes_equal(key, BYTES_OF("body_base64"))) {
        if (m->body.at != NULL)
            return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, &at,
                                   "body and body_base64 are one thing: give one");
        return is_text ? rest_body_text(j, &at, 1, QUEUE_BODY_BYTES_MAX * 8, &m->body, f)
                       : rest_body_base64(j, &at, arena, &m->body, f);
    }
    if (bytes_equal(key, BYTES_OF("attributes")))
        return rest_attributes_read(j, &at, arena, &m->attributes, f);
    if (bytes_equal(key, BYTES_OF("delay"))) {
        m->delay_given = true;
        return rest_body_duration(j, &at, 0, TOPIC_DELAY_MS_MAX / 1000, &m->delay_ms, f);
    }
    if (bytes_equal(key, BYTES_OF("group_id")))
        return rest_body_text(j, &at, 1, QUEUE_ID_BYTES_MAX, &m->group_id, f);
    if (bytes_equal(key, BYTES_OF("dedup_id")))
        return rest_body_text(j, &at, 1, QUEUE_ID_BYTES_MAX, &m->dedup_id, f);
    return rest_body_unknown(
        &at, "body, body_base64, key, key_base64, attributes, delay, group_id, dedup_id", f);
}

static bool read_message(struct json *j, const struct rest_place *at, struct arena *arena,
                         struct rest_message *m, struct rest_fault *f)
{
    struct bytes key;
    if (!rest_body_object(j, at, f))
        return false;
    while (json_next_member(j, &key)) {
        if (json_read_null(j)) { /* as if it were not there, but for a tombstone's body */
            m->tombstone = m->tombstone || bytes_equal(key, BYTES_OF("body"));
            continue;
        }
        if (!read_member(j, key, at, arena, m, f))
            return false;
    }
    return true;
}

static bool refuse_count(struct rest_fault *f)
{
    return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, &messages_place,
                           "must have 1 to %d elements", QUEUE_SEND_MAX);
}

static bool read_list(struct json *j, struct batch *b, struct arena *arena, struct rest_fault *f)
{
    if (!rest_body_array(j, &messages_place, f))
        return false;
    while (json_next_element(j)) {
        if (b->n == QUEUE_SEND_MAX)
            return refuse_count(f);
        const struct rest_place at = {&messages_place, BYTES_NONE, b->n};
        if (!read_message(j, &at, arena, &b->in[b->n++], f))
            return false;
    }
    return true;
}

static bool read_object(struct bytes body, struct batch *b, struct arena *arena,
                        struct rest_fault *f)
{
    struct json j;
    struct bytes key;
    json_init(&j, body, arena);
    bool fine = rest_body_object(&j, NULL, f);
    while (fine && json_next_member(&j, &key)) {
        const struct rest_place at = {NULL, key, 0};
        fine = bytes_equal(key, BYTES_OF("messages")) ? read_list(&j, b, arena, f)
                                                      : rest_body_unknown(&at, "messages", f);
    }
    return rest_body_finish(&j, fine, f);
}

/* A line is an element of `messages`, also in the pointers of refusals. Empty lines are passed
 * over, so that a final line end does no harm. */
static bool read_lines(struct bytes body, struct batch *b, struct arena *arena,
                       struct rest_fault *f)
{
    while (body.n > 0) {
        const char *at = body.at, *end = memchr(at, '\n', body.n);
        size_t n = end == NULL ? body.n : (size_t)(end - at);
        struct bytes line = {at, n};
        size_t used = end == NULL ? n : n + 1;
        body = (struct bytes){at + used, body.n - used};
        if (n == 0 || (n == 1 && at[0] == '\r'))
            continue;
        if (b->n == QUEUE_SEND_MAX)
            return refuse_count(f);
        const struct rest_place place = {&messages_place, BYTES_NONE, b->n};
        struct json j;
        json_init(&j, line, arena);
        bool fine = read_message(&j, &place, arena, &b->in[b->n++], f);
        if (!rest_body_finish(&j, fine, f))
            return false;
    }
    return true;
}

static bool is_lines(struct http_request *r)
{
    struct bytes type = http_header(r, "Content-Type"), lines = BYTES_OF("application/x-ndjson");
    return type.n >= lines.n && strncasecmp(type.at, lines.at, lines.n) == 0;
}

static bool read_all(struct rest_call *c, struct batch *b)
{
    struct bytes body = http_body(c->http);
    bool fine = is_lines(c->http) ? read_lines(body, b, c->arena, &c->fault)
                                  : read_object(body, b, c->arena, &c->fault);
    return fine && (b->n > 0 || refuse_count(&c->fault));
}

/* ---- sending ---- */

static void make_all(struct rest_call *c, struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct rest_place at = {&messages_place, BYTES_NONE, i};
        b->faults[i].arena = c->arena;
        if (rest_message_make(c->config, &b->in[i], (struct rest_blame){&at, false}, c->arena,
                              &b->messages[b->good_n], &b->faults[i]))
            b->result_of[i] = b->good_n++;
    }
}

static void reply(struct rest_call *c)
{
    struct batch *b = c->state;
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    const char *id = rest_request_id(c->http);
    size_t failed = 0;
    json_begin_object(&w);
    json_put_key(&w, "results");
    json_begin_array(&w);
    for (size_t i = 0; i < b->n; i++) {
        size_t k = b->result_of[i];
        if (b->faults[i].problem == REST_PROBLEM_NONE && b->errs[k] != ERR_OK)
            rest_sent_fault(&b->faults[i], b->errs[k], c->config, &b->sent[k]);
        if (b->faults[i].problem == REST_PROBLEM_NONE) {
            rest_sent_put(&w, &b->sent[k], b->messages[k].body_md5, true);
            continue;
        }
        failed++;
        json_begin_object(&w);
        json_put_key(&w, "problem");
        rest_problem_put(&w, &b->faults[i], id);
        json_end_object(&w);
    }
    json_end_array(&w);
    json_put_key(&w, "failed");
    json_put_uint64(&w, failed);
    json_end_object(&w);
    rest_reply_json(c, &w);
}

void rest_do_send_messages(struct rest_call *c)
{
    struct batch *b = arena_zeros(c->arena, sizeof *b);
    c->state = b;
    if (!read_all(c, b)) {
        rest_reply_fault(c);
        return;
    }
    make_all(c, b);
    rest_call_send(c, b->messages, b->good_n, b->sent, b->errs, reply);
}

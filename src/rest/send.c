// SPDX-License-Identifier: Apache-2.0
/* One message: the body is the message, headers say the rest. Headers that begin with Leaselog- and
 * are not known are refused, as unknown parameters are. */
#include <stdio.h>
#include <strings.h>

#include "base/check.h"
#include "base/utf8.h"
#include "front/rules.h"
#include "rest/message.h"
#include "rest/put.h"
#include "rest/sent.h"

#define ATTRIBUTE_PREFIX "Leaselog-Attr-"

struct send {
    struct rest_call *call;
    struct rest_message in;
    struct queue_message message;
    struct queue_sent sent;
    enum err err;
    bool tombstone_given;
};

static bool is_named(struct bytes name, const char *wanted)
{
    return name.n == strlen(wanted) && strncasecmp(name.at, wanted, name.n) == 0;
}

static void refuse(struct send *s, const char *name, const char *why)
{
    rest_fault_at(&s->call->fault, REST_PROBLEM_INVALID_HEADER, "header", name, "%s", why);
}

static void add_attribute(struct send *s, struct bytes header, struct bytes name,
                          struct bytes value)
{
    struct rest_attributes *all = &s->in.attributes;
    const char *shown = arena_copy(s->call->arena, header).at;
    struct queue_attribute a = {name, BYTES_OF("String"), false, value};
    const char *wrong = rest_attribute_wrong(&a);
    if (bytes_equal(name, BYTES_OF(FRONT_ENCODING_NAME)))
        return; /* ours to say, by the body */
    for (size_t i = 0; i < all->n && wrong == NULL; i++)
        if (bytes_equal(all->at[i].name, name))
            wrong = "this attribute is given twice";
    if (wrong == NULL && all->n == REST_ATTRIBUTES_MAX)
        wrong = "a message has at most 10 attributes, Content-Type among them";
    if (wrong != NULL)
        refuse(s, shown, wrong);
    else
        all->at[all->n++] = a;
}

/* The draft of the HTTP working group has the key in double quotes (a structured string). */
static struct bytes unquoted(struct bytes value)
{
    const char *at = value.at;
    if (value.n >= 2 && at[0] == '"' && at[value.n - 1] == '"')
        return (struct bytes){at + 1, value.n - 2};
    return value;
}

/* Which one is meant nobody knows. */
static void refuse_twice(struct send *s, const char *name)
{
    refuse(s, name, "is given twice, with two values");
}

static bool differs(struct bytes before, struct bytes value)
{
    return before.at != NULL && !bytes_equal(before, value);
}

static void add_dedup_id(struct send *s, const char *header, struct bytes value)
{
    if (value.n == 0)
        refuse(s, header, "must be 1 to 128 visible ASCII characters");
    else if (differs(s->in.dedup_id, value))
        refuse(s, header, "Idempotency-Key and Leaselog-Deduplication-Id are one thing: give one");
    else
        s->in.dedup_id = value;
}

static void add_delay(struct send *s, struct bytes value)
{
    int64_t delay_ms = 0;
    if (!rest_duration_read(value, &delay_ms) || delay_ms > TOPIC_DELAY_MS_MAX)
        refuse(s, "Leaselog-Delay",
               "must be a duration (30s, 5m, 500ms, or whole seconds) from 0s to 900s");
    if (s->in.delay_given && delay_ms != s->in.delay_ms)
        refuse_twice(s, "Leaselog-Delay");
    s->in.delay_given = true;
    s->in.delay_ms = delay_ms;
}

/* Visible ASCII inside of which there may be spaces: what a header can carry. For all other keys
 * there is messages:batch. */
static void add_key(struct send *s, struct bytes value)
{
    const unsigned char *at = value.at;
    bool fits = value.n >= 1 && value.n <= QUEUE_KEY_BYTES_MAX;
    for (size_t i = 0; fits && i < value.n; i++)
        fits = at[i] >= ' ' && at[i] <= '~';
    if (differs(s->in.key, value))
        refuse_twice(s, "Leaselog-Key");
    s->in.key = value;
    if (!fits)
        refuse(s, "Leaselog-Key",
               "must be 1 to 1024 visible ASCII characters or spaces inside; "
               "messages:batch takes any bytes as key_base64");
}

static void add_group_id(struct send *s, struct bytes value)
{
    if (differs(s->in.group_id, value))
        refuse_twice(s, "Leaselog-Group-Id");
    s->in.group_id = value.n == 0 ? BYTES_OF("") : value;
}

static void add_tombstone(struct send *s, struct bytes value)
{
    bool tombstone = is_named(value, "1") || is_named(value, "true");
    if (!tombstone && !is_named(value, "0") && !is_named(value, "false"))
        refuse(s, "Leaselog-Tombstone", "must be 1 or true, 0 or false");
    if (s->tombstone_given && tombstone != s->in.tombstone)
        refuse_twice(s, "Leaselog-Tombstone");
    s->tombstone_given = true;
    s->in.tombstone = tombstone;
}

static void on_header(void *arg, struct bytes name, struct bytes value)
{
    struct send *s = arg;
    struct bytes prefix = BYTES_OF(ATTRIBUTE_PREFIX);
    if (s->call->fault.problem != REST_PROBLEM_NONE)
        return;
    if (name.n >= prefix.n && strncasecmp(name.at, prefix.at, prefix.n) == 0)
        add_attribute(s, name, (struct bytes){(const char *)name.at + prefix.n, name.n - prefix.n},
                      value);
    else if (is_named(name, "Leaselog-Delay"))
        add_delay(s, value);
    else if (is_named(name, "Leaselog-Group-Id"))
        add_group_id(s, value);
    else if (is_named(name, "Leaselog-Deduplication-Id"))
        add_dedup_id(s, "Leaselog-Deduplication-Id", value);
    else if (is_named(name, "Leaselog-Key"))
        add_key(s, value);
    else if (is_named(name, "Leaselog-Tombstone"))
        add_tombstone(s, value);
    else
        refuse(s, arena_copy(s->call->arena, name).at,
               "unknown header; known are Leaselog-Attr-NAME, Leaselog-Delay, Leaselog-Group-Id, "
               "Leaselog-Deduplication-Id, Leaselog-Key and Leaselog-Tombstone");
}

/* The form's type says nothing about a message: curl -d sends it with everything. */
static void add_content_type(struct send *s)
{
    struct bytes type = http_header(s->call->http, "Content-Type");
    struct bytes name = BYTES_OF("Content-Type"),
                 form = BYTES_OF("application/x-www-form-urlencoded");
    if (type.n == 0 || (type.n >= form.n && strncasecmp(type.at, form.at, form.n) == 0))
        return;
    for (size_t i = 0; i < s->in.attributes.n; i++)
        if (bytes_equal(s->in.attributes.at[i].name, name))
            return; /* said as an attribute */
    add_attribute(s, name, name, type);
}

/* Headers live as long as the request's connection, the message is stored before that can end. */
static bool read_headers(struct send *s)
{
    struct http_request *r = s->call->http;
    http_headers_each(r, "Leaselog-", on_header, s);
    struct bytes key = http_header(r, "Idempotency-Key");
    if (key.at != NULL && s->call->fault.problem == REST_PROBLEM_NONE)
        add_dedup_id(s, "Idempotency-Key", unquoted(key));
    if (s->call->fault.problem == REST_PROBLEM_NONE)
        add_content_type(s);
    s->in.trace = http_header(r, "X-Amzn-Trace-Id");
    return s->call->fault.problem == REST_PROBLEM_NONE;
}

static void reply(struct rest_call *c)
{
    const struct send *s = c->state;
    if (s->err != ERR_OK) {
        rest_sent_fault(&c->fault, s->err, c->config, &s->sent);
        rest_reply_fault(c);
        return;
    }
    struct buf location = BUF_EMPTY, body = BUF_EMPTY;
    buf_put_text(&location, "/v1/topics/");
    rest_percent_put(&location, c->match.topic);
    buf_put_format(&location, "/messages/%u-%llu", s->sent.partition,
                   (unsigned long long)s->sent.number);
    buf_put_u8(&location, 0);
    const struct http_answer_header headers[] = {{"Location", location.at},
                                                 {"Idempotent-Replayed", "true"}};
    struct json_writer w = json_writer_to(&body);
    rest_sent_put(&w, &s->sent, s->message.body_md5, false);
    json_writer_done(&w);
    rest_answer_json(c->http, s->sent.duplicate ? 200 : 201, headers, s->sent.duplicate ? 2 : 1,
                     &body);
    buf_fini(&location);
}

void rest_do_send_message(struct rest_call *c)
{
    struct send *s = arena_zeros(c->arena, sizeof *s);
    s->call = c;
    s->in.body = http_body(c->http);
    c->state = s;
    if (!read_headers(s) || !rest_message_make(c->config, &s->in, (struct rest_blame){NULL, true},
                                               c->arena, &s->message, &c->fault)) {
        rest_reply_fault(c);
        return;
    }
    rest_call_send(c, &s->message, 1, &s->sent, &s->err, reply);
}

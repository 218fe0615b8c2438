// SPDX-License-Identifier: Apache-2.0
#include "rest/put.h"

#include <stdio.h>

#include "base/check.h"
#include "base/codec.h"

void rest_put_counters(struct json_writer *w, const struct queue_counters *c)
{
    json_put_key(w, "visible");
    json_put_uint64(w, c->visible);
    json_put_key(w, "in_flight");
    json_put_uint64(w, c->in_flight);
    json_put_key(w, "delayed");
    json_put_uint64(w, c->delayed);
    json_put_key(w, "moving");
    json_put_uint64(w, c->moving);
}

void rest_put_number(struct json_writer *w, const char *key, uint64_t value)
{
    json_put_key(w, key);
    json_put_uint64(w, value);
}

void rest_put_usage(struct json_writer *w, const struct queue_live *live, uint64_t disk_bytes)
{
    json_put_key(w, "usage");
    json_begin_object(w);
    rest_put_number(w, "live_messages", live->messages);
    rest_put_number(w, "live_bytes", live->bytes);
    /* What was just accepted may not have been counted in its file yet. */
    rest_put_number(w, "dead_bytes", disk_bytes > live->bytes ? disk_bytes - live->bytes : 0);
    rest_put_number(w, "disk_bytes", disk_bytes);
    json_end_object(w);
}

static const char *reason_of(const struct queue_oldest *o)
{
    switch (o->state) {
    case QUEUE_LEASED:
        return "leased";
    case QUEUE_DELAYED:
        return "delayed";
    case QUEUE_MOVING:
        return "moving";
    case QUEUE_READY:
    case QUEUE_FINISHED:
    case QUEUE_UNFINISHED:
        break;
    }
    return o->behind_leased ? "behind_leased" : "ready";
}

void rest_put_oldest(struct json_writer *w, const struct queue_oldest *o)
{
    if (!o->there)
        return;
    json_put_key(w, "oldest");
    json_begin_object(w);
    rest_put_uuid(w, "id", o->id);
    rest_put_number(w, "partition", o->partition);
    rest_put_number(w, "number", o->number);
    rest_put_time(w, "sent_at", o->sent_wall_ms);
    rest_put_seconds(w, "age_seconds", o->age_ms);
    json_put_key(w, "reason");
    json_put_text(w, reason_of(o));
    if (o->state == QUEUE_LEASED || o->state == QUEUE_DELAYED)
        rest_put_seconds(w, "left_seconds", o->left_ms > 0 ? o->left_ms : 0);
    if (o->holder[0] != 0) {
        json_put_key(w, "holder");
        json_put_text(w, o->holder);
    }
    json_end_object(w);
}

void rest_put_uuid(struct json_writer *w, const char *key, const uint8_t id[16])
{
    char text[CODEC_UUID_ROOM];
    codec_uuid_text(id, text);
    json_put_key(w, key);
    json_put_text(w, text);
}

void rest_put_md5(struct json_writer *w, const char *key, const uint8_t md5[16])
{
    char hex[33];
    codec_hex_text((struct bytes){md5, 16}, hex);
    json_put_key(w, key);
    json_put_text(w, hex);
}

/* The request's own target with another cursor. */
static void put_link(struct buf *out, struct http_request *r, const char *next)
{
    struct bytes path = http_path(r), rest = http_query(r);
    buf_put_u8(out, '<');
    buf_put_bytes(out, path);
    buf_put_text(out, "?cursor=");
    rest_percent_put(out, bytes_of_text(next));
    while (rest.n > 0) {
        const char *at = rest.at, *end = memchr(at, '&', rest.n);
        size_t n = end == NULL ? rest.n : (size_t)(end - at);
        struct bytes pair = {at, n};
        if (!bytes_start_with(pair, BYTES_OF("cursor=")) && memchr(at, '>', n) == NULL) {
            buf_put_u8(out, '&');
            buf_put_bytes(out, pair);
        }
        size_t used = end == NULL ? n : n + 1;
        rest = (struct bytes){at + used, rest.n - used};
    }
    buf_put_text(out, ">; rel=\"next\"");
    buf_put_u8(out, 0);
}

void rest_reply_page(struct rest_call *c, struct json_writer *w, const char *next)
{
    struct buf link = BUF_EMPTY;
    size_t n = 0;
    if (next[0] != 0) {
        json_put_key(w, "next_cursor");
        json_put_text(w, next);
        put_link(&link, c->http, next);
        n = 1;
    }
    json_end_object(w);
    json_writer_done(w);
    const struct http_answer_header header = {"Link", link.at};
    rest_answer_json(c->http, 200, &header, n, w->out);
    buf_fini(&link);
}

void rest_reply_json(struct rest_call *c, struct json_writer *w)
{
    json_writer_done(w);
    rest_answer_json(c->http, 200, NULL, 0, w->out);
}

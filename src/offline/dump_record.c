// SPDX-License-Identifier: Apache-2.0
#include "offline/dump_record.h"

#include <stdio.h>
#include <time.h>

#include "base/codec.h"
#include "base/json_write.h"
#include "base/utf8.h"

static const char *type_word(enum record_type type)
{
    static const char *const words[] = {"?",    "MESSAGE", "GROUP",  "LEASE", "DONE", "EXTEND",
                                        "MOVE", "MOVED",   "UNMOVE", "PURGE", "TRIM", "EPOCH"};
    if (type == RECORD_SIZES)
        return "SIZES";
    return (size_t)type < sizeof words / sizeof words[0] ? words[type] : words[0];
}

void dump_wall_time(struct buf *out, int64_t wall_ms)
{
    char text[48];
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm utc;
    if (wall_ms < 0 || gmtime_r(&seconds, &utc) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc) == 0) {
        buf_put_format(out, "%lld ms", (long long)wall_ms);
        return;
    }
    buf_put_format(out, "%s.%03dZ", text, (int)(wall_ms % 1000));
}

static void put_uuid(struct buf *out, const struct uuid *id)
{
    char text[CODEC_UUID_ROOM];
    codec_uuid_text(id->at, text);
    buf_put_text(out, text);
}

static void put_topic_id(struct buf *out, const struct uuid *id)
{
    codec_hex_put(out, (struct bytes){id->at, sizeof id->at});
}

/* Runs as 3-7,9. */
static void put_numbers(struct buf *out, struct bytes runs)
{
    uint64_t end = 0;
    struct record_run run;
    for (const char *between = ""; record_runs_next(&runs, &end, &run); between = ",") {
        buf_put_format(out, "%s%llu", between, (unsigned long long)run.first);
        if (run.count > 1)
            buf_put_format(out, "-%llu", (unsigned long long)(run.first + run.count - 1));
    }
}

/* Text in quotes, escaped as JSON does; what is no text, in base64. */
static void put_quoted(struct buf *out, struct bytes value)
{
    if (!utf8_valid(value)) {
        buf_put_text(out, "base64:");
        codec_base64_put(out, value);
        return;
    }
    buf_put_u8(out, '"');
    json_escape(out, value);
    buf_put_u8(out, '"');
}

/* ---- in words ---- */

static void message_words(struct buf *out, const struct record_message *m, bool bodies)
{
    struct bytes list = m->attributes;
    struct record_attribute a;
    put_uuid(out, &m->id);
    if (m->key.n > 0) {
        buf_put_text(out, ", key ");
        put_quoted(out, m->key);
    }
    if (m->tombstone)
        buf_put_text(out, ", tombstone, sent ");
    else
        buf_put_format(out, ", %zu bytes, sent ", m->body.n);
    dump_wall_time(out, m->sent_wall_ms);
    buf_put_format(out, ", accepted at %lld", (long long)m->accepted_ms);
    if (m->due_ms != m->accepted_ms)
        buf_put_format(out, ", due at %lld%s", (long long)m->due_ms,
                       m->delay_is_default ? " by the topic's delay" : "");
    if (m->group_id.n > 0) {
        buf_put_text(out, ", message group ");
        put_quoted(out, m->group_id);
    }
    if (m->dedup_id.n > 0) {
        buf_put_text(out, ", deduplication id ");
        put_quoted(out, m->dedup_id);
        buf_put_format(out, " until %lld", (long long)m->dedup_until_ms);
    }
    if (m->receive_count > 0)
        buf_put_format(out, ", received %u times before", (unsigned)m->receive_count);
    while (record_attribute_next(&list, &a)) {
        buf_put_text(out, ", attribute ");
        put_quoted(out, a.name);
    }
    if (m->moved) {
        buf_put_text(out, ", moved from topic ");
        put_quoted(out, m->origin.name);
        buf_put_format(out, " (");
        put_topic_id(out, &m->origin.topic);
        buf_put_format(out, "/%u, move %llu)", (unsigned)m->origin.partition,
                       (unsigned long long)m->origin.move_seq);
    }
    if (m->repeat.front != 0)
        buf_put_format(out, ", by broker %u (life %llu, send %llu)", (unsigned)m->repeat.front,
                       (unsigned long long)m->repeat.life, (unsigned long long)m->repeat.sequence);
    if (bodies && !m->tombstone) {
        buf_put_text(out, ": ");
        put_quoted(out, m->body);
    }
}

static void lease_words(struct buf *out, const struct record_lease *l)
{
    buf_put_format(out, "group %u takes ", (unsigned)l->gid);
    put_numbers(out, l->numbers);
    buf_put_format(out, " from %lld until %lld (%lld ms, ", (long long)l->granted_ms,
                   (long long)l->until_ms, (long long)(l->until_ms - l->granted_ms));
    dump_wall_time(out, l->granted_wall_ms);
    buf_put_format(out, "), lease %llu.%llu, holder ", (unsigned long long)l->id.epoch,
                   (unsigned long long)l->id.counter);
    put_quoted(out, l->holder);
}

static void group_words(struct buf *out, const struct record_group *g)
{
    buf_put_format(out, "group %u ", (unsigned)g->gid);
    put_quoted(out, g->name);
    if (g->dropped)
        buf_put_text(out, " is dropped");
    else
        buf_put_format(out, " is made, generation %llu, from number %llu on",
                       (unsigned long long)g->generation, (unsigned long long)g->from);
}

static void move_words(struct buf *out, const struct record_move *m)
{
    buf_put_format(out, "group %u: %llu is to go to topic ", (unsigned)m->gid,
                   (unsigned long long)m->number);
    put_topic_id(out, &m->target);
    buf_put_format(out, " after %u receives, move %llu", (unsigned)m->receive_count,
                   (unsigned long long)m->seq);
}

/* Number:bytes for each. */
static void sizes_words(struct buf *out, const struct record_sizes *s)
{
    struct bytes left = s->numbers;
    struct cursor sizes = cursor_of(s->sizes);
    struct record_run run;
    uint64_t end = 0;
    buf_put_text(out, "bytes of messages:");
    while (record_runs_next(&left, &end, &run))
        for (uint64_t n = run.first; n < end; n++)
            buf_put_format(out, " %llu:%llu", (unsigned long long)n,
                           (unsigned long long)cursor_varint(&sizes));
    if (s->total)
        buf_put_format(out, "; group %u has %llu live bytes", (unsigned)s->gid,
                       (unsigned long long)s->live_bytes);
}

static void words(struct buf *out, const struct record *r, bool bodies)
{
    switch (r->type) {
    case RECORD_MESSAGE:
        message_words(out, &r->message, bodies);
        break;
    case RECORD_GROUP:
        group_words(out, &r->group);
        break;
    case RECORD_LEASE:
        lease_words(out, &r->lease);
        break;
    case RECORD_DONE:
        buf_put_format(out, "group %u is finished with ", (unsigned)r->done.gid);
        put_numbers(out, r->done.numbers);
        break;
    case RECORD_EXTEND:
        buf_put_format(out, "group %u: the lease on %llu ends at %lld", (unsigned)r->extend.gid,
                       (unsigned long long)r->extend.number, (long long)r->extend.until_ms);
        break;
    case RECORD_MOVE:
        move_words(out, &r->move);
        break;
    case RECORD_MOVED:
    case RECORD_UNMOVE:
        buf_put_format(out, "move %llu is %s", (unsigned long long)r->moved.seq,
                       r->type == RECORD_MOVED ? "done" : "called off");
        break;
    case RECORD_PURGE:
        buf_put_format(out, "group %u is finished with all below %llu%s", (unsigned)r->purge.gid,
                       (unsigned long long)r->purge.below,
                       r->purge.clear_dedup ? ", deduplication ids are forgotten" : "");
        break;
    case RECORD_TRIM:
        buf_put_format(out, "all below %llu has expired", (unsigned long long)r->trim.below);
        break;
    case RECORD_EPOCH:
        buf_put_format(out, "start %llu begins to write, at %lld",
                       (unsigned long long)r->epoch.epoch, (long long)r->epoch.now_ms);
        break;
    case RECORD_SIZES:
        sizes_words(out, &r->sizes);
        break;
    case RECORD_EMIT:
    case RECORD_CHECK:
    case RECORD_GAP:
        break; /* reserved: not decoded */
    }
}

static void put_place_words(struct buf *out, const struct dump_place *at, bool message)
{
    buf_put_format(out, "offset %llu", (unsigned long long)at->offset);
    if (message)
        buf_put_format(out, ", number %llu", (unsigned long long)at->number);
}

void dump_record_words(struct buf *out, const struct dump_place *at, const struct record *r,
                       bool bodies)
{
    put_place_words(out, at, r->type == RECORD_MESSAGE);
    buf_put_format(out, ": %s ", type_word(r->type));
    words(out, r, bodies);
    buf_put_u8(out, '\n');
}

/* ---- as JSON ---- */

static void put_uint(struct json_writer *w, const char *key, uint64_t v)
{
    json_put_key(w, key);
    json_put_uint64(w, v);
}

static void put_int(struct json_writer *w, const char *key, int64_t v)
{
    json_put_key(w, key);
    json_put_int64(w, v);
}

/* KEY, or KEY_base64 when it is no text. */
static void put_text(struct json_writer *w, const char *key, struct bytes value)
{
    char other[64];
    if (utf8_valid(value)) {
        json_put_key(w, key);
        json_put_string(w, value);
        return;
    }
    snprintf(other, sizeof other, "%s_base64", key);
    json_put_key(w, other);
    json_put_base64(w, value);
}

static void put_id(struct json_writer *w, const char *key, const struct uuid *id,
                   void (*put)(struct buf *out, const struct uuid *id))
{
    struct buf text = BUF_EMPTY;
    put(&text, id);
    json_put_key(w, key);
    json_put_string(w, buf_bytes(&text));
    buf_fini(&text);
}

/* [[first, last], …] */
static void put_runs(struct json_writer *w, struct bytes runs)
{
    uint64_t end = 0;
    struct record_run run;
    json_put_key(w, "numbers");
    json_begin_array(w);
    while (record_runs_next(&runs, &end, &run)) {
        json_begin_array(w);
        json_put_uint64(w, run.first);
        json_put_uint64(w, run.first + run.count - 1);
        json_end_array(w);
    }
    json_end_array(w);
}

static void attributes_json(struct json_writer *w, struct bytes list)
{
    struct record_attribute a;
    json_put_key(w, "attributes");
    json_begin_array(w);
    while (record_attribute_next(&list, &a)) {
        json_begin_object(w);
        put_text(w, "name", a.name);
        put_text(w, "type", a.data_type);
        json_put_key(w, a.kind == ATTRIBUTE_TEXT ? "value" : "value_base64");
        if (a.kind == ATTRIBUTE_TEXT && utf8_valid(a.value))
            json_put_string(w, a.value);
        else
            json_put_base64(w, a.value);
        json_end_object(w);
    }
    json_end_array(w);
}

static void origin_json(struct json_writer *w, const struct record_origin *o)
{
    json_put_key(w, "moved_from");
    json_begin_object(w);
    put_id(w, "topic_id", &o->topic, put_topic_id);
    put_text(w, "topic", o->name);
    put_uint(w, "partition", o->partition);
    put_uint(w, "move", o->move_seq);
    put_uint(w, "moves_closed", o->moves_closed);
    json_end_object(w);
}

static void repeat_json(struct json_writer *w, const struct record_repeat *k)
{
    json_put_key(w, "repeat_key");
    json_begin_object(w);
    put_uint(w, "broker", k->front);
    put_uint(w, "life", k->life);
    put_uint(w, "sequence", k->sequence);
    put_uint(w, "settled_below", k->settled_below);
    json_end_object(w);
}

static void message_json(struct json_writer *w, const struct record_message *m, bool bodies)
{
    put_id(w, "id", &m->id, put_uuid);
    if (m->key.n > 0)
        put_text(w, "key", m->key);
    put_uint(w, "body_bytes", m->body.n);
    if (m->tombstone) {
        json_put_key(w, "tombstone");
        json_put_bool(w, true);
    }
    put_int(w, "sent_wall_ms", m->sent_wall_ms);
    put_int(w, "accepted_ms", m->accepted_ms);
    put_int(w, "due_ms", m->due_ms);
    json_put_key(w, "delay_is_default");
    json_put_bool(w, m->delay_is_default);
    put_uint(w, "receive_count", m->receive_count);
    if (m->group_id.n > 0)
        put_text(w, "group_id", m->group_id);
    if (m->dedup_id.n > 0)
        put_text(w, "dedup_id", m->dedup_id);
    if (m->dedup_until_ms != 0)
        put_int(w, "dedup_until_ms", m->dedup_until_ms);
    if (m->trace.n > 0)
        put_text(w, "trace", m->trace);
    if (m->attributes.n > 0)
        attributes_json(w, m->attributes);
    if (m->moved)
        origin_json(w, &m->origin);
    if (m->repeat.front != 0)
        repeat_json(w, &m->repeat);
    if (bodies && !m->tombstone)
        put_text(w, "body", m->body);
}

static void lease_json(struct json_writer *w, const struct record_lease *l)
{
    put_uint(w, "group", l->gid);
    put_runs(w, l->numbers);
    put_uint(w, "lease_epoch", l->id.epoch);
    put_uint(w, "lease_counter", l->id.counter);
    put_int(w, "granted_ms", l->granted_ms);
    put_int(w, "granted_wall_ms", l->granted_wall_ms);
    put_int(w, "until_ms", l->until_ms);
    put_text(w, "holder", l->holder);
}

static void group_json(struct json_writer *w, const struct record_group *g)
{
    put_uint(w, "group", g->gid);
    put_text(w, "name", g->name);
    json_put_key(w, "dropped");
    json_put_bool(w, g->dropped);
    put_uint(w, "generation", g->generation);
    put_uint(w, "from", g->from);
}

static void move_json(struct json_writer *w, const struct record_move *m)
{
    put_uint(w, "group", m->gid);
    put_uint(w, "number_moved", m->number);
    put_uint(w, "move", m->seq);
    put_uint(w, "receive_count", m->receive_count);
    put_id(w, "target_topic_id", &m->target, put_topic_id);
}

static void sizes_json(struct json_writer *w, const struct record_sizes *s)
{
    struct cursor sizes = cursor_of(s->sizes);
    put_runs(w, s->numbers);
    json_put_key(w, "message_bytes");
    json_begin_array(w);
    while (sizes.left > 0 && !sizes.bad)
        json_put_uint64(w, cursor_varint(&sizes));
    json_end_array(w);
    if (s->total) {
        put_uint(w, "group", s->gid);
        put_uint(w, "live_bytes", s->live_bytes);
    }
}

static void fields_json(struct json_writer *w, const struct record *r, bool bodies)
{
    switch (r->type) {
    case RECORD_MESSAGE:
        message_json(w, &r->message, bodies);
        break;
    case RECORD_GROUP:
        group_json(w, &r->group);
        break;
    case RECORD_LEASE:
        lease_json(w, &r->lease);
        break;
    case RECORD_DONE:
        put_uint(w, "group", r->done.gid);
        put_runs(w, r->done.numbers);
        break;
    case RECORD_EXTEND:
        put_uint(w, "group", r->extend.gid);
        put_uint(w, "number_extended", r->extend.number);
        put_int(w, "until_ms", r->extend.until_ms);
        break;
    case RECORD_MOVE:
        move_json(w, &r->move);
        break;
    case RECORD_MOVED:
    case RECORD_UNMOVE:
        put_uint(w, "move", r->moved.seq);
        break;
    case RECORD_PURGE:
        put_uint(w, "group", r->purge.gid);
        put_uint(w, "below", r->purge.below);
        json_put_key(w, "clear_dedup");
        json_put_bool(w, r->purge.clear_dedup);
        break;
    case RECORD_TRIM:
        put_uint(w, "below", r->trim.below);
        break;
    case RECORD_EPOCH:
        put_uint(w, "begins", r->epoch.epoch);
        put_int(w, "now_ms", r->epoch.now_ms);
        break;
    case RECORD_SIZES:
        sizes_json(w, &r->sizes);
        break;
    case RECORD_EMIT:
    case RECORD_CHECK:
    case RECORD_GAP:
        break; /* reserved: not decoded */
    }
}

static void begin_json(struct json_writer *w, const struct dump_place *at, const char *type,
                       bool message)
{
    json_begin_object(w);
    put_uint(w, "offset", at->offset);
    if (message)
        put_uint(w, "number", at->number);
    put_uint(w, "epoch", at->epoch);
    json_put_key(w, "type");
    json_put_text(w, type);
}

static void end_json(struct json_writer *w)
{
    json_end_object(w);
    json_writer_done(w);
    buf_put_u8(w->out, '\n');
}

void dump_record_json(struct buf *out, const struct dump_place *at, const struct record *r,
                      bool bodies)
{
    struct json_writer w = json_writer_to(out);
    begin_json(&w, at, type_word(r->type), r->type == RECORD_MESSAGE);
    fields_json(&w, r, bodies);
    end_json(&w);
}

void dump_gap(struct buf *out, const struct batch_header *h, bool json)
{
    struct dump_place at = {h->base_offset, h->first_number, h->epoch};
    if (!json) {
        put_place_words(out, &at, true);
        buf_put_format(out, ": GAP %u records, of them %u messages, were cleaned away\n",
                       (unsigned)h->records, (unsigned)h->messages);
        return;
    }
    struct json_writer w = json_writer_to(out);
    begin_json(&w, &at, "GAP", true);
    put_uint(&w, "records", h->records);
    put_uint(&w, "messages", h->messages);
    end_json(&w);
}

void dump_unreadable(struct buf *out, const struct dump_place *at, uint8_t type, enum err e,
                     bool json)
{
    if (!json) {
        put_place_words(out, at, type == RECORD_MESSAGE);
        buf_put_format(out, ": type %u, unreadable: %s\n", (unsigned)type, err_text(e));
        return;
    }
    struct json_writer w = json_writer_to(out);
    begin_json(&w, at, "UNREADABLE", type == RECORD_MESSAGE);
    put_uint(&w, "type_number", type);
    json_put_key(&w, "why");
    json_put_text(&w, err_text(e));
    end_json(&w);
}

// SPDX-License-Identifier: Apache-2.0
/* RECORDS.md fixes every byte. Encoders CHECK what they are given (our own records); the decoder
 * tests everything, because its bytes come from a disk or a peer. */
#include "partition/record.h"

#include "partition/codec.h"
#include "partition/record_message.h"

enum { FLAG_0 = 1 };

static void put_number(struct buf *out, uint64_t number)
{
    CHECK(number < CODEC_NUMBER_MAX);
    buf_put_varint(out, number);
}

static void encode_group(const struct record_group *g, struct buf *out)
{
    CHECK(g->name.n <= RECORD_ID_BYTES_MAX);
    buf_put_varint(out, g->gid);
    buf_put_varint(out, g->dropped ? FLAG_0 : 0);
    buf_put_varint(out, g->generation);
    put_number(out, g->from);
    buf_put_sized(out, g->name);
}

static void encode_lease(const struct record_lease *l, struct buf *out)
{
    CHECK(l->holder.n <= RECORD_HOLDER_BYTES_MAX && l->numbers.n > 0);
    buf_put_varint(out, l->gid);
    buf_put_varint(out, l->id.epoch);
    buf_put_varint(out, l->id.counter);
    codec_put_time(out, l->granted_ms);
    codec_put_time_after(out, l->granted_wall_ms, l->granted_ms);
    codec_put_time_after(out, l->until_ms, l->granted_ms);
    buf_put_sized(out, l->holder);
    buf_put_bytes(out, l->numbers);
}

static void encode_move(const struct record_move *m, struct buf *out)
{
    buf_put_varint(out, m->gid);
    put_number(out, m->number);
    put_number(out, m->seq);
    buf_put_varint(out, m->receive_count);
    buf_put(out, m->target.at, sizeof m->target.at);
}

static void encode_sizes(const struct record_sizes *s, struct buf *out)
{
    CHECK(s->total || s->numbers.n > 0);
    buf_put_varint(out, s->total ? FLAG_0 : 0);
    if (s->total) {
        buf_put_varint(out, s->gid);
        put_number(out, s->live_bytes);
    }
    buf_put_sized(out, s->numbers);
    buf_put_bytes(out, s->sizes);
}

size_t record_bytes_hint(const struct record *r)
{
    enum { FEW_BYTES = 64 };
    return r->type == RECORD_MESSAGE ? record_message_bytes_most(&r->message) : FEW_BYTES;
}

void record_encode(const struct record *r, struct buf *out)
{
    switch (r->type) {
    case RECORD_MESSAGE:
        record_message_encode(&r->message, out);
        return;
    case RECORD_GROUP:
        encode_group(&r->group, out);
        return;
    case RECORD_LEASE:
        encode_lease(&r->lease, out);
        return;
    case RECORD_DONE:
        CHECK(r->done.numbers.n > 0);
        buf_put_varint(out, r->done.gid);
        buf_put_bytes(out, r->done.numbers);
        return;
    case RECORD_EXTEND:
        buf_put_varint(out, r->extend.gid);
        put_number(out, r->extend.number);
        codec_put_time(out, r->extend.until_ms);
        return;
    case RECORD_MOVE:
        encode_move(&r->move, out);
        return;
    case RECORD_MOVED:
    case RECORD_UNMOVE:
        put_number(out, r->moved.seq);
        return;
    case RECORD_PURGE:
        buf_put_varint(out, r->purge.gid);
        buf_put_varint(out, r->purge.clear_dedup ? FLAG_0 : 0);
        put_number(out, r->purge.below);
        return;
    case RECORD_TRIM:
        put_number(out, r->trim.below);
        return;
    case RECORD_EPOCH:
        buf_put_varint(out, r->epoch.epoch);
        codec_put_time(out, r->epoch.now_ms);
        return;
    case RECORD_SIZES:
        encode_sizes(&r->sizes, out);
        return;
    case RECORD_EMIT:
    case RECORD_CHECK:
    case RECORD_GAP:
        break;
    }
    UNREACHABLE();
}

/* ERR_NEWER_FORMAT when a bit other than bit 0 is set. */
static enum err read_flag(struct cursor *c, bool *out)
{
    uint64_t flags = cursor_varint(c);
    if (!c->bad && flags > FLAG_0)
        return ERR_NEWER_FORMAT;
    *out = flags == FLAG_0;
    return ERR_OK;
}

/* How many numbers the runs hold; bad when they are not well-formed or more than `most`. */
static uint64_t count_runs(struct cursor *c, struct bytes left, uint64_t most)
{
    struct record_run run;
    uint64_t end = 0, sum = 0;
    while (record_runs_next(&left, &end, &run)) {
        if (run.count > most - sum) {
            c->bad = true;
            return 0;
        }
        sum += run.count;
    }
    if (left.n > 0)
        c->bad = true;
    return sum;
}

/* The rest of the payload as runs of at most `most` numbers. */
static struct bytes read_runs(struct cursor *c, uint64_t most)
{
    struct bytes all = codec_rest(c);
    if (count_runs(c, all, most) == 0)
        c->bad = true;
    return all;
}

static enum err read_sizes(struct cursor *c, struct record_sizes *s)
{
    enum err e = read_flag(c, &s->total);
    if (e != ERR_OK)
        return e;
    if (s->total) {
        s->gid = codec_u32(c);
        s->live_bytes = codec_number(c);
    }
    s->numbers = cursor_sized(c);
    uint64_t n = count_runs(c, s->numbers, RECORD_SIZES_NUMBERS_MAX);
    s->sizes = codec_rest(c);
    struct cursor sizes = cursor_of(s->sizes);
    for (uint64_t i = 0; i < n && !sizes.bad; i++)
        if (codec_u32(&sizes) == 0)
            sizes.bad = true;
    if (sizes.bad || sizes.left > 0 || (n == 0 && !s->total))
        c->bad = true;
    return ERR_OK;
}

static enum err read_group(struct cursor *c, struct record_group *g)
{
    g->gid = codec_u32(c);
    enum err e = read_flag(c, &g->dropped);
    if (e != ERR_OK)
        return e;
    g->generation = cursor_varint(c);
    g->from = codec_number(c);
    g->name = codec_sized_upto(c, RECORD_ID_BYTES_MAX);
    return ERR_OK;
}

static void read_lease(struct cursor *c, struct record_lease *l)
{
    l->gid = codec_u32(c);
    l->id.epoch = cursor_varint(c);
    l->id.counter = cursor_varint(c);
    l->granted_ms = codec_time(c);
    l->granted_wall_ms = codec_time_after(c, l->granted_ms);
    l->until_ms = codec_time_after(c, l->granted_ms);
    l->holder = codec_sized_upto(c, RECORD_HOLDER_BYTES_MAX);
    l->numbers = read_runs(c, RECORD_LEASE_NUMBERS_MAX);
}

static void read_move(struct cursor *c, struct record_move *m)
{
    m->gid = codec_u32(c);
    m->number = codec_number(c);
    m->seq = codec_number(c);
    m->receive_count = codec_u32(c);
    codec_copy(c, m->target.at, sizeof m->target.at);
}

static enum err read_control(struct cursor *c, struct record *r)
{
    switch (r->type) {
    case RECORD_GROUP:
        return read_group(c, &r->group);
    case RECORD_LEASE:
        read_lease(c, &r->lease);
        return ERR_OK;
    case RECORD_DONE:
        r->done.gid = codec_u32(c);
        r->done.numbers = read_runs(c, CODEC_NUMBER_MAX);
        return ERR_OK;
    case RECORD_EXTEND:
        r->extend.gid = codec_u32(c);
        r->extend.number = codec_number(c);
        r->extend.until_ms = codec_time(c);
        return ERR_OK;
    case RECORD_MOVE:
        read_move(c, &r->move);
        return ERR_OK;
    case RECORD_MOVED:
    case RECORD_UNMOVE:
        r->moved.seq = codec_number(c);
        return ERR_OK;
    case RECORD_PURGE: {
        r->purge.gid = codec_u32(c);
        enum err e = read_flag(c, &r->purge.clear_dedup);
        r->purge.below = codec_number(c);
        return e;
    }
    case RECORD_TRIM:
        r->trim.below = codec_number(c);
        return ERR_OK;
    case RECORD_EPOCH:
        r->epoch.epoch = cursor_varint(c);
        r->epoch.now_ms = codec_time(c);
        return ERR_OK;
    case RECORD_SIZES:
        return read_sizes(c, &r->sizes);
    case RECORD_MESSAGE:
    case RECORD_EMIT:
    case RECORD_CHECK:
    case RECORD_GAP:
        break;
    }
    UNREACHABLE();
}

enum err record_decode(uint8_t type, struct bytes payload, struct record *out)
{
    if (type < RECORD_MESSAGE || type > RECORD_SIZES ||
        (type > RECORD_EPOCH && type < RECORD_SIZES))
        return ERR_NEWER_FORMAT;
    struct record r;
    memset(&r, 0, sizeof r);
    r.type = (enum record_type)type;
    enum err e;
    if (r.type == RECORD_MESSAGE) {
        e = record_message_decode(payload, &r.message);
    } else {
        struct cursor c = cursor_of(payload);
        e = read_control(&c, &r);
        if (e == ERR_OK && (c.bad || c.left > 0))
            e = ERR_CORRUPT;
    }
    if (e == ERR_OK)
        *out = r;
    return e;
}

// SPDX-License-Identifier: Apache-2.0
/* Words that records and snapshots share: signed times as zigzag varints, bounded reads. */
#ifndef PARTITION_CODEC_H
#define PARTITION_CODEC_H

#include "base/buf.h"

/* Numbers, seqs and ends of runs stay below this, so that they fit a heap's key. */
#define CODEC_NUMBER_MAX ((uint64_t)INT64_MAX)
/* Times stay within this of zero, so that no difference of two can overflow. */
#define CODEC_TIME_MAX ((int64_t)1 << 61)

static inline void codec_put_signed(struct buf *out, int64_t v)
{
    uint64_t u = (uint64_t)v << 1;
    buf_put_varint(out, v < 0 ? ~u : u);
}

static inline int64_t codec_signed(struct cursor *c)
{
    uint64_t u = cursor_varint(c);
    return (int64_t)((u >> 1) ^ (0 - (u & 1)));
}

static inline void codec_put_time(struct buf *out, int64_t ms)
{
    CHECK(ms >= -CODEC_TIME_MAX && ms <= CODEC_TIME_MAX);
    codec_put_signed(out, ms);
}

static inline void codec_put_time_after(struct buf *out, int64_t ms, int64_t base_ms)
{
    CHECK(ms >= -CODEC_TIME_MAX && ms <= CODEC_TIME_MAX);
    codec_put_signed(out, ms - base_ms);
}

static inline int64_t codec_time(struct cursor *c)
{
    int64_t ms = codec_signed(c);
    if (ms < -CODEC_TIME_MAX || ms > CODEC_TIME_MAX)
        c->bad = true;
    return c->bad ? 0 : ms;
}

static inline int64_t codec_time_after(struct cursor *c, int64_t base_ms)
{
    int64_t difference = codec_signed(c);
    if (difference < -2 * CODEC_TIME_MAX || difference >= 2 * CODEC_TIME_MAX)
        c->bad = true;
    int64_t ms = c->bad ? 0 : base_ms + difference;
    if (ms < -CODEC_TIME_MAX || ms > CODEC_TIME_MAX)
        c->bad = true;
    return c->bad ? 0 : ms;
}

/* A varint of at most `most`. */
static inline uint64_t codec_upto(struct cursor *c, uint64_t most)
{
    uint64_t v = cursor_varint(c);
    if (v > most)
        c->bad = true;
    return c->bad ? 0 : v;
}

static inline uint32_t codec_u32(struct cursor *c)
{
    return (uint32_t)codec_upto(c, UINT32_MAX);
}

static inline uint64_t codec_number(struct cursor *c)
{
    return codec_upto(c, CODEC_NUMBER_MAX - 1);
}

/* Sized bytes of at most `most`. */
static inline struct bytes codec_sized_upto(struct cursor *c, size_t most)
{
    struct bytes b = cursor_sized(c);
    if (b.n > most)
        c->bad = true;
    return c->bad ? BYTES_NONE : b;
}

/* `n` bytes into `to`; zeros when they are not there. */
static inline void codec_copy(struct cursor *c, void *to, size_t n)
{
    struct bytes b = cursor_bytes(c, n);
    if (b.n == n)
        memcpy(to, b.at, n);
    else
        memset(to, 0, n);
}

static inline struct bytes codec_rest(struct cursor *c)
{
    return cursor_bytes(c, c->left);
}

#endif

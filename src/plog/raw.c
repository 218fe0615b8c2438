// SPDX-License-Identifier: Apache-2.0
/* Batches as the bytes that they are: read for a follower, checked and appended by one. */
#include "base/mem.h"
#include "plog/copy.h"
#include "plog/epochs.h"
#include "plog/inside.h"
#include "plog/reader.h"

enum { READ_AHEAD_LEAST = 4096, READ_AHEAD_MOST = 256 << 10 };

/* ---- reading ---- */

struct raw_reading {
    struct plog_log *log;
    uint64_t offset; /* what comes next */
    uint64_t end;    /* durable when the reading began */
    size_t bytes_max;
    struct buf *out;
    size_t begin; /* of what is put out */
    bool full;
};

/* The batch from `offset` on, as a batch of its own. The leader's numbers of a GAP's middle are not
 * known; plog_append_raw looks at its end only. */
static enum err put_rest(struct raw_reading *r, struct bytes whole, const struct batch_header *h)
{
    struct batch_header rest = *h;
    size_t position;
    enum err e = batch_place(whole, h, r->offset, &rest.first_number, &position);
    if (e != ERR_OK)
        return e;
    rest.base_offset = r->offset;
    rest.records = (uint32_t)(batch_end(h) - r->offset);
    rest.messages = (uint32_t)(batch_end_number(h) - rest.first_number);
    if (h->gap) {
        char at[BATCH_HEADER_BYTES];
        batch_gap_store(at, &rest);
        buf_put(r->out, at, sizeof at);
        return ERR_OK;
    }
    struct plog_batch *b = plog_batch_new(whole.n - position);
    buf_put(&b->bytes, (const char *)whole.at + position, whole.n - position);
    b->h = rest;
    batch_seal(b);
    buf_put_bytes(r->out, buf_bytes(&b->bytes));
    plog_batch_free(b);
    return ERR_OK;
}

/* Puts out what the batch has at or behind r->offset. */
static enum err put(struct raw_reading *r, struct bytes whole, const struct batch_header *h)
{
    size_t n = r->out->n - r->begin;
    enum err e = ERR_OK;
    if (batch_end(h) <= r->offset)
        return ERR_OK;
    if (h->base_offset > r->offset)
        return ERR_CORRUPT;
    r->full = h->base_offset >= r->end || (n > 0 && n + whole.n > r->bytes_max);
    if (r->full)
        return ERR_OK;
    if (h->base_offset == r->offset)
        buf_put_bytes(r->out, whole);
    else
        e = put_rest(r, whole, h);
    if (e == ERR_OK)
        r->offset = batch_end(h);
    return e;
}

/* As many as follow in one segment. */
static enum err read_segment(struct raw_reading *r)
{
    size_t ahead = r->bytes_max < READ_AHEAD_LEAST  ? READ_AHEAD_LEAST
                   : r->bytes_max > READ_AHEAD_MOST ? READ_AHEAD_MOST
                                                    : r->bytes_max;
    struct batch_reader from;
    uint64_t before = r->offset;
    enum err e = batch_reader_find(&from, r->log, r->offset, false, ahead);
    if (e != ERR_OK)
        return e;
    while (e == ERR_OK && !r->full && r->offset < r->end) {
        struct bytes whole;
        struct batch_header h;
        e = batch_reader_next(&from, from.view.bytes, &whole, &h);
        if (e == ERR_OK)
            e = put(r, whole, &h);
    }
    uint64_t segment = from.view.name, position = from.position;
    batch_reader_close(&from);
    /* It was not in the cache, so it is in its segment, or the log has a hole. */
    if (e == ERR_NOT_FOUND)
        e = r->offset > before ? ERR_OK : ERR_CORRUPT;
    if (e == ERR_CORRUPT || e == ERR_NEWER_FORMAT)
        log_note_corrupt(r->log, segment, position, e);
    return e;
}

static enum err read_on(struct raw_reading *r)
{
    struct cache *cache = &r->log->plog->cache;
    struct plog_batch *b = cache_lend_offset(cache, &r->log->ring, r->offset);
    if (b == NULL)
        return read_segment(r);
    enum err e = put(r, buf_bytes(&b->bytes), &b->h);
    cache_give_back(cache, b);
    return e;
}

enum err plog_raw_read(struct plog_log *l, uint64_t offset, size_t bytes_max, struct buf *out)
{
    struct raw_reading r = {l, offset, plog_durable(l), bytes_max, out, out->n, false};
    enum err e = ERR_OK;
    if (l->damage != NULL)
        return ERR_CORRUPT;
    if (offset < plog_start_offset(l))
        return ERR_GONE;
    if (offset >= r.end)
        return ERR_NOT_FOUND;
    while (e == ERR_OK && !r.full && r.offset < r.end)
        e = read_on(&r);
    /* What could be read is an answer; the rest is asked for next, and fails alone. */
    if (r.offset > offset)
        return ERR_OK;
    out->n = r.begin;
    return e;
}

/* ---- checking ---- */

enum err plog_raw_next(struct bytes *rest, struct plog_raw *out)
{
    struct batch_header h;
    if (rest->n == 0)
        return ERR_NOT_FOUND;
    if (rest->n < BATCH_HEADER_BYTES)
        return ERR_CORRUPT;
    enum err e = batch_header_peek(rest->at, &h);
    if (e != ERR_OK || h.bytes > rest->n)
        return ERR_CORRUPT;
    struct bytes whole = {rest->at, h.bytes};
    uint64_t number;
    size_t position;
    e = batch_check(whole, &h);
    if (e == ERR_OK)
        e = batch_place(whole, &h, batch_end(&h), &number, &position);
    if (e != ERR_OK)
        return ERR_CORRUPT;
    *out = (struct plog_raw){
        .base_offset = h.base_offset,
        .end_offset = batch_end(&h),
        .first_number = h.first_number,
        .end_number = batch_end_number(&h),
        .epoch = h.epoch,
        .leader_ms = h.leader_ms,
        .bytes = whole,
    };
    *rest = (struct bytes){(const char *)rest->at + h.bytes, rest->n - h.bytes};
    return ERR_OK;
}

/* ---- appending ---- */

/* A GAP stands for what lies between the log's end number and its own, wherever it begins at the
 * leader. */
static bool fit_gap(const struct plog_log *l, struct batch_header *h)
{
    uint64_t end = batch_end_number(h);
    if (end < l->end_number || end - l->end_number > h->records)
        return false;
    h->first_number = l->end_number;
    h->messages = (uint32_t)(end - l->end_number);
    return true;
}

enum err plog_append_raw(struct plog_log *l, const struct plog_raw *raw, bool waited)
{
    struct batch_header h;
    uint64_t last_epoch;
    CHECK(l->damage == NULL);
    enum err e = batch_header_peek(raw->bytes.at, &h);
    if (e == ERR_OK)
        e = epochs_last(l, &last_epoch);
    if (e != ERR_OK)
        return e;
    if (h.base_offset != l->end || h.epoch < last_epoch ||
        (h.gap ? !fit_gap(l, &h) : h.first_number != l->end_number))
        return ERR_INVALID;
    struct plog_batch *b = plog_batch_new(raw->bytes.n);
    buf_clear(&b->bytes);
    buf_put_bytes(&b->bytes, raw->bytes);
    if (h.gap)
        batch_gap_store(b->bytes.at, &h);
    b->h = h;
    append_sealed(l, b, waited);
    return ERR_OK;
}

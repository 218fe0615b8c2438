// SPDX-License-Identifier: Apache-2.0
/* What is committed of a log: the durable end, or what its owner says. */
#include "base/mem.h"
#include "plog/copy.h"
#include "plog/inside.h"
#include "plog/reader.h"

enum { READ_AHEAD_BYTES = 8192 };

/* The batch of a segment that holds the record at `offset`. */
static enum err number_in_segment(struct plog_log *l, uint64_t offset, uint64_t *number)
{
    struct batch_reader r;
    struct bytes batch;
    struct batch_header h;
    size_t position;
    enum err e = batch_reader_find(&r, l, offset, false, READ_AHEAD_BYTES);
    if (e != ERR_OK)
        return e;
    e = batch_reader_to(&r, offset, &batch, &h);
    if (e == ERR_OK)
        e = batch_place(batch, &h, offset + 1, number, &position);
    batch_reader_close(&r);
    return e;
}

/* The number that belongs to an offset above the start and at or below the durable end. */
static enum err number_of(struct plog_log *l, uint64_t offset, uint64_t *number)
{
    struct plog_batch *b = cache_lend_offset(&l->plog->cache, &l->ring, offset - 1);
    if (b == NULL)
        return number_in_segment(l, offset - 1, number);
    size_t position;
    enum err e = batch_place(buf_bytes(&b->bytes), &b->h, offset, number, &position);
    cache_give_back(&l->plog->cache, b);
    return e;
}

static void commit_store(struct plog_log *l, uint64_t offset)
{
    lock_take(&l->lk);
    uint64_t start = l->start_offset, number = l->start_number;
    lock_give(&l->lk);
    enum err e = offset > start ? number_of(l, offset, &number) : ERR_OK;
    /* Without its number the offset counts all the same: then messages behind the number known
     * are read by offset only. */
    if (e == ERR_OK)
        atomic_store_explicit(&l->committed_number, number, memory_order_release);
    else
        log_note_corrupt(l, offset, 0, e);
    atomic_store_explicit(&l->committed, offset, memory_order_release);
}

void plog_commit_by_owner(struct plog_log *l, uint64_t committed)
{
    CHECK(committed <= plog_durable(l));
    if (l->damage != NULL)
        return;
    commit_store(l, committed);
    atomic_store_explicit(&l->commit_owned, true, memory_order_release);
}

void plog_commit_to(struct plog_log *l, uint64_t committed)
{
    uint64_t durable = plog_durable(l);
    if (committed > durable)
        committed = durable;
    CHECK(atomic_load_explicit(&l->commit_owned, memory_order_relaxed));
    if (committed > atomic_load_explicit(&l->committed, memory_order_relaxed))
        commit_store(l, committed);
}

uint64_t plog_committed(const struct plog_log *l)
{
    if (!atomic_load_explicit(&l->commit_owned, memory_order_acquire))
        return plog_durable(l);
    return atomic_load_explicit(&l->committed, memory_order_acquire);
}

uint64_t plog_committed_number(const struct plog_log *l)
{
    if (!atomic_load_explicit(&l->commit_owned, memory_order_acquire))
        return plog_durable_number(l);
    return atomic_load_explicit(&l->committed_number, memory_order_acquire);
}

// SPDX-License-Identifier: Apache-2.0
/* The tail cache: the newest batches of all logs, oldest out first, bounded in bytes. Batches that
 * are not in their segment yet live here and, once durable, in the journal; readers find them here
 * alone, so an unwritten batch is never evicted. */
#ifndef PLOG_CACHE_H
#define PLOG_CACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/lock.h"
#include "plog/batch.h"

struct cache {
    struct lock lk;               /* leaf; guards all that follows and each ring */
    TAILQ_HEAD(, plog_batch) all; /* oldest first */
    size_t bytes;
    size_t bytes_max;
    _Atomic size_t unwritten; /* bytes of batches that are in no segment yet; changed under lk */
};

/* One log's batches in the cache, in order: a ring of pointers. */
struct cache_ring {
    struct plog_batch **at;
    size_t first;
    size_t n;
    size_t room; /* 0 or a power of two */
};

void cache_init(struct cache *c, size_t bytes_max);
void cache_fini(struct cache *c);
/* Takes b, whose log's ring is `r`. */
void cache_put(struct cache *c, struct cache_ring *r, struct plog_batch *b);
/* The batch that holds this offset or number, or NULL: lent until cache_give_back. */
struct plog_batch *cache_lend_offset(struct cache *c, struct cache_ring *r, uint64_t offset);
struct plog_batch *cache_lend_number(struct cache *c, struct cache_ring *r, uint64_t number);
void cache_give_back(struct cache *c, struct plog_batch *b);
/* Up to `room` batches that follow one another, the first of which begins at `offset`; how many.
 * Lent until cache_written or cache_give_back. */
size_t cache_lend_run(struct cache *c, struct cache_ring *r, uint64_t offset,
                      struct plog_batch **out, size_t room);
/* Gives back n batches that are in their segment now, so that they may be evicted. */
void cache_written(struct cache *c, struct plog_batch *const *batches, size_t n);
/* Evicts what may be while the cache is too full. */
void cache_trim(struct cache *c);
size_t cache_unwritten(const struct cache *c);
/* Lets go of the log's batches from the offset on. */
void cache_cut(struct cache *c, struct cache_ring *r, uint64_t offset);
/* Lets go of everything of one log. */
void cache_drop_ring(struct cache *c, struct cache_ring *r);

#endif

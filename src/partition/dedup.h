// SPDX-License-Identifier: Apache-2.0
/* Deduplication ids of the last minutes: a queue in order of acceptance, and a map over it. An id
 * counts until its own end; it is forgotten once all accepted before it have ended too. */
#ifndef PARTITION_DEDUP_H
#define PARTITION_DEDUP_H

#include "partition/map.h"
#include "partition/record.h"

struct dedup_item {
    struct id_hash hash;
    struct uuid id;
    uint64_t number;
    int64_t until_ms;
    uint64_t older; /* the place of an item whose hash begins with the same 8 bytes, or 0 */
};

struct dedup {
    struct dedup_item *ring; /* places [first, end), each at ring[place % room] */
    size_t room;             /* 0 or a power of two */
    uint64_t first;          /* places start at 1 */
    uint64_t end;
    struct map newest; /* first 8 bytes of the hash -> place */
};

void dedup_init(struct dedup *d);
void dedup_fini(struct dedup *d);
size_t dedup_count(const struct dedup *d);
/* The i-th oldest. */
const struct dedup_item *dedup_at(const struct dedup *d, size_t i);
/* The newest item of this hash that counts at now_ms, or NULL. */
const struct dedup_item *dedup_find(const struct dedup *d, const struct id_hash *hash,
                                    int64_t now_ms);
void dedup_put(struct dedup *d, const struct dedup_item *item); /* `older` is set here */
/* Forgets the oldest as long as they have ended at now_ms. */
void dedup_prune(struct dedup *d, int64_t now_ms);

#endif

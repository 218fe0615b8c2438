// SPDX-License-Identifier: Apache-2.0
/* Which moved messages have arrived, so that a move that is tried again appends nothing. For each
 * source partition: all moves below `floor` are closed and will not be tried again; of those above,
 * the ones that are here. */
#ifndef PARTITION_ORIGINS_H
#define PARTITION_ORIGINS_H

#include <stdbool.h>
#include <stddef.h>

#include "partition/record.h"

struct arrival {
    uint64_t seq;
    uint64_t number; /* it got here */
};

struct origin {
    struct uuid topic;
    uint32_t partition;
    uint64_t floor;
    struct arrival *at; /* by seq, owned */
    size_t n;
    size_t room;
};

struct origins {
    struct origin *at; /* by (topic, partition), owned */
    size_t n;
};

void origins_fini(struct origins *o);
/* True when the move is known; *number is where it went, or UINT64_MAX when that is forgotten. */
bool origins_find(const struct origins *o, const struct record_origin *key, uint64_t *number);
/* All moves of that source below key->moves_closed are closed. */
void origins_floor(struct origins *o, const struct record_origin *key);
/* As origins_floor, and this move has arrived. */
void origins_put(struct origins *o, const struct record_origin *key, uint64_t number);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Which epoch wrote which stretch of the own log: what followers and leaders compare their logs by
 * (KIP-101). Entries rise in epoch and start; one reaches to where the next begins. Offsets below
 * the log's start may have no entry. */
#ifndef REPLICA_EPOCHS_H
#define REPLICA_EPOCHS_H

#include "replica/replica.h"

struct epochs {
    struct replica_epoch *at; /* owned */
    size_t n;
    size_t room;
};

void epochs_fini(struct epochs *t);
/* Nothing is known but that `epoch` wrote the record at start-1 (when start > 0). */
void epochs_reset(struct epochs *t, uint64_t start, uint64_t epoch);
/* Records of `epoch` follow from `start` on; no news when it is the last one already. */
void epochs_append(struct epochs *t, uint64_t epoch, uint64_t start);
/* The log was cut: nothing at or behind `end` is left. */
void epochs_truncate(struct epochs *t, uint64_t end);
/* The log begins at `start`; the entry that holds start-1 stays. */
void epochs_release(struct epochs *t, uint64_t start);
/* The epoch of the record before `offset`; 0 when offset is 0 or nothing is known of it. */
uint64_t epochs_before(const struct epochs *t, uint64_t offset);
/* The largest epoch <= `epoch` in the table of a log that ends at `end`, 0 when there is none, and
 * where its records end. */
uint64_t epochs_floor(const struct epochs *t, uint64_t epoch, uint64_t end, uint64_t *epoch_end);

#endif

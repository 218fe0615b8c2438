// SPDX-License-Identifier: Apache-2.0
/* The followers' end of snapshots: asks the leader for a partition's state and gives it to the
 * queue, or tells it that it could not be had.
 *
 * Life: new; join; ... stop, while the queue is still open; peer_stop; free. */
#ifndef CLUSTER_SNAPSHOTS_H
#define CLUSTER_SNAPSHOTS_H

#include "cluster/fetcher.h"

struct cluster_snapshots;

/* `o` as the fetcher's: `clock`, `self` and `url` are used. `charge` is told what came; NULL:
 * nobody. */
struct cluster_snapshots *cluster_snapshots_new(const struct cluster_fetcher_options *o,
                                                struct cluster_fetcher *charge);
/* ERR_BUSY: no thread. */
enum err cluster_snapshots_join(struct cluster_snapshots *s, struct peer *p,
                                struct queue *q) MUST_USE;
/* queue_links.snapshot. Any thread, also with a partition's lock held; takes a leaf lock. What is
 * noted before the join waits for it. */
void cluster_snapshots_note(struct cluster_snapshots *s, const struct queue_copy_id *of,
                            uint32_t leader, uint64_t epoch);
void cluster_snapshots_stop(struct cluster_snapshots *s);
void cluster_snapshots_free(struct cluster_snapshots *s);

#endif

// SPDX-License-Identifier: Apache-2.0
/* The data side of a broker as its control side sees it: who fetches from leaders and serves
 * followers. Plugged in, so that neither knows the other. */
#ifndef CLUSTER_DATA_H
#define CLUSTER_DATA_H

#include "peer/peer.h"
#include "queue/copies.h"

/* The first three are queue_links' of the same names, and like those take note and return; NULL:
 * nothing is done. */
struct cluster_data {
    void *self;
    void (*fetch)(void *self, const struct queue_copy_id *of, uint32_t leader,
                  const struct replica_fetch *request);
    void (*snapshot)(void *self, const struct queue_copy_id *of, uint32_t leader, uint64_t epoch);
    void (*moved)(void *self, const struct queue_copy_id *of);
    /* The queue is there, and the other brokers are known. */
    void (*start)(void *self, struct peer *p, struct queue *q);
    /* Asks no more; before the peer is stopped. */
    void (*stop)(void *self);
    const struct peer_route *routes; /* borrowed */
    size_t routes_n;
};

#endif

// SPDX-License-Identifier: Apache-2.0
/* The followers' end of replication: sends what the replicas ask of their leaders, and brings the
 * answers to the queue. README.md says how requests are put together.
 *
 * Life: new; join; ... stop, while the queue is still open; peer_stop; free. What is noted before
 * the join waits for it; what is noted after the stop is forgotten. */
#ifndef CLUSTER_FETCHER_H
#define CLUSTER_FETCHER_H

#include "peer/peer.h"
#include "queue/copies.h"

struct cluster_fetcher;

struct cluster_fetcher_options {
    const struct clock *clock;
    void *self;
    /* The address of a broker's listener for peers; false: it is not known. */
    bool (*url)(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1]);
    /* Is this broker in the in-sync set of the partition, as far as is known here? What is not goes
     * with the throttled conversation, so that it holds nobody up. NULL: always. */
    bool (*is_in_sync)(void *self, const struct queue_copy_id *of);
    /* A call to a broker was lost (ERR_REFUSED: nobody listens there). A hint for elections; NULL:
     * nobody cares. On the fetcher's thread, as all three are, and without locks. */
    void (*lost)(void *self, uint32_t broker, enum err e);
    uint64_t catchup_bytes_per_s; /* 0: 20 MiB/s */
    uint32_t wait_ms;             /* how long a request may wait at its leader; 0: 500 */
};

struct cluster_fetcher *cluster_fetcher_new(const struct cluster_fetcher_options *o);
/* ERR_BUSY: no thread. */
enum err cluster_fetcher_join(struct cluster_fetcher *f, struct peer *p, struct queue *q) MUST_USE;
/* queue_links.fetch. Any thread, also with a partition's lock held; takes a leaf lock. */
void cluster_fetcher_note(struct cluster_fetcher *f, const struct queue_copy_id *of,
                          uint32_t leader, const struct replica_fetch *request);
/* Bytes that came another way (a snapshot) and count against the throttle. */
void cluster_fetcher_charge(struct cluster_fetcher *f, uint64_t bytes);
void cluster_fetcher_stop(struct cluster_fetcher *f);
void cluster_fetcher_free(struct cluster_fetcher *f);

struct cluster_fetcher_counts {
    uint64_t calls; /* made */
    uint64_t lost;  /* of these */
    uint64_t parts; /* answered */
    uint64_t bytes; /* of batches */
    size_t under_way;
};
struct cluster_fetcher_counts cluster_fetcher_counts(struct cluster_fetcher *f);

#endif

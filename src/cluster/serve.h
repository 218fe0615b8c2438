// SPDX-License-Identifier: Apache-2.0
/* The leader's end of replication: answers what other brokers ask of the queue's copies.
 *
 *   /_r/v1/fetch     batches, or a wait until there are some (queue_copy_fetch, queue_copy_read)
 *   /_r/v1/state     what the controller asks before an election (queue_copy_look)
 *   /_r/v1/snapshot  a copy's state (queue_copy_snapshot_read), on a thread of its own
 *
 * Life: new; its routes go into peer_start; join; ... stop, while the queue is still open;
 * peer_stop; free. Before the join and after the stop everything is answered 503. */
#ifndef CLUSTER_SERVE_H
#define CLUSTER_SERVE_H

#include "peer/peer.h"
#include "queue/copies.h"

struct cluster_serve;

enum { CLUSTER_SERVE_ROUTES = 3 };

/* Borrows the clock. */
struct cluster_serve *cluster_serve_new(const struct clock *clock);
void cluster_serve_routes(struct cluster_serve *s, struct peer_route out[CLUSTER_SERVE_ROUTES]);
/* ERR_BUSY: no thread. */
enum err cluster_serve_join(struct cluster_serve *s, struct peer *p, struct queue *q) MUST_USE;
/* queue_links.moved: fetches that wait for this partition are played again. Any thread, also with a
 * partition's lock held. */
void cluster_serve_moved(struct cluster_serve *s, const struct queue_copy_id *of);
void cluster_serve_stop(struct cluster_serve *s);
void cluster_serve_free(struct cluster_serve *s);

struct cluster_serve_counts {
    size_t requests;   /* fetches that wait or are being answered */
    size_t parts;      /* of these */
    size_t partitions; /* different ones among them */
};
struct cluster_serve_counts cluster_serve_counts(struct cluster_serve *s);

#endif

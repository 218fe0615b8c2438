// SPDX-License-Identifier: Apache-2.0
/* A node that becomes the first broker of a cluster: what its catalogue says goes into the
 * cluster's, and its partitions get keys with this broker as their only member. The queue is open
 * without links and without threads, so its logs stand still, and its lock on the data directory
 * keeps everybody else away. */
#ifndef QUEUE_HAND_OVER_H
#define QUEUE_HAND_OVER_H

#include "catalog/catalog.h"
#include "queue/queue.h"

/* Whether it can be: changes nothing. ERR_CONFLICT: `to` holds another cluster, or another node's
 * catalogue. ERR_CLOSED: a topic or a partition of this node must be repaired first. One line in
 * the log says which. The catalogue's errors. */
enum err queue_hand_over_check(struct queue *q, struct catalog *to) MUST_USE;
/* `meta` is the cluster's. Each partition's key has an epoch above all that its log holds, and no
 * leader, so that one is elected once the broker has joined. After an error or a crash it is called
 * again, and goes on or finds that all is done. Errors as catalog_copy. */
enum err queue_hand_over(struct queue *q, uint32_t broker, struct bytes meta,
                         struct catalog *to) MUST_USE;

#endif

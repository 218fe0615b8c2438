// SPDX-License-Identifier: Apache-2.0
/* The data directory of a node that was alone, started with --etcd: its catalogue is taken over
 * into the empty one of a cluster, and it is the cluster's first broker from then on. */
#ifndef CLUSTER_ADOPT_H
#define CLUSTER_ADOPT_H

#include "base/clock.h"
#include "base/rng.h"
#include "catalog/catalog.h"
#include "disk/disk.h"
#include "queue/queue.h"

#define CLUSTER_NODE_CATALOG "catalog.sqlite"
#define CLUSTER_NODE_CATALOG_OLD "catalog.sqlite.taken-over"

/* The steps, each durable before the next, and each found out again after a crash:
 *
 *   1. the node's queue is opened as if it were alone, so that what was under way there is finished
 *   2. it is asked whether the two can come together; nothing has changed until here
 *   3. cluster.json names the cluster: from now on the directory is not served without --etcd
 *   4. keys of partitions and `meta` are put into the node's catalogue, and all of it is copied
 *   5. the node's catalogue gets another name, and is kept
 *
 * Nothing in the directory is led by the cluster before step 5. `node` is what the queue is opened
 * with (no links). ERR_OK also when the directory is no lone node's. ERR_CONFLICT: the catalogue
 * holds another cluster, or the directory is another broker's; ERR_CLOSED: it must be repaired
 * first; one line in the log tells. Errors of queue_open and of catalogues. */
enum err cluster_adopt(const struct queue_options *node, uint32_t broker, struct catalog *to,
                       struct rng *rng) MUST_USE;
/* False: the directory belongs to a cluster's broker, and is not to be served alone; one line
 * tells. */
bool cluster_directory_is_alone(const struct disk *d);

#endif

// SPDX-License-Identifier: Apache-2.0
/* The data side of a broker as its control side sees it: the ends of replication (fetcher.h,
 * serve.h, snapshots.h) with one life. Owned by the cluster. */
#ifndef CLUSTER_DATA_H
#define CLUSTER_DATA_H

#include "cluster/fetcher.h"
#include "cluster/serve.h"
#include "cluster/snapshots.h"

struct cluster_data {
    struct cluster_fetcher *fetcher;
    struct cluster_serve *serve;
    struct cluster_snapshots *snapshots;
    struct peer_route routes[CLUSTER_SERVE_ROUTES]; /* for peer_start */
    int joined_n;                                   /* of the three */
};

/* The clock is borrowed; `url`, `is_in_sync` and `lost` as in cluster_fetcher_options. */
void cluster_data_init(struct cluster_data *d, const struct clock *clock, void *self,
                       bool (*url)(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1]),
                       bool (*is_in_sync)(void *self, const struct queue_copy_id *of),
                       void (*lost)(void *self, uint32_t broker, enum err e));
/* ERR_BUSY: no thread; then too cluster_data_stop ends what has begun. */
enum err cluster_data_join(struct cluster_data *d, struct peer *p, struct queue *q) MUST_USE;
/* Asks and answers no more. The queue is still open, and peer_stop comes next. */
void cluster_data_stop(struct cluster_data *d);
/* After peer_stop. */
void cluster_data_fini(struct cluster_data *d);

#endif

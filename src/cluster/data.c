// SPDX-License-Identifier: Apache-2.0
#include "cluster/data.h"

void cluster_data_init(struct cluster_data *d, const struct clock *clock, void *self,
                       bool (*url)(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1]),
                       bool (*is_in_sync)(void *self, const struct queue_copy_id *of),
                       void (*lost)(void *self, uint32_t broker, enum err e))
{
    struct cluster_fetcher_options o = {
        .clock = clock, .self = self, .url = url, .is_in_sync = is_in_sync, .lost = lost};
    *d = (struct cluster_data){.fetcher = cluster_fetcher_new(&o)};
    d->serve = cluster_serve_new(clock);
    d->snapshots = cluster_snapshots_new(&o, d->fetcher);
    cluster_serve_routes(d->serve, d->routes);
}

enum err cluster_data_join(struct cluster_data *d, struct peer *p, struct queue *q)
{
    enum err e = cluster_serve_join(d->serve, p, q);
    if (e == ERR_OK) {
        d->joined_n = 1;
        e = cluster_fetcher_join(d->fetcher, p, q);
    }
    if (e == ERR_OK) {
        d->joined_n = 2;
        e = cluster_snapshots_join(d->snapshots, p, q);
    }
    if (e == ERR_OK)
        d->joined_n = 3;
    return e;
}

void cluster_data_stop(struct cluster_data *d)
{
    if (d->joined_n > 2)
        cluster_snapshots_stop(d->snapshots);
    if (d->joined_n > 1)
        cluster_fetcher_stop(d->fetcher);
    if (d->joined_n > 0)
        cluster_serve_stop(d->serve);
    d->joined_n = 0;
}

void cluster_data_fini(struct cluster_data *d)
{
    cluster_snapshots_free(d->snapshots);
    cluster_fetcher_free(d->fetcher);
    cluster_serve_free(d->serve);
}

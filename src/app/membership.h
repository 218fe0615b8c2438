// SPDX-License-Identifier: Apache-2.0
/* The settings of a cluster's broker, and what is started of them: its catalogue and its part in
 * the cluster. */
#ifndef APP_MEMBERSHIP_H
#define APP_MEMBERSHIP_H

#include "app/options.h"
#include "catalog/catalog.h"
#include "cluster/cluster.h"

struct membership {
    struct catalog *catalog; /* NULL: the broker is alone */
    struct cluster *cluster;
};

/* False: a setting is missing or wrong; stderr says which. Without --etcd, always true. */
bool membership_check(const struct serve_options *o);
/* Opens etcd's catalogue and the listener for peers. ERR_OK without --etcd. The log says why it
 * failed. */
enum err membership_start(struct membership *m, const struct serve_options *o,
                          const struct clock *clock, const struct disk *disk,
                          const char *client_url) MUST_USE;
/* Once the queue is closed. */
void membership_end(struct membership *m);

#endif

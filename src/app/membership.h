// SPDX-License-Identifier: Apache-2.0
/* The settings of a cluster's broker, and what is started of them: its catalogue and its part in
 * the cluster. */
#ifndef APP_MEMBERSHIP_H
#define APP_MEMBERSHIP_H

#include "app/options.h"
#include "catalog/catalog.h"
#include "cluster/cluster.h"
#include "route/route.h"

enum { MEMBERSHIP_SECRET_ROOM = 4097 };

struct membership {
    struct catalog *catalog; /* NULL: the broker is alone */
    struct cluster *cluster;
    struct route *route;
    struct peer_route routes[ROUTE_ROUTES];
    /* Until it is started. */
    char key[MEMBERSHIP_SECRET_ROOM], etcd_password[MEMBERSHIP_SECRET_ROOM];
    size_t key_n;
};

/* False: a setting is missing or wrong; stderr says which. Without --etcd, always true. */
bool membership_check(const struct serve_options *o);
/* Reads the files that have secrets in them, before anything is taken over. False: stderr says why.
 */
bool membership_secrets_load(struct membership *m, const struct serve_options *o);
/* Opens etcd's catalogue and the listener for peers; a lone node's data directory is taken over
 * before (cluster/adopt.h), for which `node` says how its queue is opened. Without --etcd nothing
 * happens, but ERR_CONFLICT: the directory is of a cluster. ERR_INVALID: a setting is wrong. The
 * log says why it failed. */
enum err membership_start(struct membership *m, const struct serve_options *o,
                          const struct queue_options *node, const char *client_url) MUST_USE;
/* The queue is open: the broker becomes one of the cluster's, and its fronts get their links to the
 * others. */
enum err membership_join(struct membership *m, struct queue *q) MUST_USE;
/* For the queue, after membership_start; NULL: the broker is alone. */
const struct queue_mover *membership_mover(const struct membership *m);
/* For the fronts, after membership_join; NULL: the broker is alone. */
const struct front_links *membership_links(const struct membership *m);
/* Others lead from now on; before the fronts' server stops. */
void membership_resign(struct membership *m);
/* After the fronts' server has stopped; the queue is still open. */
void membership_leave(struct membership *m);
/* Once the queue is closed. */
void membership_end(struct membership *m);

#endif

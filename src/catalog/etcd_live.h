// SPDX-License-Identifier: Apache-2.0
/* What lives beside the calls on etcd, each with a thread and a connection of its own: sessions
 * (etcd_session.c) and watches (etcd_watch.c). Private to this room. */
#ifndef CATALOG_ETCD_LIVE_H
#define CATALOG_ETCD_LIVE_H

#include "catalog/engine.h"
#include "catalog/etcd_http.h"
#include "catalog/watch.h"

/* `http` is copied; its login and connection are not used. The rest as in catalog.h. */
enum err etcd_session_new(struct catalog *c, const struct etcd_http *http, int ttl_s,
                          void (*lost)(void *self), void *self,
                          struct catalog_session **out) MUST_USE;
void etcd_session_end(struct catalog_session *s);
/* Revokes it over `http`; that it is gone already is no error. */
enum err etcd_lease_end(struct etcd_http *http, int64_t id) MUST_USE;

/* `prefix` stands before every key of the catalogue. */
struct catalog_watch *etcd_stream_watch_new(const struct etcd_http *http, struct bytes prefix);
void etcd_watch_run(struct catalog_watch *w);
void etcd_watch_wake(struct catalog_watch *w);
void etcd_watch_free(struct catalog_watch *w);

#endif

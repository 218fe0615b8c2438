// SPDX-License-Identifier: Apache-2.0
/* This broker's membership: whether it may take part under its id, its registration, and the
 * session that says it lives. One owner; everything blocks. */
#ifndef CLUSTER_MEMBER_H
#define CLUSTER_MEMBER_H

#include "base/clock.h"
#include "base/rng.h"
#include "catalog/catalog.h"
#include "cluster/keys.h"
#include "disk/disk.h"

struct cluster_self {
    /* set by the owner before the first call, and not changed */
    struct catalog *catalog;
    const struct disk *disk; /* of the data directory; NULL: nothing is kept there */
    const struct clock *clock;
    uint32_t broker;
    bool replace; /* another store may be registered under this id */
    int ttl_s;
    char url[PEER_URL_BYTES_MAX + 1], client_url[PEER_URL_BYTES_MAX + 1];
    void (*lost)(void *self); /* the session; from its thread */
    void *lost_self;

    char cluster_id[CLUSTER_ID_CHARS_MAX + 1]; /* from cluster_self_meet on */
    char store[CLUSTER_ID_CHARS_MAX + 1];      /* set before cluster_self_register */
    struct catalog_session *session;           /* NULL: not registered */
    int64_t number;                            /* of the session */
    int64_t session_rev;                       /* of s/<id>'s last change by us */
};

/* Which cluster is it? Changes nothing, but that the first broker of all makes `meta`, with
 * `fresh_id`. ERR_CONFLICT: the data directory is another cluster's, or another broker's; one line
 * in the log tells. Also the catalogue's errors. */
enum err cluster_self_meet(struct cluster_self *s, const char *fresh_id) MUST_USE;
/* Registers with the next session number and begins a session. The data directory's lock must be
 * held: the lease of this store's previous life is revoked, so that nobody waits for its end.
 * ERR_CONFLICT: another store is registered under this id, or it was removed. ERR_IN_USE: the id
 * lives elsewhere, also after two sessions' time. One line tells. ERR_BUSY may be tried again; it
 * is also the answer where somebody's session would have to be waited for, and may_wait is false.
 */
enum err cluster_self_register(struct cluster_self *s, bool may_wait) MUST_USE;
/* The session is over, or feared to be: ends it for good. */
void cluster_self_forget(struct cluster_self *s);
/* Tells all that this broker will leave. */
enum err cluster_self_resign(struct cluster_self *s) MUST_USE;

#endif

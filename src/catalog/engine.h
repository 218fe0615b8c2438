// SPDX-License-Identifier: Apache-2.0
/* What stands behind the catalogue: SQLite's file (sqlite.c) or an etcd cluster (etcd.c). Private
 * to this room. Keys and sizes have been checked by catalog.c; the catalogue's lock is held. */
#ifndef CATALOG_ENGINE_H
#define CATALOG_ENGINE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "catalog/catalog.h"

/* A transaction that waits for its turn; on the stack of its caller. */
struct catalog_txn {
    const struct catalog_cmp *cmps;
    size_t cmps_n;
    const struct catalog_op *ops;
    size_t ops_n;
    int64_t lease;            /* to which what is put is attached; 0: none */
    struct catalog_txn *next; /* guarded by queue_lk */
    /* guarded by lk */
    bool done;
    enum err err;
    int64_t rev;
};

struct catalog_engine {
    enum err (*get)(struct catalog *c, const char *key, struct catalog_kv *out);
    /* *rev: a revision at which, or soon after which, it was so. */
    enum err (*list)(struct catalog *c, const char *prefix, struct catalog_kvs *out, int64_t *rev);
    /* Carries out all of the list, in order, and sets each one's err and rev. */
    void (*run)(struct catalog *c, struct catalog_txn *first);
    void (*free)(struct catalog *c);
    enum err (*lease_revoke)(struct catalog *c, int64_t id);
    /* From here on without the catalogue's lock. */
    enum err (*session_begin)(struct catalog *c, int ttl_s, void (*lost)(void *self), void *self,
                              struct catalog_session **out);
    void (*session_end)(struct catalog_session *s);
    /* Makes the watch, without its thread. */
    struct catalog_watch *(*watch_new)(struct catalog *c);
    /* The thread's whole work; returns when catalog_watch_stops says so. */
    void (*watch_run)(struct catalog_watch *w);
    /* Ends what the thread waits for in the engine; from another thread, while that one runs. */
    void (*watch_wake)(struct catalog_watch *w);
    void (*watch_free)(struct catalog_watch *w);
};

/* The first member of what an engine makes. */
struct catalog_session {
    struct catalog *catalog;
    int64_t id;
};

/* The first member of what an engine makes. */
struct catalog {
    const struct catalog_engine *engine;
    struct lock lk; /* taken before queue_lk */
    struct lock queue_lk;
    struct catalog_txn *first, **last; /* guarded by queue_lk: those that wait */
    /* A write or sync failed: what is on disk is unknown until the next open. Set under lk, read
     * anywhere. etcd settles that by itself. */
    atomic_bool failed;
};

void catalog_init(struct catalog *c, const struct catalog_engine *engine);
void catalog_lock(struct catalog *c);
void catalog_kvs_put(struct catalog_kvs *kvs, size_t *room, struct catalog_kv kv);

#endif

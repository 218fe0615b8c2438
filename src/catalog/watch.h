// SPDX-License-Identifier: Apache-2.0
/* What every watch has, whichever engine brings its events: a thread, the talk about where to go
 * on, and telling. Private to this room.
 *
 * The thread's life: tell `again`, wait for catalog_watch_go, tell events until some may have been
 * missed, and from the beginning. */
#ifndef CATALOG_WATCH_H
#define CATALOG_WATCH_H

#include <pthread.h>

#include "base/lock.h"
#include "catalog/catalog.h"

/* The first member of what an engine makes. */
struct catalog_watch {
    /* set at birth */
    struct catalog *catalog;
    char *prefix;
    struct catalog_watching tell;
    pthread_t thread;
    struct lock lk; /* a leaf; taken under the catalogue's lock or alone */
    struct lock_signal changed;
    /* guarded by lk */
    bool stopping;
    bool is_told; /* where to go on */
    int64_t after;
};

/* Tells `again` and waits for the revision after which to go on. False: the watch ends. */
bool catalog_watch_again(struct catalog_watch *w, int64_t *after) MUST_USE;
/* Waits at most timeout_ms; true as soon as the watch ends. */
bool catalog_watch_stops(struct catalog_watch *w, int64_t timeout_ms) MUST_USE;
/* Tells what lies above revision `after`, each revision by itself. The kvs rise in mod_rev; one
 * that was dropped has no value, not even an empty one (value.at is NULL). */
void catalog_watch_tell(struct catalog_watch *w, const struct catalog_kvs *news, int64_t after);

#endif

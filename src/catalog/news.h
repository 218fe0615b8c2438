// SPDX-License-Identifier: Apache-2.0
/* Watches within one process: what a transaction has changed is handed to them once it is on disk.
 * Private to this room. All of it is guarded by the catalogue's lock unless it says otherwise. */
#ifndef CATALOG_NEWS_H
#define CATALOG_NEWS_H

#include "catalog/watch.h"

struct news_watch;

struct news {
    struct news_watch *watches; /* those that collect */
    struct catalog_kvs pending; /* of transactions that are not on disk yet; owned */
    size_t pending_room;
    int64_t rev; /* the last revision that is on disk */
};

void news_fini(struct news *n);
/* A key was put or (value.at is NULL) dropped at rev, which is not on disk yet. */
void news_put(struct news *n, const char *key, struct bytes value, int64_t create_rev, int64_t rev);
/* What was put so far is on disk, and the last revision is `rev`; or it has been undone. */
void news_publish(struct news *n, int64_t rev);
void news_undo(struct news *n);

/* An engine's watch_new, watch_run and watch_free are these; without the catalogue's lock. */
struct catalog_watch *news_watch_new(struct news *n);
void news_watch_run(struct catalog_watch *w);
void news_watch_wake(struct catalog_watch *w);
void news_watch_free(struct catalog_watch *w);

#endif

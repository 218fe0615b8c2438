// SPDX-License-Identifier: Apache-2.0
#include "catalog/news.h"

#include <string.h>

#include "base/mem.h"
#include "catalog/engine.h"

/* A watch that does not keep up lists anew, which costs less than what it has missed. */
enum { WAITING_MAX = 10000, WAITING_BYTES_MAX = 16 << 20 };

struct news_watch {
    struct catalog_watch watch; /* first */
    struct news *news;          /* set at birth */
    struct news_watch *next;    /* guarded by the catalogue's lock */
    /* guarded by watch.lk */
    struct catalog_kvs waiting; /* owned */
    size_t waiting_room, waiting_bytes;
    bool missed; /* more than fits; nothing is collected until the next list */
};

static struct news_watch *news_watch_of(struct catalog_watch *w)
{
    return CONTAINER_OF(w, struct news_watch, watch);
}

/* ---- collecting ---- */

static struct catalog_kv kv_copy(const char *key, struct bytes value, int64_t create_rev,
                                 int64_t rev)
{
    size_t key_n = strlen(key);
    char *at = mem_new(key_n + 1 + value.n);
    memcpy(at, key, key_n);
    if (value.n > 0)
        memcpy(at + key_n + 1, value.at, value.n);
    struct bytes copied = {at + key_n + 1, value.n};
    return (struct catalog_kv){.key = at,
                               .value = value.at == NULL ? BYTES_NONE : copied,
                               .create_rev = create_rev,
                               .mod_rev = rev};
}

void news_fini(struct news *n)
{
    CHECK(n->watches == NULL);
    catalog_kvs_fini(&n->pending);
}

void news_put(struct news *n, const char *key, struct bytes value, int64_t create_rev, int64_t rev)
{
    if (n->watches != NULL)
        catalog_kvs_put(&n->pending, &n->pending_room, kv_copy(key, value, create_rev, rev));
}

void news_undo(struct news *n)
{
    catalog_kvs_fini(&n->pending);
    n->pending_room = 0;
}

static void forget_locked(struct news_watch *w)
{
    lock_check_held(&w->watch.lk);
    catalog_kvs_fini(&w->waiting);
    w->waiting_room = w->waiting_bytes = 0;
}

static void collect_locked(struct news_watch *w, const struct catalog_kv *kv)
{
    lock_check_held(&w->watch.lk);
    if (w->missed || strncmp(kv->key, w->watch.prefix, strlen(w->watch.prefix)) != 0)
        return;
    w->waiting_bytes += strlen(kv->key) + kv->value.n;
    if (w->waiting.n == WAITING_MAX || w->waiting_bytes > WAITING_BYTES_MAX) {
        forget_locked(w);
        w->missed = true;
        return;
    }
    catalog_kvs_put(&w->waiting, &w->waiting_room,
                    kv_copy(kv->key, kv->value, kv->create_rev, kv->mod_rev));
}

void news_publish(struct news *n, int64_t rev)
{
    n->rev = rev;
    if (n->pending.n == 0)
        return;
    for (struct news_watch *w = n->watches; w != NULL; w = w->next) {
        lock_take(&w->watch.lk);
        for (size_t i = 0; i < n->pending.n; i++)
            collect_locked(w, &n->pending.at[i]);
        lock_signal_all(&w->watch.changed);
        lock_give(&w->watch.lk);
    }
    news_undo(n);
}

/* ---- a watch ---- */

struct catalog_watch *news_watch_new(struct news *n)
{
    struct news_watch *w = mem_new(sizeof *w);
    w->news = n;
    return &w->watch;
}

/* From here on nothing is missed. Gives the revision at which that began. */
static int64_t collect_anew(struct news_watch *w, bool first)
{
    struct catalog *c = w->watch.catalog;
    catalog_lock(c);
    if (first) {
        w->next = w->news->watches;
        w->news->watches = w;
    }
    int64_t rev = w->news->rev;
    lock_take(&w->watch.lk);
    forget_locked(w);
    w->missed = false;
    lock_give(&w->watch.lk);
    lock_give(&c->lk);
    return rev;
}

static void collect_no_more(struct news_watch *w)
{
    struct catalog *c = w->watch.catalog;
    catalog_lock(c);
    struct news_watch **at = &w->news->watches;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    lock_give(&c->lk);
}

/* Waits for news and takes them all. False: the watch ends, or some were missed. */
static bool take(struct news_watch *w, struct catalog_kvs *out)
{
    lock_take(&w->watch.lk);
    while (w->waiting.n == 0 && !w->missed && !w->watch.stopping)
        lock_signal_wait(&w->watch.changed, &w->watch.lk, -1);
    bool ok = !w->missed && !w->watch.stopping;
    if (ok) {
        *out = w->waiting;
        w->waiting = (struct catalog_kvs){NULL, 0};
        w->waiting_room = w->waiting_bytes = 0;
    }
    lock_give(&w->watch.lk);
    return ok;
}

void news_watch_run(struct catalog_watch *watch)
{
    struct news_watch *w = news_watch_of(watch);
    int64_t from = collect_anew(w, true), after;
    while (catalog_watch_again(watch, &after)) {
        struct catalog_kvs some;
        /* Asked to go on from before the first that was collected: some are missed. */
        while (after >= from && take(w, &some)) {
            catalog_watch_tell(watch, &some, after);
            catalog_kvs_fini(&some);
        }
        from = collect_anew(w, false);
    }
    collect_no_more(w);
}

void news_watch_wake(struct catalog_watch *w)
{
    (void)w; /* it waits for the watch's own signal only */
}

void news_watch_free(struct catalog_watch *watch)
{
    struct news_watch *w = news_watch_of(watch);
    catalog_kvs_fini(&w->waiting);
    mem_free(w);
}

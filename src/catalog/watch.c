// SPDX-License-Identifier: Apache-2.0
#include "catalog/watch.h"

#include "base/mem.h"
#include "catalog/engine.h"

static void *thread_main(void *self)
{
    struct catalog_watch *w = self;
    w->catalog->engine->watch_run(w);
    return NULL;
}

enum err catalog_watch_begin(struct catalog *c, const char *prefix, struct catalog_watching tell,
                             struct catalog_watch **out)
{
    lock_check_none_held();
    struct catalog_watch *w = c->engine->watch_new(c);
    w->catalog = c;
    w->prefix = mem_copy_text(prefix);
    w->tell = tell;
    lock_init(&w->lk, LOCK_RANK_CATALOG_WATCH);
    lock_signal_init(&w->changed);
    *out = w; /* before the thread, whose first call may want it */
    CHECK(pthread_create(&w->thread, NULL, thread_main, w) == 0);
    return ERR_OK;
}

void catalog_watch_go(struct catalog_watch *w, int64_t after)
{
    lock_take(&w->lk);
    w->is_told = true;
    w->after = after;
    lock_signal_all(&w->changed);
    lock_give(&w->lk);
}

void catalog_watch_end(struct catalog_watch *w)
{
    if (w == NULL)
        return;
    lock_check_none_held();
    lock_take(&w->lk);
    w->stopping = true;
    lock_signal_all(&w->changed);
    lock_give(&w->lk);
    w->catalog->engine->watch_wake(w);
    CHECK(pthread_join(w->thread, NULL) == 0);
    lock_signal_fini(&w->changed);
    lock_fini(&w->lk);
    mem_free(w->prefix);
    w->catalog->engine->watch_free(w);
}

bool catalog_watch_again(struct catalog_watch *w, int64_t *after)
{
    lock_take(&w->lk);
    bool stopping = w->stopping;
    w->is_told = false; /* what was said before is out of date */
    lock_give(&w->lk);
    if (stopping)
        return false;
    w->tell.again(w->tell.self);
    lock_take(&w->lk);
    while (!w->is_told && !w->stopping)
        lock_signal_wait(&w->changed, &w->lk, -1);
    stopping = w->stopping;
    *after = w->after;
    lock_give(&w->lk);
    return !stopping;
}

bool catalog_watch_stops(struct catalog_watch *w, int64_t timeout_ms)
{
    lock_take(&w->lk);
    if (!w->stopping && timeout_ms > 0)
        lock_signal_wait(&w->changed, &w->lk, timeout_ms);
    bool stopping = w->stopping;
    lock_give(&w->lk);
    return stopping;
}

static void tell_one(struct catalog_watch *w, const struct catalog_kv *at, size_t n)
{
    struct catalog_event *events = mem_new_array(n, sizeof *events);
    for (size_t i = 0; i < n; i++)
        events[i] = (struct catalog_event){.key = at[i].key,
                                           .value = at[i].value,
                                           .dropped = at[i].value.at == NULL,
                                           .create_rev = at[i].create_rev,
                                           .mod_rev = at[i].mod_rev};
    w->tell.events(w->tell.self, events, n);
    mem_free(events);
}

void catalog_watch_tell(struct catalog_watch *w, const struct catalog_kvs *news, int64_t after)
{
    for (size_t i = 0, n; i < news->n; i += n) {
        for (n = 1; i + n < news->n && news->at[i + n].mod_rev == news->at[i].mod_rev;)
            n++;
        if (news->at[i].mod_rev > after)
            tell_one(w, &news->at[i], n);
    }
}

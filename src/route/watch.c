// SPDX-License-Identifier: Apache-2.0
/* Long polls here that wait for messages elsewhere. For each broker, topic and group there is one
 * call over there at a time, whatever the number of polls: it is answered when there is something
 * (serve_wait.c), which wakes as many polls as there are messages, oldest first. As long as polls
 * are left that were not woken, the next call is made.
 *
 * Whoever was woken and found nothing watches again. When that happens in a row, others are quicker
 * over there, or what is there cannot be had: the next call asks for an answer after a pause, up to
 * half a second. */
#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "route/inside.h"

enum { WAIT_MS = 10000, WAIT_EXTRA_MS = 2000, PAUSE_FIRST_MS = 10, PAUSE_DOUBLINGS_MAX = 6 };

struct key_name { /* compared as bytes: zeros where nothing is */
    uint32_t broker;
    uint8_t topic[16];
    char group[QUEUE_ID_BYTES_MAX];
};

/* All guarded by route.lk. It lives as long as there are watches or a call. */
struct route_key {
    struct key_name name;
    size_t group_bytes;
    struct route *route;
    struct front_watch *first, *last; /* oldest first */
    bool is_calling;
    unsigned fruitless; /* wakes in a row that brought nothing */
    UT_hash_handle hh;
};

static void name_of(const struct front_watch *w, struct key_name *name)
{
    memset(name, 0, sizeof *name);
    name->broker = w->broker;
    memcpy(name->topic, w->topic, sizeof name->topic);
    CHECK(w->group.n <= sizeof name->group);
    if (w->group.n > 0)
        memcpy(name->group, w->group.at, w->group.n);
}

static struct route_key *key_find_locked(struct route *r, const struct key_name *name)
{
    struct route_key *key = NULL;
    lock_check_held(&r->lk);
    HASH_FIND(hh, r->keys, name, sizeof *name, key);
    return key;
}

static struct route_key *key_get_locked(struct route *r, const struct front_watch *w)
{
    struct key_name name;
    name_of(w, &name);
    struct route_key *key = key_find_locked(r, &name);
    if (key != NULL)
        return key;
    key = mem_new(sizeof *key);
    key->name = name;
    key->group_bytes = w->group.n;
    key->route = r;
    HASH_ADD(hh, r->keys, name, sizeof key->name, key);
    return key;
}

static void key_drop_if_idle_locked(struct route *r, struct route_key *key)
{
    if (key->first != NULL || key->is_calling)
        return;
    HASH_DELETE(hh, r->keys, key);
    mem_free(key);
}

static bool any_armed_locked(const struct route_key *key)
{
    for (const struct front_watch *w = key->first; w != NULL; w = w->next)
        if (w->is_armed)
            return true;
    return false;
}

/* The oldest `n` that were not woken. They only take note (front/links.h), so the lock may be held:
 * it is what keeps them there. */
static void wake_locked(struct route_key *key, size_t n, bool ready)
{
    for (struct front_watch *w = key->first; w != NULL && n > 0; w = w->next) {
        if (!w->is_armed)
            continue;
        w->is_armed = false;
        w->wake(w, ready);
        n--;
    }
}

static void call_there(struct route_key *key, uint32_t pause_ms);

static uint32_t pause_ms_locked(const struct route_key *key)
{
    unsigned n = key->fruitless < PAUSE_DOUBLINGS_MAX ? key->fruitless : PAUSE_DOUBLINGS_MAX;
    return n == 0 ? 0 : (uint32_t)PAUSE_FIRST_MS << (n - 1);
}

static void on_answer(void *self, enum err e, int status, struct bytes body)
{
    struct route_key *key = self;
    struct route *r = key->route;
    uint32_t ready = 0, pause_ms = 0;
    bool failed =
        e != ERR_OK || status != 200 || route_wait_read(body, &ready, &e) != ERR_OK || e != ERR_OK;
    lock_take(&r->lk);
    key->is_calling = false;
    if (failed)
        wake_locked(key, SIZE_MAX, false);
    else if (ready > 0)
        wake_locked(key, ready, true);
    bool again = any_armed_locked(key);
    if (again) {
        key->is_calling = true;
        pause_ms = pause_ms_locked(key);
        if (ready > 0 && pause_ms < PAUSE_FIRST_MS) /* those who were woken come first */
            pause_ms = PAUSE_FIRST_MS;
    } else {
        key_drop_if_idle_locked(r, key);
    }
    lock_give(&r->lk);
    if (again)
        call_there(key, pause_ms);
}

/* is_calling is set, so nobody frees the key. */
static void call_there(struct route_key *key, uint32_t pause_ms)
{
    struct route *r = key->route;
    char url[PEER_URL_BYTES_MAX + 1];
    struct buf body = BUF_EMPTY;
    if (!r->options.url(r->options.self, key->name.broker, url) || !route_enter(r)) {
        on_answer(key, ERR_REFUSED, 0, BYTES_NONE);
        return;
    }
    route_wait_put(key->name.topic, (struct bytes){key->name.group, key->group_bytes}, WAIT_MS,
                   pause_ms, &body);
    peer_post(r->peer, key->name.broker, url, ROUTE_PATH_WAIT, buf_bytes(&body),
              WAIT_MS + WAIT_EXTRA_MS, (struct peer_call_done){on_answer, key});
    route_leave(r);
    buf_fini(&body);
}

static void link_locked(struct route_key *key, struct front_watch *w)
{
    w->is_linked = true;
    w->next = NULL;
    w->previous = key->last;
    if (key->last == NULL)
        key->first = w;
    else
        key->last->next = w;
    key->last = w;
}

static void unlink_locked(struct route_key *key, struct front_watch *w)
{
    if (w->previous == NULL)
        key->first = w->next;
    else
        w->previous->next = w->next;
    if (w->next == NULL)
        key->last = w->previous;
    else
        w->next->previous = w->previous;
    w->is_linked = false;
}

void route_watch(void *self, struct front_watch *w)
{
    struct route *r = self;
    lock_take(&r->lk);
    struct route_key *key = key_get_locked(r, w);
    if (w->is_linked)
        key->fruitless++;
    else
        link_locked(key, w);
    w->is_armed = true;
    bool call = !key->is_calling;
    key->is_calling = true;
    uint32_t pause_ms = pause_ms_locked(key);
    lock_give(&r->lk);
    if (call)
        call_there(key, pause_ms);
}

void route_unwatch(void *self, struct front_watch *w)
{
    struct route *r = self;
    struct key_name name;
    name_of(w, &name);
    lock_take(&r->lk);
    if (w->is_linked) {
        struct route_key *key = key_find_locked(r, &name);
        if (!w->is_armed)
            key->fruitless = 0;
        unlink_locked(key, w);
        w->is_armed = false;
        key_drop_if_idle_locked(r, key);
    }
    lock_give(&r->lk);
}

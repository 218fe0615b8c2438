// SPDX-License-Identifier: Apache-2.0
/* The thread that makes the calls: one curl multi handle, whose cache keeps connections to each
 * peer. */
#include "base/mem.h"
#include "base/note.h"
#include "peer/inside.h"

enum { POLL_MS = 1000 };

/* Both lists' calls are taken out one by one: `done` may post the next one. */
static void take_posted(struct peer_client *k, struct peer_calls *out)
{
    lock_take(&k->lock);
    TAILQ_CONCAT(out, &k->posted, link);
    lock_give(&k->lock);
}

static void begin_posted(struct peer *p)
{
    struct peer_calls fresh = TAILQ_HEAD_INITIALIZER(fresh);
    struct peer_call *c;
    take_posted(&p->client, &fresh);
    while ((c = TAILQ_FIRST(&fresh)) != NULL) {
        TAILQ_REMOVE(&fresh, c, link);
        call_begin(c);
    }
}

static void end_finished(struct peer *p)
{
    struct CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(p->client.multi, &left)) != NULL) {
        struct peer_call *c = NULL;
        CURLcode code = m->data.result; /* m is gone with the handle */
        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
        call_end(c, code);
    }
}

/* ---- who answers ---- */

static struct peer_known *known_locked(struct peer_client *k, uint32_t broker)
{
    lock_check_held(&k->lock);
    for (size_t i = 0; i < k->known_n; i++)
        if (k->known[i].broker == broker)
            return &k->known[i];
    if (k->known_n == k->known_room) {
        k->known_room = k->known_room == 0 ? 8 : 2 * k->known_room;
        k->known = mem_resize(k->known, k->known_room * sizeof k->known[0]);
    }
    k->known[k->known_n] = (struct peer_known){.broker = broker, .heard_boot_ms = INT64_MIN};
    return &k->known[k->known_n++];
}

void client_heard(struct peer *p, uint32_t from)
{
    struct peer_client *k = &p->client;
    lock_take(&k->lock);
    known_locked(k, from)->heard_boot_ms = clock_boot_ms(p->clock);
    lock_give(&k->lock);
}

int64_t peer_heard_ms(struct peer *p, uint32_t from)
{
    struct peer_client *k = &p->client;
    lock_take(&k->lock);
    int64_t heard_ms = known_locked(k, from)->heard_boot_ms;
    lock_give(&k->lock);
    return heard_ms;
}

void peer_give_up(struct peer *p, uint32_t to)
{
    struct peer_client *k = &p->client;
    lock_take(&k->lock);
    known_locked(k, to)->is_given_up = true;
    k->any_given_up = true;
    lock_give(&k->lock);
    curl_multi_wakeup(k->multi);
}

/* The next one, or false. */
static bool given_up_take(struct peer_client *k, uint32_t *broker)
{
    bool found = false;
    lock_take(&k->lock);
    for (size_t i = 0; i < k->known_n && k->any_given_up && !found; i++) {
        found = k->known[i].is_given_up;
        k->known[i].is_given_up = false;
        *broker = k->known[i].broker;
    }
    k->any_given_up = found;
    lock_give(&k->lock);
    return found;
}

/* What their `done` posts is not begun here, so the list only becomes shorter. */
static void end_given_up(struct peer *p)
{
    uint32_t broker;
    while (given_up_take(&p->client, &broker)) {
        struct peer_call *c = TAILQ_FIRST(&p->client.running), *next;
        for (; c != NULL; c = next) {
            next = TAILQ_NEXT(c, link);
            if (c->to == broker)
                call_finish(c, ERR_BUSY, 0);
        }
    }
}

/* ---- the thread ---- */

static enum client_phase phase_of(struct peer_client *k)
{
    lock_take(&k->lock);
    enum client_phase phase = k->phase;
    lock_give(&k->lock);
    return phase;
}

/* Ends all calls, also those that are posted by the `done` of others, until none is left. */
static void end_all(struct peer *p)
{
    struct peer_calls fresh = TAILQ_HEAD_INITIALIZER(fresh);
    struct peer_call *c;
    do {
        while ((c = TAILQ_FIRST(&p->client.running)) != NULL)
            call_finish(c, ERR_STOPPING, 0);
        while ((c = TAILQ_FIRST(&fresh)) != NULL) {
            TAILQ_REMOVE(&fresh, c, link);
            call_finish(c, ERR_STOPPING, 0);
        }
        take_posted(&p->client, &fresh);
    } while (!TAILQ_EMPTY(&fresh));
}

static void *run(void *self)
{
    struct peer *p = self;
    struct peer_client *k = &p->client;
    enum client_phase phase;
    int running;
    while ((phase = phase_of(k)) != CLIENT_ENDING) {
        if (phase == CLIENT_RUNNING) {
            begin_posted(p);
            end_given_up(p);
            CHECK(curl_multi_perform(k->multi, &running) == CURLM_OK);
            end_finished(p);
        } else {
            end_all(p);
        }
        CHECK(curl_multi_poll(k->multi, NULL, 0, POLL_MS, NULL) == CURLM_OK);
    }
    end_all(p);
    return NULL;
}

enum err client_start(struct peer *p, uint64_t process)
{
    struct peer_client *k = &p->client;
    k->process = process;
    TAILQ_INIT(&k->posted);
    TAILQ_INIT(&k->running);
    lock_init(&k->lock, LOCK_RANK_PEER);
    k->multi = curl_multi_init();
    CHECK(k->multi != NULL);
    curl_multi_setopt(k->multi, CURLMOPT_MAXCONNECTS, (long)CLIENT_CONNECTIONS_KEPT_MAX);
    if (pthread_create(&k->thread, NULL, run, p) == 0)
        return ERR_OK;
    note(NOTE_ERROR, "peer", "no thread for calls to other brokers");
    curl_multi_cleanup(k->multi);
    lock_fini(&k->lock);
    return ERR_BUSY;
}

static void phase_set(struct peer_client *k, enum client_phase phase)
{
    lock_take(&k->lock);
    k->phase = phase;
    lock_give(&k->lock);
    curl_multi_wakeup(k->multi);
}

void client_drain(struct peer *p)
{
    phase_set(&p->client, CLIENT_DRAINING);
}

void client_stop(struct peer *p)
{
    struct peer_client *k = &p->client;
    phase_set(k, CLIENT_ENDING);
    pthread_join(k->thread, NULL);
    CHECK(TAILQ_EMPTY(&k->posted) && TAILQ_EMPTY(&k->running));
    while (k->spares_n > 0)
        curl_easy_cleanup(k->spares[--k->spares_n]);
    mem_free(k->known);
    curl_multi_cleanup(k->multi);
    lock_fini(&k->lock);
}

struct peer_call *peer_post(struct peer *p, uint32_t to, const char *url, const char *path,
                            struct bytes body, int64_t deadline_ms, struct peer_call_done done)
{
    struct peer_client *k = &p->client;
    struct peer_call *c = mem_new(sizeof *c);
    *c = (struct peer_call){.peer = p, .to = to, .done = done};
    c->url = mem_copy_text(url);
    c->path = mem_copy_text(path);
    buf_put_bytes(&c->body, body);
    c->deadline_boot_ms = clock_boot_ms(p->clock) + deadline_ms;
    lock_take(&k->lock);
    bool first = TAILQ_EMPTY(&k->posted);
    TAILQ_INSERT_TAIL(&k->posted, c, link);
    lock_give(&k->lock);
    if (first)
        curl_multi_wakeup(k->multi);
    return c;
}

/* ---- blocking calls ---- */

struct ask {
    struct lock lock;
    struct lock_signal over_signal;
    /* guarded by lock */
    bool over;
    enum err e;
    int status;
    struct buf *out; /* borrowed; written when it is over */
};

static void ask_done(void *self, enum err e, int status, struct bytes body)
{
    struct ask *a = self;
    lock_take(&a->lock);
    a->e = e;
    a->status = status;
    if (e == ERR_OK)
        buf_put_bytes(a->out, body);
    a->over = true;
    lock_signal_all(&a->over_signal); /* `a` lives until the lock is given */
    lock_give(&a->lock);
}

enum err peer_ask(struct peer *p, uint32_t to, const char *url, const char *path, struct bytes body,
                  int64_t deadline_ms, int *status, struct buf *out)
{
    struct ask a = {.out = out};
    CHECK(!pthread_equal(pthread_self(), p->client.thread));
    lock_init(&a.lock, LOCK_RANK_PEER);
    lock_signal_init(&a.over_signal);
    peer_post(p, to, url, path, body, deadline_ms, (struct peer_call_done){ask_done, &a});
    lock_take(&a.lock);
    while (!a.over)
        lock_signal_wait(&a.over_signal, &a.lock, -1);
    lock_give(&a.lock);
    lock_signal_fini(&a.over_signal);
    lock_fini(&a.lock);
    if (a.e == ERR_OK)
        *status = a.status;
    return a.e;
}

// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/codec.h"
#include "base/mem.h"
#include "base/note.h"
#include "cluster/inside.h"
#include "cluster/place.h"

/* ---- work from anybody ---- */

void cluster_work_add(struct cluster *c, struct cluster_work *w)
{
    lock_take(&c->lk);
    *c->last = w;
    c->last = &w->next;
    lock_signal_all(&c->wake);
    lock_give(&c->lk);
}

static void flag_set(struct cluster *c, bool *flag)
{
    lock_take(&c->lk);
    *flag = true;
    lock_signal_all(&c->wake);
    lock_signal_all(&c->tick_wake);
    lock_give(&c->lk);
}

void cluster_work_free(struct cluster_work *w)
{
    for (size_t i = 0; i < w->events_n; i++)
        catalog_kv_fini(&w->events[i]);
    mem_free(w->events);
    mem_free(w->parts);
    mem_free(w);
}

/* ---- the queue's links ---- */

static void link_fetch(void *self, const struct queue_copy_id *of, uint32_t leader,
                       const struct replica_fetch *request)
{
    struct cluster *c = self;
    cluster_fetcher_note(c->data.fetcher, of, leader, request);
}

static void link_snapshot(void *self, const struct queue_copy_id *of, uint32_t leader,
                          uint64_t epoch)
{
    struct cluster *c = self;
    cluster_snapshots_note(c->data.snapshots, of, leader, epoch);
}

static void link_moved(void *self, const struct queue_copy_id *of)
{
    struct cluster *c = self;
    cluster_serve_moved(c->data.serve, of);
}

static void link_swap(void *self, const struct queue_copy_id *of, const struct replica_key *value)
{
    struct cluster_work *w = mem_new(sizeof *w);
    w->kind = CLUSTER_WORK_SWAP;
    w->of = *of;
    w->key = *value;
    cluster_work_add(self, w);
}

static void link_read_key(void *self, const struct queue_copy_id *of, uint64_t serial)
{
    struct cluster_work *w = mem_new(sizeof *w);
    w->kind = CLUSTER_WORK_READ;
    w->of = *of;
    w->serial = serial;
    cluster_work_add(self, w);
}

static void link_alarm(void *self, const struct queue_copy_id *of, enum replica_quarantine reason,
                       uint64_t offset)
{
    static const char *const texts[] = {
        [REPLICA_QUARANTINE_NONE] = "no reason",
        [REPLICA_QUARANTINE_BELOW_HIGH_WATER] =
            "its leader lacks committed messages that this copy has: do not delete this copy",
        [REPLICA_QUARANTINE_CONTRADICTION] = "its leader's log contradicts itself",
        [REPLICA_QUARANTINE_CATALOGUE_BACK] =
            "the catalogue went back in time: was an old backup of it restored?",
        [REPLICA_QUARANTINE_LAST_COPY] = "this copy is damaged, and it is the only one in sync",
        [REPLICA_QUARANTINE_DISK] = "the data directory has failed",
    };
    char key[CATALOG_KEY_BYTES_MAX + 1];
    (void)self;
    catalog_key_partition(key, of->topic, of->partition);
    note(NOTE_ERROR, "cluster", "%s is closed here until a restart (offset %" PRIu64 "): %s", key,
         offset, texts[reason]);
}

static enum err link_place(void *self, uint32_t partitions, uint32_t copies, uint32_t *members)
{
    struct cluster *c = self;
    lock_take(&c->lk);
    enum err e = cluster_place(&c->view, partitions, copies, members);
    lock_give(&c->lk);
    return e;
}

const struct queue_links *cluster_links(struct cluster *c)
{
    return &c->links;
}

/* ---- the watch and the session ---- */

static void on_events(void *self, const struct catalog_event *events, size_t n)
{
    struct cluster_work *w = mem_new(sizeof *w);
    w->kind = CLUSTER_WORK_EVENTS;
    w->events = mem_new_array(n + 1, sizeof w->events[0]);
    w->events_n = n;
    for (size_t i = 0; i < n; i++) {
        size_t key_n = strlen(events[i].key) + 1;
        struct catalog_kv *kv = &w->events[i];
        kv->key = mem_new(key_n + events[i].value.n + 1); /* catalog_kv_fini: one piece */
        memcpy(kv->key, events[i].key, key_n);
        kv->create_rev = events[i].create_rev;
        kv->mod_rev = events[i].mod_rev;
        if (events[i].dropped)
            continue;
        if (events[i].value.n > 0)
            memcpy(kv->key + key_n, events[i].value.at, events[i].value.n);
        kv->value = (struct bytes){kv->key + key_n, events[i].value.n};
    }
    cluster_work_add(self, w);
}

static void on_again(void *self)
{
    struct cluster *c = self;
    flag_set(c, &c->watch_waits);
}

static void on_lost(void *self)
{
    struct cluster *c = self;
    flag_set(c, &c->is_lost);
}

/* ---- what the data side asks ---- */

static bool url_of(void *self, uint32_t broker, char url[PEER_URL_BYTES_MAX + 1])
{
    return cluster_url(self, broker, url);
}

static bool is_in_sync(void *self, const struct queue_copy_id *of)
{
    struct cluster *c = self;
    lock_take(&c->lk);
    const struct cluster_partition *p = cluster_view_partition(&c->view, of->topic, of->partition);
    const struct replica_member *m = p == NULL ? NULL : replica_key_find(&p->key, c->broker);
    bool is_so = m != NULL && m->in_isr;
    lock_give(&c->lk);
    return is_so;
}

/* On the fetcher's thread. What cannot be verified comes from somebody who listens. */
static void on_call_lost(void *self, uint32_t broker, enum err e)
{
    if (e == ERR_REFUSED || e == ERR_BUSY)
        cluster_suspect_add(self, CLUSTER_WORK_LOST, broker, CLUSTER_KNOCK_SILENT);
}

/* ---- start ---- */

static void self_init(struct cluster *c, const struct cluster_options *o)
{
    c->self = (struct cluster_self){.catalog = o->catalog,
                                    .disk = o->disk,
                                    .clock = o->clock,
                                    .broker = o->broker,
                                    .replace = o->replace,
                                    .ttl_s = o->session_ttl_s,
                                    .lost = on_lost,
                                    .lost_self = c};
}

/* Requests of clients that came by way of another broker are appended on the listener's loops. */
static void pass_end(void *self)
{
    struct cluster *c = self;
    struct queue *q = atomic_load(&c->queue);
    if (q != NULL)
        queue_pass_end(q);
}

static enum err listener_open(struct cluster *c, const struct cluster_options *o)
{
    struct peer *p;
    CHECK(o->routes_n <= CLUSTER_MORE_ROUTES);
    memcpy(c->routes, c->data.routes, sizeof c->data.routes);
    c->routes[CLUSTER_SERVE_ROUTES] = cluster_voice_route(c);
    if (o->routes_n > 0)
        memcpy(c->routes + CLUSTER_SERVE_ROUTES + 1, o->routes, o->routes_n * sizeof o->routes[0]);
    struct peer_options options = {.address = o->peer_address,
                                   .port = o->peer_port,
                                   .from = o->peer_from,
                                   .broker = o->broker,
                                   .cluster = c->self.cluster_id,
                                   .key = o->key,
                                   .clock = o->clock,
                                   .rng = {rng_next(&c->rng)},
                                   .routes = c->routes,
                                   .routes_n = CLUSTER_SERVE_ROUTES + 1 + o->routes_n,
                                   .pass_end = pass_end,
                                   .self = c};
    enum err e = peer_start(&options, &p);
    if (e == ERR_OK)
        atomic_store(&c->peer, p);
    else /* the caller may take it for a fault of the data directory */
        note(NOTE_ERROR, "cluster", "cannot listen for other brokers on %s port %u: %s",
             o->peer_address, (unsigned)o->peer_port, err_text(e));
    return e;
}

/* False: an address cannot be told. */
static bool urls_make(struct cluster *c, const struct cluster_options *o)
{
    bool is_v6 = strchr(o->peer_address, ':') != NULL && o->peer_address[0] != '[';
    const char *client_url = o->client_url == NULL ? "" : o->client_url;
    char own[2 * PEER_URL_BYTES_MAX];
    (void)snprintf(own, sizeof own, "http://%s%s%s:%u", is_v6 ? "[" : "", o->peer_address,
                   is_v6 ? "]" : "", peer_port(atomic_load(&c->peer)));
    const char *url = o->peer_url != NULL ? o->peer_url : own;
    if (!cluster_key_url_ok(url) || !cluster_key_url_ok(client_url)) {
        note(NOTE_ERROR, "cluster", "an address of this broker is too long, or is no URL");
        return false;
    }
    memcpy(c->self.url, url, strlen(url) + 1);
    memcpy(c->self.client_url, client_url, strlen(client_url) + 1);
    return true;
}

enum err cluster_start(const struct cluster_options *o, struct cluster **out)
{
    char fresh_id[CODEC_UUID_ROOM];
    struct cluster_control_config config;
    if (o->broker == 0 || o->broker > CLUSTER_BROKER_MAX)
        return ERR_INVALID;
    struct cluster *c = mem_new(sizeof *c);
    c->catalog = o->catalog;
    c->clock = o->clock;
    c->broker = o->broker;
    c->rng = o->rng;
    lock_init(&c->lk, LOCK_RANK_CLUSTER);
    lock_signal_init(&c->wake);
    lock_signal_init(&c->tick_wake);
    c->last = &c->first;
    cluster_view_init(&c->view);
    cluster_suspects_init(&c->suspects, o->broker);
    cluster_control_config_default(&config);
    config.hold_ms = 1000 * (int64_t)o->session_ttl_s;
    c->control = cluster_control_new(&config);
    c->control_rng = (struct rng){rng_next(&c->rng)};
    c->links = (struct queue_links){.self = c,
                                    .broker = o->broker,
                                    .fetch = link_fetch,
                                    .swap = link_swap,
                                    .read_key = link_read_key,
                                    .snapshot = link_snapshot,
                                    .moved = link_moved,
                                    .alarm = link_alarm,
                                    .place = link_place};
    self_init(c, o);
    cluster_data_init(&c->data, o->clock, c, url_of, is_in_sync, on_call_lost);
    codec_uuid(&c->rng, fresh_id);
    enum err e = cluster_self_meet(&c->self, fresh_id);
    if (e == ERR_OK)
        e = listener_open(c, o);
    if (e == ERR_OK && !urls_make(c, o))
        e = ERR_INVALID;
    if (e == ERR_OK)
        *out = c;
    else
        cluster_free(c);
    return e;
}

/* ---- join ---- */

static void threads_start(struct cluster *c)
{
    CHECK(pthread_create(&c->thread, NULL, cluster_thread, c) == 0);
    CHECK(pthread_create(&c->ticker, NULL, cluster_ticker, c) == 0);
    c->has_threads = true;
}

struct catalog_watching cluster_watching(struct cluster *c)
{
    return (struct catalog_watching){.events = on_events, .again = on_again, .self = c};
}

enum err cluster_enter(struct cluster *c, struct queue *q)
{
    (void)snprintf(c->self.store, sizeof c->self.store, "%s", queue_store_uuid(q));
    enum err e = cluster_self_register(&c->self, true);
    if (e != ERR_OK)
        return e;
    c->first_session = c->self.number;
    atomic_store(&c->queue, q);
    e = cluster_list(c);
    if (e == ERR_OK)
        e = cluster_data_join(&c->data, atomic_load(&c->peer), q);
    if (e != ERR_OK) {
        cluster_leave(c);
        return e;
    }
    cluster_tell(c);
    return ERR_OK;
}

enum err cluster_join(struct cluster *c, struct queue *q)
{
    enum err e = cluster_enter(c, q);
    if (e != ERR_OK)
        return e;
    e = catalog_watch_begin(c->catalog, "", cluster_watching(c), &c->watch);
    if (e != ERR_OK) {
        cluster_leave(c);
        return e;
    }
    threads_start(c);
    return ERR_OK;
}

int64_t cluster_first_session(const struct cluster *c)
{
    return c->first_session;
}

/* ---- the end ---- */

static void stop(struct cluster *c)
{
    flag_set(c, &c->is_stopping);
    if (c->has_threads) {
        CHECK(pthread_join(c->thread, NULL) == 0);
        CHECK(pthread_join(c->ticker, NULL) == 0);
        c->has_threads = false;
    }
    if (c->watch != NULL)
        catalog_watch_end(c->watch);
    c->watch = NULL;
    cluster_data_stop(&c->data);
    lock_take(&c->lk);
    while (c->asking_n > 0)
        lock_signal_wait(&c->wake, &c->lk, -1);
    lock_give(&c->lk);
    struct peer *p = atomic_load(&c->peer);
    if (p != NULL)
        peer_stop(p);
    atomic_store(&c->peer, NULL);
    atomic_store(&c->queue, NULL);
    cluster_self_forget(&c->self);
}

void cluster_resign(struct cluster *c)
{
    flag_set(c, &c->is_leaving);
    lock_take(&c->lk);
    while (c->has_threads && !c->has_left)
        lock_signal_wait(&c->tick_wake, &c->lk, -1);
    lock_give(&c->lk);
}

void cluster_leave(struct cluster *c)
{
    cluster_resign(c);
    stop(c);
}

struct peer *cluster_peer(struct cluster *c)
{
    return atomic_load(&c->peer);
}

void cluster_abandon(struct cluster *c)
{
    stop(c);
}

void cluster_free(struct cluster *c)
{
    if (c == NULL)
        return;
    stop(c);
    while (c->first != NULL) {
        struct cluster_work *next = c->first->next;
        cluster_work_free(c->first);
        c->first = next;
    }
    cluster_control_free(c->control);
    cluster_view_fini(&c->view);
    cluster_suspects_fini(&c->suspects);
    lock_signal_fini(&c->wake);
    lock_signal_fini(&c->tick_wake);
    lock_fini(&c->lk);
    cluster_data_fini(&c->data);
    mem_free(c);
}

/* ---- looking ---- */

bool cluster_url(struct cluster *c, uint32_t broker, char url[PEER_URL_BYTES_MAX + 1])
{
    lock_take(&c->lk);
    const struct cluster_member *m = cluster_view_member(&c->view, broker);
    bool is_known = m != NULL && m->is_known;
    if (is_known)
        memcpy(url, m->key.url, sizeof m->key.url);
    lock_give(&c->lk);
    return is_known;
}

bool cluster_is_silent(struct cluster *c, uint32_t broker)
{
    lock_take(&c->lk);
    bool is_silent = cluster_suspects_is_silent(&c->suspects, broker, clock_boot_ms(c->clock));
    lock_give(&c->lk);
    return is_silent;
}

size_t cluster_brokers(struct cluster *c, struct cluster_broker *out, size_t room)
{
    size_t n = 0;
    lock_take(&c->lk);
    const struct cluster_view *v = &c->view;
    for (size_t i = 0; i < v->members_n && n < room; i++) {
        const struct cluster_member *m = &v->members[i];
        if (!m->is_known)
            continue;
        struct cluster_broker *b = &out[n++];
        *b = (struct cluster_broker){.id = m->broker, .is_live = m->is_live};
        b->is_controller = v->is_ctl_known && v->ctl.broker == m->broker;
        b->is_draining = cluster_view_is_draining(v, m->broker);
        memcpy(b->peer_url, m->key.url, sizeof b->peer_url);
        memcpy(b->client_url, m->key.client_url, sizeof b->client_url);
    }
    lock_give(&c->lk);
    return n;
}

// SPDX-License-Identifier: Apache-2.0
/* A long poll registers before its first look (queue.h), then goes round: look; nothing: sleep
 * until a wake, the deadline or the server's end; look again. Looking may leave marks that must be
 * committed before the same wait can be used again, so each look is followed by front_call_commit;
 * a wake that comes during it is remembered in `called`.
 *
 * With links a look goes on at the other brokers that lead something of the topic: all of them at
 * first, later those that have called. Each is watched from when it was found empty; a watch begins
 * with a look of its own over there, so what comes in between is not missed. Who leads changes, so
 * a poll does not sleep longer than FRONT_REFRESH_MS. */
#include "front/poll.h"

#include "base/check.h"
#include "queue/spread.h"

enum { WATCH_NONE, WATCH_ARMED, WATCH_CALLED }; /* front_peer.watching */

static void look(struct front_poll *p);
static void go_round(struct front_poll *p);

static const struct front_links *links_of(const struct front_poll *p)
{
    return p->call->links;
}

static void on_call(struct queue_poll *poll)
{
    struct front_poll *p = CONTAINER_OF(poll, struct front_poll, poll);
    atomic_store_explicit(&p->called, true, memory_order_release);
    http_wake(p->call->http);
}

static bool called(struct front_poll *p)
{
    return atomic_load_explicit(&p->called, memory_order_acquire);
}

static bool late(const struct front_poll *p)
{
    return clock_boot_ms(p->clock) >= p->deadline_boot_ms;
}

static bool in_vain(const struct front_poll *p)
{
    struct http_request *r = p->call->http;
    return http_stopping(http_server_of(r)) || http_peer_gone(r);
}

/* One that took nothing hands its wake on. */
static void stop(struct front_poll *p)
{
    for (size_t i = 0; i < p->peers_n; i++)
        if (p->peers[i].is_known) {
            links_of(p)->unwatch(links_of(p)->self, &p->peers[i].watch);
            p->peers[i].is_known = false;
        }
    if (p->poll.linked)
        queue_poll_end(&p->poll, p->n == 0);
}

/* Whatever ended the request ends the poll. When the commit failed, what was written is a refusal.
 */
static void cleanup(struct front_call *c)
{
    struct front_poll *p = c->poll;
    stop(p);
    if ((c->written && p->wait->err == ERR_OK) || p->n == 0)
        return;
    if (p->from == 0)
        queue_give_back(p->topic, p->received, p->n);
    else
        links_of(p)->give_back(links_of(p)->self, p->from, queue_topic_config(p->topic)->id,
                               p->received, p->n);
}

static void answer(struct front_poll *p)
{
    stop(p);
    p->answer(p);
}

static void refuse(struct front_poll *p)
{
    stop(p);
    p->refuse(p, p->err);
}

/* ---- the others ---- */

static void on_watch(struct front_watch *w, bool ready)
{
    struct front_peer *peer = CONTAINER_OF(w, struct front_peer, watch);
    atomic_store_explicit(&peer->watching, ready ? WATCH_CALLED : WATCH_NONE, memory_order_release);
    if (ready)
        http_wake(peer->poll->call->http);
}

static bool peer_known(const struct front_poll *p, uint32_t broker)
{
    for (size_t i = 0; i < p->peers_n; i++)
        if (p->peers[i].watch.broker == broker)
            return true;
    return false;
}

/* Those that were not known yet are to be asked. */
static void find_peers(struct front_poll *p)
{
    p->refresh_boot_ms = clock_boot_ms(p->clock) + FRONT_REFRESH_MS;
    for (uint32_t i = 0; i < queue_partitions(p->topic); i++) {
        uint32_t broker = queue_copy_leader(p->topic, i);
        if (broker == 0 || broker == links_of(p)->broker || p->peers_n == FRONT_PEERS_MAX ||
            peer_known(p, broker))
            continue;
        struct front_peer *peer = &p->peers[p->peers_n++];
        *peer = (struct front_peer){.poll = p, .is_wanted = true};
        atomic_init(&peer->watching, WATCH_NONE);
        peer->watch.broker = broker;
        memcpy(peer->watch.topic, queue_topic_config(p->topic)->id, sizeof peer->watch.topic);
        peer->watch.group = p->request.group;
        peer->watch.wake = on_watch;
    }
}

static void watch_all(struct front_poll *p)
{
    for (size_t i = 0; i < p->peers_n; i++) {
        struct front_peer *peer = &p->peers[i];
        if (atomic_load_explicit(&peer->watching, memory_order_acquire) != WATCH_NONE)
            continue;
        atomic_store_explicit(&peer->watching, WATCH_ARMED, memory_order_relaxed);
        peer->is_known = true;
        links_of(p)->watch(links_of(p)->self, &peer->watch);
    }
}

/* Whether one that was watched has called; it is to be asked, and watched anew after that. */
static bool take_calls(struct front_poll *p)
{
    bool any = false;
    for (size_t i = 0; i < p->peers_n; i++) {
        struct front_peer *peer = &p->peers[i];
        int is = WATCH_CALLED;
        if (atomic_compare_exchange_strong(&peer->watching, &is, WATCH_NONE))
            peer->is_wanted = true;
        any = any || peer->is_wanted;
    }
    return any;
}

/* The leases are known from here on, also if the request has ended meanwhile. */
static void on_hop(struct front_hop *hop)
{
    struct front_poll *p = hop->self;
    if (hop->err == ERR_OK) {
        p->n = hop->received_n;
        p->received = hop->received;
        p->from = hop->broker;
    }
    front_call_told(p->call);
}

/* An error counts only if nobody has anything. A full quota is nothing to who may wait for leases
 * to end; a broker that leads no more has nothing. */
static void asked(struct front_call *c)
{
    struct front_poll *p = c->poll;
    enum err e = p->hop.err;
    if (e != ERR_OK && e != ERR_NOT_LEADER && e != ERR_NOT_READY &&
        !(e == ERR_OVER_LIMIT && p->wait_ms > 0))
        p->err = e;
    go_round(p);
}

static int64_t lease_until_wall_ms(const struct front_poll *p)
{
    int64_t visibility_ms = p->request.visibility_ms;
    if (visibility_ms < 0)
        visibility_ms = queue_topic_config(p->topic)->visibility_ms;
    return clock_wall_ms(p->clock) + visibility_ms;
}

static void ask(struct front_poll *p, struct front_peer *peer)
{
    struct front_call *c = p->call;
    peer->is_wanted = false;
    p->lease_until_wall_ms = lease_until_wall_ms(p);
    p->hop = (struct front_hop){
        .kind = FRONT_RECEIVE,
        .broker = peer->watch.broker,
        .deadline_boot_ms = clock_boot_ms(p->clock) + FRONT_ASK_MS,
        .receive = &p->request,
        .arena = http_arena(c->http),
        .done = on_hop,
        .self = p,
    };
    memcpy(p->hop.topic, peer->watch.topic, sizeof p->hop.topic);
    front_call_begin(c, asked);
    front_call_expect(c);
    links_of(p)->start(links_of(p)->self, &p->hop);
    front_call_park(c);
}

static struct front_peer *next_wanted(struct front_poll *p)
{
    for (size_t i = 0; i < p->peers_n; i++) {
        struct front_peer *peer = &p->peers[(p->peers_first + i) % p->peers_n];
        if (peer->is_wanted)
            return peer;
    }
    return NULL;
}

/* ---- the loop ---- */

static void on_sleep_end(void *self, struct http_request *r);

static void sleep_on(struct front_poll *p)
{
    int64_t until_boot_ms = p->deadline_boot_ms;
    if (links_of(p) != NULL) {
        watch_all(p);
        if (p->refresh_boot_ms < until_boot_ms)
            until_boot_ms = p->refresh_boot_ms;
    }
    http_park(p->call->http, on_sleep_end, p, until_boot_ms, true);
}

static void on_sleep_end(void *self, struct http_request *r)
{
    struct front_poll *p = self;
    (void)r;
    if (in_vain(p)) {
        answer(p);
        return;
    }
    if (links_of(p) != NULL && clock_boot_ms(p->clock) >= p->refresh_boot_ms)
        find_peers(p);
    bool others = take_calls(p);
    if (late(p) || called(p))
        look(p);
    else if (others)
        go_round(p);
    else
        sleep_on(p);
}

/* What is here was looked at. */
static void go_round(struct front_poll *p)
{
    struct front_peer *peer = p->n > 0 || in_vain(p) ? NULL : next_wanted(p);
    if (peer != NULL)
        ask(p, peer);
    else if (p->n == 0 && p->err != ERR_OK)
        refuse(p);
    else if (p->n > 0 || p->wait_ms == 0 || late(p) || in_vain(p))
        answer(p);
    else if (queue_poll_again(&p->poll) || called(p))
        look(p);
    else
        sleep_on(p);
}

/* What was seen is committed. */
static void looked(struct front_call *c)
{
    go_round(c->poll);
}

/* Ten messages' structs are larger than all else that a poll needs, and most looks find nothing. */
static enum err receive(struct front_poll *p)
{
    struct queue_received found[QUEUE_BATCH_MAX];
    struct arena *arena = http_arena(p->call->http);
    enum err e;
    if (links_of(p) == NULL)
        e = queue_receive(p->topic, &p->request, arena, found, &p->n, p->wait);
    else
        e = queue_receive_here(p->topic, &p->request, arena, found, &p->n, p->wait);
    if (p->n > 0)
        p->received = memcpy(arena_get(arena, p->n * sizeof *found), found, p->n * sizeof *found);
    if (links_of(p) != NULL && (e == ERR_NOT_LEADER || e == ERR_NOT_READY))
        return ERR_OK;
    return e;
}

static void look(struct front_poll *p)
{
    *p->wait = (struct queue_wait){.err = ERR_OK};
    p->n = 0;
    p->from = 0;
    atomic_store_explicit(&p->called, false, memory_order_release);
    p->lease_until_wall_ms = lease_until_wall_ms(p);
    p->err = receive(p);
    if (p->err == ERR_OVER_LIMIT && p->wait_ms > 0)
        p->err = ERR_OK;
    front_call_commit(p->call, p->wait, looked);
}

void front_poll_run(struct front_poll *p)
{
    static atomic_uint turn;
    p->call->poll = p;
    p->call->cleanup = cleanup;
    if (links_of(p) != NULL) {
        p->peers = arena_get(http_arena(p->call->http), FRONT_PEERS_MAX * sizeof *p->peers);
        find_peers(p);
        if (p->peers_n > 0)
            p->peers_first = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % p->peers_n;
    }
    if (p->wait_ms > 0) {
        p->deadline_boot_ms = http_arrived_boot_ms(p->call->http) + p->wait_ms;
        enum err e = queue_poll_start(p->topic, p->request.group, &p->poll, on_call);
        if (e != ERR_OK) {
            p->refuse(p, e);
            return;
        }
    }
    look(p);
}

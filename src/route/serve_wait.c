// SPDX-License-Identifier: Apache-2.0
/* A wait of another broker, for all its long polls of one topic: it is one long poll here, which
 * takes nothing. It is answered as soon as there is something to receive, or when its time is up.
 *
 * The look comes after the poll is registered, so nothing is missed. When it ends it hands its wake
 * on: what it was woken for may as well go to somebody here. */
#include <stdatomic.h>

#include "base/check.h"
#include "front/call.h"
#include "queue/spread.h"
#include "route/inside.h"

enum { LEFT_MS_MAX = 60000, TOLD_MAX = 32 /* messages that an answer tells of */ };

struct waiting {
    struct front_call call;
    struct route *route;
    struct http_request *http;
    struct queue_topic *topic;
    struct route_request in;
    struct queue_poll poll;
    atomic_bool called;
    bool is_listening;
    int64_t pause_end_boot_ms, deadline_boot_ms;
};

static struct waiting *waiting_of(struct front_call *c)
{
    return CONTAINER_OF(c, struct waiting, call);
}

static void refuse(struct front_call *c, enum err e)
{
    struct waiting *w = waiting_of(c);
    route_answer_err(w->route, w->http, ROUTE_WAIT, e);
}

static void end(struct front_call *c)
{
    queue_topic_give_back(waiting_of(c)->topic);
}

static void stop(struct waiting *w)
{
    if (w->poll.linked)
        queue_poll_end(&w->poll, true);
}

static void cleanup(struct front_call *c)
{
    stop(waiting_of(c));
}

static void answer(struct waiting *w, uint32_t ready)
{
    struct buf body = BUF_EMPTY;
    stop(w);
    route_answer_put(ROUTE_WAIT, ERR_OK, &body);
    buf_put_u32(&body, ready);
    peer_reply(w->route->peer, w->http, 200, &body);
}

static void on_call(struct queue_poll *poll)
{
    struct waiting *w = CONTAINER_OF(poll, struct waiting, poll);
    atomic_store_explicit(&w->called, true, memory_order_release);
    http_wake(w->http);
}

static uint32_t ready(struct waiting *w)
{
    return (uint32_t)queue_deliverable_here(w->topic, w->in.group, TOLD_MAX);
}

static void go_on(void *self, struct http_request *http);

static void listen(struct waiting *w)
{
    w->is_listening = true;
    enum err e = queue_poll_start(w->topic, w->in.group, &w->poll, on_call);
    if (e != ERR_OK)
        route_answer_err(w->route, w->http, ROUTE_WAIT, e);
    else if (ready(w) > 0)
        answer(w, ready(w));
    else
        http_park(w->http, go_on, w, w->deadline_boot_ms, true);
}

/* A call may be for something that was taken meanwhile. */
static void called(struct waiting *w)
{
    atomic_store_explicit(&w->called, false, memory_order_release);
    uint32_t n = ready(w);
    if (n > 0)
        answer(w, n);
    else if (queue_poll_again(&w->poll) || atomic_load(&w->called))
        answer(w, 1); /* things move here: let it look */
    else
        http_park(w->http, go_on, w, w->deadline_boot_ms, true);
}

static void go_on(void *self, struct http_request *http)
{
    struct waiting *w = self;
    int64_t now_ms = clock_boot_ms(w->route->options.clock);
    if (http_stopping(http_server_of(http)) || http_peer_gone(http) ||
        now_ms >= w->deadline_boot_ms)
        answer(w, 0);
    else if (!w->is_listening && now_ms >= w->pause_end_boot_ms)
        listen(w);
    else if (w->is_listening && atomic_load_explicit(&w->called, memory_order_acquire))
        called(w);
    else
        http_park(http, go_on, w, w->is_listening ? w->deadline_boot_ms : w->pause_end_boot_ms,
                  true);
}

void route_serve_wait(void *self, struct http_request *http, uint32_t from)
{
    static const struct front_call_kind kind = {refuse, end};
    struct route *r = self;
    struct route_request in;
    struct queue_topic *topic;
    (void)from;
    if (!route_read(r, http, &in, &topic))
        return;
    if (in.kind != ROUTE_WAIT) {
        queue_topic_give_back(topic);
        route_answer_err(r, http, in.kind, ERR_CORRUPT);
        return;
    }
    struct waiting *w = arena_zeros(http_arena(http), sizeof *w);
    int64_t now_ms = clock_boot_ms(r->options.clock);
    w->route = r;
    w->http = http;
    w->topic = topic;
    w->in = in;
    w->deadline_boot_ms = now_ms + (in.left_ms < LEFT_MS_MAX ? in.left_ms : LEFT_MS_MAX);
    w->pause_end_boot_ms = now_ms + in.pause_ms;
    if (w->pause_end_boot_ms > w->deadline_boot_ms)
        w->pause_end_boot_ms = w->deadline_boot_ms;
    front_call_init(&w->call, &kind, http);
    w->call.cleanup = cleanup;
    go_on(w, http);
}

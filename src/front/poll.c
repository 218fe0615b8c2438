// SPDX-License-Identifier: Apache-2.0
/* A long poll registers before its first look (queue.h), then goes round: look; nothing: sleep
 * until a wake, the deadline or the server's end; look again. Looking may leave marks that must be
 * committed before the same wait can be used again, so each look is followed by front_call_commit;
 * a wake that comes during it is remembered in `called`. */
#include "front/poll.h"

#include "base/check.h"

static void look(struct front_poll *p);

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
    if (p->poll.linked)
        queue_poll_end(&p->poll, p->n == 0);
}

/* Whatever ended the request ends the poll. */
static void cleanup(struct front_call *c)
{
    struct front_poll *p = c->poll;
    stop(p);
    if (!c->written && p->n > 0)
        queue_give_back(p->topic, p->received, p->n);
}

static void answer(struct front_poll *p)
{
    stop(p);
    p->answer(p);
}

static void on_sleep_end(void *self, struct http_request *r)
{
    struct front_poll *p = self;
    if (in_vain(p))
        answer(p);
    else if (late(p) || called(p))
        look(p);
    else
        http_park(r, on_sleep_end, p, p->deadline_boot_ms, true);
}

/* What was seen is committed. */
static void looked(struct front_call *c)
{
    struct front_poll *p = c->poll;
    if (p->err != ERR_OK) {
        stop(p);
        p->refuse(p, p->err);
    } else if (p->n > 0 || p->wait_ms == 0 || late(p) || in_vain(p)) {
        answer(p);
    } else if (queue_poll_again(&p->poll) || called(p)) {
        look(p);
    } else {
        http_park(c->http, on_sleep_end, p, p->deadline_boot_ms, true);
    }
}

static void look(struct front_poll *p)
{
    int64_t visibility_ms = p->request.visibility_ms;
    if (visibility_ms < 0)
        visibility_ms = queue_topic_config(p->topic)->visibility_ms;
    *p->wait = (struct queue_wait){.err = ERR_OK};
    p->n = 0;
    atomic_store_explicit(&p->called, false, memory_order_release);
    p->lease_until_wall_ms = clock_wall_ms(p->clock) + visibility_ms;
    p->err = queue_receive(p->topic, &p->request, http_arena(p->call->http), p->received, &p->n,
                           p->wait);
    if (p->err == ERR_OVER_LIMIT && p->wait_ms > 0)
        p->err = ERR_OK;
    front_call_commit(p->call, p->wait, looked);
}

void front_poll_run(struct front_poll *p)
{
    p->call->poll = p;
    p->call->cleanup = cleanup;
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

// SPDX-License-Identifier: Apache-2.0
/* A message that moves to a partition which another broker leads (replication.md, section 13): both
 * sides. What makes it arrive once is the queue's affair (queue/move_trip.c, queue/move_take.c);
 * here it is enough that nothing but an answer of ERR_OK is taken for one. */
#include "base/check.h"
#include "base/mem.h"
#include "front/call.h"
#include "queue/spread.h"
#include "route/inside.h"

/* The target answers within 5 s of its append, or says that it does not know. */
enum { MOVE_MS = 7000 };

/* ---- the source's side ---- */

struct moving {
    void (*done)(void *arg, enum err e, uint32_t leader);
    void *arg;
};

static void on_answer(void *self, enum err e, int status, struct bytes body)
{
    struct moving m = *(struct moving *)self;
    enum err whole = ERR_UNKNOWN;
    uint32_t leader = 0;
    mem_free(self);
    if (e == ERR_REFUSED)
        whole = ERR_NOT_LEADER;
    else if (e == ERR_OK && status == 200 &&
             route_move_answer_read(body, &leader, &whole) != ERR_OK)
        whole = ERR_UNKNOWN;
    m.done(m.arg, whole, leader);
}

void route_move(void *self, const struct queue_move *m,
                void (*done)(void *arg, enum err e, uint32_t leader), void *arg)
{
    struct route *r = self;
    char url[PEER_URL_BYTES_MAX + 1];
    if (!r->options.url(r->options.self, m->broker, url) || !route_enter(r)) {
        done(arg, ERR_NOT_LEADER, 0);
        return;
    }
    struct buf body = BUF_EMPTY;
    struct moving *moving = mem_new(sizeof *moving);
    *moving = (struct moving){done, arg};
    route_move_put(m, MOVE_MS, &body);
    peer_post(r->peer, m->broker, url, ROUTE_PATH_MOVE, buf_bytes(&body), MOVE_MS,
              (struct peer_call_done){on_answer, moving});
    route_leave(r);
    buf_fini(&body);
}

/* ---- the target's side ---- */

struct serving {
    struct front_call call;
    struct route *route;
    struct queue_topic *topic;
    struct queue_move move;
    struct queue_wait wait;
    enum err err;
};

static struct serving *serving_of(struct front_call *c)
{
    return CONTAINER_OF(c, struct serving, call);
}

static void answer(struct serving *s, enum err e)
{
    struct buf body = BUF_EMPTY;
    uint32_t leader = e == ERR_NOT_LEADER ? queue_copy_leader(s->topic, s->move.partition) : 0;
    route_move_answer_put(e, leader, &body);
    peer_reply(s->route->peer, s->call.http, 200, &body);
}

static void refuse(struct front_call *c, enum err e)
{
    answer(serving_of(c), e);
}

static void end(struct front_call *c)
{
    queue_topic_give_back(serving_of(c)->topic);
}

static void taken(struct front_call *c)
{
    answer(serving_of(c), serving_of(c)->err);
}

void route_serve_move(void *self, struct http_request *http, uint32_t from)
{
    static const struct front_call_kind kind = {refuse, end};
    struct route_request in;
    struct queue_topic *topic;
    (void)from;
    if (!route_read(self, http, &in, &topic))
        return;
    if (in.kind != ROUTE_MOVE || in.move.partition >= queue_partitions(topic)) {
        queue_topic_give_back(topic);
        route_answer_err(self, http, in.kind, ERR_CORRUPT);
        return;
    }
    struct serving *s = arena_zeros(http_arena(http), sizeof *s);
    s->route = self;
    s->topic = topic;
    s->move = in.move;
    front_call_init(&s->call, &kind, http);
    s->err = queue_move_take(topic, &s->move, &s->wait);
    front_call_commit(&s->call, &s->wait, taken);
}

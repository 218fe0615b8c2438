// SPDX-License-Identifier: Apache-2.0
/* The side that carries a hop out. It goes through the same steps as a client's request (front/),
 * so it waits for its commit and gives back leases whose answer could not be written; only that it
 * never hops: what is not led here is answered with ERR_NOT_LEADER and the leader as it is known
 * here. */
#include "base/check.h"
#include "front/verbs.h"
#include "queue/spread.h"
#include "route/inside.h"

struct serving {
    struct front_call call;
    struct route *route;
    struct http_request *http;
    struct queue_topic *topic;
    struct route_request in;
    struct queue_wait wait;
    struct front_verb verb;
    enum err err;
    size_t n;
    struct queue_received received[QUEUE_BATCH_MAX];
};

static struct serving *serving_of(struct front_call *c)
{
    return CONTAINER_OF(c, struct serving, call);
}

/* Before route_begin there is no peer to sign with: an answer that does not verify. */
void route_answer_err(struct route *r, struct http_request *http, enum route_kind kind, enum err e)
{
    struct buf body = BUF_EMPTY;
    if (kind == ROUTE_MOVE)
        route_move_answer_put(e, 0, &body);
    else
        route_answer_put(kind, e, &body);
    if (__atomic_load_n(&r->begun, __ATOMIC_ACQUIRE))
        peer_reply(r->peer, http, 200, &body);
    else
        http_reply(http, 503, NULL, 0, &body);
}

static bool partitions_fit(struct queue_topic *t, const struct route_request *in)
{
    const struct topic_config *config = queue_topic_config(t);
    for (size_t i = 0; in->items != NULL && i < in->n; i++) {
        const struct queue_message *m = in->items[i].message;
        if (in->items[i].partition >= queue_partitions(t))
            return false;
        if (m != NULL &&
            ((m->tombstone && !config->compact) || (config->fifo && m->group_id.n == 0)))
            return false;
    }
    return true;
}

/* Also of a request that is not decoded further: its answer says which it is to. */
static enum route_kind kind_of(struct bytes body)
{
    uint8_t kind = body.n < 2 ? 0 : ((const uint8_t *)body.at)[1];
    return kind < ROUTE_SEND || kind > ROUTE_MOVE ? ROUTE_WAIT : (enum route_kind)kind;
}

bool route_read(struct route *r, struct http_request *http, struct route_request *in,
                struct queue_topic **topic)
{
    enum err e = ERR_STOPPING; /* nothing is done yet */
    in->kind = kind_of(http_body(http));
    if (__atomic_load_n(&r->begun, __ATOMIC_ACQUIRE))
        e = route_request_read(http_body(http), http_arena(http), in);
    if (e == ERR_OK)
        e = queue_topic_find_id(r->queue, in->topic, topic);
    if (e == ERR_OK && !partitions_fit(*topic, in)) {
        queue_topic_give_back(*topic);
        e = ERR_CORRUPT;
    }
    if (e != ERR_OK)
        route_answer_err(r, http, in->kind, e);
    return e == ERR_OK;
}

static void refuse(struct front_call *c, enum err e)
{
    struct serving *s = serving_of(c);
    route_answer_err(s->route, s->http, s->in.kind, e);
}

static void end(struct front_call *c)
{
    queue_topic_give_back(serving_of(c)->topic);
}

/* ---- verbs ---- */

static void verb_done(struct front_call *c)
{
    struct serving *s = serving_of(c);
    struct buf body = BUF_EMPTY;
    route_answer_put(s->in.kind, ERR_OK, &body);
    route_items_put(s->in.kind, s->in.items, s->in.n, &body);
    peer_reply(s->route->peer, s->http, 200, &body);
}

static void verb_run(struct serving *s)
{
    static const enum front_verb_kind kinds[] = {
        [ROUTE_SEND] = FRONT_SEND,
        [ROUTE_CHANGE] = FRONT_CHANGE,
        [ROUTE_PURGE] = FRONT_PURGE,
        [ROUTE_COUNT] = FRONT_COUNT,
    };
    s->verb = (struct front_verb){
        .call = &s->call,
        .topic = s->topic,
        .wait = &s->wait,
        .kind = kinds[s->in.kind],
        .strict = s->in.strict,
        .group = s->in.group,
        .items = s->in.items,
        .n = s->in.n,
        .here = true,
        .next = verb_done,
    };
    front_verb_run(&s->verb);
}

/* ---- receive ---- */

static void give_back(struct front_call *c)
{
    struct serving *s = serving_of(c);
    if ((!c->written || s->wait.err != ERR_OK) && s->n > 0)
        queue_give_back(s->topic, s->received, s->n);
}

static void received(struct front_call *c)
{
    struct serving *s = serving_of(c);
    struct buf body = BUF_EMPTY;
    route_answer_put(ROUTE_RECEIVE, s->err, &body);
    if (s->err == ERR_OK)
        route_received_put(s->received, s->n, &body);
    peer_reply(s->route->peer, s->http, 200, &body);
}

/* No lease for a broker that is gone. */
static void receive(struct serving *s)
{
    s->call.cleanup = give_back;
    if (!http_peer_gone(s->http))
        s->err = queue_receive_here(s->topic, &s->in.receive, http_arena(s->http), s->received,
                                    &s->n, &s->wait);
    front_call_commit(&s->call, &s->wait, received);
}

void route_serve_hop(void *self, struct http_request *http, uint32_t from)
{
    static const struct front_call_kind kind = {refuse, end};
    struct route_request in;
    struct queue_topic *topic;
    if (!route_read(self, http, &in, &topic))
        return;
    struct serving *s = arena_zeros(http_arena(http), sizeof *s);
    s->route = self;
    s->http = http;
    s->topic = topic;
    s->in = in;
    _Static_assert((int)PEER_BROKER_MAX <= (int)QUEUE_FRONT_MAX, "who signed may be a front");
    for (size_t i = 0; in.kind == ROUTE_SEND && i < in.n; i++)
        in.items[i].repeat.front = from;
    front_call_init(&s->call, &kind, http);
    if (in.kind <= ROUTE_COUNT)
        verb_run(s);
    else if (in.kind == ROUTE_RECEIVE)
        receive(s);
    else
        route_answer_err(self, http, in.kind, ERR_CORRUPT);
}

void route_serve_give_back(void *self, struct http_request *http, uint32_t from)
{
    struct route_request in;
    struct queue_topic *topic;
    (void)from;
    if (!route_read(self, http, &in, &topic))
        return;
    if (in.kind == ROUTE_GIVE_BACK)
        queue_give_back(topic, in.received, in.n);
    queue_topic_give_back(topic);
    route_answer_err(self, http, in.kind, in.kind == ROUTE_GIVE_BACK ? ERR_OK : ERR_CORRUPT);
}

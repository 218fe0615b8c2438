// SPDX-License-Identifier: Apache-2.0
#include "route/route.h"

#include "base/check.h"
#include "base/mem.h"
#include "route/inside.h"

struct route *route_new(const struct route_options *o)
{
    struct route *r = mem_new(sizeof *r);
    r->options = *o;
    r->links = (struct front_links){
        .self = r,
        .broker = o->broker,
        .clock = o->clock,
        .start = route_start,
        .give_back = route_give_back,
        .watch = route_watch,
        .unwatch = route_unwatch,
        .repeat_open = route_repeat_open,
        .repeat_close = route_repeat_close,
    };
    r->sequence = 1;
    r->mover = (struct queue_mover){r, route_move};
    lock_init(&r->lk, LOCK_RANK_WATCHES);
    lock_signal_init(&r->left);
    return r;
}

void route_routes(struct route *r, struct peer_route out[ROUTE_ROUTES])
{
    out[0] = (struct peer_route){ROUTE_PATH_HOP, route_serve_hop, r};
    out[1] = (struct peer_route){ROUTE_PATH_WAIT, route_serve_wait, r};
    out[2] = (struct peer_route){ROUTE_PATH_GIVE_BACK, route_serve_give_back, r};
    out[3] = (struct peer_route){ROUTE_PATH_MOVE, route_serve_move, r};
}

void route_begin(struct route *r, struct peer *peer, struct queue *queue, uint64_t life)
{
    r->life = life;
    r->peer = peer;
    r->queue = queue;
    __atomic_store_n(&r->begun, true, __ATOMIC_RELEASE);
}

const struct front_links *route_links(struct route *r)
{
    return &r->links;
}

const struct queue_mover *route_mover(struct route *r)
{
    return &r->mover;
}

bool route_enter(struct route *r)
{
    lock_take(&r->lk);
    bool begun = r->begun;
    r->in += begun;
    lock_give(&r->lk);
    return begun;
}

void route_leave(struct route *r)
{
    lock_take(&r->lk);
    if (--r->in == 0)
        lock_signal_all(&r->left);
    lock_give(&r->lk);
}

void route_end(struct route *r)
{
    lock_take(&r->lk);
    __atomic_store_n(&r->begun, false, __ATOMIC_RELEASE);
    while (r->in > 0)
        lock_signal_wait(&r->left, &r->lk, -1);
    lock_give(&r->lk);
}

void route_free(struct route *r)
{
    if (r == NULL)
        return;
    CHECK(r->keys == NULL);
    route_repeat_forget(r);
    lock_signal_fini(&r->left);
    lock_fini(&r->lk);
    mem_free(r);
}

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
    };
    lock_init(&r->lk, LOCK_RANK_WATCHES);
    return r;
}

void route_routes(struct route *r, struct peer_route out[ROUTE_ROUTES])
{
    out[0] = (struct peer_route){ROUTE_PATH_HOP, route_serve_hop, r};
    out[1] = (struct peer_route){ROUTE_PATH_WAIT, route_serve_wait, r};
    out[2] = (struct peer_route){ROUTE_PATH_GIVE_BACK, route_serve_give_back, r};
}

void route_begin(struct route *r, struct peer *peer, struct queue *queue)
{
    r->peer = peer;
    r->queue = queue;
    __atomic_store_n(&r->begun, true, __ATOMIC_RELEASE);
}

const struct front_links *route_links(struct route *r)
{
    CHECK(__atomic_load_n(&r->begun, __ATOMIC_ACQUIRE));
    return &r->links;
}

void route_free(struct route *r)
{
    CHECK(r->keys == NULL);
    lock_fini(&r->lk);
    mem_free(r);
}

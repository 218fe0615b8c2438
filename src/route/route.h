// SPDX-License-Identifier: Apache-2.0
/* Any broker takes any request: what is for a partition that another broker leads goes there in one
 * hop, and its answer comes back. This room carries the hops of front/links.h: their forms
 * (WIRE.md), the caller's side, and the side that carries them out through the queue.
 *
 * Threads: hops are begun on the fronts' loops and end on the peer's client thread; they are served
 * on the peer's loops. */
#ifndef ROUTE_ROUTE_H
#define ROUTE_ROUTE_H

#include "base/clock.h"
#include "front/links.h"
#include "peer/peer.h"
#include "queue/copies.h"
#include "queue/queue.h"

struct route;

struct route_options {
    uint32_t broker;           /* this one's id, 1 to 65535 */
    const struct clock *clock; /* borrowed, as `self` */
    /* Where a broker's peers reach it; false: it is not known, or there is no sense in asking. Any
     * thread. */
    bool (*url)(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1]);
    void *self;
};

struct route *route_new(const struct route_options *o);
/* For peer_start. Until route_begin nothing is done, and the answer is a 503 that is not signed. */
enum { ROUTE_ROUTES = 4 };
void route_routes(struct route *r, struct peer_route out[ROUTE_ROUTES]);
/* The peer listens and the queue is open; both are borrowed until route_free. `life` is above that
 * of each former life of this broker's id, and never equal: it is in the keys of what is sent to
 * others, and a key that came again would have its message taken for the older one. */
void route_begin(struct route *r, struct peer *peer, struct queue *queue, uint64_t life);
/* For the fronts. */
const struct front_links *route_links(struct route *r);
/* For the queue, which may use it from its opening on. */
const struct queue_mover *route_mover(struct route *r);
/* No more calls: the peer is about to stop. What is asked from now on was not done. */
void route_end(struct route *r);
/* After the fronts' server and the peer have stopped; NULL is nothing. */
void route_free(struct route *r);

#endif

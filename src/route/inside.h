// SPDX-License-Identifier: Apache-2.0
/* What the files of this room share. */
#ifndef ROUTE_INSIDE_H
#define ROUTE_INSIDE_H

#include "base/lock.h"
#include "route/route.h"
#include "route/wire.h"

#define ROUTE_PATH_HOP "/_r/v1/hop"
#define ROUTE_PATH_WAIT "/_r/v1/wait"
#define ROUTE_PATH_GIVE_BACK "/_r/v1/give_back"
#define ROUTE_PATH_MOVE "/_r/v1/move"

struct route {
    /* set at birth */
    struct route_options options;
    struct front_links links;
    struct queue_mover mover;
    /* set by route_begin, then `begun` */
    struct peer *peer;
    struct queue *queue;
    uint64_t life;
    bool begun; /* atomic; false again from route_end on */

    struct lock lk;
    struct lock_signal left; /* nobody is in any more, and it has ended */
    unsigned in;             /* guarded by lk: threads that may call the peer */
    struct route_key *keys;  /* guarded by lk; a hash */
    /* Guarded by lk: sends to other brokers that may be repeated, by partition (a hash), and the
     * lowest sequence that was never given. */
    struct route_window *windows;
    uint64_t sequence;
};

/* The peer may be called until route_leave. False: it is not there. */
bool route_enter(struct route *r) MUST_USE;
void route_leave(struct route *r);

/* ---- call.c ---- */

void route_start(void *self, struct front_hop *hop);
void route_give_back(void *self, uint32_t broker, const uint8_t topic[16],
                     const struct queue_received *received, size_t n);

/* ---- repeat.c: as front_links has them ---- */

bool route_repeat_open(void *self, const uint8_t topic[16], uint32_t partition,
                       struct queue_repeat *out);
void route_repeat_close(void *self, const uint8_t topic[16], uint32_t partition,
                        const struct queue_repeat *key);
/* A server that stopped has left some open. */
void route_repeat_forget(struct route *r);

/* ---- watch.c ---- */

void route_watch(void *self, struct front_watch *w);
void route_unwatch(void *self, struct front_watch *w);

/* ---- move.c ---- */

void route_move(void *self, const struct queue_move *m,
                void (*done)(void *arg, enum err e, uint32_t leader), void *arg);
void route_serve_move(void *self, struct http_request *http, uint32_t from);

/* ---- serve.c, serve_wait.c: handlers ---- */

void route_serve_hop(void *self, struct http_request *http, uint32_t from);
void route_serve_give_back(void *self, struct http_request *http, uint32_t from);
void route_serve_wait(void *self, struct http_request *http, uint32_t from);

/* One answer with nothing but an error. */
void route_answer_err(struct route *r, struct http_request *http, enum route_kind kind, enum err e);
/* Reads the request and finds its topic, whose reference is the caller's. False: it is answered. */
bool route_read(struct route *r, struct http_request *http, struct route_request *in,
                struct queue_topic **topic);

#endif

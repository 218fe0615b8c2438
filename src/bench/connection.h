// SPDX-License-Identifier: Apache-2.0
/* One connection to the broker with at most one request in flight, driven by an epoll of the
 * caller's. A request is written at once and only what the socket does not take is kept; an answer
 * stays where it was read until the next request. Belongs to one thread. */
#ifndef BENCH_CONNECTION_H
#define BENCH_CONNECTION_H

#include "base/buf.h"
#include "bench/address.h"
#include "bench/answer.h"

enum bench_connection_state {
    BENCH_CONNECTION_CLOSED,
    BENCH_CONNECTION_OPENING,
    BENCH_CONNECTION_IDLE,
    BENCH_CONNECTION_WAITING, /* for an answer */
};

/* All zeros is a closed one. */
struct bench_connection {
    enum bench_connection_state state;
    int fd;         /* valid unless closed */
    int epoll;      /* which watches it; the same */
    struct buf out; /* of the request: what the socket has not taken */
    size_t out_at;
    struct buf in; /* the answer so far */
    bool head_known;
    struct bench_answer answer; /* valid with head_known */
};

/* What came of an event. */
enum bench_connection_event {
    BENCH_CONNECTION_NOTHING,
    BENCH_CONNECTION_OPENED,
    BENCH_CONNECTION_ANSWERED,
    BENCH_CONNECTION_BROKEN,     /* and closed; *why says how, in a constant text */
    BENCH_CONNECTION_UNREADABLE, /* the same: an answer that this client does not take */
};

/* Begins to connect to the first of the addresses; `epoll` reports it with `self`. ERR_REFUSED:
 * *why. */
MUST_USE enum err bench_connection_open(struct bench_connection *c, const struct bench_address *to,
                                        int epoll, void *self, const char **why);
void bench_connection_close(struct bench_connection *c);
void bench_connection_fini(struct bench_connection *c);

/* Of an idle connection. A socket that refuses shows at the next event. */
void bench_connection_send(struct bench_connection *c, int epoll, void *self, struct bytes request);
/* What epoll reported; answers with bodies longer than body_bytes_max are UNREADABLE. After
 * ANSWERED it is idle, and the answer can be read until the next request. */
enum bench_connection_event bench_connection_ready(struct bench_connection *c, int epoll,
                                                   void *self, size_t body_bytes_max,
                                                   const char **why);
struct bytes bench_connection_body(const struct bench_connection *c);

#endif

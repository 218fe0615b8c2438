// SPDX-License-Identifier: Apache-2.0
/* How brokers of a cluster speak with each other: signed HTTP requests on a listener of their own,
 * and what they carry. Transport and wire forms only: what a request means is its handler's affair.
 *
 * Every request and every answer carries X-Leaselog-Signature: HMAC-SHA256 under the cluster's key
 * over method, path, cluster id, sender, receiver, version, time, nonce and the body's digest; an
 * answer's is over the request's nonce and its status too (WIRE.md). Outside a window of 2 hours,
 * or with a nonce seen before, it is refused (401); so is another cluster id, another receiver or
 * another protocol version (409 with one line that says which). Such refusals are not signed.
 *
 * Threads: the listener's loops call the handlers; the client has one thread of its own, which
 * calls `done`. */
#ifndef PEER_PEER_H
#define PEER_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "http/http.h"

struct peer;

enum {
    PEER_VERSION = 1,
    PEER_BROKER_MAX = 65535, /* brokers' ids go from 1 to this */
    PEER_URL_BYTES_MAX = 255,
    PEER_KEY_BYTES_MIN = 16,           /* of the cluster's shared key */
    PEER_CLUSTER_BYTES_MAX = 64,       /* of the cluster's id: printable, without a space */
    PEER_BODY_BYTES_MAX = 16 << 20,    /* of a request */
    PEER_ANSWER_BYTES_MAX = 256 << 20, /* beyond, the connection is broken off */
};

struct peer_route {
    const char *path; /* the whole of it; begins with /_r/v1/ */
    /* On a loop's thread, perhaps before peer_start has returned: the request is verified; `from`
     * is the sender's broker id. It answers with peer_reply, or parks with http_park and answers
     * later. It does not block: other peers wait behind it. */
    void (*handler)(void *self, struct http_request *r, uint32_t from);
    void *self;
};

struct peer_options {
    const char *address; /* to listen on; copied */
    uint16_t port;       /* 0: a free one */
    const char *from;    /* our address when we call; NULL: any; copied */
    uint32_t broker;     /* this one's id */
    const char *cluster; /* the cluster's id, as text; copied */
    struct bytes key;    /* copied */
    const struct clock *clock;
    struct rng rng;                  /* nonces */
    const struct peer_route *routes; /* borrowed */
    size_t routes_n;
    /* At the end of each pass of a loop of the listener, on its thread: where what handlers have
     * appended is committed. May be NULL. */
    void (*pass_end)(void *self);
    void *self;
};

/* ERR_IN_USE, ERR_PERMISSION, ERR_INVALID. */
enum err peer_start(const struct peer_options *o, struct peer **out) MUST_USE;
uint16_t peer_port(const struct peer *p);
/* How many sockets a peer may have open, but for calls beyond 256 at one time. */
unsigned peer_sockets_max(void);
/* Ends all calls with ERR_STOPPING, answers what is parked, then frees p. */
void peer_stop(struct peer *p);

/* Answers a request that a handler got, on its loop's thread; takes what body holds. A handler that
 * has no `p` yet answers 503 with http_reply, unsigned: the asker hears ERR_BUSY. */
void peer_reply(struct peer *p, struct http_request *r, int status, struct buf *body);

/* ---- calls ---- */

struct peer_call;
struct peer_call_done {
    /* On the client's thread, once; it does not block. ERR_OK: an answer with this status came,
     * verified; `body` is lent. ERR_REFUSED: nobody listens there (it was never sent), and `status`
     * is ECONNREFUSED when it was the other machine that said so, else 0; ERR_BUSY: no
     * answer within the deadline, the connection broke, it was given up, or the other side has no
     * room (`status` is 503 then): it may have been carried out; ERR_PERMISSION: an answer that
     * does not verify, such as a refusal of the other listener; ERR_STOPPING. */
    void (*done)(void *self, enum err e, int status, struct bytes body);
    void *self;
};
/* POSTs body (copied) to url + path, for the broker `to`. url: http://host:port. Any thread; never
 * blocks; leaf locks only. What is returned names the call until `done` is called. */
struct peer_call *peer_post(struct peer *p, uint32_t to, const char *url, const char *path,
                            struct bytes body, int64_t deadline_ms, struct peer_call_done done);
/* Blocks until it is over; for jobs, not for handlers, nor from within `done`. `status` and `out`
 * are written on ERR_OK. */
enum err peer_ask(struct peer *p, uint32_t to, const char *url, const char *path, struct bytes body,
                  int64_t deadline_ms, int *status, struct buf *out) MUST_USE;
/* Ends all calls to a broker that are under way, soon, with ERR_BUSY: it is thought that no answers
 * will come. Any thread; never blocks. */
void peer_give_up(struct peer *p, uint32_t to);
/* When a verified answer of that broker came last, of whatever call; boot time. INT64_MIN: never.
 * Any thread. */
int64_t peer_heard_ms(struct peer *p, uint32_t from);

#endif

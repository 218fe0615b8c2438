// SPDX-License-Identifier: Apache-2.0
/* A server with a few handlers, and waits for what its other threads do. */
#ifndef TESTS_UNIT_HTTP_FIXTURE_H
#define TESTS_UNIT_HTTP_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>

#include "http/http.h"
#include "lib/http_client.h"

enum { PARKS_MAX = 512, WIDE_HEADERS = 32, WIDE_HEADER_BYTES = 100 };

/* What the handlers of a test server have seen. Fields under `mutex` but for the atomics. */
struct fixture {
    struct http_server *server;
    struct clock clock;
    uint16_t port;
    struct http_route routes[16];
    atomic_int handled; /* requests that reached a handler */
    atomic_int wakes, finished, written, gone, passes;
    struct http_request *_Atomic for_pass_end; /* held; by /wake-now */
    pthread_mutex_t gate;                      /* /gate stops its loop while somebody holds it */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct http_request *parks[PARKS_MAX]; /* held; by /park */
    int parks_n;
};

/* Routes:
 *   GET  /hello     "hello"                      POST /echo    the body
 *   GET  /tell?q    method, path, query, X-Tell  GET  /big     4 MiB, and its finish is counted
 *   GET  /park      parks until it is woken      GET  /poll    the same, as a poller
 *   GET  /timer     parks for 20 ms              GET  /early   woken before it parks
 *   GET  /file/...  the path (prefix)            PUT  /file/x  "put"
 *   GET  /gate      waits for the gate           any  /any     "hello"
 *   GET  /wake-now  parks, woken by pass_end     GET  /wide    WIDE_HEADERS headers, no body
 * `change` may alter the options. */
struct fixture *fixture_start(void (*change)(struct http_options *o));
void fixture_stop(struct fixture *f, int64_t timeout_ms);
/* The second half of fixture_stop, for a test that has stopped the server itself. */
void fixture_free(struct fixture *f);
/* True once *counter >= n; false after ten seconds. */
bool fixture_wait(struct fixture *f, const atomic_int *counter, int n);
/* True once n requests are parked at /park; they are in parks[0..n-1], each held. */
bool fixture_wait_parks(struct fixture *f, int n);
/* The newest parked request, taken out of `parks` with its hold. */
struct http_request *fixture_take_park(struct fixture *f);
/* True once `counts` says so. */
bool fixture_wait_counts(struct fixture *f, bool (*ok)(struct http_counts c));

#endif

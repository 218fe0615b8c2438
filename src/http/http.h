// SPDX-License-Identifier: Apache-2.0
/* Adapter of libmicrohttpd: listening, limits, request arenas, parking and waking. The only user of
 * its header.
 *
 * Threads: the server runs `loops` threads (http_server_start). A request belongs to one loop: its
 * handler, its wake callback and its finish callback run on that loop's thread, one at a time. Only
 * http_wake() may be called from any thread.
 *
 * A request's life: head and body are read within limits (refused with own answers otherwise); then
 * handler(request), which either replies (http_reply) or parks (http_park); someone wakes it
 * (http_wake, or its timer); on_wake, which replies or parks again; the answer is written;
 * on_finish (written or not); everything is freed with the arena. A request that is parked cannot
 * vanish; its peer may have gone: http_peer_gone. Who is still parked when http_server_stop gives
 * up hears on_finish(false) without on_wake. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"

struct http_server;
struct http_request;

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_OTHER
};

typedef void http_handler(void *self, struct http_request *r);

/* First match wins. `path` ends in '*' for a prefix, else it is exact. method HTTP_OTHER: any. */
struct http_route {
    enum http_method method;
    const char *path;
    http_handler *handler;
    void *self;
};

struct http_options {
    const char *address; /* IPv4, or IPv6 in brackets or not */
    uint16_t port;       /* 0 picks a free one */
    unsigned loops;      /* threads; 0: one per two processors, at least one */
    unsigned connections_max;
    size_t head_bytes_max;    /* request line and headers; at most 6 KiB, the default; less
                               * where many headers take libmicrohttpd's memory too */
    size_t body_bytes_max;    /* 413 beyond; 8 MiB by default */
    size_t body_budget_bytes; /* all bodies beyond the arenas together; 503 when spent; 64 MiB */
    unsigned idle_timeout_s;  /* a connection that sends nothing, or too slowly, is closed */
    const struct http_route *routes; /* borrowed */
    size_t routes_n;
    const struct clock *clock;
    void *self;
    /* At the end of each pass of a loop, on its thread: where the commit role is taken. May be
     * NULL. */
    void (*pass_end)(void *self);
    /* Answers a request that was refused before its handler: too big, too many, malformed shape
     * that libmicrohttpd let through, no route, wrong method. Default: a small JSON object. May be
     * NULL. */
    void (*refuse)(void *self, struct http_request *r, int status, const char *text);
};

void http_options_default(struct http_options *o);
/* How many sockets of clients a server may have open at one time: beyond connections_max each loop
 * takes some to refuse them, and keeps some that it closes slowly. loops as in the options. */
unsigned http_sockets_max(unsigned connections_max, unsigned loops);

/* ERR_IN_USE: the port is taken. ERR_PERMISSION, ERR_INVALID (address), ERR_IO. */
enum err http_server_start(const struct http_options *o, struct http_server **out) MUST_USE;
uint16_t http_server_port(const struct http_server *s);
/* Graceful stop, first half: no new connections, parked requests that are pollers
 * (http_park with poll = true) are woken and see http_stopping() true. Any thread. */
void http_server_drain(struct http_server *s);
/* Second half: waits until every request is answered, at most timeout_ms, then ends the loops. */
void http_server_stop(struct http_server *s, int64_t timeout_ms);
bool http_stopping(const struct http_server *s);

struct http_counts {
    unsigned connections;
    unsigned parked;
    uint64_t requests;
    size_t body_bytes; /* reserved of the budget now */
};
struct http_counts http_server_counts(const struct http_server *s);

/* ---- a request ---- */

enum http_method http_method_of(const struct http_request *r);
struct bytes http_path(const struct http_request *r);  /* raw, percent-coding kept, no query */
struct bytes http_query(const struct http_request *r); /* raw, without '?'; n = 0: none */
/* The header's value (name in any case), or n = 0 and at = NULL. */
struct bytes http_header(const struct http_request *r, const char *name);
/* Each header whose name begins with `prefix` (in any case), in the order in which they came: the
 * name as it was sent, the value without white space around it. Both are lent until the request is
 * finished. */
void http_headers_each(const struct http_request *r, const char *prefix,
                       void (*each)(void *arg, struct bytes name, struct bytes value), void *arg);
/* The peer's address without its port, as text: "192.0.2.1", "2001:db8::1". IPv4 that came through
 * an IPv6 socket is shown as IPv4. "" when it is not known any more. */
enum { HTTP_ADDRESS_TEXT_MAX = 45 };
void http_peer_address(const struct http_request *r, char out[HTTP_ADDRESS_TEXT_MAX + 1]);
/* The same of our own end of the connection, which is where the peer has reached us; and its port.
 */
void http_own_address(const struct http_request *r, char out[HTTP_ADDRESS_TEXT_MAX + 1],
                      uint16_t *port);
struct bytes http_body(const struct http_request *r);
struct arena *http_arena(struct http_request *r);
const char *http_request_id(struct http_request *r); /* a UUID as text */
struct http_server *http_server_of(struct http_request *r);
int64_t http_arrived_boot_ms(const struct http_request *r);

struct http_answer_header {
    const char *name;
    const char *value; /* copied */
};
/* Of an answer's headers, names and values together, and 4 bytes for each. A request with a large
 * head leaves less room than the most, never less than the least. */
enum { HTTP_ANSWER_HEADERS_BYTES_MIN = 1280, HTTP_ANSWER_HEADERS_BYTES_MAX = 3 * 1024 };
/* How many bytes of headers this request's answer may have. What comes beyond is left out, and
 * noted: whoever puts a client's bytes into headers counts them. */
size_t http_answer_room(const struct http_request *r);

/* Answers, once. Takes what `body` holds (the buf is empty afterwards). Not from under a lock. */
void http_reply(struct http_request *r, int status, const struct http_answer_header *headers,
                size_t headers_n, struct buf *body);

/* The request waits for http_wake or, when wake_boot_ms > 0, for that time. on_wake is called once
 * a park. `poll`: a graceful stop wakes it. */
void http_park(struct http_request *r, http_handler *on_wake, void *self, int64_t wake_boot_ms,
               bool poll);
/* Any thread, no lock needed, cheap. A wake that comes before the park, or twice, is not lost and
 * not doubled: the next park returns through on_wake. */
void http_wake(struct http_request *r);

/* Who may call http_wake after the request could have finished (a waiter on another thread) holds
 * it meanwhile: the struct, its arena and its body then outlive on_finish, and a late wake does
 * nothing. Any thread; each hold is given back once. */
void http_hold(struct http_request *r);
void http_let_go(struct http_request *r);

/* True when the peer has closed or half-closed (POLLRDHUP, reset): before a lease is taken for it.
 */
bool http_peer_gone(struct http_request *r);

/* Called once, after the answer was handed to the kernel (written) or could not be. */
void http_on_finish(struct http_request *r, void (*f)(void *self, bool written), void *self);

#endif

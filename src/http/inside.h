// SPDX-License-Identifier: Apache-2.0
/* What the files of this room share. Not for other rooms.
 *
 *   mailbox  wakes from other threads        loop     a thread, its daemon and its passes
 *   head     is this head what it seems?     conn     a connection: deadlines, lingering close
 *   receive  head, body, route, handler      request  a request's life and its accessors
 *   reply    answers                         park     parking and waking
 *   listen   addresses and sockets           server   start, drain, stop
 */
#ifndef HTTP_INSIDE_H
#define HTTP_INSIDE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "base/codec.h"
#include "base/heap.h"
#include "base/rng.h"
#include "http/head.h"
#include "http/http.h"
#include "http/mailbox.h"

enum {
    /* Of each request's arena, in its struct: what a receive needs, of which thousands may wait.
     * Larger requests take more. */
    FIRST_ARENA_BYTES = 2560,
    /* A body up to this lies in the arena; a larger one is reserved from the budget. */
    ARENA_BODY_BYTES = 12 * 1024,
    /* libmicrohttpd's own memory for each connection, all of it resident, since it is written full
     * of zeros after each request. request_answer_room() says what must fit into it. */
    CONNECTION_BYTES = 8 * 1024,
    READ_BYTES = CONNECTION_BYTES / 2, /* its read buffer, at first */
    READ_STEP_BYTES = 128,             /* by which that grows, when it must */
    ANSWER_STATUS_BYTES = 512, /* the answer's status line and libmicrohttpd's own headers */
    /* Smaller pieces of a body are left in the read buffer, which so grows to this at least. */
    PIECE_BYTES_MIN = 256,
    HEAD_BYTES_MAX = 6 * 1024,
    HEADERS_MAX = 36, /* the product needs a dozen, proxies add another */
    /* Who sends a body, or reads an answer, more slowly than this is cut off. */
    BYTES_PER_S_MIN = 16 * 1024,
    /* Request structs that a loop keeps for reuse. */
    SPARE_REQUESTS_MAX = 256,
};

_Static_assert(READ_BYTES + HEADERS_MAX * HEADER_STRUCT_BYTES + HTTP_ANSWER_HEADERS_BYTES_MIN +
                       ANSWER_STATUS_BYTES <=
                   CONNECTION_BYTES,
               "a small head may have all headers");

enum server_phase { SERVER_RUNNING, SERVER_DRAINING, SERVER_STOPPING };

struct http_server {
    /* set at birth */
    struct http_options options;
    struct http_loop *loops;
    unsigned loops_n;
    unsigned excess_max;  /* connections of a loop beyond connections_max, told 503 */
    unsigned lingers_max; /* of a loop */
    uint16_t port;
    /* any thread */
    atomic_int phase;          /* enum server_phase */
    atomic_llong stop_boot_ms; /* when SERVER_STOPPING gives up waiting */
    atomic_size_t body_bytes;  /* reserved of the budget */
    atomic_uint connections;
};

/* What an event of a loop's epoll is about. */
enum source { SOURCE_DAEMON, SOURCE_MAILBOX, SOURCE_LINGER, SOURCE_PEER };

/* A socket that libmicrohttpd has let go, kept until its peer has read our last answer. */
struct lingerer {
    enum source source; /* first: epoll's pointer leads here */
    int fd;
    size_t left; /* bytes that are still swallowed */
    struct heap_node until;
    LIST_ENTRY(lingerer) link;
};

/* One thread. All fields belong to it but those under "any thread". */
struct http_loop {
    struct http_server *server;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    enum source daemon_source, mailbox_source;
    struct mailbox *mail;
    pthread_t thread;
    struct rng rng;
    int64_t now_ms;                  /* boot time, read once a pass */
    bool again;                      /* the next pass must not sleep */
    bool running;                    /* inside MHD_run */
    bool drained;                    /* the listening socket is closed */
    bool ending;                     /* requests still parked are dropped */
    unsigned in_flight;              /* requests whose head is complete and that are not finished */
    struct heap wakes;               /* http_request.wake, by boot ms */
    struct heap deadlines;           /* conn.due, by boot ms */
    struct heap lingering;           /* linger.until */
    LIST_HEAD(, http_request) fresh; /* parked in this pass, not suspended yet */
    LIST_HEAD(, http_request) parked; /* suspended */
    LIST_HEAD(, conn) conns;
    LIST_HEAD(, conn) leaving; /* their peers are gone, and that is still to be acted on */
    LIST_HEAD(, lingerer) lingers;
    SLIST_HEAD(, http_request) spare;
    unsigned spare_n;
    /* any thread */
    atomic_uint parked_n;
    atomic_ullong requests;
};

/* A connection, from accept to close. */
struct conn {
    enum source source; /* first: epoll's pointer leads here */
    struct http_loop *loop;
    struct MHD_Connection *mhd;
    int fd;
    bool excess;                  /* over connections_max: its first request is answered 503 */
    bool linger;                  /* bytes of the client may be on their way when we close */
    bool left;                    /* the peer sends nothing more */
    bool leaving;                 /* in loop.leaving */
    struct http_request *request; /* the one being read or answered, or NULL */
    int64_t deadline_ms;  /* when it is cut off; INT64_MAX: not while we are the slow side */
    struct heap_node due; /* never later than deadline_ms; moved only when it fires */
    LIST_ENTRY(conn) link;
    LIST_ENTRY(conn) leave;
};

enum request_state {
    REQUEST_READING,  /* head and body */
    REQUEST_HANDLING, /* in its handler, in on_wake, or in refuse */
    REQUEST_PARKED,
    REQUEST_REPLIED,
    REQUEST_FINISHED,
};

/* Owned by its loop's thread but for refs and mail. */
struct http_request {
    atomic_uint refs; /* one for its life up to the finish, one a post, one a hold */
    struct mailbox *mailbox;
    struct mail mail;
    struct http_loop *loop;
    struct conn *conn; /* NULL once libmicrohttpd has ended the request */
    enum request_state state;
    bool head_seen;
    bool suspended; /* libmicrohttpd leaves the connection alone */
    bool poll;
    bool close;         /* the connection ends with this answer */
    bool direct;        /* no answer can be queued in the middle of a body: written to the socket */
    bool sent;          /* a direct answer went out */
    bool swallow;       /* the body is read and thrown away: refuse_status is answered after it */
    size_t answer_room; /* http_answer_room, once the head is read; 0: the head is too large */
    enum http_method method;
    int refuse_status; /* 0: not refused */
    const char *refuse_text;
    const char *allow; /* for 405 */
    const struct http_route *route;
    struct head head;
    const char *raw_target; /* where libmicrohttpd has it; only its address is used */
    struct bytes target, path, query;
    char *body;
    size_t body_n, body_room;
    size_t body_reserved; /* of the budget, given back at the finish */
    bool body_owned;      /* `body` is its own allocation, not the arena's */
    int64_t arrived_ms;
    http_handler *on_wake;
    void *wake_self;
    struct heap_node wake;
    void (*on_finish)(void *self, bool written);
    void *finish_self;
    union {
        LIST_ENTRY(http_request) link; /* loop.fresh or loop.parked */
        SLIST_ENTRY(http_request) spare;
    };
    char id[CODEC_UUID_ROOM];
    struct arena arena;
    _Alignas(16) char first[FIRST_ARENA_BYTES];
};

/* ---- request.c ---- */
struct http_request *request_new(struct http_loop *l, struct conn *c);
void request_hold(struct http_request *r);
void request_let_go(struct http_request *r);
/* on_finish, once, and the end of the life's reference. */
void request_finish(struct http_request *r, bool written);
void request_free(struct http_request *r);
void request_target_split(struct http_request *r);
/* Makes room for a body of n bytes in all, or returns false: the budget is spent. */
bool request_body_room(struct http_request *r, size_t n);
/* r->answer_room from r->head. It stays 0 where not even HTTP_ANSWER_HEADERS_BYTES_MIN is left. */
void request_answer_room(struct http_request *r);

/* ---- receive.c: libmicrohttpd's callbacks ---- */
void *receive_target(void *loop, const char *target, struct MHD_Connection *mhd);
enum MHD_Result receive_request(void *loop, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *data_n, void **request);
void receive_completed(void *loop, struct MHD_Connection *mhd, void **request,
                       enum MHD_RequestTerminationCode code);

/* ---- reply.c ---- */
void reply_refuse(struct http_request *r, int status, const char *text);

/* ---- park.c ---- */
/* Calls on_wake if r is parked. Never from inside a handler: what is posted there is delivered when
 * the handler has returned, so a wake before the park finds it parked. */
void park_wake(struct http_request *r);
void park_deliver(struct http_loop *l);
void park_timers(struct http_loop *l);
void park_suspend_fresh(struct http_loop *l);
void park_wake_polls(struct http_loop *l);
/* At the end: connections of requests that nobody has answered are let go. */
void park_drop_all(struct http_loop *l);
void park_remove(struct http_request *r);

/* ---- conn.c ---- */
void conn_notify(void *loop, struct MHD_Connection *mhd, void **conn,
                 enum MHD_ConnectionNotificationCode code);
struct conn *conn_of(struct MHD_Connection *mhd);
/* The peer has until now + idle timeout + what n bytes take at the slowest rate. */
void conn_expect(struct conn *c, uint64_t n);
void conn_expect_nothing(struct conn *c);
void conn_deadlines(struct http_loop *l);
/* epoll says that the peer sends nothing more. */
void conn_peer_left(struct conn *c);
/* The request is over, or was answered: a peer that has left is looked at again. */
void conn_request_over(struct conn *c);
/* Ends the connections whose peers have left, once nothing can come of them. */
void conn_leave(struct http_loop *l);
void linger_ready(struct http_loop *l, struct lingerer *g);
void linger_end_all(struct http_loop *l);

/* ---- loop.c ---- */
enum err loop_open(struct http_loop *l, struct http_server *s, int listen_fd) MUST_USE;
enum err loop_start(struct http_loop *l) MUST_USE;
void loop_join(struct http_loop *l);
void loop_close(struct http_loop *l);

/* ---- listen.c ---- */
/* One listening socket for each of n loops, all on one port. */
enum err listen_open(const char *address, uint16_t port, int *fds, unsigned n,
                     uint16_t *port_out) MUST_USE;

#endif

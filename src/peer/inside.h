// SPDX-License-Identifier: Apache-2.0
/* What the files of this room share. Not for other rooms.
 *
 *   sign      what is signed, and how       listener  verifies requests, signs answers
 *   seen      nonces                        call      one call: its handle, headers, verdict
 *   peer      start and stop                client    the thread that makes the calls
 *   wire*     forms of what is carried */
#ifndef PEER_INSIDE_H
#define PEER_INSIDE_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "base/digest.h"
#include "base/lock.h"
#include "peer/peer.h"
#include "peer/seen.h"
#include "peer/sign.h"

/* Brokers must work with clocks that are an hour off either way, so two of them may be two apart.
 */
enum { PEER_WINDOW_MS = 2 * 60 * 60 * 1000 };

/* A route of the listener, as the room http knows it. */
struct peer_bound {
    struct peer *peer;
    const struct peer_route *route;
};

/* Lines about what others do wrong: one a second, so that nobody can fill the log from outside. */
struct peer_quiet {
    atomic_llong next_ms; /* boot time of the next one */
};

/* A call. From its post to its take-over guarded by client.lock, then owned by the client's thread.
 */
struct peer_call {
    struct peer *peer;
    uint32_t to;
    char *url;  /* owned; of the broker */
    char *path; /* owned */
    struct buf body;
    size_t body_sent;
    int64_t deadline_boot_ms;
    struct peer_call_done done;
    /* on the client's thread */
    CURL *easy; /* NULL: not begun */
    struct curl_slist *headers;
    struct sign_head head;
    struct buf answer;
    sign_text signature; /* of the answer; "" when it has none */
    TAILQ_ENTRY(peer_call) link;
};
TAILQ_HEAD(peer_calls, peer_call);

enum { CLIENT_SPARES_MAX = 64, CLIENT_CONNECTIONS_KEPT_MAX = 256 };

/* Draining: calls end with ERR_STOPPING as soon as they are posted. Handlers that still run may
 * post. */
enum client_phase { CLIENT_RUNNING, CLIENT_DRAINING, CLIENT_ENDING };

/* What is known of a broker that was called. */
struct peer_known {
    uint32_t broker;
    int64_t heard_boot_ms; /* the last verified answer; INT64_MIN: there was none */
    bool is_given_up;      /* its calls that are under way are to be ended */
};

struct peer_client {
    pthread_t thread;
    CURLM *multi; /* the client's thread's, but for curl_multi_wakeup */
    struct lock lock;
    /* guarded by lock */
    struct peer_calls posted;
    enum client_phase phase;
    struct peer_known *known; /* owned; as many as there are brokers, so they are looked through */
    size_t known_n, known_room;
    bool any_given_up;
    /* the client's thread's */
    struct peer_calls running;
    CURL *spares[CLIENT_SPARES_MAX]; /* handles of calls that are over, for the next ones */
    size_t spares_n;
    uint64_t process; /* of the nonces */
    uint64_t count;
};

struct peer {
    /* set at birth */
    uint32_t broker;
    char *cluster; /* owned */
    char *from;    /* owned; NULL: calls come from any address of ours */
    struct digest_hmac key;
    const struct clock *clock;
    struct peer_bound *bounds;      /* owned */
    struct http_route *http_routes; /* owned */
    struct http_server *server;     /* NULL: not started */
    struct peer_client client;
    struct lock seen_lock;
    struct seen seen; /* guarded by seen_lock */
    struct peer_quiet refusals, answers;
};

/* ---- peer.c ---- */
bool peer_may_note(struct peer *p, struct peer_quiet *q);

/* ---- listener.c ---- */
enum err listener_start(struct peer *p, const struct peer_options *o) MUST_USE;
void listener_stop(struct peer *p);
unsigned listener_sockets_max(void);

/* ---- client.c ---- */
enum err client_start(struct peer *p, uint64_t process) MUST_USE;
void client_drain(struct peer *p);
void client_stop(struct peer *p);
void client_heard(struct peer *p, uint32_t from);

/* ---- call.c ---- */
/* Makes ready and hands to curl. */
void call_begin(struct peer_call *c);
/* curl is done with it. */
void call_end(struct peer_call *c, CURLcode code);
/* Tells `done` and frees c. */
void call_finish(struct peer_call *c, enum err e, int status);

#endif

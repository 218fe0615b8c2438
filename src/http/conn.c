// SPDX-License-Identifier: Apache-2.0
/* Connections: how many, how long each may take, and how one ends without cutting off an answer.
 *
 * Deadlines replace libmicrohttpd's idle timeout, which starts anew with each byte and so lets a
 * client trickle for ever. A connection's deadline moves with its requests, its node in the heap
 * only when it fires: two stores a request instead of two heap operations. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "http/inside.h"

enum { LINGER_MS = 2000, LINGER_BYTES_MAX = 64 * 1024 * 1024 };

struct conn *conn_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    CHECK(info != NULL && info->socket_context != NULL);
    return info->socket_context;
}

static int64_t idle_ms(const struct http_loop *l)
{
    return (int64_t)l->server->options.idle_timeout_s * 1000;
}

void conn_expect(struct conn *c, uint64_t n)
{
    c->deadline_ms = c->loop->now_ms + idle_ms(c->loop) + (int64_t)(n / BYTES_PER_S_MIN) * 1000;
}

void conn_expect_nothing(struct conn *c)
{
    c->deadline_ms = INT64_MAX;
}

/* libmicrohttpd watches for edges, and takes a read that did not fill its buffer for the end of
 * what is there. An end of the stream that comes along with the last bytes is so never seen: the
 * connection would stay until its deadline. Nor does it watch a connection that is suspended. So
 * each connection is watched once more, for its peer's end alone. */
static void peer_watch(struct http_loop *l, struct conn *c)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = &c->source};
    /* When the kernel has no memory for it, the deadline still holds. */
    (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, c->fd, &event);
}

static struct conn *conn_new(struct http_loop *l, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    CHECK(info != NULL);
    struct conn *c = mem_new(sizeof *c);
    c->source = SOURCE_PEER;
    c->loop = l;
    c->mhd = mhd;
    c->fd = info->connect_fd;
    unsigned before = atomic_fetch_add_explicit(&l->server->connections, 1, memory_order_relaxed);
    c->excess = before >= l->server->options.connections_max;
    LIST_INSERT_HEAD(&l->conns, c, link);
    conn_expect(c, 0);
    c->due.key = c->deadline_ms;
    heap_put(&l->deadlines, &c->due);
    peer_watch(l, c);
    return c;
}

/* The client may still be sending, and a close now would make the kernel answer with a reset that
 * takes our last answer with it. The copied descriptor keeps the socket; libmicrohttpd has said FIN
 * already. */
static void linger_begin(struct http_loop *l, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return;
    struct lingerer *g = mem_new(sizeof *g);
    g->source = SOURCE_LINGER;
    g->fd = copy;
    g->left = LINGER_BYTES_MAX;
    g->until.key = l->now_ms + LINGER_MS;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = &g->source};
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, copy, &event) != 0) {
        close(copy);
        mem_free(g);
        return;
    }
    heap_put(&l->lingering, &g->until);
    LIST_INSERT_HEAD(&l->lingers, g, link);
}

static void linger_end(struct http_loop *l, struct lingerer *g)
{
    heap_remove(&l->lingering, &g->until);
    LIST_REMOVE(g, link);
    /* close alone is not enough: who looks at our descriptors through /proc holds the socket for a
     * moment, and epoll would still tell of it, with a pointer to g. */
    (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, g->fd, NULL);
    close(g->fd);
    mem_free(g);
}

void linger_ready(struct http_loop *l, struct lingerer *g)
{
    char sink[16 * 1024];
    ssize_t n = recv(g->fd, sink, sizeof sink, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || (size_t)n >= g->left)
        linger_end(l, g);
    else
        g->left -= (size_t)n;
}

void linger_end_all(struct http_loop *l)
{
    while (!LIST_EMPTY(&l->lingers))
        linger_end(l, LIST_FIRST(&l->lingers));
}

static void conn_free(struct http_loop *l, struct conn *c)
{
    /* A lingering copy of the descriptor would keep it watched, with a pointer to c. */
    (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
    if (c->leaving)
        LIST_REMOVE(c, leave);
    if (c->linger && !l->ending && l->lingering.n < l->server->lingers_max)
        linger_begin(l, c->fd);
    heap_remove(&l->deadlines, &c->due);
    LIST_REMOVE(c, link);
    atomic_fetch_sub_explicit(&l->server->connections, 1, memory_order_relaxed);
    /* At its limit, or without descriptors, libmicrohttpd stops listening, and takes it up again
     * only when it is run after a connection has gone. */
    l->again = true;
    mem_free(c);
}

void conn_notify(void *loop, struct MHD_Connection *mhd, void **conn,
                 enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *conn = conn_new(loop, mhd);
    else
        conn_free(loop, *conn);
}

/* libmicrohttpd has no call to close a connection; it sees the end of the stream. */
static void conn_end(struct http_loop *l, struct conn *c)
{
    shutdown(c->fd, SHUT_RDWR);
    l->again = true;
}

void conn_request_over(struct conn *c)
{
    if (!c->left || c->leaving)
        return;
    c->leaving = true;
    LIST_INSERT_HEAD(&c->loop->leaving, c, leave);
}

void conn_peer_left(struct conn *c)
{
    struct http_request *r = c->request;
    c->left = true;
    conn_request_over(c);
    if (r != NULL && r->state == REQUEST_PARKED && r->poll)
        http_wake(r); /* it asks whether its peer is there, and ends */
}

/* Whether a request of this connection is being handled or answered; its end comes here again. */
static bool busy(const struct conn *c)
{
    return c->request != NULL && c->request->state != REQUEST_READING;
}

void conn_leave(struct http_loop *l)
{
    struct conn *c, *next;
    char byte;
    for (c = LIST_FIRST(&l->leaving); c != NULL; c = next) {
        next = LIST_NEXT(c, leave);
        bool done = !busy(c) && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
        if (!done && !busy(c))
            continue; /* libmicrohttpd has not read all of it */
        c->leaving = false;
        LIST_REMOVE(c, leave);
        if (done)
            conn_end(l, c);
    }
}

static void conn_due(struct http_loop *l, struct conn *c)
{
    int64_t next = l->now_ms + idle_ms(l);
    if (c->deadline_ms <= l->now_ms) {
        conn_end(l, c);
    } else if (c->deadline_ms < next) {
        next = c->deadline_ms;
    }
    heap_rekey(&l->deadlines, &c->due, next);
}

void conn_deadlines(struct http_loop *l)
{
    struct heap_node *first;
    while ((first = heap_first(&l->deadlines)) != NULL && first->key <= l->now_ms)
        conn_due(l, CONTAINER_OF(first, struct conn, due));
    while ((first = heap_first(&l->lingering)) != NULL && first->key <= l->now_ms)
        linger_end(l, CONTAINER_OF(first, struct lingerer, until));
}

// SPDX-License-Identifier: Apache-2.0
#include "bench/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { READ_BYTES = 16 << 10 };

static void watch(const struct bench_connection *c, int epoll, int operation, uint32_t events,
                  void *self)
{
    struct epoll_event event = {.events = events, .data.ptr = self};
    CHECK(epoll_ctl(epoll, operation, c->fd, &event) == 0);
}

enum err bench_connection_open(struct bench_connection *c, const struct bench_address *to,
                               int epoll, void *self, const char **why)
{
    int on = 1;
    CHECK(c->state == BENCH_CONNECTION_CLOSED);
    buf_clear(&c->out);
    c->out_at = 0;
    c->fd = socket(to->at[0].ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0) {
        *why = errno == EMFILE || errno == ENFILE
                   ? "too many open files: fewer --connections, or a higher ulimit -n"
                   : "the system gives no socket";
        return ERR_REFUSED;
    }
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(c->fd, (const struct sockaddr *)&to->at[0], to->at_bytes[0]) != 0 &&
        errno != EINPROGRESS) {
        *why = errno == EADDRNOTAVAIL ? "no free port is left to connect from" : "cannot connect";
        (void)close(c->fd);
        return ERR_REFUSED;
    }
    c->state = BENCH_CONNECTION_OPENING;
    c->epoll = epoll;
    watch(c, epoll, EPOLL_CTL_ADD, EPOLLOUT, self);
    return ERR_OK;
}

void bench_connection_close(struct bench_connection *c)
{
    if (c->state != BENCH_CONNECTION_CLOSED) {
        /* close alone leaves it watched while /proc is read, see http/conn.c */
        (void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->fd, NULL);
        (void)close(c->fd);
    }
    c->state = BENCH_CONNECTION_CLOSED;
}

void bench_connection_fini(struct bench_connection *c)
{
    bench_connection_close(c);
    buf_fini(&c->out);
    buf_fini(&c->in);
}

static enum bench_connection_event broken(struct bench_connection *c, const char *what,
                                          const char **why)
{
    bench_connection_close(c);
    *why = what;
    return BENCH_CONNECTION_BROKEN;
}

void bench_connection_send(struct bench_connection *c, int epoll, void *self, struct bytes request)
{
    CHECK(c->state == BENCH_CONNECTION_IDLE);
    buf_clear(&c->in);
    c->head_known = false;
    c->state = BENCH_CONNECTION_WAITING;
    ssize_t sent = send(c->fd, request.at, request.n, MSG_NOSIGNAL);
    size_t taken = sent < 0 ? 0 : (size_t)sent;
    if (taken == request.n)
        return;
    buf_clear(&c->out);
    buf_put(&c->out, (const char *)request.at + taken, request.n - taken);
    c->out_at = 0;
    watch(c, epoll, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT, self);
}

/* False: the connection is lost. */
static bool send_rest(struct bench_connection *c, int epoll, void *self)
{
    if (c->out_at == c->out.n)
        return true;
    ssize_t sent = send(c->fd, c->out.at + c->out_at, c->out.n - c->out_at, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    c->out_at += (size_t)sent;
    if (c->out_at == c->out.n) {
        watch(c, epoll, EPOLL_CTL_MOD, EPOLLIN, self);
        buf_fini(&c->out); /* rare and perhaps long: not kept for each connection */
        c->out_at = 0;
    }
    return true;
}

static enum bench_connection_event opened(struct bench_connection *c, int epoll, void *self,
                                          const char **why)
{
    int error = 0;
    socklen_t n = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0 || error != 0)
        return broken(c, error == ECONNREFUSED ? "connection refused" : "cannot connect", why);
    watch(c, epoll, EPOLL_CTL_MOD, EPOLLIN, self);
    c->state = BENCH_CONNECTION_IDLE;
    return BENCH_CONNECTION_OPENED;
}

enum bench_connection_event bench_connection_ready(struct bench_connection *c, int epoll,
                                                   void *self, size_t body_bytes_max,
                                                   const char **why)
{
    if (c->state == BENCH_CONNECTION_OPENING)
        return opened(c, epoll, self, why);
    if (!send_rest(c, epoll, self))
        return broken(c, "connection lost", why);
    size_t whole = c->head_known ? c->answer.head_bytes + c->answer.body_bytes : 0;
    buf_reserve(&c->in, whole > c->in.n + READ_BYTES ? whole - c->in.n : READ_BYTES);
    ssize_t got = recv(c->fd, c->in.at + c->in.n, c->in.room - c->in.n, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return BENCH_CONNECTION_NOTHING;
    if (got <= 0)
        return broken(c, got == 0 ? "connection closed" : "connection lost", why);
    if (c->state != BENCH_CONNECTION_WAITING)
        return broken(c, "bytes that nobody asked for", why);
    c->in.n += (size_t)got;
    if (!c->head_known) {
        enum err e = bench_answer_read(buf_bytes(&c->in), body_bytes_max, &c->answer, why);
        if (e == ERR_NEED)
            return BENCH_CONNECTION_NOTHING;
        if (e != ERR_OK) {
            bench_connection_close(c);
            return BENCH_CONNECTION_UNREADABLE;
        }
        c->head_known = true;
        whole = c->answer.head_bytes + c->answer.body_bytes;
    }
    if (c->in.n < whole)
        return BENCH_CONNECTION_NOTHING;
    if (c->in.n > whole)
        return broken(c, "bytes that nobody asked for", why);
    /* Refused before it was all sent: what is left of it must not go before the next. */
    if (c->out_at < c->out.n)
        c->answer.closes = true;
    c->state = BENCH_CONNECTION_IDLE;
    return BENCH_CONNECTION_ANSWERED;
}

struct bytes bench_connection_body(const struct bench_connection *c)
{
    CHECK(c->head_known && c->in.n == c->answer.head_bytes + c->answer.body_bytes);
    return (struct bytes){c->in.at + c->answer.head_bytes, c->answer.body_bytes};
}

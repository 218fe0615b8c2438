// SPDX-License-Identifier: Apache-2.0
#include "http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

/* A signal, as of a fuzzer's timer, leaves it going on by itself. */
static bool connect_whole(int fd, const struct sockaddr *to, socklen_t n)
{
    if (connect(fd, to, n) == 0)
        return true;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t error_n = sizeof error;
    if (errno != EINTR)
        return false;
    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        ;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_n) == 0 && error == 0;
}

static struct http_client client_connect(const struct sockaddr *to, socklen_t n)
{
    int on = 1;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(fd >= 0, "socket");
    need(connect_whole(fd, to, n), "connect");
    need(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    return (struct http_client){.fd = fd};
}

struct http_client http_client_open(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return client_connect((const struct sockaddr *)&a, sizeof a);
}

struct http_client http_client_open_v6(uint16_t port)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    a.sin6_addr = in6addr_loopback;
    return client_connect((const struct sockaddr *)&a, sizeof a);
}

void http_client_close(struct http_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->at);
    *c = (struct http_client){.fd = -1};
}

void http_client_reset(struct http_client *c)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    need(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0, "SO_LINGER");
    http_client_close(c);
}

static bool wait_for(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    return poll(&p, 1, HTTP_CLIENT_WAIT_MS) == 1;
}

bool http_client_send(struct http_client *c, const void *at, size_t n)
{
    const char *from = at;
    while (n > 0) {
        ssize_t done = send(c->fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno == EAGAIN && wait_for(c->fd, POLLOUT))
            continue;
        if (done <= 0)
            return false;
        from += done;
        n -= (size_t)done;
    }
    return true;
}

bool http_client_text(struct http_client *c, const char *text)
{
    return http_client_send(c, text, strlen(text));
}

/* One read more; false at the end of the stream, on a reset, or when it takes too long. */
static bool more(struct http_client *c)
{
    if (c->room - c->n < 65537) {
        c->room = c->room * 2 + 131072;
        c->at = realloc(c->at, c->room);
        need(c->at != NULL, "realloc");
    }
    if (!wait_for(c->fd, POLLIN))
        return false;
    ssize_t n = recv(c->fd, c->at + c->n, c->room - c->n - 1, 0);
    if (n <= 0)
        return false;
    c->n += (size_t)n;
    return true;
}

static char *take(struct http_client *c, size_t n)
{
    char *out = malloc(n + 1);
    need(out != NULL, "malloc");
    if (n > 0)
        memcpy(out, c->at, n);
    out[n] = '\0';
    c->n -= n;
    if (c->n > 0)
        memmove(c->at, c->at + n, c->n);
    return out;
}

/* Bytes up to and with the empty line, or 0. */
static size_t head_end(const struct http_client *c)
{
    for (size_t i = 0; i + 4 <= c->n; i++)
        if (memcmp(c->at + i, "\r\n\r\n", 4) == 0)
            return i + 4;
    return 0;
}

bool http_client_answer(struct http_client *c, bool no_body, struct http_answer *out)
{
    char text[32];
    size_t n;
    while ((n = head_end(c)) == 0)
        if (!more(c))
            return false;
    struct http_answer a = {.head = take(c, n)};
    if (sscanf(a.head, "HTTP/1.%*d %d", &a.status) != 1)
        a.status = -1;
    size_t body_n = strtoul(http_answer_header(&a, "Content-Length", text, sizeof text), NULL, 10);
    if (no_body || a.status < 200 || a.status == 204)
        body_n = 0;
    while (c->n < body_n)
        if (!more(c)) {
            free(a.head);
            return false;
        }
    a.body = take(c, body_n);
    a.body_n = body_n;
    *out = a;
    return true;
}

void http_answer_free(struct http_answer *a)
{
    free(a->head);
    free(a->body);
    *a = (struct http_answer){0};
}

const char *http_answer_header(const struct http_answer *a, const char *name, char *out, size_t n)
{
    size_t name_n = strlen(name);
    out[0] = '\0';
    for (const char *p = strstr(a->head, "\r\n"); p != NULL; p = strstr(p, "\r\n")) {
        p += 2;
        if (strncasecmp(p, name, name_n) != 0 || p[name_n] != ':')
            continue;
        p += name_n + 1;
        p += strspn(p, " ");
        snprintf(out, n, "%.*s", (int)strcspn(p, "\r"), p);
        break;
    }
    return out;
}

bool http_client_at_end(struct http_client *c)
{
    char byte;
    if (c->n > 0 || !wait_for(c->fd, POLLIN))
        return false;
    return recv(c->fd, &byte, 1, 0) <= 0;
}

bool http_client_ends(struct http_client *c)
{
    char sink[4096];
    while (wait_for(c->fd, POLLIN))
        if (recv(c->fd, sink, sizeof sink, 0) <= 0)
            return true;
    return false;
}

int http_client_ask(struct http_client *c, const char *text)
{
    struct http_answer a;
    if (!http_client_text(c, text) || !http_client_answer(c, strncmp(text, "HEAD ", 5) == 0, &a))
        return 0;
    int status = a.status;
    http_answer_free(&a);
    return status;
}

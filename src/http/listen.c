// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/note.h"
#include "http/inside.h"

enum { BACKLOG = 4096 };

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t n;
};

static enum err address_parse(const char *text, uint16_t port, struct address *out)
{
    char plain[INET6_ADDRSTRLEN + 2];
    size_t n = strlen(text);
    bool bracketed = n >= 2 && text[0] == '[' && text[n - 1] == ']';
    if (bracketed) {
        text++;
        n -= 2;
    }
    if (n == 0 || n >= sizeof plain)
        return ERR_INVALID;
    memcpy(plain, text, n);
    plain[n] = '\0';
    struct address a;
    memset(&a, 0, sizeof a);
    if (!bracketed && inet_pton(AF_INET, plain, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons(port);
        a.n = sizeof a.v4;
    } else if (inet_pton(AF_INET6, plain, &a.v6.sin6_addr) == 1) {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons(port);
        a.n = sizeof a.v6;
    } else {
        return ERR_INVALID;
    }
    *out = a;
    return ERR_OK;
}

static enum err err_of_errno(int e)
{
    switch (e) {
    case EADDRINUSE:
        return ERR_IN_USE;
    case EACCES:
    case EPERM:
        return ERR_PERMISSION;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        return ERR_INVALID;
    default:
        return ERR_IO;
    }
}

static uint16_t port_of(int fd)
{
    struct address a = {.n = sizeof a.v6};
    if (getsockname(fd, &a.any, &a.n) != 0)
        return 0;
    return ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
}

static void port_set(struct address *a, uint16_t port)
{
    if (a->any.sa_family == AF_INET)
        a->v4.sin_port = htons(port);
    else
        a->v6.sin6_port = htons(port);
}

/* Bytes in the kernel count as written, and a client that goes then costs whoever sent them what
 * they hold: leases, in our case. So of a large answer only this much beyond what the network takes
 * may lie there; without it the send buffer of a connection grows to megabytes. Accepted sockets
 * inherit it. A kernel that doesn't know it does no harm. */
static void unsent_bound(int fd)
{
    int unsent_bytes_max = 64 * 1024;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes_max,
                     sizeof unsent_bytes_max);
}

static enum err socket_bind(const struct address *a, bool shared, int *out)
{
    int on = 1;
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_of_errno(errno);
    bool ok = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
    if (ok && shared)
        ok = setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0;
    if (ok)
        ok = bind(fd, &a->any, a->n) == 0 && listen(fd, BACKLOG) == 0;
    if (!ok) {
        int e = errno;
        close(fd);
        return err_of_errno(e);
    }
    unsent_bound(fd);
    *out = fd;
    return ERR_OK;
}

enum err listen_open(const char *address, uint16_t port, int *fds, unsigned n, uint16_t *port_out)
{
    struct address a;
    enum err e = address_parse(address, port, &a);
    if (e != ERR_OK)
        return e;
    /* The first socket does not share its port, so that a port in use is seen even where another
     * process of ours shares it among its loops. */
    int alone;
    e = socket_bind(&a, false, &alone);
    if (e != ERR_OK)
        return e;
    *port_out = port_of(alone);
    if (n == 1) {
        fds[0] = alone;
        return ERR_OK;
    }
    port_set(&a, *port_out);
    close(alone);
    for (unsigned i = 0; i < n; i++) {
        e = socket_bind(&a, true, &fds[i]);
        if (e != ERR_OK) {
            while (i > 0)
                close(fds[--i]);
            return e;
        }
    }
    return ERR_OK;
}

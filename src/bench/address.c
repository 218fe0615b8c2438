// SPDX-License-Identifier: Apache-2.0
#include "bench/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <unistd.h>

static bool is_loopback(const struct sockaddr *at)
{
    if (at->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)at;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *v6 = (const void *)at;
    if (at->sa_family != AF_INET6)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == 127);
}

/* Splits HOST[:PORT]; false when it is neither. */
static bool split(const char *text, char host[256], char port[6])
{
    size_t n = strlen(text), host_n;
    const char *rest;
    if (n > 0 && text[n - 1] == '/')
        n--;
    if (text[0] == '[') {
        const char *close = memchr(text, ']', n);
        if (close == NULL)
            return false;
        text++;
        n--;
        host_n = (size_t)(close - text);
        rest = close + 1;
    } else {
        host_n = strcspn(text, ":/?#@");
        host_n = host_n < n ? host_n : n;
        rest = text + host_n;
    }
    size_t rest_n = (size_t)(text + n - rest);
    if (host_n == 0 || host_n > 255)
        return false;
    (void)snprintf(host, 256, "%.*s", (int)host_n, text);
    (void)snprintf(port, 6, "80");
    if (rest_n == 0)
        return true;
    if (rest[0] != ':' || rest_n < 2 || rest_n > 6 || strspn(rest + 1, "0123456789") < rest_n - 1)
        return false;
    (void)snprintf(port, 6, "%.*s", (int)rest_n - 1, rest + 1);
    return true;
}

enum err bench_address_of(const char *url, struct bench_address *out, const char **why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    char host[256], port[6];
    if (strncasecmp(url, "https:", 6) == 0) {
        *why = "it speaks no TLS: give the address of the broker itself, http://HOST:PORT";
        return ERR_INVALID;
    }
    if (strncasecmp(url, "http://", 7) != 0 || !split(url + 7, host, port)) {
        *why = "the broker's address must be http://HOST:PORT, with nothing behind it";
        return ERR_INVALID;
    }
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        *why = "the broker's address is not known here: is the name or the port misspelt?";
        return ERR_NOT_FOUND;
    }
    struct bench_address a = {.loopback = true};
    for (const struct addrinfo *f = found; f != NULL && a.n < BENCH_ADDRESSES_MAX; f = f->ai_next) {
        memcpy(&a.at[a.n], f->ai_addr, f->ai_addrlen);
        a.at_bytes[a.n++] = f->ai_addrlen;
        a.loopback = a.loopback && is_loopback(f->ai_addr);
    }
    freeaddrinfo(found);
    bool v6 = strchr(host, ':') != NULL;
    (void)snprintf(a.host, sizeof a.host, "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
    *out = a;
    return ERR_OK;
}

enum err bench_address_choose(struct bench_address *a)
{
    for (size_t i = 0; i < a->n; i++) {
        struct timeval limit = {.tv_sec = 5}; /* of connect too, on Linux: socket(7) */
        int fd = socket(a->at[i].ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        bool there = setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
                     connect(fd, (const struct sockaddr *)&a->at[i], a->at_bytes[i]) == 0;
        (void)close(fd);
        if (there) {
            a->at[0] = a->at[i];
            a->at_bytes[0] = a->at_bytes[i];
            return ERR_OK;
        }
    }
    return ERR_REFUSED;
}

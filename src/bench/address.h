// SPDX-License-Identifier: Apache-2.0
/* Where the broker is: an http:// URL, looked up once. */
#ifndef BENCH_ADDRESS_H
#define BENCH_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/err.h"

enum { BENCH_ADDRESSES_MAX = 4 };

struct bench_address {
    struct sockaddr_storage at[BENCH_ADDRESSES_MAX];
    socklen_t at_bytes[BENCH_ADDRESSES_MAX];
    size_t n;       /* a name may have several; the first is the one to use */
    bool loopback;  /* all of them are */
    char host[272]; /* of the Host header: name or address, and the port */
};

/* `url` is http://HOST[:PORT], with or without a slash behind it; an IPv6 address stands in
 * brackets. ERR_INVALID, ERR_NOT_FOUND: *why says what to do. Blocks while a name is looked up. */
MUST_USE enum err bench_address_of(const char *url, struct bench_address *out, const char **why);
/* Puts that address first which takes a connection, since "localhost" is often two of which a
 * broker has one. Blocks for up to 5 s an address. ERR_REFUSED: none does. */
MUST_USE enum err bench_address_choose(struct bench_address *a);

#endif

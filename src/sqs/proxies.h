// SPDX-License-Identifier: Apache-2.0
/* Which peers are proxies whose word counts: only they may say with X-Forwarded-* how their client
 * reached them. Pure. */
#ifndef SQS_PROXIES_H
#define SQS_PROXIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/check.h"

enum { SQS_PROXIES_MAX = 64 };

struct sqs_network {
    bool v6;
    unsigned bits; /* of the address that must be equal */
    uint8_t address[16];
};

struct sqs_proxies {
    size_t n;
    struct sqs_network at[SQS_PROXIES_MAX];
};

/* Addresses and networks with commas between: "127.0.0.1, 10.0.0.0/8, fd00::/8". Empty: none.
 * False: *wrong is the part that is neither, or one too many. */
bool sqs_proxies_read(const char *text, struct sqs_proxies *out, struct bytes *wrong) MUST_USE;
/* `address` as http_peer_address gives it. */
bool sqs_proxies_hold(const struct sqs_proxies *p, const char *address);

#endif

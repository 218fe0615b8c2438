// SPDX-License-Identifier: Apache-2.0
/* What is signed, and how (WIRE.md). Not for other rooms. */
#ifndef PEER_SIGN_H
#define PEER_SIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/digest.h"

#define SIGN_PEER_HEADER "X-Leaselog-Peer"
#define SIGN_SIGNATURE_HEADER "X-Leaselog-Signature"

/* Names one call of one process: the same is never used twice. */
struct sign_nonce {
    uint64_t process;
    uint64_t count; /* from 1 */
};

/* The header X-Leaselog-Peer. */
struct sign_head {
    uint32_t version;
    uint32_t from, to;
    int64_t wall_ms;
    struct sign_nonce nonce;
    struct bytes cluster; /* lent from what it was parsed from */
};

enum sign_parsed { SIGN_PARSED, SIGN_MALFORMED, SIGN_OTHER_VERSION };

/* SIGN_OTHER_VERSION: only out->version is written, as no more is known of its form. */
enum sign_parsed sign_head_parse(struct bytes text, struct sign_head *out);
void sign_head_put(struct buf *out, const struct sign_head *h);
bool sign_cluster_ok(struct bytes cluster);

typedef char sign_text[DIGEST_SHA256_HEX_ROOM];

void sign_request(const struct digest_hmac *key, const struct sign_head *h, struct bytes path,
                  struct bytes body, sign_text out);
/* `h` is the request's. */
void sign_answer(const struct digest_hmac *key, const struct sign_head *h, int status,
                 struct bytes body, sign_text out);

#endif

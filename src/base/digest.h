// SPDX-License-Identifier: Apache-2.0
/* Digests and message authentication. MD5 is here only because SQS answers with it. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    DIGEST_MD5_BYTES = 16,
    DIGEST_MD5_HEX_ROOM = 33, /* with the NUL */
    DIGEST_SHA256_BYTES = 32,
    DIGEST_SHA256_HEX_ROOM = 65 /* with the NUL */
};

void digest_md5(struct bytes data, unsigned char out[DIGEST_MD5_BYTES]);
/* Lower case, NUL-terminated. */
void digest_md5_hex(struct bytes data, char out[DIGEST_MD5_HEX_ROOM]);
void digest_sha256(struct bytes data, unsigned char out[DIGEST_SHA256_BYTES]);
void digest_sha256_hex(struct bytes data, char out[DIGEST_SHA256_HEX_ROOM]);

/* A key of HMAC-SHA256 (RFC 2104) with its two blocks hashed already, which saves half of the work
 * on short data. Read-only after digest_hmac_init: threads may share it. Holds a secret. */
struct digest_hmac {
    uint64_t state[48]; /* nettle's, kept out of this header */
};

void digest_hmac_init(struct digest_hmac *key, struct bytes secret);
/* Wipes the secret. */
void digest_hmac_fini(struct digest_hmac *key);
void digest_hmac_sha256(const struct digest_hmac *key, struct bytes data,
                        unsigned char out[DIGEST_SHA256_BYTES]);

/* Whether two secrets are equal, in a time that tells nothing of where they differ (their lengths
 * are no secret). */
bool digest_equal(struct bytes a, struct bytes b);

#endif

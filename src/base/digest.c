// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <string.h>

#include "base/codec.h"

_Static_assert(sizeof(struct hmac_sha256_ctx) <= sizeof(struct digest_hmac),
               "struct digest_hmac must hold nettle's key");
_Static_assert(_Alignof(struct hmac_sha256_ctx) <= _Alignof(struct digest_hmac),
               "struct digest_hmac must be aligned for nettle's key");
_Static_assert(MD5_DIGEST_SIZE == DIGEST_MD5_BYTES && SHA256_DIGEST_SIZE == DIGEST_SHA256_BYTES,
               "the sizes of nettle's digests");

void digest_md5(struct bytes data, unsigned char out[DIGEST_MD5_BYTES])
{
    struct md5_ctx context;
    md5_init(&context);
    md5_update(&context, data.n, data.at);
    md5_digest(&context, DIGEST_MD5_BYTES, out);
}

void digest_md5_hex(struct bytes data, char out[DIGEST_MD5_HEX_ROOM])
{
    unsigned char raw[DIGEST_MD5_BYTES];
    digest_md5(data, raw);
    codec_hex_text((struct bytes){raw, sizeof raw}, out);
}

void digest_sha256(struct bytes data, unsigned char out[DIGEST_SHA256_BYTES])
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, data.n, data.at);
    sha256_digest(&context, DIGEST_SHA256_BYTES, out);
}

void digest_sha256_hex(struct bytes data, char out[DIGEST_SHA256_HEX_ROOM])
{
    unsigned char raw[DIGEST_SHA256_BYTES];
    digest_sha256(data, raw);
    codec_hex_text((struct bytes){raw, sizeof raw}, out);
}

void digest_hmac_init(struct digest_hmac *key, struct bytes secret)
{
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, secret.n, secret.at);
    memcpy(key->state, &context, sizeof context);
    explicit_bzero(&context, sizeof context);
}

void digest_hmac_fini(struct digest_hmac *key)
{
    explicit_bzero(key, sizeof *key);
}

void digest_hmac_sha256(const struct digest_hmac *key, struct bytes data,
                        unsigned char out[DIGEST_SHA256_BYTES])
{
    struct hmac_sha256_ctx context; /* a copy, so that threads may share the key */
    memcpy(&context, key->state, sizeof context);
    hmac_sha256_update(&context, data.n, data.at);
    hmac_sha256_digest(&context, DIGEST_SHA256_BYTES, out);
    explicit_bzero(&context, sizeof context);
}

bool digest_equal(struct bytes a, struct bytes b)
{
    return a.n == b.n && (a.n == 0 || memeql_sec(a.at, b.at, a.n) != 0);
}

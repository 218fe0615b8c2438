// SPDX-License-Identifier: Apache-2.0
/* Receipts as text: base64url without padding (RFC 4648, section 5) of
 *
 *   version 1 | topic id 16 | partition u32 | gid u32 | generation u64 | number u64 |
 *   lease epoch u64 | lease counter u64 | the first 16 bytes of HMAC-SHA256 over all before
 *
 * little-endian, 73 bytes, 98 characters. A change of the secret keeps receipts of the one before
 * valid. */
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "queue/state.h"

enum {
    RECEIPT_VERSION = 1,
    RECEIPT_PLAIN_BYTES = 1 + 16 + 4 + 4 + 8 + 8 + 8 + 8,
    RECEIPT_MAC_BYTES = 16,
    RECEIPT_BYTES = RECEIPT_PLAIN_BYTES + RECEIPT_MAC_BYTES,
    RECEIPT_CHARS = (RECEIPT_BYTES * 4 + 2) / 3,
};
_Static_assert((int)RECEIPT_CHARS <= (int)QUEUE_RECEIPT_TEXT_MAX, "a receipt fits into its text");

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void text_encode(const uint8_t *at, char *out)
{
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < RECEIPT_BYTES; i++) {
        bits = bits << 8 | at[i];
        for (held += 8; held >= 6; held -= 6)
            *out++ = alphabet[bits >> (held - 6) & 63];
    }
    if (held > 0)
        *out++ = alphabet[bits << (6 - held) & 63];
    *out = 0;
}

/* Of a character of the alphabet; -1: it is none. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

static bool text_decode(struct bytes text, uint8_t *out)
{
    const char *at = text.at;
    uint32_t bits = 0;
    int held = 0;
    if (text.n != RECEIPT_CHARS)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        int value = value_of(at[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *out++ = (uint8_t)(bits >> held);
        }
    }
    return (bits & ((1u << held) - 1)) == 0; /* one text a receipt */
}

static void mac(const struct digest_hmac *key, const uint8_t *at, uint8_t out[DIGEST_SHA256_BYTES])
{
    digest_hmac_sha256(key, (struct bytes){at, RECEIPT_PLAIN_BYTES}, out);
}

void receipt_write(const struct queue *q, const struct receipt *r,
                   char out[QUEUE_RECEIPT_TEXT_MAX + 1])
{
    uint8_t at[RECEIPT_BYTES], whole[DIGEST_SHA256_BYTES];
    at[0] = RECEIPT_VERSION;
    memcpy(at + 1, r->topic.at, 16);
    le_store_u32(at + 17, r->partition);
    le_store_u32(at + 21, r->lease.gid);
    le_store_u64(at + 25, r->lease.generation);
    le_store_u64(at + 33, r->lease.number);
    le_store_u64(at + 41, r->lease.id.epoch);
    le_store_u64(at + 49, r->lease.id.counter);
    mac(&q->receipt_key, at, whole);
    memcpy(at + RECEIPT_PLAIN_BYTES, whole, RECEIPT_MAC_BYTES);
    text_encode(at, out);
}

static bool is_signed(const struct digest_hmac *key, const uint8_t *at)
{
    uint8_t whole[DIGEST_SHA256_BYTES];
    mac(key, at, whole);
    return digest_equal((struct bytes){at + RECEIPT_PLAIN_BYTES, RECEIPT_MAC_BYTES},
                        (struct bytes){whole, RECEIPT_MAC_BYTES});
}

enum err receipt_read(const struct queue *q, struct bytes text, struct receipt *out)
{
    uint8_t at[RECEIPT_BYTES];
    if (!text_decode(text, at) || at[0] != RECEIPT_VERSION)
        return ERR_INVALID;
    if (!is_signed(&q->receipt_key, at) && !is_signed(&q->receipt_key_previous, at))
        return ERR_INVALID;
    memcpy(out->topic.at, at + 1, 16);
    out->partition = le_load_u32(at + 17);
    out->lease = (struct partition_receipt){
        .gid = le_load_u32(at + 21),
        .generation = le_load_u64(at + 25),
        .number = le_load_u64(at + 33),
        .id = {le_load_u64(at + 41), le_load_u64(at + 49)},
    };
    return ERR_OK;
}

// SPDX-License-Identifier: Apache-2.0
/* Receipts as text: base64url without padding (RFC 4648, section 5) of
 *
 *   version 2 | topic id 16 | partition u16 | gid u32 | generation u64 | number u64 |
 *   lease epoch u64 | lease counter u64 | the first 16 bytes of HMAC-SHA256 over all before
 *
 * little-endian, 71 bytes, 95 characters. What is authenticated fits into one block of SHA-256, so
 * with a prepared key that costs two compressions. Version 1 has a u32 for the partition, so 73
 * bytes and 98 characters, and is still taken. A change of the secret keeps receipts of the one
 * before valid. */
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "queue/state.h"

enum {
    VERSION = 2,
    PLAIN_BYTES = 1 + 16 + 2 + 4 + 8 + 8 + 8 + 8,
    MAC_BYTES = 16,
    BYTES = PLAIN_BYTES + MAC_BYTES,
    CHARS = (BYTES * 4 + 2) / 3,
    OLD_VERSION = 1,
    OLD_BYTES = BYTES + 2,
    OLD_CHARS = (OLD_BYTES * 4 + 2) / 3,
    SHA256_BLOCK_BYTES = 64,
    SHA256_PADDING_MIN = 9,
};
_Static_assert((int)CHARS <= (int)QUEUE_RECEIPT_TEXT_MAX, "a receipt fits into its text");
_Static_assert((int)PLAIN_BYTES + (int)SHA256_PADDING_MIN <= (int)SHA256_BLOCK_BYTES,
               "what is authenticated fits into a block");
_Static_assert((int)TOPIC_PARTITIONS_MAX <= UINT16_MAX, "a partition fits into its place");

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void text_encode(const uint8_t at[BYTES], char out[CHARS + 1])
{
    uint32_t bits;
    size_t i = 0;
    for (; i + 3 <= BYTES; i += 3) {
        bits = (uint32_t)at[i] << 16 | (uint32_t)at[i + 1] << 8 | at[i + 2];
        *out++ = alphabet[bits >> 18];
        *out++ = alphabet[bits >> 12 & 63];
        *out++ = alphabet[bits >> 6 & 63];
        *out++ = alphabet[bits & 63];
    }
    _Static_assert(BYTES % 3 == 2, "two bytes are left");
    bits = (uint32_t)at[i] << 8 | at[i + 1];
    *out++ = alphabet[bits >> 10];
    *out++ = alphabet[bits >> 4 & 63];
    *out++ = alphabet[bits << 2 & 63];
    *out = 0;
}

enum { NONE = 0x80 }; /* a character that stands for no value */

/* By ASCII code. */
static const uint8_t values[128] = {
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 62,   NONE, NONE,
    52,   53,   54,   55,   56,   57,   58,   59,   60,   61,   NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, 0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,
    15,   16,   17,   18,   19,   20,   21,   22,   23,   24,   25,   NONE, NONE, NONE, NONE, 63,
    NONE, 26,   27,   28,   29,   30,   31,   32,   33,   34,   35,   36,   37,   38,   39,   40,
    41,   42,   43,   44,   45,   46,   47,   48,   49,   50,   51,   NONE, NONE, NONE, NONE, NONE,
};

static uint32_t value_of(unsigned char c)
{
    return values[c & 127] | (c & NONE);
}

/* `out` has room for what so many characters hold. */
static bool text_decode(struct bytes text, uint8_t *out)
{
    const unsigned char *at = text.at;
    uint32_t all = 0, bits = 0;
    size_t left = text.n;
    for (; left >= 4; left -= 4, at += 4) {
        uint32_t a = value_of(at[0]), b = value_of(at[1]), c = value_of(at[2]), d = value_of(at[3]);
        all |= a | b | c | d;
        bits = a << 18 | b << 12 | c << 6 | d;
        *out++ = (uint8_t)(bits >> 16);
        *out++ = (uint8_t)(bits >> 8);
        *out++ = (uint8_t)bits;
    }
    int spare = 6 * (int)left; /* bits that no byte has yet */
    bits = 0;
    for (size_t i = 0; i < left; i++) {
        uint32_t value = value_of(at[i]);
        all |= value;
        bits = bits << 6 | value;
    }
    for (; spare >= 8; spare -= 8)
        *out++ = (uint8_t)(bits >> (spare - 8));
    return (all & NONE) == 0 && (bits & ((1u << spare) - 1)) == 0; /* one text a receipt */
}

void receipt_write(const struct queue *q, const struct receipt *r,
                   char out[QUEUE_RECEIPT_TEXT_MAX + 1])
{
    uint8_t at[BYTES], mac[DIGEST_SHA256_BYTES];
    CHECK(r->partition <= UINT16_MAX);
    at[0] = VERSION;
    memcpy(at + 1, r->topic.at, 16);
    le_store_u16(at + 17, (uint16_t)r->partition);
    le_store_u32(at + 19, r->lease.gid);
    le_store_u64(at + 23, r->lease.generation);
    le_store_u64(at + 31, r->lease.number);
    le_store_u64(at + 39, r->lease.id.epoch);
    le_store_u64(at + 47, r->lease.id.counter);
    digest_hmac_sha256(&q->receipt_key, (struct bytes){at, PLAIN_BYTES}, mac);
    memcpy(at + PLAIN_BYTES, mac, MAC_BYTES);
    text_encode(at, out);
}

static bool is_signed(const struct digest_hmac *key, struct bytes plain)
{
    uint8_t mac[DIGEST_SHA256_BYTES];
    digest_hmac_sha256(key, plain, mac);
    return digest_equal((struct bytes){(const uint8_t *)plain.at + plain.n, MAC_BYTES},
                        (struct bytes){mac, MAC_BYTES});
}

enum err receipt_read(const struct queue *q, struct bytes text, struct receipt *out)
{
    uint8_t at[OLD_BYTES];
    bool is_old = text.n == OLD_CHARS;
    if ((text.n != CHARS && !is_old) || !text_decode(text, at) ||
        at[0] != (is_old ? OLD_VERSION : VERSION))
        return ERR_INVALID;
    struct bytes plain = {at, (is_old ? OLD_BYTES : BYTES) - MAC_BYTES};
    if (!is_signed(&q->receipt_key, plain) && !is_signed(&q->receipt_key_previous, plain))
        return ERR_INVALID;
    memcpy(out->topic.at, at + 1, 16);
    out->partition = is_old ? le_load_u32(at + 17) : le_load_u16(at + 17);
    const uint8_t *rest = at + (is_old ? 21 : 19);
    out->lease = (struct partition_receipt){
        .gid = le_load_u32(rest),
        .generation = le_load_u64(rest + 4),
        .number = le_load_u64(rest + 12),
        .id = {le_load_u64(rest + 20), le_load_u64(rest + 28)},
    };
    return ERR_OK;
}

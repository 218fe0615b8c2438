// SPDX-License-Identifier: Apache-2.0
#include "base/codec.h"

#include <nettle/base16.h>
#include <nettle/base64.h>
#include <stdint.h>

#include "base/check.h"

/* Each answer has two or three of them; nettle's encoder takes ten times as long. */
static char *hex_write(const uint8_t *at, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[at[i] >> 4];
        *out++ = digits[at[i] & 15];
    }
    return out;
}

void codec_hex_put(struct buf *out, struct bytes data)
{
    if (data.n == 0)
        return; /* then out->at may be NULL still */
    buf_reserve(out, BASE16_ENCODE_LENGTH(data.n));
    hex_write(data.at, data.n, out->at + out->n);
    out->n += BASE16_ENCODE_LENGTH(data.n);
}

void codec_hex_text(struct bytes data, char *out)
{
    *hex_write(data.at, data.n, out) = '\0';
}

void codec_uuid_text(const uint8_t id[16], char out[CODEC_UUID_ROOM])
{
    static const uint8_t ends[] = {4, 6, 8, 10, 16};
    size_t from = 0;
    for (size_t i = 0; i < sizeof ends; i++) {
        out = hex_write(id + from, ends[i] - from, out);
        *out++ = '-';
        from = ends[i];
    }
    out[-1] = '\0';
}

static bool is_hex(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

enum err codec_hex_decode(struct bytes text, void *out, size_t n)
{
    const unsigned char *at = text.at;
    if (text.n % 2 != 0 || text.n / 2 != n)
        return ERR_INVALID;
    for (size_t i = 0; i < text.n; i++)
        if (!is_hex(at[i])) /* nettle steps over white space, and would then write less */
            return ERR_INVALID;
    struct base16_decode_ctx context;
    base16_decode_init(&context);
    size_t done = n;
    int ok = base16_decode_update(&context, &done, out, text.n, text.at);
    CHECK(ok == 1 && done == n && base16_decode_final(&context) == 1);
    return ERR_OK;
}

void codec_base64_put(struct buf *out, struct bytes data)
{
    if (data.n == 0)
        return;
    size_t n = codec_base64_chars(data.n);
    buf_reserve(out, n);
    base64_encode_raw(out->at + out->n, data.n, data.at);
    out->n += n;
}

size_t codec_base64_chars(size_t data_bytes)
{
    return BASE64_ENCODE_RAW_LENGTH(data_bytes);
}

/* nettle steps over white space, and takes three signs of padding behind a letter without bits
 * ("A==="). Either gives fewer bytes than a text of its length stands for, so that is asked here.
 */
static size_t base64_bytes(struct bytes text)
{
    const char *at = text.at;
    if (text.n == 0)
        return 0;
    size_t padding = at[text.n - 1] != '=' ? 0 : at[text.n - 2] != '=' ? 1 : 2;
    return text.n / 4 * 3 - padding;
}

enum err codec_base64_decode(struct bytes text, struct arena *arena, struct bytes *data)
{
    if (text.n % 4 != 0)
        return ERR_INVALID;
    struct base64_decode_ctx context;
    base64_decode_init(&context);
    size_t n = BASE64_DECODE_LENGTH(text.n);
    unsigned char *at = arena_get(arena, n);
    if (base64_decode_update(&context, &n, at, text.n, text.at) != 1 ||
        base64_decode_final(&context) != 1 || n != base64_bytes(text))
        return ERR_INVALID;
    *data = (struct bytes){at, n};
    return ERR_OK;
}

void codec_uuid(struct rng *rng, char out[CODEC_UUID_ROOM])
{
    uint8_t raw[16];
    rng_fill(rng, raw, sizeof raw);
    raw[6] = (uint8_t)((raw[6] & 0x0f) | 0x40); /* version 4 */
    raw[8] = (uint8_t)((raw[8] & 0x3f) | 0x80); /* variant of RFC 9562 */
    codec_uuid_text(raw, out);
}

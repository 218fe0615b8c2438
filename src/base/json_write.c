// SPDX-License-Identifier: Apache-2.0
#include "base/json_write.h"

#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/swar.h"

enum {
    ESCAPE_BYTES_MAX = 6,    /* of one byte */
    ESCAPE_BLOCK_BYTES = 128 /* escaped without looking at the room left */
};

struct json_writer json_writer_to(struct buf *out)
{
    return (struct json_writer){.out = out};
}

void json_writer_done(const struct json_writer *w)
{
    CHECK(w->started && w->depth == 0);
}

static bool in_object(const struct json_writer *w)
{
    return w->depth > 0 && (w->objects >> (w->depth - 1) & 1) != 0;
}

/* What goes before any value. */
static void value_begin(struct json_writer *w)
{
    CHECK(w->depth > 0 ? in_object(w) == w->keyed : !w->started);
    if (w->comma)
        buf_put_u8(w->out, ',');
    w->comma = true; /* before whatever follows this value */
    w->keyed = false;
    w->started = true;
}

static void level_begin(struct json_writer *w, bool is_object)
{
    value_begin(w);
    CHECK(w->depth < JSON_WRITE_DEPTH_MAX);
    uint64_t bit = UINT64_C(1) << w->depth++;
    w->objects = is_object ? w->objects | bit : w->objects & ~bit;
    w->comma = false;
    buf_put_u8(w->out, is_object ? '{' : '[');
}

static void level_end(struct json_writer *w, bool is_object)
{
    CHECK(w->depth > 0 && in_object(w) == is_object && !w->keyed);
    w->depth--;
    w->comma = true;
    buf_put_u8(w->out, is_object ? '}' : ']');
}

void json_begin_object(struct json_writer *w)
{
    level_begin(w, true);
}

void json_end_object(struct json_writer *w)
{
    level_end(w, true);
}

void json_begin_array(struct json_writer *w)
{
    level_begin(w, false);
}

void json_end_array(struct json_writer *w)
{
    level_end(w, false);
}

/* Writes the escape of c; the result is its bytes, at most ESCAPE_BYTES_MAX. */
static size_t escape_put(char *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char *const letters = "btn?fr"; /* for 8 to 13; 11 has none */
    out[0] = '\\';
    if (c == '"' || c == '\\') {
        out[1] = (char)c;
        return 2;
    }
    if (c >= 8 && c <= 13 && c != 11) {
        out[1] = letters[c - 8];
        return 2;
    }
    memcpy(out + 1, "u00", 3);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return ESCAPE_BYTES_MAX;
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

/* Nothing in the block needs an escape. A loop without a way out and with a fixed end, which
 * compilers turn into vector instructions: most of what is written are bodies, and most of those
 * are plain. */
static bool block_is_plain(const unsigned char at[ESCAPE_BLOCK_BYTES])
{
    unsigned char any = 0;
    for (size_t i = 0; i < ESCAPE_BLOCK_BYTES; i++)
        any |= (unsigned char)((at[i] < 0x20) | (at[i] == '"') | (at[i] == '\\'));
    return any == 0;
}

/* As json_escape, to a place with room for ESCAPE_BYTES_MAX * n bytes. The result is those written.
 */
static size_t block_escape(char *out, const unsigned char *at, size_t n)
{
    char *to = out;
    for (const unsigned char *end = at + n; at < end;) {
        if (end - at >= 8) {
            /* All eight are copied; those from the first in need of an escape on are written over.
             */
            uint64_t w = swar_load(at);
            uint64_t mask = swar_control(w) | swar_equal(w, '"') | swar_equal(w, '\\');
            size_t plain = mask == 0 ? 8 : swar_first(mask);
            memcpy(to, at, 8);
            to += plain;
            at += plain;
            if (mask == 0)
                continue;
        }
        if (needs_escape(*at))
            to += escape_put(to, *at++);
        else
            *to++ = (char)*at++;
    }
    return (size_t)(to - out);
}

void json_escape(struct buf *out, struct bytes value)
{
    const unsigned char *at = value.at;
    for (size_t left = value.n; left > 0;) {
        size_t n = left < ESCAPE_BLOCK_BYTES ? left : ESCAPE_BLOCK_BYTES;
        buf_reserve(out, n * ESCAPE_BYTES_MAX);
        if (n == ESCAPE_BLOCK_BYTES && block_is_plain(at)) {
            memcpy(out->at + out->n, at, ESCAPE_BLOCK_BYTES);
            out->n += ESCAPE_BLOCK_BYTES;
        } else {
            out->n += block_escape(out->at + out->n, at, n);
        }
        at += n;
        left -= n;
    }
}

static void quoted_put(struct buf *out, struct bytes value)
{
    /* What json_escape will want at most, if there is little to escape, as is usual. */
    size_t last = value.n < ESCAPE_BLOCK_BYTES ? value.n : ESCAPE_BLOCK_BYTES;
    buf_reserve(out, value.n + last * ESCAPE_BYTES_MAX + 2);
    buf_put_u8(out, '"');
    json_escape(out, value);
    buf_put_u8(out, '"');
}

void json_put_key_bytes(struct json_writer *w, struct bytes key)
{
    CHECK(in_object(w) && !w->keyed);
    if (w->comma)
        buf_put_u8(w->out, ',');
    quoted_put(w->out, key);
    buf_put_u8(w->out, ':');
    w->comma = false;
    w->keyed = true;
}

void json_put_key(struct json_writer *w, const char *key)
{
    json_put_key_bytes(w, bytes_of_text(key));
}

void json_put_string(struct json_writer *w, struct bytes value)
{
    value_begin(w);
    quoted_put(w->out, value);
}

void json_put_text(struct json_writer *w, const char *value)
{
    json_put_string(w, bytes_of_text(value));
}

static void number_put(struct json_writer *w, bool minus, uint64_t value)
{
    char text[21];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    if (minus)
        text[--at] = '-';
    json_put_raw(w, (struct bytes){text + at, sizeof text - at});
}

void json_put_int64(struct json_writer *w, int64_t value)
{
    number_put(w, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_put_uint64(struct json_writer *w, uint64_t value)
{
    number_put(w, false, value);
}

void json_put_bool(struct json_writer *w, bool value)
{
    json_put_raw(w, value ? BYTES_OF("true") : BYTES_OF("false"));
}

void json_put_null(struct json_writer *w)
{
    json_put_raw(w, BYTES_OF("null"));
}

void json_put_base64(struct json_writer *w, struct bytes value)
{
    value_begin(w);
    buf_put_u8(w->out, '"');
    codec_base64_put(w->out, value);
    buf_put_u8(w->out, '"');
}

void json_put_raw(struct json_writer *w, struct bytes text)
{
    value_begin(w);
    buf_put_bytes(w->out, text);
}

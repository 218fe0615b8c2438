// SPDX-License-Identifier: Apache-2.0
#include "base/json_write.h"

#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/swar.h"

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

static void escape_put(struct buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', (char)c, '0', '0', hex[c >> 4], hex[c & 15]};
    size_t n = 2;
    switch (c) {
    case '"':
    case '\\':
        break;
    case '\b':
        text[1] = 'b';
        break;
    case '\f':
        text[1] = 'f';
        break;
    case '\n':
        text[1] = 'n';
        break;
    case '\r':
        text[1] = 'r';
        break;
    case '\t':
        text[1] = 't';
        break;
    default:
        text[1] = 'u';
        n = 6;
    }
    buf_put(out, text, n);
}

static bool needs_escape(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

/* How many bytes from `at` need no escape. */
static size_t plain_bytes(const unsigned char *at, size_t n)
{
    size_t i = 0;
    for (; n - i >= 8; i += 8) {
        uint64_t w = swar_load(at + i);
        uint64_t mask = swar_control(w) | swar_equal(w, '"') | swar_equal(w, '\\');
        if (mask != 0)
            return i + swar_first(mask);
    }
    while (i < n && !needs_escape(at[i]))
        i++;
    return i;
}

void json_escape(struct buf *out, struct bytes value)
{
    const unsigned char *at = value.at;
    for (size_t left = value.n; left > 0;) {
        size_t n = plain_bytes(at, left);
        buf_put(out, at, n);
        at += n;
        left -= n;
        for (; left > 0 && needs_escape(*at); at++, left--)
            escape_put(out, *at);
    }
}

static void quoted_put(struct buf *out, struct bytes value)
{
    buf_reserve(out, value.n + 2); /* exact when nothing needs an escape, as is usual */
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

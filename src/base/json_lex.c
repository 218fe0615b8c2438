// SPDX-License-Identifier: Apache-2.0
#include "base/json_lex.h"

#include <string.h>

#include "base/swar.h"
#include "base/utf8.h"

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits of a \u escape; -1 when they are none. */
static int32_t hex_four(const unsigned char *at)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static bool is_high_surrogate(int32_t code)
{
    return code >= 0xd800 && code <= 0xdbff;
}

static bool is_low_surrogate(int32_t code)
{
    return code >= 0xdc00 && code <= 0xdfff;
}

/* What a backslash and this character, other than u, stand for; 0 when that is no escape. */
static char escape_meaning(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return (char)c;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return 0;
    }
}

/* The length of the escape at `at`, a pair of surrogates being one; 0 when it is not sound. */
static size_t escape_bytes(const unsigned char *at, const unsigned char *end)
{
    size_t left = (size_t)(end - at);
    if (left < 2)
        return 0;
    if (at[1] != 'u')
        return escape_meaning(at[1]) != 0 ? 2 : 0;
    if (left < 6)
        return 0;
    int32_t code = hex_four(at + 2);
    if (code < 0 || is_low_surrogate(code))
        return 0;
    if (!is_high_surrogate(code))
        return 6;
    if (left < 12 || at[6] != '\\' || at[7] != 'u')
        return 0;
    return is_low_surrogate(hex_four(at + 8)) ? 12 : 0;
}

const unsigned char *json_lex_string(const unsigned char *at, const unsigned char *end,
                                     bool *escaped)
{
    *escaped = false;
    while (at < end) {
        while (end - at > SWAR_BLOCK_BYTES && swar_block_is_plain(at, '"', '\\'))
            at += SWAR_BLOCK_BYTES;
        if (*at < 0x80 && end - at >= 8) {
            uint64_t w = swar_load(at);
            uint64_t mask =
                swar_control(w) | swar_not_ascii(w) | swar_equal(w, '"') | swar_equal(w, '\\');
            if (mask == 0) {
                at += 8;
                continue;
            }
            at += swar_first(mask);
        }
        unsigned char c = *at;
        size_t n = 1;
        if (c == '"')
            return at;
        if (c < 0x20)
            return NULL;
        if (c == '\\') {
            *escaped = true;
            n = escape_bytes(at, end);
        } else if (c >= 0x80) {
            n = utf8_char_bytes(at, (size_t)(end - at));
        }
        if (n == 0)
            return NULL;
        at += n;
    }
    return NULL;
}

/* Writes what the escape at *at stands for, and steps over it. */
static size_t escape_take(const unsigned char **at, char *out)
{
    const unsigned char *p = *at;
    if (p[1] != 'u') {
        *out = escape_meaning(p[1]);
        *at = p + 2;
        return 1;
    }
    int32_t code = hex_four(p + 2);
    *at = p + 6;
    if (is_high_surrogate(code)) {
        code = 0x10000 + ((code - 0xd800) << 10) + (hex_four(p + 8) - 0xdc00);
        *at = p + 12;
    }
    return utf8_encode((uint32_t)code, out);
}

size_t json_lex_unescape(const unsigned char *at, const unsigned char *close, char *out)
{
    char *to = out;
    while (at < close) {
        if (close - at >= 8) {
            /* All eight are copied, for there is room for them; those from a backslash on are
             * written over later. */
            uint64_t mask = swar_equal(swar_load(at), '\\');
            size_t plain = mask == 0 ? 8 : swar_first(mask);
            memcpy(to, at, 8);
            to += plain;
            at += plain;
            if (mask == 0)
                continue;
        }
        if (*at == '\\')
            to += escape_take(&at, to);
        else
            *to++ = (char)*at++;
    }
    return (size_t)(to - out);
}

static const unsigned char *digits_end(const unsigned char *at, const unsigned char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

const unsigned char *json_lex_number(const unsigned char *at, const unsigned char *end,
                                     bool *integer)
{
    *integer = true;
    if (at < end && *at == '-')
        at++;
    const unsigned char *from = at;
    at = at < end && *at == '0' ? at + 1 : digits_end(at, end);
    if (at == from)
        return NULL;
    if (at < end && *at == '.') {
        *integer = false;
        from = ++at;
        at = digits_end(at, end);
        if (at == from)
            return NULL;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        *integer = false;
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        from = at;
        at = digits_end(at, end);
        if (at == from)
            return NULL;
    }
    return at;
}

bool json_lex_int64(const unsigned char *at, const unsigned char *end, int64_t *value)
{
    bool minus = at < end && *at == '-';
    int64_t sum = 0;
    for (at += minus; at < end; at++) {
        int digit = *at - '0';
        /* Summed up with its sign, for INT64_MIN has no positive counterpart. */
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, minus ? -digit : digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

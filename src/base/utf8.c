// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include "base/check.h"
#include "base/swar.h"

static bool continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The table of RFC 3629, section 4: only the second byte's range depends on the first. */
size_t utf8_char_bytes(const unsigned char *at, size_t left)
{
    unsigned char first = at[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    if (first < 0xe0)
        return left >= 2 && continues(at[1]) ? 2 : 0;
    if (first < 0xf0) {
        if (left < 3 || !continues(at[1]) || !continues(at[2]))
            return 0;
        bool overlong = first == 0xe0 && at[1] < 0xa0;
        bool surrogate = first == 0xed && at[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (left < 4 || !continues(at[1]) || !continues(at[2]) || !continues(at[3]))
        return 0;
    bool overlong = first == 0xf0 && at[1] < 0x90;
    bool too_high = first == 0xf4 && at[1] >= 0x90;
    return overlong || too_high ? 0 : 4;
}

bool utf8_valid(struct bytes text)
{
    const unsigned char *at = text.at;
    size_t left = text.n;
    while (left > 0) {
        if (*at < 0x80 && left >= 8 && swar_not_ascii(swar_load(at)) == 0) {
            at += 8;
            left -= 8;
            continue;
        }
        size_t n = utf8_char_bytes(at, left);
        if (n == 0)
            return false;
        at += n;
        left -= n;
    }
    return true;
}

/* U+FFFE and U+FFFF, the only characters above U+001F that SQS leaves out. */
static bool is_fffe_or_ffff(const unsigned char *at, size_t n)
{
    return n == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
}

/* How many bytes from `at` on are seen at once to be allowed. */
static size_t plain_bytes(const unsigned char *at, size_t left)
{
    size_t n = 0;
    while (left - n >= SWAR_BLOCK_BYTES && swar_block_is_plain(at + n, 0, 0))
        n += SWAR_BLOCK_BYTES;
    if (left - n >= 8) {
        uint64_t w = swar_load(at + n);
        uint64_t mask = swar_control(w) | swar_not_ascii(w);
        n += mask == 0 ? 8 : swar_first(mask);
    }
    return n;
}

size_t utf8_first_forbidden(struct bytes text)
{
    const unsigned char *at = text.at;
    size_t left = text.n;
    while (left > 0) {
        size_t n = *at < 0x80 ? plain_bytes(at, left) : 0;
        if (n > 0) {
            at += n;
            left -= n;
            continue;
        }
        n = utf8_char_bytes(at, left);
        bool control = *at < 0x20 && *at != '\t' && *at != '\n' && *at != '\r';
        if (n == 0 || control || is_fffe_or_ffff(at, n))
            return text.n - left;
        at += n;
        left -= n;
    }
    return text.n;
}

size_t utf8_encode(uint32_t code, char out[4])
{
    CHECK(code <= 0x10ffff && (code < 0xd800 || code > 0xdfff));
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

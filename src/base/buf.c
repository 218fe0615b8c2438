// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <stdio.h>

#include "base/mem.h"

void buf_fini(struct buf *b)
{
    mem_free(b->at);
    *b = BUF_EMPTY;
}

void buf_clear(struct buf *b)
{
    b->n = 0;
}

void buf_reserve(struct buf *b, size_t more)
{
    CHECK(more <= SIZE_MAX / 2 - b->n);
    if (b->room - b->n >= more)
        return;
    size_t room = b->room * 2;
    if (room < b->n + more)
        room = b->n + more;
    if (room < 64)
        room = 64;
    b->at = mem_resize(b->at, room);
    b->room = room;
}

void buf_put(struct buf *b, const void *at, size_t n)
{
    if (n == 0)
        return;
    buf_reserve(b, n);
    memcpy(b->at + b->n, at, n);
    b->n += n;
}

void buf_put_bytes(struct buf *b, struct bytes bytes)
{
    buf_put(b, bytes.at, bytes.n);
}

void buf_put_text(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void buf_put_format(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    CHECK(n >= 0);
    buf_reserve(b, (size_t)n + 1);
    vsnprintf(b->at + b->n, (size_t)n + 1, format, again);
    va_end(again);
    b->n += (size_t)n;
}

void buf_put_u8(struct buf *b, uint8_t v)
{
    buf_reserve(b, 1);
    b->at[b->n++] = (char)v;
}

void buf_put_u16(struct buf *b, uint16_t v)
{
    char word[2];
    le_store_u16(word, v);
    buf_put(b, word, sizeof word);
}

void buf_put_u32(struct buf *b, uint32_t v)
{
    char word[4];
    le_store_u32(word, v);
    buf_put(b, word, sizeof word);
}

void buf_put_u64(struct buf *b, uint64_t v)
{
    char word[8];
    le_store_u64(word, v);
    buf_put(b, word, sizeof word);
}

void buf_put_varint(struct buf *b, uint64_t v)
{
    unsigned char word[10];
    size_t n = 0;
    if (v < 0x80) { /* most are */
        buf_put_u8(b, (uint8_t)v);
        return;
    }
    while (v >= 0x80) {
        word[n++] = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    word[n++] = (unsigned char)v;
    buf_put(b, word, n);
}

void buf_put_sized(struct buf *b, struct bytes bytes)
{
    buf_put_varint(b, bytes.n);
    buf_put_bytes(b, bytes);
}

size_t varint_bytes(uint64_t v)
{
    size_t n = 1;
    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

/* Between the machine's order and little-endian, either way. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LE16(v) __builtin_bswap16(v)
#define LE32(v) __builtin_bswap32(v)
#define LE64(v) __builtin_bswap64(v)
#else
#define LE16(v) (v)
#define LE32(v) (v)
#define LE64(v) (v)
#endif

void le_store_u16(void *at, uint16_t v)
{
    v = LE16(v);
    memcpy(at, &v, sizeof v);
}

void le_store_u32(void *at, uint32_t v)
{
    v = LE32(v);
    memcpy(at, &v, sizeof v);
}

void le_store_u64(void *at, uint64_t v)
{
    v = LE64(v);
    memcpy(at, &v, sizeof v);
}

uint16_t le_load_u16(const void *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return LE16(v);
}

uint32_t le_load_u32(const void *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return LE32(v);
}

uint64_t le_load_u64(const void *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return LE64(v);
}

struct bytes cursor_bytes(struct cursor *c, size_t n)
{
    if (c->bad || n > c->left) {
        c->bad = true;
        return BYTES_NONE;
    }
    struct bytes got = {c->at, n};
    c->at += n;
    c->left -= n;
    return got;
}

uint8_t cursor_u8(struct cursor *c)
{
    struct bytes b = cursor_bytes(c, 1);
    return b.n == 1 ? *(const unsigned char *)b.at : 0;
}

uint16_t cursor_u16(struct cursor *c)
{
    struct bytes b = cursor_bytes(c, 2);
    return b.n == 2 ? le_load_u16(b.at) : 0;
}

uint32_t cursor_u32(struct cursor *c)
{
    struct bytes b = cursor_bytes(c, 4);
    return b.n == 4 ? le_load_u32(b.at) : 0;
}

uint64_t cursor_u64(struct cursor *c)
{
    struct bytes b = cursor_bytes(c, 8);
    return b.n == 8 ? le_load_u64(b.at) : 0;
}

uint64_t cursor_varint(struct cursor *c)
{
    uint64_t v = 0;
    if (!c->bad && c->left > 0 && (*c->at & 0x80) == 0) { /* most have one byte */
        c->left--;
        return *c->at++;
    }
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cursor_u8(c);
        if (c->bad || (shift == 63 && byte > 1))
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return v;
    }
    c->bad = true;
    return 0;
}

struct bytes cursor_sized(struct cursor *c)
{
    uint64_t n = cursor_varint(c);
    if (n > c->left) {
        c->bad = true;
        return BYTES_NONE;
    }
    return cursor_bytes(c, (size_t)n);
}

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
    buf_put(b, &v, 1);
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

void le_store_u16(void *at, uint16_t v)
{
    unsigned char *p = at;
    p[0] = (unsigned char)v;
    p[1] = (unsigned char)(v >> 8);
}

void le_store_u32(void *at, uint32_t v)
{
    unsigned char *p = at;
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

void le_store_u64(void *at, uint64_t v)
{
    unsigned char *p = at;
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

uint16_t le_load_u16(const void *at)
{
    const unsigned char *p = at;
    return (uint16_t)(p[0] | p[1] << 8);
}

uint32_t le_load_u32(const void *at)
{
    const unsigned char *p = at;
    uint32_t v = 0;
    for (int i = 3; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

uint64_t le_load_u64(const void *at)
{
    const unsigned char *p = at;
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
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

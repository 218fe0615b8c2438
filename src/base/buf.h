// SPDX-License-Identifier: Apache-2.0
/* A growing run of bytes to write into, and a cursor to read with. All numbers on disk and on the
 * wire between brokers are little-endian; varints are LEB128, at most 10 bytes. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/check.h"

struct buf {
    char *at; /* owned; NULL until something is written */
    size_t n;
    size_t room;
};

#define BUF_EMPTY ((struct buf){NULL, 0, 0})

void buf_fini(struct buf *b);
void buf_clear(struct buf *b);
/* At least `more` bytes may be written at b->at + b->n afterwards. */
void buf_reserve(struct buf *b, size_t more);
void buf_put(struct buf *b, const void *at, size_t n);
void buf_put_bytes(struct buf *b, struct bytes bytes);
void buf_put_text(struct buf *b, const char *text);
void buf_put_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_varint(struct buf *b, uint64_t v);
/* A varint length, then the bytes. */
void buf_put_sized(struct buf *b, struct bytes bytes);

static inline struct bytes buf_bytes(const struct buf *b)
{
    return (struct bytes){b->at, b->n};
}

/* Little-endian words at a place that need not be aligned. */
void le_store_u16(void *at, uint16_t v);
void le_store_u32(void *at, uint32_t v);
void le_store_u64(void *at, uint64_t v);
uint16_t le_load_u16(const void *at);
uint32_t le_load_u32(const void *at);
uint64_t le_load_u64(const void *at);
size_t varint_bytes(uint64_t v);

/* Reading: past the end, or a varint over 64 bits, sets `bad` and gives zeros from then on, so a
 * decoder reads everything and asks once. */
struct cursor {
    const unsigned char *at;
    size_t left;
    bool bad;
};

static inline struct cursor cursor_of(struct bytes bytes)
{
    return (struct cursor){bytes.at, bytes.n, false};
}

uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
uint64_t cursor_varint(struct cursor *c);
struct bytes cursor_bytes(struct cursor *c, size_t n);
struct bytes cursor_sized(struct cursor *c);

#endif

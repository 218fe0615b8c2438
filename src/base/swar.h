// SPDX-License-Identifier: Apache-2.0
/* Looking at eight bytes of text at once, in one 64-bit word whose lowest byte comes first. A mask
 * has the highest bit of a byte set where that byte is of interest. Subtraction carries upward
 * only, so bits above the lowest one may be wrong, but the lowest is right: use swar_first. */
#ifndef BASE_SWAR_H
#define BASE_SWAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SWAR_ONES UINT64_C(0x0101010101010101)
#define SWAR_HIGH UINT64_C(0x8080808080808080)

static inline uint64_t swar_load(const unsigned char *at)
{
    uint64_t w;
    memcpy(&w, at, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* Which of the eight bytes comes first in a mask that is not 0. */
static inline size_t swar_first(uint64_t mask)
{
    return (size_t)__builtin_ctzll(mask) / 8;
}

static inline uint64_t swar_not_ascii(uint64_t w)
{
    return w & SWAR_HIGH;
}

/* Bytes below 0x20. */
static inline uint64_t swar_control(uint64_t w)
{
    return (w - SWAR_ONES * 0x20) & ~w & SWAR_HIGH;
}

static inline uint64_t swar_equal(uint64_t w, unsigned char byte)
{
    uint64_t x = w ^ (SWAR_ONES * byte);
    return (x - SWAR_ONES) & ~x & SWAR_HIGH;
}

/* ---- sixteen at once ---- */

enum { SWAR_BLOCK_BYTES = 16 };
typedef signed char swar_block __attribute__((vector_size(16)));

/* Whether each of sixteen bytes is ASCII from the space on and neither `a` nor `b`, as nearly all
 * of a text is. As signed numbers, control characters and what is not ASCII are below the space. */
static inline bool swar_block_is_plain(const unsigned char *at, signed char a, signed char b)
{
    swar_block v;
    uint64_t half[2];
    memcpy(&v, at, sizeof v);
    swar_block odd = (swar_block)(v < (swar_block){0} + 0x20) |
                     (swar_block)(v == (swar_block){0} + a) |
                     (swar_block)(v == (swar_block){0} + b);
    memcpy(half, &odd, sizeof half);
    return (half[0] | half[1]) == 0;
}

#endif

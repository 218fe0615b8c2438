// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

/* table[k][b]: the CRC of byte b followed by k zero bytes ("slicing by eight"). */
static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_fill(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int i = 0; i < 8; i++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
        table[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

uint32_t crc32c_portable(uint32_t crc, const void *at, size_t n)
{
    pthread_once(&table_once, table_fill);
    const unsigned char *p = at;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                              (uint32_t)p[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    for (; n > 0; n--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)
/* The instruction takes a word each cycle but answers three cycles later, so three stretches of a
 * fixed length go side by side. The CRC is linear: a stretch's own, begun at 0, is added to that of
 * the bytes before it, moved on over as many zero bytes, which is a look-up for each of its bytes.
 */
enum { LANE_BYTES = 128 };
static uint32_t lane_table[4][256];
static pthread_once_t lane_once = PTHREAD_ONCE_INIT;

static void lane_table_fill(void)
{
    pthread_once(&table_once, table_fill);
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = UINT32_C(1) << bit;
        for (int i = 0; i < LANE_BYTES; i++)
            crc = crc >> 8 ^ table[0][crc & 0xff];
        lane_table[bit / 8][1 << bit % 8] = crc;
    }
    for (int k = 0; k < 4; k++)
        for (int b = 1; b < 256; b++) /* the sum of its bits */
            lane_table[k][b] = lane_table[k][b & (b - 1)] ^ lane_table[k][b & -b];
}

static uint64_t lane_skip(uint64_t c)
{
    return lane_table[0][c & 0xff] ^ lane_table[1][c >> 8 & 0xff] ^ lane_table[2][c >> 16 & 0xff] ^
           lane_table[3][c >> 24];
}

static uint64_t word_load(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* n: a multiple of three lanes. */
__attribute__((target("sse4.2"))) static uint64_t lanes_take(uint64_t c, const unsigned char *p,
                                                             size_t n)
{
    pthread_once(&lane_once, lane_table_fill);
    for (const unsigned char *end = p + n; p < end; p += 3 * LANE_BYTES) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < LANE_BYTES; i += 8) {
            c = __builtin_ia32_crc32di(c, word_load(p + i));
            second = __builtin_ia32_crc32di(second, word_load(p + LANE_BYTES + i));
            third = __builtin_ia32_crc32di(third, word_load(p + 2 * LANE_BYTES + i));
        }
        c = lane_skip(lane_skip(c) ^ second) ^ third;
    }
    return c;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *at,
                                                               size_t n)
{
    const unsigned char *p = at;
    uint64_t c = ~crc;
    size_t lanes_n = n / (3 * LANE_BYTES) * (3 * LANE_BYTES);
    if (lanes_n > 0)
        c = lanes_take(c, p, lanes_n);
    p += lanes_n;
    n -= lanes_n;
    for (; n >= 8; n -= 8, p += 8)
        c = __builtin_ia32_crc32di(c, word_load(p));
    for (; n > 0; n--, p++)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p);
    return ~(uint32_t)c;
}
#endif

uint32_t crc32c(uint32_t crc, const void *at, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, at, n);
#endif
    return crc32c_portable(crc, at, n);
}

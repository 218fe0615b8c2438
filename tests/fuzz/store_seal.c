// SPDX-License-Identifier: Apache-2.0
/* Checksums as plog/FORMAT.md has them, written by its words and not by the code under test. */
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "fuzz/store_base.h"

enum { PAGE_BYTES = 4096, UNIT_BYTES = 24, HEADER_BYTES = 64 };

static bool letters(const char *at, char kind)
{
    return at[0] == 'L' && at[1] == 'L' && at[2] == kind;
}

/* Over bytes 0..4 and 8..n, at 4. */
static void seal(char *at, size_t n, uint32_t seed)
{
    if (n >= 8)
        le_store_u32(at + 4, crc32c(crc32c(seed, at, 4), at + 8, n - 8));
}

static void seal_batches(char *at, size_t n)
{
    while (n >= HEADER_BYTES && letters(at, 'B')) {
        uint32_t bytes = le_load_u32(at + 8);
        if (bytes < HEADER_BYTES || bytes > n)
            return;
        seal(at, bytes, 0);
        at += bytes;
        n -= bytes;
    }
}

/* The batches in a round's appends, then the round. */
static void seal_round(char *at, uint32_t bytes, uint32_t seed)
{
    struct cursor c = {(const unsigned char *)at + 96, bytes - 96, false};
    while (!c.bad && c.left >= 36) {
        cursor_bytes(&c, 32);
        uint32_t n = cursor_u32(&c);
        char *batch = at + bytes - c.left;
        cursor_bytes(&c, n);
        if (!c.bad)
            seal_batches(batch, n);
    }
    seal(at, bytes, seed);
}

static void seal_journal(char *at, size_t n)
{
    char seed[24];
    if (n < PAGE_BYTES)
        return;
    seal(at, HEADER_BYTES, 0);
    memcpy(seed, at + 8, 16); /* lap and salt */
    for (size_t page = PAGE_BYTES; page + 96 <= n; page += PAGE_BYTES) {
        uint32_t bytes = le_load_u32(at + page + 8);
        if (!letters(at + page, 'R') || bytes < 96 || bytes > n - page)
            continue;
        memcpy(seed + 16, at + page + 24, 8); /* the round's number */
        seal_round(at + page, bytes, crc32c(0, seed, sizeof seed));
    }
}

static void seal_index(char *at, size_t n)
{
    if (n < UNIT_BYTES)
        return;
    le_store_u32(at + 4, crc32c(0, at + 8, 16));
    uint32_t seed = crc32c(0, at + 8, 8), all = 0;
    for (size_t i = UNIT_BYTES; i + UNIT_BYTES <= n; i += UNIT_BYTES) {
        char *unit = at + i;
        bool last = i + 2 * UNIT_BYTES > n && le_load_u32(unit) == UINT32_MAX;
        if (last)
            le_store_u32(unit + 8, all);
        le_store_u32(unit + 12, crc32c(crc32c(seed, unit, 12), unit + 16, 8));
        all = crc32c(all, unit, UNIT_BYTES);
    }
}

static void seal_store(struct buf *bytes)
{
    static const char word[] = ",\"crc32c\":\"";
    char *found = memmem(bytes->at, bytes->n, word, sizeof word - 1), hex[9];
    if (found == NULL || (size_t)(found - bytes->at) + sizeof word - 1 + 8 > bytes->n)
        return;
    snprintf(hex, sizeof hex, "%08x", crc32c(0, bytes->at, (size_t)(found - bytes->at)));
    memcpy(found + sizeof word - 1, hex, 8);
}

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

void store_seal(const char *path, struct buf *bytes)
{
    if (bytes->n == 0)
        return;
    if (strcmp(path, "store.json") == 0)
        seal_store(bytes);
    else if (strcmp(path, "marks") == 0 || ends_in(path, ".snap"))
        seal(bytes->at, bytes->n, 0);
    else if (ends_in(path, ".wal"))
        seal_journal(bytes->at, bytes->n);
    else if (ends_in(path, ".index"))
        seal_index(bytes->at, bytes->n);
    else
        seal_batches(bytes->at, bytes->n);
}

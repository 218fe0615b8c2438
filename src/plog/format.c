// SPDX-License-Identifier: Apache-2.0
#include "plog/format.h"

#include "base/crc32c.h"

_Static_assert(sizeof(struct boot_id) + 3 * sizeof(int64_t) == STAMP_BYTES, "FORMAT.md, stamp");

void format_magic_store(char *at, char kind)
{
    at[0] = 'L';
    at[1] = 'L';
    at[2] = kind;
    at[3] = FORMAT_VERSION;
}

bool format_letters_fit(const void *at, char kind)
{
    const char *from = at;
    return from[0] == 'L' && from[1] == 'L' && from[2] == kind;
}

static uint32_t crc_of(const char *at, size_t n, uint32_t seed)
{
    return crc32c(crc32c(seed, at, FORMAT_AT_CRC), at + FORMAT_AT_COVERED, n - FORMAT_AT_COVERED);
}

void format_crc_store(char *at, size_t n, uint32_t seed)
{
    le_store_u32(at + FORMAT_AT_CRC, crc_of(at, n, seed));
}

enum err format_check(struct bytes whole, char kind, uint32_t seed)
{
    const char *at = whole.at;
    if (whole.n < FORMAT_AT_COVERED || !format_letters_fit(at, kind) ||
        crc_of(at, whole.n, seed) != le_load_u32(at + FORMAT_AT_CRC))
        return ERR_CORRUPT;
    /* Only now: a flipped bit in the version must not pass for a newer broker's work. */
    if ((unsigned char)at[3] > FORMAT_VERSION)
        return ERR_NEWER_FORMAT;
    return (unsigned char)at[3] == FORMAT_VERSION ? ERR_OK : ERR_CORRUPT;
}

void format_stamp_put(struct buf *b, const struct plog_stamp *s)
{
    buf_put(b, s->boot_id.at, sizeof s->boot_id.at);
    buf_put_u64(b, (uint64_t)s->boot_ms);
    buf_put_u64(b, (uint64_t)s->wall_ms);
    buf_put_u64(b, (uint64_t)s->partition_ms);
}

struct plog_stamp format_stamp_take(struct cursor *c)
{
    struct plog_stamp s = {0};
    struct bytes id = cursor_bytes(c, sizeof s.boot_id.at);
    if (id.n == sizeof s.boot_id.at)
        memcpy(s.boot_id.at, id.at, id.n);
    s.boot_ms = (int64_t)cursor_u64(c);
    s.wall_ms = (int64_t)cursor_u64(c);
    s.partition_ms = (int64_t)cursor_u64(c);
    return s;
}

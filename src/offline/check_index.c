// SPDX-License-Identifier: Apache-2.0
#include "offline/check_index.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "plog/batch.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/index.h"

enum { UNIT_AT_CRC = 12, UNIT_AT_TAIL = 16 };

static const char todo[] =
    "harmless: reading is slower until it is made again, which --repair does";

void offline_segment_put(struct offline_segment *s, const struct batch_header *h, uint64_t position)
{
    if (s->begin_n == s->begin_room) {
        s->begin_room = s->begin_room == 0 ? 256 : 2 * s->begin_room;
        s->begin = mem_resize(s->begin, s->begin_room * sizeof s->begin[0]);
    }
    if (s->begin_n == 0)
        s->number = h->first_number;
    s->begin[s->begin_n++] = (struct index_entry){
        .offset = (uint32_t)(h->base_offset - s->name),
        .number = (uint32_t)(h->first_number - s->number),
        .position = (uint32_t)position,
        .leader_ms = h->leader_ms,
    };
}

void offline_segment_fini(struct offline_segment *s)
{
    mem_free(s->begin);
    *s = (struct offline_segment){0};
}

static uint32_t seed_of(uint64_t name)
{
    unsigned char at[8];
    le_store_u64(at, name);
    return crc32c(0, at, sizeof at);
}

static uint32_t unit_crc(uint32_t seed, const char *unit)
{
    return crc32c(crc32c(seed, unit, UNIT_AT_CRC), unit + UNIT_AT_TAIL, 8);
}

/* What is wrong with entry i, or NULL. *begin goes on to the batch that the entry names. */
static const char *entry_check(const struct offline_segment *s, const char *unit, size_t *begin)
{
    if (le_load_u32(unit + UNIT_AT_CRC) != unit_crc(seed_of(s->name), unit))
        return "the entry's checksum";
    uint32_t position = le_load_u32(unit + 8);
    while (*begin < s->begin_n && s->begin[*begin].position < position)
        ++*begin;
    if (*begin == s->begin_n || s->begin[*begin].position != position)
        return "the entry leads to no batch, or is out of order";
    const struct index_entry *b = &s->begin[*begin];
    if (le_load_u32(unit) != b->offset || le_load_u32(unit + 4) != b->number ||
        (int64_t)le_load_u64(unit + UNIT_AT_TAIL) != b->leader_ms)
        return "the entry tells of its batch what is not so";
    ++*begin;
    return NULL;
}

static const char *header_check(const struct offline_segment *s, const char *unit)
{
    if (format_check((struct bytes){unit, INDEX_UNIT_BYTES}, 'I', 0) != ERR_OK)
        return "the header's checksum or version";
    if (le_load_u64(unit + 8) != s->name || le_load_u64(unit + 16) != s->number)
        return "the header is that of another segment";
    return NULL;
}

static const char *footer_check(const struct offline_segment *s, const char *file, size_t entries)
{
    const char *unit = file + (entries + 1) * INDEX_UNIT_BYTES;
    if (le_load_u32(unit + UNIT_AT_CRC) != unit_crc(seed_of(s->name), unit))
        return "the last unit's checksum";
    if (le_load_u32(unit) != UINT32_MAX || le_load_u32(unit + 4) != entries ||
        le_load_u32(unit + 8) != crc32c(0, file + INDEX_UNIT_BYTES, entries * INDEX_UNIT_BYTES) ||
        le_load_u64(unit + UNIT_AT_TAIL) != s->bytes)
        return "the last unit does not fit to the entries or the segment";
    return NULL;
}

static const char *whole_check(struct bytes file, const struct offline_segment *s, uint64_t *at)
{
    const char *from = file.at, *wrong;
    size_t units = file.n / INDEX_UNIT_BYTES, entries = s->entries, begin = 0;
    *at = 0;
    if (s->sealed && (file.n % INDEX_UNIT_BYTES != 0 || units < 2))
        return "it is cut short";
    if (s->sealed)
        entries = units - 2;
    if (units < entries + 1) {
        *at = file.n;
        return "it ends before the entries that the marks count";
    }
    wrong = header_check(s, from);
    for (size_t i = 1; wrong == NULL && i <= entries; i++) {
        *at = i * INDEX_UNIT_BYTES;
        wrong = entry_check(s, from + *at, &begin);
    }
    if (wrong == NULL && s->sealed) {
        *at = (entries + 1) * INDEX_UNIT_BYTES;
        wrong = footer_check(s, from, entries);
    }
    return wrong;
}

bool offline_index_check(const struct disk *d, const char *path, const struct offline_segment *s,
                         struct findings *f)
{
    struct buf b = BUF_EMPTY;
    uint64_t at = FINDING_WHOLE;
    if (!s->sealed && s->entries == 0)
        return true; /* the file, if there is one, is begun anew */
    enum err e = file_read(d, path, SIZE_MAX / 2, &b);
    const char *wrong = e == ERR_OK          ? whole_check(buf_bytes(&b), s, &at)
                        : e == ERR_NOT_FOUND ? "the index is missing"
                                             : err_text(e);
    if (wrong != NULL && f != NULL)
        findings_fault(f, path, at, todo, "%s", wrong);
    buf_fini(&b);
    return wrong == NULL;
}

static void put_unit(struct buf *b, char *unit, uint64_t name)
{
    le_store_u32(unit + UNIT_AT_CRC, unit_crc(seed_of(name), unit));
    buf_put(b, unit, INDEX_UNIT_BYTES);
}

static uint32_t put_entries(struct buf *b, const struct offline_segment *s)
{
    char unit[INDEX_UNIT_BYTES];
    uint32_t last = 0, n = 0;
    for (size_t i = 0; i < s->begin_n; i++) {
        const struct index_entry *e = &s->begin[i];
        if (e->position - last < INDEX_STEP_BYTES)
            continue;
        le_store_u32(unit, e->offset);
        le_store_u32(unit + 4, e->number);
        le_store_u32(unit + 8, e->position);
        le_store_u64(unit + UNIT_AT_TAIL, (uint64_t)e->leader_ms);
        put_unit(b, unit, s->name);
        last = e->position;
        n++;
    }
    return n;
}

enum err offline_index_make(const struct disk *d, const char *dir, const char *path,
                            const struct offline_segment *s)
{
    struct buf b = BUF_EMPTY;
    char unit[INDEX_UNIT_BYTES] = {0};
    format_magic_store(unit, 'I');
    le_store_u64(unit + 8, s->name);
    le_store_u64(unit + 16, s->number);
    format_crc_store(unit, sizeof unit, 0);
    buf_put(&b, unit, sizeof unit);
    uint32_t n = put_entries(&b, s);
    if (s->sealed) {
        le_store_u32(unit, UINT32_MAX);
        le_store_u32(unit + 4, n);
        le_store_u32(unit + 8, crc32c(0, b.at + INDEX_UNIT_BYTES, (size_t)n * INDEX_UNIT_BYTES));
        le_store_u64(unit + UNIT_AT_TAIL, s->bytes);
        put_unit(&b, unit, s->name);
    }
    struct bytes piece = buf_bytes(&b);
    enum err e = !s->sealed && n < s->entries ? ERR_INVALID : file_replace(d, dir, path, &piece, 1);
    buf_fini(&b);
    return e;
}

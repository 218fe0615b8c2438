// SPDX-License-Identifier: Apache-2.0
#include "plog/batch.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "plog/format.h"

_Static_assert(BATCH_AT_HW_HINT + 8 == BATCH_HEADER_BYTES, "FORMAT.md, Batch");
_Static_assert(BATCH_AT_FIRST_NUMBER == 32 && BATCH_AT_EPOCH == 40, "FORMAT.md, Batch");
_Static_assert(BATCH_BYTES_MAX < 1 << 28 && PLOG_RECORD_FRAME_BYTES == 4 + 1,
               "the length and the type of a record");
_Static_assert(PLOG_BATCH_BYTES_MAX + 1024 <= BATCH_BYTES_MAX, "a full batch can be stored");

enum { FLAGS_KNOWN = BATCH_FLAG_GAP };

struct plog_batch *plog_batch_new(size_t bytes_hint)
{
    static const unsigned char zeros[BATCH_HEADER_BYTES];
    struct plog_batch *b = mem_new(sizeof *b);
    buf_reserve(&b->bytes, BATCH_HEADER_BYTES + bytes_hint);
    buf_put(&b->bytes, zeros, sizeof zeros);
    return b;
}

void plog_batch_free(struct plog_batch *b)
{
    if (b == NULL)
        return;
    buf_fini(&b->bytes);
    mem_free(b);
}

/* The payload's length stands before it, in as many bytes as it takes: those of the hint are left
 * free, and are right nearly always. */
struct buf *plog_batch_begin(struct plog_batch *b, uint8_t type, size_t payload_bytes_hint)
{
    CHECK(b->payload_at == 0);
    b->record_at = (uint32_t)b->bytes.n;
    buf_put_varint(&b->bytes, payload_bytes_hint + 1);
    buf_put_u8(&b->bytes, type);
    b->payload_at = (uint32_t)b->bytes.n;
    b->h.records++;
    b->h.messages += type == RECORD_TYPE_MESSAGE;
    return &b->bytes;
}

void plog_batch_end(struct plog_batch *b)
{
    CHECK(b->payload_at > 0 && b->bytes.n >= b->payload_at);
    struct buf *bytes = &b->bytes;
    char type = bytes->at[b->payload_at - 1];
    size_t payload_n = bytes->n - b->payload_at;
    size_t left = b->payload_at - 1 - b->record_at, wanted = varint_bytes(payload_n + 1);
    size_t payload_at = b->record_at + wanted + 1;
    if (wanted != left) {
        buf_reserve(bytes, wanted);
        memmove(bytes->at + payload_at, bytes->at + b->payload_at, payload_n);
    }
    bytes->n = b->record_at;
    buf_put_varint(bytes, payload_n + 1);
    buf_put(bytes, &type, 1);
    bytes->n = payload_at + payload_n;
    b->payload_at = 0;
    CHECK(bytes->n <= BATCH_BYTES_MAX);
}

void plog_batch_put(struct plog_batch *b, uint8_t type, struct bytes payload)
{
    buf_put_bytes(plog_batch_begin(b, type, payload.n), payload);
    plog_batch_end(b);
}

size_t plog_batch_bytes(const struct plog_batch *b)
{
    return b->bytes.n;
}

/* All of the header at `at` but the CRC. */
static void header_store(char *at, const struct batch_header *h)
{
    format_magic_store(at, 'B');
    le_store_u32(at + BATCH_AT_BYTES, h->bytes);
    le_store_u32(at + BATCH_AT_FLAGS, h->gap ? BATCH_FLAG_GAP : 0);
    le_store_u64(at + BATCH_AT_BASE_OFFSET, h->base_offset);
    le_store_u32(at + BATCH_AT_RECORDS, h->records);
    le_store_u32(at + BATCH_AT_MESSAGES, h->messages);
    le_store_u64(at + BATCH_AT_FIRST_NUMBER, h->first_number);
    le_store_u64(at + BATCH_AT_EPOCH, h->epoch);
    le_store_u64(at + BATCH_AT_LEADER_MS, (uint64_t)h->leader_ms);
    le_store_u64(at + BATCH_AT_HW_HINT, h->hw_hint);
}

void batch_seal(struct plog_batch *b)
{
    b->h.bytes = (uint32_t)b->bytes.n;
    header_store(b->bytes.at, &b->h);
    format_crc_store(b->bytes.at, b->bytes.n, 0);
}

void batch_gap_store(char *at, const struct batch_header *h)
{
    struct batch_header gap = *h;
    gap.bytes = BATCH_HEADER_BYTES;
    gap.gap = true;
    header_store(at, &gap);
    format_crc_store(at, BATCH_HEADER_BYTES, 0);
}

enum err batch_header_peek(const void *at, struct batch_header *out)
{
    const char *from = at;
    struct batch_header h = {
        .bytes = le_load_u32(from + BATCH_AT_BYTES),
        .records = le_load_u32(from + BATCH_AT_RECORDS),
        .messages = le_load_u32(from + BATCH_AT_MESSAGES),
        .base_offset = le_load_u64(from + BATCH_AT_BASE_OFFSET),
        .first_number = le_load_u64(from + BATCH_AT_FIRST_NUMBER),
        .epoch = le_load_u64(from + BATCH_AT_EPOCH),
        .leader_ms = (int64_t)le_load_u64(from + BATCH_AT_LEADER_MS),
        .hw_hint = le_load_u64(from + BATCH_AT_HW_HINT),
        .gap = (le_load_u32(from + BATCH_AT_FLAGS) & BATCH_FLAG_GAP) != 0,
    };
    if (!format_letters_fit(at, 'B') || h.bytes < BATCH_HEADER_BYTES || h.bytes > BATCH_BYTES_MAX)
        return ERR_CORRUPT;
    *out = h;
    return ERR_OK;
}

enum err batch_check(struct bytes whole, struct batch_header *out)
{
    struct batch_header h;
    if (whole.n < BATCH_HEADER_BYTES)
        return ERR_CORRUPT;
    enum err e = batch_header_peek(whole.at, &h);
    if (e != ERR_OK)
        return e;
    if (h.bytes != whole.n)
        return ERR_CORRUPT;
    e = format_check(whole, 'B', 0);
    if (e != ERR_OK)
        return e;
    if ((le_load_u32((const char *)whole.at + BATCH_AT_FLAGS) & ~(uint32_t)FLAGS_KNOWN) != 0)
        return ERR_NEWER_FORMAT;
    if (h.gap && h.bytes != BATCH_HEADER_BYTES)
        return ERR_CORRUPT;
    if (h.records == 0 || h.messages > h.records || h.base_offset > UINT64_MAX / 2 ||
        h.first_number > UINT64_MAX / 2)
        return ERR_CORRUPT;
    *out = h;
    return ERR_OK;
}

enum err batch_record(struct cursor *c, uint8_t *type, struct bytes *payload)
{
    struct bytes framed = cursor_sized(c);
    if (c->bad || framed.n == 0)
        return ERR_CORRUPT;
    *type = *(const uint8_t *)framed.at;
    *payload = (struct bytes){(const char *)framed.at + 1, framed.n - 1};
    return ERR_OK;
}

enum err batch_place(struct bytes whole, const struct batch_header *h, uint64_t offset,
                     uint64_t *number, size_t *position)
{
    CHECK(h->base_offset <= offset && offset <= batch_end(h));
    uint64_t at = h->base_offset, at_number = h->first_number;
    if (h->gap) {
        uint64_t left = batch_end(h) - offset;
        *number = left < h->messages ? batch_end_number(h) - left : at_number;
        *position = BATCH_HEADER_BYTES;
        return ERR_OK;
    }
    struct cursor c = cursor_of(
        (struct bytes){(const char *)whole.at + BATCH_HEADER_BYTES, whole.n - BATCH_HEADER_BYTES});
    for (; at < offset; at++) {
        uint8_t type;
        struct bytes payload;
        enum err e = batch_record(&c, &type, &payload);
        if (e != ERR_OK)
            return e;
        at_number += type == RECORD_TYPE_MESSAGE;
    }
    bool end = at == batch_end(h);
    if (at_number > batch_end_number(h) || end != (c.left == 0) ||
        (end && at_number != batch_end_number(h)))
        return ERR_CORRUPT;
    *number = at_number;
    *position = whole.n - c.left;
    return ERR_OK;
}

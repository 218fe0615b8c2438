// SPDX-License-Identifier: Apache-2.0
/* Batches from another broker (plog/copy.h).
 *
 * Input: a byte, then batches one behind the other. An odd byte: magic and CRC of each, as far as
 * their lengths lead, are put right first, so that what is behind them is reached.
 * Contract: whatever the bytes, plog_raw_next takes whole batches off until it refuses one, whose
 * records are then none that the header counts; those that it took can be read record by record. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "plog/batch.h"
#include "plog/copy.h"
#include "plog/format.h"

static void seal_all(char *at, size_t n)
{
    while (n >= BATCH_HEADER_BYTES) {
        size_t bytes = le_load_u32(at + BATCH_AT_BYTES);
        if (bytes < BATCH_HEADER_BYTES || bytes > n) {
            bytes = n;
            le_store_u32(at + BATCH_AT_BYTES, (uint32_t)n);
        }
        format_magic_store(at, 'B');
        format_crc_store(at, bytes, 0);
        at += bytes;
        n -= bytes;
    }
}

static void read_records(const struct plog_raw *raw)
{
    struct batch_header h;
    CHECK(batch_check(raw->bytes, &h) == ERR_OK);
    CHECK(raw->end_offset > raw->base_offset && raw->end_number >= raw->first_number);
    CHECK(raw->end_number - raw->first_number <= raw->end_offset - raw->base_offset);
    uint64_t offset = raw->base_offset, number = raw->first_number;
    struct cursor c = cursor_of((struct bytes){(const char *)raw->bytes.at + BATCH_HEADER_BYTES,
                                               raw->bytes.n - BATCH_HEADER_BYTES});
    for (; c.left > 0; offset++) {
        uint8_t type;
        struct bytes payload;
        CHECK(batch_record(&c, &type, &payload) == ERR_OK);
        number += type == RECORD_TYPE_MESSAGE;
    }
    CHECK(h.gap || (offset == raw->end_offset && number == raw->end_number));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 1 << 20)
        return 0;
    char *at = mem_new(size);
    memcpy(at, data + 1, size - 1);
    if (data[0] & 1)
        seal_all(at, size - 1);
    struct bytes rest = {at, size - 1};
    struct plog_raw raw;
    enum err e;
    for (size_t before = rest.n; (e = plog_raw_next(&rest, &raw)) == ERR_OK; before = rest.n) {
        CHECK(raw.bytes.n == before - rest.n && raw.bytes.n >= BATCH_HEADER_BYTES);
        read_records(&raw);
    }
    CHECK(e == (rest.n == 0 ? ERR_NOT_FOUND : ERR_CORRUPT));
    mem_free(at);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* A batch as it lies in a segment, a journal or a salvage (plog/batch.h).
 *
 * Input: a byte, then the batch. An odd byte: magic, length and CRC are put right first, so that
 * what is behind them is reached.
 * Contract: whatever the bytes, batch_check refuses them or the header makes sense, and records are
 * taken off until one is bad or none is left. A batch whose records are those that its header
 * counts, written anew from what was read, is a sound batch of the same records. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "plog/batch.h"
#include "plog/format.h"

static struct bytes records_of(struct bytes whole)
{
    return (struct bytes){(const char *)whole.at + BATCH_HEADER_BYTES,
                          whole.n - BATCH_HEADER_BYTES};
}

/* The same records under the same header; NULL when they are not what the header says. */
static struct plog_batch *write_anew(struct bytes whole, const struct batch_header *h)
{
    struct cursor c = cursor_of(records_of(whole));
    struct plog_batch *b = plog_batch_new(0);
    bool sound = true;
    while (sound && c.left > 0) {
        uint8_t type;
        struct bytes payload;
        size_t before = c.left;
        sound = batch_record(&c, &type, &payload) == ERR_OK;
        CHECK(c.left < before);
        if (sound)
            plog_batch_put(b, type, payload);
    }
    if (!sound || b->h.records != h->records || b->h.messages != h->messages) {
        plog_batch_free(b);
        return NULL;
    }
    b->h = *h;
    batch_seal(b);
    return b;
}

static void compare(struct bytes whole, struct bytes anew, const struct batch_header *h)
{
    struct batch_header again;
    CHECK(batch_check(anew, &again) == ERR_OK);
    CHECK(again.records == h->records && again.messages == h->messages);
    CHECK(again.base_offset == h->base_offset && again.first_number == h->first_number);
    CHECK(again.epoch == h->epoch && again.leader_ms == h->leader_ms);
    CHECK(again.hw_hint == h->hw_hint && !again.gap);
    struct cursor one = cursor_of(records_of(whole)), other = cursor_of(records_of(anew));
    while (one.left > 0) {
        uint8_t type, type_anew;
        struct bytes payload, payload_anew;
        CHECK(batch_record(&one, &type, &payload) == ERR_OK);
        CHECK(batch_record(&other, &type_anew, &payload_anew) == ERR_OK);
        CHECK(type == type_anew && bytes_equal(payload, payload_anew));
    }
    CHECK(other.left == 0);
}

static void make_gap(const struct batch_header *h)
{
    char at[BATCH_HEADER_BYTES];
    struct batch_header again;
    batch_gap_store(at, h);
    CHECK(batch_check((struct bytes){at, sizeof at}, &again) == ERR_OK);
    CHECK(again.gap && again.records == h->records && again.messages == h->messages);
    CHECK(batch_end(&again) == batch_end(h) && batch_end_number(&again) == batch_end_number(h));
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    bool put_right = cursor_u8(&c) % 2 == 1;
    struct buf batch = BUF_EMPTY;
    struct batch_header peeked, h;
    buf_put_bytes(&batch, fuzz_rest(&c));
    if (put_right && batch.n >= BATCH_HEADER_BYTES) {
        format_magic_store(batch.at, 'B');
        le_store_u32(batch.at + BATCH_AT_BYTES, (uint32_t)batch.n);
        format_crc_store(batch.at, batch.n, 0);
    }
    struct bytes whole = buf_bytes(&batch);
    enum err e = batch_check(whole, &h);
    if (e == ERR_OK) {
        CHECK(batch_header_peek(whole.at, &peeked) == ERR_OK);
        CHECK(h.bytes == whole.n && h.records > 0 && h.messages <= h.records);
        make_gap(&h);
        struct plog_batch *anew = h.gap ? NULL : write_anew(whole, &h);
        if (anew != NULL)
            compare(whole, buf_bytes(&anew->bytes), &h);
        plog_batch_free(anew);
    } else {
        CHECK(e == ERR_CORRUPT || e == ERR_NEWER_FORMAT);
    }
    buf_fini(&batch);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Batches: their bytes (FORMAT.md, "Batch") and the batch in memory, which is built by one thread,
 * then never changes, and lives in the tail cache (cache.h) until it is evicted. */
#ifndef PLOG_BATCH_H
#define PLOG_BATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "plog/plog.h"

enum {
    BATCH_AT_CRC = 4,
    BATCH_AT_BYTES = 8,
    BATCH_AT_FLAGS = 12,
    BATCH_AT_BASE_OFFSET = 16,
    BATCH_AT_RECORDS = 24,
    BATCH_AT_MESSAGES = 28,
    BATCH_AT_FIRST_NUMBER = 32,
    BATCH_AT_EPOCH = 40,
    BATCH_AT_LEADER_MS = 48,
    BATCH_AT_HW_HINT = 56,
    BATCH_HEADER_BYTES = 64,
    BATCH_BYTES_MAX = 16 << 20,
    BATCH_FLAG_GAP = 1 << 3,
    RECORD_TYPE_MESSAGE = 1,
};

struct batch_header {
    uint32_t bytes; /* of the whole batch */
    uint32_t records;
    uint32_t messages;
    uint64_t base_offset;
    uint64_t first_number;
    uint64_t epoch;
    int64_t leader_ms;
    uint64_t hw_hint;
    bool gap; /* stands for records that are no longer stored */
};

static inline uint64_t batch_end(const struct batch_header *h)
{
    return h->base_offset + h->records;
}

static inline uint64_t batch_end_number(const struct batch_header *h)
{
    return h->first_number + h->messages;
}

struct plog_batch {
    struct buf bytes; /* header, then records */
    struct batch_header h;
    uint32_t record_at, payload_at; /* of the record being written; payload_at 0: none is */
    bool waited;
    struct plog_log *log;
    STAILQ_ENTRY(plog_batch) pending_link; /* guarded by the commit lock, then the round's */
    /* Guarded by the cache's lock. */
    unsigned refs;
    bool written; /* it is in its segment, and may be evicted */
    TAILQ_ENTRY(plog_batch) cache_link;
};

/* Finishes the header of b->bytes from b->h, CRC last. */
void batch_seal(struct plog_batch *b);
/* Writes the BATCH_HEADER_BYTES of a GAP that stands for what `h` says. */
void batch_gap_store(char *at, const struct batch_header *h);
/* The fields at `at`, BATCH_HEADER_BYTES long, as far as they can be believed without the CRC: the
 * magic's letters and a length that is possible. ERR_CORRUPT. */
enum err batch_header_peek(const void *at, struct batch_header *out) MUST_USE;
/* Checks a whole batch. ERR_CORRUPT, ERR_NEWER_FORMAT. */
enum err batch_check(struct bytes whole, struct batch_header *out) MUST_USE;
/* Where the records from `offset` on begin in a checked batch that holds it, and the number that
 * belongs to it: that of this message or of the next. A GAP does not tell; there it is the lowest
 * that it can be. ERR_CORRUPT: the records are not those that the header counts. */
enum err batch_place(struct bytes whole, const struct batch_header *h, uint64_t offset,
                     uint64_t *number, size_t *position) MUST_USE;
/* Takes the next record off `c`. ERR_CORRUPT. */
enum err batch_record(struct cursor *c, uint8_t *type, struct bytes *payload) MUST_USE;

#endif

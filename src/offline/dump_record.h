// SPDX-License-Identifier: Apache-2.0
/* A record as a line: in words, or as a JSON object. */
#ifndef OFFLINE_DUMP_RECORD_H
#define OFFLINE_DUMP_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "partition/record.h"
#include "plog/batch.h"

struct dump_place {
    uint64_t offset;
    uint64_t number; /* of the message, or of the next one */
    uint64_t epoch;
};

/* Appends a line with its end. */
void dump_record_words(struct buf *out, const struct dump_place *at, const struct record *r,
                       bool bodies);
void dump_record_json(struct buf *out, const struct dump_place *at, const struct record *r,
                      bool bodies);
void dump_gap(struct buf *out, const struct batch_header *h, bool json);
/* A record that cannot be read, or whose type is newer. */
void dump_unreadable(struct buf *out, const struct dump_place *at, uint8_t type, enum err e,
                     bool json);
/* A wall-clock time as RFC 3339, UTC. */
void dump_wall_time(struct buf *out, int64_t wall_ms);

#endif

// SPDX-License-Identifier: Apache-2.0
/* The batches of a segment's bytes, one behind the other, and on behind a bad stretch: at the next
 * place where a whole batch with a good checksum begins. */
#ifndef OFFLINE_BATCHES_H
#define OFFLINE_BATCHES_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/err.h"
#include "plog/batch.h"

struct offline_batches {
    struct bytes bytes;
    uint64_t position; /* of the next batch */
};

/* ERR_OK: a batch, which begins at *at. ERR_NOT_FOUND: no more. ERR_CORRUPT, ERR_NEWER_FORMAT: bad
 * from *at on up to b->position, where it goes on. */
enum err offline_batches_next(struct offline_batches *b, uint64_t *at, struct bytes *batch,
                              struct batch_header *h) MUST_USE;

#endif

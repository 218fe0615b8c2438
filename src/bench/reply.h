// SPDX-License-Identifier: Apache-2.0
/* What SQS's JSON answers say, as far as a load generator asks. Texts are lent from the answer or
 * the arena. ERR_CORRUPT, ERR_INVALID: the answer is not what SQS would give. */
#ifndef BENCH_REPLY_H
#define BENCH_REPLY_H

#include "base/arena.h"
#include "base/err.h"
#include "bench/request.h"

struct bench_received {
    size_t n;
    struct bytes receipts[BENCH_BATCH_MAX];
    uint64_t stamps_ns[BENCH_BATCH_MAX]; /* what the bodies tell; 0: nothing */
};
/* Of ReceiveMessage. */
MUST_USE enum err bench_reply_received(struct bytes body, struct arena *arena,
                                       struct bench_received *out);

struct bench_fault {
    struct bytes code, text; /* "" where the answer has none */
};
/* Of a batch: how many of its entries have failed, and of one of them why. */
MUST_USE enum err bench_reply_failed(struct bytes body, struct arena *arena, size_t *failed,
                                     struct bench_fault *first);
/* Of an answer that is no success. */
MUST_USE enum err bench_reply_fault(struct bytes body, struct arena *arena,
                                    struct bench_fault *out);

#endif

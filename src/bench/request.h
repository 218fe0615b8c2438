// SPDX-License-Identifier: Apache-2.0
/* Requests of SQS's JSON protocol as whole texts. Those that are made over and over are written
 * once, with places of fixed width in them that are filled anew for each request: a load generator
 * must cost little, or it measures itself. */
#ifndef BENCH_REQUEST_H
#define BENCH_REQUEST_H

#include "base/buf.h"

enum {
    BENCH_BATCH_MAX = 10,    /* SQS's */
    BENCH_STAMP_DIGITS = 20, /* a body's first bytes, when it tells its time */
    BENCH_GROUPS_MAX = 1000000
};

/* Whom all requests go to. Texts are lent. */
struct bench_target {
    const char *host; /* for the Host header */
    const char *queue_url;
};

struct bench_sends {
    unsigned batch; /* 1: SendMessage, else SendMessageBatch */
    size_t body_bytes;
    bool stamped;    /* bodies tell their time; body_bytes >= BENCH_STAMP_DIGITS */
    unsigned groups; /* message groups, taken in turn; 0: no FIFO queue */
};

/* A send, to be filled and sent again and again. */
struct bench_send_text {
    struct bench_sends what;
    struct buf text;
    size_t stamp_at[BENCH_BATCH_MAX], dedup_at[BENCH_BATCH_MAX], group_at[BENCH_BATCH_MAX];
    uint64_t sent; /* messages: numbers their deduplication ids */
};
/* `run` sets the deduplication ids of this run apart from those of others. */
void bench_send_text_init(struct bench_send_text *s, const struct bench_target *to,
                          struct bench_sends what, uint64_t run);
void bench_send_text_fini(struct bench_send_text *s);
/* The next request; stamp_ns is what its bodies tell. Lent until the next call. */
struct bytes bench_send_text_next(struct bench_send_text *s, uint64_t stamp_ns);

/* A ReceiveMessage for up to `most` messages, into a clear buf. */
void bench_request_receive(struct buf *out, const struct bench_target *to, unsigned most,
                           unsigned wait_s);
/* DeleteMessage of one, or DeleteMessageBatch of more, into a clear buf. */
void bench_request_delete(struct buf *out, const struct bench_target *to,
                          const struct bytes *receipts, size_t n);

#endif

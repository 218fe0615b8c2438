// SPDX-License-Identifier: Apache-2.0
/* The head of an HTTP/1.1 answer (RFC 9112), as far as a client needs it that keeps connections
 * alive and has one request on each. Bytes come from outside: all is checked, nothing is copied. */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/err.h"

enum { BENCH_ANSWER_HEAD_MAX = 16 << 10 };

struct bench_answer {
    int status;
    bool closes; /* the server closes the connection after it */
    size_t head_bytes, body_bytes;
};

/* Reads the head at the front of `in`. ERR_NEED: it is not whole yet. ERR_TOO_BIG: head or body are
 * longer than BENCH_ANSWER_HEAD_MAX or body_bytes_max. ERR_CORRUPT: it is no HTTP/1.x, or not such
 * as this client takes: an interim answer, a body that is chunked or whose length is not said.
 * But for ERR_OK and ERR_NEED *why is a sentence for people. */
MUST_USE enum err bench_answer_read(struct bytes in, size_t body_bytes_max,
                                    struct bench_answer *out, const char **why);

#endif

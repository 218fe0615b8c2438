// SPDX-License-Identifier: Apache-2.0
/* What a run has found, and the counting of it. "Measured" is what falls into the measured time:
 * counts by when the answer came, times by when the request began, whenever its answer came, so
 * that what was slowest at the end is not cut off. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "bench/histogram.h"

enum bench_operation { BENCH_OP_SEND, BENCH_OP_RECEIVE, BENCH_OP_DELETE, BENCH_OPS_N };
extern const char *const bench_operation_names[BENCH_OPS_N];

enum { BENCH_FAILURES_MAX = 16 };

struct bench_count {
    uint64_t requests; /* answered with 200 */
    uint64_t messages; /* sent, received or deleted by them */
};

/* One way to fail, and how often it was met in all of the run. */
struct bench_failure {
    char code[64];  /* SQS's, or HTTP's status, or what became of the connection */
    char text[160]; /* what the broker said to the first */
    uint64_t n;
};

struct bench_result {
    struct bench_count in_all[BENCH_OPS_N]; /* with what comes before and after the measured time */
    struct bench_count measured[BENCH_OPS_N];
    struct bench_histogram latency_ns[BENCH_OPS_N]; /* from the request's write to its answer */
    struct bench_histogram delivery_ns; /* from when a message was due to the receiver's answer */
    uint64_t empty_receives;            /* measured */
    uint64_t undelivered; /* sent in the measured time, and not received when the run ended */
    uint64_t unsent;      /* due in the measured time, and no sender was free for them */
    struct bench_failure failures[BENCH_FAILURES_MAX];
    size_t failures_n;
    uint64_t failures_other;     /* of more kinds than there is room for */
    struct bench_failure newest; /* the one that was met last; its n is 1, or 0: none was */
    uint64_t reconnects;
    uint64_t backlog;                   /* messages that were there to receive */
    uint64_t measured_ns;               /* as it came out */
    uint64_t own_cpu_ns, own_waited_ns; /* of this program, in the measured time */
    long broker_pid;                    /* 0: not known, and then neither are the next two */
    char broker_process[32];
    uint64_t broker_cpu_ns;
    bool interrupted; /* by a signal */
    bool used_up;     /* the backlog was gone before the time */
    bool gave_up;     /* nothing but failures */
};

/* One more failure; texts are cut to fit, and what is not plain ASCII in them becomes '?'. */
void bench_result_failed(struct bench_result *r, struct bytes code, struct bytes text);
uint64_t bench_result_failures(const struct bench_result *r);

#endif

// SPDX-License-Identifier: Apache-2.0
/* What `leaselog bench` prints: the load, what it ran on, and what came of it. */
#ifndef CLI_BENCH_REPORT_H
#define CLI_BENCH_REPORT_H

#include <jansson.h>

#include "bench/load.h"
#include "bench/machine.h"

struct cli_bench_report {
    const char *mode; /* the word */
    const char *server;
    const struct bench_load *load;
    const struct bench_machine *machine;
    const struct bench_result *result;
    const json_t *topic; /* what the broker tells of it; NULL: nothing */
    /* GET /v1 before and after the run; NULL where the broker has no such thing. */
    const json_t *before, *after;
};

/* One object, the same as the text says; of the caller. */
json_t *cli_bench_report_json(const struct cli_bench_report *r);
/* Some lines on stdout. */
void cli_bench_report_print(const struct cli_bench_report *r);

/* The messages/s that this kind of load is about: sent by send, deleted by receive and cycle,
 * received by latency and fanout. */
double cli_bench_messages_per_s(const struct cli_bench_report *r);

#endif

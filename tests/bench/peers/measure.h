// SPDX-License-Identifier: Apache-2.0
/* Time, samples of it, and what a server's processes have used. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

uint64_t measure_now_ns(void);

/* Durations; those past SAMPLES_MAX are not kept. */
enum { SAMPLES_MAX = 4 * 1000 * 1000 };

struct samples {
    uint32_t *us;
    size_t n;
};

void samples_add(struct samples *s, uint64_t ns);
/* In thousandths: 500 is the median. 0 when there are none. Sorts. */
uint32_t samples_rank_us(struct samples *s, unsigned thousandths);

/* Processor time of these processes and all their descendants, with those that have ended and
 * were waited for. Of the latter the kernel tells ticks of 10 ms, of others nanoseconds where it
 * keeps statistics of its scheduler, else ticks. */
uint64_t measure_cpu_us(const int *pids, size_t n);

#endif

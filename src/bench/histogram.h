// SPDX-License-Identifier: Apache-2.0
/* How long things took: counts in fixed memory, from which percentiles are read. As HdrHistogram by
 * Gil Tene: each power of two is cut into equally many buckets, so that the relative error is the
 * same everywhere. With 64 of them a percentile is at most 1.6 % above the true value and never
 * below it; values under 64 and the largest are exact. Every uint64_t has its bucket. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

enum {
    BENCH_HISTOGRAM_BITS = 6, /* 2^BITS buckets for each power of two */
    BENCH_HISTOGRAM_BUCKETS = (64 - BENCH_HISTOGRAM_BITS + 1) << BENCH_HISTOGRAM_BITS
};

/* All zeros is an empty one. Belongs to one thread. */
struct bench_histogram {
    uint64_t n; /* values in all */
    uint64_t max;
    uint64_t counts[BENCH_HISTOGRAM_BUCKETS];
};

void bench_histogram_add(struct bench_histogram *h, uint64_t value);
/* The smallest value that `per_100k` of 100,000 values do not exceed, such as 99900 for p99.9; 0 of
 * an empty one. per_100k is from 1 to 100000. */
uint64_t bench_histogram_percentile(const struct bench_histogram *h, unsigned per_100k);

#endif

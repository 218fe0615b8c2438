// SPDX-License-Identifier: Apache-2.0
#include "bench/histogram.h"

#include <stddef.h>

#include "base/check.h"

/* Below 2^BITS a bucket holds one value. From there on the leading BITS + 1 bits of a value choose
 * its bucket, and `shift` is how many bits are behind them. */
static size_t bucket_of(uint64_t value)
{
    if (value >> BENCH_HISTOGRAM_BITS == 0)
        return (size_t)value;
    unsigned shift = 63U - (unsigned)__builtin_clzll(value) - BENCH_HISTOGRAM_BITS;
    return ((size_t)shift << BENCH_HISTOGRAM_BITS) + (size_t)(value >> shift);
}

/* The largest value of a bucket. */
static uint64_t bucket_top(size_t bucket)
{
    size_t octave = bucket >> BENCH_HISTOGRAM_BITS;
    if (octave == 0)
        return bucket;
    unsigned shift = (unsigned)octave - 1;
    uint64_t lead = bucket - ((size_t)shift << BENCH_HISTOGRAM_BITS);
    return (lead << shift) + ((UINT64_C(1) << shift) - 1);
}

void bench_histogram_add(struct bench_histogram *h, uint64_t value)
{
    h->counts[bucket_of(value)]++;
    h->n++;
    if (value > h->max)
        h->max = value;
}

uint64_t bench_histogram_percentile(const struct bench_histogram *h, unsigned per_100k)
{
    CHECK(per_100k >= 1 && per_100k <= 100000);
    /* Rounded up, and split so that no product overflows: p50 of three values is the second. */
    uint64_t whole = h->n / 100000, rest = h->n % 100000;
    uint64_t rank = whole * per_100k + (rest * per_100k + 99999) / 100000, seen = 0;
    if (h->n == 0)
        return 0;
    for (size_t i = 0; i < BENCH_HISTOGRAM_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen >= rank)
            return bucket_top(i) < h->max ? bucket_top(i) : h->max;
    }
    UNREACHABLE();
}

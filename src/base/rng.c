// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <string.h>
#include <sys/random.h>

#include "base/check.h"

/* SplitMix64: one word of state, and any seed is a good seed. */
uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *r, uint64_t limit)
{
    CHECK(limit > 0);
    return rng_next(r) % limit;
}

void rng_fill(struct rng *r, void *at, size_t n)
{
    char *p = at;
    while (n > 0) {
        uint64_t word = rng_next(r);
        size_t k = n < sizeof word ? n : sizeof word;
        memcpy(p, &word, k);
        p += k;
        n -= k;
    }
}

void rng_secret(void *at, size_t n)
{
    CHECK(n <= 256 && getrandom(at, n, 0) == (ssize_t)n);
}

struct rng rng_from_system(void)
{
    struct rng r;
    rng_secret(&r.state, sizeof r.state);
    return r;
}

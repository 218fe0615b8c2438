// SPDX-License-Identifier: Apache-2.0
/* Random numbers from a seed, so that a run can be played again. Only `app` seeds one from the
 * system; nothing secret is drawn from it (secrets come from rng_secret). */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

/* A generator seeded by the operating system. */
struct rng rng_from_system(void);
uint64_t rng_next(struct rng *r);

/* A number in [0, limit); limit > 0. Slightly uneven for huge limits, which nobody here minds. */
uint64_t rng_below(struct rng *r, uint64_t limit);
void rng_fill(struct rng *r, void *at, size_t n);

/* Bytes that nobody can guess, from the operating system. */
void rng_secret(void *at, size_t n);

#endif

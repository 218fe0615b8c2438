// SPDX-License-Identifier: Apache-2.0
/* The finished numbers above a group's floor, as runs in a sorted array: they neither overlap nor
 * touch. Finding costs O(log n); putting moves what lies behind, at worst some 100 KiB for the
 * 10,000 holes of a busy group. */
#ifndef PARTITION_RUNS_H
#define PARTITION_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run {
    uint64_t first;
    uint64_t end; /* one past the last */
};

struct runs {
    struct run *at;
    size_t n;
    size_t room;
    uint64_t sum; /* numbers in all runs */
};

void runs_init(struct runs *r);
void runs_fini(struct runs *r);
/* The run that holds `number`, or NULL. Lent until the runs change. */
const struct run *runs_find(const struct runs *r, uint64_t number);
/* The first run that ends above `number`, or NULL. */
const struct run *runs_find_from(const struct runs *r, uint64_t number);
/* Adds [first, end), whatever of it is there already. */
void runs_put(struct runs *r, uint64_t first, uint64_t end);
/* Forgets everything below `number`. */
void runs_drop_below(struct runs *r, uint64_t number);
/* How many numbers at or above `number` the runs hold. */
uint64_t runs_count_from(const struct runs *r, uint64_t number);

#endif

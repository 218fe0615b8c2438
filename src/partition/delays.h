// SPDX-License-Identifier: Apache-2.0
/* The individually delayed messages of a partition: one table for all groups, 24 bytes a message
 * and 8 in an order. What a delay is to one group is not written down anywhere; it follows from the
 * group (group_has_delay in state.h). So a message that waits for its time costs the same under one
 * group and under many.
 *
 * A delay is *waiting* until the index has come to its due time, then *due*. Once a record told
 * that its release time is past it is *released*: a group whose cursor is still to pass it finds it
 * by itself, and only groups that have passed it need it on. Those that nobody needs are swept out
 * together, later.
 *
 * Number, due and release time follow from the records; when a delay turned from waiting to due
 * does not, and nothing that is saved or answered depends on it. */
#ifndef PARTITION_DELAYS_H
#define PARTITION_DELAYS_H

#include "partition/order.h"

struct delay {
    uint64_t number;
    int64_t due_ms;
    int64_t release_ms; /* by then it and all before it are due; or DELAY_RELEASED */
};

#define DELAY_RELEASED INT64_MAX

struct delays {
    struct delay *at; /* by number */
    size_t n;
    size_t room;
    size_t released_n;
    int64_t advanced_ms;  /* those with due_ms at or before it are due */
    struct order waiting; /* places of those that wait, by due time */
    struct order due;     /* places of those that are due and not released, by release time */
};

void delays_init(struct delays *d);
void delays_fini(struct delays *d);
/* Its number must be above all others. Answers the new one, lent until the next put or sweep. */
const struct delay *delays_put(struct delays *d, uint64_t number, int64_t due_ms,
                               int64_t release_ms);
/* NULL: not there. */
const struct delay *delays_find(const struct delays *d, uint64_t number);
/* The place of the first one with a number >= `number`, or n. */
size_t delays_from(const struct delays *d, uint64_t number);

static inline bool delays_are_due(const struct delays *d, const struct delay *delay)
{
    return delay->due_ms <= d->advanced_ms;
}

static inline bool delay_is_released(const struct delay *delay)
{
    return delay->release_ms == DELAY_RELEASED;
}

/* Brings the index on to now_ms, one step a call: answers a delay that has become due, or NULL when
 * there are no more. A now_ms before an earlier one changes nothing. */
const struct delay *delays_next_due(struct delays *d, int64_t now_ms);
/* When the next one becomes due; INT64_MAX: none waits. */
int64_t delays_next_due_ms(const struct delays *d);
/* The due one that is to be released first, if it is by known_ms; or NULL. */
const struct delay *delays_releasable(const struct delays *d, int64_t known_ms);
/* Releases the one that was answered. */
void delays_release(struct delays *d);
/* Neither released nor to be released for sure before this time; INT64_MAX: there is none. */
int64_t delays_release_after_ms(const struct delays *d);
/* Drops the released ones that `is_needed` does not ask for. O(n): for when many are. */
void delays_sweep(struct delays *d, bool (*is_needed)(const void *of, const struct delay *delay),
                  const void *of);

#endif

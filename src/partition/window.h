// SPDX-License-Identifier: Apache-2.0
/* The window: headers of a group's unfinished messages, so that planning needs no reads. A cache,
 * not state: it may be thrown away at any time and is read again through the log. One a group and
 * partition, guarded by the partition's lock.
 *
 * A window covers the numbers [first, end) without a hole, except those that were finished when
 * they would have been added. Appends to a window that reaches the tail add their header at once.
 * Standard groups keep it around their cursor; FIFO windows start at the group's floor. */
#ifndef PARTITION_WINDOW_H
#define PARTITION_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition/record.h"

enum { PARTITION_WINDOW_MAX = 120000 }; /* headers */

struct partition_header {
    uint64_t number;
    uint64_t group_hash; /* the first 8 bytes of the message-group's hash; 0 = none */
    int64_t due_ms;
    int64_t accepted_ms;
    uint32_t body_bytes;
    uint32_t receive_count;
    bool delay_is_default;
};

struct partition_header partition_header_of(uint64_t number, const struct record_message *m);

struct partition_window;

struct partition_window *partition_window_new(void);
void partition_window_free(struct partition_window *w);

/* The window covers [first, end). */
uint64_t partition_window_first(const struct partition_window *w);
uint64_t partition_window_end(const struct partition_window *w);

/* Adds a header; h->number must be partition_window_end (numbers already finished for the group
 * are passed over with partition_window_skip). Answers false when the window is full. */
bool partition_window_put(struct partition_window *w, const struct partition_header *h);
/* The window's end becomes `number` without headers: those numbers are finished. */
void partition_window_skip(struct partition_window *w, uint64_t number);
/* Empty, at `number`: where the next headers will be put. */
void partition_window_reset(struct partition_window *w, uint64_t number);
/* Headers below `number` are given up. */
void partition_window_drop_below(struct partition_window *w, uint64_t number);

/* NULL when the window does not hold it. Lent until the window changes. */
const struct partition_header *partition_window_find(const struct partition_window *w,
                                                     uint64_t number);
/* For the broker-wide bound of 16 MiB. */
size_t partition_window_bytes(const struct partition_window *w);

#endif

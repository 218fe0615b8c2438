// SPDX-License-Identifier: Apache-2.0
/* The window: headers of a group's unfinished messages, so that planning needs no reads. A cache,
 * not state: it may be thrown away at any time and is read again through the log. One a group and
 * partition, guarded by the partition's lock.
 *
 * A window covers the numbers [first, end) without a hole, except those that were finished when
 * they would have been added. Appends to a window that reaches the tail add their header at once.
 * Standard groups keep it around their cursor; FIFO windows start at the group's floor. The
 * planners move it there themselves (and empty it when the group has another generation), so a
 * caller to whom one answers ERR_NEED with a number does just this:
 *
 *   reads headers from that number on, passing over the messages that are finished for the group
 *   (partition_is_finished), and gives each to partition_window_take while that answers true;
 *   where the log no longer stores a stretch (all of it finished), partition_window_skip first;
 *   plans again.
 *
 * A message that was handed back may lie far from the cursor. Its header does not move the window:
 * it goes to a side cache of PARTITION_WINDOW_SINGLES_MAX, oldest out, which holds more than one
 * receive can ask for. */
#ifndef PARTITION_WINDOW_H
#define PARTITION_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition/record.h"

enum {
    PARTITION_WINDOW_MAX = 120000,       /* headers in [first, end) */
    PARTITION_WINDOW_SINGLES_MAX = 4096, /* headers beside it */
    PARTITION_WINDOW_OTHERS_MAX = 4096,  /* headers behind it, for fair receives */
    PARTITION_NOISY_MIN = 30,            /* leases of a tenant that may make it noisy */
};

struct partition_header {
    uint64_t number;
    uint64_t
        group_hash; /* the first 8 bytes of the message-group's hash; 0 = none, one group too */
    int64_t due_ms;
    int64_t accepted_ms;
    uint32_t body_bytes;
    uint32_t receive_count;
    uint32_t message_bytes; /* record_message_bytes */
    bool delay_is_default;
};

struct partition_header partition_header_of(uint64_t number, const struct record_message *m);

struct partition;
struct partition_view;
struct partition_window;

struct partition_window *partition_window_new(void);
void partition_window_free(struct partition_window *w);

/* The window covers [first, end). */
uint64_t partition_window_first(const struct partition_window *w);
uint64_t partition_window_end(const struct partition_window *w);

/* Adds a header; h->number must be partition_window_end (numbers already finished for the group
 * are passed over with partition_window_skip). Answers false when the window is full. */
bool partition_window_put(struct partition_window *w, const struct partition_header *h);
/* The header finds its place: at the end, or else among the singles. Answers false when more
 * headers in a row would not help: the window is full, or this was a single. */
bool partition_window_take(struct partition_window *w, const struct partition_header *h);
/* Headers in rising order, which a planner has asked for to look beyond a full window. Answers
 * false, and takes none, when it has not asked for these. */
bool partition_window_take_ahead(struct partition_window *w, const struct partition_header *headers,
                                 size_t n);
/* The window's end becomes `number` without headers: those numbers are finished. */
void partition_window_skip(struct partition_window *w, uint64_t number);
/* Empty, at `number`: where the next headers will be put. */
void partition_window_reset(struct partition_window *w, uint64_t number);
/* Headers below `number` are given up. */
void partition_window_drop_below(struct partition_window *w, uint64_t number);

/* NULL when the window does not hold it. Lent until the window changes. */
const struct partition_header *partition_window_find(const struct partition_window *w,
                                                     uint64_t number);
/* The first number >= the group's cursor whose default delay has not ended at view->now_ms, or the
 * partition's next number when none is left: for partition_count. ERR_NEED as in
 * partition_plan_receive; ERR_NOT_FOUND: no such group. */
enum err partition_window_due_next(struct partition_window *w, const struct partition *p,
                                   const struct partition_view *view, uint32_t gid, uint64_t *out,
                                   uint64_t *need) MUST_USE;
/* For the broker-wide bound of 16 MiB. */
size_t partition_window_bytes(const struct partition_window *w);

#endif

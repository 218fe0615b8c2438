// SPDX-License-Identifier: Apache-2.0
/* Looking at single messages: in which state one is for a group, which ones are unfinished, and how
 * much of a stretch of the log is still wanted. Nothing here leases or changes anything.
 *
 * The state alone does not know when a message with the topic's default delay is due, nor when any
 * message was accepted. So a look has two halves: partition_look_one or _on under the partition's
 * lock, then partition_look_settle with the message as it was read from the log. Both go by the
 * time of the view of the first half, so the answer is the truth of that one moment. */
#ifndef PARTITION_LOOK_H
#define PARTITION_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition/partition.h"

enum partition_message_state {
    PARTITION_READY = 1, /* FIFO: also behind an earlier message of its group */
    PARTITION_LEASED = 2,
    PARTITION_DELAYED = 4,
    PARTITION_MOVING = 8,
    PARTITION_FINISHED = 16,
};

struct partition_look {
    uint64_t number;
    enum partition_message_state state;
    bool due_unknown;       /* READY, unless the message itself says that it is not due */
    int64_t until_ms;       /* leased: the lease's end; delayed: when it is due; else 0 */
    uint32_t receive_count; /* here; those before a move are in the message. 0 when finished */
    int64_t first_received_wall_ms; /* 0: never, or finished */
    size_t holder_bytes;            /* of a leased one */
    char holder[RECORD_HOLDER_BYTES_MAX];
};

/* ERR_NOT_FOUND: no such group, or no such number yet. */
enum err partition_look_one(const struct partition *p, const struct partition_view *view,
                            uint32_t gid, uint64_t number, struct partition_look *out) MUST_USE;

/* The second half: completes what only the message knows. False: it has expired, and is not to be
 * shown. */
bool partition_look_settle(struct partition_look *look, const struct partition_view *view,
                           const struct record_message *m);

enum { PARTITION_LOOK_WALK_MAX = 4096 }; /* unfinished numbers that one call walks over */

/* A look at all committed unfinished messages of a group. `place` and `end` are where it has come
 * to. */
struct partition_looking {
    uint32_t gid;
    unsigned states; /* of enum partition_message_state: which ones; FINISHED does not count */
    bool downward;
    uint64_t place; /* upward: from this number on; downward: below it */
    bool end;       /* nothing is left */
};

/* The next ones, at most `room`, in order: those whose state is asked for, and those that may turn
 * out so once settled. Answers how many; 0 does not mean that nothing is left. Finished stretches
 * cost nothing, and where only entries can match (leased, moving) nor does the backlog. An unknown
 * group has no messages. */
size_t partition_look_on(const struct partition *p, const struct partition_view *view,
                         struct partition_looking *looking, struct partition_look *out,
                         size_t room);

/* How many numbers in [first, end) are wanted by any group or open move: their messages must be
 * kept. With no group, those that are not trimmed. O(runs of finished numbers in it + open moves).
 */
uint64_t partition_wanted_count(const struct partition *p, uint64_t first, uint64_t end);

/* The same, one by one: sets wanted[i] for each wanted number first + i, i < n, all of them below
 * partition_next_number. The others stay as they are. */
void partition_wanted(const struct partition *p, uint64_t first, size_t n, bool *wanted);

#endif

// SPDX-License-Identifier: Apache-2.0
/* What a queue is, in the plainest words: an array of messages and what each group did with them.
 * Written from the rules of SQS, with linear scans; it shares no code with src/partition. */
#ifndef TESTS_MODEL_PARTITION_MODEL_H
#define TESTS_MODEL_PARTITION_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition/partition.h"

enum { MODEL_GROUPS = 2, MODEL_MESSAGES = 2000, MODEL_MOVES = 2000, MODEL_DEDUPS = 2000 };

/* What one group did with one message. */
struct model_fate {
    bool finished;
    bool moving;
    bool touched; /* received, or its visibility changed: its delay no longer counts */
    uint32_t receives;
    int64_t until_ms; /* of a touched one: in flight before it */
    int64_t since_ms;
    uint64_t lease_epoch, lease_counter;
    int64_t first_received_wall_ms;
};

struct model_message {
    int tenant; /* the message group */
    int64_t accepted_ms, due_ms;
    uint32_t body_bytes;
    uint32_t receives_before;
    struct model_fate fate[MODEL_GROUPS];
};

struct model_move {
    uint64_t seq;
    int group;
    uint64_t number, generation;
    bool open;
};

struct model_dedup {
    int id;
    uint64_t number;
    int64_t until_ms;
};

struct model {
    bool fifo;
    int64_t now_ms, retention_ms;
    uint64_t committed;
    size_t messages_n, moves_n, dedups_n;
    uint64_t trimmed;
    bool group_exists[MODEL_GROUPS];
    uint64_t generation[MODEL_GROUPS];
    struct model_message messages[MODEL_MESSAGES];
    struct model_move moves[MODEL_MOVES];
    struct model_dedup dedups[MODEL_DEDUPS];
};

enum model_state { MODEL_GONE, MODEL_MOVING, MODEL_IN_FLIGHT, MODEL_DELAYED, MODEL_VISIBLE };

enum model_state model_state_of(const struct model *m, int group, uint64_t number);
bool model_is_expired(const struct model *m, uint64_t number);
/* Visible, committed, not expired. */
bool model_is_receivable(const struct model *m, int group, uint64_t number);
/* The first unfinished number. */
uint64_t model_floor(const struct model *m, int group);

/* What a FIFO receive gives, looking only at numbers below `end`. */
struct model_fifo {
    size_t picks_n, moves_n;
    uint64_t picks[10], moves[100];
};
void model_fifo_receive(const struct model *m, int group, uint64_t end, size_t max,
                        uint64_t bytes_max, uint32_t receives_max, const int *first, size_t first_n,
                        struct model_fifo *out);
/* Whether a receive may have brought this. */
bool model_fifo_agrees(const struct model *m, int group, uint64_t end, size_t max,
                       uint64_t bytes_max, uint32_t receives_max,
                       const struct partition_grant *got);

void model_receive(struct model *m, int group, uint64_t number, uint64_t epoch, uint64_t counter,
                   int64_t until_ms, int64_t wall_ms);
void model_extend(struct model *m, int group, uint64_t number, int64_t until_ms);
void model_finish_below(struct model *m, int group, uint64_t below);
/* The group starts (again) at `from`. */
void model_start_group(struct model *m, int group, uint64_t generation, uint64_t from);
/* The newest accepted message with this dedup id whose window has not ended; -1: none. */
int64_t model_duplicate_of(const struct model *m, int id);

#endif

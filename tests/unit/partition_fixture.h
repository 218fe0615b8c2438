// SPDX-License-Identifier: Apache-2.0
/* A partition with one group, a window that is filled when asked for, and short words for what
 * tests do with it. Times are milliseconds; the world begins at 1,000. */
#ifndef TESTS_UNIT_PARTITION_FIXTURE_H
#define TESTS_UNIT_PARTITION_FIXTURE_H

#include "lib/runner.h"
#include "partition/partition.h"

enum { WORLD_GID = 5, WORLD_START_MS = 1000, WORLD_MESSAGES = 1000 };

struct world {
    struct partition *p;
    struct partition_window *w;
    struct partition_view view;
    struct partition_grant grant; /* the last receive's */
    struct partition_header headers[WORLD_MESSAGES];
    uint64_t generation;
    uint64_t needs; /* how often a plan asked for headers */
};

/* A standard or FIFO partition; group WORLD_GID from number 0. */
void world_init(struct world *o, bool fifo);
void world_fini(struct world *o);
void world_apply(struct world *o, const struct record *r);

/* All committed at once. They answer the message's number. */
uint64_t world_send(struct world *o);
uint64_t world_send_group(struct world *o, char group);
uint64_t world_send_default_delay(struct world *o, int64_t delay_ms);
uint64_t world_send_own_delay(struct world *o, int64_t delay_ms);
uint64_t world_send_message(struct world *o, const struct record_message *m);
/* A plain message now, to be changed and sent. */
struct record_message world_message(const struct world *o);

/* Plans until no header is missing; takes the lease and the moves in. Answers how many picks. */
size_t world_receive(struct world *o, size_t max, int64_t visibility_ms);
/* The number of the i-th pick of the last receive. */
uint64_t world_pick(const struct world *o, size_t i);
/* The receipt of the i-th pick. */
struct partition_receipt world_receipt(const struct world *o, size_t i);

enum err world_delete(struct world *o, struct partition_receipt receipt, enum receipt_rule rule);
enum err world_extend(struct world *o, struct partition_receipt receipt, enum receipt_rule rule,
                      int64_t visibility_ms);
void world_move_closed(struct world *o, uint64_t seq, bool called_off);
void world_pass(struct world *o, int64_t ms);
struct partition_counters world_count(struct world *o);

/* visible, in flight, delayed */
#define WORLD_COUNTS(o, v, f, d)                                                                   \
    do {                                                                                           \
        struct partition_counters counted = world_count(o);                                        \
        ck_assert_uint_eq(counted.visible, v);                                                     \
        ck_assert_uint_eq(counted.in_flight, f);                                                   \
        ck_assert_uint_eq(counted.delayed, d);                                                     \
    } while (0)

TCase *tcase_standard(void);
TCase *tcase_delays(void);
TCase *tcase_fair(void);
TCase *tcase_fifo(void);
TCase *tcase_state(void);
TCase *tcase_repeat(void);

#endif

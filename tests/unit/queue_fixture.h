// SPDX-License-Identifier: Apache-2.0
/* A queue in a folder of its own, with a clock that stands and no threads: tests drive commits and
 * the housekeeper by hand. */
#ifndef TESTS_UNIT_QUEUE_FIXTURE_H
#define TESTS_UNIT_QUEUE_FIXTURE_H

#include "lib/fake_clock.h"
#include "lib/runner.h"
#include "queue/state.h"

struct bench {
    char dir[64];
    struct disk disk;
    struct fake_clock clock;
    struct queue_options options;
    struct queue *q;
};

extern struct bench bench;

/* Of the checked fixture. */
void bench_setup(void);
void bench_teardown(void);

void bench_start(void);
void bench_stop(void);    /* a clean stop */
void bench_die(void);     /* what is not committed is lost */
void bench_restart(void); /* dies and starts */
/* Time passes, then the housekeeper looks. */
void bench_pass(int64_t ms);
/* The housekeeper looks and everything is committed, until nothing is left to do. */
void bench_settle(void);

/* The topic of that name, made when there is none; a name that ends in .fifo makes a FIFO topic. */
struct queue_topic *topic_of(const char *name);
struct queue_topic *topic_with(const char *name, void (*set)(struct topic_config *));
void topic_drop(const char *name);
void topic_set(const char *name, enum err (*change)(void *arg, struct topic_config *), void *arg);

struct queue_sent send_text(const char *topic, const char *body);
struct queue_sent send_delayed(const char *topic, const char *body, int64_t delay_ms);
struct queue_sent send_grouped(const char *topic, const char *body, const char *group,
                               const char *dedup);

/* What one receive brought; bytes live until the end of the test. */
struct got {
    size_t n;
    enum err err;
    struct queue_received at[QUEUE_BATCH_MAX];
};
struct got receive_for(const char *topic, size_t max, int64_t visibility_ms);
struct got receive(const char *topic, size_t max);
/* The bodies, as "a b c"; "" when nothing came. */
const char *bodies(const struct got *g);

enum err delete_receipt(const char *topic, const char *receipt);
enum err extend_receipt(const char *topic, const char *receipt, int64_t visibility_ms);
struct queue_counters count(const char *topic);
#define ck_assert_counts(topic, v, f, d)                                                           \
    do {                                                                                           \
        struct queue_counters counted = count(topic);                                              \
        ck_assert_uint_eq(counted.visible, v);                                                     \
        ck_assert_uint_eq(counted.in_flight, f);                                                   \
        ck_assert_uint_eq(counted.delayed, d);                                                     \
    } while (0)

/* A request that waits for commit. */
struct waiting {
    struct queue_wait w;
    bool told;
};
void waiting_init(struct waiting *w);
/* Commits, and answers whether it is durable and was told in the right way. */
void waiting_finish(struct waiting *w);

TCase *tcase_verbs(void);
TCase *tcase_spread(void);
TCase *tcase_topics(void);
TCase *tcase_restart(void);
TCase *tcase_polls(void);
TCase *tcase_moves(void);
TCase *tcase_redrive(void);
TCase *tcase_fifo(void);
TCase *tcase_window(void);
TCase *tcase_keep(void);
TCase *tcase_clean(void);
TCase *tcase_look(void);
TCase *tcase_send(void);
TCase *tcase_history(void);
TCase *tcase_limit(void);

#endif

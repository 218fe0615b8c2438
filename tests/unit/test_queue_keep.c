// SPDX-License-Identifier: Apache-2.0
/* What the housekeeper looks at, with many topics. */
#include <stdio.h>

#include "queue_fixture.h"

enum { TOPICS = 30, SECOND_MS = 1000, RETENTION_MS = 600 * 1000 };

static uint64_t kept(void)
{
    struct queue_stats stats;
    queue_stats_read(bench.q, &stats);
    return stats.kept;
}

static const char *name(int i)
{
    static char text[16];
    snprintf(text, sizeof text, "t%d", i);
    return text;
}

static void keep_ten_minutes(struct topic_config *c)
{
    c->retention_ms = RETENTION_MS;
}

static void send_to_all(void)
{
    for (int i = 0; i < TOPICS; i++) {
        queue_topic_give_back(topic_with(name(i), keep_ten_minutes));
        send_text(name(i), "body");
    }
}

static void let_it_settle(void)
{
    for (int i = 0; i < 3; i++)
        bench_pass(SECOND_MS);
}

START_TEST(nothing_is_looked_at_when_nothing_is_due)
{
    send_to_all();
    let_it_settle();
    uint64_t before = kept();
    ck_assert_uint_ge(before, TOPICS);
    for (int i = 0; i < 20; i++)
        bench_pass(SECOND_MS);
    ck_assert_uint_eq(kept(), before);
}
END_TEST

START_TEST(only_the_topic_that_was_sent_to_is_looked_at)
{
    send_to_all();
    let_it_settle();
    uint64_t before = kept();
    send_text("t7", "another");
    let_it_settle();
    ck_assert_uint_ge(kept(), before + 1);
    ck_assert_uint_le(kept(), before + 3);
}
END_TEST

START_TEST(messages_expire_in_topics_that_nobody_touches)
{
    send_to_all();
    let_it_settle();
    uint64_t before = kept();
    bench_pass(RETENTION_MS);
    let_it_settle();
    ck_assert_uint_ge(kept(), before + TOPICS);
    for (int i = 0; i < TOPICS; i++)
        ck_assert_counts(name(i), 0, 0, 0);
    before = kept();
    bench_pass(RETENTION_MS);
    ck_assert_uint_eq(kept(), before);
}
END_TEST

static enum err keep_a_minute(void *arg, struct topic_config *c)
{
    (void)arg;
    c->retention_ms = 60 * SECOND_MS;
    return ERR_OK;
}

START_TEST(a_shorter_retention_is_due_at_once)
{
    send_to_all();
    bench_pass(120 * SECOND_MS);
    let_it_settle();
    topic_set("t7", keep_a_minute, NULL);
    uint64_t before = kept();
    let_it_settle();
    ck_assert_uint_ge(kept(), before + 1);
    ck_assert_counts("t7", 0, 0, 0);
    ck_assert_counts("t8", 1, 0, 0);
}
END_TEST

START_TEST(messages_expire_in_topics_that_nobody_touches_after_a_restart)
{
    send_to_all();
    bench_restart();
    let_it_settle();
    uint64_t before = kept();
    bench_pass(SECOND_MS);
    ck_assert_uint_eq(kept(), before);
    bench_pass(RETENTION_MS);
    let_it_settle();
    for (int i = 0; i < TOPICS; i++)
        ck_assert_counts(name(i), 0, 0, 0);
}
END_TEST

START_TEST(what_a_start_would_replay_of_all_logs_together_is_bounded)
{
    /* Each log alone stays far below its own bound. */
    bench_stop();
    bench.options.snapshot_log_bytes = 8192;
    bench_start();
    uint64_t most = 0;
    for (int i = 0; i < 40; i++) {
        send_to_all();
        bench_pass(SECOND_MS);
        uint64_t bytes = __atomic_load_n(&bench.q->replay_bytes, __ATOMIC_RELAXED);
        most = bytes > most ? bytes : most;
    }
    ck_assert_uint_gt(most, 8192);
    ck_assert_uint_lt(most, 5 * 8192);
    bench_restart();
    ck_assert_uint_lt(bench.q->replay_bytes, 5 * 8192);
    for (int i = 0; i < TOPICS; i++)
        ck_assert_counts(name(i), 40, 0, 0);
}
END_TEST

TCase *tcase_keep(void)
{
    TCase *t = tcase_create("keep");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_test(t, nothing_is_looked_at_when_nothing_is_due);
    tcase_add_test(t, only_the_topic_that_was_sent_to_is_looked_at);
    tcase_add_test(t, messages_expire_in_topics_that_nobody_touches);
    tcase_add_test(t, a_shorter_retention_is_due_at_once);
    tcase_add_test(t, messages_expire_in_topics_that_nobody_touches_after_a_restart);
    tcase_add_test(t, what_a_start_would_replay_of_all_logs_together_is_bounded);
    return t;
}

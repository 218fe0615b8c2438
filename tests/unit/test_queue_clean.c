// SPDX-License-Identifier: Apache-2.0
/* One old message never pins the disk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue_fixture.h"

enum { SEGMENT_BYTES = 64 << 10, SNAPSHOT_BYTES = 100 << 10, BODY_BYTES = 500 };

static void small_segments(void)
{
    bench_stop();
    bench.options.segment_bytes = SEGMENT_BYTES;
    bench.options.snapshot_log_bytes = SNAPSHOT_BYTES;
    bench.options.cache_bytes = 8 << 10;
    bench_start();
}

/* n messages whose bodies begin with their place in the order of sending. */
static void send_n(const char *topic, int from, int n)
{
    char text[QUEUE_BATCH_MAX][BODY_BYTES + 1];
    struct queue_message m[QUEUE_BATCH_MAX];
    struct queue_sent sent[QUEUE_BATCH_MAX];
    enum err errs[QUEUE_BATCH_MAX];
    struct queue_topic *t = topic_of(topic);
    for (int i = 0; i < n; i += QUEUE_BATCH_MAX) {
        memset(m, 0, sizeof m);
        size_t k = 0;
        for (; k < QUEUE_BATCH_MAX && i + (int)k < n; k++) {
            snprintf(text[k], sizeof text[k], "%-500d", from + i + (int)k);
            m[k] = (struct queue_message){.body = bytes_of_text(text[k]), .delay_ms = -1};
        }
        struct waiting w;
        waiting_init(&w);
        queue_send(t, m, k, sent, errs, &w.w);
        waiting_finish(&w);
    }
    queue_topic_give_back(t);
}

static int place_of(const struct queue_received *r)
{
    char text[16] = {0};
    memcpy(text, r->body.at, 12);
    return (int)strtol(text, NULL, 10);
}

/* Receives and deletes n messages; those whose place is a multiple of `kept` stay leased. */
static void work_off(const char *topic, int n, int kept)
{
    for (int done = 0; done < n;) {
        struct got g = receive_for(topic, 10, 43200000);
        ck_assert_uint_gt(g.n, 0);
        for (size_t i = 0; i < g.n; i++)
            if (kept == 0 || place_of(&g.at[i]) % kept != 0)
                ck_assert_int_eq(delete_receipt(topic, g.at[i].receipt), ERR_OK);
        done += (int)g.n;
    }
    queue_commit_all(bench.q);
}

static struct plog_size size_of(const char *topic)
{
    struct queue_topic *t = topic_of(topic);
    struct plog_size size = plog_log_size(t->partitions[0].log);
    queue_topic_give_back(t);
    return size;
}

/* Time passes for the housekeeper, in steps short enough for the cleaner. */
static void pass_seconds(int seconds)
{
    for (int i = 0; i < seconds; i++) {
        bench_pass(1000);
        for (int k = 0; k < 500 && bench.q->cleaning.job != NULL; k++)
            bench_pass(20);
    }
}

START_TEST(a_message_leased_for_hours_among_many_finished_ones_costs_its_own_bytes)
{
    small_segments();
    send_n("q", 0, 3000);
    work_off("q", 3000, 3000);
    uint64_t before = size_of("q").bytes;
    ck_assert_uint_gt(before, 20 * SEGMENT_BYTES);
    pass_seconds(60);
    ck_assert_uint_lt(size_of("q").bytes, SEGMENT_BYTES + 2 * 1000);
    ck_assert_uint_le(size_of("q").segments, 3);
    for (int life = 0; life < 2; life++) {
        ck_assert_counts("q", 0, 1, 0);
        bench_restart();
    }
    fake_clock_pass(&bench.clock, 43200000);
    struct got g = receive("q", 10);
    ck_assert_uint_eq(g.n, 1);
    ck_assert_int_eq(place_of(&g.at[0]), 0);
    ck_assert_uint_eq(g.at[0].receive_count, 2);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    ck_assert_counts("q", 0, 0, 0);
}
END_TEST

START_TEST(what_stays_here_and_there_costs_no_more_than_twice_its_bytes)
{
    small_segments();
    send_n("q", 0, 4000);
    work_off("q", 4000, 20);
    pass_seconds(120);
    uint64_t live = 200 * (BODY_BYTES + 100);
    ck_assert_uint_lt(size_of("q").bytes, 2 * live + SEGMENT_BYTES);
    bench_restart();
    ck_assert_counts("q", 0, 200, 0);
    fake_clock_pass(&bench.clock, 43200000);
    for (int i = 0; i < 200;) {
        struct got g = receive("q", 10);
        ck_assert_uint_gt(g.n, 0);
        for (size_t k = 0; k < g.n; k++, i++)
            ck_assert_int_eq(place_of(&g.at[k]), 20 * i);
    }
}
END_TEST

START_TEST(a_delayed_message_outlives_cleaning_and_comes_when_it_is_due)
{
    small_segments();
    send_n("q", 1, 500);
    struct queue_sent sent = send_delayed("q", "7000000     later", 800000);
    send_n("q", 501, 1500);
    work_off("q", 2000, 0);
    pass_seconds(60);
    ck_assert_uint_lt(size_of("q").bytes, SEGMENT_BYTES + 2 * 1000);
    bench_restart();
    ck_assert_uint_eq(receive("q", 10).n, 0);
    ck_assert_counts("q", 0, 0, 1);
    fake_clock_pass(&bench.clock, 800000);
    struct got g = receive("q", 10);
    ck_assert_uint_eq(g.n, 1);
    ck_assert_mem_eq(g.at[0].id, sent.id, 16);
}
END_TEST

START_TEST(a_delete_that_a_crash_undoes_finds_its_message)
{
    small_segments();
    send_n("q", 0, 1000);
    work_off("q", 500, 0);
    static struct got held[50];
    static struct waiting waits[500];
    for (int i = 0; i < 50; i++)
        held[i] = receive_for("q", 10, 43200000);
    pass_seconds(15); /* snapshots are there, and the first look */
    struct queue_topic *t = topic_of("q");
    for (int i = 0; i < 50; i++)
        for (size_t k = 0; k < held[i].n; k++) {
            struct waiting *w = &waits[10 * i + (int)k];
            waiting_init(w);
            ck_assert_int_eq(queue_delete(t, bytes_of_text(held[i].at[k].receipt), false, &w->w),
                             ERR_OK);
            ck_assert(queue_wait_start(&w->w));
        }
    queue_topic_give_back(t);
    for (int i = 0; i < 3000; i++) {
        fake_clock_pass(&bench.clock, 20);
        queue_housekeep(bench.q); /* cleans, and commits nothing */
    }
    bench_restart();
    ck_assert_counts("q", 0, 500, 0);
    fake_clock_pass(&bench.clock, 43200000);
    for (int i = 500; i < 1000;) {
        struct got g = receive("q", 10);
        ck_assert_uint_gt(g.n, 0);
        for (size_t k = 0; k < g.n; k++, i++)
            ck_assert_int_eq(place_of(&g.at[k]), i);
    }
}
END_TEST

START_TEST(a_topic_may_go_while_it_is_cleaned)
{
    small_segments();
    send_n("q", 0, 2000);
    work_off("q", 2000, 2000);
    int i = 0;
    while (bench.q->cleaning.job == NULL && i++ < 100)
        bench_pass(1000);
    ck_assert_ptr_nonnull(bench.q->cleaning.job);
    bench_pass(20);
    topic_drop("q");
    for (i = 0; i < 10; i++)
        bench_pass(20);
    ck_assert_ptr_null(bench.q->cleaning.job);
    send_n("q", 0, 10);
    ck_assert_counts("q", 10, 0, 0);
}
END_TEST

START_TEST(a_message_that_expires_takes_a_gap_with_it)
{
    small_segments();
    send_n("q", 0, 3000);
    work_off("q", 3000, 2999);
    pass_seconds(60);
    ck_assert_counts("q", 0, 2, 0);
    fake_clock_pass(&bench.clock, 4 * 86400000ll);
    for (int i = 0; i < 3; i++)
        bench_pass(1000);
    ck_assert_counts("q", 0, 0, 0);
}
END_TEST

START_TEST(a_queue_that_is_worked_off_and_idle_keeps_no_more_than_a_segment)
{
    small_segments();
    for (int round = 0; round < 10; round++) {
        send_n("q", 300 * round, 300);
        work_off("q", 300, 0);
        bench_pass(1000); /* so that the journal is recycled as it goes */
    }
    pass_seconds(40);
    ck_assert_uint_le(size_of("q").bytes, SEGMENT_BYTES);
    ck_assert_uint_eq(size_of("q").segments, 1);
    bench_restart();
    ck_assert_counts("q", 0, 0, 0);
}
END_TEST

TCase *tcase_clean(void)
{
    TCase *t = tcase_create("clean");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_message_leased_for_hours_among_many_finished_ones_costs_its_own_bytes);
    tcase_add_test(t, what_stays_here_and_there_costs_no_more_than_twice_its_bytes);
    tcase_add_test(t, a_delayed_message_outlives_cleaning_and_comes_when_it_is_due);
    tcase_add_test(t, a_delete_that_a_crash_undoes_finds_its_message);
    tcase_add_test(t, a_topic_may_go_while_it_is_cleaned);
    tcase_add_test(t, a_message_that_expires_takes_a_gap_with_it);
    tcase_add_test(t, a_queue_that_is_worked_off_and_idle_keeps_no_more_than_a_segment);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* Backlogs that are larger than what is held in memory of them. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "queue_fixture.h"

static void send_many(const char *topic, int n, bool grouped)
{
    struct queue_topic *t = topic_of(topic);
    char text[QUEUE_BATCH_MAX][16], group[QUEUE_BATCH_MAX][16];
    struct queue_message m[QUEUE_BATCH_MAX];
    struct queue_sent sent[QUEUE_BATCH_MAX];
    enum err errs[QUEUE_BATCH_MAX];
    for (int i = 0; i < n; i += QUEUE_BATCH_MAX) {
        memset(m, 0, sizeof m);
        for (int k = 0; k < QUEUE_BATCH_MAX; k++) {
            snprintf(text[k], sizeof text[k], "%d", i + k);
            snprintf(group[k], sizeof group[k], "%d", (i + k) / 2500);
            m[k].body = bytes_of_text(text[k]);
            m[k].delay_ms = -1;
            if (grouped)
                m[k].group_id = bytes_of_text(group[k]);
            if (grouped)
                m[k].dedup_id = bytes_of_text(text[k]);
        }
        struct waiting w;
        waiting_init(&w);
        queue_send(t, m, QUEUE_BATCH_MAX, sent, errs, &w.w);
        for (int k = 0; k < QUEUE_BATCH_MAX; k++)
            ck_assert_int_eq(errs[k], ERR_OK);
        if (i % 1000 == 0 || i + QUEUE_BATCH_MAX >= n)
            waiting_finish(&w);
        else if (queue_wait_start(&w.w))
            queue_commit_all(bench.q);
    }
    queue_topic_give_back(t);
}

START_TEST(a_backlog_is_received_in_order_through_a_window_that_is_read_in_pieces)
{
    send_many("q", 5000, false);
    bench_restart(); /* the window is empty */
    char text[16];
    for (int i = 0; i < 5000;) {
        struct got g = receive("q", 10);
        ck_assert_uint_eq(g.n, 10);
        for (size_t k = 0; k < g.n; k++, i++) {
            snprintf(text, sizeof text, "%d", i);
            ck_assert(bytes_equal(g.at[k].body, bytes_of_text(text)));
        }
    }
    ck_assert_uint_eq(receive("q", 10).n, 0);
    ck_assert_counts("q", 0, 5000, 0);
}
END_TEST

START_TEST(messages_that_expire_far_behind_the_cursor_are_delivered_again)
{
    send_many("q", 3000, false);
    bench_restart();
    for (int i = 0; i < 300; i++)
        ck_assert_uint_eq(receive_for("q", 10, 1000).n, 10);
    fake_clock_pass(&bench.clock, 1000);
    queue_commit_all(bench.q);
    bench_restart();
    struct got g = receive("q", 3);
    ck_assert_str_eq(bodies(&g), "0 1 2");
    ck_assert_uint_eq(g.at[0].receive_count, 2);
}
END_TEST

START_TEST(a_fifo_receive_looks_past_blocked_groups)
{
    send_many("q.fifo", 5000, true); /* two groups, 2,500 messages each */
    bench_restart();
    struct got first = receive("q.fifo", 1);
    ck_assert_str_eq(bodies(&first), "0");
    struct got g = receive("q.fifo", 1);
    ck_assert_str_eq(bodies(&g), "2500");
    ck_assert_uint_eq(receive("q.fifo", 1).n, 0);
}
END_TEST

static void delay_a_minute(struct topic_config *c)
{
    c->delay_ms = 60000;
}

START_TEST(default_delays_are_counted_exactly_without_a_window)
{
    queue_topic_give_back(topic_with("q", delay_a_minute));
    send_many("q", 2000, false);
    fake_clock_pass(&bench.clock, 30000);
    send_many("q", 1000, false);
    bench_restart();
    ck_assert_counts("q", 0, 0, 3000);
    fake_clock_pass(&bench.clock, 30000);
    ck_assert_counts("q", 2000, 0, 1000);
    fake_clock_pass(&bench.clock, 29999);
    ck_assert_counts("q", 2000, 0, 1000);
    fake_clock_pass(&bench.clock, 1);
    ck_assert_counts("q", 3000, 0, 0);
}
END_TEST

START_TEST(windows_given_up_are_read_again)
{
    send_many("q", 200, false);
    struct got g = receive("q", 10);
    ck_assert_uint_eq(g.n, 10);
    struct queue_topic *t = topic_of("q");
    __atomic_fetch_add(&bench.q->windows_bytes, 1u << 30, __ATOMIC_RELAXED);
    windows_bound(bench.q);
    ck_assert_ptr_null(t->partitions[0].window);
    __atomic_fetch_sub(&bench.q->windows_bytes, 1u << 30, __ATOMIC_RELAXED);
    ck_assert_uint_eq(bench.q->windows_bytes, 0);
    g = receive("q", 3);
    ck_assert_str_eq(bodies(&g), "10 11 12");
    queue_topic_give_back(t);
}
END_TEST

START_TEST(an_expired_backlog_is_trimmed_in_bounded_steps)
{
    send_many("q", 3000, false);
    fake_clock_pass(&bench.clock, 4 * 86400000ll);
    struct queue_topic *t = topic_of("q");
    ck_assert(retention_trim(&t->partitions[0]));
    struct partition_group_info group;
    ck_assert(partition_group_find(t->partitions[0].state, GID_DEFAULT, &group));
    ck_assert_uint_eq(group.floor, 1000);
    ck_assert_counts("q", 0, 0, 0);
    queue_topic_give_back(t);
}
END_TEST

TCase *tcase_window(void)
{
    TCase *t = tcase_create("window");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_test(t, a_backlog_is_received_in_order_through_a_window_that_is_read_in_pieces);
    tcase_add_test(t, messages_that_expire_far_behind_the_cursor_are_delivered_again);
    tcase_add_test(t, a_fifo_receive_looks_past_blocked_groups);
    tcase_add_test(t, default_delays_are_counted_exactly_without_a_window);
    tcase_add_test(t, windows_given_up_are_read_again);
    tcase_add_test(t, an_expired_backlog_is_trimmed_in_bounded_steps);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* Long polls: who is woken, when, and what nobody misses. */
#include <string.h>

#include "queue_fixture.h"

struct polling {
    struct queue_poll poll;
    int wakes;
};

static void on_wake(struct queue_poll *p)
{
    CONTAINER_OF(p, struct polling, poll)->wakes++;
}

static struct queue_topic *t;

static void setup(void)
{
    bench_setup();
    t = topic_of("q");
}

static void teardown(void)
{
    queue_topic_give_back(t);
    bench_teardown();
}

static void start(struct polling *p)
{
    memset(p, 0, sizeof *p);
    ck_assert_int_eq(queue_poll_start(t, BYTES_NONE, &p->poll, on_wake), ERR_OK);
}

START_TEST(a_commit_wakes_the_oldest_waiter_and_no_more)
{
    struct polling a, b;
    start(&a);
    start(&b);
    send_text("q", "x");
    ck_assert_int_eq(a.wakes, 1);
    ck_assert_int_eq(b.wakes, 0);
    ck_assert_uint_eq(receive("q", 1).n, 1);
    queue_poll_end(&a.poll, false);
    ck_assert_int_eq(b.wakes, 0);
    queue_poll_end(&b.poll, false);
}
END_TEST

START_TEST(a_commit_wakes_as_many_as_there_are_messages)
{
    struct polling p[4];
    for (int i = 0; i < 4; i++)
        start(&p[i]);
    struct queue_message m[3] = {
        {.body = BYTES_OF("a"), .delay_ms = -1},
        {.body = BYTES_OF("b"), .delay_ms = -1},
        {.body = BYTES_OF("c"), .delay_ms = 5000},
    };
    struct queue_sent sent[3];
    enum err errs[3];
    struct waiting w;
    waiting_init(&w);
    queue_send(t, m, 3, sent, errs, &w.w);
    ck_assert_int_eq(p[0].wakes, 0);
    waiting_finish(&w);
    ck_assert_int_eq(p[0].wakes + p[1].wakes, 2);
    ck_assert_int_eq(p[2].wakes + p[3].wakes, 0);
    for (int i = 3; i >= 0; i--)
        queue_poll_end(&p[i].poll, false);
}
END_TEST

START_TEST(a_lease_end_wakes_at_the_deadline_and_not_before)
{
    send_text("q", "x");
    receive_for("q", 1, 1000);
    struct polling a;
    start(&a);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    ck_assert_int_eq(queue_housekeep(bench.q), queue_now_ms(bench.q) + 1000);
    bench_pass(999);
    ck_assert_int_eq(a.wakes, 0);
    bench_pass(1);
    ck_assert_int_eq(a.wakes, 1);
    ck_assert_uint_eq(receive("q", 1).n, 1);
    queue_poll_end(&a.poll, false);
}
END_TEST

START_TEST(a_due_time_wakes_whether_the_poll_or_the_message_came_first)
{
    struct polling a;
    if (_i == 0)
        start(&a);
    send_delayed("q", "x", 700);
    if (_i == 1)
        start(&a);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    ck_assert_int_eq(a.wakes, 0);
    bench_pass(699);
    ck_assert_int_eq(a.wakes, 0);
    bench_pass(1);
    ck_assert_int_eq(a.wakes, 1);
    queue_poll_end(&a.poll, false);
}
END_TEST

static enum err set_delay(void *arg, struct topic_config *c)
{
    c->delay_ms = *(int64_t *)arg;
    return ERR_OK;
}

START_TEST(the_end_of_a_topics_delay_wakes)
{
    struct polling a;
    int64_t delay_ms = 700;
    topic_set("q", set_delay, &delay_ms);
    start(&a);
    send_text("q", "x");
    ck_assert_int_eq(a.wakes, 0);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    bench_pass(699);
    ck_assert_int_eq(a.wakes, 0);
    bench_pass(1);
    ck_assert_int_eq(a.wakes, 1);
    queue_poll_end(&a.poll, false);
}
END_TEST

START_TEST(a_due_time_that_was_never_read_since_the_start_wakes_on_time)
{
    struct polling a;
    int64_t delay_ms = 700;
    topic_set("q", set_delay, &delay_ms);
    send_text("q", "x");
    fake_clock_pass(&bench.clock, 600);
    send_text("q", "y");
    queue_topic_give_back(t);
    bench_restart();
    t = topic_of("q");
    start(&a);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    bench_pass(99);
    ck_assert_int_eq(a.wakes, 0);
    ck_assert_int_eq(queue_housekeep(bench.q), queue_now_ms(bench.q) + 1);
    bench_pass(1);
    ck_assert_int_eq(a.wakes, 1);
    queue_poll_end(&a.poll, false);
}
END_TEST

START_TEST(a_lease_that_ends_early_wakes_early)
{
    send_text("q", "x");
    struct got g = receive_for("q", 1, 60000);
    struct polling a;
    start(&a);
    ck_assert_int_eq(extend_receipt("q", g.at[0].receipt, 300), ERR_OK);
    bench_pass(300);
    ck_assert_int_eq(a.wakes, 1);
    queue_poll_end(&a.poll, false);
    start(&a);
    g = receive_for("q", 1, 60000);
    ck_assert_int_eq(extend_receipt("q", g.at[0].receipt, 0), ERR_OK);
    ck_assert_int_eq(a.wakes, 1);
    queue_poll_end(&a.poll, false);
}
END_TEST

START_TEST(a_waiter_that_is_gone_passes_its_wake_on)
{
    struct polling a, b;
    start(&a);
    start(&b);
    send_text("q", "x");
    ck_assert_int_eq(b.wakes, 0);
    queue_poll_end(&a.poll, true);
    ck_assert_int_eq(b.wakes, 1);
    queue_poll_end(&b.poll, false);
}
END_TEST

START_TEST(a_waiter_that_took_one_of_two_leaves_the_other_to_the_next)
{
    struct polling a, b;
    start(&a);
    start(&b);
    struct got first;
    send_text("q", "x");
    first = receive("q", 1); /* a's own, before it heard of the wake */
    ck_assert_uint_eq(first.n, 1);
    send_text("q", "y");
    ck_assert_int_eq(b.wakes, 0); /* a is on its way: it may take y */
    queue_poll_end(&a.poll, false);
    ck_assert_int_eq(b.wakes, 1);
    queue_poll_end(&b.poll, false);
}
END_TEST

START_TEST(a_waiter_that_found_nothing_keeps_its_place)
{
    struct polling a, b;
    start(&a);
    start(&b);
    send_text("q", "x");
    ck_assert_uint_eq(receive("q", 1).n, 1); /* somebody else was faster */
    ck_assert(!queue_poll_again(&a.poll));
    send_text("q", "y");
    ck_assert_int_eq(a.wakes, 2);
    ck_assert_int_eq(b.wakes, 0);
    queue_poll_end(&a.poll, false);
    queue_poll_end(&b.poll, false);
}
END_TEST

START_TEST(what_came_while_a_waiter_was_on_its_way_is_not_missed)
{
    struct polling a;
    start(&a);
    send_text("q", "x");
    ck_assert_uint_eq(receive("q", 1).n, 1);
    send_text("q", "y"); /* after a's receive found nothing, before it says so */
    ck_assert_int_eq(a.wakes, 1);
    ck_assert(queue_poll_again(&a.poll));
    ck_assert_uint_eq(receive("q", 1).n, 1);
    ck_assert(!queue_poll_again(&a.poll));
    queue_poll_end(&a.poll, false);
}
END_TEST

START_TEST(a_dropped_topic_wakes_all)
{
    struct polling a, b;
    start(&a);
    start(&b);
    topic_drop("q");
    ck_assert_int_eq(a.wakes, 1);
    ck_assert_int_eq(b.wakes, 1);
    struct queue_received out[QUEUE_BATCH_MAX];
    struct queue_receive r = {.max = 1, .visibility_ms = -1};
    size_t n;
    struct queue_wait w = {0};
    ck_assert_int_eq(queue_receive(t, &r, NULL, out, &n, &w), ERR_NOT_FOUND);
    queue_poll_end(&a.poll, true);
    queue_poll_end(&b.poll, true);
}
END_TEST

START_TEST(given_back_messages_wake_at_once)
{
    send_text("q", "x");
    struct got g = receive("q", 1);
    struct polling a;
    start(&a);
    queue_give_back(t, g.at, g.n);
    ck_assert_int_eq(a.wakes, 1);
    queue_poll_end(&a.poll, false);
}
END_TEST

static bool disk_fails;
static struct disk good_disk;

static enum err failing_sync(void *self, int file)
{
    return disk_fails ? ERR_IO : good_disk.sync(self, file);
}

static void restart_with_failing_disk(void)
{
    static struct disk disk;
    bench_stop();
    disk = good_disk = bench.disk;
    disk.sync = failing_sync;
    bench.options.disk = &disk;
    bench_start();
}

START_TEST(a_failed_disk_is_told_to_all_who_wait)
{
    struct polling a;
    queue_topic_give_back(t);
    restart_with_failing_disk();
    t = topic_of("q");
    send_text("q", "x");
    struct got g = receive("q", 1);
    start(&a);
    struct queue_message m = {.body = BYTES_OF("y"), .delay_ms = -1};
    struct queue_sent sent;
    enum err e;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    ck_assert(queue_wait_start(&w.w));
    disk_fails = true;
    queue_pass_end(bench.q);
    queue_housekeep(bench.q);
    ck_assert(w.told);
    ck_assert_int_eq(w.w.err, ERR_FAILED);
    ck_assert(queue_failed(bench.q));
    ck_assert_int_ge(a.wakes, 1);
    queue_poll_end(&a.poll, true);
    ck_assert_int_eq(receive_for("q", 1, -1).err, ERR_FAILED);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_FAILED);
    queue_topic_give_back(t);
    bench_die();
    disk_fails = false;
    bench_start();
    t = topic_of("q");
    struct queue_counters c = count("q");
    ck_assert_uint_ge(c.visible + c.in_flight, 1); /* x was answered, y may be there */
    ck_assert_uint_le(c.visible + c.in_flight, 2);
}
END_TEST

TCase *tcase_polls(void)
{
    TCase *tc = tcase_create("polls");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_commit_wakes_the_oldest_waiter_and_no_more);
    tcase_add_test(tc, a_commit_wakes_as_many_as_there_are_messages);
    tcase_add_test(tc, a_lease_end_wakes_at_the_deadline_and_not_before);
    tcase_add_loop_test(tc, a_due_time_wakes_whether_the_poll_or_the_message_came_first, 0, 2);
    tcase_add_test(tc, the_end_of_a_topics_delay_wakes);
    tcase_add_test(tc, a_due_time_that_was_never_read_since_the_start_wakes_on_time);
    tcase_add_test(tc, a_lease_that_ends_early_wakes_early);
    tcase_add_test(tc, a_failed_disk_is_told_to_all_who_wait);
    tcase_add_test(tc, a_waiter_that_is_gone_passes_its_wake_on);
    tcase_add_test(tc, a_waiter_that_took_one_of_two_leaves_the_other_to_the_next);
    tcase_add_test(tc, a_waiter_that_found_nothing_keeps_its_place);
    tcase_add_test(tc, what_came_while_a_waiter_was_on_its_way_is_not_missed);
    tcase_add_test(tc, a_dropped_topic_wakes_all);
    tcase_add_test(tc, given_back_messages_wake_at_once);
    return tc;
}

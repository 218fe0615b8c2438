// SPDX-License-Identifier: Apache-2.0
/* FIFO topics. */
#include <string.h>

#include "queue_fixture.h"

static struct got receive_attempt(const char *topic, size_t max, int64_t visibility_ms,
                                  const char *attempt)
{
    static struct arena arena;
    struct queue_topic *t = topic_of(topic);
    struct got g = {0};
    struct waiting w;
    struct queue_receive r = {.max = max,
                              .visibility_ms = visibility_ms,
                              .holder = BYTES_OF("worker"),
                              .attempt_id = bytes_of_text(attempt)};
    arena_init(&arena, NULL, 0);
    waiting_init(&w);
    g.err = queue_receive(t, &r, &arena, g.at, &g.n, &w.w);
    ck_assert_int_eq(g.err, ERR_OK);
    waiting_finish(&w);
    queue_topic_give_back(t);
    for (size_t i = 0; i < g.n; i++) /* bodies of one letter */
        g.at[i].body = (struct bytes){strchr("abcdefgh", *(const char *)g.at[i].body.at), 1};
    arena_fini(&arena);
    return g;
}

static void restart_if(int yes)
{
    if (!yes)
        return;
    queue_commit_all(bench.q);
    bench_restart();
}

START_TEST(a_group_comes_in_order_and_blocks_while_one_is_in_flight)
{
    send_grouped("q.fifo", "a1", "a", "1");
    send_grouped("q.fifo", "a2", "a", "2");
    send_grouped("q.fifo", "b1", "b", "3");
    restart_if(_i);
    struct got first = receive_for("q.fifo", 1, 5000);
    ck_assert_str_eq(bodies(&first), "a1");
    restart_if(_i);
    struct got g = receive_for("q.fifo", 10, 5000);
    ck_assert_str_eq(bodies(&g), "b1");
    ck_assert_counts("q.fifo", 1, 2, 0);
    ck_assert_int_eq(delete_receipt("q.fifo", first.at[0].receipt), ERR_OK);
    restart_if(_i);
    g = receive_for("q.fifo", 10, 5000);
    ck_assert_str_eq(bodies(&g), "a2");
}
END_TEST

/* ---- a disk that cannot be read for a moment ---- */

static enum err (*real_read)(void *, int, void *, size_t, uint64_t, size_t *);
static int reads_to_fail;

static enum err read_or_fail(void *self, int file, void *at, size_t n, uint64_t offset, size_t *got)
{
    if (reads_to_fail == 0)
        return real_read(self, file, at, n, offset, got);
    reads_to_fail--;
    return ERR_FAILED;
}

/* Three messages in segments alone, whose headers are known. */
static void store_three(void)
{
    send_grouped("q.fifo", "a1", "a", "1");
    send_grouped("q.fifo", "a2", "a", "2");
    send_grouped("q.fifo", "b1", "b", "3");
    queue_commit_all(bench.q);
    bench_stop();
    bench_start();
    struct got g = receive_for("q.fifo", 10, 0);
    ck_assert_str_eq(bodies(&g), "a1 a2 b1");
    real_read = bench.disk.read;
    bench.disk.read = read_or_fail;
}

START_TEST(behind_one_that_cannot_be_read_nothing_of_its_group_comes)
{
    store_three();
    reads_to_fail = 1;
    struct got g = receive_for("q.fifo", 10, 5000);
    ck_assert_int_eq(reads_to_fail, 0);
    ck_assert_str_eq(bodies(&g), "b1");
    bench_pass(5000);
    g = receive_for("q.fifo", 10, 5000);
    ck_assert_str_eq(bodies(&g), "a1 a2 b1");
    bench.disk.read = real_read;
}
END_TEST

START_TEST(an_attempt_that_is_repeated_ends_before_one_that_cannot_be_read)
{
    store_three();
    struct got g = receive_attempt("q.fifo", 10, 5000, "try");
    ck_assert_uint_eq(g.n, 3);
    reads_to_fail = 1;
    g = receive_attempt("q.fifo", 10, 5000, "try");
    ck_assert_int_eq(reads_to_fail, 0);
    ck_assert_uint_eq(g.n, 0);
    g = receive_attempt("q.fifo", 10, 5000, "try");
    ck_assert_uint_eq(g.n, 3);
    bench.disk.read = real_read;
}
END_TEST

START_TEST(an_expired_group_starts_again_from_its_head)
{
    send_grouped("q.fifo", "a1", "a", "1");
    send_grouped("q.fifo", "a2", "a", "2");
    struct got g = receive_for("q.fifo", 10, 1000);
    ck_assert_str_eq(bodies(&g), "a1 a2");
    fake_clock_pass(&bench.clock, 1000);
    ck_assert_int_eq(delete_receipt("q.fifo", g.at[0].receipt), ERR_LEASE_EXPIRED);
    restart_if(_i);
    g = receive_for("q.fifo", 10, 1000);
    ck_assert_str_eq(bodies(&g), "a1 a2");
}
END_TEST

START_TEST(a_fifo_receive_waits_for_its_leases)
{
    send_grouped("q.fifo", "a", "a", "1");
    struct queue_topic *t = topic_of("q.fifo");
    struct queue_received out[QUEUE_BATCH_MAX];
    struct queue_receive r = {.max = 1, .visibility_ms = -1};
    struct arena arena;
    struct waiting w;
    size_t n;
    arena_init(&arena, NULL, 0);
    waiting_init(&w);
    ck_assert_int_eq(queue_receive(t, &r, &arena, out, &n, &w.w), ERR_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert(queue_wait_start(&w.w));
    queue_pass_end(bench.q);
    ck_assert(w.told);
    arena_fini(&arena);
    queue_topic_give_back(t);
}
END_TEST

/* A receive whose leases are committed only after `late_ms`. */
static enum err receive_late(const char *attempt, int64_t visibility_ms, int64_t late_ms)
{
    struct queue_topic *t = topic_of("q.fifo");
    struct queue_received out[QUEUE_BATCH_MAX];
    struct queue_receive r = {
        .max = 1, .visibility_ms = visibility_ms, .attempt_id = bytes_of_text(attempt)};
    struct arena arena;
    struct waiting w;
    size_t n;
    arena_init(&arena, NULL, 0);
    waiting_init(&w);
    ck_assert_int_eq(queue_receive(t, &r, &arena, out, &n, &w.w), ERR_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert(queue_wait_start(&w.w));
    fake_clock_pass(&bench.clock, late_ms);
    queue_pass_end(bench.q);
    ck_assert(w.told);
    arena_fini(&arena);
    queue_topic_give_back(t);
    return w.w.err;
}

START_TEST(a_lease_that_is_committed_after_its_end_is_not_handed_out)
{
    send_grouped("q.fifo", "a", "a", "1");
    ck_assert_int_eq(receive_late("", 2000, 1999), ERR_OK);
    fake_clock_pass(&bench.clock, 1);
    ck_assert_int_eq(receive_late("", 2000, 2000), ERR_UNKNOWN);
    ck_assert_int_eq(receive_late("", 0, 2000), ERR_OK); /* as asked for, it holds nothing */
    ck_assert_int_eq(receive_late("x", 5000, 1000), ERR_OK);
    ck_assert_int_eq(receive_late("x", 5000, 4999), ERR_OK); /* the same, held anew */
    ck_assert_int_eq(receive_late("x", 5000, 5000), ERR_UNKNOWN);
    struct got g = receive_for("q.fifo", 1, 1000);
    ck_assert_str_eq(bodies(&g), "a");
}
END_TEST

static void scope_per_group(struct topic_config *c)
{
    c->dedup_per_group = true;
    c->partitions = 4;
}

START_TEST(the_scope_of_deduplication_is_the_queue_or_the_group)
{
    send_grouped("q.fifo", "x", "a", "id");
    ck_assert(send_grouped("q.fifo", "x", "b", "id").duplicate);
    queue_topic_give_back(topic_with("g.fifo", scope_per_group));
    static const char *const groups[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int i = 0; i < 8; i++) /* some share a partition */
        ck_assert(!send_grouped("g.fifo", "x", groups[i], "id").duplicate);
    for (int i = 0; i < 8; i++)
        ck_assert(send_grouped("g.fifo", "x", groups[i], "id").duplicate);
}
END_TEST

START_TEST(a_duplicate_waits_for_the_commit_of_the_first)
{
    struct queue_topic *t = topic_of("q.fifo");
    struct queue_message m = {
        .body = BYTES_OF("a"),
        .delay_ms = -1,
        .group_id = BYTES_OF("g"),
        .dedup_id = BYTES_OF("1"),
    };
    struct queue_sent sent[2];
    enum err e;
    struct waiting first, second;
    waiting_init(&first);
    waiting_init(&second);
    queue_send(t, &m, 1, &sent[0], &e, &first.w);
    queue_send(t, &m, 1, &sent[1], &e, &second.w);
    ck_assert_int_eq(e, ERR_OK);
    ck_assert(sent[1].duplicate);
    ck_assert(queue_wait_start(&first.w) && queue_wait_start(&second.w));
    queue_pass_end(bench.q);
    ck_assert(first.told && second.told);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_purge_forgets_the_duplicates)
{
    send_grouped("q.fifo", "x", "a", "id");
    struct queue_topic *t = topic_of("q.fifo");
    struct waiting w;
    waiting_init(&w);
    ck_assert_int_eq(queue_purge(t, &w.w), ERR_OK);
    waiting_finish(&w);
    ck_assert(!send_grouped("q.fifo", "x", "a", "id").duplicate);
    ck_assert_counts("q.fifo", 1, 0, 0);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_group_stays_in_one_partition_over_restarts)
{
    queue_topic_give_back(topic_with("g.fifo", scope_per_group));
    static const char *const groups[] = {"a", "b", "c", "d", "e", "f"};
    uint32_t partition[6];
    bool differ = false;
    for (int i = 0; i < 6; i++) {
        partition[i] = send_grouped("g.fifo", "x", groups[i], "1").partition;
        differ = differ || partition[i] != partition[0];
    }
    ck_assert(differ);
    bench_restart();
    for (int i = 0; i < 6; i++)
        ck_assert_uint_eq(send_grouped("g.fifo", "x", groups[i], "2").partition, partition[i]);
}
END_TEST

START_TEST(the_same_attempt_brings_the_same_messages_and_begins_their_leases_anew)
{
    send_grouped("q.fifo", "a", "g", "1");
    send_grouped("q.fifo", "b", "g", "2");
    send_grouped("q.fifo", "c", "h", "3");
    struct got g = receive_attempt("q.fifo", 2, 30000, "x");
    ck_assert_str_eq(bodies(&g), "a b");
    fake_clock_pass(&bench.clock, 20000);
    struct got again = receive_attempt("q.fifo", 2, 30000, "x");
    ck_assert_str_eq(bodies(&again), "a b");
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(again.at[i].receipt, g.at[i].receipt);
        ck_assert_uint_eq(again.at[i].receive_count, 1);
        ck_assert_int_eq(again.at[i].first_received_wall_ms, g.at[i].first_received_wall_ms);
    }
    fake_clock_pass(&bench.clock, 20000); /* beyond the first end */
    ck_assert_counts("q.fifo", 1, 2, 0);
    struct got other = receive_attempt("q.fifo", 2, 30000, "y");
    ck_assert_str_eq(bodies(&other), "c");
    ck_assert_int_eq(delete_receipt("q.fifo", again.at[0].receipt), ERR_OK);
}
END_TEST

/* 0: deleted, 1: changed, 2: expired, 3: given up. */
START_TEST(an_attempt_again_brings_no_more_than_it_asks_for)
{
    send_grouped("q.fifo", "a", "g", "1");
    send_grouped("q.fifo", "b", "g", "2");
    send_grouped("q.fifo", "c", "g", "3");
    ck_assert_uint_eq(receive_attempt("q.fifo", 3, 30000, "x").n, 3);
    struct got g = receive_attempt("q.fifo", 1, 30000, "x");
    ck_assert_str_eq(bodies(&g), "a");
    g = receive_attempt("q.fifo", 10, 30000, "x");
    ck_assert_str_eq(bodies(&g), "a b c");
}
END_TEST

START_TEST(an_attempt_is_a_new_one_once_one_of_its_messages_was_touched)
{
    send_grouped("q.fifo", "a", "g", "1");
    send_grouped("q.fifo", "b", "g", "2");
    struct got g = receive_attempt("q.fifo", 2, 5000, "x");
    ck_assert_uint_eq(g.n, 2);
    if (_i == 0)
        ck_assert_int_eq(delete_receipt("q.fifo", g.at[1].receipt), ERR_OK);
    if (_i == 1)
        ck_assert_int_eq(extend_receipt("q.fifo", g.at[0].receipt, 9000), ERR_OK);
    if (_i == 2)
        fake_clock_pass(&bench.clock, 5000);
    if (_i == 3) {
        struct queue_topic *t = topic_of("q.fifo");
        queue_give_back(t, g.at, g.n);
        queue_topic_give_back(t);
    }
    struct got again = receive_attempt("q.fifo", 2, 5000, "x");
    ck_assert_str_eq(bodies(&again), _i < 2 ? "" : "a b");
    ck_assert(_i < 2 || again.at[0].receive_count == 2);
}
END_TEST

START_TEST(an_attempt_is_remembered_for_five_minutes_of_one_topic_alone)
{
    send_grouped("q.fifo", "a", "g", "1");
    send_grouped("r.fifo", "b", "g", "1");
    struct got g = receive_attempt("q.fifo", 1, 3600000, "x");
    g = receive_attempt("r.fifo", 1, 3600000, "x");
    ck_assert_str_eq(bodies(&g), "b");
    fake_clock_pass(&bench.clock, 299999);
    g = receive_attempt("q.fifo", 1, 3600000, "x");
    ck_assert_str_eq(bodies(&g), "a");
    fake_clock_pass(&bench.clock, 1);
    ck_assert_uint_eq(receive_attempt("q.fifo", 1, 3600000, "x").n, 0);
}
END_TEST

START_TEST(ten_thousand_attempts_are_remembered_and_then_the_oldest_goes)
{
    struct attempt_message m = {0};
    send_grouped("q.fifo", "a", "g", "1");
    struct got g = receive_attempt("q.fifo", 1, 60000, "x");
    struct queue_topic *t = topic_of("q.fifo");
    for (int i = 0; i < 9999; i++)
        attempt_note(t, (struct bytes){&i, sizeof i}, &m, 1);
    g = receive_attempt("q.fifo", 1, 60000, "x");
    ck_assert_uint_eq(g.n, 1);
    attempt_note(t, BYTES_OF("one more"), &m, 1);
    queue_topic_give_back(t);
    ck_assert_uint_eq(receive_attempt("q.fifo", 1, 60000, "x").n, 0);
}
END_TEST

static enum err keep_a_minute(void *arg, struct topic_config *c)
{
    (void)arg;
    c->retention_ms = 60000;
    return ERR_OK;
}

/* Visible, in flight or delayed; the age counts from the send. */
START_TEST(expired_messages_vanish_in_any_state_and_their_group_goes_on)
{
    queue_topic_give_back(topic_of("q.fifo"));
    topic_set("q.fifo", keep_a_minute, NULL);
    fake_clock_pass(&bench.clock, 100000);
    send_grouped("q.fifo", "held", "g", "1");
    send_grouped("q.fifo", "behind", "g", "2");
    ck_assert_uint_eq(receive_for("q.fifo", 1, 600000).n, 1);
    fake_clock_pass(&bench.clock, 30000);
    send_grouped("q.fifo", "young", "g", "3");
    bench_pass(29999);
    ck_assert_counts("q.fifo", 2, 1, 0);
    bench_pass(1);
    bench_settle();
    ck_assert_counts("q.fifo", 1, 0, 0);
    struct got g = receive("q.fifo", 10);
    ck_assert_str_eq(bodies(&g), "young");
    bench_pass(30000);
    bench_settle();
    ck_assert_counts("q.fifo", 0, 0, 0);
    ck_assert_int_eq(delete_receipt("q.fifo", g.at[0].receipt), ERR_GONE);
}
END_TEST

START_TEST(at_the_in_flight_limit_fifo_recovers_as_soon_as_a_lease_ends)
{
    bench_stop();
    bench.options.in_flight_max = 2;
    bench_start();
    send_grouped("q.fifo", "a", "a", "1");
    send_grouped("q.fifo", "b", "b", "2");
    send_grouped("q.fifo", "c", "c", "3");
    struct got g = receive_for("q.fifo", 10, 60000);
    ck_assert_uint_eq(g.n, 2);
    ck_assert_int_eq(receive_for("q.fifo", 1, 60000).err, ERR_OVER_LIMIT);
    ck_assert_int_eq(delete_receipt("q.fifo", g.at[0].receipt), ERR_OK);
    g = receive_for("q.fifo", 10, 1000);
    ck_assert_str_eq(bodies(&g), "c");
    ck_assert_int_eq(receive_for("q.fifo", 1, 60000).err, ERR_OVER_LIMIT);
    fake_clock_pass(&bench.clock, 1000);
    g = receive_for("q.fifo", 10, 1000);
    ck_assert_str_eq(bodies(&g), "c");
}
END_TEST

TCase *tcase_fifo(void)
{
    TCase *t = tcase_create("fifo");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_loop_test(t, a_group_comes_in_order_and_blocks_while_one_is_in_flight, 0, 2);
    tcase_add_loop_test(t, an_expired_group_starts_again_from_its_head, 0, 2);
    tcase_add_test(t, a_fifo_receive_waits_for_its_leases);
    tcase_add_test(t, a_lease_that_is_committed_after_its_end_is_not_handed_out);
    tcase_add_test(t, the_scope_of_deduplication_is_the_queue_or_the_group);
    tcase_add_test(t, a_duplicate_waits_for_the_commit_of_the_first);
    tcase_add_test(t, a_purge_forgets_the_duplicates);
    tcase_add_test(t, a_group_stays_in_one_partition_over_restarts);
    tcase_add_test(t, the_same_attempt_brings_the_same_messages_and_begins_their_leases_anew);
    tcase_add_test(t, an_attempt_again_brings_no_more_than_it_asks_for);
    tcase_add_loop_test(t, an_attempt_is_a_new_one_once_one_of_its_messages_was_touched, 0, 4);
    tcase_add_test(t, an_attempt_is_remembered_for_five_minutes_of_one_topic_alone);
    tcase_add_test(t, ten_thousand_attempts_are_remembered_and_then_the_oldest_goes);
    tcase_add_test(t, expired_messages_vanish_in_any_state_and_their_group_goes_on);
    tcase_add_test(t, at_the_in_flight_limit_fifo_recovers_as_soon_as_a_lease_ends);
    tcase_add_test(t, behind_one_that_cannot_be_read_nothing_of_its_group_comes);
    tcase_add_test(t, an_attempt_that_is_repeated_ends_before_one_that_cannot_be_read);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* What a restart keeps, and what time it is afterwards. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "queue_fixture.h"

START_TEST(what_was_answered_survives_the_process_death)
{
    send_text("q", "a");
    send_text("q", "b");
    struct got g = receive("q", 1);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    bench_restart();
    ck_assert_counts("q", 1, 0, 0);
    struct got left = receive("q", 10);
    ck_assert_str_eq(bodies(&left), "b");
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_GONE);
}
END_TEST

START_TEST(what_was_not_committed_is_not_there)
{
    struct queue_topic *t = topic_of("q");
    struct queue_message m = {.body = BYTES_OF("a"), .delay_ms = -1};
    struct queue_sent sent;
    enum err e;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    ck_assert(queue_wait_start(&w.w));
    queue_topic_give_back(t);
    bench_restart();
    ck_assert(!w.told);
    ck_assert_counts("q", 0, 0, 0);
}
END_TEST

static void restart(int clean)
{
    queue_commit_all(bench.q);
    if (clean) {
        bench_stop();
        bench_start();
    } else {
        bench_restart();
    }
}

START_TEST(leases_delays_and_counts_survive_a_restart)
{
    send_text("q", "leased");
    send_text("q", "free");
    send_delayed("q", "later", 10000);
    struct got g = receive_for("q", 1, 5000);
    ck_assert_str_eq(bodies(&g), "leased");
    fake_clock_pass(&bench.clock, 2000);
    restart(_i);
    ck_assert_counts("q", 1, 1, 1);
    fake_clock_pass(&bench.clock, 2999);
    g = receive_for("q", 10, 60000);
    ck_assert_str_eq(bodies(&g), "free");
    fake_clock_pass(&bench.clock, 1);
    restart(_i);
    g = receive_for("q", 10, 60000);
    ck_assert_str_eq(bodies(&g), "leased");
    ck_assert_uint_eq(g.at[0].receive_count, 2);
    fake_clock_pass(&bench.clock, 5000);
    g = receive_for("q", 10, 60000);
    ck_assert_str_eq(bodies(&g), "later");
}
END_TEST

START_TEST(duplicates_are_known_after_a_restart_for_five_minutes)
{
    struct queue_sent first = send_grouped("q.fifo", "a", "g", "id");
    fake_clock_pass(&bench.clock, 299999);
    restart(_i);
    struct queue_sent again = send_grouped("q.fifo", "b", "g", "id");
    ck_assert(again.duplicate);
    ck_assert_uint_eq(again.number, first.number);
    ck_assert_mem_eq(again.id, first.id, 16);
    fake_clock_pass(&bench.clock, 1);
    ck_assert(!send_grouped("q.fifo", "c", "g", "id").duplicate);
    ck_assert_counts("q.fifo", 2, 0, 0);
}
END_TEST

static void retention_of_a_minute(struct topic_config *c)
{
    c->retention_ms = 60000;
}

START_TEST(jumps_of_the_wall_clock_change_nothing)
{
    send_text("q", "a");
    receive_for("q", 1, 5000);
    queue_commit_all(bench.q);
    bench.clock.wall_ms += 86400000;
    ck_assert_uint_eq(receive("q", 1).n, 0);
    restart(_i);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    bench.clock.wall_ms -= 7 * 86400000ll;
    restart(_i);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    fake_clock_pass(&bench.clock, 5000);
    ck_assert_uint_eq(receive("q", 1).n, 1);
}
END_TEST

/* An hour back and forth, while running and over a restart: everything that waits goes by time that
 * has passed. */
START_TEST(no_jump_of_the_wall_clock_moves_a_delay_a_window_or_retention)
{
    static const int64_t jumps_ms[] = {3600000, -3600000, -7200000, 7200000};
    queue_topic_give_back(topic_with("q", retention_of_a_minute));
    for (size_t i = 0; i < sizeof jumps_ms / sizeof jumps_ms[0]; i++) {
        char dedup[8];
        snprintf(dedup, sizeof dedup, "%zu", i);
        send_delayed("q", "later", 5000);
        send_grouped("q.fifo", "once", "g", dedup);
        bench_pass(1000);
        bench.clock.wall_ms += jumps_ms[i];
        restart(_i);
        bench_pass(3999);
        ck_assert_uint_eq(receive("q", 1).n, 0);
        bench_pass(1);
        struct got g = receive_for("q", 10, 54999);
        ck_assert_str_eq(bodies(&g), "later");
        bench_pass(54999);
        ck_assert_counts("q", 1, 0, 0); /* accepted 59,999 ms ago */
        bench_pass(1);
        bench_pass(1000);
        ck_assert_counts("q", 0, 0, 0);
        bench_pass(300000 - 61001);
        ck_assert(send_grouped("q.fifo", "again", "g", dedup).duplicate);
        bench_pass(1);
        ck_assert(!send_grouped("q.fifo", "again", "g", dedup).duplicate);
    }
}
END_TEST

/* A reboot tells only by the wall clock how long it took, and that may be wrong by any amount. */
START_TEST(a_lease_never_outlives_its_length_by_a_wrong_clock_at_a_reboot)
{
    static const int64_t wrong_ms[] = {-3600000, 0, 3600000};
    send_text("q", "a");
    receive_for("q", 1, 5000);
    queue_commit_all(bench.q);
    bench_die();
    fake_clock_reboot(&bench.clock);
    bench.clock.wall_ms += wrong_ms[_i];
    bench_start();
    if (wrong_ms[_i] < 5000) {
        ck_assert_uint_eq(receive("q", 1).n, 0);
        fake_clock_pass(&bench.clock, 4999);
        ck_assert_uint_eq(receive("q", 1).n, 0);
        fake_clock_pass(&bench.clock, 1);
    }
    ck_assert_uint_eq(receive("q", 1).n, 1);
}
END_TEST

START_TEST(after_a_reboot_time_goes_on_by_the_wall_clock_but_never_back)
{
    send_text("q", "a");
    int64_t before_ms = queue_now_ms(bench.q);
    bench_die();
    fake_clock_reboot(&bench.clock);
    bench.clock.wall_ms += 3000;
    bench_start();
    ck_assert_int_eq(queue_now_ms(bench.q), before_ms + 3000);
    send_text("q", "b");
    bench_die();
    fake_clock_reboot(&bench.clock);
    bench.clock.wall_ms -= 1000000;
    bench_start();
    ck_assert_int_eq(queue_now_ms(bench.q), before_ms + 3000);
}
END_TEST

START_TEST(an_old_receipt_never_matches_a_lease_of_another_life)
{
    send_grouped("q.fifo", "a", "g", "1");
    struct got first = receive_for("q.fifo", 1, 1000);
    fake_clock_pass(&bench.clock, 1000);
    restart(_i);
    struct got second = receive_for("q.fifo", 1, 1000);
    ck_assert_uint_eq(second.n, 1);
    ck_assert_int_eq(delete_receipt("q.fifo", first.at[0].receipt), ERR_STALE_RECEIPT);
    ck_assert_int_eq(delete_receipt("q.fifo", second.at[0].receipt), ERR_OK);
}
END_TEST

START_TEST(an_idle_start_writes_nothing)
{
    send_text("q", "a");
    struct queue_topic *t = topic_of("q");
    uint64_t end = plog_end(t->partitions[0].log);
    queue_topic_give_back(t);
    bench_restart();
    bench_pass(5000);
    t = topic_of("q");
    ck_assert_uint_eq(plog_end(t->partitions[0].log), end);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(the_first_batch_of_a_life_opens_with_its_epoch)
{
    send_text("q", "a");
    bench_restart();
    struct queue_topic *t = topic_of("q");
    uint64_t end = plog_end(t->partitions[0].log);
    send_text("q", "b");
    ck_assert_uint_eq(plog_end(t->partitions[0].log), end + 2);
    send_text("q", "c");
    ck_assert_uint_eq(plog_end(t->partitions[0].log), end + 3);
    struct plog_cursor cursor;
    struct plog_entry entry;
    ck_assert_int_eq(plog_cursor_at_offset(t->partitions[0].log, end, 4096, &cursor), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&cursor, &entry), ERR_OK);
    ck_assert_int_eq(entry.type, RECORD_EPOCH);
    plog_cursor_close(&cursor);
    queue_topic_give_back(t);
}
END_TEST

/* Some traffic of every kind. */
static void random_traffic(struct rng *rng, const char *topic, int steps)
{
    struct got last = {0};
    for (int i = 0; i < steps; i++) {
        switch (rng_below(rng, 6)) {
        case 0:
            send_delayed(topic, "delayed", (int64_t)rng_below(rng, 3000));
            break;
        case 1:
            last = receive_for(topic, 1 + rng_below(rng, 10), (int64_t)rng_below(rng, 2000));
            break;
        case 2:
            if (last.n > 0)
                delete_receipt(topic, last.at[rng_below(rng, last.n)].receipt);
            break;
        case 3:
            if (last.n > 0)
                extend_receipt(topic, last.at[rng_below(rng, last.n)].receipt,
                               (int64_t)rng_below(rng, 3000));
            break;
        case 4:
            bench_pass((int64_t)rng_below(rng, 800));
            break;
        default:
            send_text(topic, "text");
        }
    }
}

static uint64_t state_hash(const char *topic)
{
    struct queue_topic *t = topic_of(topic);
    uint64_t hash = partition_hash(t->partitions[0].state);
    queue_topic_give_back(t);
    return hash;
}

START_TEST(a_snapshot_folded_in_the_background_equals_the_live_state)
{
    struct rng rng = {.state = test_seed()};
    for (int round = 0; round < 5; round++) {
        random_traffic(&rng, "q", 60);
        queue_commit_all(bench.q);
        struct queue_topic *t = topic_of("q");
        struct queue_partition *p = &t->partitions[0];
        struct buf folded = BUF_EMPTY, live = BUF_EMPTY;
        uint64_t offset;
        ck_assert_int_eq(snapshot_fold(p, &folded, &offset), ERR_OK);
        partition_save(p->state, &live);
        ck_assert_uint_eq(offset, plog_durable(p->log));
        ck_assert(bytes_equal(buf_bytes(&folded), buf_bytes(&live)));
        if (round % 2 == 0)
            ck_assert_int_eq(plog_snapshot_write(p->log, offset, buf_bytes(&folded)), ERR_OK);
        buf_fini(&folded);
        buf_fini(&live);
        queue_topic_give_back(t);
    }
}
END_TEST

static uint64_t newest_snapshot(void)
{
    struct queue_topic *t = topic_of("q");
    uint64_t offset = plog_snapshot_newest(t->partitions[0].log);
    queue_topic_give_back(t);
    return offset;
}

START_TEST(a_stop_writes_a_snapshot_only_where_there_is_something_to_replay)
{
    static const char body[] = "forty bytes are enough, as many as these";
    send_text("q", body);
    restart(1);
    ck_assert_uint_eq(newest_snapshot(), 0);
    for (int stops = 0; newest_snapshot() == 0; stops++) {
        ck_assert_int_lt(stops, 20); /* what was skipped counts on */
        for (int i = 0; i < 40; i++)
            send_text("q", body);
        restart(1);
    }
    ck_assert_uint_gt(newest_snapshot(), 80);
}
END_TEST

START_TEST(every_way_to_stop_leads_back_to_the_same_state)
{
    struct rng rng = {.state = test_seed()};
    bench_stop();
    bench.options.snapshot_log_bytes = 1 << 20; /* so that a clean stop writes one soon */
    bench_start();
    for (int round = 0; round < 6; round++) {
        random_traffic(&rng, "q", 40);
        queue_commit_all(bench.q);
        uint64_t hash = state_hash("q");
        restart(round % 2);
        ck_assert_uint_eq(state_hash("q"), hash);
    }
}
END_TEST

START_TEST(snapshots_are_written_while_serving)
{
    bench_stop();
    bench.options.snapshot_log_bytes = 2000;
    bench_start();
    for (int i = 0; i < 100; i++)
        send_text("q", "a body of some twenty bytes");
    bench_pass(2000);
    struct queue_topic *t = topic_of("q");
    ck_assert_uint_gt(plog_snapshot_newest(t->partitions[0].log), 0);
    queue_topic_give_back(t);
    uint64_t hash = state_hash("q");
    bench_restart();
    ck_assert_uint_eq(state_hash("q"), hash);
    ck_assert_counts("q", 100, 0, 0);
}
END_TEST

static uint64_t room_bytes;

static enum err room_left(void *self, uint64_t *free_bytes)
{
    (void)self;
    *free_bytes = room_bytes;
    return ERR_OK;
}

static enum err send_bytes(const char *at, size_t n)
{
    struct queue_topic *t = topic_of("q");
    struct queue_message m = {.body = {at, n}, .delay_ms = -1};
    struct queue_sent sent;
    enum err e;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    waiting_finish(&w);
    queue_topic_give_back(t);
    return e;
}

START_TEST(a_flood_does_not_eat_the_reserve_before_the_housekeeper_looks)
{
    enum { BODY_BYTES = 256 << 10, RESERVE_MIB = 256 };
    static char body[BODY_BYTES];
    memset(body, 'x', sizeof body);
    bench.disk.free_bytes = room_left;
    room_bytes = (uint64_t)(RESERVE_MIB + 1) << 20;
    ck_assert_int_eq(send_bytes(body, sizeof body), ERR_OK);
    room_bytes = (uint64_t)(RESERVE_MIB - 1) << 20;
    size_t sent = 0;
    while (sent <= (size_t)32 << 20 && send_bytes(body, sizeof body) == ERR_OK)
        sent += sizeof body;
    ck_assert_uint_le(sent, (size_t)16 << 20);
    ck_assert_int_eq(send_bytes("x", 1), ERR_NO_SPACE);
    struct got g = receive("q", 1);
    ck_assert_uint_eq(g.n, 1);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    /* When room returns, so do sends, without a restart. */
    room_bytes = (uint64_t)(RESERVE_MIB + 1) << 20;
    bench_pass(1000);
    ck_assert_int_eq(send_bytes("x", 1), ERR_OK);
    bench_restart();
    room_bytes = (uint64_t)(RESERVE_MIB - 1) << 20;
    ck_assert_int_eq(send_bytes("x", 1), ERR_NO_SPACE); /* the first send looks */
}
END_TEST

static uint64_t log_bytes_of(const char *topic)
{
    struct queue_topic *t = topic_of(topic);
    uint64_t bytes = t->partitions[0].log_bytes;
    queue_topic_give_back(t);
    return bytes;
}

static void send_unwaited(const char *topic, size_t n, struct waiting *w)
{
    static char body[1 << 20];
    struct queue_topic *t = topic_of(topic);
    struct queue_message m = {.body = {body, n}, .delay_ms = -1};
    struct queue_sent sent;
    enum err e;
    memset(body, 'x', sizeof body);
    waiting_init(w);
    queue_send(t, &m, 1, &sent, &e, &w->w);
    ck_assert_int_eq(e, ERR_OK);
    ck_assert(queue_wait_start(&w->w));
    queue_topic_give_back(t);
}

START_TEST(a_partition_may_begin_its_life_in_a_round_that_is_full)
{
    enum { ROUND_BYTES = 16 << 20, LARGE_N = 15, LEFT = 32 };
    struct waiting w[LARGE_N + 2];
    queue_topic_give_back(topic_of("q"));
    send_text("other", "x");
    bench_restart();
    send_text("other", "x");
    uint64_t before = log_bytes_of("other");
    for (int i = 0; i < LARGE_N; i++)
        send_unwaited("other", 1 << 20, &w[i]);
    uint64_t used = log_bytes_of("other") - before;
    uint64_t extra = used / LARGE_N - (1 << 20);
    send_unwaited("other", (size_t)(ROUND_BYTES - used - extra - LEFT), &w[LARGE_N]);
    used = log_bytes_of("other") - before;
    ck_assert(used <= ROUND_BYTES && used + 2 * LEFT > ROUND_BYTES);
    send_unwaited("q", 1, &w[LARGE_N + 1]); /* not even its EPOCH has room */
    for (int i = 0; i < 2; i++)
        queue_commit_all(bench.q);
    for (int i = 0; i < LARGE_N + 2; i++)
        ck_assert(w[i].told && w[i].w.err == ERR_OK);
    bench_restart();
    ck_assert_counts("q", 1, 0, 0);
}
END_TEST

static void delete_all_but(const char *body, char receipt[QUEUE_RECEIPT_TEXT_MAX + 1])
{
    for (struct got g; (g = receive_for("q", 10, 100)).n > 0;)
        for (size_t i = 0; i < g.n; i++) {
            if (bytes_equal(g.at[i].body, bytes_of_text(body)))
                memcpy(receipt, g.at[i].receipt, sizeof g.at[i].receipt);
            else
                ck_assert_int_eq(delete_receipt("q", g.at[i].receipt), ERR_OK);
        }
}

static uint64_t start_number(void)
{
    struct queue_topic *t = topic_of("q");
    struct queue_partition_info info;
    queue_partition_look(t, 0, &info);
    queue_topic_give_back(t);
    return info.start_number;
}

START_TEST(a_segment_stays_until_what_finished_its_messages_is_durable)
{
    char receipt[QUEUE_RECEIPT_TEXT_MAX + 1];
    char filler[600];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = 0;
    bench_stop();
    bench.options.segment_bytes = 4096;
    bench.options.snapshot_log_bytes = 1 << 20; /* so that a clean stop writes one soon */
    bench_start();
    send_text("q", "oldest");
    for (int i = 0; i < 40; i++)
        send_text("q", filler);
    delete_all_but("oldest", receipt);
    for (int i = 0; i < 2; i++) { /* two snapshots, so that segments may go */
        restart(1);
        send_text("q", filler);
        delete_all_but("oldest", receipt);
    }
    struct queue_topic *t = topic_of("q");
    struct waiting w;
    waiting_init(&w);
    ck_assert_int_eq(queue_delete(t, bytes_of_text(receipt), false, &w.w), ERR_OK);
    queue_topic_give_back(t);
    for (int i = 0; i < 3; i++) {
        fake_clock_pass(&bench.clock, 1000);
        queue_housekeep(bench.q);
    }
    ck_assert_uint_eq(start_number(), 0);
    if (_i == 0) { /* the delete is lost */
        bench_restart();
        struct got g = receive("q", 10);
        ck_assert_str_eq(bodies(&g), "oldest");
    } else {
        waiting_finish(&w);
        bench_pass(1000);
        bench_pass(1000);
        ck_assert_uint_gt(start_number(), 0);
    }
}
END_TEST

TCase *tcase_restart(void)
{
    TCase *t = tcase_create("restart");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_test(t, what_was_answered_survives_the_process_death);
    tcase_add_test(t, what_was_not_committed_is_not_there);
    tcase_add_test(t, a_partition_may_begin_its_life_in_a_round_that_is_full);
    tcase_add_loop_test(t, leases_delays_and_counts_survive_a_restart, 0, 2);
    tcase_add_loop_test(t, duplicates_are_known_after_a_restart_for_five_minutes, 0, 2);
    tcase_add_loop_test(t, jumps_of_the_wall_clock_change_nothing, 0, 2);
    tcase_add_loop_test(t, no_jump_of_the_wall_clock_moves_a_delay_a_window_or_retention, 0, 2);
    tcase_add_loop_test(t, a_lease_never_outlives_its_length_by_a_wrong_clock_at_a_reboot, 0, 3);
    tcase_add_test(t, after_a_reboot_time_goes_on_by_the_wall_clock_but_never_back);
    tcase_add_loop_test(t, an_old_receipt_never_matches_a_lease_of_another_life, 0, 2);
    tcase_add_test(t, an_idle_start_writes_nothing);
    tcase_add_test(t, the_first_batch_of_a_life_opens_with_its_epoch);
    tcase_add_test(t, a_snapshot_folded_in_the_background_equals_the_live_state);
    tcase_add_test(t, a_stop_writes_a_snapshot_only_where_there_is_something_to_replay);
    tcase_add_test(t, every_way_to_stop_leads_back_to_the_same_state);
    tcase_add_test(t, snapshots_are_written_while_serving);
    tcase_add_test(t, a_flood_does_not_eat_the_reserve_before_the_housekeeper_looks);
    tcase_add_loop_test(t, a_segment_stays_until_what_finished_its_messages_is_durable, 0, 2);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* Redrives: from a dead-letter topic back, or elsewhere. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "queue_fixture.h"

enum { VISIBLE_MS = 1000 };

static void set_policy(struct topic_config *c)
{
    c->receives_max = 1;
    snprintf(c->dead_letter, sizeof c->dead_letter, c->fifo ? "dead.fifo" : "dead");
}

static void three_partitions(struct topic_config *c)
{
    c->partitions = 3;
}

static void set_compact(struct topic_config *c)
{
    c->compact = true;
}

static void setup(void)
{
    bench_setup();
    queue_topic_give_back(topic_with("q", set_policy));
    queue_topic_give_back(topic_with("r", set_policy));
    queue_topic_give_back(topic_with("dead", three_partitions));
    queue_topic_give_back(topic_of("other"));
}

/* n messages "<name>0" and so on are sent to a topic, and become dead letters. */
static void bury(const char *topic, int n)
{
    char body[64];
    for (int i = 0; i < n; i++) {
        snprintf(body, sizeof body, "%s%d", topic, i);
        send_text(topic, body);
    }
    for (int got = 0; got < n;)
        got += (int)receive_for(topic, 10, VISIBLE_MS).n;
    fake_clock_pass(&bench.clock, VISIBLE_MS);
    while (count(topic).visible > 0) {
        ck_assert_uint_eq(receive(topic, 10).n, 0);
        bench_settle();
    }
}

static enum err start(const char *target, uint32_t per_second_max)
{
    uint8_t id[16];
    struct queue_topic *t = topic_of("dead"), *to = target == NULL ? NULL : topic_of(target);
    enum err e = queue_redrive_start(t, to, per_second_max, id);
    if (to != NULL)
        queue_topic_give_back(to);
    queue_topic_give_back(t);
    return e;
}

static struct queue_redrive newest(void)
{
    struct queue_redrive r[QUEUE_REDRIVES_MAX];
    struct queue_topic *t = topic_of("dead");
    ck_assert_uint_ge(queue_redrives(t, r, QUEUE_REDRIVES_MAX), 1);
    queue_topic_give_back(t);
    return r[0];
}

#define ck_assert_redrive(want_state, want_moved)                                                  \
    do {                                                                                           \
        struct queue_redrive shown = newest();                                                     \
        ck_assert_int_eq(shown.state, want_state);                                                 \
        ck_assert_uint_eq(shown.moved, want_moved);                                                \
    } while (0)

START_TEST(each_message_goes_back_to_where_it_came_from_as_a_new_one)
{
    struct queue_sent sent = send_text("q", "poison");
    ck_assert_uint_eq(receive_for("q", 1, VISIBLE_MS).n, 1);
    fake_clock_pass(&bench.clock, VISIBLE_MS);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    bench_settle();
    bury("r", 2);
    fake_clock_pass(&bench.clock, 5000);
    ck_assert_int_eq(start(NULL, 0), ERR_OK);
    ck_assert_uint_eq(newest().to_move, 3);
    int64_t now_wall_ms = bench.clock.wall_ms;
    bench_settle();
    ck_assert_redrive(QUEUE_REDRIVE_COMPLETED, 3);
    ck_assert_counts("dead", 0, 0, 0);
    ck_assert_counts("r", 2, 0, 0);
    struct got g = receive("q", 10);
    ck_assert_str_eq(bodies(&g), "poison");
    ck_assert_mem_ne(g.at[0].id, sent.id, 16);
    ck_assert_uint_eq(g.at[0].receive_count, 1);
    ck_assert_int_eq(g.at[0].sent_wall_ms, now_wall_ms);
    ck_assert_uint_eq(g.at[0].origin.n, 0);
}
END_TEST

START_TEST(all_go_to_one_topic_when_one_is_named)
{
    bury("q", 30);
    bury("r", 30);
    ck_assert_int_eq(start("other", 0), ERR_OK);
    bench_settle();
    ck_assert_redrive(QUEUE_REDRIVE_COMPLETED, 60);
    ck_assert_counts("other", 60, 0, 0);
    ck_assert_counts("dead", 0, 0, 0);
}
END_TEST

START_TEST(a_message_in_flight_stays_where_it_is)
{
    bury("q", 3);
    struct got g = receive_for("dead", 1, VISIBLE_MS);
    ck_assert_uint_eq(g.n, 1);
    ck_assert_int_eq(start(NULL, 0), ERR_OK);
    bench_settle();
    ck_assert_redrive(QUEUE_REDRIVE_COMPLETED, 2);
    ck_assert_counts("dead", 0, 1, 0);
    ck_assert_int_eq(delete_receipt("dead", g.at[0].receipt), ERR_OK);
}
END_TEST

START_TEST(what_comes_after_the_start_stays)
{
    bury("q", 2);
    ck_assert_int_eq(start(NULL, 1), ERR_OK);
    bury("r", 2);
    for (int i = 0; i < 10; i++)
        bench_pass(1000);
    ck_assert_redrive(QUEUE_REDRIVE_COMPLETED, 2);
    ck_assert_counts("dead", 2, 0, 0);
    ck_assert_counts("r", 0, 0, 0);
}
END_TEST

START_TEST(no_more_go_in_a_second_than_the_rate_says)
{
    bury("q", 40);
    ck_assert_int_eq(start(NULL, 10), ERR_OK);
    bench_settle();
    ck_assert_redrive(QUEUE_REDRIVE_RUNNING, 1);
    for (int i = 0; i < 10; i++)
        bench_pass(100);
    ck_assert_redrive(QUEUE_REDRIVE_RUNNING, 11);
    bench_pass(60000); /* a pause is not made up for */
    ck_assert_redrive(QUEUE_REDRIVE_RUNNING, 21);
    while (newest().state == QUEUE_REDRIVE_RUNNING)
        bench_pass(1000);
    ck_assert_redrive(QUEUE_REDRIVE_COMPLETED, 40);
}
END_TEST

START_TEST(one_is_under_way_at_a_time_and_the_last_ten_are_shown)
{
    bury("q", 3);
    ck_assert_int_eq(start(NULL, 1), ERR_OK);
    struct queue_redrive first = newest();
    ck_assert_int_eq(start(NULL, 1), ERR_EXISTS);
    for (int i = 0; i < 5; i++)
        bench_pass(1000);
    for (int i = 0; i < 10; i++) {
        fake_clock_pass(&bench.clock, 1000);
        ck_assert_int_eq(start("other", 0), ERR_OK);
        bench_settle();
    }
    struct queue_redrive r[QUEUE_REDRIVES_MAX + 1];
    struct queue_topic *t = topic_of("dead");
    ck_assert_uint_eq(queue_redrives(t, r, QUEUE_REDRIVES_MAX + 1), QUEUE_REDRIVES_MAX);
    queue_topic_give_back(t);
    for (int i = 0; i < QUEUE_REDRIVES_MAX; i++) {
        ck_assert_int_eq(r[i].state, QUEUE_REDRIVE_COMPLETED);
        ck_assert_str_eq(r[i].target, "other");
        ck_assert_mem_ne(r[i].id, first.id, 16);
        ck_assert(i == 0 || r[i].started_wall_ms < r[i - 1].started_wall_ms);
    }
}
END_TEST

static enum err cancel(const uint8_t id[16], uint64_t *moved)
{
    struct queue_topic *t = topic_of("dead");
    enum err e = queue_redrive_cancel(t, id, moved);
    queue_topic_give_back(t);
    return e;
}

START_TEST(a_cancelled_one_stops_and_says_how_far_it_came)
{
    uint64_t moved = 99;
    bury("q", 10);
    uint8_t other[16] = {1};
    ck_assert_int_eq(cancel(other, &moved), ERR_NOT_FOUND);
    ck_assert_int_eq(start(NULL, 2), ERR_OK);
    bench_pass(1000);
    struct queue_redrive r = newest();
    ck_assert_int_eq(cancel(other, &moved), ERR_NOT_FOUND);
    ck_assert_int_eq(cancel(r.id, &moved), ERR_OK);
    ck_assert_uint_eq(moved, r.moved);
    ck_assert_int_eq(newest().state, QUEUE_REDRIVE_CANCELLING);
    if (_i) /* also when the process dies first */
        bench_restart();
    for (int i = 0; i < 5; i++)
        bench_pass(1000);
    ck_assert_redrive(QUEUE_REDRIVE_CANCELLED, moved);
    ck_assert_counts("dead", 10 - moved, 0, 0);
    ck_assert_counts("q", moved, 0, 0);
    ck_assert_int_eq(cancel(r.id, &moved), ERR_NOT_FOUND);
    ck_assert_int_eq(start(NULL, 0), ERR_OK);
    bench_settle();
    ck_assert_counts("q", 10, 0, 0);
}
END_TEST

START_TEST(a_message_that_came_from_nowhere_ends_it_and_stays)
{
    send_text("dead", "stray");
    ck_assert_int_eq(start(NULL, 0), ERR_OK);
    bench_settle();
    ck_assert_redrive(QUEUE_REDRIVE_FAILED, 0);
    ck_assert(newest().no_source);
    ck_assert_counts("dead", 1, 0, 0);
    ck_assert_uint_eq(count("dead").moving, 0);
}
END_TEST

START_TEST(a_target_that_is_deleted_ends_it_and_the_messages_stay)
{
    bury("q", 4);
    ck_assert_int_eq(start(_i ? "other" : NULL, 1), ERR_OK);
    topic_drop(_i ? "other" : "q");
    for (int i = 0; i < 3; i++)
        bench_pass(1000);
    ck_assert_redrive(QUEUE_REDRIVE_FAILED, 0);
    ck_assert(!newest().no_source);
    ck_assert_counts("dead", 4, 0, 0);
}
END_TEST

START_TEST(a_topic_made_anew_under_the_name_gets_its_messages)
{
    bury("q", 2);
    topic_drop("q");
    bench_settle();
    queue_topic_give_back(topic_of("q"));
    ck_assert_int_eq(start(NULL, 0), ERR_OK);
    bench_settle();
    ck_assert_redrive(QUEUE_REDRIVE_COMPLETED, 2);
    ck_assert_counts("q", 2, 0, 0);
}
END_TEST

/* The number behind the first letter. */
static int number_behind(struct bytes body)
{
    const char *at = body.at;
    int n = 0;
    for (size_t i = 1; i < body.n; i++)
        n = n * 10 + (at[i] - '0');
    return n;
}

/* The process dies again and again, at another place of the redrive each time. */
START_TEST(a_compact_topic_made_anew_under_the_name_gets_none)
{
    bury("q", 2);
    topic_drop("q");
    bench_settle();
    queue_topic_give_back(topic_with("q", set_compact));
    ck_assert_int_eq(start(NULL, 0), ERR_OK);
    bench_settle();
    ck_assert_redrive(QUEUE_REDRIVE_FAILED, 0);
    ck_assert_counts("dead", 2, 0, 0);
}
END_TEST

START_TEST(each_message_arrives_once_wherever_the_process_dies)
{
    enum { N = 40 };
    char seen[N] = {0};
    bury("q", N);
    ck_assert_int_eq(start("other", _i == 0 ? 0 : (uint32_t)_i), ERR_OK);
    if (_i == 0)
        bench_restart();
    for (int i = 0; newest().state == QUEUE_REDRIVE_RUNNING; i++) {
        ck_assert_int_lt(i, 1000);
        fake_clock_pass(&bench.clock, 300);
        queue_housekeep(bench.q);
        if (i % 3 == 0)
            queue_commit_all(bench.q);
        bench_restart();
    }
    ck_assert_int_eq(newest().state, QUEUE_REDRIVE_COMPLETED);
    ck_assert_counts("dead", 0, 0, 0);
    ck_assert_counts("other", N, 0, 0);
    for (int got = 0; got < N;) {
        struct got g = receive("other", 10);
        ck_assert_uint_gt(g.n, 0);
        for (size_t i = 0; i < g.n; i++) {
            int which = number_behind(g.at[i].body);
            ck_assert_int_eq(seen[which]++, 0);
        }
        got += (int)g.n;
    }
}
END_TEST

/* After MOVE is committed; after the message is appended at the target, committed there, MOVED not;
 * after all. The state in between is made by hand, as move.c does it. */
START_TEST(a_move_that_was_under_way_at_a_crash_is_finished_once)
{
    bury("q", 1);
    ck_assert_int_eq(start("other", 0), ERR_OK);
    struct queue_topic *dead = topic_of("dead"), *other = topic_of("other");
    struct queue_partition *p = NULL;
    for (uint32_t i = 0; i < 3; i++)
        if (partition_next_number(dead->partitions[i].state) > 0)
            p = &dead->partitions[i];
    struct record move = {.type = RECORD_MOVE};
    move.move = (struct record_move){.gid = GID_DEFAULT, .target = other->id};
    struct appending a;
    lock_take(&p->lk);
    append_begin_locked(&a, p, queue_now_ms(bench.q));
    append_put_locked(&a, &move);
    append_end_locked(&a, true);
    lock_give(&p->lk);
    if (_i > 0)
        queue_commit_all(bench.q);
    if (_i > 1) {
        struct partition_move open;
        ck_assert_uint_eq(partition_moves_open(p->state, 0, &open, 1), 1);
        ck_assert(partition_move_is_redrive(&open));
        struct record r = {.type = RECORD_MESSAGE};
        r.message = (struct record_message){.body = BYTES_OF("q0"),
                                            .accepted_ms = queue_now_ms(bench.q),
                                            .due_ms = queue_now_ms(bench.q),
                                            .moved = true,
                                            .origin = {.topic = dead->id, .partition = p->index}};
        struct queue_partition *to = &other->partitions[0];
        lock_take(&to->lk);
        append_begin_locked(&a, to, queue_now_ms(bench.q));
        append_put_locked(&a, &r);
        append_end_locked(&a, true);
        lock_give(&to->lk);
        queue_commit_all(bench.q);
    }
    queue_topic_give_back(dead);
    queue_topic_give_back(other);
    bench_restart();
    bench_settle();
    bench_pass(1000);
    bench_settle();
    ck_assert_int_eq(newest().state, QUEUE_REDRIVE_COMPLETED);
    ck_assert_counts("dead", 0, 0, 0);
    ck_assert_counts("other", 1, 0, 0);
    bench_restart();
    bench_settle();
    ck_assert_counts("other", 1, 0, 0);
}
END_TEST

START_TEST(fifo_keeps_the_order_of_each_group)
{
    char id[16];
    queue_topic_give_back(topic_with("q.fifo", set_policy));
    queue_topic_give_back(topic_of("dead.fifo"));
    for (int i = 0; i < 6; i++) {
        snprintf(id, sizeof id, "%d", i);
        send_grouped("q.fifo", id, i % 2 ? "a" : "b", id);
    }
    ck_assert_uint_eq(receive_for("q.fifo", 10, VISIBLE_MS).n, 6);
    fake_clock_pass(&bench.clock, VISIBLE_MS);
    ck_assert_uint_eq(receive("q.fifo", 10).n, 0);
    bench_settle();
    ck_assert_counts("dead.fifo", 6, 0, 0);
    struct queue_topic *t = topic_of("dead.fifo");
    uint8_t task[16];
    ck_assert_int_eq(queue_redrive_start(t, NULL, 0, task), ERR_OK);
    queue_topic_give_back(t);
    bench_settle();
    struct got g = receive("q.fifo", 10);
    ck_assert_str_eq(bodies(&g), "0 2 4 1 3 5");
    ck_assert_uint_eq(g.at[0].dedup_id.n, 36);
    ck_assert(bytes_equal(g.at[0].group_id, BYTES_OF("b")));
}
END_TEST

/* With a rate its steps come more often than the housekeeper drives what had to wait. */
START_TEST(one_whose_target_was_away_goes_on_to_its_end)
{
    enum { N = 30 };
    for (int i = 0; i < N; i++)
        send_text("dead", "x");
    struct queue_topic *other = topic_of("other");
    bench_pass(1000);
    ck_assert_int_eq(start("other", 10), ERR_OK);
    other->partitions[0].closed = true;
    for (int i = 0; i < 5; i++)
        bench_pass(100); /* of each partition one is on its way */
    other->partitions[0].closed = false;
    queue_topic_give_back(other);
    bench_pass(100);
    ck_assert_int_eq(newest().state, QUEUE_REDRIVE_RUNNING);
    for (int i = 0; i < 10; i++)
        bench_pass(1000);
    ck_assert_redrive(QUEUE_REDRIVE_COMPLETED, N);
    ck_assert_counts("other", N, 0, 0);
}
END_TEST

static void *keep_house(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE))
        queue_housekeep(bench.q);
    return NULL;
}

/* The end of one is seen while the housekeeper still writes it to the catalogue. */
START_TEST(the_next_one_may_be_started_as_soon_as_one_is_seen_to_have_ended)
{
    pthread_t housekeeper;
    bool stop = false;
    ck_assert_int_eq(pthread_create(&housekeeper, NULL, keep_house, &stop), 0);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(start("other", 0), ERR_OK);
        while (newest().state == QUEUE_REDRIVE_RUNNING)
            continue;
        ck_assert_int_eq(newest().state, QUEUE_REDRIVE_COMPLETED);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    pthread_join(housekeeper, NULL);
}
END_TEST

START_TEST(a_deleted_topic_takes_its_redrive_along)
{
    bury("q", 5);
    ck_assert_int_eq(start(NULL, 1), ERR_OK);
    topic_drop("dead");
    bench_settle();
    ck_assert_uint_le(count("q").visible, 1);
    struct catalog_kvs kvs = {0};
    ck_assert_int_eq(catalog_list(bench.q->catalog, "r/", &kvs), ERR_OK);
    ck_assert_uint_eq(kvs.n, 0);
    catalog_kvs_fini(&kvs);
    bench_pass(70000); /* it is freed */
    struct queue_topic *t = topic_of("dead");
    struct queue_redrive r;
    ck_assert_uint_eq(queue_redrives(t, &r, 1), 0);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_redrive_to_the_topic_itself_ends)
{
    bury("q", 5);
    ck_assert_int_eq(start("dead", 0), ERR_OK);
    bench_settle();
    ck_assert_redrive(QUEUE_REDRIVE_COMPLETED, 5);
    ck_assert_counts("dead", 5, 0, 0);
}
END_TEST

TCase *tcase_redrive(void)
{
    TCase *t = tcase_create("redrive");
    tcase_add_checked_fixture(t, setup, bench_teardown);
    tcase_add_test(t, each_message_goes_back_to_where_it_came_from_as_a_new_one);
    tcase_add_test(t, all_go_to_one_topic_when_one_is_named);
    tcase_add_test(t, a_message_in_flight_stays_where_it_is);
    tcase_add_test(t, what_comes_after_the_start_stays);
    tcase_add_test(t, no_more_go_in_a_second_than_the_rate_says);
    tcase_add_test(t, one_is_under_way_at_a_time_and_the_last_ten_are_shown);
    tcase_add_loop_test(t, a_cancelled_one_stops_and_says_how_far_it_came, 0, 2);
    tcase_add_test(t, a_message_that_came_from_nowhere_ends_it_and_stays);
    tcase_add_loop_test(t, a_target_that_is_deleted_ends_it_and_the_messages_stay, 0, 2);
    tcase_add_test(t, a_topic_made_anew_under_the_name_gets_its_messages);
    tcase_add_test(t, a_compact_topic_made_anew_under_the_name_gets_none);
    tcase_add_loop_test(t, each_message_arrives_once_wherever_the_process_dies, 0, 12);
    tcase_add_loop_test(t, a_move_that_was_under_way_at_a_crash_is_finished_once, 0, 3);
    tcase_add_test(t, fifo_keeps_the_order_of_each_group);
    tcase_add_test(t, one_whose_target_was_away_goes_on_to_its_end);
    tcase_add_test(t, the_next_one_may_be_started_as_soon_as_one_is_seen_to_have_ended);
    tcase_add_test(t, a_deleted_topic_takes_its_redrive_along);
    tcase_add_test(t, a_redrive_to_the_topic_itself_ends);
    return t;
}

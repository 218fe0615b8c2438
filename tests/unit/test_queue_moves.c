// SPDX-License-Identifier: Apache-2.0
/* Dead letters. */
#include <stdio.h>
#include <string.h>

#include "queue_fixture.h"

static void set_policy(struct topic_config *c)
{
    c->receives_max = 2;
    snprintf(c->dead_letter, sizeof c->dead_letter, c->fifo ? "dead.fifo" : "dead");
}

static void setup(void)
{
    bench_setup();
    queue_topic_give_back(topic_with("q", set_policy));
    queue_topic_give_back(topic_of("dead"));
}

static void use_up(const char *topic)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(receive_for(topic, 1, 1000).n, 1);
        queue_commit_all(bench.q);
        fake_clock_pass(&bench.clock, 1000);
    }
}

START_TEST(a_poison_message_moves_at_the_receive_after_its_last)
{
    struct queue_sent sent = send_text("q", "poison");
    int64_t sent_wall_ms = bench.clock.wall_ms;
    use_up("q");
    bench_settle();
    ck_assert_counts("q", 1, 0, 0); /* nothing moves by expiry alone */
    ck_assert_uint_eq(receive("q", 10).n, 0);
    ck_assert_uint_eq(count("q").moving, 1);
    bench_settle();
    ck_assert_counts("q", 0, 0, 0);
    ck_assert_uint_eq(count("q").moving, 0);
    struct got g = receive("dead", 10);
    ck_assert_str_eq(bodies(&g), "poison");
    ck_assert_mem_eq(g.at[0].id, sent.id, 16);
    ck_assert_uint_eq(g.at[0].receive_count, 3);
    ck_assert_int_eq(g.at[0].sent_wall_ms, sent_wall_ms);
    ck_assert(bytes_equal(g.at[0].origin, BYTES_OF("q")));
    struct queue_stats stats;
    queue_stats_read(bench.q, &stats);
    ck_assert_uint_eq(stats.moves, 1);
}
END_TEST

START_TEST(a_receive_that_moves_one_still_brings_the_next)
{
    send_text("q", "poison");
    use_up("q");
    send_text("q", "good");
    struct got g = receive("q", 10);
    ck_assert_str_eq(bodies(&g), "good");
}
END_TEST

/* The process dies after each of the steps: MOVE, append at the target, MOVED. */
START_TEST(a_poison_message_lands_once_wherever_the_process_dies)
{
    send_text("q", "poison");
    use_up("q");
    ck_assert_uint_eq(receive("q", 10).n, 0); /* MOVE is appended, nobody waits for it */
    if (_i == 0)
        bench_restart(); /* and lost */
    if (_i >= 1)
        queue_commit_all(bench.q);
    if (_i == 1)
        bench_restart();
    if (_i >= 2) {
        struct queue_topic *dead = topic_of("dead"), *q = topic_of("q");
        struct queue_partition *p = &q->partitions[0];
        uint64_t before = plog_end(p->log);
        move_drive(p);
        ck_assert_uint_gt(plog_end(p->log), before);
        ck_assert_uint_eq(plog_durable_number(dead->partitions[0].log), 1);
        queue_topic_give_back(dead);
        queue_topic_give_back(q);
        bench_restart();
    }
    ck_assert_uint_eq(receive("q", 10).n, 0);
    bench_settle();
    ck_assert_counts("q", 0, 0, 0);
    struct got g = receive("dead", 10);
    ck_assert_str_eq(bodies(&g), "poison");
    queue_commit_all(bench.q);
    bench_restart();
    bench_settle();
    ck_assert_counts("dead", 0, 1, 0);
    ck_assert_counts("q", 0, 0, 0);
}
END_TEST

START_TEST(a_message_appended_at_the_target_before_a_crash_is_not_appended_again)
{
    send_text("q", "poison");
    use_up("q");
    ck_assert_uint_eq(receive("q", 10).n, 0);
    queue_commit_all(bench.q);
    struct queue_topic *q = topic_of("q");
    struct queue_partition *p = &q->partitions[0];
    /* MOVED cannot be appended: the target has the message, the source still has the move. */
    struct record_message m;
    struct reader reader;
    reader_init(&reader);
    ck_assert_int_eq(reader_get(&reader, p->log, 0, 4096, &m), ERR_OK);
    struct queue_topic *dead = topic_of("dead");
    struct queue_partition *to = &dead->partitions[0];
    struct record r = {.type = RECORD_MESSAGE};
    r.message = m;
    r.message.moved = true;
    r.message.receive_count = 2;
    r.message.origin =
        (struct record_origin){.topic = q->id, .name = BYTES_OF("q"), .partition = 0};
    struct appending a;
    lock_take(&to->lk);
    append_begin_locked(&a, to, queue_now_ms(bench.q));
    append_put_locked(&a, &r);
    append_end_locked(&a, true);
    lock_give(&to->lk);
    reader_fini(&reader);
    queue_commit_all(bench.q);
    queue_topic_give_back(dead);
    queue_topic_give_back(q);
    bench_restart();
    bench_settle();
    ck_assert_uint_eq(count("q").moving, 0);
    ck_assert_counts("q", 0, 0, 0);
    ck_assert_counts("dead", 1, 0, 0);
}
END_TEST

START_TEST(nothing_moves_before_its_intent_is_committed)
{
    send_text("q", "poison");
    use_up("q");
    ck_assert_uint_eq(receive("q", 1).n, 0);
    struct queue_topic *dead = topic_of("dead"), *q = topic_of("q");
    uint64_t end = plog_end(dead->partitions[0].log);
    move_drive(&q->partitions[0]);
    ck_assert_uint_eq(plog_end(dead->partitions[0].log), end);
    queue_topic_give_back(dead);
    queue_topic_give_back(q);
    bench_settle();
    ck_assert_counts("dead", 1, 0, 0);
}
END_TEST

START_TEST(without_its_target_a_message_is_delivered_on)
{
    topic_drop("dead");
    send_text("q", "poison");
    use_up("q");
    struct got g = receive("q", 1);
    ck_assert_uint_eq(g.n, 1);
    ck_assert_uint_eq(g.at[0].receive_count, 3);
}
END_TEST

START_TEST(a_target_that_goes_while_a_move_is_open_gives_the_message_back)
{
    send_text("q", "poison");
    use_up("q");
    ck_assert_uint_eq(receive("q", 1).n, 0);
    topic_drop("dead");
    ck_assert_uint_eq(count("q").moving, 1);
    bench_settle();
    ck_assert_counts("q", 1, 0, 0);
    struct got g = receive("q", 1);
    ck_assert_str_eq(bodies(&g), "poison");
}
END_TEST

START_TEST(a_fifo_move_keeps_the_group_and_shows_the_message_id_as_dedup_id)
{
    queue_topic_give_back(topic_with("q.fifo", set_policy));
    queue_topic_give_back(topic_of("dead.fifo"));
    struct queue_sent sent = send_grouped("q.fifo", "poison", "g", "id");
    send_grouped("q.fifo", "behind", "g", "id2");
    use_up("q.fifo");
    struct got behind = receive("q.fifo", 1);
    ck_assert_str_eq(bodies(&behind), "behind");
    bench_settle();
    struct got g = receive("dead.fifo", 1);
    ck_assert_str_eq(bodies(&g), "poison");
    ck_assert(bytes_equal(g.at[0].group_id, BYTES_OF("g")));
    char text[64];
    const uint8_t *id = sent.id;
    snprintf(text, sizeof text, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-", id[0], id[1], id[2],
             id[3], id[4], id[5], id[6], id[7], id[8], id[9]);
    ck_assert_uint_eq(g.at[0].dedup_id.n, 36);
    ck_assert_mem_eq(g.at[0].dedup_id.at, text, 24);
}
END_TEST

static enum err keep_a_minute(void *arg, struct topic_config *c)
{
    (void)arg;
    c->retention_ms = 60000;
    return ERR_OK;
}

START_TEST(a_standard_move_keeps_the_age_of_the_message)
{
    topic_set("dead", keep_a_minute, NULL);
    send_text("q", "poison");
    fake_clock_pass(&bench.clock, 50000);
    use_up("q");
    ck_assert_uint_eq(receive("q", 1).n, 0);
    bench_settle();
    ck_assert_counts("dead", 1, 0, 0);
    fake_clock_pass(&bench.clock, 8000);
    ck_assert_counts("dead", 0, 0, 0);
}
END_TEST

START_TEST(many_poison_messages_all_move)
{
    for (int i = 0; i < 150; i++)
        send_text("q", "poison");
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 15; i++)
            ck_assert_uint_eq(receive_for("q", 10, 1000).n, 10);
        fake_clock_pass(&bench.clock, 1000);
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(receive("q", 10).n, 0);
        bench_settle();
    }
    ck_assert_counts("q", 0, 0, 0);
    ck_assert_counts("dead", 150, 0, 0);
}
END_TEST

TCase *tcase_moves(void)
{
    TCase *t = tcase_create("moves");
    tcase_add_checked_fixture(t, setup, bench_teardown);
    tcase_add_test(t, a_poison_message_moves_at_the_receive_after_its_last);
    tcase_add_test(t, a_receive_that_moves_one_still_brings_the_next);
    tcase_add_loop_test(t, a_poison_message_lands_once_wherever_the_process_dies, 0, 3);
    tcase_add_test(t, a_message_appended_at_the_target_before_a_crash_is_not_appended_again);
    tcase_add_test(t, nothing_moves_before_its_intent_is_committed);
    tcase_add_test(t, without_its_target_a_message_is_delivered_on);
    tcase_add_test(t, a_target_that_goes_while_a_move_is_open_gives_the_message_back);
    tcase_add_test(t, a_fifo_move_keeps_the_group_and_shows_the_message_id_as_dedup_id);
    tcase_add_test(t, a_standard_move_keeps_the_age_of_the_message);
    tcase_add_test(t, many_poison_messages_all_move);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* Dead letters whose target is led by another broker: once at the target, whoever dies between the
 * steps of a move (MOVE committed, carried over, committed there, MOVED committed). */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "copies_fixture.h"
#include "queue/spread.h"

static void with_dead_letters(struct topic_config *c)
{
    c->receives_max = 1;
    snprintf(c->dead_letter, sizeof c->dead_letter, c->fifo ? "dead.fifo" : "dead");
}

/* q is led by 1, its dead letters by 2; both have copies everywhere. */
static void make_both(uint32_t dead_partitions)
{
    make_topic(1, "dead", dead_partitions, 3, 2, NULL);
    make_topic(1, "q", 1, 3, 1, with_dead_letters);
}

static void send_all(uint32_t broker, const char *topic, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char body[16];
        snprintf(body, sizeof body, "m%03u", i);
        ck_assert_int_eq(send_to(broker, topic, body), ERR_OK);
    }
}

static const char *all_bodies(unsigned n)
{
    static char text[4096];
    size_t at = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%sm%03u", i > 0 ? " " : "", i);
    return text;
}

/* Receives until every message has been received once too often. */
static void use_up(uint32_t broker, const char *topic)
{
    struct got g;
    do {
        g = receive_at(broker, topic, 10, 0);
        ck_assert_int_eq(g.err, ERR_OK);
    } while (g.n > 0);
}

static struct queue_counters counted(uint32_t broker, const char *topic)
{
    struct queue_topic *t;
    struct queue_counters c;
    ck_assert_int_eq(queue_topic_find(world.brokers[broker].q, bytes_of_text(topic), &t), ERR_OK);
    ck_assert_int_eq(queue_count(t, BYTES_NONE, &c), ERR_OK);
    queue_topic_give_back(t);
    return c;
}

START_TEST(a_dead_letter_goes_to_the_broker_that_leads_its_target)
{
    make_both(1);
    send_all(1, "q", 3);
    use_up(1, "q");
    world_pass(200);
    ck_assert_uint_eq(counted(1, "q").moving, 0);
    struct got g = receive_at(2, "dead", 1, 0);
    ck_assert_uint_eq(g.n, 1);
    ck_assert(bytes_equal(g.at[0].origin, BYTES_OF("q")));
    ck_assert_uint_eq(g.at[0].receive_count, 2); /* it was received once before it was moved */
    ck_assert_str_eq(drain(2, "dead"), all_bodies(3));
    ck_assert_str_eq(drain(1, "q"), "");
    ck_assert_uint_eq(world.brokers[1].moves, 3);
}
END_TEST

START_TEST(an_answer_that_is_lost_is_asked_for_again_and_the_letter_is_there_once)
{
    make_both(1);
    send_all(1, "q", 3);
    world.loses_move_answers = true;
    use_up(1, "q");
    world_pass(1000);
    ck_assert_uint_eq(counted(1, "q").moving, 3);
    ck_assert_uint_eq(counted(2, "dead").visible, 3);
    world.loses_move_answers = false;
    world_pass(2000);
    ck_assert_uint_eq(counted(1, "q").moving, 0);
    ck_assert_str_eq(drain(2, "dead"), all_bodies(3));
}
END_TEST

static void source_dies(bool is_carried)
{
    make_both(1);
    send_all(1, "q", 3);
    world.holds_moves = !is_carried;
    world.loses_move_answers = is_carried;
    use_up(1, "q");
    world_pass(100);
    ck_assert_uint_eq(counted(2, "dead").visible, is_carried ? 3 : 0);
    broker_die(1, true);
    world.holds_moves = world.loses_move_answers = false;
    elect("q", 3);
    world_pass(2000);
    ck_assert_uint_eq(counted(3, "q").moving, 0);
    ck_assert_str_eq(drain(2, "dead"), all_bodies(3));
    broker_start(1);
    world_pass(2000);
    ck_assert_str_eq(drain(2, "dead"), "");
}

START_TEST(the_source_dies_before_a_letter_is_carried_and_its_successor_carries_it)
{
    source_dies(false);
}
END_TEST

START_TEST(the_source_dies_before_it_hears_and_its_successor_hears)
{
    source_dies(true);
}
END_TEST

START_TEST(the_source_dies_before_moved_is_committed_and_its_successor_repeats_it)
{
    make_both(1);
    send_all(1, "q", 2);
    world.holds_moves = true;
    use_up(1, "q");
    world.holds_moves = false;
    while (world_deliver()) /* the letters, and what carries them to the copies of their queue */
        for (uint32_t i = 2; i <= BROKERS; i++) {
            queue_commit_all(world.brokers[i].q);
            while (queue_copy_work(world.brokers[i].q))
                ;
        }
    queue_housekeep(world.brokers[1].q); /* appends MOVED, which nobody else has */
    broker_die(1, true);
    elect("q", 3);
    world_pass(2000);
    ck_assert_uint_eq(counted(3, "q").moving, 0);
    ck_assert_str_eq(drain(2, "dead"), all_bodies(2));
}
END_TEST

START_TEST(the_target_dies_with_letters_that_only_it_has)
{
    make_both(1);
    send_all(1, "q", 3);
    world.holds_moves = true;
    use_up(1, "q");
    world_pass(100);
    world.holds_moves = false;
    for (int i = 0; i < 3; i++)
        ck_assert(world_deliver());
    queue_commit_all(world.brokers[2].q);
    ck_assert_uint_eq(status_of(2, "dead", 0).durable_end, status_of(2, "dead", 0).high_water + 3);
    broker_die(2, true);
    elect("dead", 3);
    world_pass(3000);
    ck_assert_uint_eq(counted(1, "q").moving, 0);
    ck_assert_str_eq(drain(3, "dead"), all_bodies(3));
}
END_TEST

START_TEST(a_letter_follows_its_target_to_another_leader)
{
    make_both(1);
    send_all(1, "q", 3);
    world.holds_moves = true;
    use_up(1, "q");
    world_pass(100);
    elect("dead", 3);
    world.holds_moves = false;
    world_pass(500); /* they come to 2, who says that 3 leads */
    ck_assert_uint_eq(counted(1, "q").moving, 0);
    ck_assert_str_eq(drain(3, "dead"), all_bodies(3));
    elect("dead", 1);
    send_all(1, "q", 2);
    use_up(1, "q");
    world_pass(500); /* and here, at home */
    ck_assert_str_eq(drain(1, "dead"), all_bodies(2));
    ck_assert_uint_eq(counted(1, "q").moving, 0);
}
END_TEST

START_TEST(what_a_former_leader_sends_late_changes_nothing)
{
    make_both(1);
    send_all(1, "q", 3);
    world.holds_moves = true;
    use_up(1, "q");
    world_pass(100);
    broker_cut_off(1, true);
    elect("q", 3);
    world.holds_moves = false;
    world_pass(2000);
    world_replay_moves(2); /* known by their keys */
    ck_assert_str_eq(drain(2, "dead"), all_bodies(3));
    world_replay_moves(2);
    ck_assert_str_eq(drain(2, "dead"), "");
    send_all(3, "q", 2); /* their floor makes the target forget the keys of the first */
    use_up(3, "q");
    world_pass(1000);
    ck_assert_str_eq(drain(2, "dead"), all_bodies(2));
    world_replay_moves(2);
    ck_assert_str_eq(drain(2, "dead"), "");
    elect("dead", 3); /* the table is a fold of the log */
    world_replay_moves(3);
    ck_assert_str_eq(drain(3, "dead"), "");
}
END_TEST

START_TEST(a_leader_without_a_majority_does_not_say_that_a_letter_has_arrived)
{
    make_both(1);
    send_all(1, "q", 1);
    world.holds_moves = true;
    use_up(1, "q");
    world_pass(100);
    world.holds_moves = false;
    elect("q", 3);
    broker_cut_off(2, true);
    world_pass(1000);
    ck_assert_uint_eq(counted(3, "q").moving, 1);
    elect("dead", 1);
    world_pass(3000);
    ck_assert_uint_eq(counted(3, "q").moving, 0);
    broker_cut_off(2, false);
    world_pass(1000);
    ck_assert_str_eq(drain(1, "dead"), "m000");
}
END_TEST

START_TEST(letters_of_one_group_arrive_in_order)
{
    make_topic(1, "dead.fifo", 1, 3, 2, NULL);
    make_topic(1, "q.fifo", 1, 3, 1, with_dead_letters);
    send_all(1, "q.fifo", 8);
    world.loses_move_answers = true;
    for (int i = 0; i < 16; i++)
        (void)!receive_at(1, "q.fifo", 10, 0).n;
    world_pass(300);
    world.loses_move_answers = false;
    use_up(1, "q.fifo");
    world_pass(8000);
    ck_assert_uint_eq(counted(1, "q.fifo").moving, 0);
    struct got g = receive_at(2, "dead.fifo", 10, 30000);
    ck_assert_uint_eq(g.n, 8);
    for (size_t i = 0; i < g.n; i++) {
        char body[32];
        snprintf(body, sizeof body, "m%03zu", i);
        ck_assert(bytes_equal(g.at[i].body, bytes_of_text(body)));
    }
}
END_TEST

START_TEST(who_cannot_be_reached_is_asked_a_few_times_and_not_for_ever)
{
    make_both(1);
    send_all(1, "q", 1);
    broker_die(2, false);
    use_up(1, "q");
    world_pass(10000);
    ck_assert_uint_ge(world.brokers[1].moves, 6);
    ck_assert_uint_le(world.brokers[1].moves, 12);
    ck_assert_uint_eq(counted(1, "q").moving, 1);
    elect("dead", 3);
    world_pass(2000);
    ck_assert_str_eq(drain(3, "dead"), "m000");
}
END_TEST

START_TEST(a_bounded_number_is_under_way)
{
    make_both(3);
    send_all(1, "q", 100);
    world.holds_moves = true;
    use_up(1, "q");
    world_pass(200);
    ck_assert_uint_eq(counted(1, "q").moving, 100);
    ck_assert_uint_eq(world.brokers[1].moves, MOVES_AT_A_TIME);
    world.holds_moves = false;
    world_pass(500);
    ck_assert_uint_eq(counted(1, "q").moving, 0);
    ck_assert_str_eq(drain(2, "dead"), all_bodies(100));
    ck_assert_uint_eq(world.brokers[1].moves, 100);
}
END_TEST

START_TEST(a_queue_that_is_not_known_yet_is_waited_for)
{
    make_both(1);
    broker_die(3, false);
    world.hidden = "dead";
    world.hidden_from = 3;
    broker_start(3);
    world_pass(1000);
    send_all(1, "q", 2);
    use_up(1, "q");
    world.loses_move_answers = true;
    world_pass(200); /* they are there already, and must not come back to their consumers */
    elect("q", 3);
    world.loses_move_answers = false;
    world_pass(3000);
    ck_assert_uint_eq(counted(3, "q").moving, 2);
    ck_assert_uint_eq(counted(3, "q").visible, 0);
    world.hidden_from = 0;
    broker_cut_off(3, false); /* it is told all */
    world_pass(3000);
    ck_assert_uint_eq(counted(3, "q").moving, 0);
    ck_assert_str_eq(drain(2, "dead"), all_bodies(2));
    ck_assert_str_eq(drain(3, "q"), "");
}
END_TEST

START_TEST(letters_of_a_deleted_queue_come_back)
{
    struct queue_topic *t;
    uint8_t id[16];
    make_both(1);
    send_all(1, "q", 2);
    world.holds_moves = true;
    use_up(1, "q");
    world_pass(200);
    ck_assert_int_eq(queue_topic_find(world.brokers[2].q, BYTES_OF("dead"), &t), ERR_OK);
    memcpy(id, t->id.at, sizeof id);
    ck_assert_int_eq(queue_topic_delete(t), ERR_OK);
    queue_topic_give_back(t);
    queue_copy_topic_gone(world.brokers[1].q, id);
    queue_copy_topic_gone(world.brokers[3].q, id);
    world.holds_moves = false;
    world_pass(3000);
    ck_assert_uint_eq(counted(1, "q").moving, 0);
    ck_assert_str_eq(drain(1, "q"), all_bodies(2));
}
END_TEST

/* ---- redrives ---- */

/* Letters lie in three partitions, each led by another broker. */
static void elect_one(const char *name, uint32_t partition, uint32_t leader)
{
    struct replica_key key = key_of(name, partition);
    if (key.leader != leader)
        elect_partition(name, partition, leader);
}

static void make_letters(unsigned n)
{
    make_topic(1, "dead", 3, 3, 1, NULL);
    make_topic(1, "q", 1, 3, 1, with_dead_letters);
    make_topic(1, "back", 1, 3, 2, NULL);
    send_all(1, "q", n);
    use_up(1, "q");
    world_pass(500);
    elect_one("dead", 1, 2);
    elect_one("dead", 2, 3);
}

static enum err redrive(uint32_t broker, const char *to, uint32_t per_second, uint8_t id[16])
{
    struct queue_topic *t, *target = NULL;
    ck_assert_int_eq(queue_topic_find(world.brokers[broker].q, BYTES_OF("dead"), &t), ERR_OK);
    if (to != NULL)
        ck_assert_int_eq(queue_topic_find(world.brokers[broker].q, bytes_of_text(to), &target),
                         ERR_OK);
    enum err e = queue_redrive_start(t, target, per_second, id);
    if (target != NULL)
        queue_topic_give_back(target);
    queue_topic_give_back(t);
    return e;
}

static struct queue_redrive newest(uint32_t broker)
{
    struct queue_topic *t;
    struct queue_redrive r[QUEUE_REDRIVES_MAX];
    ck_assert_int_eq(queue_topic_find(world.brokers[broker].q, BYTES_OF("dead"), &t), ERR_OK);
    ck_assert_uint_ge(queue_redrives(t, r, QUEUE_REDRIVES_MAX), 1);
    queue_topic_give_back(t);
    return r[0];
}

START_TEST(a_redrive_moves_what_each_leader_has_and_ends_once)
{
    uint8_t id[16], other[16];
    make_letters(40);
    ck_assert_int_eq(redrive(3, "back", 0, id), ERR_OK);
    ck_assert_int_eq(redrive(2, "back", 0, other), ERR_EXISTS);
    world_pass(4000);
    for (uint32_t i = 1; i <= BROKERS; i++) {
        struct queue_redrive r = newest(i);
        ck_assert_int_eq(r.state, QUEUE_REDRIVE_COMPLETED);
        ck_assert(memcmp(r.id, id, sizeof id) == 0);
        ck_assert_uint_eq(r.to_move, 40);
        ck_assert_uint_eq(r.moved, 40);
    }
    ck_assert_str_eq(drain(2, "back"), all_bodies(40));
    ck_assert_int_eq(redrive(2, NULL, 0, other), ERR_OK);
    world_pass(2000);
    ck_assert_int_eq(newest(1).state, QUEUE_REDRIVE_COMPLETED);
    ck_assert_uint_eq(newest(1).moved, 0);
}
END_TEST

START_TEST(a_redrive_goes_back_to_where_letters_came_from_whoever_leads_that)
{
    uint8_t id[16];
    make_letters(12);
    ck_assert_int_eq(redrive(2, NULL, 0, id), ERR_OK);
    world_pass(4000);
    ck_assert_int_eq(newest(3).state, QUEUE_REDRIVE_COMPLETED);
    ck_assert_str_eq(drain(1, "q"), all_bodies(12));
}
END_TEST

START_TEST(the_next_leader_goes_on_with_a_redrive)
{
    uint8_t id[16];
    make_letters(40);
    ck_assert_int_eq(redrive(2, "back", 20, id), ERR_OK);
    world_pass(600);
    ck_assert_int_eq(newest(1).state, QUEUE_REDRIVE_RUNNING);
    broker_die(2, true);
    elect("back", 3);
    elect_one("dead", 1, 3);
    world_pass(600);
    broker_start(2);
    world_pass(12000);
    ck_assert_int_eq(newest(1).state, QUEUE_REDRIVE_COMPLETED);
    ck_assert_int_eq(newest(2).state, QUEUE_REDRIVE_COMPLETED);
    ck_assert_str_eq(drain(3, "back"), all_bodies(40));
}
END_TEST

START_TEST(a_redrive_is_cancelled_at_any_broker)
{
    struct queue_topic *t;
    uint8_t id[16];
    uint64_t moved;
    make_letters(40);
    ck_assert_int_eq(redrive(1, "back", 6, id), ERR_OK);
    world_pass(2000);
    ck_assert_int_eq(queue_topic_find(world.brokers[3].q, BYTES_OF("dead"), &t), ERR_OK);
    ck_assert_int_eq(queue_redrive_cancel(t, id, &moved), ERR_OK);
    world_pass(3000);
    ck_assert_int_eq(queue_redrive_cancel(t, id, &moved), ERR_NOT_FOUND);
    queue_topic_give_back(t);
    struct queue_redrive r = newest(1);
    ck_assert_int_eq(r.state, QUEUE_REDRIVE_CANCELLED);
    ck_assert_uint_ge(r.moved, 6);
    ck_assert_uint_le(r.moved, 20);
    ck_assert_uint_eq(counted(2, "back").visible, r.moved);
}
END_TEST

/* Whatever dies, is cut off or comes late: at the end each letter is there once. */
START_TEST(letters_arrive_once_whatever_happens)
{
    struct rng rng = {.state = test_seed() + (uint64_t)_i};
    unsigned n = 0;
    make_both(2);
    for (int step = 0; step < 30; step++) {
        uint32_t q_leader = key_of("q", 0).leader, who = 1 + (uint32_t)(rng_next(&rng) % BROKERS);
        world.holds_moves = rng_next(&rng) % 4 == 0;
        world.loses_move_answers = rng_next(&rng) % 4 == 0;
        for (int k = 0; k < 3 && world.brokers[q_leader].q != NULL; k++) {
            char body[16];
            snprintf(body, sizeof body, "m%03u", n);
            n += send_to(q_leader, "q", body) == ERR_OK;
            (void)!receive_at(q_leader, "q", 10, 0).n;
        }
        world_pass(100 * (int64_t)(rng_next(&rng) % 4));
        bool all_there = true;
        for (uint32_t i = 1; i <= BROKERS; i++)
            all_there = all_there && world.brokers[i].q != NULL;
        if (all_there && rng_next(&rng) % 3 == 0) {
            broker_die(who, rng_next(&rng) % 2 == 0);
            uint32_t next = 1 + who % BROKERS;
            if (q_leader == who)
                elect("q", next);
            if (key_of("dead", 0).leader == who)
                elect("dead", 1 + next % BROKERS);
        } else if (!all_there) {
            for (uint32_t i = 1; i <= BROKERS; i++)
                if (world.brokers[i].q == NULL)
                    broker_start(i);
            world_pass(1000);
        } else if (rng_next(&rng) % 3 == 0) {
            elect(rng_next(&rng) % 2 == 0 ? "q" : "dead", who);
        } else {
            world_replay_moves(who);
        }
    }
    world.holds_moves = world.loses_move_answers = false;
    for (uint32_t i = 1; i <= BROKERS; i++)
        if (world.brokers[i].q == NULL)
            broker_start(i);
    world_pass(1000);
    uint32_t q_leader = key_of("q", 0).leader;
    use_up(q_leader, "q");
    world_pass(3000);
    world_replay_moves(key_of("dead", 0).leader);
    world_pass(1000);
    ck_assert_uint_eq(counted(q_leader, "q").moving, 0);
    ck_assert_str_eq(drain(key_of("dead", 0).leader, "dead"), all_bodies(n));
    ck_assert_uint_gt(n, 20);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("copies_moves");
    TCase *t = tcase_create("copies_moves");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, world_setup, world_teardown);
    tcase_add_test(t, a_dead_letter_goes_to_the_broker_that_leads_its_target);
    tcase_add_test(t, an_answer_that_is_lost_is_asked_for_again_and_the_letter_is_there_once);
    tcase_add_test(t, the_source_dies_before_a_letter_is_carried_and_its_successor_carries_it);
    tcase_add_test(t, the_source_dies_before_it_hears_and_its_successor_hears);
    tcase_add_test(t, the_source_dies_before_moved_is_committed_and_its_successor_repeats_it);
    tcase_add_test(t, the_target_dies_with_letters_that_only_it_has);
    tcase_add_test(t, a_letter_follows_its_target_to_another_leader);
    tcase_add_test(t, what_a_former_leader_sends_late_changes_nothing);
    tcase_add_test(t, a_leader_without_a_majority_does_not_say_that_a_letter_has_arrived);
    tcase_add_test(t, letters_of_one_group_arrive_in_order);
    tcase_add_test(t, who_cannot_be_reached_is_asked_a_few_times_and_not_for_ever);
    tcase_add_test(t, a_bounded_number_is_under_way);
    tcase_add_test(t, a_queue_that_is_not_known_yet_is_waited_for);
    tcase_add_test(t, letters_of_a_deleted_queue_come_back);
    tcase_add_test(t, a_redrive_moves_what_each_leader_has_and_ends_once);
    tcase_add_test(t, a_redrive_goes_back_to_where_letters_came_from_whoever_leads_that);
    tcase_add_test(t, the_next_leader_goes_on_with_a_redrive);
    tcase_add_test(t, a_redrive_is_cancelled_at_any_broker);
    tcase_add_loop_test(t, letters_arrive_once_whatever_happens, 0, 3);
    suite_add_tcase(s, t);
    return s;
}

// SPDX-License-Identifier: Apache-2.0
/* A send that another broker gave to a leader and repeats, since it heard no answer: once in the
 * topic, whoever leads then. */
#include <string.h>

#include "copies_fixture.h"
#include "queue/spread.h"

static const struct queue_repeat key = {.front = 9, .life = 7, .sequence = 5, .settled_below = 4};

static void assert_same(const struct request *r, const struct request *first)
{
    ck_assert(r->told);
    ck_assert_int_eq(r->err, ERR_OK);
    ck_assert(!r->sent.duplicate);
    ck_assert_uint_eq(r->sent.number, first->sent.number);
    ck_assert_mem_eq(r->sent.id, first->sent.id, sizeof r->sent.id);
}

START_TEST(a_repeat_is_answered_as_the_first_one_once_that_is_committed)
{
    struct request first, again;
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "before"), ERR_OK);
    request_repeat(&first, 1, "q", "a", &key);
    queue_commit_all(world.brokers[1].q);
    request_repeat(&again, 1, "q", "a", &key);
    ck_assert(!first.told && !again.told);
    world_settle();
    ck_assert_int_eq(first.err, ERR_OK);
    ck_assert_uint_eq(first.sent.number, 1);
    assert_same(&again, &first);
    ck_assert_str_eq(drain(1, "q"), "a before");
    request_repeat(&again, 1, "q", "a", &key); /* finished, and known all the same */
    world_settle();
    assert_same(&again, &first);
    ck_assert_str_eq(drain(1, "q"), "");
}
END_TEST

START_TEST(on_fifo_a_repeat_is_no_duplicate_and_another_send_of_its_dedup_id_is_one)
{
    struct request first, again;
    make_topic(1, "q.fifo", 1, 3, 1, NULL);
    request_repeat(&first, 1, "q.fifo", "a", &key);
    world_settle();
    request_repeat(&again, 1, "q.fifo", "a", &key);
    world_settle();
    assert_same(&again, &first);
    struct queue_repeat next = key;
    next.sequence++;
    request_repeat(&again, 1, "q.fifo", "a", &next);
    world_settle();
    ck_assert(again.told && again.err == ERR_OK && again.sent.duplicate);
    ck_assert_str_eq(drain(1, "q.fifo"), "a");
}
END_TEST

START_TEST(the_next_leader_knows_what_was_stored)
{
    struct request first, again;
    make_topic(1, "q", 1, 3, 1, NULL);
    request_repeat(&first, 1, "q", "a", &key);
    world_settle();
    broker_die(1, true);
    elect("q", 2);
    world_pass(500);
    request_repeat(&again, 2, "q", "a", &key);
    world_settle();
    assert_same(&again, &first);
    ck_assert_str_eq(drain(2, "q"), "a");
}
END_TEST

START_TEST(all_know_it_after_a_clean_stop)
{
    struct request first, again;
    char body[1001];
    make_topic(1, "q", 1, 3, 1, NULL);
    request_repeat(&first, 1, "q", "a", &key);
    world_settle();
    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    for (int i = 0; i < 24; i++) /* so much that snapshots are written */
        ck_assert_int_eq(send_to(1, "q", body), ERR_OK);
    for (uint32_t i = 1; i <= BROKERS; i++) {
        queue_close(world.brokers[i].q);
        world.brokers[i].q = NULL;
        broker_start(i);
    }
    elect("q", 3);
    world_pass(1000);
    request_repeat(&again, 3, "q", "a", &key);
    world_settle();
    assert_same(&again, &first);
}
END_TEST

/* The former leader has it, and nobody else; it is told to both, and both try to keep it. */
START_TEST(what_only_the_former_leader_has_is_stored_by_the_next_and_once)
{
    struct request first, again, late;
    make_topic(1, "q", 1, 3, 1, NULL);
    broker_cut_off(1, true);
    request_repeat(&first, 1, "q", "a", &key);
    world_settle();
    elect("q", 2);
    world_pass(500);
    request_repeat(&again, 2, "q", "a", &key);
    request_repeat(&late, 1, "q", "a", &key); /* it believes that it leads */
    world_settle();
    ck_assert(!first.told && !late.told);
    ck_assert(again.told && again.err == ERR_OK);
    broker_cut_off(1, false);
    world_pass(3000);
    ck_assert(first.told && first.err == ERR_UNKNOWN);
    ck_assert(late.told && late.err == ERR_UNKNOWN);
    elect("q", 1);
    world_pass(500);
    request_repeat(&late, 1, "q", "a", &key);
    world_settle();
    assert_same(&late, &again);
    ck_assert_str_eq(drain(1, "q"), "a");
}
END_TEST

START_TEST(a_call_of_a_life_that_has_ended_or_behind_the_window_stores_nothing)
{
    struct request r;
    struct queue_repeat settled = key, former = key;
    settled.sequence = settled.settled_below = 3;
    former.life--;
    former.sequence = 100;
    former.settled_below = 100;
    make_topic(1, "q", 1, 3, 1, NULL);
    request_repeat(&r, 1, "q", "a", &key);
    world_settle();
    broker_die(1, true);
    elect("q", 2);
    world_pass(500);
    const struct queue_repeat *const late[] = {&settled, &former};
    for (int i = 0; i < 2; i++) {
        request_repeat(&r, 2, "q", "late", late[i]);
        world_settle();
        ck_assert(r.told);
        ck_assert_int_eq(r.err, ERR_GONE);
    }
    ck_assert_str_eq(drain(2, "q"), "a");
}
END_TEST

static void with_dead_letters(struct topic_config *c)
{
    c->receives_max = 1;
    strcpy(c->dead_letter, "dead");
}

START_TEST(a_dead_letter_leaves_its_key_behind)
{
    struct request r;
    make_topic(1, "dead", 1, 3, 1, NULL);
    make_topic(1, "q", 1, 3, 1, with_dead_letters);
    request_repeat(&r, 1, "q", "a", &key);
    world_settle();
    ck_assert_uint_eq(receive_at(1, "q", 1, 0).n, 1);
    ck_assert_uint_eq(receive_at(1, "q", 1, 0).n, 0);
    world_pass(1000);
    request_repeat(&r, 1, "dead", "b", &key); /* the same number, of another partition */
    world_settle();
    ck_assert_int_eq(r.err, ERR_OK);
    ck_assert_str_eq(drain(1, "dead"), "a b");
}
END_TEST

TCase *tcase_repeat(void)
{
    TCase *t = tcase_create("repeat");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, world_setup, world_teardown);
    tcase_add_test(t, a_repeat_is_answered_as_the_first_one_once_that_is_committed);
    tcase_add_test(t, on_fifo_a_repeat_is_no_duplicate_and_another_send_of_its_dedup_id_is_one);
    tcase_add_test(t, the_next_leader_knows_what_was_stored);
    tcase_add_test(t, all_know_it_after_a_clean_stop);
    tcase_add_test(t, what_only_the_former_leader_has_is_stored_by_the_next_and_once);
    tcase_add_test(t, a_call_of_a_life_that_has_ended_or_behind_the_window_stores_nothing);
    tcase_add_test(t, a_dead_letter_leaves_its_key_behind);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* A move to another broker: what its answer says, and what the lack of one does. */
#include <string.h>

#include "route_stage.h"

struct told {
    unsigned n;
    enum err err;
    uint32_t leader;
};

static void told(void *arg, enum err e, uint32_t leader)
{
    struct told *t = arg;
    *t = (struct told){t->n + 1, e, leader};
}

static void move_to(uint32_t broker, uint32_t partition, struct told *t)
{
    const struct queue_mover *mover = route_mover(stage.routes[1]);
    struct queue_move m = {.broker = broker,
                           .partition = partition,
                           .source_epoch = 7,
                           .age_ms = 5,
                           .message = BYTES_OF("a message")};
    memcpy(m.topic, stage.topics[1].config.id, sizeof m.topic);
    mover->move(mover->self, &m, told, t);
}

START_TEST(a_move_is_answered_once_it_is_committed)
{
    struct told t = {0};
    stage.hold_commits = true;
    move_to(2, 1, &t);
    letter_carry(letter_open(0));
    ck_assert_uint_eq(t.n, 0);
    commit();
    turn();
    letter_carry(letter_open(0));
    ck_assert(t.n == 1 && t.err == ERR_OK && stage.moves == 1);
}
END_TEST

START_TEST(nothing_but_an_answer_says_that_a_move_has_arrived)
{
    struct told t = {0};
    move_to(3, 1, &t); /* who does not lead it, and knows who does */
    letter_carry(letter_open(0));
    ck_assert(t.n == 1 && t.err == ERR_NOT_LEADER && t.leader == 2);
    move_to(2, 1, &t);
    letter_lose(letter_open(0));
    ck_assert(t.n == 2 && t.err == ERR_UNKNOWN && stage.moves == 1);
    move_to(2, 1, &t);
    letter_refuse(letter_open(0));
    ck_assert(t.n == 3 && t.err == ERR_NOT_LEADER && t.leader == 0);
    move_to(2, PARTITIONS, &t); /* there is no such partition */
    letter_carry(letter_open(0));
    ck_assert(t.n == 4 && t.err == ERR_CORRUPT && stage.moves == 1);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("route_moves");
    TCase *t = tcase_create("route_moves");
    tcase_add_checked_fixture(t, stage_setup, stage_teardown);
    tcase_add_test(t, a_move_is_answered_once_it_is_committed);
    tcase_add_test(t, nothing_but_an_answer_says_that_a_move_has_arrived);
    suite_add_tcase(s, t);
    return s;
}

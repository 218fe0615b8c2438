// SPDX-License-Identifier: Apache-2.0
/* Long polls at one broker, for what comes to another. */
#include "route_stage.h"

START_TEST(a_poll_is_woken_by_another_broker)
{
    struct client *c = client_new();
    client_poll(c, 10, 20000);
    carry_all();
    ck_assert(!c->answered);
    ck_assert_uint_eq(letters_open(), 2); /* a wait at each */
    store(2, "late", STORED_READY);
    polls_wake(3);
    carry_all();
    ck_assert(c->answered);
    ck_assert_uint_eq(c->poll.n, 1);
    ck_assert_uint_eq(stored_in_state(STORED_LEASED), 1);
}
END_TEST

START_TEST(a_poll_is_woken_here_while_it_waits_elsewhere)
{
    struct client *c = client_new();
    client_poll(c, 10, 20000);
    carry_all();
    store(0, "here", STORED_READY);
    polls_wake(1);
    ck_assert(c->answered);
    ck_assert_uint_eq(c->poll.n, 1);
}
END_TEST

START_TEST(a_poll_ends_at_its_deadline)
{
    struct client *c = client_new();
    client_poll(c, 10, 2000);
    carry_all();
    pass(1999);
    carry_all();
    ck_assert(!c->answered);
    pass(1);
    carry_all();
    ck_assert(c->answered);
    ck_assert_int_eq(c->refused, ERR_OK);
    ck_assert_uint_eq(c->poll.n, 0);
}
END_TEST

START_TEST(polls_of_one_topic_share_a_wait_and_one_message_wakes_one)
{
    struct client *a = client_new(), *b = client_new();
    lead(1, 2, 2, 2);
    client_poll(a, 10, 20000);
    carry_all();
    client_poll(b, 10, 20000);
    carry_all();
    ck_assert_uint_eq(letters_open(), 1);
    store(1, "one", STORED_READY);
    int before = stage.topics[2].receives;
    polls_wake(2);
    carry_all();
    ck_assert(a->answered);
    ck_assert(!b->answered);
    ck_assert_int_eq(stage.topics[2].receives, before + 1);
}
END_TEST

START_TEST(what_comes_between_a_receive_and_the_wait_is_not_missed)
{
    lead(1, 2, 2, 2);
    struct client *c = client_new();
    client_poll(c, 10, 20000);
    letter_carry(letter_open(0));
    store(1, "between", STORED_READY);
    carry_all();
    ck_assert(c->answered);
    ck_assert_uint_eq(c->poll.n, 1);
}
END_TEST

START_TEST(a_poll_finds_the_broker_that_leads_from_now_on)
{
    lead(1, 1, 1, 1);
    struct client *c = client_new();
    client_poll(c, 10, 20000);
    ck_assert_uint_eq(stage.letters_n, 0);
    lead(1, 1, 3, 1);
    store(2, "moved", STORED_READY);
    pass(FRONT_REFRESH_MS);
    carry_all();
    ck_assert(c->answered);
    ck_assert_uint_eq(c->poll.n, 1);
}
END_TEST

START_TEST(a_wait_that_cannot_be_made_is_tried_again_later)
{
    lead(1, 2, 2, 2);
    struct client *c = client_new();
    client_poll(c, 10, 20000);
    letter_carry(letter_open(0));
    letter_refuse(letter_open(0));
    ck_assert_uint_eq(letters_open(), 0);
    store(1, "later", STORED_READY);
    pass(FRONT_REFRESH_MS);
    carry_all();
    pass(1000);
    carry_all();
    ck_assert(c->answered);
    ck_assert_uint_eq(c->poll.n, 1);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("route_polls");
    TCase *t = tcase_create("route_polls");
    tcase_add_checked_fixture(t, stage_setup, stage_teardown);
    tcase_add_test(t, a_poll_is_woken_by_another_broker);
    tcase_add_test(t, a_poll_is_woken_here_while_it_waits_elsewhere);
    tcase_add_test(t, a_poll_ends_at_its_deadline);
    tcase_add_test(t, polls_of_one_topic_share_a_wait_and_one_message_wakes_one);
    tcase_add_test(t, what_comes_between_a_receive_and_the_wait_is_not_missed);
    tcase_add_test(t, a_poll_finds_the_broker_that_leads_from_now_on);
    tcase_add_test(t, a_wait_that_cannot_be_made_is_tried_again_later);
    suite_add_tcase(s, t);
    return s;
}

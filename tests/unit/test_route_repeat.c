// SPDX-License-Identifier: Apache-2.0
/* A send to another broker whose answer is lost is repeated, and stored once. */
#include <string.h>

#include "route/wire.h"
#include "route_stage.h"

enum { SENDS_MAX = 4 };

/* One client's send; bytes live in the test. */
struct sending {
    struct client *c;
    size_t n;
    struct queue_message messages[SENDS_MAX];
    struct queue_sent sent[SENDS_MAX];
    enum err errs[SENDS_MAX];
};

static struct queue_message message(const char *body, const char *key)
{
    return (struct queue_message){
        .body = bytes_of_text(body), .key = bytes_of_text(key), .delay_ms = -1};
}

static void begin_over(struct sending *s, const struct front_links *links)
{
    s->c = client_new();
    if (links != NULL)
        s->c->call.links = links;
    front_send(&s->c->call, &stage.topics[1], &s->c->wait, s->messages, s->n, s->sent, s->errs,
               client_next);
    turn();
}

static void begin(struct sending *s)
{
    begin_over(s, NULL);
}

static void assert_stored_once(const struct sending *s)
{
    ck_assert(s->c->answered);
    ck_assert_int_eq(s->errs[0], ERR_OK);
    ck_assert_uint_eq(s->sent[0].partition, 1);
    ck_assert_uint_eq(s->sent[0].number, 0);
    ck_assert(!s->sent[0].duplicate);
    ck_assert_uint_eq(stage.n[1], 1);
}

START_TEST(a_send_whose_answer_is_lost_is_repeated_and_stored_once)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    begin(&s);
    letter_lose(letter_open(0));
    ck_assert(!s.c->answered);
    letter_lose((pass(20), letter_open(0)));
    letter_carry((pass(40), letter_open(0)));
    assert_stored_once(&s);
    ck_assert_uint_eq(stage.letters_n, 3);
}
END_TEST

START_TEST(a_send_that_never_arrived_is_stored_by_its_repeat_and_not_again_when_it_comes_late)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    begin(&s);
    struct letter *first = letter_open(0);
    letter_vanish(first);
    pass(20);
    letter_carry(letter_open(0));
    assert_stored_once(&s);
    letter_deliver(first);
    ck_assert_uint_eq(stage.n[1], 1);
}
END_TEST

START_TEST(a_send_is_repeated_at_the_next_leader)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    begin(&s);
    letter_lose(letter_open(0));
    move(1, 3);
    pass(20);
    letter_carry(letter_open(0)); /* still to the former one */
    ck_assert(!s.c->answered);
    believe(1, 1, 3);
    pass(40);
    ck_assert_uint_eq(letter_open(0)->to, 3);
    letter_carry(letter_open(0));
    assert_stored_once(&s);
}
END_TEST

START_TEST(a_send_is_repeated_here_when_this_broker_leads_now)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    begin(&s);
    letter_lose(letter_open(0));
    move(1, 1);
    stage.hold_commits = true;
    pass(20);
    ck_assert_uint_eq(stage.letters_n, 1);
    stage.waits[0]->err = ERR_UNKNOWN; /* no longer, before the commit */
    move(1, 3);
    believe(1, 1, 3);
    stage.hold_commits = false;
    commit();
    ck_assert(!s.c->answered);
    pass(40);
    letter_carry(letter_open(0));
    assert_stored_once(&s);
}
END_TEST

START_TEST(a_send_whose_leader_steps_down_before_the_commit_is_repeated)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    stage.hold_commits = true;
    begin(&s);
    letter_deliver(letter_open(0));
    stage.waits[0]->err = ERR_UNKNOWN;
    stage.n[1] = 0; /* the next leader does not know of it */
    stage.hold_commits = false;
    commit();
    letter_carry(letter_open(0));
    ck_assert(!s.c->answered);
    pass(20);
    letter_carry(letter_open(0));
    assert_stored_once(&s);
}
END_TEST

START_TEST(what_may_have_been_stored_goes_to_no_other_partition)
{
    struct sending s = {.n = 1, .messages = {message("a", "")}};
    lead(2, 3, 3, 3);
    begin(&s);
    letter_lose(letter_open(0));
    move(0, 0);
    believe(1, 0, 0);
    for (int i = 0; i < FRONT_VERB_MS; i += 100)
        pass(100);
    ck_assert(s.c->answered);
    ck_assert_int_eq(s.errs[0], ERR_UNKNOWN);
    ck_assert_uint_eq(stage.letters_n, 1);
    ck_assert_uint_eq(stage.n[0], 1);
}
END_TEST

START_TEST(what_was_refused_may_go_to_another_partition)
{
    struct sending s = {.n = 1, .messages = {message("a", "")}};
    lead(2, 3, 3, 3);
    begin(&s);
    letter_refuse(letter_open(0));
    believe(1, 0, 0);
    pass(20);
    letter_carry(letter_open(0));
    ck_assert(s.c->answered);
    ck_assert_uint_eq(s.sent[0].partition, 1);
    ck_assert_uint_eq(stage.n[0] + stage.n[1], 1);
}
END_TEST

START_TEST(what_refuses_a_repeat_says_nothing_of_the_first)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    begin(&s);
    letter_lose(letter_open(0));
    stage.refuses_sends = ERR_TOPIC_FULL;
    pass(20);
    letter_carry(letter_open(0));
    ck_assert(!s.c->answered);
    stage.refuses_sends = ERR_OK;
    pass(40);
    letter_carry(letter_open(0));
    assert_stored_once(&s);
}
END_TEST

START_TEST(a_key_that_is_forgotten_there_ends_a_send_whose_fate_nobody_knows)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    begin(&s);
    letter_lose(letter_open(0));
    stage.refuses_sends = ERR_GONE;
    pass(20);
    letter_carry(letter_open(0));
    ck_assert(s.c->answered);
    ck_assert_int_eq(s.errs[0], ERR_UNKNOWN);
}
END_TEST

START_TEST(repeats_end_at_the_deadline)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    begin(&s);
    for (int ms = 0; ms < FRONT_VERB_MS; ms += 10) {
        ck_assert(!s.c->answered);
        if (letters_open() > 0)
            letter_lose(letter_open(0));
        pass(10);
    }
    ck_assert(s.c->answered);
    ck_assert_int_eq(s.errs[0], ERR_UNKNOWN);
    ck_assert_uint_eq(stage.n[1], 1);
}
END_TEST

START_TEST(who_stands_still_is_not_waited_for_until_the_deadline)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    begin(&s);
    ck_assert_int_eq(letter_open(0)->deadline_ms, FRONT_HOP_MS);
    pass(FRONT_HOP_MS);
    letter_vanish(letter_open(0));
    pass(4990);
    ck_assert_int_eq(letter_open(0)->deadline_ms, FRONT_VERB_MS - FRONT_HOP_MS - 4990);
}
END_TEST

START_TEST(each_entry_of_a_batch_has_a_key)
{
    struct sending s = {.n = 3,
                        .messages = {message("a", "1"), message("b", "1"), message("c", "2")}};
    begin(&s);
    letter_lose(letter_open(0));
    letter_carry(letter_open(0)); /* c */
    ck_assert(!s.c->answered);
    pass(20);
    ck_assert_uint_eq(letters_open(), 1);
    letter_carry(letter_open(0));
    ck_assert(s.c->answered);
    ck_assert_uint_eq(stage.n[1], 2);
    ck_assert_uint_eq(stage.n[2], 1);
    ck_assert_uint_eq(s.sent[1].number, 1);
    ck_assert_str_eq(stage.at[1][1].body, "b");
}
END_TEST

START_TEST(a_key_tells_its_front_and_what_is_settled_and_comes_never_again)
{
    struct sending first = {.n = 1, .messages = {message("a", "1")}}, second = first, third = first;
    begin(&first);
    begin(&second);
    letter_carry(letter_open(1));
    begin(&third);
    letter_carry(letter_open(1));
    const struct queue_repeat *two = &stage.at[1][0].repeat, *three = &stage.at[1][1].repeat;
    ck_assert_uint_eq(two->front, 1);
    ck_assert_uint_eq(two->life, 1001);
    ck_assert_uint_eq(three->sequence, two->sequence + 1);
    ck_assert_uint_eq(two->settled_below, two->sequence - 1); /* the first is on its way */
    ck_assert_uint_eq(three->settled_below, two->settled_below);
    letter_carry(letter_open(0));
    for (int i = 0; i < 3; i++) { /* none is open: this partition is forgotten in between */
        struct sending more = {.n = 1, .messages = {message("a", i == 1 ? "2" : "1")}};
        begin(&more);
        letter_carry(letter_open(0));
        const struct queue_repeat *key =
            i == 1 ? &stage.at[2][0].repeat : &stage.at[1][i == 0 ? 3 : 4].repeat;
        ck_assert_uint_eq(key->sequence, three->sequence + 1 + (uint64_t)i);
        ck_assert_uint_eq(key->settled_below, key->sequence);
    }
}
END_TEST

START_TEST(a_front_whose_window_is_full_waits)
{
    struct sending s = {.n = 2, .messages = {message("a", "1"), message("b", "2")}};
    const struct front_links *links = route_links(stage.routes[1]);
    const uint8_t *topic = stage.topics[1].config.id;
    struct queue_repeat open[QUEUE_REPEAT_WINDOW], one;
    for (int i = 0; i < QUEUE_REPEAT_WINDOW; i++)
        ck_assert(links->repeat_open(links->self, topic, 1, &open[i]));
    ck_assert(!links->repeat_open(links->self, topic, 1, &one));
    begin(&s);
    ck_assert_uint_eq(letters_open(), 1);
    letter_carry(letter_open(0)); /* b, to another partition */
    links->repeat_close(links->self, topic, 1, &open[1]);
    pass(20);
    ck_assert_uint_eq(letters_open(), 0); /* the lowest is open: the window stays where it is */
    links->repeat_close(links->self, topic, 1, &open[0]);
    pass(40);
    letter_carry(letter_open(0));
    assert_stored_once(&s);
    ck_assert_uint_eq(stage.at[1][0].repeat.settled_below, open[2].sequence);
}
END_TEST

static int refusals;
static bool open_later(void *self, const uint8_t topic[16], uint32_t partition,
                       struct queue_repeat *out)
{
    return refusals-- <= 0 && route_links(self)->repeat_open(self, topic, partition, out);
}

START_TEST(nothing_overtakes_a_message_that_waits_for_its_key)
{
    struct sending s = {.n = 3,
                        .messages = {message("a", "1"), message("b", "1"), message("c", "2")}};
    struct front_links links = *route_links(stage.routes[1]);
    links.repeat_open = open_later;
    refusals = 1;
    begin_over(&s, &links);
    ck_assert_uint_eq(letters_open(), 1);
    ck_assert_uint_eq(letter_open(0)->to, 3);
    letter_carry(letter_open(0));
    pass(20);
    letter_carry(letter_open(0));
    ck_assert(s.c->answered);
    ck_assert_uint_eq(stage.letters_n, 2);
    ck_assert_str_eq(stage.at[1][0].body, "a");
    ck_assert_str_eq(stage.at[1][1].body, "b");
}
END_TEST

/* The leader had the first, lost its office, and named the next one for the second. */
START_TEST(a_repeat_and_what_is_behind_it_go_to_one_broker_in_order)
{
    struct sending s = {.n = 2, .messages = {message("a", "1"), message("b", "1")}};
    struct front_item items[2] = {{.err = ERR_UNKNOWN}, {.err = ERR_NOT_LEADER, .leader = 3}};
    struct buf body = BUF_EMPTY;
    stage.topics[1].config.fifo = true;
    begin(&s);
    route_answer_put(ROUTE_SEND, ERR_OK, &body);
    route_items_put(ROUTE_SEND, items, 2, &body);
    letter_answer(letter_open(0), &body);
    pass(20);
    ck_assert_uint_eq(letters_open(), 1);
    letter_carry(letter_open(0));
    ck_assert(s.c->answered);
    ck_assert_str_eq(stage.at[1][0].body, "a");
    ck_assert_str_eq(stage.at[1][1].body, "b");
}
END_TEST

static int looks_left;
static uint32_t next_leader;
static void change_after_looks(void)
{
    if (looks_left-- != 0)
        return;
    stage.looked = NULL;
    move(1, next_leader);
    believe(1, 1, next_leader);
}

static void change_after(int looks, uint32_t leader)
{
    looks_left = looks;
    next_leader = leader;
    stage.looked = change_after_looks;
}

static void assert_in_order(struct sending *s)
{
    for (int i = 0; i < 5 && !s->c->answered; i++) {
        carry_all();
        pass(400);
    }
    ck_assert(s->c->answered && stage.looked == NULL);
    ck_assert_int_eq(s->errs[0], ERR_OK);
    ck_assert_int_eq(s->errs[1], ERR_OK);
    ck_assert_str_eq(stage.at[1][0].body, "a");
    ck_assert_str_eq(stage.at[1][1].body, "b");
}

/* Nobody leads first; each leader comes in at each look. */
enum { LOOKS = 20 };
START_TEST(a_leader_that_is_found_between_two_looks_has_a_batch_in_order)
{
    struct sending s = {.n = 2, .messages = {message("a", "1"), message("b", "1")}};
    stage.topics[1].config.fifo = true;
    move(1, 0);
    believe(1, 1, 0);
    change_after(_i % LOOKS, 1 + (uint32_t)(_i / LOOKS));
    begin(&s);
    assert_in_order(&s);
}
END_TEST

START_TEST(who_leads_from_the_midst_of_a_hop_on_stores_it_in_order)
{
    struct sending s = {.n = 2, .messages = {message("a", "1"), message("b", "1")}};
    stage.topics[1].config.fifo = true;
    move(1, 0);
    begin(&s);
    change_after(_i, 2);
    assert_in_order(&s);
}
END_TEST

START_TEST(nobody_repeats_for_a_client_that_is_gone)
{
    struct sending s = {.n = 1, .messages = {message("a", "1")}};
    struct queue_repeat one;
    const struct front_links *links = route_links(stage.routes[1]);
    begin(&s);
    s.c->http->gone = true;
    letter_lose(letter_open(0));
    pass(1000);
    ck_assert_uint_eq(stage.letters_n, 1);
    ck_assert(s.c->answered);
    ck_assert_int_eq(s.errs[0], ERR_UNKNOWN);
    ck_assert(links->repeat_open(links->self, stage.topics[1].config.id, 1, &one));
    ck_assert_uint_eq(one.settled_below, one.sequence); /* and its key is closed */
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("repeated sends");
    TCase *t = tcase_create("repeat");
    tcase_add_checked_fixture(t, stage_setup, stage_teardown);
    tcase_add_test(t, a_send_whose_answer_is_lost_is_repeated_and_stored_once);
    tcase_add_test(
        t, a_send_that_never_arrived_is_stored_by_its_repeat_and_not_again_when_it_comes_late);
    tcase_add_test(t, a_send_is_repeated_at_the_next_leader);
    tcase_add_test(t, a_send_is_repeated_here_when_this_broker_leads_now);
    tcase_add_test(t, a_send_whose_leader_steps_down_before_the_commit_is_repeated);
    tcase_add_test(t, what_may_have_been_stored_goes_to_no_other_partition);
    tcase_add_test(t, what_was_refused_may_go_to_another_partition);
    tcase_add_test(t, what_refuses_a_repeat_says_nothing_of_the_first);
    tcase_add_test(t, a_key_that_is_forgotten_there_ends_a_send_whose_fate_nobody_knows);
    tcase_add_test(t, repeats_end_at_the_deadline);
    tcase_add_test(t, who_stands_still_is_not_waited_for_until_the_deadline);
    tcase_add_test(t, each_entry_of_a_batch_has_a_key);
    tcase_add_test(t, a_key_tells_its_front_and_what_is_settled_and_comes_never_again);
    tcase_add_test(t, a_front_whose_window_is_full_waits);
    tcase_add_test(t, nothing_overtakes_a_message_that_waits_for_its_key);
    tcase_add_test(t, a_repeat_and_what_is_behind_it_go_to_one_broker_in_order);
    tcase_add_loop_test(t, a_leader_that_is_found_between_two_looks_has_a_batch_in_order, 0,
                        3 * LOOKS);
    tcase_add_loop_test(t, who_leads_from_the_midst_of_a_hop_on_stores_it_in_order, 0, LOOKS);
    tcase_add_test(t, nobody_repeats_for_a_client_that_is_gone);
    suite_add_tcase(s, t);
    return s;
}

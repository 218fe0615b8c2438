// SPDX-License-Identifier: Apache-2.0
/* Any broker takes any request: three of them, of which clients only know the first. */
#include <stdio.h>
#include <string.h>

#include "route/wire.h"
#include "route_stage.h"

static struct queue_message message(const char *body, const char *key)
{
    return (struct queue_message){
        .body = bytes_of_text(body), .key = bytes_of_text(key), .delay_ms = -1};
}

/* One client's batch; bytes live in the test. */
struct batch {
    struct client *c;
    size_t n;
    struct queue_message messages[4];
    struct queue_sent sent[4];
    enum err errs[4];
    struct front_change changes[16];
    struct front_sum sum;
};

static void batch_send(struct batch *b)
{
    b->c = client_new();
    front_send(&b->c->call, &stage.topics[1], &b->c->wait, b->messages, b->n, b->sent, b->errs,
               client_next);
    turn();
}

static void batch_change(struct batch *b)
{
    b->c = client_new();
    front_change(&b->c->call, &stage.topics[1], &b->c->wait, b->changes, b->n, false, client_next);
    turn();
}

static struct front_change delete_of(const char *receipt)
{
    return (struct front_change){.receipt = bytes_of_text(receipt), .is_delete = true};
}

/* ---- sending ---- */

START_TEST(what_is_led_here_costs_no_call)
{
    struct batch b = {.n = 2, .messages = {message("a", "0"), message("b", "")}};
    batch_send(&b);
    ck_assert(b.c->answered);
    ck_assert_uint_eq(stage.letters_n, 0);
    ck_assert_uint_eq(stage.n[0], 2);
}
END_TEST

START_TEST(a_batch_is_split_by_leader_and_answered_in_the_order_of_its_entries)
{
    struct batch b = {
        .n = 4,
        .messages = {message("a", "1"), message("b", "0"), message("c", "2"), message("d", "3")}};
    batch_send(&b);
    ck_assert_uint_eq(letters_open(), 2);
    ck_assert_uint_eq(letter_open(0)->to, 2);
    ck_assert_uint_eq(letter_open(1)->to, 3);
    letter_carry(letter_open(1));
    ck_assert(!b.c->answered);
    letter_carry(letter_open(0));
    ck_assert(b.c->answered);
    const uint32_t at[] = {1, 0, 2, 3};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(b.errs[i], ERR_OK);
        ck_assert_uint_eq(b.sent[i].partition, at[i]);
        ck_assert_uint_eq(stage.n[at[i]], 1);
    }
    ck_assert_str_eq(stage.at[3][0].body, "d");
}
END_TEST

START_TEST(the_leader_answers_after_its_commit_and_the_own_part_is_waited_for_too)
{
    struct batch b = {.n = 2, .messages = {message("a", "0"), message("b", "1")}};
    stage.hold_commits = true;
    batch_send(&b);
    struct letter *l = letter_open(0);
    letter_carry(l);
    ck_assert(!l->over);
    commit();
    ck_assert(!b.c->answered);
    letter_carry(l);
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.errs[1], ERR_OK);
}
END_TEST

START_TEST(a_send_follows_the_leader_that_the_former_one_names)
{
    struct batch b = {.n = 1, .messages = {message("a", "1")}};
    move(1, 3);
    believe(2, 1, 3);
    batch_send(&b);
    ck_assert_uint_eq(letter_open(0)->to, 2);
    letter_carry(letter_open(0));
    ck_assert_uint_eq(letter_open(0)->to, 3);
    letter_carry(letter_open(0));
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.errs[0], ERR_OK);
    ck_assert_uint_eq(stage.n[1], 1);
}
END_TEST

START_TEST(two_brokers_that_name_each_other_are_not_asked_without_end)
{
    struct batch b = {.n = 1, .messages = {message("a", "1")}};
    move(1, 0);
    believe(2, 1, 3);
    believe(3, 1, 2);
    batch_send(&b);
    carry_all();
    ck_assert_uint_lt(stage.letters_n, 4);
    ck_assert(!b.c->answered);
}
END_TEST

START_TEST(a_leader_that_became_this_broker_is_served_here)
{
    struct batch b = {.n = 1, .messages = {message("a", "1")}};
    move(1, 1);
    believe(2, 1, 1);
    batch_send(&b);
    ck_assert(b.c->answered);
    ck_assert_uint_eq(stage.letters_n, 0);
    ck_assert_int_eq(b.errs[0], ERR_OK);
}
END_TEST

START_TEST(a_hop_is_not_hopped_again)
{
    struct batch b = {.n = 1, .messages = {message("a", "1")}};
    move(1, 3);
    believe(2, 1, 3);
    batch_send(&b);
    struct letter *l = letter_open(0);
    letter_deliver(l);
    ck_assert_uint_eq(stage.letters_n, 1);
    ck_assert(l->served->replied);
}
END_TEST

START_TEST(a_broker_that_cannot_be_reached_is_tried_until_another_leads)
{
    struct batch b = {.n = 1, .messages = {message("a", "1")}};
    batch_send(&b);
    letter_refuse(letter_open(0));
    ck_assert_uint_eq(letters_open(), 0);
    pass(20);
    letter_refuse(letter_open(0));
    move(1, 3);
    believe(1, 1, 3);
    pass(40);
    letter_carry(letter_open(0));
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.errs[0], ERR_OK);
}
END_TEST

START_TEST(without_a_leader_a_send_ends_at_its_deadline)
{
    struct batch b = {.n = 2, .messages = {message("a", "1"), message("b", "0")}};
    move(1, 0);
    believe(1, 1, 0);
    batch_send(&b);
    for (int ms = 0; ms < FRONT_VERB_MS - 1; ms++)
        pass(1);
    ck_assert(!b.c->answered);
    pass(1);
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.errs[0], ERR_NOT_LEADER);
    ck_assert_int_eq(b.errs[1], ERR_OK);
    ck_assert_uint_eq(stage.letters_n, 0);
    ck_assert_uint_eq(stage.n[0], 1);
}
END_TEST

START_TEST(a_leader_that_loses_its_office_before_the_commit_does_not_know_what_became_of_a_send)
{
    struct batch b = {.n = 1, .messages = {message("a", "0")}};
    stage.hold_commits = true;
    batch_send(&b);
    stage.waits[0]->err = ERR_NOT_LEADER;
    commit();
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.errs[0], ERR_UNKNOWN);
}
END_TEST

START_TEST(nothing_is_sent_behind_a_fifo_message_that_may_be_lost)
{
    struct batch b = {.n = 2, .messages = {message("a", "1"), message("b", "1")}};
    struct front_item items[2] = {{.err = ERR_GONE}, {.err = ERR_NOT_LEADER}};
    struct buf body = BUF_EMPTY;
    stage.topics[1].config.fifo = true;
    batch_send(&b);
    route_answer_put(ROUTE_SEND, ERR_OK, &body);
    route_items_put(ROUTE_SEND, items, 2, &body);
    letter_answer(letter_open(0), &body);
    pass(1000);
    ck_assert(b.c->answered);
    ck_assert_uint_eq(stage.letters_n, 1);
    ck_assert_int_eq(b.errs[0], ERR_UNKNOWN);
    ck_assert_int_eq(b.errs[1], ERR_NOT_LEADER);
}
END_TEST

START_TEST(a_data_directory_that_fails_is_said_to)
{
    struct batch b = {.n = 1, .messages = {message("a", "0")}};
    stage.hold_commits = true;
    batch_send(&b);
    stage.waits[0]->err = ERR_FAILED;
    commit();
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.errs[0], ERR_FAILED);
}
END_TEST

/* Places in the letter of one message (WIRE.md). */
enum { AT_VERSION = 0, AT_PARTITION = 27, AT_SEQUENCE = 39, AT_TOMBSTONE = 55 };

/* Carries a send's letter of which one byte was bent: nothing is done. */
static void carry_bent(size_t at, char value)
{
    struct batch b = {.n = 1, .messages = {message("a", "1")}};
    size_t before = stage.letters_n;
    batch_send(&b);
    struct letter *l = letter_open(0);
    l->body.at[at] = value;
    letter_carry(l);
    ck_assert_int_eq(l->served->answer.at[2], 14); /* CORRUPT */
    ck_assert(!b.c->answered);                     /* it is tried again */
    b.c->http->gone = true;
    pass(1000);
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.errs[0], ERR_NOT_LEADER); /* and not in doubt: nothing was done */
    ck_assert_uint_eq(stage.letters_n, before + 1);
    ck_assert_uint_eq(stage.n[1], 0);
}

START_TEST(a_hop_that_the_topic_cannot_take_is_refused)
{
    carry_bent(AT_VERSION, ROUTE_WIRE_VERSION + 1);
    carry_bent(AT_VERSION, 1); /* which knew no keys */
    carry_bent(AT_SEQUENCE + 7, -1);
    carry_bent(AT_PARTITION, PARTITIONS);
    carry_bent(AT_PARTITION + 3, 1);
    carry_bent(AT_TOMBSTONE, 1); /* the topic is not compact */
    stage.topics[2].config.fifo = true;
    carry_bent(AT_VERSION, ROUTE_WIRE_VERSION); /* which needs a group */
}
END_TEST

START_TEST(who_is_gone_is_not_tried_for)
{
    struct batch b = {.n = 1, .messages = {message("a", "1")}};
    batch_send(&b);
    b.c->http->gone = true;
    letter_refuse(letter_open(0));
    pass(1000);
    ck_assert_uint_eq(stage.letters_n, 1);
    ck_assert(b.c->answered);
}
END_TEST

/* ---- receipts ---- */

START_TEST(deletes_across_leaders_keep_their_order_and_their_errors)
{
    store(1, "a", STORED_LEASED);
    store(2, "b", STORED_DELETED);
    store(0, "c", STORED_LEASED);
    struct batch b = {
        .n = 4,
        .changes = {delete_of("2-0"), delete_of("garbage"), delete_of("1-0"), delete_of("0-0")}};
    batch_change(&b);
    carry_all();
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_GONE);
    ck_assert_int_eq(b.changes[1].err, ERR_INVALID);
    ck_assert_int_eq(b.changes[2].err, ERR_OK);
    ck_assert_int_eq(b.changes[3].err, ERR_OK);
    ck_assert_uint_eq(stored_in_state(STORED_DELETED), 3);
}
END_TEST

/* Deletes go to the queue ten at a time, up to the next change that is none. */
START_TEST(changes_are_made_in_order_however_many)
{
    struct batch b = {.n = 15};
    for (int i = 0; i < 9; i++)
        store(0, "a", STORED_LEASED);
    static const char *const receipts[] = {"0-0", "0-1", "0-0", "0-2", "0-3", "0-4", "0-5", "0-6",
                                           "0-0", "bad", "0-7", "0-7", "0-8", "0-8", "0-8"};
    for (size_t i = 0; i < b.n; i++)
        b.changes[i] = delete_of(receipts[i]);
    b.changes[12].is_delete = b.changes[13].is_delete =
        false; /* let go, so it can change no more */
    batch_change(&b);
    ck_assert(b.c->answered);
    for (size_t i = 0; i < b.n; i++) {
        enum err wanted = i == 2 || i == 8 || i == 11 ? ERR_GONE
                          : i == 9                    ? ERR_INVALID
                          : i > 12                    ? ERR_LEASE_EXPIRED
                                                      : ERR_OK;
        ck_assert_int_eq(b.changes[i].err, wanted);
    }
    ck_assert_int_eq(stage.at[0][7].state, STORED_DELETED);
    ck_assert_int_eq(stage.at[0][8].state, STORED_READY);
}
END_TEST

START_TEST(garbage_alone_asks_nobody)
{
    struct batch b = {.n = 1, .changes = {delete_of("garbage")}};
    batch_change(&b);
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_INVALID);
    ck_assert_uint_eq(stage.letters_n, 0);
}
END_TEST

START_TEST(a_delete_whose_answer_is_lost_is_tried_again)
{
    store(1, "a", STORED_LEASED);
    struct batch b = {.n = 1, .changes = {delete_of("1-0")}};
    batch_change(&b);
    letter_lose(letter_open(0));
    ck_assert(!b.c->answered);
    pass(20);
    letter_carry(letter_open(0));
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_GONE); /* which fronts take for a success */
}
END_TEST

START_TEST(a_delete_whose_leader_steps_down_before_the_commit_is_tried_again)
{
    store(1, "a", STORED_LEASED);
    struct batch b = {.n = 1, .changes = {delete_of("1-0")}};
    stage.hold_commits = true;
    batch_change(&b);
    letter_deliver(letter_open(0));
    ck_assert_uint_eq(stage.waits_n, 1);
    stage.at[1][0].state = STORED_LEASED; /* the next leader does not know of it */
    stage.waits[0]->err = ERR_NOT_LEADER;
    stage.hold_commits = false;
    commit();
    letter_carry(letter_open(0));
    ck_assert(!b.c->answered);
    pass(20);
    letter_carry(letter_open(0));
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_OK);
    ck_assert_uint_eq(stored_in_state(STORED_DELETED), 1);
}
END_TEST

START_TEST(what_a_refusal_saw_may_never_be_when_the_leader_steps_down)
{
    store(0, "a", STORED_DELETED);
    struct batch b = {.n = 1, .changes = {delete_of("0-0")}};
    stage.hold_commits = true;
    batch_change(&b);
    stage.at[0][0].state = STORED_LEASED; /* that delete was not committed */
    stage.waits[0]->err = ERR_NOT_LEADER;
    stage.hold_commits = false;
    commit();
    ck_assert(!b.c->answered);
    pass(20);
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_OK);
    ck_assert_uint_eq(stored_in_state(STORED_DELETED), 1);
}
END_TEST

START_TEST(a_leader_that_is_not_ready_is_waited_for)
{
    store(0, "a", STORED_LEASED);
    struct batch b = {.n = 1, .changes = {delete_of("0-0")}};
    stage.is_unready = true;
    batch_change(&b);
    ck_assert(!b.c->answered);
    stage.is_unready = false;
    pass(20);
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_OK);
}
END_TEST

START_TEST(a_lease_that_was_ended_by_a_call_whose_answer_is_lost_has_ended)
{
    store(1, "a", STORED_LEASED);
    struct batch b = {.n = 1, .changes = {{.receipt = BYTES_OF("1-0")}}};
    batch_change(&b);
    letter_lose(letter_open(0));
    pass(20);
    letter_carry(letter_open(0));
    ck_assert_int_eq(b.changes[0].err, ERR_OK);
    ck_assert_uint_eq(stored_in_state(STORED_READY), 1);
}
END_TEST

/* An extension whose answer is lost, asked for again when the message is in such a state. */
static void extend_twice(enum stored_state meanwhile, struct batch *b)
{
    store(1, "a", STORED_LEASED);
    *b = (struct batch){.n = 1, .changes = {{.receipt = BYTES_OF("1-0"), .visibility_ms = 1000}}};
    batch_change(b);
    letter_lose(letter_open(0));
    stage.at[1][0].state = meanwhile;
    pass(20);
    letter_carry(letter_open(0));
    ck_assert(b->c->answered);
}

START_TEST(a_lease_that_is_over_when_its_lost_extension_is_asked_for_again_is_unknown)
{
    struct batch b;
    extend_twice(STORED_READY, &b);
    ck_assert_int_eq(b.changes[0].err, ERR_UNKNOWN);
}
END_TEST

START_TEST(a_message_that_is_finished_when_its_lost_extension_is_asked_for_again_is_unknown)
{
    struct batch b;
    extend_twice(STORED_DELETED, &b);
    ck_assert_int_eq(b.changes[0].err, ERR_UNKNOWN);
}
END_TEST

START_TEST(a_lease_with_no_time_left_when_its_lost_extension_is_asked_again_is_unknown)
{
    struct batch b;
    extend_twice(STORED_SPENT, &b);
    ck_assert_int_eq(b.changes[0].err, ERR_UNKNOWN);
}
END_TEST

START_TEST(a_lease_with_no_time_left_when_its_extension_is_first_asked_for_is_refused)
{
    store(1, "a", STORED_SPENT);
    struct batch b = {.n = 1, .changes = {{.receipt = BYTES_OF("1-0"), .visibility_ms = 1000}}};
    batch_change(&b);
    letter_carry(letter_open(0));
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_FULL);
}
END_TEST

START_TEST(a_lease_that_is_over_when_its_extension_is_first_asked_for_is_refused)
{
    store(1, "a", STORED_READY);
    struct batch b = {.n = 1, .changes = {{.receipt = BYTES_OF("1-0"), .visibility_ms = 1000}}};
    batch_change(&b);
    letter_carry(letter_open(0));
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_LEASE_EXPIRED);
}
END_TEST

START_TEST(a_delete_that_never_hears_an_answer_is_unknown)
{
    store(1, "a", STORED_LEASED);
    struct batch b = {.n = 1, .changes = {delete_of("1-0")}};
    batch_change(&b);
    letter_lose(letter_open(0));
    believe(1, 1, 0);
    move(1, 0);
    for (int i = 0; i < FRONT_VERB_MS; i += 100)
        pass(100);
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.changes[0].err, ERR_UNKNOWN);
}
END_TEST

/* ---- the whole topic ---- */

START_TEST(counts_are_summed_over_leaders)
{
    struct batch b = {0};
    for (uint32_t p = 0; p < PARTITIONS; p++)
        store(p, "x", p == 3 ? STORED_LEASED : STORED_READY);
    b.c = client_new();
    front_count(&b.c->call, &stage.topics[1], &b.c->wait, BYTES_NONE, &b.sum, client_next);
    carry_all();
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.sum.err, ERR_OK);
    ck_assert_uint_eq(b.sum.counters.visible, 3);
    ck_assert_uint_eq(b.sum.counters.in_flight, 1);
}
END_TEST

START_TEST(a_count_that_cannot_be_had_is_an_error)
{
    struct batch b = {0};
    move(2, 0);
    believe(1, 2, 0);
    b.c = client_new();
    front_count(&b.c->call, &stage.topics[1], &b.c->wait, BYTES_NONE, &b.sum, client_next);
    carry_all();
    for (int i = 0; i < FRONT_VERB_MS; i += 100)
        pass(100);
    ck_assert(b.c->answered);
    ck_assert_int_eq(b.sum.err, ERR_NOT_LEADER);
}
END_TEST

START_TEST(a_purge_goes_to_all_leaders)
{
    struct batch b = {0};
    for (uint32_t p = 0; p < PARTITIONS; p++)
        store(p, "x", STORED_READY);
    b.c = client_new();
    front_purge(&b.c->call, &stage.topics[1], &b.c->wait, BYTES_NONE, &b.sum, client_next);
    carry_all();
    ck_assert(b.c->answered);
    ck_assert_uint_eq(b.sum.finished, 4);
    ck_assert_uint_eq(stored_in_state(STORED_DELETED), 4);
}
END_TEST

/* ---- receiving ---- */

START_TEST(what_is_here_is_received_first)
{
    store(0, "here", STORED_READY);
    store(1, "there", STORED_READY);
    struct client *c = client_new();
    client_poll(c, 10, 0);
    ck_assert(c->answered);
    ck_assert_uint_eq(c->poll.n, 1);
    ck_assert_uint_eq(stage.letters_n, 0);
}
END_TEST

START_TEST(the_others_are_asked_in_turn_until_one_has_something)
{
    store(2, "there", STORED_READY);
    struct client *c = client_new();
    client_poll(c, 10, 0);
    ck_assert_uint_eq(letters_open(), 1);
    carry_all();
    ck_assert(c->answered);
    ck_assert_uint_eq(c->poll.n, 1);
    ck_assert(bytes_equal(c->poll.received[0].body, BYTES_OF("there")));
    ck_assert_str_eq(c->poll.received[0].receipt, "2-0");
    ck_assert_uint_eq(stage.letters[stage.letters_n - 1].to, 3);
}
END_TEST

START_TEST(nothing_anywhere_is_answered_with_nothing)
{
    struct client *c = client_new();
    client_poll(c, 10, 0);
    carry_all();
    ck_assert(c->answered);
    ck_assert_uint_eq(c->poll.n, 0);
    ck_assert_uint_eq(stage.letters_n, 2);
}
END_TEST

START_TEST(a_receive_whose_answer_is_lost_is_not_tried_again)
{
    store(1, "a", STORED_READY);
    lead(1, 2, 2, 2);
    struct client *c = client_new();
    client_poll(c, 10, 0);
    letter_lose(letter_open(0));
    ck_assert(c->answered);
    ck_assert_int_eq(c->refused, ERR_UNKNOWN);
    ck_assert_uint_eq(stage.letters_n, 1);
}
END_TEST

START_TEST(a_broker_that_cannot_be_reached_has_nothing)
{
    lead(1, 2, 2, 2);
    struct client *c = client_new();
    client_poll(c, 10, 0);
    letter_refuse(letter_open(0));
    ck_assert(c->answered);
    ck_assert_int_eq(c->refused, ERR_OK);
    ck_assert_uint_eq(c->poll.n, 0);
}
END_TEST

START_TEST(who_leads_nothing_or_does_not_know_the_topic_yet_has_nothing)
{
    lead(2, 2, 2, 2);
    stage.topics[2].config.id[0] ^= 1;
    struct client *c = client_new();
    client_poll(c, 10, 0);
    carry_all();
    ck_assert(c->answered);
    ck_assert_int_eq(c->refused, ERR_OK);
    ck_assert_uint_eq(c->poll.n, 0);
    stage.topics[2].config.id[0] ^= 1;
}
END_TEST

START_TEST(a_quota_that_is_full_elsewhere_is_an_error_only_to_who_does_not_wait)
{
    lead(1, 2, 2, 2);
    for (int i = 0; i < 2; i++) {
        struct client *c = client_new();
        struct buf body = BUF_EMPTY;
        client_poll(c, 10, i == 0 ? 0 : 1000);
        route_answer_put(ROUTE_RECEIVE, ERR_OVER_LIMIT, &body);
        letter_answer(letter_open(0), &body);
        ck_assert(c->answered == (i == 0));
        ck_assert_int_eq(c->refused, i == 0 ? ERR_OVER_LIMIT : ERR_OK);
    }
    pass(1000);
}
END_TEST

START_TEST(nobody_is_asked_for_a_client_that_is_gone)
{
    struct client *c = client_new();
    c->http->gone = true;
    client_poll(c, 10, 0);
    ck_assert_uint_eq(stage.letters_n, 0);
}
END_TEST

START_TEST(no_lease_is_given_to_a_hop_that_is_gone)
{
    store(1, "a", STORED_READY);
    lead(1, 2, 2, 2);
    struct client *c = client_new();
    client_poll(c, 10, 0);
    letter_open(0)->gone = true;
    letter_lose(letter_open(0));
    ck_assert_uint_eq(stored_in_state(STORED_READY), 1);
    ck_assert_int_eq(stage.topics[2].receives, 0);
}
END_TEST

START_TEST(leases_of_a_receive_that_is_refused_after_its_look_are_given_back)
{
    store(0, "a", STORED_READY);
    store(1, "b", STORED_READY);
    lead(1, 2, 2, 2);
    stage.hold_commits = true;
    struct client *c = client_new();
    client_poll(c, 10, 0);
    ck_assert_uint_eq(stored_in_state(STORED_LEASED), 1);
    stage.waits[0]->err = ERR_NOT_ENOUGH;
    commit();
    ck_assert(c->answered);
    ck_assert_int_eq(c->refused, ERR_NOT_ENOUGH);
    client_finish(c, true);
    ck_assert_uint_eq(stored_in_state(STORED_READY), 2);

    lead(2, 2, 2, 2); /* the same in a hop */
    c = client_new();
    client_poll(c, 10, 0);
    letter_deliver(letter_open(0));
    ck_assert_uint_eq(stored_in_state(STORED_LEASED), 2);
    stage.waits[0]->err = ERR_NOT_ENOUGH;
    commit();
    letter_carry(letter_open(0));
    ck_assert_int_eq(c->refused, ERR_NOT_ENOUGH);
    ck_assert_uint_eq(stored_in_state(STORED_READY), 2);
}
END_TEST

START_TEST(leases_whose_hop_was_not_answered_are_given_back)
{
    store(1, "a", STORED_READY);
    lead(1, 2, 2, 2);
    struct client *c = client_new();
    client_poll(c, 10, 0);
    struct letter *l = letter_open(0);
    letter_deliver(l);
    ck_assert_uint_eq(stored_in_state(STORED_LEASED), 1);
    l->served->on_finish(l->served->on_finish_self, false);
    l->served->on_finish = NULL;
    ck_assert_uint_eq(stored_in_state(STORED_READY), 1);
}
END_TEST

START_TEST(leases_of_another_broker_go_back_there_when_the_answer_was_not_written)
{
    store(1, "a", STORED_READY);
    lead(1, 2, 2, 2);
    struct client *c = client_new();
    client_poll(c, 10, 0);
    carry_all();
    ck_assert_uint_eq(c->poll.n, 1);
    client_finish(c, false);
    ck_assert_uint_eq(stored_in_state(STORED_LEASED), 1);
    carry_all();
    ck_assert_uint_eq(stored_in_state(STORED_READY), 1);
}
END_TEST

START_TEST(leases_that_come_after_the_request_has_ended_go_back)
{
    store(1, "a", STORED_READY);
    lead(1, 2, 2, 2);
    struct client *c = client_new();
    client_poll(c, 10, 0);
    client_finish(c, false);
    c->http->on_wake = NULL; /* the server has stopped */
    carry_all();
    ck_assert_uint_eq(stored_in_state(STORED_READY), 1);
    ck_assert_int_eq(c->http->holds, 0);
}
END_TEST

static TCase *tcase_of(const char *name, const TTest *const *tests, size_t n)
{
    TCase *t = tcase_create(name);
    tcase_add_checked_fixture(t, stage_setup, stage_teardown);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(t, tests[i]);
    return t;
}
#define TCASE(name, ...)                                                                           \
    tcase_of(name, (const TTest *const[]){__VA_ARGS__},                                            \
             sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(TTest *))

Suite *suite_new(void)
{
    Suite *s = suite_create("route");
    suite_add_tcase(
        s,
        TCASE("send", what_is_led_here_costs_no_call,
              a_batch_is_split_by_leader_and_answered_in_the_order_of_its_entries,
              the_leader_answers_after_its_commit_and_the_own_part_is_waited_for_too,
              a_send_follows_the_leader_that_the_former_one_names,
              two_brokers_that_name_each_other_are_not_asked_without_end,
              a_leader_that_became_this_broker_is_served_here, a_hop_is_not_hopped_again,
              a_broker_that_cannot_be_reached_is_tried_until_another_leads,
              without_a_leader_a_send_ends_at_its_deadline,
              a_leader_that_loses_its_office_before_the_commit_does_not_know_what_became_of_a_send,
              nothing_is_sent_behind_a_fifo_message_that_may_be_lost,
              a_data_directory_that_fails_is_said_to, a_hop_that_the_topic_cannot_take_is_refused,
              who_is_gone_is_not_tried_for));
    suite_add_tcase(
        s, TCASE("receipts", deletes_across_leaders_keep_their_order_and_their_errors,
                 changes_are_made_in_order_however_many, garbage_alone_asks_nobody,
                 a_delete_whose_answer_is_lost_is_tried_again,
                 a_delete_whose_leader_steps_down_before_the_commit_is_tried_again,
                 what_a_refusal_saw_may_never_be_when_the_leader_steps_down,
                 a_leader_that_is_not_ready_is_waited_for,
                 a_lease_that_was_ended_by_a_call_whose_answer_is_lost_has_ended,
                 a_lease_that_is_over_when_its_lost_extension_is_asked_for_again_is_unknown,
                 a_message_that_is_finished_when_its_lost_extension_is_asked_for_again_is_unknown,
                 a_lease_with_no_time_left_when_its_lost_extension_is_asked_again_is_unknown,
                 a_lease_with_no_time_left_when_its_extension_is_first_asked_for_is_refused,
                 a_lease_that_is_over_when_its_extension_is_first_asked_for_is_refused,
                 a_delete_that_never_hears_an_answer_is_unknown));
    suite_add_tcase(s, TCASE("topic", counts_are_summed_over_leaders,
                             a_count_that_cannot_be_had_is_an_error, a_purge_goes_to_all_leaders));
    suite_add_tcase(s, TCASE("receive", what_is_here_is_received_first,
                             who_leads_nothing_or_does_not_know_the_topic_yet_has_nothing,
                             a_quota_that_is_full_elsewhere_is_an_error_only_to_who_does_not_wait,
                             the_others_are_asked_in_turn_until_one_has_something,
                             nothing_anywhere_is_answered_with_nothing,
                             a_receive_whose_answer_is_lost_is_not_tried_again,
                             a_broker_that_cannot_be_reached_has_nothing,
                             nobody_is_asked_for_a_client_that_is_gone,
                             no_lease_is_given_to_a_hop_that_is_gone,
                             leases_of_a_receive_that_is_refused_after_its_look_are_given_back,
                             leases_whose_hop_was_not_answered_are_given_back,
                             leases_of_another_broker_go_back_there_when_the_answer_was_not_written,
                             leases_that_come_after_the_request_has_ended_go_back));
    return s;
}

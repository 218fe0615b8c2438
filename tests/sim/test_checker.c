// SPDX-License-Identifier: Apache-2.0
/* The checker itself: a good history passes, and for each rule one that breaks it does not. */
#include "sim/test_sim.h"

#include <string.h>

#include "sim/checker.h"

enum { STANDARD, FIFO, DEAD, T0 = 1000000, DAY_MS = 86400000 };

static struct history history;
static int64_t now_ms;
static uint32_t next_op;

static void put(struct event e)
{
    e.now_ms = now_ms;
    history_put(&history, &e);
}

static void topic(uint32_t which, bool fifo, uint32_t dead_slot, uint32_t receives_max)
{
    put((struct event){.kind = EVENT_TOPIC,
                       .topic = which,
                       .policy = {.slot = which,
                                  .dead_slot = dead_slot,
                                  .receives_max = receives_max,
                                  .retention_ms = DAY_MS,
                                  .fifo = fifo}});
}

static void setup(void)
{
    memset(&history, 0, sizeof history);
    now_ms = T0;
    next_op = 0;
    put((struct event){.kind = EVENT_OPEN, .until_ms = INT64_MIN});
    topic(STANDARD, false, DEAD, 2);
    topic(FIFO, true, HISTORY_NONE, 0);
    topic(DEAD, false, HISTORY_NONE, 0);
}

static void teardown(void)
{
    history_fini(&history);
}

static void end(uint32_t op, enum err err)
{
    put((struct event){.kind = EVENT_END, .op = op, .err = err});
}

static void synced(void)
{
    put((struct event){.kind = EVENT_SYNCED});
}

static struct event send_of(uint32_t message, uint32_t where)
{
    return (struct event){.kind = EVENT_SEND,
                          .op = next_op++,
                          .topic = where,
                          .message = message,
                          .number = message,
                          .id = 100 + message,
                          .group = where == FIFO,
                          .until_ms = now_ms};
}

/* Not answered. */
static uint32_t begin_send(uint32_t message, uint32_t where)
{
    struct event e = send_of(message, where);
    put(e);
    return e.op;
}

static void send(uint32_t message, uint32_t where)
{
    end(begin_send(message, where), ERR_OK);
}

static void send_dedup(uint32_t message, uint32_t dedup, uint32_t duplicate_of)
{
    struct event e = send_of(message, FIFO);
    e.dedup = dedup;
    e.flag = duplicate_of != HISTORY_NONE;
    if (e.flag) {
        e.id = 100 + duplicate_of;
        e.number = duplicate_of;
    }
    put(e);
    end(e.op, ERR_OK);
}

static struct event take_of(uint32_t message, uint32_t where, uint32_t receive_count,
                            int64_t visibility_ms)
{
    return (struct event){.kind = EVENT_TAKE,
                          .op = next_op++,
                          .topic = where,
                          .message = message,
                          .number = message,
                          .id = 100 + message,
                          .receive_count = receive_count,
                          .flag = true,
                          .moved = where == DEAD,
                          .until_ms = now_ms + visibility_ms};
}

static uint32_t take(uint32_t message, uint32_t where, uint32_t receive_count,
                     int64_t visibility_ms)
{
    struct event e = take_of(message, where, receive_count, visibility_ms);
    put(e);
    end(e.op, ERR_OK);
    return e.op;
}

static uint32_t use(enum event_kind kind, uint32_t message, uint32_t where, uint32_t lease,
                    enum err err, int64_t visibility_ms)
{
    uint32_t op = next_op++;
    put((struct event){.kind = kind,
                       .op = op,
                       .topic = where,
                       .message = message,
                       .lease = lease,
                       .err = err,
                       .until_ms = now_ms + visibility_ms});
    return op;
}

static void finish(uint32_t message, uint32_t where, uint32_t lease)
{
    end(use(EVENT_DELETE, message, where, lease, ERR_OK, 0), ERR_OK);
}

static uint32_t purge(uint32_t where)
{
    uint32_t op = next_op++;
    put((struct event){.kind = EVENT_PURGE, .op = op, .topic = where});
    return op;
}

static void restart(void)
{
    put((struct event){.kind = EVENT_CRASH});
    put((struct event){.kind = EVENT_OPEN, .flag = true, .until_ms = now_ms});
}

static void final(void)
{
    put((struct event){.kind = EVENT_FINAL});
}

static void empty(uint32_t where)
{
    put((struct event){.kind = EVENT_EMPTY, .topic = where});
}

static void is(enum rule rule)
{
    struct verdict v;
    checker_run(&history, false, &v);
    ck_assert_msg(v.rule == rule, "rule %s, not %s: event %zu: %s", checker_rule_name(v.rule),
                  checker_rule_name(rule), v.event, v.text);
}

/* Everything that may happen, once. */
START_TEST(a_good_history_passes)
{
    send(0, STANDARD);
    send(1, FIFO);
    synced();
    begin_send(2, STANDARD);
    uint32_t lease = take(0, STANDARD, 1, 500);
    restart();
    lease = take(0, STANDARD, 1, 500); /* the lease was lost, as it may be */
    now_ms += 500;
    use(EVENT_EXTEND, 0, STANDARD, lease, ERR_OK, 300);
    now_ms += 300;
    lease = take(0, STANDARD, 2, 500);
    now_ms += 500;
    empty(STANDARD);
    lease = take(0, DEAD, 3, 500);
    finish(0, DEAD, lease);
    lease = take(1, FIFO, 1, 500);
    finish(1, FIFO, lease);
    final();
    is(RULE_NONE);
}
END_TEST

START_TEST(a_lost_send_is_seen)
{
    send(0, STANDARD);
    restart();
    final();
    is(RULE_LOST);
}
END_TEST

START_TEST(a_send_that_was_not_answered_may_be_lost)
{
    begin_send(0, STANDARD);
    restart();
    final();
    is(RULE_NONE);
}
END_TEST

START_TEST(a_send_answered_with_a_failure_may_be_there)
{
    end(begin_send(0, STANDARD), ERR_FAILED);
    restart();
    finish(0, STANDARD, take(0, STANDARD, 1, 500));
    final();
    is(RULE_NONE);
}
END_TEST

START_TEST(a_send_that_was_seen_may_not_be_lost_again)
{
    begin_send(0, STANDARD);
    restart();
    take(0, STANDARD, 1, 0);
    restart();
    final();
    is(RULE_LOST);
}
END_TEST

START_TEST(a_message_that_a_good_receipt_does_not_find_is_lost)
{
    send(0, STANDARD);
    uint32_t lease = take(0, STANDARD, 1, 500);
    use(EVENT_DELETE, 0, STANDARD, lease, ERR_GONE, 0);
    is(RULE_LOST);
}
END_TEST

START_TEST(what_comes_back_after_an_answered_delete_is_seen)
{
    send(0, STANDARD);
    finish(0, STANDARD, take(0, STANDARD, 1, 0));
    restart();
    take(0, STANDARD, 2, 0);
    is(RULE_DELETED);
}
END_TEST

START_TEST(a_delete_that_was_not_answered_may_be_forgotten_by_a_crash_only)
{
    send(0, STANDARD);
    uint32_t lease = take(0, STANDARD, 1, 0);
    synced();
    use(EVENT_DELETE, 0, STANDARD, lease, ERR_OK, 0);
    if (_i == 0)
        restart();
    take(0, STANDARD, 2, 0);
    is(_i == 0 ? RULE_NONE : RULE_DELETED);
}
END_TEST

START_TEST(what_comes_back_after_a_purge_is_seen)
{
    send(0, STANDARD);
    end(purge(STANDARD), ERR_OK);
    restart();
    take(0, STANDARD, 1, 0);
    is(RULE_DELETED);
}
END_TEST

START_TEST(a_message_of_a_deleted_topic_in_its_namesake_is_seen)
{
    send(0, STANDARD);
    put((struct event){.kind = EVENT_GONE, .topic = STANDARD});
    put((struct event){.kind = EVENT_TOPIC, .topic = 7, .policy = {.dead_slot = HISTORY_NONE}});
    take(0, 7, 1, 0);
    is(RULE_PHANTOM);
}
END_TEST

START_TEST(what_was_never_sent_is_seen)
{
    send(0, STANDARD);
    take(5, STANDARD, 1, 0);
    is(RULE_PHANTOM);
}
END_TEST

START_TEST(changed_bytes_or_another_id_or_number_are_seen)
{
    send(0, STANDARD);
    struct event e = take_of(0, STANDARD, 1, 0);
    e.flag = _i != 0;
    e.id += _i == 1;
    e.number += _i == 2;
    put(e);
    is(RULE_PHANTOM);
}
END_TEST

START_TEST(a_second_lease_before_the_end_of_the_first_is_seen)
{
    send(0, STANDARD);
    take(0, STANDARD, 1, 500);
    now_ms += 499 + _i;
    take(0, STANDARD, 2, 500);
    is(_i == 0 ? RULE_LEASE : RULE_NONE);
}
END_TEST

START_TEST(a_fifo_lease_survives_a_crash_and_a_standard_one_once_it_is_durable)
{
    uint32_t where = _i == 0 ? FIFO : STANDARD;
    send(0, where);
    take(0, where, 1, 500);
    if (_i == 1)
        synced();
    restart();
    take(0, where, 2, 500);
    is(_i == 2 ? RULE_NONE : RULE_LEASE);
}
END_TEST

START_TEST(a_delay_that_ends_early_is_seen)
{
    struct event e = send_of(0, STANDARD);
    e.until_ms = now_ms + 100;
    put(e);
    end(e.op, ERR_OK);
    now_ms += 99;
    take(0, STANDARD, 1, 0);
    is(RULE_LEASE);
}
END_TEST

START_TEST(one_message_twice_in_an_answer_is_seen)
{
    send(0, STANDARD);
    struct event e = take_of(0, STANDARD, 1, 0);
    put(e);
    e.receive_count++;
    put(e);
    is(RULE_LEASE);
}
END_TEST

START_TEST(a_later_message_of_a_group_before_an_earlier_is_seen)
{
    send(0, FIFO);
    send(1, FIFO);
    take(1, FIFO, 1, 0);
    is(RULE_ORDER);
}
END_TEST

START_TEST(a_group_that_goes_on_while_one_is_in_flight_is_seen)
{
    send(0, FIFO);
    send(1, FIFO);
    take(0, FIFO, 1, 500);
    take(1, FIFO, 1, 0);
    is(RULE_ORDER);
}
END_TEST

START_TEST(a_refused_send_that_appears_is_seen)
{
    struct event e = send_of(0, STANDARD);
    e.err = ERR_NO_SPACE;
    put(e);
    take(0, STANDARD, 1, 0);
    is(RULE_REFUSED);
}
END_TEST

START_TEST(a_duplicate_that_appears_is_seen)
{
    send_dedup(0, 9, HISTORY_NONE);
    send_dedup(1, 9, 0);
    take(1, FIFO, 1, 0);
    is(RULE_REFUSED);
}
END_TEST

/* Leased once too few, and in both topics, and while leased. */
START_TEST(a_dead_letter_too_early_or_twice_or_of_a_leased_message_is_seen)
{
    send(0, STANDARD);
    take(0, STANDARD, 1, 0);
    if (_i > 0)
        take(0, STANDARD, 2, _i == 2 ? 500 : 0);
    take(0, DEAD, _i == 0 ? 2 : 3, 0);
    if (_i == 1)
        take(0, STANDARD, 3, 0);
    is(RULE_DEAD_LETTER);
}
END_TEST

START_TEST(a_dead_letter_that_arrives_nowhere_is_lost)
{
    send(0, STANDARD);
    take(0, STANDARD, 1, 0);
    take(0, STANDARD, 2, 0);
    final();
    is(RULE_LOST);
}
END_TEST

START_TEST(a_second_copy_of_a_dead_letter_comes_back_after_its_delete)
{
    send(0, STANDARD);
    take(0, STANDARD, 1, 0);
    take(0, STANDARD, 2, 0);
    finish(0, DEAD, take(0, DEAD, 3, 0));
    take(0, DEAD, 3, 0);
    is(RULE_DELETED);
}
END_TEST

START_TEST(a_second_message_for_an_id_within_five_minutes_is_seen)
{
    send_dedup(0, 9, HISTORY_NONE);
    now_ms += 299999 + _i;
    send_dedup(1, 9, HISTORY_NONE);
    is(_i == 0 ? RULE_DEDUP : RULE_NONE);
}
END_TEST

START_TEST(a_duplicate_after_five_minutes_or_of_a_purged_history_is_seen)
{
    send_dedup(0, 9, HISTORY_NONE);
    if (_i == 0)
        now_ms += 300000;
    else
        end(purge(FIFO), ERR_OK);
    send_dedup(1, 9, 0);
    is(RULE_DEDUP);
}
END_TEST

START_TEST(a_duplicate_of_another_message_is_seen)
{
    send_dedup(0, 8, HISTORY_NONE);
    send_dedup(1, 9, HISTORY_NONE);
    send_dedup(2, 9, 0);
    is(RULE_DEDUP);
}
END_TEST

START_TEST(an_answered_duplicate_promises_the_first_one)
{
    struct event e = send_of(0, FIFO);
    e.dedup = 9;
    put(e);
    if (_i == 0)
        restart();
    send_dedup(1, 9, 0);
    restart();
    final();
    is(RULE_LOST);
}
END_TEST

START_TEST(a_receive_count_that_falls_or_jumps_is_seen)
{
    send(0, STANDARD);
    take(0, STANDARD, 1, 0);
    take(0, STANDARD, _i == 0 ? 1 : 3, 0);
    is(RULE_COUNT);
}
END_TEST

START_TEST(a_receive_count_may_fall_by_what_was_not_durable)
{
    send(0, STANDARD);
    take(0, STANDARD, 1, 0);
    if (_i == 0)
        synced();
    restart();
    take(0, STANDARD, 1, 0);
    is(_i == 0 ? RULE_COUNT : RULE_NONE);
}
END_TEST

START_TEST(a_receive_or_a_poll_that_finds_nothing_while_there_is_something_is_seen)
{
    send(0, _i == 0 ? STANDARD : FIFO);
    empty(_i == 0 ? STANDARD : FIFO);
    is(RULE_STARVED);
}
END_TEST

START_TEST(a_drain_that_does_not_end_is_seen)
{
    put((struct event){.kind = EVENT_FINAL, .flag = true});
    is(RULE_STARVED);
}
END_TEST

START_TEST(a_message_handed_out_before_it_is_durable_is_seen)
{
    begin_send(0, STANDARD);
    take(0, STANDARD, 1, 0);
    is(RULE_COMMITTED);
}
END_TEST

START_TEST(a_message_handed_out_after_its_retention_is_seen)
{
    send(0, STANDARD);
    now_ms += DAY_MS - 1 + _i;
    take(0, STANDARD, 1, 0);
    is(_i == 0 ? RULE_NONE : RULE_EXPIRED);
}
END_TEST

START_TEST(a_fifo_receipt_that_is_old_or_expired_and_works_is_seen)
{
    send(0, FIFO);
    uint32_t lease = take(0, FIFO, 1, 500);
    now_ms += 500;
    if (_i == 0)
        take(0, FIFO, 2, 500);
    finish(0, FIFO, lease);
    is(RULE_RECEIPT);
}
END_TEST

START_TEST(a_good_receipt_that_is_refused_is_seen)
{
    send(0, FIFO);
    uint32_t lease = take(0, FIFO, 1, 500);
    use(EVENT_EXTEND, 0, FIFO, lease, ERR_LEASE_EXPIRED, 100);
    is(RULE_RECEIPT);
}
END_TEST

START_TEST(counts_that_are_not_so_are_seen)
{
    send(0, FIFO);
    send(1, FIFO);
    struct event e = send_of(2, FIFO);
    e.until_ms = now_ms + 100;
    put(e);
    end(e.op, ERR_OK);
    take(0, FIFO, 1, 500);
    e = (struct event){
        .kind = EVENT_COUNT, .topic = FIFO, .visible = 1, .in_flight = 1, .delayed = 1};
    e.visible += _i == 1;
    e.in_flight += _i == 2;
    e.visible -= _i == 2 || _i == 3;
    e.delayed += _i == 3;
    put(e);
    is(_i == 0 ? RULE_NONE : RULE_COUNTERS);
}
END_TEST

START_TEST(a_time_that_jumps_is_seen)
{
    put((struct event){
        .kind = _i == 0 ? EVENT_TIME : EVENT_OPEN, .flag = true, .until_ms = now_ms + 1});
    is(RULE_TIME);
}
END_TEST

START_TEST(a_start_that_fails_or_misses_a_topic_is_seen)
{
    if (_i == 0)
        put((struct event){.kind = EVENT_OPEN, .err = ERR_CORRUPT, .until_ms = INT64_MIN});
    else
        put((struct event){.kind = EVENT_CLOSED, .topic = FIFO});
    is(RULE_START);
}
END_TEST

START_TEST(a_topic_that_comes_back_or_is_missing_or_has_another_setting_is_seen)
{
    struct event found = {.kind = EVENT_FOUND, .topic = STANDARD};
    put((struct event){.kind = EVENT_CHANGE, .topic = STANDARD, .until_ms = 5});
    if (_i == 0)
        put((struct event){.kind = EVENT_GONE, .topic = STANDARD});
    else if (_i == 1)
        found.kind = EVENT_MISSED;
    found.until_ms = _i == 0 ? 5 : 0;
    put(found);
    is(RULE_TOPIC);
}
END_TEST

START_TEST(a_topic_whose_delete_failed_may_be_gone_and_accepts_nothing)
{
    struct verdict v;
    put((struct event){.kind = EVENT_CHANGE, .err = ERR_IO, .topic = FIFO, .until_ms = 5});
    put((struct event){.kind = EVENT_FOUND, .topic = FIFO, .until_ms = 5});
    put((struct event){.kind = EVENT_GONE, .err = ERR_IO, .topic = STANDARD});
    put((struct event){.kind = EVENT_MISSED, .topic = STANDARD});
    checker_run(&history, false, &v);
    ck_assert_int_eq(v.rule, RULE_NONE);
    put((struct event){.kind = EVENT_GONE, .err = ERR_IO, .topic = FIFO});
    send(0, FIFO);
    is(RULE_TOPIC);
}
END_TEST

START_TEST(what_is_left_of_topics_is_seen)
{
    put((struct event){.kind = EVENT_STRAYS, .visible = 1});
    is(RULE_STRAYS);
}
END_TEST

START_TEST(after_damage_messages_may_be_gone_but_not_wrong)
{
    struct verdict v;
    send(0, STANDARD);
    send(1, STANDARD);
    put((struct event){.kind = EVENT_CLOSED, .topic = STANDARD});
    final();
    checker_run(&history, true, &v);
    ck_assert_int_eq(v.rule, RULE_NONE);
    struct event e = take_of(1, STANDARD, 1, 0);
    e.flag = false;
    put(e);
    checker_run(&history, true, &v);
    ck_assert_int_eq(v.rule, RULE_PHANTOM);
}
END_TEST

static void add_more(TCase *t)
{
    tcase_add_loop_test(t, a_second_message_for_an_id_within_five_minutes_is_seen, 0, 2);
    tcase_add_loop_test(t, a_duplicate_after_five_minutes_or_of_a_purged_history_is_seen, 0, 2);
    tcase_add_test(t, a_duplicate_of_another_message_is_seen);
    tcase_add_loop_test(t, an_answered_duplicate_promises_the_first_one, 0, 2);
    tcase_add_loop_test(t, a_receive_count_that_falls_or_jumps_is_seen, 0, 2);
    tcase_add_loop_test(t, a_receive_count_may_fall_by_what_was_not_durable, 0, 2);
    tcase_add_loop_test(t, a_receive_or_a_poll_that_finds_nothing_while_there_is_something_is_seen,
                        0, 2);
    tcase_add_test(t, a_drain_that_does_not_end_is_seen);
    tcase_add_test(t, a_message_handed_out_before_it_is_durable_is_seen);
    tcase_add_loop_test(t, a_message_handed_out_after_its_retention_is_seen, 0, 2);
    tcase_add_loop_test(t, a_fifo_receipt_that_is_old_or_expired_and_works_is_seen, 0, 2);
    tcase_add_test(t, a_good_receipt_that_is_refused_is_seen);
    tcase_add_loop_test(t, counts_that_are_not_so_are_seen, 0, 4);
    tcase_add_loop_test(t, a_time_that_jumps_is_seen, 0, 2);
    tcase_add_loop_test(t, a_start_that_fails_or_misses_a_topic_is_seen, 0, 2);
    tcase_add_loop_test(t, a_topic_that_comes_back_or_is_missing_or_has_another_setting_is_seen, 0,
                        3);
    tcase_add_test(t, a_topic_whose_delete_failed_may_be_gone_and_accepts_nothing);
    tcase_add_test(t, what_is_left_of_topics_is_seen);
    tcase_add_test(t, after_damage_messages_may_be_gone_but_not_wrong);
}

TCase *tcase_checker(void)
{
    TCase *t = tcase_create("checker");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_good_history_passes);
    tcase_add_test(t, a_lost_send_is_seen);
    tcase_add_test(t, a_send_that_was_not_answered_may_be_lost);
    tcase_add_test(t, a_send_answered_with_a_failure_may_be_there);
    tcase_add_test(t, a_send_that_was_seen_may_not_be_lost_again);
    tcase_add_test(t, a_message_that_a_good_receipt_does_not_find_is_lost);
    tcase_add_test(t, what_comes_back_after_an_answered_delete_is_seen);
    tcase_add_loop_test(t, a_delete_that_was_not_answered_may_be_forgotten_by_a_crash_only, 0, 2);
    tcase_add_test(t, what_comes_back_after_a_purge_is_seen);
    tcase_add_test(t, a_message_of_a_deleted_topic_in_its_namesake_is_seen);
    tcase_add_test(t, what_was_never_sent_is_seen);
    tcase_add_loop_test(t, changed_bytes_or_another_id_or_number_are_seen, 0, 3);
    tcase_add_loop_test(t, a_second_lease_before_the_end_of_the_first_is_seen, 0, 2);
    tcase_add_loop_test(t, a_fifo_lease_survives_a_crash_and_a_standard_one_once_it_is_durable, 0,
                        3);
    tcase_add_test(t, a_delay_that_ends_early_is_seen);
    tcase_add_test(t, one_message_twice_in_an_answer_is_seen);
    tcase_add_test(t, a_later_message_of_a_group_before_an_earlier_is_seen);
    tcase_add_test(t, a_group_that_goes_on_while_one_is_in_flight_is_seen);
    tcase_add_test(t, a_refused_send_that_appears_is_seen);
    tcase_add_test(t, a_duplicate_that_appears_is_seen);
    tcase_add_loop_test(t, a_dead_letter_too_early_or_twice_or_of_a_leased_message_is_seen, 0, 3);
    tcase_add_test(t, a_dead_letter_that_arrives_nowhere_is_lost);
    tcase_add_test(t, a_second_copy_of_a_dead_letter_comes_back_after_its_delete);
    add_more(t);
    return t;
}

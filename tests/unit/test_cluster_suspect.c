// SPDX-License-Identifier: Apache-2.0
/* Who is thought to be dead, and is knocked at. */
#include "base/mem.h"
#include "cluster/suspect.h"
#include "lib/runner.h"

enum { SELF = 1, KNOCK_MS = CLUSTER_KNOCK_MS };

static struct cluster_view *view;
static struct cluster_suspects s;
static int64_t rev;

static void setup(void)
{
    view = mem_new(sizeof *view);
    cluster_view_init(view);
    cluster_suspects_init(&s, SELF);
    rev = 1;
}

static void teardown(void)
{
    cluster_suspects_fini(&s);
    cluster_view_fini(view);
    mem_free(view);
}

static void session_show(uint32_t broker, int64_t session, int64_t lease)
{
    struct buf json = BUF_EMPTY;
    char name[CLUSTER_KEY_ROOM];
    struct cluster_session_key k = {.session = session, .store = "x", .lease = lease};
    cluster_key_session(name, broker);
    cluster_session_key_encode(&k, &json);
    cluster_view_put(view, name, buf_bytes(&json), 1, ++rev);
    buf_fini(&json);
}

static void session_drop(uint32_t broker)
{
    char name[CLUSTER_KEY_ROOM];
    cluster_key_session(name, broker);
    cluster_view_drop(view, name, ++rev);
}

static void broker_show(uint32_t broker, enum cluster_broker_state state)
{
    struct buf json = BUF_EMPTY;
    char name[CLUSTER_KEY_ROOM];
    struct cluster_broker_key k = {
        .url = "http://x", .store = "x", .session = 1, .state = state, .version = 1};
    cluster_key_broker(name, broker);
    cluster_broker_key_encode(&k, &json);
    cluster_view_put(view, name, buf_bytes(&json), 1, ++rev);
    buf_fini(&json);
}

/* Brokers 1 to n live; broker b in session 7, on lease 10 b. */
static void brokers_show(uint32_t n)
{
    for (uint32_t b = 1; b <= n; b++) {
        broker_show(b, CLUSTER_BROKER_ACTIVE);
        session_show(b, 7, 10 * b);
    }
}

static struct cluster_suspicion knocked(enum cluster_knock knock, int64_t now_ms)
{
    return cluster_suspects_knocked(&s, view, 2, knock, now_ms);
}

static bool is_due(int64_t now_ms)
{
    return cluster_suspects_due(&s, view, now_ms) == 2;
}

/* Both knocks, when there are two; the lease to be revoked. */
static int64_t knock_twice(int64_t at_ms)
{
    if (!cluster_suspects_hint(&s, view, 2, at_ms) && !is_due(at_ms))
        return 0;
    ck_assert(!cluster_suspects_hint(&s, view, 2, at_ms)); /* it is under way */
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_REFUSED, at_ms).lease, 0);
    ck_assert(!cluster_suspects_hint(&s, view, 2, at_ms)); /* the second one stands out */
    ck_assert_int_eq(s.due_ms, at_ms + 50);
    ck_assert(!is_due(at_ms + 49));
    ck_assert(is_due(at_ms + 50));
    ck_assert(!is_due(at_ms + 50));
    struct cluster_suspicion found = knocked(CLUSTER_KNOCK_REFUSED, at_ms + 50);
    ck_assert(found.is_refused && !found.is_silent);
    return found.lease;
}

START_TEST(two_refusals_a_moment_apart_end_a_session_and_anything_less_does_not)
{
    ck_assert(!cluster_suspects_hint(&s, view, 2, 0)); /* never heard of */
    session_show(2, 7, 0);
    ck_assert(!cluster_suspects_hint(&s, view, 2, 0) && !is_due(0)); /* its lease is not known */
    session_show(2, 7, 70);
    ck_assert(cluster_suspects_hint(&s, view, 2, 0));
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_REFUSED, 0).lease, 0);
    ck_assert(is_due(50));
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_ANSWERED, 50).lease, 0);
    ck_assert(is_due(550));
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_REFUSED, 550).lease, 0);
    ck_assert(is_due(600));
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_SILENT, 600).lease, 0); /* not in a row */
    ck_assert_int_eq(knock_twice(650), 70);
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_REFUSED, 700).lease, 0);
    session_drop(2);
    ck_assert(!cluster_suspects_hint(&s, view, 2, 100000));
    ck_assert(!is_due(100000)); /* who is gone is left alone */
    ck_assert_int_eq(s.due_ms, INT64_MAX);
}
END_TEST

START_TEST(a_lost_call_is_a_reason_to_knock_at_once_but_not_each_of_them)
{
    session_show(2, 7, 70);
    ck_assert(is_due(0));
    knocked(CLUSTER_KNOCK_ANSWERED, 0); /* a knock without a hint says nothing of hints */
    ck_assert(!is_due(100));
    ck_assert(cluster_suspects_hint(&s, view, 2, 100));
    knocked(CLUSTER_KNOCK_ANSWERED, 100);
    ck_assert(!cluster_suspects_hint(&s, view, 2, 540));
    ck_assert(is_due(600));
}
END_TEST

START_TEST(those_who_answer_are_asked_twice_a_second_and_less_often_when_there_are_many)
{
    brokers_show(10);
    for (uint32_t n = 2; n <= 10; n++)
        ck_assert_uint_eq(cluster_suspects_due(&s, view, 0), n); /* not ourselves */
    ck_assert_uint_eq(cluster_suspects_due(&s, view, 0), 0);
    knocked(CLUSTER_KNOCK_ANSWERED, 10);
    ck_assert_int_eq(s.due_ms, 510);
    ck_assert(is_due(510));
    brokers_show(40);
    knocked(CLUSTER_KNOCK_ANSWERED, 510);
    ck_assert_uint_eq(cluster_suspects_due(&s, view, 510), 11);
    ck_assert_uint_ne(cluster_suspects_due(&s, view, 510), 0);
    for (int i = 0; i < 40; i++)
        ck_assert_uint_ne(cluster_suspects_due(&s, view, 2509), 2);
    ck_assert_int_eq(s.due_ms, 2510);
}
END_TEST

START_TEST(one_that_is_dying_takes_a_connection_first_and_is_refused_then)
{
    session_show(2, 7, 70);
    ck_assert(cluster_suspects_hint(&s, view, 2, 0));
    for (int64_t at_ms = 0; at_ms < 450; at_ms += 50) { /* connections that break at once */
        ck_assert_int_eq(knocked(CLUSTER_KNOCK_SILENT, at_ms).lease, 0);
        ck_assert(is_due(at_ms + 50));
    }
    knocked(CLUSTER_KNOCK_SILENT, 450); /* ten are enough, for a while */
    ck_assert(!is_due(949));
    ck_assert(!cluster_suspects_hint(&s, view, 2, 800));
    ck_assert_int_eq(knock_twice(950), 70);
}
END_TEST

START_TEST(a_session_that_began_between_the_two_knocks_is_left_alone)
{
    session_show(2, 7, 70);
    ck_assert(cluster_suspects_hint(&s, view, 2, 0));
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_REFUSED, 0).lease, 0);
    session_show(2, 8, 80);
    ck_assert(is_due(50));
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_REFUSED, 50).lease, 0);
    ck_assert_int_eq(knock_twice(60), 80); /* and may be suspected anew */
}
END_TEST

START_TEST(one_that_lives_though_connections_are_refused_is_troubled_less_and_less)
{
    int64_t at_ms = 0, pause_ms = 5000;
    session_show(2, 7, 70);
    for (int64_t session = 7; session < 20; session++) {
        ck_assert_int_eq(knock_twice(at_ms), 10 * session);
        session_show(2, session + 1, 10 * session + 10);
        ck_assert(!cluster_suspects_hint(&s, view, 2, at_ms + 50 + pause_ms - 1));
        at_ms += 50;
        int64_t end_ms = at_ms + pause_ms;
        for (at_ms += 1000; at_ms < end_ms; at_ms += 1000) { /* is it back? no */
            ck_assert(!is_due(at_ms - 1));
            ck_assert(is_due(at_ms));
            ck_assert_int_eq(knocked(CLUSTER_KNOCK_REFUSED, at_ms).lease, 0);
        }
        pause_ms = pause_ms * 2 > 300000 ? 300000 : pause_ms * 2;
    }
}
END_TEST

START_TEST(one_that_is_reached_in_its_next_session_may_soon_be_suspected_again)
{
    session_show(2, 7, 70);
    for (int64_t session = 7, at_ms = 0; session < 12; session++, at_ms += 2050) {
        ck_assert_int_eq(knock_twice(at_ms), 10 * session);
        session_show(2, session + 1, 10 * session + 10);
        ck_assert(is_due(at_ms + 1050)); /* is it back? */
        ck_assert_int_eq(knocked(CLUSTER_KNOCK_ANSWERED, at_ms + 1050).lease, 0);
        ck_assert(!cluster_suspects_hint(&s, view, 2, at_ms + 2049));
        ck_assert(is_due(at_ms + 1550)); /* but it is looked after */
        ck_assert_int_eq(knocked(CLUSTER_KNOCK_ANSWERED, at_ms + 1550).lease, 0);
    }
}
END_TEST

/* ---- silence ---- */

static bool is_silent(uint32_t broker, int64_t now_ms)
{
    return cluster_suspects_is_silent(&s, broker, now_ms);
}

/* Two knocks that nobody answers, the first at `at_ms`; what follows of the second. Over at
 * at_ms + 1450. */
static struct cluster_suspicion fall_silent(int64_t at_ms)
{
    ck_assert(is_due(at_ms) || cluster_suspects_hint(&s, view, 2, at_ms));
    struct cluster_suspicion found = knocked(CLUSTER_KNOCK_SILENT, at_ms + KNOCK_MS);
    ck_assert(found.lease == 0 && !found.is_silent);
    ck_assert(!is_due(at_ms + KNOCK_MS + 49));
    ck_assert(is_due(at_ms + KNOCK_MS + 50));
    return knocked(CLUSTER_KNOCK_SILENT, at_ms + 2 * KNOCK_MS + 50);
}

static int64_t told(uint32_t from, int64_t session, int64_t now_ms)
{
    return cluster_suspects_told(&s, view, from, 2, session, now_ms, now_ms).lease;
}

START_TEST(two_knocks_in_vain_find_one_silent_and_one_alone_ends_no_session_for_it)
{
    brokers_show(3);
    struct cluster_suspicion found = fall_silent(0);
    ck_assert(found.is_silent && found.session == 7 && found.lease == 0);
    ck_assert(is_silent(2, 1450) && !is_silent(3, 1450));
    for (int64_t at_ms = 1500; at_ms < 60000; at_ms += 2000) { /* the voice is raised again */
        ck_assert(is_due(at_ms));
        found = knocked(CLUSTER_KNOCK_SILENT, at_ms + KNOCK_MS);
        ck_assert(found.is_silent && found.lease == 0);
    }
    ck_assert(is_due(61000));
    knocked(CLUSTER_KNOCK_ANSWERED, 61001);
    ck_assert(!is_silent(2, 61001));
}
END_TEST

/* Without a session there are no knocks that could find out that somebody is back; and the
 * catalogue may be gone for hours. */
START_TEST(who_is_not_knocked_at_any_more_is_silent_for_five_seconds_longer)
{
    brokers_show(3);
    ck_assert(fall_silent(0).is_silent);
    ck_assert(is_silent(2, 6450) && !is_silent(2, 6451)); /* we have lost our session */
    ck_assert(is_due(7000));
    ck_assert(knocked(CLUSTER_KNOCK_SILENT, 7700).is_silent); /* and have one again */
    ck_assert(is_silent(2, 7700));
    session_drop(2);
    ck_assert(!is_due(8000)); /* it has lost its own */
    ck_assert(is_silent(2, 12700) && !is_silent(2, 12701));
}
END_TEST

START_TEST(one_whose_session_is_silent_for_a_majority_loses_it_whoever_speaks_last)
{
    brokers_show(3);
    ck_assert_int_eq(told(3, 7, 0), 0);
    ck_assert_int_eq(fall_silent(0).lease, 20); /* ours is the last voice */
    session_show(2, 8, 21);
    ck_assert(is_due(2450));
    knocked(CLUSTER_KNOCK_ANSWERED, 2450); /* it is back */
    ck_assert_int_eq(fall_silent(4000).lease, 0);
    ck_assert_int_eq(told(3, 8, 5500), 21); /* theirs is */
}
END_TEST

START_TEST(connections_that_break_at_once_find_nobody_silent_for_as_long_as_two_knocks_take)
{
    brokers_show(3);
    ck_assert(is_due(0));
    for (int64_t at_ms = 0; at_ms < 500; at_ms += 50) {
        ck_assert(!knocked(CLUSTER_KNOCK_SILENT, at_ms).is_silent);
        (void)is_due(at_ms + 50);
    }
    ck_assert(is_due(950));
    ck_assert(!knocked(CLUSTER_KNOCK_SILENT, 2 * KNOCK_MS - 1).is_silent);
    ck_assert(is_due(2000));
    ck_assert(knocked(CLUSTER_KNOCK_SILENT, 2000).is_silent);
}
END_TEST

START_TEST(voices_count_in_one_session_for_two_seconds_and_of_those_who_live)
{
    brokers_show(3);
    ck_assert_int_eq(told(3, 6, 1000), 0); /* of an earlier session */
    ck_assert_int_eq(fall_silent(0).lease, 0);
    ck_assert_int_eq(told(3, 6, 1500), 0);
    ck_assert_int_eq(told(2, 7, 1500), 0); /* its own */
    ck_assert_int_eq(told(4, 7, 1500), 0); /* of one who is not there */
    ck_assert_int_eq(told(1, 7, 1500), 0); /* ours, from outside */
    session_drop(3);
    ck_assert_int_eq(told(3, 7, 1500), 0); /* of one who may be cut off himself */
    session_show(3, 7, 30);
    /* Our own is of 1,450. */
    ck_assert_int_eq(told(3, 7, 3451), 0);
    ck_assert(is_due(5500));
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_SILENT, 5500).lease, 0); /* theirs is of 3,451 */
    ck_assert_int_eq(told(3, 7, 7500), 20);
}
END_TEST

START_TEST(an_answer_takes_our_voice_back)
{
    brokers_show(3);
    ck_assert(fall_silent(0).is_silent);
    ck_assert(is_due(1500));
    knocked(CLUSTER_KNOCK_ANSWERED, 1500);
    ck_assert_int_eq(told(3, 7, 1501), 0);
    ck_assert(is_due(1501)); /* what others say is a reason to look */
    ck_assert(!knocked(CLUSTER_KNOCK_SILENT, 1501 + KNOCK_MS).is_silent); /* from the beginning */
}
END_TEST

START_TEST(a_voice_is_as_old_as_its_arrival_and_one_who_is_silent_himself_has_none)
{
    brokers_show(3);
    ck_assert(fall_silent(0).is_silent);
    ck_assert_int_eq(cluster_suspects_told(&s, view, 3, 2, 7, 1400, 3401).lease, 0);
    ck_assert(is_due(3401) && knocked(CLUSTER_KNOCK_SILENT, 3500).is_silent);
    for (int64_t at_ms = 4000; at_ms <= 5000; at_ms += 1000) {
        (void)cluster_suspects_knocked(&s, view, 3, CLUSTER_KNOCK_SILENT, at_ms);
        ck_assert_uint_eq(cluster_suspects_due(&s, view, at_ms + 50), at_ms == 4000 ? 2 : 3);
        if (at_ms == 4000)
            ck_assert_uint_eq(cluster_suspects_due(&s, view, at_ms + 50), 3);
    }
    ck_assert(is_silent(3, 5050));
    ck_assert_int_eq(told(3, 7, 5050), 0);
    (void)cluster_suspects_knocked(&s, view, 3, CLUSTER_KNOCK_ANSWERED, 5060);
    ck_assert_int_eq(told(3, 7, 5070), 20);
}
END_TEST

START_TEST(knocks_that_we_come_late_to_do_not_count)
{
    brokers_show(3);
    ck_assert(is_due(0));
    for (int64_t at_ms = 1000; at_ms < 20000; at_ms += 1000) {
        ck_assert(!knocked(CLUSTER_KNOCK_LATE, at_ms).is_silent);
        ck_assert(is_due(at_ms + 50));
    }
    ck_assert(!knocked(CLUSTER_KNOCK_SILENT, 20000).is_silent);
    ck_assert(is_due(20050) && knocked(CLUSTER_KNOCK_SILENT, 20750).is_silent);
}
END_TEST

START_TEST(a_majority_is_of_all_who_are_registered_also_of_those_who_are_down)
{
    brokers_show(5);
    broker_show(6, CLUSTER_BROKER_REMOVED);
    session_drop(5);
    (void)told(3, 7, 1000);
    ck_assert_int_eq(fall_silent(0).lease, 0); /* two of five */
    session_show(6, 7, 60);                    /* it lives on, but belongs to them no more */
    ck_assert_int_eq(told(6, 7, 1460), 0);
    ck_assert_int_eq(told(4, 7, 1500), 20); /* three */
}
END_TEST

START_TEST(of_two_brokers_and_of_four_half_is_no_majority)
{
    brokers_show(2);
    ck_assert(fall_silent(0).is_silent);
    ck_assert_int_eq(told(3, 7, 1500), 0);
    brokers_show(4);
    ck_assert(is_due(1600));
    ck_assert_int_eq(knocked(CLUSTER_KNOCK_SILENT, 2000).lease, 0);
    ck_assert_int_eq(told(3, 7, 2100), 0);
    ck_assert_int_eq(told(4, 7, 2100), 20);
}
END_TEST

START_TEST(all_who_found_one_silent_spare_it_when_it_comes_back_and_stays_silent)
{
    int64_t at_ms = 0, pause_ms = 5000;
    brokers_show(3);
    ck_assert(is_due(0));
    knocked(CLUSTER_KNOCK_ANSWERED, 0);
    for (int64_t session = 7; session < 10; session++) {
        at_ms += 1000;
        session_show(2, session, 10 * session);
        ck_assert(fall_silent(at_ms).is_silent);
        at_ms += 1500;
        session_show(2, session + 1, 10 * session + 10); /* somebody else was quicker */
        ck_assert(is_due(at_ms)); /* is it back? no */
        ck_assert(!knocked(CLUSTER_KNOCK_SILENT, at_ms).is_silent);
        int64_t end_ms = at_ms + pause_ms;
        while ((at_ms += 1000) < end_ms) {
            ck_assert_int_eq(told(3, session + 1, at_ms), 0);
            ck_assert(is_due(at_ms));
            ck_assert(!knocked(CLUSTER_KNOCK_SILENT, at_ms).is_silent);
            ck_assert(is_silent(2, at_ms)); /* hops do not go there, all the same */
        }
        pause_ms *= 2;
    }
}
END_TEST

Suite *suite_new(void)
{
    Suite *suite = suite_create("cluster suspects");
    TCase *tc = tcase_create("suspects");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, two_refusals_a_moment_apart_end_a_session_and_anything_less_does_not);
    tcase_add_test(tc, a_lost_call_is_a_reason_to_knock_at_once_but_not_each_of_them);
    tcase_add_test(tc,
                   those_who_answer_are_asked_twice_a_second_and_less_often_when_there_are_many);
    tcase_add_test(tc, one_that_is_dying_takes_a_connection_first_and_is_refused_then);
    tcase_add_test(tc, a_session_that_began_between_the_two_knocks_is_left_alone);
    tcase_add_test(tc, one_that_lives_though_connections_are_refused_is_troubled_less_and_less);
    tcase_add_test(tc, one_that_is_reached_in_its_next_session_may_soon_be_suspected_again);
    tcase_add_test(tc, two_knocks_in_vain_find_one_silent_and_one_alone_ends_no_session_for_it);
    tcase_add_test(tc, who_is_not_knocked_at_any_more_is_silent_for_five_seconds_longer);
    tcase_add_test(tc, one_whose_session_is_silent_for_a_majority_loses_it_whoever_speaks_last);
    tcase_add_test(
        tc, connections_that_break_at_once_find_nobody_silent_for_as_long_as_two_knocks_take);
    tcase_add_test(tc, voices_count_in_one_session_for_two_seconds_and_of_those_who_live);
    tcase_add_test(tc, an_answer_takes_our_voice_back);
    tcase_add_test(tc, a_voice_is_as_old_as_its_arrival_and_one_who_is_silent_himself_has_none);
    tcase_add_test(tc, knocks_that_we_come_late_to_do_not_count);
    tcase_add_test(tc, a_majority_is_of_all_who_are_registered_also_of_those_who_are_down);
    tcase_add_test(tc, of_two_brokers_and_of_four_half_is_no_majority);
    tcase_add_test(tc, all_who_found_one_silent_spare_it_when_it_comes_back_and_stays_silent);
    suite_add_tcase(suite, tc);
    return suite;
}

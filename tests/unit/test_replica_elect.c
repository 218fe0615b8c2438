// SPDX-License-Identifier: Apache-2.0
/* Who is chosen, and where epochs end. */
#include <string.h>

#include "lib/runner.h"
#include "replica/elect.h"
#include "replica/epochs.h"

static struct replica_key key, next;
static struct replica_candidate candidates[3];

static void setup(void)
{
    key = (struct replica_key){.version = 9, .epoch = 4, .leader = 1, .min_isr = 2, .members_n = 3};
    for (uint32_t i = 0; i < 3; i++) {
        key.members[i] =
            (struct replica_member){.broker = i + 1, .in_isr = true, .incarnation = 100 + i};
        candidates[i] = (struct replica_candidate){.broker = i + 1,
                                                   .is_live = true,
                                                   .has_answered = true,
                                                   .is_well = true,
                                                   .incarnation = 100 + i,
                                                   .last_epoch = 4,
                                                   .durable_end = 20,
                                                   .high_water = 15};
    }
}

static enum replica_choice elect(void)
{
    return replica_elect(&key, candidates, 3, 77, &next);
}

START_TEST(the_longest_log_of_the_newest_epoch_leads)
{
    candidates[0].is_live = false;
    candidates[1].durable_end = 30;
    candidates[1].last_epoch = 3;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_MADE);
    ck_assert_uint_eq(next.leader, 3);
    ck_assert_uint_eq(next.epoch, 5);
    ck_assert_uint_eq(next.op, 77);
    ck_assert_int_eq(next.version, 9);
    ck_assert(!next.members[0].in_isr);
}
END_TEST

START_TEST(the_dead_stay_in_sync_where_the_minimum_needs_them)
{
    candidates[0].is_live = candidates[1].is_live = false;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_MADE);
    ck_assert_uint_eq(next.leader, 3);
    ck_assert_uint_eq(replica_key_isr_size(&next), 2);
}
END_TEST

START_TEST(nobody_from_outside_leads)
{
    key.members[0].in_isr = false;
    candidates[1].is_live = false;
    candidates[2].incarnation = 5;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_NOBODY);
    candidates[2].incarnation = 102;
    candidates[2].is_well = false;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_NOBODY);
    candidates[2].is_well = true;
    candidates[2].has_answered = false;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_NOBODY);
}
END_TEST

START_TEST(one_that_lacks_what_another_knows_committed_does_not_lead)
{
    candidates[0].is_live = false; /* cannot lead, but can tell */
    candidates[0].high_water = 25;
    candidates[1].durable_end = 24;
    candidates[2].durable_end = 25;
    candidates[2].last_epoch = 3;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_MADE);
    ck_assert_uint_eq(next.leader, 3);
    candidates[0].high_water = 26;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_INCONSISTENT);
    ck_assert_int_eq(next.state, REPLICA_KEY_INCONSISTENT);
    ck_assert_uint_eq(next.leader, 0);
}
END_TEST

START_TEST(who_is_draining_leads_only_when_nobody_else_can)
{
    candidates[0].is_draining = candidates[1].is_draining = true;
    candidates[2].durable_end = 16;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_MADE);
    ck_assert_uint_eq(next.leader, 3);
    candidates[2].is_live = false;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_MADE);
    ck_assert_uint_eq(next.leader, 1);
}
END_TEST

START_TEST(the_first_leader_waits_for_enough_members)
{
    key.epoch = 0;
    key.leader = 0;
    key.members[1].in_isr = key.members[2].in_isr = false;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_NOBODY);
    key.members[1].in_isr = true;
    ck_assert_int_eq(elect(), REPLICA_CHOICE_MADE);
}
END_TEST

START_TEST(a_member_that_begins_anew_leaves_and_leads_no_more)
{
    replica_key_renew(&key, 1, 555);
    ck_assert(!key.members[0].in_isr);
    ck_assert_uint_eq(key.leader, 0);
    ck_assert_uint_eq(key.epoch, 5);
    replica_key_renew(&key, 2, 556);
    ck_assert_int_eq(key.state, REPLICA_KEY_OK);
    replica_key_renew(&key, 3, 557);
    ck_assert_int_eq(key.state, REPLICA_KEY_LOST);
    key.epoch = 0;
    replica_key_renew(&key, 2, 558);
    ck_assert(key.members[1].in_isr);
}
END_TEST

START_TEST(an_epoch_ends_where_the_next_begins)
{
    struct epochs t = {0};
    uint64_t end;
    epochs_append(&t, 2, 0);
    epochs_append(&t, 2, 4);
    epochs_append(&t, 5, 10);
    ck_assert_uint_eq(epochs_floor(&t, 5, 20, &end), 5);
    ck_assert_uint_eq(end, 20);
    ck_assert_uint_eq(epochs_floor(&t, 4, 20, &end), 2);
    ck_assert_uint_eq(end, 10);
    ck_assert_uint_eq(epochs_floor(&t, 9, 8, &end), 2); /* what is not durable does not count */
    ck_assert_uint_eq(end, 8);
    ck_assert_uint_eq(epochs_floor(&t, 1, 20, &end), 0);
    ck_assert_uint_eq(end, 0);
    ck_assert_uint_eq(epochs_before(&t, 0), 0);
    ck_assert_uint_eq(epochs_before(&t, 10), 2);
    ck_assert_uint_eq(epochs_before(&t, 11), 5);
    epochs_release(&t, 10);
    ck_assert_uint_eq(epochs_before(&t, 10), 2);
    epochs_release(&t, 11);
    ck_assert_uint_eq(epochs_before(&t, 10), 0);
    epochs_truncate(&t, 10);
    ck_assert_uint_eq(t.n, 0);
    epochs_reset(&t, 30, 7);
    ck_assert_uint_eq(epochs_before(&t, 30), 7);
    epochs_fini(&t);
}
END_TEST

Suite *suite_new(void)
{
    Suite *suite = suite_create("replica elections");
    TCase *t = tcase_create("elections");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, the_longest_log_of_the_newest_epoch_leads);
    tcase_add_test(t, the_dead_stay_in_sync_where_the_minimum_needs_them);
    tcase_add_test(t, nobody_from_outside_leads);
    tcase_add_test(t, one_that_lacks_what_another_knows_committed_does_not_lead);
    tcase_add_test(t, who_is_draining_leads_only_when_nobody_else_can);
    tcase_add_test(t, the_first_leader_waits_for_enough_members);
    tcase_add_test(t, a_member_that_begins_anew_leaves_and_leads_no_more);
    tcase_add_test(t, an_epoch_ends_where_the_next_begins);
    suite_add_tcase(suite, t);
    return suite;
}

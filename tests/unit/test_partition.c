// SPDX-License-Identifier: Apache-2.0
/* Standard queues: receive, receipts, delays, counters, moves. */
#include "partition_fixture.h"

static struct world o;

static void set_up(void)
{
    world_init(&o, false);
}

static void tear_down(void)
{
    world_fini(&o);
}

START_TEST(the_deadline_itself_is_free)
{
    world_send(&o);
    ck_assert_uint_eq(world_receive(&o, 1, 500), 1);
    world_pass(&o, 499);
    ck_assert_uint_eq(world_receive(&o, 1, 500), 0);
    WORLD_COUNTS(&o, 0, 1, 0);
    world_pass(&o, 1);
    WORLD_COUNTS(&o, 1, 0, 0);
    ck_assert_uint_eq(world_receive(&o, 1, 500), 1);
}
END_TEST

START_TEST(a_current_receipt_ends_at_the_deadline_itself)
{
    world_send(&o);
    world_receive(&o, 1, 500);
    struct partition_receipt receipt = world_receipt(&o, 0);
    world_pass(&o, 500);
    ck_assert_int_eq(world_delete(&o, receipt, RECEIPT_CURRENT), ERR_LEASE_EXPIRED);
    o.view.now_ms--;
    ck_assert_int_eq(world_delete(&o, receipt, RECEIPT_CURRENT), ERR_OK);
}
END_TEST

START_TEST(messages_come_in_order_and_each_once)
{
    for (int i = 0; i < 25; i++)
        world_send(&o);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 10);
    for (size_t i = 0; i < 10; i++)
        ck_assert_uint_eq(world_pick(&o, i), i);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 10);
    ck_assert_uint_eq(world_pick(&o, 0), 10);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 5);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    WORLD_COUNTS(&o, 0, 25, 0);
}
END_TEST

START_TEST(what_is_not_committed_is_not_handed_out)
{
    world_send(&o);
    world_send(&o);
    o.view.committed_number = 1;
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 0);
    o.view.committed_number = 2;
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
}
END_TEST

START_TEST(redelivery_comes_first_and_lowest_first)
{
    for (int i = 0; i < 6; i++)
        world_send(&o);
    world_receive(&o, 4, 1000);
    struct partition_receipt three = world_receipt(&o, 3), one = world_receipt(&o, 1);
    ck_assert_int_eq(world_extend(&o, three, RECEIPT_ANY, 0), ERR_OK);
    ck_assert_int_eq(world_extend(&o, one, RECEIPT_ANY, 0), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 3, 1000), 3);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
    ck_assert_uint_eq(world_pick(&o, 1), 3);
    ck_assert_uint_eq(world_pick(&o, 2), 4);
}
END_TEST

START_TEST(visibility_0_counts_and_frees_at_once)
{
    world_send(&o);
    ck_assert_uint_eq(world_receive(&o, 1, 0), 1);
    ck_assert_uint_eq(o.grant.picks[0].receive_count, 1);
    ck_assert_uint_eq(world_receive(&o, 1, 0), 1);
    ck_assert_uint_eq(o.grant.picks[0].receive_count, 2);
}
END_TEST

START_TEST(the_first_receive_time_stays)
{
    world_send(&o);
    world_receive(&o, 1, 0);
    o.view.now_wall_ms = 99;
    world_receive(&o, 1, 0);
    ck_assert_int_eq(o.grant.picks[0].first_received_wall_ms, 77);
}
END_TEST

START_TEST(a_receive_stops_before_too_many_bytes_but_brings_one)
{
    for (int i = 0; i < 3; i++)
        world_send(&o);
    struct partition_receive request = {WORLD_GID, 10, 1000, BYTES_NONE, 20, false};
    uint64_t need;
    for (uint64_t n = 0; n < 3; n++)
        partition_window_take(o.w, &o.headers[n]);
    ck_assert_int_eq(partition_plan_receive(o.p, &o.view, o.w, &request, &o.grant, &need), ERR_OK);
    ck_assert_uint_eq(o.grant.picks_n, 2);
    request.body_bytes_max = 1;
    ck_assert_int_eq(partition_plan_receive(o.p, &o.view, o.w, &request, &o.grant, &need), ERR_OK);
    ck_assert_uint_eq(o.grant.picks_n, 1);
}
END_TEST

START_TEST(no_more_than_in_flight_max_are_leased)
{
    for (int i = 0; i < 9; i++)
        world_send(&o);
    o.view.in_flight_max = 3;
    ck_assert_uint_eq(world_receive(&o, 2, 1000), 2);
    ck_assert_uint_eq(world_receive(&o, 2, 1000), 1);
    struct partition_receive request = {WORLD_GID, 1, 1000, BYTES_NONE, 1, false};
    uint64_t need;
    ck_assert_int_eq(partition_plan_receive(o.p, &o.view, o.w, &request, &o.grant, &need),
                     ERR_OVER_LIMIT);
}
END_TEST

START_TEST(an_unknown_group_is_not_found)
{
    struct partition_receive request = {99, 1, 1000, BYTES_NONE, 1, false};
    struct partition_counters c;
    struct record purge;
    uint64_t need;
    ck_assert_int_eq(partition_plan_receive(o.p, &o.view, o.w, &request, &o.grant, &need),
                     ERR_NOT_FOUND);
    ck_assert_int_eq(partition_count(o.p, &o.view, 99, 0, &c), ERR_NOT_FOUND);
    ck_assert_int_eq(partition_plan_purge(o.p, 99, true, &purge), ERR_NOT_FOUND);
}
END_TEST

START_TEST(an_expired_message_is_hidden_at_its_end_itself)
{
    o.view.retention_ms = 1000;
    world_send(&o);
    world_pass(&o, 999);
    ck_assert_uint_eq(world_receive(&o, 1, 0), 1);
    world_pass(&o, 1);
    ck_assert_uint_eq(world_receive(&o, 1, 0), 0);
    world_send(&o);
    ck_assert_uint_eq(world_receive(&o, 1, 0), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
}
END_TEST

/* ---- receipts ---- */

START_TEST(a_superseded_handle_still_deletes_on_standard)
{
    world_send(&o);
    world_receive(&o, 1, 0);
    struct partition_receipt old = world_receipt(&o, 0);
    world_receive(&o, 1, 5000);
    ck_assert_int_eq(world_delete(&o, old, RECEIPT_CURRENT), ERR_STALE_RECEIPT);
    ck_assert_int_eq(world_delete(&o, old, RECEIPT_ANY), ERR_OK);
    WORLD_COUNTS(&o, 0, 0, 0);
}
END_TEST

START_TEST(a_second_delete_is_gone)
{
    world_send(&o);
    world_receive(&o, 1, 5000);
    struct partition_receipt receipt = world_receipt(&o, 0);
    ck_assert_int_eq(world_delete(&o, receipt, RECEIPT_ANY), ERR_OK);
    ck_assert_int_eq(world_delete(&o, receipt, RECEIPT_ANY), ERR_GONE);
    ck_assert_int_eq(world_extend(&o, receipt, RECEIPT_ANY, 10), ERR_GONE);
}
END_TEST

START_TEST(a_receipt_of_a_number_not_reached_is_invalid)
{
    struct partition_receipt receipt = {WORLD_GID, 1, 0, {1, 1}};
    ck_assert_int_eq(world_delete(&o, receipt, RECEIPT_ANY), ERR_INVALID);
}
END_TEST

START_TEST(a_lease_lost_in_a_crash_can_still_be_deleted_and_hidden)
{
    world_send(&o);
    world_send(&o);
    struct partition_receipt lost = {WORLD_GID, 1, 0, {0, 9}};
    ck_assert_int_eq(world_extend(&o, lost, RECEIPT_ANY, 100), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
    lost.number = 0;
    ck_assert_int_eq(world_delete(&o, lost, RECEIPT_ANY), ERR_OK);
    world_pass(&o, 5000);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
}
END_TEST

START_TEST(an_expired_handle_hides_the_message_again)
{
    world_send(&o);
    world_receive(&o, 1, 100);
    struct partition_receipt receipt = world_receipt(&o, 0);
    world_pass(&o, 200);
    ck_assert_int_eq(world_extend(&o, receipt, RECEIPT_CURRENT, 100), ERR_LEASE_EXPIRED);
    ck_assert_int_eq(world_extend(&o, receipt, RECEIPT_ANY, 100), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 1, 100), 0);
    world_pass(&o, 100);
    ck_assert_uint_eq(world_receive(&o, 1, 100), 1);
}
END_TEST

START_TEST(an_older_handle_frees_what_another_holds)
{
    world_send(&o);
    world_receive(&o, 1, 0);
    struct partition_receipt old = world_receipt(&o, 0);
    world_receive(&o, 1, 3000);
    ck_assert_int_eq(world_extend(&o, old, RECEIPT_ANY, 0), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
}
END_TEST

START_TEST(twelve_hours_from_the_receive_are_too_long)
{
    world_send(&o);
    world_receive(&o, 1, 1000);
    struct partition_receipt receipt = world_receipt(&o, 0);
    ck_assert_int_eq(world_extend(&o, receipt, RECEIPT_ANY, 43200000), ERR_FULL);
    ck_assert_int_eq(world_extend(&o, receipt, RECEIPT_ANY, 43199999), ERR_OK);
    world_pass(&o, 1);
    ck_assert_int_eq(world_extend(&o, receipt, RECEIPT_ANY, 43199999), ERR_FULL);
    ck_assert_int_eq(world_extend(&o, receipt, RECEIPT_ANY, 0), ERR_OK);
}
END_TEST

START_TEST(only_the_current_lease_is_given_back)
{
    world_send(&o);
    world_receive(&o, 1, 0);
    struct partition_receipt old = world_receipt(&o, 0);
    world_receive(&o, 1, 1000);
    struct partition_receipt current = world_receipt(&o, 0);
    struct record r;
    ck_assert_int_eq(partition_plan_give_back(o.p, &o.view, &old, &r), ERR_GONE);
    ck_assert_int_eq(partition_plan_give_back(o.p, &o.view, &current, &r), ERR_OK);
    world_apply(&o, &r);
    ck_assert_int_eq(partition_plan_give_back(o.p, &o.view, &current, &r), ERR_GONE);
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    ck_assert_uint_eq(o.grant.picks[0].receive_count, 3);
}
END_TEST

START_TEST(a_receipt_of_another_generation_is_gone)
{
    world_send(&o);
    world_receive(&o, 1, 1000);
    struct partition_receipt receipt = world_receipt(&o, 0);
    world_apply(
        &o, &(struct record){.type = RECORD_GROUP, .group = {.gid = WORLD_GID, .generation = 2}});
    ck_assert_int_eq(world_delete(&o, receipt, RECEIPT_ANY), ERR_GONE);
    o.generation = 2;
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    ck_assert_uint_eq(o.grant.picks[0].receive_count, 1);
}
END_TEST

/* ---- delays ---- */

START_TEST(default_delays_end_in_order_at_the_due_time_itself)
{
    world_send_default_delay(&o, 100);
    world_pass(&o, 50);
    world_send_default_delay(&o, 100);
    WORLD_COUNTS(&o, 0, 0, 2);
    world_pass(&o, 49);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    ck_assert_int_eq(partition_next_event_ms(o.p, &o.view, o.w, WORLD_GID), WORLD_START_MS + 100);
    world_pass(&o, 1);
    WORLD_COUNTS(&o, 1, 0, 1);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    world_pass(&o, 50);
    ck_assert(!partition_default_delay_pending(o.p, o.view.now_ms));
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
}
END_TEST

START_TEST(a_shorter_default_delay_does_not_wait_for_a_longer_one_before_it)
{
    world_send_default_delay(&o, 1000);
    world_send_default_delay(&o, 100);
    world_send_own_delay(&o, 0);
    WORLD_COUNTS(&o, 1, 0, 2);
    ck_assert_uint_eq(world_receive(&o, 10, 5000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 2);
    world_pass(&o, 100);
    WORLD_COUNTS(&o, 1, 1, 1);
    ck_assert_uint_eq(world_receive(&o, 10, 5000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
    world_pass(&o, 900);
    ck_assert_uint_eq(world_receive(&o, 10, 5000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 0);
}
END_TEST

START_TEST(own_delays_end_out_of_order)
{
    world_send_own_delay(&o, 300);
    world_send_own_delay(&o, 100);
    world_send(&o);
    ck_assert_uint_eq(world_receive(&o, 10, 5000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 2);
    world_pass(&o, 99);
    ck_assert_uint_eq(world_receive(&o, 10, 5000), 0);
    world_pass(&o, 1);
    WORLD_COUNTS(&o, 1, 1, 1);
    ck_assert_uint_eq(world_receive(&o, 10, 5000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
    ck_assert_int_eq(partition_next_event_ms(o.p, &o.view, o.w, WORLD_GID), WORLD_START_MS + 300);
    world_pass(&o, 200);
    ck_assert_uint_eq(world_receive(&o, 10, 5000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 0);
}
END_TEST

START_TEST(a_group_made_later_knows_the_delays)
{
    world_send_own_delay(&o, 300);
    world_send(&o);
    world_apply(
        &o, &(struct record){.type = RECORD_GROUP, .group = {.gid = WORLD_GID, .generation = 2}});
    o.generation = 2;
    WORLD_COUNTS(&o, 1, 0, 1);
    ck_assert_uint_eq(world_receive(&o, 10, 5000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
}
END_TEST

/* ---- moves ---- */

START_TEST(a_used_up_message_moves_once_and_is_not_delivered)
{
    o.view.receives_max = 2;
    world_send(&o);
    world_receive(&o, 1, 0);
    world_receive(&o, 1, 0);
    ck_assert_uint_eq(world_receive(&o, 1, 0), 0);
    ck_assert_uint_eq(o.grant.moves_n, 1);
    ck_assert_uint_eq(o.grant.moves[0].move.receive_count, 2);
    ck_assert_uint_eq(o.grant.moves[0].move.target.at[0], 42);
    ck_assert_uint_eq(world_receive(&o, 1, 0), 0);
    ck_assert_uint_eq(o.grant.moves_n, 0);
    WORLD_COUNTS(&o, 0, 0, 0);
    ck_assert_uint_eq(world_count(&o).moving, 1);
    ck_assert_uint_eq(partition_wanted_from(o.p), 0);
    world_move_closed(&o, 0, false);
    ck_assert_uint_eq(world_count(&o).unfinished, 0);
    ck_assert_uint_eq(partition_moves_closed(o.p), 1);
    ck_assert_uint_eq(partition_wanted_from(o.p), 1);
    struct record again;
    ck_assert_int_eq(partition_plan_moved(o.p, 0, false, &again), ERR_GONE);
}
END_TEST

START_TEST(a_move_called_off_is_delivered_again)
{
    o.view.receives_max = 1;
    world_send(&o);
    world_receive(&o, 1, 0);
    world_receive(&o, 1, 0);
    ck_assert_uint_eq(o.grant.moves_n, 1);
    world_move_closed(&o, 0, true);
    o.view.receives_max = 0;
    ck_assert_uint_eq(world_receive(&o, 1, 0), 1);
    ck_assert_uint_eq(o.grant.moves_n, 0);
}
END_TEST

START_TEST(the_receive_count_goes_on_after_a_move)
{
    struct record_message m = world_message(&o);
    m.moved = true;
    m.receive_count = 3;
    o.view.receives_max = 2;
    world_send_message(&o, &m);
    ck_assert_uint_eq(world_receive(&o, 1, 0), 1);
    ck_assert_uint_eq(o.grant.picks[0].receive_count, 4);
}
END_TEST

START_TEST(a_receive_starts_no_more_than_so_many_moves)
{
    for (int i = 0; i < PARTITION_MOVES_MAX + 5; i++)
        world_send(&o);
    for (int i = 0; i < 11; i++)
        world_receive(&o, 10, 1000);
    world_pass(&o, 1000);
    o.view.receives_max = 1;
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    ck_assert_uint_eq(o.grant.moves_n, PARTITION_MOVES_MAX);
    world_receive(&o, 10, 1000);
    ck_assert_uint_eq(o.grant.moves_n, 5);
    ck_assert_uint_eq(world_count(&o).moving, PARTITION_MOVES_MAX + 5);
}
END_TEST

START_TEST(a_far_message_handed_back_leaves_the_window_where_it_is)
{
    for (int i = 0; i < 500; i++)
        world_send(&o);
    for (int i = 0; i < 40; i++)
        world_receive(&o, 10, 1000);
    partition_window_reset(o.w, 400);
    world_receive(&o, 1, 100000);
    world_pass(&o, 1000);
    o.needs = 0;
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(world_receive(&o, 10, 100000), 10);
    ck_assert_uint_eq(world_pick(&o, 9), 49);
    ck_assert_uint_eq(o.needs, 50);
    ck_assert_uint_eq(partition_window_first(o.w), 400);
}
END_TEST

TCase *tcase_standard(void)
{
    TCase *t = tcase_create("standard");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, the_deadline_itself_is_free);
    tcase_add_test(t, a_current_receipt_ends_at_the_deadline_itself);
    tcase_add_test(t, messages_come_in_order_and_each_once);
    tcase_add_test(t, what_is_not_committed_is_not_handed_out);
    tcase_add_test(t, redelivery_comes_first_and_lowest_first);
    tcase_add_test(t, visibility_0_counts_and_frees_at_once);
    tcase_add_test(t, the_first_receive_time_stays);
    tcase_add_test(t, a_receive_stops_before_too_many_bytes_but_brings_one);
    tcase_add_test(t, no_more_than_in_flight_max_are_leased);
    tcase_add_test(t, an_unknown_group_is_not_found);
    tcase_add_test(t, an_expired_message_is_hidden_at_its_end_itself);
    tcase_add_test(t, a_superseded_handle_still_deletes_on_standard);
    tcase_add_test(t, a_second_delete_is_gone);
    tcase_add_test(t, a_receipt_of_a_number_not_reached_is_invalid);
    tcase_add_test(t, a_lease_lost_in_a_crash_can_still_be_deleted_and_hidden);
    tcase_add_test(t, an_expired_handle_hides_the_message_again);
    tcase_add_test(t, an_older_handle_frees_what_another_holds);
    tcase_add_test(t, twelve_hours_from_the_receive_are_too_long);
    tcase_add_test(t, only_the_current_lease_is_given_back);
    tcase_add_test(t, a_receipt_of_another_generation_is_gone);
    tcase_add_test(t, default_delays_end_in_order_at_the_due_time_itself);
    tcase_add_test(t, a_shorter_default_delay_does_not_wait_for_a_longer_one_before_it);
    tcase_add_test(t, own_delays_end_out_of_order);
    tcase_add_test(t, a_group_made_later_knows_the_delays);
    tcase_add_test(t, a_used_up_message_moves_once_and_is_not_delivered);
    tcase_add_test(t, a_move_called_off_is_delivered_again);
    tcase_add_test(t, the_receive_count_goes_on_after_a_move);
    tcase_add_test(t, a_receive_starts_no_more_than_so_many_moves);
    tcase_add_test(t, a_far_message_handed_back_leaves_the_window_where_it_is);
    return t;
}

Suite *suite_new(void)
{
    Suite *suite = suite_create("partition");
    suite_add_tcase(suite, tcase_standard());
    suite_add_tcase(suite, tcase_delays());
    suite_add_tcase(suite, tcase_fifo());
    suite_add_tcase(suite, tcase_fair());
    suite_add_tcase(suite, tcase_state());
    suite_add_tcase(suite, tcase_repeat());
    return suite;
}

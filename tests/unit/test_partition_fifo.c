// SPDX-License-Identifier: Apache-2.0
/* FIFO: order and blocking by message group. */
#include "partition_fixture.h"

static struct world o;

static void set_up(void)
{
    world_init(&o, true);
}

static void tear_down(void)
{
    world_fini(&o);
}

START_TEST(one_group_gives_as_many_as_it_can_before_the_next)
{
    for (int i = 0; i < 4; i++) {
        world_send_group(&o, 'a');
        world_send_group(&o, 'b');
    }
    static const uint64_t want[] = {0, 2, 4, 6, 1, 3};
    ck_assert_uint_eq(world_receive(&o, 6, 1000), 6);
    for (size_t i = 0; i < 6; i++)
        ck_assert_uint_eq(world_pick(&o, i), want[i]);
}
END_TEST

START_TEST(a_group_with_a_message_in_flight_gives_nothing_new)
{
    world_send_group(&o, 'a');
    world_send_group(&o, 'a');
    world_send_group(&o, 'b');
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    world_send_group(&o, 'a');
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 2);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    WORLD_COUNTS(&o, 2, 2, 0); /* the blocked ones count as visible */
}
END_TEST

START_TEST(deleting_one_of_two_in_flight_still_blocks)
{
    for (int i = 0; i < 3; i++)
        world_send_group(&o, 'a');
    world_receive(&o, 2, 1000);
    struct partition_receipt first = world_receipt(&o, 0), second = world_receipt(&o, 1);
    ck_assert_int_eq(world_delete(&o, first, RECEIPT_CURRENT), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    ck_assert_int_eq(world_delete(&o, second, RECEIPT_CURRENT), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 2);
}
END_TEST

START_TEST(the_first_of_two_freed_comes_again_while_the_second_stays)
{
    for (int i = 0; i < 3; i++)
        world_send_group(&o, 'a');
    world_receive(&o, 2, 1000);
    ck_assert_int_eq(world_extend(&o, world_receipt(&o, 0), RECEIPT_CURRENT, 0), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 0);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
}
END_TEST

START_TEST(the_second_of_two_freed_waits_for_the_first)
{
    for (int i = 0; i < 2; i++)
        world_send_group(&o, 'a');
    world_receive(&o, 2, 1000);
    struct partition_receipt first = world_receipt(&o, 0);
    ck_assert_int_eq(world_extend(&o, world_receipt(&o, 1), RECEIPT_CURRENT, 0), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    ck_assert_int_eq(world_delete(&o, first, RECEIPT_CURRENT), ERR_OK);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
}
END_TEST

START_TEST(after_expiry_the_group_restarts_from_its_head_in_order)
{
    for (int i = 0; i < 3; i++)
        world_send_group(&o, 'a');
    world_receive(&o, 2, 1000);
    world_pass(&o, 1000);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(world_pick(&o, i), i);
}
END_TEST

START_TEST(an_expired_handle_has_no_effect_on_fifo)
{
    world_send_group(&o, 'a');
    world_receive(&o, 1, 1000);
    world_pass(&o, 1000);
    ck_assert_int_eq(world_delete(&o, world_receipt(&o, 0), RECEIPT_CURRENT), ERR_LEASE_EXPIRED);
    WORLD_COUNTS(&o, 1, 0, 0);
}
END_TEST

START_TEST(a_message_not_due_blocks_its_group_alone)
{
    struct record_message m = world_message(&o);
    m.due_ms += 500;
    m.group_hash.at[0] = 'a';
    world_send_message(&o, &m);
    world_send_group(&o, 'a'); /* the queue's delay was taken away */
    world_send_group(&o, 'b');
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 2);
    world_pass(&o, 500);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 2);
    ck_assert_uint_eq(world_pick(&o, 0), 0);
}
END_TEST

START_TEST(a_delay_that_was_deleted_holds_nothing_up)
{
    struct record_message m = world_message(&o);
    struct record_runs runs;
    m.due_ms += 500;
    m.group_hash.at[0] = 'a';
    world_send_group(&o, 'b');
    world_send_message(&o, &m);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1); /* the floor stays at the first */
    record_runs_init(&runs);
    record_runs_put(&runs, 1);
    world_apply(
        &o, &(struct record){.type = RECORD_DONE, .done = {WORLD_GID, record_runs_bytes(&runs)}});
    record_runs_fini(&runs);
    uint64_t next = world_send_group(&o, 'a');
    ck_assert(partition_window_take(o.w, &o.headers[next]));
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), next);
}
END_TEST

START_TEST(a_move_frees_its_group_for_the_next_message)
{
    o.view.receives_max = 1;
    world_send_group(&o, 'a');
    world_receive(&o, 1, 0);
    world_send_group(&o, 'a');
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(o.grant.moves_n, 1);
    ck_assert_uint_eq(o.grant.moves[0].move.number, 0);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
}
END_TEST

START_TEST(a_message_whose_move_must_wait_blocks_its_group)
{
    for (int i = 1; i <= PARTITION_MOVES_MAX + 1; i++)
        world_send_group(&o, (char)i);
    for (int i = 0; i < 11; i++)
        world_receive(&o, 10, 1000);
    uint64_t last = world_send_group(&o, PARTITION_MOVES_MAX + 1);
    ck_assert(partition_window_take(o.w, &o.headers[last]));
    world_pass(&o, 1000);
    o.view.receives_max = 1;
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    ck_assert_uint_eq(o.grant.moves_n, PARTITION_MOVES_MAX);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(o.grant.moves_n, 1);
    ck_assert_uint_eq(world_pick(&o, 0), last);
}
END_TEST

START_TEST(a_full_window_of_finished_messages_is_swept)
{
    struct partition_header h = {.group_hash = 1};
    struct record_message m = world_message(&o);
    m.group_hash.at[0] = 1;
    struct record message = {.type = RECORD_MESSAGE, .message = m};
    for (uint64_t n = 0; n < PARTITION_WINDOW_MAX + 10; n++)
        partition_apply(o.p, &message);
    o.view.committed_number = PARTITION_WINDOW_MAX + 10;
    for (; h.number < PARTITION_WINDOW_MAX; h.number++)
        ck_assert(partition_window_put(o.w, &h));
    ck_assert(!partition_window_put(o.w, &h));
    struct partition_receive request = {WORLD_GID, 1, 1000, BYTES_NONE, 100, false};
    uint64_t need;
    ck_assert_int_eq(partition_plan_receive(o.p, &o.view, o.w, &request, &o.grant, &need), ERR_OK);
    partition_apply(o.p, &o.grant.lease);
    struct record_runs runs;
    record_runs_init(&runs);
    for (uint64_t n = 1; n < PARTITION_WINDOW_MAX; n++)
        record_runs_put(&runs, n);
    partition_apply(
        o.p, &(struct record){.type = RECORD_DONE, .done = {WORLD_GID, record_runs_bytes(&runs)}});
    record_runs_fini(&runs);
    ck_assert_int_eq(partition_plan_receive(o.p, &o.view, o.w, &request, &o.grant, &need),
                     ERR_NEED);
    ck_assert_uint_eq(need, PARTITION_WINDOW_MAX);
    h.group_hash = 2;
    ck_assert(partition_window_take(o.w, &h));
    ck_assert_int_eq(partition_plan_receive(o.p, &o.view, o.w, &request, &o.grant, &need), ERR_OK);
    ck_assert_uint_eq(world_pick(&o, 0), PARTITION_WINDOW_MAX);
}
END_TEST

/* The order that AWS shows: g1-m1 g2-m1 g2-m2 g3-m1 g1-m2, received with visibility 0. */
START_TEST(groups_that_were_served_go_behind_those_that_wait)
{
    static const char groups[] = "12231";
    for (int i = 0; i < 5; i++)
        world_send_group(&o, groups[i]);
    static const uint64_t first[] = {0, 4, 1}, second[] = {3, 0, 4, 1, 2};
    ck_assert_uint_eq(world_receive(&o, 3, 0), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(world_pick(&o, i), first[i]);
    ck_assert_uint_eq(world_receive(&o, 10, 0), 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(world_pick(&o, i), second[i]);
}
END_TEST

START_TEST(one_hot_group_does_not_keep_others_waiting)
{
    for (int i = 0; i < 100; i++)
        world_send_group(&o, 'h');
    uint64_t other = world_send_group(&o, 'o'), third = world_send_group(&o, 't');
    const uint64_t want[] = {0, other, third, 0, other};
    for (size_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(world_receive(&o, 1, 0), 1);
        ck_assert_uint_eq(world_pick(&o, 0), want[i]);
    }
}
END_TEST

TCase *tcase_fifo(void)
{
    TCase *t = tcase_create("fifo");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, one_group_gives_as_many_as_it_can_before_the_next);
    tcase_add_test(t, a_group_with_a_message_in_flight_gives_nothing_new);
    tcase_add_test(t, deleting_one_of_two_in_flight_still_blocks);
    tcase_add_test(t, the_first_of_two_freed_comes_again_while_the_second_stays);
    tcase_add_test(t, the_second_of_two_freed_waits_for_the_first);
    tcase_add_test(t, after_expiry_the_group_restarts_from_its_head_in_order);
    tcase_add_test(t, an_expired_handle_has_no_effect_on_fifo);
    tcase_add_test(t, a_message_not_due_blocks_its_group_alone);
    tcase_add_test(t, a_delay_that_was_deleted_holds_nothing_up);
    tcase_add_test(t, a_move_frees_its_group_for_the_next_message);
    tcase_add_test(t, a_message_whose_move_must_wait_blocks_its_group);
    tcase_add_test(t, a_full_window_of_finished_messages_is_swept);
    tcase_add_test(t, groups_that_were_served_go_behind_those_that_wait);
    tcase_add_test(t, one_hot_group_does_not_keep_others_waiting);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* Fair receives: tenants that have much in flight let others go first. */
#include "base/rng.h"
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

static void send_many(char tenant, int n)
{
    for (int i = 0; i < n; i++)
        world_send_group(&o, tenant);
}

START_TEST(thirty_in_flight_and_a_tenth_of_all_let_others_go_first)
{
    send_many('a', 100);
    uint64_t b = world_send_group(&o, 'b');
    for (int i = 0; i < 29; i++) {
        ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
        ck_assert_uint_eq(world_pick(&o, 0), (uint64_t)i);
    }
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1); /* 29 in flight: still in order */
    ck_assert_uint_eq(world_pick(&o, 0), 29);
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), b);
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1); /* nobody else waits */
    ck_assert_uint_eq(world_pick(&o, 0), 30);
}
END_TEST

START_TEST(a_receive_is_filled_up_with_what_the_noisy_one_has)
{
    send_many('a', 50);
    send_many('b', 3);
    for (int i = 0; i < 3; i++)
        world_receive(&o, 10, 1000);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 10);
    for (size_t i = 0; i < 10; i++)
        ck_assert_uint_eq(world_pick(&o, i), i < 3 ? 50 + i : 27 + i);
}
END_TEST

/* 0: deleted, 1: expired. */
START_TEST(a_tenant_whose_leases_have_ended_is_not_noisy_any_more)
{
    struct partition_receipt receipts[30];
    send_many('a', 100);
    uint64_t b = world_send_group(&o, 'b');
    for (size_t i = 0; i < 3; i++) {
        world_receive(&o, 10, 1000);
        for (size_t k = 0; k < 10; k++)
            receipts[10 * i + k] = world_receipt(&o, k);
    }
    if (_i == 0)
        for (size_t i = 0; i < 30; i++)
            ck_assert_int_eq(world_delete(&o, receipts[i], RECEIPT_ANY), ERR_OK);
    else
        world_pass(&o, 1000);
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    ck_assert_uint_ne(world_pick(&o, 0), b);
}
END_TEST

START_TEST(messages_without_a_group_are_never_noisy)
{
    for (int i = 0; i < 100; i++)
        world_send(&o);
    world_send_group(&o, 'b');
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
        ck_assert_uint_eq(world_pick(&o, 0), (uint64_t)i);
    }
}
END_TEST

START_TEST(of_two_noisy_ones_the_one_with_less_in_flight_comes_first)
{
    send_many('a', 60);
    send_many('b', 60);
    for (int i = 0; i < 4; i++)
        world_receive(&o, 10, 1000); /* 30 of a, then 10 of b */
    ck_assert_uint_eq(world_pick(&o, 0), 60);
    for (int i = 0; i < 2; i++)
        world_receive(&o, 10, 1000);
    ck_assert_uint_eq(world_pick(&o, 9), 89);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 10); /* 30 of each: by turns */
    size_t of_a = 0;
    for (size_t i = 0; i < 10; i++)
        of_a += world_pick(&o, i) < 60;
    ck_assert_uint_eq(of_a, 5);
}
END_TEST

START_TEST(a_noisy_tenants_handed_back_messages_wait_too)
{
    send_many('a', 100);
    for (int i = 0; i < 4; i++)
        world_receive(&o, 10, 1000);
    struct partition_receipt one = world_receipt(&o, 0);
    ck_assert_int_eq(world_extend(&o, one, RECEIPT_ANY, 0), ERR_OK);
    uint64_t b = world_send_group(&o, 'b');
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), b);
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), one.number);
}
END_TEST

START_TEST(a_used_up_message_is_moved_once_while_another_tenant_is_noisy)
{
    uint64_t used_up = world_send_group(&o, 'b');
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    send_many('a', 50);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(world_receive(&o, 10, 100000), 10);
    world_pass(&o, 1000);
    o.view.receives_max = 1;
    o.view.dead_letter_topic.at[0] = 1;
    ck_assert_uint_eq(world_receive(&o, 10, 100000), 10); /* filled up with a's */
    ck_assert_uint_eq(o.grant.moves_n, 1);
    ck_assert_uint_eq(o.grant.moves[0].move.number, used_up);
}
END_TEST

START_TEST(each_message_is_handed_out_once_whatever_the_tenants)
{
    struct rng rng = {.state = test_seed()};
    bool seen[WORLD_MESSAGES] = {false};
    size_t sent = 0, got = 0;
    while (got < WORLD_MESSAGES) {
        for (uint64_t n = rng_next(&rng) % 20; n > 0 && sent < WORLD_MESSAGES; n--, sent++)
            world_send_group(&o, rng_next(&rng) % 4 > 0 ? 'a' : (char)('b' + rng_next(&rng) % 20));
        size_t n = world_receive(&o, 1 + rng_next(&rng) % 10, 100000);
        for (size_t i = 0; i < n; i++) {
            ck_assert(!seen[world_pick(&o, i)]);
            seen[world_pick(&o, i)] = true;
            if (rng_next(&rng) % 2 == 0)
                ck_assert_int_eq(world_delete(&o, world_receipt(&o, i), RECEIPT_ANY), ERR_OK);
        }
        got += n;
    }
}
END_TEST

/* A window that is full of one tenant's messages, and one of another far behind it. */
START_TEST(a_message_far_behind_a_full_window_is_found)
{
    enum { N = PARTITION_WINDOW_MAX + 5000 };
    struct partition_receive request = {.gid = WORLD_GID,
                                        .max = 10,
                                        .visibility_ms = 1000,
                                        .body_bytes_max = 1000000,
                                        .look_ahead = true};
    struct record_message m = world_message(&o);
    struct partition_header h[1000];
    uint64_t need = 0, found = 0;
    for (uint64_t i = 0; i < N; i++) {
        m.group_hash.at[0] = i == N - 10 ? 'b' : 'a';
        partition_apply(o.p, &(struct record){.type = RECORD_MESSAGE, .message = m});
    }
    o.view.committed_number = N;
    size_t receives = 0, reads = 0;
    for (; receives < 10 && found == 0; receives++) {
        while (partition_plan_receive(o.p, &o.view, o.w, &request, &o.grant, &need) == ERR_NEED) {
            size_t n = 0;
            ck_assert_uint_lt(need, N);
            ck_assert_uint_lt(reads++, N / 1000 + 10);
            for (; n < 1000 && need + n < N; n++) {
                m.group_hash.at[0] = need + n == N - 10 ? 'b' : 'a';
                h[n] = partition_header_of(need + n, &m);
            }
            if (!partition_window_take_ahead(o.w, h, n))
                for (size_t i = 0; i < n && partition_window_take(o.w, &h[i]); i++)
                    continue;
        }
        ck_assert_uint_eq(o.grant.picks_n, 10);
        partition_apply(o.p, &o.grant.lease);
        for (size_t i = 0; i < 10; i++)
            if (world_pick(&o, i) == N - 10)
                found = receives + 1;
    }
    ck_assert_uint_eq(found, 4); /* the first after three that make the tenant noisy */
}
END_TEST

TCase *tcase_fair(void)
{
    TCase *t = tcase_create("fair");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, thirty_in_flight_and_a_tenth_of_all_let_others_go_first);
    tcase_add_test(t, a_receive_is_filled_up_with_what_the_noisy_one_has);
    tcase_add_loop_test(t, a_tenant_whose_leases_have_ended_is_not_noisy_any_more, 0, 2);
    tcase_add_test(t, messages_without_a_group_are_never_noisy);
    tcase_add_test(t, of_two_noisy_ones_the_one_with_less_in_flight_comes_first);
    tcase_add_test(t, a_noisy_tenants_handed_back_messages_wait_too);
    tcase_add_test(t, a_used_up_message_is_moved_once_while_another_tenant_is_noisy);
    tcase_add_test(t, each_message_is_handed_out_once_whatever_the_tenants);
    tcase_add_test(t, a_message_far_behind_a_full_window_is_found);
    return t;
}

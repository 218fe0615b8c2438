// SPDX-License-Identifier: Apache-2.0
/* Messages with a delay of their own: what they cost, and what becomes of them in each group. */
#include <malloc.h>
#include <stdlib.h>

#include "base/rng.h"
#include "partition/delays.h"
#include "partition_fixture.h"

enum {
    OTHER_GID = 6,
    MANY = 50000,
    BYTES_MAX = 100,
    BYTES_A_GROUP_MAX = 16,
    BYTES_LEFT_MAX = 32768
};

static struct world o;

static void set_up(void)
{
    world_init(&o, false);
}

static void tear_down(void)
{
    world_fini(&o);
}

static void add_group(uint32_t gid)
{
    world_apply(&o, &(struct record){.type = RECORD_GROUP, .group = {.gid = gid, .generation = 1}});
}

static struct partition_counters count_of(uint32_t gid)
{
    struct partition_counters c;
    ck_assert_int_eq(partition_count(o.p, &o.view, gid, partition_next_number(o.p), &c), ERR_OK);
    return c;
}

static void finish(uint32_t gid, uint64_t number)
{
    struct record_runs runs;
    record_runs_init(&runs);
    record_runs_put(&runs, number);
    world_apply(&o, &(struct record){.type = RECORD_DONE, .done = {gid, record_runs_bytes(&runs)}});
    record_runs_fini(&runs);
}

/* A record tells what time it is, and nothing else. */
static void tell_time(void)
{
    world_apply(&o, &(struct record){.type = RECORD_EPOCH, .epoch = {1, o.view.now_ms}});
}

static void save_and_load(void)
{
    struct buf saved = BUF_EMPTY;
    struct partition *loaded;
    partition_save(o.p, &saved);
    ck_assert_int_eq(partition_load(buf_bytes(&saved), &loaded), ERR_OK);
    ck_assert(partition_is_saved_as(loaded, buf_bytes(&saved)));
    partition_free(o.p);
    o.p = loaded;
    buf_fini(&saved);
}

/* ---- memory ---- */

/* What is allocated. A sanitizer's allocator always tells the same, and then the bounds hold of
 * themselves. */
static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* The most that one of `n` delayed messages has cost, whatever was slack at the time. */
static double send_many(size_t n, int64_t delay_ms)
{
    struct record r = {.type = RECORD_MESSAGE, .message = world_message(&o)};
    struct rng rng = {.state = test_seed()};
    size_t before = heap_bytes();
    double most = 0;
    for (size_t i = 1; i <= n; i++) {
        r.message.due_ms = o.view.now_ms + delay_ms + (int64_t)rng_below(&rng, 1000);
        r.message.delay_is_default = false;
        partition_apply(o.p, &r);
        double each = (double)(heap_bytes() - before) / (double)i;
        most = i > 1000 && each > most ? each : most;
    }
    return most;
}

START_TEST(a_delayed_message_costs_less_than_100_bytes)
{
    ck_assert(send_many(MANY, 900000) < BYTES_MAX);
    ck_assert_uint_eq(count_of(WORLD_GID).delayed, MANY);
}
END_TEST

START_TEST(nine_more_groups_make_a_delayed_message_hardly_dearer)
{
    for (uint32_t gid = OTHER_GID; gid < OTHER_GID + 9; gid++)
        add_group(gid);
    ck_assert(send_many(MANY, 900000) < BYTES_MAX);
    size_t before = heap_bytes();
    add_group(4); /* made later, with all the delays before it */
    ck_assert_uint_lt(heap_bytes() - before, 4096);
    ck_assert_uint_eq(count_of(4).delayed, MANY);
    before = heap_bytes();
    world_pass(&o, 901000);
    for (uint32_t gid = 4; gid < OTHER_GID + 9; gid++)
        ck_assert_uint_eq(count_of(gid).visible, MANY);
    ck_assert_uint_lt(heap_bytes() - before, 11 * BYTES_A_GROUP_MAX * MANY);
}
END_TEST

/* The last message is leased, so the cursor passes all others before they are due. */
static void send_many_behind_the_cursor(void)
{
    send_many(MANY, 1000);
    struct record_runs runs;
    record_runs_init(&runs);
    world_apply(&o, &(struct record){.type = RECORD_MESSAGE, .message = world_message(&o)});
    record_runs_put(&runs, MANY);
    world_apply(&o, &(struct record){.type = RECORD_LEASE,
                                     .lease = {.gid = WORLD_GID,
                                               .id = {1, 1},
                                               .granted_ms = o.view.now_ms,
                                               .until_ms = o.view.now_ms + 100,
                                               .numbers = record_runs_bytes(&runs)}});
    record_runs_fini(&runs);
    finish(WORLD_GID, MANY);
}

START_TEST(one_that_nobody_fetched_when_it_was_due_costs_less_than_100_bytes)
{
    size_t before = heap_bytes();
    send_many_behind_the_cursor();
    world_pass(&o, 3000);
    tell_time();
    ck_assert_uint_eq(count_of(WORLD_GID).visible, MANY);
    ck_assert_uint_lt((heap_bytes() - before) / MANY, BYTES_MAX);
    save_and_load();
    ck_assert_uint_eq(count_of(WORLD_GID).visible, MANY);
    ck_assert_uint_lt((heap_bytes() - before) / MANY, BYTES_MAX);
}
END_TEST

START_TEST(memory_of_delays_that_are_over_is_given_back)
{
    size_t before = heap_bytes();
    send_many(MANY, 1000);
    for (int i = 0; i < 20; i++) {
        world_pass(&o, 100);
        tell_time();
    }
    ck_assert_uint_eq(count_of(WORLD_GID).visible, MANY);
    ck_assert_uint_lt(heap_bytes(), before + BYTES_LEFT_MAX);
}
END_TEST

START_TEST(memory_of_delays_behind_the_cursor_is_given_back_when_they_are_finished)
{
    size_t before = heap_bytes();
    send_many_behind_the_cursor();
    world_pass(&o, 3000);
    tell_time();
    for (uint64_t number = 0; number < MANY; number++)
        finish(WORLD_GID, number);
    world_pass(&o, 1);
    tell_time();
    ck_assert_uint_eq(count_of(WORLD_GID).unfinished, 0);
    ck_assert_uint_lt(heap_bytes(), before + BYTES_LEFT_MAX);
}
END_TEST

/* ---- in each group ---- */

START_TEST(one_that_the_cursor_has_passed_comes_when_it_is_due_also_after_a_load)
{
    world_send_own_delay(&o, 100);
    world_send(&o);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 1);
    save_and_load();
    WORLD_COUNTS(&o, 0, 1, 1);
    world_pass(&o, 99);
    tell_time();
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    world_pass(&o, 1);
    tell_time(); /* released: only this group knows of it */
    for (int i = 0; i < 2; i++) {
        WORLD_COUNTS(&o, 1, 1, 0);
        save_and_load();
    }
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 0);
    WORLD_COUNTS(&o, 0, 2, 0);
}
END_TEST

START_TEST(one_that_a_receive_walked_over_is_found_once_it_is_released)
{
    world_send_own_delay(&o, 100);
    world_send_own_delay(&o, 50);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    world_pass(&o, 100);
    world_send(&o); /* tells the time */
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(world_pick(&o, i), i);
}
END_TEST

START_TEST(what_one_group_deletes_before_it_is_due_another_still_waits_for)
{
    add_group(OTHER_GID);
    world_send_own_delay(&o, 100);
    world_send_own_delay(&o, 200);
    finish(OTHER_GID, 0);
    ck_assert_uint_eq(count_of(OTHER_GID).delayed, 1);
    ck_assert_uint_eq(count_of(WORLD_GID).delayed, 2);
    world_pass(&o, 100);
    tell_time();
    ck_assert_uint_eq(count_of(OTHER_GID).unfinished, 1);
    ck_assert_uint_eq(count_of(OTHER_GID).visible, 0);
    WORLD_COUNTS(&o, 1, 0, 1);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 0);
}
END_TEST

START_TEST(a_delayed_message_that_is_moved_waits_no_longer)
{
    world_send_own_delay(&o, 100);
    struct record move;
    ck_assert(partition_plan_overflow(o.p, &o.view, WORLD_GID, 0, &move));
    world_apply(&o, &move);
    ck_assert_uint_eq(world_count(&o).moving, 1);
    ck_assert_uint_eq(world_count(&o).delayed, 0);
    save_and_load();
    world_pass(&o, 100);
    tell_time();
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 0);
    world_move_closed(&o, move.move.seq, true);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
}
END_TEST

START_TEST(a_purge_takes_the_delayed_ones_and_later_ones_are_counted_rightly)
{
    struct record purge;
    world_send_own_delay(&o, 100);
    world_send_own_delay(&o, 300);
    world_pass(&o, 100);
    WORLD_COUNTS(&o, 1, 0, 1);
    ck_assert_int_eq(partition_plan_purge(o.p, WORLD_GID, false, &purge), ERR_OK);
    world_apply(&o, &purge);
    WORLD_COUNTS(&o, 0, 0, 0);
    world_send_own_delay(&o, 50);
    save_and_load();
    WORLD_COUNTS(&o, 0, 0, 1);
    world_pass(&o, 1000);
    tell_time();
    WORLD_COUNTS(&o, 1, 0, 0);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 2);
}
END_TEST

/* ---- the table ---- */

static bool is_odd(const void *of, const struct delay *delay)
{
    (void)of;
    return delay->number % 2 == 1;
}

START_TEST(delays_become_due_and_are_released_in_order_also_after_a_sweep)
{
    struct rng rng = {.state = test_seed()};
    struct delays d;
    delays_init(&d);
    size_t due_n = 0, released_n = 0, odd_n = 0;
    for (uint64_t n = 0; n < 2000; n++) {
        int64_t due_ms = (int64_t)rng_below(&rng, 1000);
        delays_put(&d, n, due_ms, due_ms + (int64_t)rng_below(&rng, 300));
    }
    for (int64_t now_ms = 0; now_ms < 1300; now_ms++) {
        const struct delay *one;
        while ((one = delays_next_due(&d, now_ms)) != NULL) {
            ck_assert_int_eq(one->due_ms, now_ms);
            due_n++;
        }
        while ((one = delays_releasable(&d, now_ms)) != NULL) {
            ck_assert_int_eq(one->release_ms, now_ms);
            odd_n += is_odd(NULL, one);
            delays_release(&d);
            released_n++;
        }
        if (now_ms % 97 != 0)
            continue;
        delays_sweep(&d, is_odd, NULL);
        ck_assert_uint_eq(d.released_n, odd_n);
        ck_assert_uint_eq(d.n, 2000 - released_n + odd_n);
        for (size_t i = 0; i < d.n; i++)
            ck_assert_ptr_eq(delays_find(&d, d.at[i].number), &d.at[i]);
    }
    ck_assert_uint_eq(due_n, 2000);
    ck_assert_uint_eq(released_n, 2000);
    ck_assert_int_eq(delays_release_after_ms(&d), INT64_MAX);
    delays_fini(&d);
}
END_TEST

static bool is_less(const void *of, uint64_t a, uint64_t b)
{
    (void)of;
    return a < b;
}

START_TEST(an_order_gives_the_smallest_first_and_its_memory_back)
{
    struct rng rng = {.state = test_seed()};
    struct order order;
    order_init(&order, is_less, NULL);
    for (size_t i = 0; i < 5000; i++) {
        if (i < 2500)
            order_append(&order, rng_below(&rng, 1000));
        else
            order_put(&order, rng_below(&rng, 1000));
        if (i == 2499)
            order_settle(&order);
        ck_assert_uint_le(order.room, i < 16 ? 16 : (i + 1) * 3 / 2);
    }
    for (uint64_t last = 0; order.n > 0; order_take(&order)) {
        ck_assert_uint_ge(order_first(&order), last);
        last = order_first(&order);
        ck_assert_uint_le(order.room, 4 * order.n + 16);
    }
    order_fini(&order);
}
END_TEST

TCase *tcase_delays(void)
{
    TCase *t = tcase_create("delays");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_delayed_message_costs_less_than_100_bytes);
    tcase_add_test(t, nine_more_groups_make_a_delayed_message_hardly_dearer);
    tcase_add_test(t, one_that_nobody_fetched_when_it_was_due_costs_less_than_100_bytes);
    tcase_add_test(t, memory_of_delays_that_are_over_is_given_back);
    tcase_add_test(t, memory_of_delays_behind_the_cursor_is_given_back_when_they_are_finished);
    tcase_add_test(t, one_that_the_cursor_has_passed_comes_when_it_is_due_also_after_a_load);
    tcase_add_test(t, one_that_a_receive_walked_over_is_found_once_it_is_released);
    tcase_add_test(t, what_one_group_deletes_before_it_is_due_another_still_waits_for);
    tcase_add_test(t, a_delayed_message_that_is_moved_waits_no_longer);
    tcase_add_test(t, a_purge_takes_the_delayed_ones_and_later_ones_are_counted_rightly);
    tcase_add_test(t, delays_become_due_and_are_released_in_order_also_after_a_sweep);
    tcase_add_test(t, an_order_gives_the_smallest_first_and_its_memory_back);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* What outlives a receive: deduplication, purge, trim, groups, moved messages, memory, snapshots.
 */
#include <malloc.h>

#include "base/rng.h"
#include "partition/look.h"
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

static struct record_message with_dedup(uint8_t id)
{
    struct record_message m = world_message(&o);
    m.dedup_hash.at[15] = id;
    m.dedup_until_ms = m.accepted_ms + 300000;
    m.id.at[0] = id;
    return m;
}

START_TEST(a_dedup_id_counts_for_five_minutes_from_the_first_send)
{
    struct partition_duplicate d;
    struct record_message m = with_dedup(1), other = with_dedup(2);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_OK);
    world_send(&o);
    world_send_message(&o, &m);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &other, &d), ERR_OK);
    world_pass(&o, 299999);
    m = with_dedup(1); /* a duplicate does not extend the window */
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_DUPLICATE);
    ck_assert_uint_eq(d.number, 1);
    ck_assert_uint_eq(d.id.at[0], 1);
    world_pass(&o, 1);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_OK);
}
END_TEST

START_TEST(dedup_survives_receive_and_delete_but_not_purge)
{
    struct partition_duplicate d;
    struct record_message m = with_dedup(1);
    struct record purge;
    world_send_message(&o, &m);
    world_receive(&o, 1, 1000);
    ck_assert_int_eq(world_delete(&o, world_receipt(&o, 0), RECEIPT_ANY), ERR_OK);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_DUPLICATE);
    ck_assert_int_eq(partition_plan_purge(o.p, WORLD_GID, false, &purge), ERR_OK);
    world_apply(&o, &purge);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_DUPLICATE);
    ck_assert_int_eq(partition_plan_purge(o.p, WORLD_GID, true, &purge), ERR_OK);
    world_apply(&o, &purge);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_OK);
}
END_TEST

START_TEST(a_full_dedup_table_refuses_until_the_oldest_ends)
{
    struct partition_duplicate d;
    struct record r = {.type = RECORD_MESSAGE, .message = with_dedup(1)};
    for (uint32_t i = 0; i < PARTITION_DEDUP_MAX; i++) {
        memcpy(r.message.dedup_hash.at, &i, sizeof i);
        partition_apply(o.p, &r);
    }
    struct record_message m = with_dedup(2);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_FULL);
    world_pass(&o, 300000);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_OK);
}
END_TEST

START_TEST(purge_drops_visible_in_flight_and_delayed_but_not_what_follows)
{
    struct record purge;
    for (int i = 0; i < 3; i++)
        world_send(&o);
    world_send_own_delay(&o, 500);
    world_send_default_delay(&o, 500);
    world_receive(&o, 1, 1000);
    struct partition_receipt old = world_receipt(&o, 0);
    WORLD_COUNTS(&o, 2, 1, 2);
    ck_assert_int_eq(partition_plan_purge(o.p, WORLD_GID, true, &purge), ERR_OK);
    world_send(&o);
    world_apply(&o, &purge);
    ck_assert_uint_eq(world_count(&o).unfinished, 1);
    ck_assert_int_eq(world_delete(&o, old, RECEIPT_ANY), ERR_GONE);
    world_pass(&o, 5000);
    ck_assert_uint_eq(world_receive(&o, 10, 1000), 1);
    ck_assert_uint_eq(world_pick(&o, 0), 5);
}
END_TEST

START_TEST(trim_finishes_for_every_group)
{
    world_apply(&o, &(struct record){.type = RECORD_GROUP, .group = {.gid = 6, .generation = 1}});
    for (int i = 0; i < 5; i++)
        world_send(&o);
    world_receive(&o, 1, 1000);
    world_apply(&o, &(struct record){.type = RECORD_TRIM, .trim = {3}});
    struct partition_group_info info;
    ck_assert(partition_group_find(o.p, 6, &info));
    ck_assert_uint_eq(info.floor, 3);
    ck_assert_uint_eq(partition_wanted_from(o.p), 3);
    WORLD_COUNTS(&o, 2, 0, 0);
    world_apply(&o, &(struct record){.type = RECORD_GROUP, .group = {.gid = 7, .generation = 1}});
    ck_assert(partition_group_find(o.p, 7, &info));
    ck_assert_uint_eq(info.floor, 3);
}
END_TEST

START_TEST(the_slowest_group_decides_what_is_wanted)
{
    for (int i = 0; i < 4; i++)
        world_send(&o);
    world_apply(&o, &(struct record){.type = RECORD_GROUP,
                                     .group = {.gid = 6, .generation = 1, .from = 2}});
    struct record purge;
    ck_assert_int_eq(partition_plan_purge(o.p, WORLD_GID, false, &purge), ERR_OK);
    world_apply(&o, &purge);
    ck_assert_uint_eq(partition_wanted_from(o.p), 2);
    world_apply(&o, &(struct record){.type = RECORD_GROUP, .group = {.gid = 6, .dropped = true}});
    ck_assert_uint_eq(partition_wanted_from(o.p), 4);
}
END_TEST

START_TEST(the_floor_follows_deletes_in_any_order)
{
    struct partition_group_info info;
    for (int i = 0; i < 10; i++)
        world_send(&o);
    world_receive(&o, 10, 1000);
    static const size_t order[] = {3, 1, 9, 2, 0, 5, 7, 6, 4, 8};
    static const uint64_t floor[] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 10};
    for (size_t i = 0; i < 10; i++) {
        ck_assert_int_eq(world_delete(&o, world_receipt(&o, order[i]), RECEIPT_ANY), ERR_OK);
        ck_assert(partition_group_find(o.p, WORLD_GID, &info));
        ck_assert_uint_eq(info.floor, floor[i]);
    }
}
END_TEST

START_TEST(a_move_that_is_tried_again_arrives_once)
{
    struct partition_duplicate d;
    struct record_message m = world_message(&o);
    m.moved = true;
    m.origin = (struct record_origin){.topic = {{3}}, .partition = 2, .move_seq = 8};
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_OK);
    world_send(&o);
    world_send_message(&o, &m);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_DUPLICATE);
    ck_assert_uint_eq(d.number, 1);
    m.origin.partition = 3;
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_OK);
    m.origin.partition = 2;
    m.origin.move_seq = 12;
    m.origin.moves_closed = 10;
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_OK);
    world_send_message(&o, &m);
    m.origin.move_seq = 9; /* closed at its source: known, wherever it went */
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_DUPLICATE);
    m.origin.move_seq = 10;
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_OK);
}
END_TEST

START_TEST(memory_does_not_grow_with_the_backlog)
{
    struct record r = {.type = RECORD_MESSAGE, .message = world_message(&o)};
    struct record_message *m = &r.message;
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 1000000; i++) {
        m->accepted_ms += 1;
        m->delay_is_default = i % 3 != 0;
        m->due_ms = m->accepted_ms + (i % 3 == 0 ? i % 100 : 50); /* own delays end too */
        partition_apply(o.p, &r);
    }
    size_t after = mallinfo2().uordblks;
    ck_assert_uint_eq(partition_next_number(o.p), 1000000);
    ck_assert_uint_lt(after, before + 65536);
}
END_TEST

START_TEST(equal_states_give_equal_bytes)
{
    for (int i = 0; i < 20; i++)
        world_send_own_delay(&o, i % 5);
    world_pass(&o, 2);
    world_receive(&o, 5, 10);
    struct buf saved = BUF_EMPTY, again = BUF_EMPTY;
    partition_save(o.p, &saved);
    world_pass(&o, 100);
    world_count(&o); /* time alone changes nothing */
    struct partition *loaded;
    ck_assert_int_eq(partition_load(buf_bytes(&saved), &loaded), ERR_OK);
    partition_save(loaded, &again);
    ck_assert(bytes_equal(buf_bytes(&saved), buf_bytes(&again)));
    ck_assert_uint_eq(partition_hash(o.p), partition_hash(loaded));
    partition_free(loaded);
    buf_fini(&saved);
    buf_fini(&again);
}
END_TEST

static void busy_state(void)
{
    o.view.receives_max = 1;
    for (uint8_t i = 1; i < 40; i++) {
        struct record_message m = with_dedup(i);
        m.moved = i % 7 == 0;
        m.origin.move_seq = i;
        if (i % 5 == 1 && !m.moved)
            m.repeat = (struct record_repeat){1 + i % 2, 300, i, i - i % 3};
        m.due_ms += i % 4 == 0 ? 100 * i : 0;
        m.delay_is_default = i % 8 == 0;
        world_send_message(&o, &m);
    }
    for (int i = 0; i < 4; i++) {
        world_receive(&o, 3, 40);
        world_delete(&o, world_receipt(&o, 1), RECEIPT_ANY);
        world_pass(&o, 30);
    }
}

START_TEST(no_changed_snapshot_breaks_a_load)
{
    busy_state();
    struct rng rng = {.state = test_seed()};
    struct buf saved = BUF_EMPTY;
    partition_save(o.p, &saved);
    char *bytes = malloc(saved.n);
    struct partition *loaded;
    for (size_t n = 0; n < saved.n; n++)
        ck_assert_int_eq(partition_load((struct bytes){saved.at, n}, &loaded), ERR_CORRUPT);
    for (int round = 0; round < 20000; round++) {
        memcpy(bytes, saved.at, saved.n);
        for (uint64_t k = rng_below(&rng, 4) + 1; k > 0; k--)
            bytes[rng_below(&rng, saved.n)] = (char)rng_next(&rng);
        if (partition_load((struct bytes){bytes, saved.n}, &loaded) != ERR_OK)
            continue;
        struct partition_counters c;
        struct record_message m = world_message(&o);
        partition_apply(loaded, &(struct record){.type = RECORD_MESSAGE, .message = m});
        partition_apply(loaded, &(struct record){.type = RECORD_TRIM, .trim = {20}});
        (void)!partition_count(loaded, &o.view, WORLD_GID, UINT64_MAX, &c);
        partition_hash(loaded);
        partition_free(loaded);
    }
    bytes[0] = 4;
    ck_assert_int_eq(partition_load((struct bytes){bytes, saved.n}, &loaded), ERR_NEWER_FORMAT);
    free(bytes);
    buf_fini(&saved);
}
END_TEST

START_TEST(records_that_make_no_sense_change_nothing)
{
    world_send(&o);
    uint64_t hash = partition_hash(o.p);
    struct record_runs runs;
    record_runs_init(&runs);
    record_runs_put(&runs, 5);
    struct bytes five = record_runs_bytes(&runs);
    world_apply(&o, &(struct record){.type = RECORD_DONE, .done = {WORLD_GID, five}});
    world_apply(&o, &(struct record){.type = RECORD_DONE, .done = {99, five}});
    world_apply(&o, &(struct record){.type = RECORD_EXTEND, .extend = {WORLD_GID, 5, 1}});
    world_apply(&o, &(struct record){.type = RECORD_MOVED, .moved = {5}});
    world_apply(&o, &(struct record){.type = RECORD_PURGE, .purge = {99, 5, false}});
    world_apply(&o, &(struct record){.type = RECORD_GROUP, .group = {.gid = 99, .dropped = true}});
    ck_assert_uint_eq(partition_hash(o.p), hash);
    record_runs_fini(&runs);
}
END_TEST

static struct record any_record(struct rng *rng, struct record_runs *runs)
{
    static const enum record_type types[] = {
        RECORD_MESSAGE, RECORD_MESSAGE, RECORD_GROUP, RECORD_LEASE,  RECORD_LEASE,
        RECORD_DONE,    RECORD_EXTEND,  RECORD_MOVE,  RECORD_UNMOVE, RECORD_MOVED,
        RECORD_PURGE,   RECORD_TRIM,    RECORD_SIZES};
    struct record r = {.type = types[rng_below(rng, 13)]};
    uint32_t gid = WORLD_GID + (uint32_t)rng_below(rng, 2);
    uint64_t number = rng_below(rng, partition_next_number(o.p) + 3);
    int64_t ms = (int64_t)rng_below(rng, 5000);
    record_runs_put(runs, number);
    record_runs_put(runs, number + 1 + rng_below(rng, 3));
    if (r.type == RECORD_MESSAGE) {
        r.message = with_dedup((uint8_t)rng_below(rng, 9));
        r.message.due_ms = ms;
        r.message.delay_is_default = rng_below(rng, 2);
    } else if (r.type == RECORD_GROUP) {
        r.group = (struct record_group){gid, rng_below(rng, 9) == 0, BYTES_NONE, rng_below(rng, 50),
                                        number};
    } else if (r.type == RECORD_LEASE) {
        r.lease =
            (struct record_lease){gid, {1, 1}, ms, ms, ms, BYTES_OF("x"), record_runs_bytes(runs)};
    } else if (r.type == RECORD_DONE) {
        r.done = (struct record_done){gid, record_runs_bytes(runs)};
    } else if (r.type == RECORD_EXTEND) {
        r.extend = (struct record_extend){gid, number, ms};
    } else if (r.type == RECORD_MOVE) {
        r.move = (struct record_move){gid, number, number + rng_below(rng, 9), {{0}}, 1};
    } else if (r.type == RECORD_MOVED || r.type == RECORD_UNMOVE) {
        r.moved.seq = number;
    } else if (r.type == RECORD_PURGE) {
        r.purge = (struct record_purge){gid, number / 4, true};
    } else if (r.type == RECORD_SIZES) {
        r.sizes = (struct record_sizes){rng_below(rng, 5) == 0, gid, number,
                                        record_runs_bytes(runs), BYTES_OF("\3\4")};
    } else {
        r.trim.below = number / 4;
    }
    return r;
}

START_TEST(records_in_any_order_are_folded_and_saved)
{
    struct rng rng = {.state = test_seed()};
    for (int round = 0; round < 20000; round++) {
        struct record_runs runs;
        record_runs_init(&runs);
        struct record r = any_record(&rng, &runs);
        partition_apply(o.p, &r);
        record_runs_fini(&runs);
        o.view.now_ms = (int64_t)rng_below(&rng, 6000);
        struct partition_counters c;
        if (partition_count(o.p, &o.view, WORLD_GID, UINT64_MAX, &c) == ERR_OK)
            ck_assert(c.unfinished == c.visible + c.in_flight + c.delayed + c.moving);
        if (round % 50 != 0)
            continue;
        struct buf saved = BUF_EMPTY;
        struct partition *loaded;
        partition_save(o.p, &saved);
        ck_assert_int_eq(partition_load(buf_bytes(&saved), &loaded), ERR_OK);
        ck_assert(partition_hash(loaded) == partition_hash(o.p));
        partition_free(loaded);
        buf_fini(&saved);
    }
}
END_TEST

START_TEST(leases_are_listed_with_their_holder)
{
    for (int i = 0; i < 5; i++)
        world_send(&o);
    world_receive(&o, 5, 1000);
    world_extend(&o, world_receipt(&o, 2), RECEIPT_ANY, 0);
    struct partition_lease_info info[3];
    ck_assert_uint_eq(partition_leases(o.p, WORLD_GID, o.view.now_ms, 1, info, 3), 3);
    ck_assert_uint_eq(info[0].number, 1);
    ck_assert_uint_eq(info[1].number, 3);
    ck_assert_int_eq(info[0].until_ms, WORLD_START_MS + 1000);
    ck_assert_int_eq(info[0].leased_since_ms, WORLD_START_MS);
    ck_assert(bytes_equal(info[0].holder, BYTES_OF("me")));
}
END_TEST

/* Reads the wanted ones of all there are as text: x is wanted, . is not. */
static const char *wanted_text(void)
{
    static char text[65];
    bool wanted[64] = {false};
    size_t n = (size_t)partition_next_number(o.p);
    partition_wanted(o.p, 0, n, wanted);
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        text[i] = wanted[i] ? 'x' : '.';
        count += wanted[i];
    }
    text[n] = '\0';
    ck_assert_uint_eq(partition_wanted_count(o.p, 0, n), count);
    /* In any two parts it is the same. */
    for (size_t cut = 0; cut <= n; cut++) {
        bool part[64] = {false};
        partition_wanted(o.p, 0, cut, part);
        partition_wanted(o.p, cut, n - cut, part + cut);
        ck_assert_mem_eq(part, wanted, n);
        ck_assert_uint_eq(partition_wanted_count(o.p, 0, cut) + partition_wanted_count(o.p, cut, n),
                          count);
    }
    return text;
}

START_TEST(what_is_unfinished_is_wanted)
{
    static const uint64_t finished[] = {0, 1, 3, 6, 7, 8};
    for (int i = 0; i < 10; i++)
        world_send(&o);
    ck_assert_str_eq(wanted_text(), "xxxxxxxxxx");
    struct record_runs runs;
    record_runs_init(&runs);
    for (size_t i = 0; i < sizeof finished / sizeof finished[0]; i++)
        record_runs_put(&runs, finished[i]);
    world_apply(
        &o, &(struct record){.type = RECORD_DONE, .done = {WORLD_GID, record_runs_bytes(&runs)}});
    record_runs_fini(&runs);
    ck_assert_str_eq(wanted_text(), "..x.xx...x");
    world_apply(&o, &(struct record){.type = RECORD_TRIM, .trim = {5}});
    ck_assert_str_eq(wanted_text(), ".....x...x");
}
END_TEST

START_TEST(what_an_open_move_names_is_wanted_even_after_a_purge)
{
    struct record purge;
    o.view.receives_max = 1;
    o.view.dead_letter_topic.at[0] = 42;
    for (int i = 0; i < 4; i++)
        world_send(&o);
    ck_assert_uint_eq(world_receive(&o, 2, 0), 2);
    world_receive(&o, 1, 0);
    ck_assert_uint_eq(o.grant.moves_n, 2);
    ck_assert_int_eq(partition_plan_purge(o.p, WORLD_GID, false, &purge), ERR_OK);
    world_apply(&o, &purge);
    ck_assert_str_eq(wanted_text(), "xx..");
    world_move_closed(&o, 0, false);
    ck_assert_str_eq(wanted_text(), ".x..");
}
END_TEST

/* ---- live messages ---- */

static void tell_size(uint64_t number, uint32_t bytes)
{
    struct partition_sizes s;
    partition_sizes_init(&s);
    partition_sizes_put(&s, number, bytes);
    struct record r = partition_sizes_record(&s);
    world_apply(&o, &r);
    partition_sizes_fini(&s);
}

static void send_bytes(size_t n)
{
    static const char body[100] = "x";
    struct record_message m = world_message(&o);
    m.body = (struct bytes){body, n};
    world_send_message(&o, &m);
}

static void assert_live(uint64_t messages, uint64_t bytes, bool exact)
{
    struct partition_live live;
    ck_assert(partition_live(o.p, WORLD_GID, &live));
    ck_assert_uint_eq(live.messages, messages);
    ck_assert_uint_eq(live.bytes, bytes);
    ck_assert_int_eq(live.exact, exact);
}

START_TEST(live_bytes_are_exact_where_sizes_were_told)
{
    send_bytes(10);
    send_bytes(20);
    send_bytes(30);
    assert_live(3, 60, true);
    tell_size(0, 10);
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    assert_live(3, 60, true);
    ck_assert_int_eq(world_delete(&o, world_receipt(&o, 0), RECEIPT_ANY), ERR_OK);
    assert_live(2, 50, true);
    ck_assert_uint_eq(partition_size(o.p, 0), 0); /* it is forgotten with its message */
    ck_assert_uint_eq(world_receive(&o, 1, 1000), 1);
    ck_assert_int_eq(world_delete(&o, world_receipt(&o, 0), RECEIPT_ANY), ERR_OK);
    assert_live(1, 25, false); /* the mean of 20 and 30 */
    world_apply(&o, &(struct record){.type = RECORD_TRIM, .trim = {3}});
    assert_live(0, 0, true);
}
END_TEST

START_TEST(a_total_sets_the_account_right)
{
    send_bytes(10);
    send_bytes(30);
    world_apply(&o, &(struct record){.type = RECORD_TRIM, .trim = {1}});
    assert_live(1, 20, false);
    world_apply(&o, &(struct record){.type = RECORD_SIZES,
                                     .sizes = {.total = true, .gid = WORLD_GID, .live_bytes = 30}});
    assert_live(1, 30, true);
}
END_TEST

START_TEST(what_moves_to_another_topic_is_not_live_until_that_is_called_off)
{
    send_bytes(10);
    send_bytes(30);
    tell_size(0, 10);
    world_apply(&o, &(struct record){.type = RECORD_MOVE, .move = {WORLD_GID, 0, 0, {{1}}, 1}});
    assert_live(1, 30, true);
    world_move_closed(&o, 0, true);
    assert_live(2, 40, true);
    world_apply(&o, &(struct record){.type = RECORD_MOVE, .move = {WORLD_GID, 0, 1, {{1}}, 1}});
    world_move_closed(&o, 1, false);
    assert_live(1, 30, true);
    ck_assert_uint_eq(partition_size(o.p, 0), 0);
}
END_TEST

START_TEST(a_snapshot_of_format_1_is_loaded_and_its_bytes_are_not_known)
{
    struct partition *loaded;
    struct partition_live live;
    struct buf saved = BUF_EMPTY;
    send_bytes(10);
    partition_save(o.p, &saved);
    saved.at[0] = 1;
    saved.n -= 4; /* 10 bytes, exact, no sizes, no fronts */
    ck_assert_int_eq(partition_load(buf_bytes(&saved), &loaded), ERR_OK);
    ck_assert(partition_live(loaded, WORLD_GID, &live));
    ck_assert(live.messages == 1 && !live.exact);
    ck_assert(partition_is_saved_as(o.p, buf_bytes(&saved)));
    ck_assert(partition_is_saved_as(loaded, buf_bytes(&saved)));
    send_bytes(10);
    ck_assert(!partition_is_saved_as(o.p, buf_bytes(&saved)));
    partition_free(loaded);
    buf_fini(&saved);
}
END_TEST

TCase *tcase_state(void)
{
    TCase *t = tcase_create("state");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_dedup_id_counts_for_five_minutes_from_the_first_send);
    tcase_add_test(t, dedup_survives_receive_and_delete_but_not_purge);
    tcase_add_test(t, a_full_dedup_table_refuses_until_the_oldest_ends);
    tcase_add_test(t, purge_drops_visible_in_flight_and_delayed_but_not_what_follows);
    tcase_add_test(t, trim_finishes_for_every_group);
    tcase_add_test(t, the_slowest_group_decides_what_is_wanted);
    tcase_add_test(t, the_floor_follows_deletes_in_any_order);
    tcase_add_test(t, a_move_that_is_tried_again_arrives_once);
    tcase_add_test(t, memory_does_not_grow_with_the_backlog);
    tcase_add_test(t, equal_states_give_equal_bytes);
    tcase_add_test(t, no_changed_snapshot_breaks_a_load);
    tcase_add_test(t, records_that_make_no_sense_change_nothing);
    tcase_add_test(t, records_in_any_order_are_folded_and_saved);
    tcase_add_test(t, leases_are_listed_with_their_holder);
    tcase_add_test(t, live_bytes_are_exact_where_sizes_were_told);
    tcase_add_test(t, a_total_sets_the_account_right);
    tcase_add_test(t, what_moves_to_another_topic_is_not_live_until_that_is_called_off);
    tcase_add_test(t, a_snapshot_of_format_1_is_loaded_and_its_bytes_are_not_known);
    tcase_add_test(t, what_is_unfinished_is_wanted);
    tcase_add_test(t, what_an_open_move_names_is_wanted_even_after_a_purge);
    return t;
}

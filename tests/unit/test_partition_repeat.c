// SPDX-License-Identifier: Apache-2.0
/* Sends that another broker repeats, because their answer was lost: stored once. */
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

static struct record_message by(uint32_t front, uint64_t life, uint64_t sequence, uint64_t open)
{
    struct record_message m = world_message(&o);
    m.repeat = (struct record_repeat){front, life, sequence, sequence - open};
    m.id.at[0] = (uint8_t)(10 * front);
    m.id.at[1] = (uint8_t)sequence;
    return m;
}

/* What becomes of it; number and id of the first, if there is one, are as they should be. */
static enum err plan(const struct record_message *m, uint64_t number)
{
    struct partition_duplicate d = {.number = UINT64_MAX};
    enum err e = partition_plan_send(o.p, &o.view, m, &d);
    if (e == ERR_DUPLICATE && d.is_repeat) {
        ck_assert_uint_eq(d.number, number);
        ck_assert_uint_eq(d.id.at[0], 10 * m->repeat.front);
        ck_assert_uint_eq(d.id.at[1], (uint8_t)m->repeat.sequence);
    }
    return e;
}

/* As a restart or a follower has it. */
static void reload(void)
{
    struct buf saved = BUF_EMPTY;
    struct partition *loaded;
    partition_save(o.p, &saved);
    ck_assert_int_eq(partition_load(buf_bytes(&saved), &loaded), ERR_OK);
    ck_assert(partition_is_saved_as(loaded, buf_bytes(&saved)));
    ck_assert(partition_hash(loaded) == partition_hash(o.p));
    partition_free(o.p);
    o.p = loaded;
    buf_fini(&saved);
}

START_TEST(a_repeated_send_is_the_first_one_also_after_a_snapshot)
{
    struct record_message m = by(2, 7, 5, 0), other = by(3, 7, 5, 0);
    world_send(&o);
    ck_assert_int_eq(plan(&m, 0), ERR_OK);
    world_send_message(&o, &m);
    ck_assert_int_eq(plan(&m, 1), ERR_DUPLICATE);
    ck_assert_int_eq(plan(&other, 0), ERR_OK);
    world_send_message(&o, &other);
    reload();
    ck_assert_int_eq(plan(&m, 1), ERR_DUPLICATE);
    ck_assert_int_eq(plan(&other, 2), ERR_DUPLICATE);
}
END_TEST

START_TEST(a_repeat_is_known_when_its_message_is_finished_and_purged)
{
    struct record_message m = by(2, 7, 5, 0);
    struct record purge;
    world_send_message(&o, &m);
    world_receive(&o, 1, 1000);
    ck_assert_int_eq(world_delete(&o, world_receipt(&o, 0), RECEIPT_ANY), ERR_OK);
    ck_assert_int_eq(partition_plan_purge(o.p, WORLD_GID, true, &purge), ERR_OK);
    world_apply(&o, &purge);
    ck_assert_int_eq(plan(&m, 0), ERR_DUPLICATE);
}
END_TEST

START_TEST(a_repeat_is_no_duplicate_of_its_own_dedup_id)
{
    struct partition_duplicate d;
    struct record_message m = by(2, 7, 5, 0);
    m.dedup_hash.at[0] = 1;
    m.dedup_until_ms = o.view.now_ms + 300000;
    world_send_message(&o, &m);
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_DUPLICATE);
    ck_assert(d.is_repeat);
    m.repeat.sequence++; /* the client's own repeat */
    ck_assert_int_eq(partition_plan_send(o.p, &o.view, &m, &d), ERR_DUPLICATE);
    ck_assert(!d.is_repeat && d.number == 0);
}
END_TEST

START_TEST(sends_that_overtake_each_other_are_each_stored_once)
{
    const uint64_t order[] = {5, 3, 1023, 0, 4};
    for (uint64_t i = 0; i < 5; i++) {
        struct record_message m = by(2, 7, order[i], order[i]);
        ck_assert_int_eq(plan(&m, 0), ERR_OK);
        world_send_message(&o, &m);
    }
    reload();
    for (uint64_t i = 0; i < 5; i++) {
        struct record_message m = by(2, 7, order[i], order[i]);
        ck_assert_int_eq(plan(&m, i), ERR_DUPLICATE);
    }
}
END_TEST

START_TEST(what_is_settled_is_refused_whether_it_was_stored_or_not)
{
    struct record_message five = by(2, 7, 5, 0), six = by(2, 7, 6, 0), eight = by(2, 7, 8, 1);
    struct record_message seven = by(2, 7, 7, 0);
    world_send_message(&o, &five);
    world_send_message(&o, &eight); /* all below 7 is settled */
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(plan(&five, 0), ERR_GONE);
        ck_assert_int_eq(plan(&six, 0), ERR_GONE);
        ck_assert_int_eq(plan(&seven, 0), ERR_OK);
        ck_assert_int_eq(plan(&eight, 1), ERR_DUPLICATE);
        reload();
    }
    world_send_message(&o, &six); /* a record that no leader writes */
    ck_assert_int_eq(plan(&six, 0), ERR_GONE);
}
END_TEST

START_TEST(a_new_life_of_a_broker_ends_what_the_former_left)
{
    struct record_message former = by(2, 7, 5, 0), late = by(2, 7, 900, 0), now = by(2, 8, 1, 0);
    world_send_message(&o, &former);
    ck_assert_int_eq(plan(&now, 0), ERR_OK); /* a sequence that the former has passed */
    world_send_message(&o, &now);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(plan(&former, 0), ERR_GONE);
        ck_assert_int_eq(plan(&late, 0), ERR_GONE);
        ck_assert_int_eq(plan(&now, 1), ERR_DUPLICATE);
        reload();
    }
    uint64_t hash = partition_hash(o.p);
    world_send_message(&o, &late); /* a record that no leader writes */
    ck_assert_int_eq(plan(&now, 1), ERR_DUPLICATE);
    ck_assert(partition_hash(o.p) != hash); /* it is a message all the same */
}
END_TEST

START_TEST(the_window_holds_as_many_as_may_be_open)
{
    struct record_message first = by(2, 7, 100, 0), last = by(2, 7, 1123, 1023);
    world_send_message(&o, &first);
    world_send_message(&o, &last);
    ck_assert_int_eq(plan(&first, 0), ERR_DUPLICATE);
    last = by(2, 7, 1124, 1023);
    world_send_message(&o, &last);
    ck_assert_int_eq(plan(&first, 0), ERR_GONE);
}
END_TEST

/* One send that was tried, and where it went. */
struct tried {
    struct record_repeat key;
    uint64_t number; /* UINT64_MAX: not stored */
};

/* Written from the rules alone: of the newest life that has come in, what is not settled. */
static enum err expected(const struct tried *all, size_t n, const struct tried *t)
{
    uint64_t life = 0, settled_below = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i].number != UINT64_MAX && all[i].key.front == t->key.front &&
            all[i].key.life > life)
            life = all[i].key.life;
    for (size_t i = 0; i < n; i++)
        if (all[i].number != UINT64_MAX && all[i].key.front == t->key.front &&
            all[i].key.life == life && all[i].key.settled_below > settled_below)
            settled_below = all[i].key.settled_below;
    if (t->key.life < life || (t->key.life == life && t->key.sequence < settled_below))
        return ERR_GONE;
    return t->number == UINT64_MAX ? ERR_OK : ERR_DUPLICATE;
}

START_TEST(random_sends_and_repeats_are_stored_once)
{
    enum { TRIES = 400, FRONTS = 3 };
    static struct tried all[TRIES];
    struct rng rng = {.state = test_seed()};
    uint64_t life[FRONTS] = {5, 5, 5}, next[FRONTS] = {1, 1, 1}, settled[FRONTS] = {1, 1, 1};
    for (size_t n = 0; n < TRIES; n++) {
        uint64_t f = rng_below(&rng, FRONTS);
        if (rng_below(&rng, 60) == 0) {
            life[f]++;
            next[f] = settled[f] = 1;
        }
        if (rng_below(&rng, 4) == 0)
            settled[f] += rng_below(&rng, next[f] - settled[f] + 1);
        all[n] = (struct tried){{(uint32_t)f + 1, life[f], next[f], settled[f]}, UINT64_MAX};
        next[f]++;
        for (int times = 0; times < 3; times++) { /* this one, and any of those before */
            struct tried *t = times == 0 ? &all[n] : &all[rng_below(&rng, n + 1)];
            if (times == 0 && rng_below(&rng, 3) == 0)
                continue; /* it is late */
            struct record_message m = by(t->key.front, 0, t->key.sequence, 0);
            m.repeat = t->key;
            enum err e = plan(&m, t->number);
            ck_assert_int_eq(e, expected(all, n + 1, t));
            if (e == ERR_OK)
                t->number = world_send_message(&o, &m);
        }
        if (rng_below(&rng, 30) == 0)
            reload();
    }
}
END_TEST

START_TEST(a_snapshot_without_fronts_is_loaded_and_is_not_that_of_a_state_with_them)
{
    struct partition *loaded;
    struct buf saved = BUF_EMPTY;
    world_send(&o);
    partition_save(o.p, &saved);
    saved.at[0] = 2;
    saved.n--; /* no fronts */
    ck_assert_int_eq(partition_load(buf_bytes(&saved), &loaded), ERR_OK);
    ck_assert(partition_is_saved_as(loaded, buf_bytes(&saved)));
    ck_assert(partition_hash(loaded) == partition_hash(o.p));
    partition_free(loaded);
    struct record_message m = by(2, 7, 5, 0);
    world_send_message(&o, &m);
    buf_clear(&saved);
    partition_save(o.p, &saved);
    saved.at[0] = 2;
    saved.n -= 5 + 2 + 16;
    ck_assert_int_eq(partition_load(buf_bytes(&saved), &loaded), ERR_OK);
    ck_assert(!partition_is_saved_as(o.p, buf_bytes(&saved)));
    partition_free(loaded);
    buf_fini(&saved);
}
END_TEST

/* One front, broker 2, life 7, settled below 5, n sends; the last byte of each place is bent. */
START_TEST(a_snapshot_whose_fronts_make_no_sense_is_refused)
{
    struct buf saved = BUF_EMPTY;
    struct partition *loaded;
    struct record_message m = by(2, 7, 5, 0);
    world_send_message(&o, &m);
    partition_save(o.p, &saved);
    size_t at = saved.n - 16 - 7; /* 1 front: 2, 7, 5, 1 send: 5, number 0, id */
    static const uint8_t whole[] = {1, 2, 7, 5, 1, 5, 0};
    ck_assert_mem_eq(saved.at + at, whole, sizeof whole);
    static const struct {
        size_t at;
        uint8_t value;
    } bent[] = {{0, 2}, {1, 0}, {4, 0}, {4, 2}, {5, 4}, {6, 1}};
    for (size_t i = 0; i < sizeof bent / sizeof bent[0]; i++) {
        char was = saved.at[at + bent[i].at];
        saved.at[at + bent[i].at] = (char)bent[i].value;
        ck_assert_int_eq(partition_load(buf_bytes(&saved), &loaded), ERR_CORRUPT);
        saved.at[at + bent[i].at] = was;
    }
    buf_fini(&saved);
}
END_TEST

TCase *tcase_repeat(void)
{
    TCase *t = tcase_create("repeat");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_repeated_send_is_the_first_one_also_after_a_snapshot);
    tcase_add_test(t, a_repeat_is_known_when_its_message_is_finished_and_purged);
    tcase_add_test(t, a_repeat_is_no_duplicate_of_its_own_dedup_id);
    tcase_add_test(t, sends_that_overtake_each_other_are_each_stored_once);
    tcase_add_test(t, what_is_settled_is_refused_whether_it_was_stored_or_not);
    tcase_add_test(t, a_new_life_of_a_broker_ends_what_the_former_left);
    tcase_add_test(t, the_window_holds_as_many_as_may_be_open);
    tcase_add_test(t, random_sends_and_repeats_are_stored_once);
    tcase_add_test(t, a_snapshot_without_fronts_is_loaded_and_is_not_that_of_a_state_with_them);
    tcase_add_test(t, a_snapshot_whose_fronts_make_no_sense_is_refused);
    return t;
}

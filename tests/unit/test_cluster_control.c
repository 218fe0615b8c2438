// SPDX-License-Identifier: Apache-2.0
/* The controller against a small world: brokers that live, hang, restart or leave, replicas that
 * lead when their key says so, and a store that changes keys by compare-and-swap only. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/partition_key.h"
#include "cluster/control.h"
#include "lib/runner.h"

enum { BROKERS = 5, PARTITIONS = 12, EPOCHS = 400, CONTROLLERS = 2 };

struct copy {
    uint64_t incarnation, epoch, end, last_epoch, high_water;
    uint64_t led_epoch; /* it took the lead in; 0: in none since its start */
    enum replica_health health;
};

struct broker {
    bool is_live, is_leaving, listens, hangs, is_slow_to_lead;
    int64_t session, registered_session;
    struct copy copies[PARTITIONS];
};

struct controller {
    struct cluster_view *view;
    struct cluster_control *control;
    struct rng rng;
    bool has_term; /* its term is the newest, so its changes count */
};

static struct broker brokers[BROKERS + 1]; /* by id */
static struct replica_key keys[PARTITIONS];
static uint32_t partitions_n;
static struct controller controllers[CONTROLLERS];
static uint32_t leaders[PARTITIONS][EPOCHS]; /* who was ever elected */
static int64_t now_ms, rev, swaps_won, swaps_lost, asks;
static const uint8_t topic[16] = {7};

/* ---- the world ---- */

static bool was_in_isr(const struct replica_key *k, uint32_t broker, uint64_t incarnation)
{
    const struct replica_member *m = replica_key_find(k, broker);
    return m != NULL && m->in_isr && m->incarnation == incarnation;
}

/* What must hold of every change that a controller wins, however wrong it was about the world. */
static void check_change(uint32_t p, const struct replica_key *old, const struct replica_key *new)
{
    uint32_t enough = replica_key_isr_size(old);
    if (enough > old->min_isr)
        enough = old->min_isr;
    ck_assert(replica_key_is_valid(new));
    ck_assert_uint_eq(new->epoch, old->epoch + 1);
    ck_assert_uint_eq(new->members_n, old->members_n);
    ck_assert_uint_ge(replica_key_isr_size(new), enough);
    for (size_t i = 0; i < new->members_n; i++) {
        const struct replica_member *m = &new->members[i];
        if (m->in_isr)
            ck_assert(was_in_isr(old, m->broker, m->incarnation));
    }
    if (new->state == REPLICA_KEY_OK) {
        const struct replica_member *m = replica_key_find(new, new->leader);
        ck_assert(m != NULL && was_in_isr(old, new->leader, m->incarnation) && m->in_isr);
        ck_assert_uint_eq(brokers[new->leader].copies[p].incarnation, m->incarnation);
        ck_assert_uint_lt(new->epoch, EPOCHS);
        ck_assert_uint_eq(leaders[p][new->epoch], 0);
        leaders[p][new->epoch] = new->leader;
    }
}

static void key_show(struct controller *c, uint32_t p)
{
    char name[CATALOG_KEY_BYTES_MAX + 1];
    struct buf json = BUF_EMPTY;
    catalog_key_partition(name, topic, p);
    catalog_partition_encode(&keys[p], &json);
    cluster_view_put(c->view, name, buf_bytes(&json), 1, keys[p].version);
    buf_fini(&json);
}

/* Its members hear of the key at once. */
static void key_obey(uint32_t p)
{
    for (size_t i = 0; i < keys[p].members_n; i++) {
        struct broker *b = &brokers[keys[p].members[i].broker];
        struct copy *copy = &b->copies[p];
        if (!b->is_live || b->hangs || copy->epoch >= keys[p].epoch)
            continue;
        copy->epoch = keys[p].epoch;
        if (keys[p].leader == keys[p].members[i].broker && !b->is_slow_to_lead &&
            copy->health == REPLICA_HEALTH_OK)
            copy->led_epoch = copy->epoch;
    }
}

static void key_swap(struct controller *c, const struct cluster_action *a)
{
    uint32_t p = a->swapped.partition;
    if (!c->has_term || a->value.version != keys[p].version) {
        swaps_lost++;
        return;
    }
    check_change(p, &keys[p], &a->value);
    keys[p] = a->value;
    keys[p].version = ++rev;
    swaps_won++;
    key_obey(p);
    key_show(c, p);
}

static void state_of(uint32_t broker, const struct wire_partition *of, struct wire_state_part *out)
{
    const struct copy *copy = &brokers[broker].copies[of->partition];
    *out = (struct wire_state_part){.of = *of};
    bool leads = copy->led_epoch == copy->epoch && copy->led_epoch != 0;
    out->is_there = copy->incarnation != 0;
    out->status = (struct replica_status){.health = copy->health,
                                          .incarnation = copy->incarnation,
                                          .epoch = copy->epoch,
                                          .durable_end = copy->end,
                                          .last_epoch = copy->last_epoch,
                                          .high_water = copy->high_water,
                                          .is_leading = leads};
    if (copy->epoch == keys[of->partition].epoch)
        out->status.leader = keys[of->partition].leader;
    /* As role.c has it: a leader of its last life's epoch has no role. */
    if (out->status.leader != broker)
        out->status.role = REPLICA_ROLE_FOLLOWER;
    else if (leads || brokers[broker].is_slow_to_lead)
        out->status.role = REPLICA_ROLE_LEADER;
}

static void ask(struct controller *c, const struct cluster_action *a)
{
    struct broker *b = &brokers[a->broker];
    struct wire_state_part *parts = mem_new_array(a->of_n + 1, sizeof parts[0]);
    asks++;
    for (size_t i = 0; i < a->of_n; i++)
        state_of(a->broker, &a->of[i], &parts[i]);
    if (b->hangs)
        ; /* no answer, and it is not known yet that none will come */
    else if (!b->is_live || !b->listens)
        cluster_control_silence(c->control, c->view, a->serial, a->broker, true);
    else
        cluster_control_answer(c->control, c->view, a->serial, a->broker, parts, a->of_n, now_ms);
    mem_free(parts);
}

static void session_show(struct controller *c, uint32_t broker)
{
    char name[CLUSTER_KEY_ROOM];
    struct buf json = BUF_EMPTY;
    const struct broker *b = &brokers[broker];
    struct cluster_session_key s = {
        .session = b->session, .store = "x", .is_leaving = b->is_leaving};
    struct cluster_broker_key key = {.store = "x", .session = b->session, .version = 1};
    cluster_broker_key_encode(&key, &json);
    cluster_key_broker(name, broker);
    cluster_view_put(c->view, name, buf_bytes(&json), 1, ++rev);
    buf_clear(&json);
    cluster_session_key_encode(&s, &json);
    cluster_key_session(name, broker);
    if (b->registered_session != 0)
        cluster_view_put(c->view, name, buf_bytes(&json), 1, ++rev);
    else
        cluster_view_drop(c->view, name, ++rev);
    buf_fini(&json);
}

static void all_show(struct controller *c)
{
    for (uint32_t b = 1; b <= BROKERS; b++)
        if (brokers[b].session != 0)
            session_show(c, b);
    for (uint32_t p = 0; p < partitions_n; p++)
        key_show(c, p);
    cluster_view_changes_clear(c->view);
}

static void controller_step(struct controller *c)
{
    struct cluster_actions actions = {.at = NULL};
    cluster_control_step(c->control, c->view, now_ms, &c->rng, &actions);
    for (size_t i = 0; i < actions.n; i++)
        if (actions.at[i].kind == CLUSTER_ACTION_ASK)
            ask(c, &actions.at[i]);
        else
            key_swap(c, &actions.at[i]);
    cluster_actions_fini(&actions);
}

/* Time passes; the first controller, who sees everything at once, does its work. */
static void run(int64_t ms)
{
    for (int64_t end = now_ms + ms; now_ms < end;) {
        now_ms += 50;
        controller_step(&controllers[0]);
    }
}

/* Broker 1, 2, 3 … live; partition p lies on p+1, p+2, p+3 (of n), all in sync, and was led by
 * nobody. */
static void world_make(uint32_t brokers_n, uint32_t partitions, uint32_t min_isr)
{
    partitions_n = partitions;
    for (uint32_t b = 1; b <= brokers_n; b++)
        brokers[b] = (struct broker){
            .is_live = true, .listens = true, .session = 1, .registered_session = 1};
    for (uint32_t p = 0; p < partitions; p++) {
        keys[p] = (struct replica_key){.version = ++rev, .min_isr = min_isr, .members_n = 3};
        for (uint32_t m = 0; m < 3; m++) {
            uint32_t broker = (p + m) % brokers_n + 1;
            keys[p].members[m] = (struct replica_member){broker, true, 100 + m};
            brokers[broker].copies[p].incarnation = 100 + m;
        }
    }
    all_show(&controllers[0]);
}

static void setup(void)
{
    note_init(NOTE_ERROR, false);
    memset(brokers, 0, sizeof brokers);
    memset(leaders, 0, sizeof leaders);
    now_ms = 1000000;
    rev = 10;
    swaps_won = swaps_lost = asks = 0;
    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct cluster_control_config config;
        cluster_control_config_default(&config);
        controllers[i].view = mem_new(sizeof *controllers[i].view);
        cluster_view_init(controllers[i].view);
        controllers[i].control = cluster_control_new(&config);
        controllers[i].rng = (struct rng){test_seed() + i};
        controllers[i].has_term = i == 0;
        cluster_control_begin(controllers[i].control, 1, now_ms);
    }
}

static void teardown(void)
{
    for (size_t i = 0; i < CONTROLLERS; i++) {
        cluster_control_free(controllers[i].control);
        cluster_view_fini(controllers[i].view);
        mem_free(controllers[i].view);
    }
}

static void broker_dies(uint32_t broker, bool is_noticed)
{
    brokers[broker].is_live = false;
    if (!is_noticed)
        return;
    brokers[broker].registered_session = 0;
    session_show(&controllers[0], broker);
}

static void broker_comes(uint32_t broker)
{
    struct broker *b = &brokers[broker];
    b->is_live = b->listens = true;
    b->is_leaving = b->hangs = false;
    b->registered_session = ++b->session;
    for (size_t p = 0; p < PARTITIONS; p++)
        b->copies[p].led_epoch = 0; /* an epoch found at the start is not led */
    session_show(&controllers[0], broker);
}

/* ---- scenes ---- */

START_TEST(the_first_leader_is_the_first_member_once_enough_have_joined)
{
    world_make(3, 1, 2);
    keys[0].members[1].in_isr = keys[0].members[2].in_isr = false;
    keys[0].version = ++rev;
    key_show(&controllers[0], 0);
    run(3000);
    ck_assert_uint_eq(keys[0].epoch, 0);
    keys[0].members[1].in_isr = true;
    keys[0].version = ++rev;
    key_show(&controllers[0], 0);
    run(200);
    ck_assert(keys[0].epoch == 1 && keys[0].leader == 1);
    run(60000);
    ck_assert_uint_eq(keys[0].epoch, 1);
}
END_TEST

START_TEST(who_is_gone_leads_no_more_and_leaves_the_in_sync_set)
{
    world_make(3, 3, 2);
    run(1000);
    broker_dies(1, true);
    run(200);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 2);
    ck_assert_uint_eq(replica_key_isr_size(&keys[0]), 2);
    ck_assert_uint_eq(keys[1].epoch, 1); /* it led only one of them */
    broker_dies(2, true);
    run(20000);
    ck_assert(keys[0].leader == 3 && replica_key_isr_size(&keys[0]) == 2);
}
END_TEST

START_TEST(where_nobody_listens_nobody_leads_though_the_session_lives_on)
{
    world_make(3, 1, 2);
    run(1000);
    broker_dies(1, false);
    run(900);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 2);
    ck_assert_uint_eq(replica_key_isr_size(&keys[0]), 2);
}
END_TEST

START_TEST(a_leader_that_only_says_nothing_keeps_its_place_while_its_session_lives)
{
    world_make(3, 1, 2);
    run(1000);
    brokers[1].hangs = true;
    run(10000);
    ck_assert_uint_eq(keys[0].epoch, 1);
    brokers[1].registered_session = 0;
    session_show(&controllers[0], 1);
    run(1500);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 2);
}
END_TEST

START_TEST(one_that_came_back_before_it_was_missed_gets_a_new_epoch)
{
    world_make(3, 1, 2);
    run(1000);
    brokers[1].copies[0].end = 10; /* its log is the longest, so it is chosen again */
    broker_comes(1);
    run(300);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 1);
    ck_assert_uint_eq(brokers[1].copies[0].led_epoch, 2);
}
END_TEST

START_TEST(a_new_controller_finds_out_that_a_leader_was_restarted_before_its_time)
{
    world_make(3, 1, 2);
    run(1000);
    broker_comes(1);
    cluster_control_begin(controllers[0].control, 2, now_ms);
    run(500);
    ck_assert_uint_eq(keys[0].epoch, 2);
    run(20000);
    ck_assert_uint_eq(keys[0].epoch, 2);
}
END_TEST

START_TEST(one_that_never_takes_office_is_replaced)
{
    world_make(3, 1, 2);
    brokers[1].is_slow_to_lead = true;
    run(2500);
    ck_assert(keys[0].epoch == 1 && keys[0].leader == 1);
    brokers[1].copies[0].health = REPLICA_HEALTH_STARTING;
    run(2000);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 2);
}
END_TEST

/* Broker 2 is put first by an operator, who saw this epoch. */
static void wish_for_2(uint64_t epoch)
{
    struct replica_member first = keys[0].members[1];
    keys[0].members[1] = keys[0].members[0];
    keys[0].members[0] = first;
    keys[0].wish_epoch = epoch;
    keys[0].version = ++rev;
    all_show(&controllers[0]);
}

START_TEST(a_lead_goes_at_once_to_whom_an_operator_wishes)
{
    world_make(3, 1, 2);
    run(1000);
    ck_assert(keys[0].epoch == 1 && keys[0].leader == 1);
    brokers[1].copies[0].end = 10; /* more than is committed: the wish counts all the same */
    wish_for_2(1);
    run(500);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 2);
    run(10000);
    ck_assert_uint_eq(keys[0].epoch, 2);
}
END_TEST

START_TEST(a_wish_of_another_epoch_or_for_one_that_cannot_lead_moves_nothing)
{
    world_make(3, 1, 2);
    run(1000);
    wish_for_2(0);
    run(10000);
    ck_assert(keys[0].epoch == 1 && keys[0].leader == 1);
    keys[0].wish_epoch = 1;
    keys[0].version = ++rev;
    brokers[2].copies[0].health = REPLICA_HEALTH_QUARANTINED;
    all_show(&controllers[0]);
    run(5000);
    ck_assert(keys[0].epoch == 1 && keys[0].leader == 1);
    brokers[2].copies[0].health = REPLICA_HEALTH_OK;
    run(2000);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 2);
}
END_TEST

START_TEST(one_that_is_in_quarantine_is_replaced)
{
    world_make(3, 1, 2);
    run(1000);
    brokers[1].copies[0].health = REPLICA_HEALTH_QUARANTINED;
    brokers[1].copies[0].led_epoch = 0;
    run(6000);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 2);
}
END_TEST

START_TEST(who_leaves_gives_its_leads_away_while_another_can_take_them)
{
    world_make(3, 1, 2);
    run(1000);
    brokers[1].is_leaving = true;
    session_show(&controllers[0], 1);
    run(200);
    ck_assert(keys[0].epoch == 2 && keys[0].leader == 2);
    ck_assert_uint_eq(replica_key_isr_size(&keys[0]), 3);
    brokers[2].is_leaving = brokers[3].is_leaving = true;
    session_show(&controllers[0], 2);
    session_show(&controllers[0], 3);
    run(10000);
    ck_assert_uint_eq(keys[0].epoch, 2);
}
END_TEST

START_TEST(when_most_are_gone_at_once_elections_wait_for_a_session)
{
    world_make(5, 5, 1);
    run(1000);
    int64_t won = swaps_won;
    for (uint32_t b = 1; b <= 3; b++)
        broker_dies(b, true);
    run(5500);
    ck_assert_int_eq(swaps_won, won);
    run(1500);
    ck_assert_int_eq(swaps_won, won + 2); /* of the first one's members none is left */
    for (size_t p = 1; p < 5; p++)
        ck_assert_uint_ge(keys[p].leader, 4);
}
END_TEST

START_TEST(when_they_are_back_before_that_they_get_new_epochs_at_once)
{
    world_make(5, 5, 1);
    run(1000);
    for (uint32_t b = 1; b <= 3; b++)
        broker_dies(b, true);
    run(2000);
    for (uint32_t b = 1; b <= 3; b++)
        broker_comes(b);
    run(300);
    for (size_t p = 0; p < 5; p++)
        ck_assert(keys[p].leader == p + 1 && keys[p].epoch == (p < 3 ? 2u : 1u));
}
END_TEST

START_TEST(leaders_go_back_to_the_first_member_a_tenth_at_a_time)
{
    world_make(3, PARTITIONS, 2);
    run(1000);
    broker_dies(1, true);
    run(1000);
    broker_comes(1);
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        replica_key_put_in_isr(&keys[p], 1, true);
        keys[p].version = ++rev;
        key_show(&controllers[0], p);
    }
    int64_t won = swaps_won;
    run(300500);
    ck_assert_int_eq(swaps_won, won + 2);
    run(300000);
    ck_assert_int_eq(swaps_won, won + 4);
    for (uint32_t p = 0; p < PARTITIONS; p++)
        ck_assert_uint_eq(replica_key_isr_size(&keys[p]), 3);
    run(300000);
    ck_assert_int_eq(swaps_won, won + 4); /* those were all */
}
END_TEST

START_TEST(who_lost_what_was_committed_does_not_lead_if_all_did_an_operator_decides)
{
    world_make(3, 1, 1);
    run(1000);
    brokers[1].copies[0].high_water = 10; /* told by the first, who is leaving, and will not lead */
    brokers[1].copies[0].end = 10;
    brokers[2].copies[0].end = 9;
    brokers[3].copies[0].end = 10;
    brokers[1].copies[0].health = REPLICA_HEALTH_QUARANTINED;
    run(6000);
    ck_assert(keys[0].leader == 3 && keys[0].epoch == 2);
    brokers[3].hangs = true; /* it may hold the rest, so nothing is concluded without it */
    brokers[3].copies[0].end = 9;
    brokers[3].copies[0].health = REPLICA_HEALTH_OK;
    brokers[3].registered_session = ++brokers[3].session;
    session_show(&controllers[0], 3);
    run(5000);
    ck_assert(keys[0].state == REPLICA_KEY_OK && keys[0].epoch == 2);
    brokers[3].hangs = false;
    run(2000);
    ck_assert_int_eq(keys[0].state, REPLICA_KEY_INCONSISTENT);
    ck_assert_uint_eq(keys[0].leader, 0);
}
END_TEST

START_TEST(a_replaced_disk_does_not_lead_though_the_key_still_has_the_old_one)
{
    world_make(3, 1, 2);
    run(1000);
    brokers[2].copies[0].incarnation = 999;
    broker_dies(1, true);
    run(1000);
    ck_assert(keys[0].leader == 3 && keys[0].epoch == 2);
}
END_TEST

START_TEST(the_marks_are_asked_for_before_any_end)
{
    struct cluster_actions actions = {.at = NULL};
    struct controller *c = &controllers[0];
    world_make(3, 1, 2);
    now_ms += 50;
    cluster_control_step(c->control, c->view, now_ms, &c->rng, &actions);
    ck_assert_uint_eq(actions.n, 6); /* three of an election, three looks */
    for (size_t i = 0; i < 2; i++)   /* the third is still silent */
        ask(c, &actions.at[i]);
    struct cluster_action third = actions.at[2];
    size_t asked = actions.n;
    cluster_control_step(c->control, c->view, now_ms + 499, &c->rng, &actions);
    ck_assert_uint_eq(actions.n, asked);
    ask(c, &third);
    cluster_control_step(c->control, c->view, now_ms + 499, &c->rng, &actions);
    ck_assert_uint_eq(actions.n, asked + 3);
    ck_assert_uint_ne(actions.at[asked].serial, third.serial);
    ask(c, &third); /* doubled, of the first round: not taken for an answer of the second */
    cluster_control_step(c->control, c->view, now_ms + 499, &c->rng, &actions);
    ck_assert_uint_eq(actions.n, asked + 3);
    for (size_t i = 0; i < 3; i++)
        ask(c, &actions.at[asked + i]);
    cluster_control_step(c->control, c->view, now_ms + 499, &c->rng, &actions);
    ck_assert_uint_eq(actions.n, asked + 4);
    ck_assert_int_eq(actions.at[asked + 3].kind, CLUSTER_ACTION_SWAP);
    cluster_actions_fini(&actions);
}
END_TEST

/* ---- chance ---- */

static void world_shake(struct rng *rng)
{
    uint32_t b = 1 + (uint32_t)rng_below(rng, BROKERS);
    uint32_t p = (uint32_t)rng_below(rng, partitions_n);
    struct broker *broker = &brokers[b];
    switch (rng_below(rng, 10)) {
    case 0:
        broker->is_live = false;
        broker->hangs = false;
        break;
    case 1:
        if (!broker->is_live)
            broker->registered_session = 0;
        break;
    case 2:
        broker->is_live = broker->listens = true;
        broker->hangs = broker->is_leaving = false;
        broker->registered_session = ++broker->session;
        for (size_t i = 0; i < partitions_n; i++)
            broker->copies[i].led_epoch = 0;
        break;
    case 3:
        broker->hangs = !broker->hangs;
        break;
    case 4:
        broker->is_leaving = !broker->is_leaving;
        break;
    case 5: /* its disk is replaced */
        if (replica_key_find(&keys[p], b) != NULL && keys[p].epoch > 0 &&
            replica_key_isr_size(&keys[p]) > 1) {
            uint64_t epoch = keys[p].epoch;
            replica_key_renew(&keys[p], b, rng_next(rng) | 1);
            keys[p].version = ++rev;
            broker->copies[p] = (struct copy){
                .incarnation = replica_key_find(&keys[p], b)->incarnation, .epoch = epoch};
        }
        break;
    case 6: /* a member joins */
        if (replica_key_find(&keys[p], b) != NULL) {
            replica_key_put_in_isr(&keys[p], b, true);
            keys[p].version = ++rev;
        }
        break;
    default: /* one of the controllers hears the news, or one takes over */
        all_show(&controllers[rng_below(rng, CONTROLLERS)]);
    }
}

START_TEST(whatever_happens_only_members_in_sync_lead_and_one_an_epoch)
{
    struct rng rng = {test_seed() + (uint64_t)_i};
    uint64_t reign = 1;
    world_make(BROKERS, PARTITIONS, 1 + (uint32_t)_i % 2);
    all_show(&controllers[1]);
    for (int i = 0; i < 1500; i++) {
        now_ms += 1 + (int64_t)rng_below(&rng, 300);
        if (rng_below(&rng, 3) == 0)
            world_shake(&rng);
        if (rng_below(&rng, 100) == 0) { /* the other one's term begins; this one goes on unaware */
            struct controller *c = &controllers[rng_below(&rng, CONTROLLERS)];
            controllers[0].has_term = controllers[1].has_term = false;
            c->has_term = true;
            all_show(c);
            cluster_control_begin(c->control, ++reign, now_ms);
        }
        controller_step(&controllers[rng_below(&rng, CONTROLLERS)]);
    }
    /* When faults end, everything that can be led is. */
    for (uint32_t b = 1; b <= BROKERS; b++)
        broker_comes(b);
    controllers[0].has_term = true;
    all_show(&controllers[0]);
    cluster_control_begin(controllers[0].control, ++reign, now_ms);
    run(8000);
    for (uint32_t p = 0; p < partitions_n; p++)
        if (keys[p].state == REPLICA_KEY_OK && replica_key_isr_size(&keys[p]) > 0)
            ck_assert(keys[p].leader != 0 &&
                      brokers[keys[p].leader].copies[p].led_epoch == keys[p].epoch);
    ck_assert_int_gt(swaps_won, PARTITIONS);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("cluster control");
    TCase *tc = tcase_create("control");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_first_leader_is_the_first_member_once_enough_have_joined);
    tcase_add_test(tc, who_is_gone_leads_no_more_and_leaves_the_in_sync_set);
    tcase_add_test(tc, where_nobody_listens_nobody_leads_though_the_session_lives_on);
    tcase_add_test(tc, a_leader_that_only_says_nothing_keeps_its_place_while_its_session_lives);
    tcase_add_test(tc, one_that_came_back_before_it_was_missed_gets_a_new_epoch);
    tcase_add_test(tc, a_new_controller_finds_out_that_a_leader_was_restarted_before_its_time);
    tcase_add_test(tc, one_that_never_takes_office_is_replaced);
    tcase_add_test(tc, a_lead_goes_at_once_to_whom_an_operator_wishes);
    tcase_add_test(tc, a_wish_of_another_epoch_or_for_one_that_cannot_lead_moves_nothing);
    tcase_add_test(tc, one_that_is_in_quarantine_is_replaced);
    tcase_add_test(tc, who_leaves_gives_its_leads_away_while_another_can_take_them);
    tcase_add_test(tc, when_most_are_gone_at_once_elections_wait_for_a_session);
    tcase_add_test(tc, when_they_are_back_before_that_they_get_new_epochs_at_once);
    tcase_add_test(tc, leaders_go_back_to_the_first_member_a_tenth_at_a_time);
    tcase_add_test(tc, who_lost_what_was_committed_does_not_lead_if_all_did_an_operator_decides);
    tcase_add_test(tc, a_replaced_disk_does_not_lead_though_the_key_still_has_the_old_one);
    tcase_add_test(tc, the_marks_are_asked_for_before_any_end);
    tcase_add_loop_test(tc, whatever_happens_only_members_in_sync_lead_and_one_an_epoch, 0, 12);
    suite_add_tcase(s, tc);
    return s;
}

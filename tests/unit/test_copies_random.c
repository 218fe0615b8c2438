// SPDX-License-Identifier: Apache-2.0
/* Random sends, receives and deletes at three brokers that die, lose power, lose a disk, are cut
 * off and come back, and of which now this one and now that one is elected. In the end all that was
 * answered is there, nothing whose deletion was answered is, and the copies are one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "copies_fixture.h"

enum { MESSAGES_MAX = 120, STEPS = 150, SEEDS = 12 };

struct message {
    struct request sent, deleted;
    bool delete_asked;
    char receipt[QUEUE_RECEIPT_TEXT_MAX + 1];
};

struct play {
    struct rng rng;
    struct message *at; /* they stay where they are: queues point to their waits */
    size_t n;
};

static uint32_t any(struct play *p, uint32_t n)
{
    return (uint32_t)rng_below(&p->rng, n);
}

static bool is_whole(void)
{
    for (uint32_t i = 1; i <= BROKERS; i++)
        if (world.brokers[i].q == NULL || world.brokers[i].cut_off)
            return false;
    return true;
}

static bool may_lead(uint32_t id)
{
    struct replica_key key = key_of("q", 0);
    const struct replica_member *m = replica_key_find(&key, id);
    return world.brokers[id].q != NULL && !world.brokers[id].cut_off && m->in_isr;
}

static void elect_any(struct play *p)
{
    uint32_t first = any(p, BROKERS);
    for (uint32_t i = 0; i < BROKERS; i++) {
        uint32_t id = 1 + (first + i) % BROKERS;
        if (may_lead(id)) {
            elect("q", id);
            return;
        }
    }
}

static uint32_t any_up(struct play *p)
{
    uint32_t id = 1 + any(p, BROKERS);
    return world.brokers[id].q == NULL ? 1 + id % BROKERS : id;
}

static void send_any(struct play *p)
{
    char body[8];
    if (p->n == MESSAGES_MAX)
        return;
    struct message *m = &p->at[p->n];
    snprintf(body, sizeof body, "%03u", (unsigned)p->n);
    p->n++;
    request_send(&m->sent, any_up(p), "q", body);
}

static void receive_any(struct play *p)
{
    uint32_t id = any_up(p);
    struct got g = receive_at(id, "q", 1 + any(p, 5), any(p, 2) == 0 ? 0 : 20000);
    for (size_t i = 0; i < g.n; i++) {
        unsigned number;
        char body[8] = {0};
        memcpy(body, g.at[i].body.at, 3);
        ck_assert_int_eq(sscanf(body, "%u", &number), 1);
        struct message *m = &p->at[number];
        /* What was answered as deleted does not come back, whoever leads; but a standard topic's
         * old leader that hears of nobody may hand it out for three seconds. */
        ck_assert_msg(world.brokers[id].cut_off || !m->deleted.told || m->deleted.err != ERR_OK,
                      "%s was deleted", body);
        snprintf(m->receipt, sizeof m->receipt, "%s", g.at[i].receipt);
    }
}

static void delete_any(struct play *p)
{
    if (p->n == 0)
        return;
    struct message *m = &p->at[any(p, (uint32_t)p->n)];
    if (m->receipt[0] == '\0' || m->delete_asked)
        return;
    m->delete_asked = true;
    request_delete(&m->deleted, any_up(p), "q", m->receipt);
}

/* One at a time is away, so that the others can go on. */
static void disturb(struct play *p)
{
    uint32_t id = 1 + any(p, BROKERS);
    if (!is_whole()) {
        for (id = 1; id <= BROKERS; id++) {
            if (world.brokers[id].q == NULL)
                broker_start(id);
            else if (world.brokers[id].cut_off)
                broker_cut_off(id, false);
        }
    } else if (any(p, 3) == 0) {
        broker_cut_off(id, true);
    } else {
        struct replica_key key = key_of("q", 0);
        bool all = replica_key_isr_size(&key) == BROKERS;
        broker_die(id, any(p, 2) == 0);
        if (all && any(p, 3) == 0) {
            fault_disk_free(world.brokers[id].disk);
            world.brokers[id].disk = fault_disk_new(rng_next(&p->rng));
        }
    }
    if (any(p, 4) != 0)
        elect_any(p);
}

static void heal(struct play *p)
{
    for (uint32_t id = 1; id <= BROKERS; id++) {
        if (world.brokers[id].q == NULL)
            broker_start(id);
        else if (world.brokers[id].cut_off)
            broker_cut_off(id, false);
    }
    elect_any(p);
    world_pass(4000);
    struct replica_key key = key_of("q", 0);
    ck_assert_uint_eq(replica_key_isr_size(&key), BROKERS);
}

static void check_end(struct play *p)
{
    struct replica_key key = key_of("q", 0);
    char text[4 * MESSAGES_MAX + 8];
    world_pass(21000); /* leases end */
    snprintf(text, sizeof text, "%s", drain(key.leader, "q"));
    for (size_t i = 0; i < p->n; i++) {
        const struct message *m = &p->at[i];
        char body[8];
        snprintf(body, sizeof body, "%03u", (unsigned)i);
        bool is_there = strstr(text, body) != NULL;
        if (m->sent.told && m->sent.err == ERR_OK && !m->delete_asked)
            ck_assert_msg(is_there, "%s was lost", body);
        if (m->delete_asked && m->deleted.told && m->deleted.err == ERR_OK)
            ck_assert_msg(!is_there, "%s came back", body);
    }
    world_pass(1000);
    for (uint32_t i = 1; i <= BROKERS; i++) {
        ck_assert_uint_eq(state_of(i, "q", 0), state_of(key.leader, "q", 0));
        ck_assert_uint_eq(world.brokers[i].alarms, 0);
    }
}

START_TEST(whatever_happens_what_was_answered_stays_so)
{
    struct play p = {.rng = {.state = test_seed() * 1000 + (uint64_t)_i}};
    p.at = mem_new_array(MESSAGES_MAX, sizeof p.at[0]);
    world.segment_bytes = 64 << 10;
    make_topic(1, "q", 1, 3, 1, NULL);
    for (int i = 0; i < STEPS; i++) {
        uint32_t what = any(&p, 20);
        if (what < 6)
            send_any(&p);
        else if (what < 10)
            receive_any(&p);
        else if (what < 13)
            delete_any(&p);
        else if (what < 16)
            world_settle();
        else if (what < 18)
            world_pass(100 * (1 + any(&p, 8)));
        else
            disturb(&p);
    }
    heal(&p);
    check_end(&p);
    for (uint32_t i = 1; i <= BROKERS; i++) { /* before the requests are freed */
        queue_close(world.brokers[i].q);
        world.brokers[i].q = NULL;
    }
    mem_free(p.at);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("copies, random");
    TCase *t = tcase_create("random");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, world_setup, world_teardown);
    const char *many = getenv("LEASELOG_SEEDS");
    int n = many == NULL ? SEEDS : (int)strtol(many, NULL, 10);
    tcase_add_loop_test(t, whatever_happens_what_was_answered_stays_so, 0, n);
    suite_add_tcase(s, t);
    return s;
}

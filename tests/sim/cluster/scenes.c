// SPDX-License-Identifier: Apache-2.0
/* Directed runs: a request for records that arrives when it is true no more. Chance plays late
 * letters too, but seldom late enough, and never at the one moment in which they do harm. All of it
 * is about the FIFO topic's one partition. */
#include <string.h>

#include "base/check.h"
#include "sim/cluster/world.h"

enum {
    PART = 2,
    TOPIC = 1,
    SENDS = 3,
    STEP_MS = 100,
    WAIT_MS = 30000,  /* whatever is waited for comes sooner, or the scene fails */
    SETTLE_MS = 3000, /* news, fetches and changes of the in-sync set have their time */
};

static const struct replica_key *key(struct world *w)
{
    return &w->parts[PART].key;
}

static struct replica_status look(struct world *w, uint32_t broker)
{
    struct queue_copy_id of = world_part_id(w, PART);
    struct replica_status s;
    memset(&s, 0, sizeof s);
    if (broker_is_up(&w->brokers[broker]))
        (void)!queue_copy_look(w->brokers[broker].queue, &of, &s);
    return s;
}

static void wait(struct world *w, bool (*holds)(struct world *w, uint64_t arg), uint64_t arg,
                 const char *what)
{
    int64_t until_ms = w->now_ms + WAIT_MS;
    while (w->broken[0] == '\0' && !holds(w, arg)) {
        if (w->now_ms >= until_ms)
            world_break(w, "scene: not within %d ms: %s", WAIT_MS, what);
        run_until(w, w->now_ms + STEP_MS);
    }
}

static void cut(struct world *w, uint32_t a, uint32_t b, bool is_cut)
{
    w->brokers[a].cut_to[b] = w->brokers[b].cut_to[a] = is_cut;
}

static void send_some(struct world *w, uint32_t broker)
{
    for (int i = 0; i < SENDS; i++)
        client_send_new(w, broker, TOPIC);
}

/* ---- what is kept back ---- */

static void hold(struct world *w, uint32_t from, uint32_t to, uint64_t offset)
{
    w->held_from = from;
    w->held_to = to;
    w->held_offset = offset;
}

/* The held request of the partition that asks from there on. */
static struct item **held(struct world *w, uint64_t offset)
{
    struct item **at = &w->held;
    while (*at != NULL && (world_part(w, &(*at)->of) != PART || (*at)->fetch.offset != offset))
        at = &(*at)->next;
    return at;
}

static bool is_held(struct world *w, uint64_t offset)
{
    return *held(w, offset) != NULL;
}

static void let_go(struct world *w, uint64_t offset)
{
    struct item **at = held(w, offset), *i = *at;
    if (i == NULL || w->broken[0] != '\0')
        return;
    if (look(w, i->from).durable_end >= offset)
        world_break(w, "scene: broker %u has what it said that it had", i->from);
    CHECK(i->life == w->brokers[i->broker].life);
    *at = i->next;
    i->next = NULL;
    world_say(w, "what %u asked in epoch %llu arrives at %u", i->from,
              (unsigned long long)i->fetch.epoch, i->broker);
    world_send(w, 1, i);
    run_until(w, w->now_ms + SETTLE_MS);
}

/* ---- a lost disk ---- */

static bool has_other_incarnation(struct world *w, uint64_t broker_and_old)
{
    uint32_t broker = 1;
    for (; broker <= w->brokers_n; broker++) {
        const struct replica_member *m = replica_key_find(key(w), broker);
        if (m != NULL && m->incarnation == broker_and_old)
            return false;
    }
    return true;
}

void scene_old_incarnation(struct world *w)
{
    uint32_t leader = key(w)->leader, lost = leader % 3 + 1;
    struct broker *b = &w->brokers[lost];
    send_some(w, leader);
    run_until(w, w->now_ms + 500);
    uint64_t end = look(w, leader).durable_end;
    hold(w, lost, leader, 0);
    wait(w, is_held, end, "the follower says that it has everything");
    uint64_t old = replica_key_find(key(w), lost)->incarnation;
    broker_die(b, false);
    broker_replace(b);
    broker_come_back(b, 1);
    wait(w, has_other_incarnation, old, "the empty copy is registered");
    run_until(w, w->now_ms + SETTLE_MS);
    let_go(w, end);
    hold(w, 0, 0, 0);
}

/* ---- an old epoch ---- */

static bool is_led_by(struct world *w, uint64_t broker)
{
    struct replica_status s = look(w, (uint32_t)broker);
    return key(w)->leader == broker && s.is_leading && s.epoch == key(w)->epoch;
}

static bool has_cut(struct world *w, uint64_t broker)
{
    struct replica_status s = look(w, (uint32_t)broker);
    return s.last_epoch == key(w)->epoch && s.epoch == key(w)->epoch;
}

static void cut_from_all(struct world *w, uint32_t broker, bool is_cut)
{
    w->brokers[broker].cut_from_catalogue = is_cut;
    for (uint32_t id = 1; id <= w->brokers_n; id++)
        if (id != broker)
            cut(w, broker, id, is_cut);
}

void scene_old_epoch(struct world *w)
{
    uint32_t first = key(w)->leader, liar = first % 3 + 1, next = liar % 3 + 1;
    /* The first leader's last records reach one follower alone, which says so too late. */
    cut(w, first, next, true);
    uint64_t before = look(w, first).durable_end;
    hold(w, liar, first, before + SENDS);
    send_some(w, first);
    run_until(w, w->now_ms + 500);
    uint64_t end = look(w, first).durable_end;
    wait(w, is_held, end, "the follower says that it has everything");
    /* The other one is elected, alone, and the follower cuts what that one never had. */
    cut_from_all(w, first, true);
    w->brokers[liar].cut_from_catalogue = true;
    wait(w, is_led_by, next, "the other one leads");
    w->brokers[liar].cut_from_catalogue = false;
    wait(w, has_cut, liar, "the follower follows the other one");
    /* The first one leads again, and has the records still. */
    broker_die(&w->brokers[next], false);
    broker_die(&w->brokers[liar], false);
    cut_from_all(w, first, false);
    wait(w, is_led_by, first, "the first one leads again");
    cut(w, first, liar, true);
    broker_come_back(&w->brokers[next], 1);
    broker_come_back(&w->brokers[liar], 1);
    wait(w, has_cut, next, "the other one follows the first");
    run_until(w, w->now_ms + SETTLE_MS);
    let_go(w, end);
    hold(w, 0, 0, 0);
}

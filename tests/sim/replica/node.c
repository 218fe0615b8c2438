// SPDX-License-Identifier: Apache-2.0
/* A broker: one replica, its disk, and what carries out its effects. */
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/replica/world.h"

static size_t place(const struct world *w, const struct node *n)
{
    return (size_t)(n - w->nodes);
}

static struct item item_for(const struct world *w, const struct node *n, enum item_type type)
{
    return (struct item){.type = type, .node = place(w, n), .life = n->life};
}

static void sync_later(struct world *w, struct node *n)
{
    if (n->is_syncing || n->store.end == n->store.durable)
        return;
    n->is_syncing = true;
    n->syncing_to = n->store.end;
    struct item item = item_for(w, n, ITEM_SYNC);
    world_send(w, 1 + (int64_t)draw(w, w->is_healed ? 10 : (uint64_t)n->sync_max_ms), &item);
}

static void put(struct world *w, struct node *n, struct entry entry)
{
    CHECK(n->store.end < LOG_ROOM);
    n->store.log[n->store.end++] = entry;
    sync_later(w, n);
}

static struct replica *replica_from(const struct world *w, const struct node *n, bool is_new)
{
    const struct store *s = &n->store;
    struct replica_epoch epochs[LOG_ROOM];
    size_t epochs_n = 0;
    for (uint64_t at = s->start == 0 ? 0 : s->start - 1; at < s->end; at++)
        if (epochs_n == 0 || epochs[epochs_n - 1].epoch != s->log[at].epoch)
            epochs[epochs_n++] = (struct replica_epoch){.epoch = s->log[at].epoch, .start = at};
    struct replica_recovered found = {.incarnation = s->incarnation,
                                      .is_new = is_new,
                                      .is_adopted = s->is_adopted,
                                      .is_damaged = s->is_damaged,
                                      .start = s->start,
                                      .end = s->end,
                                      .high_water = s->high_water < s->end ? s->high_water : s->end,
                                      .epochs = epochs,
                                      .epochs_n = epochs_n};
    struct replica_config config;
    replica_config_default(&config, (uint32_t)place(w, n) + 1);
    return replica_new(&config, &found);
}

void node_start(struct world *w, struct node *n)
{
    bool is_new = !n->store.exists;
    CHECK(n->replica == NULL);
    if (is_new) {
        memset(&n->store, 0, sizeof n->store);
        n->store.exists = true;
        n->store.incarnation = draw_id(w);
    }
    n->life++;
    n->clock_ms = (int64_t)draw(w, 1000000);
    n->store.durable = n->store.end; /* recovery writes again, and syncs */
    n->seen_high_water = 0;
    n->paused_until_ms = 0;
    n->is_syncing = false;
    n->replica = replica_from(w, n, is_new);
    world_say(w, "%u starts, log [%" PRIu64 ",%" PRIu64 ")%s", n->broker, n->store.start,
              n->store.end, is_new ? ", new" : "");
    struct item item = item_for(w, n, ITEM_TICK);
    world_send(w, 1, &item);
    item = item_for(w, n, ITEM_REGISTER);
    world_send(w, 1 + (int64_t)draw(w, 50), &item);
}

void node_crash(struct world *w, struct node *n, bool is_power_cut)
{
    struct store *s = &n->store;
    replica_free(n->replica);
    n->replica = NULL;
    n->life++;
    if (is_power_cut)
        s->end = s->durable + draw(w, s->end - s->durable + 1);
    for (size_t i = 0; i < NODES_MAX; i++)
        n->parked[i].is_there = false;
    world_say(w, "%u %s", n->broker, is_power_cut ? "loses its power" : "is killed");
    struct item item = {.type = ITEM_SESSION_END, .node = place(w, n), .number = n->session};
    world_send(w, 2000 + (int64_t)draw(w, 6000), &item);
}

/* ---- effects ---- */

static void send_answer(struct world *w, struct node *n, const struct replica_effect *effect,
                        bool is_bare)
{
    struct item item = {
        .type = ITEM_ANSWER, .node = effect->answer.broker - 1, .from = place(w, n)};
    item.answer.answer = effect->answer.answer;
    if (item.answer.answer.status == REPLICA_FETCH_OK && !is_bare) {
        uint64_t at = effect->answer.from, max = 1 + draw(w, ENTRIES_SENT_MAX);
        while (at < n->store.durable && item.answer.n < max)
            item.answer.entries[item.answer.n++] = n->store.log[at++];
    }
    world_net(w, place(w, n), item.node, &item);
}

static void answer(struct world *w, struct node *n, const struct replica_event *e,
                   const struct replica_effect *effect)
{
    size_t to = effect->answer.broker - 1;
    struct parked *p = &n->parked[to];
    p->is_there = false; /* a follower has one request under way */
    if (!effect->answer.may_park || chance(w, 10)) {
        send_answer(w, n, effect, false);
        return;
    }
    *p = (struct parked){.is_there = true, .event = *e, .effect = *effect, .serial = w->order};
    struct item item = item_for(w, n, ITEM_PARK_END);
    item.from = to;
    item.number = p->serial;
    world_send(w, 500, &item);
}

static void store_batches(struct world *w, struct node *n, const struct replica_event *e,
                          const struct item *item, size_t batches_n)
{
    for (size_t b = 0; b < batches_n; b++) {
        const struct replica_batch *batch = &e->answer.batches[b];
        for (uint64_t at = batch->base; at < batch->end; at++)
            put(w, n, item->answer.entries[at - e->answer.batches[0].base]);
    }
}

static void later(struct world *w, struct node *n, enum item_type type, uint64_t number,
                  size_t from)
{
    struct item item = item_for(w, n, type);
    item.number = number;
    item.from = from;
    world_send(w, 1 + (int64_t)draw(w, w->is_healed ? 20 : 400), &item);
}

static void carry_out(struct world *w, struct node *n, const struct replica_event *e,
                      const struct item *item, const struct replica_effect *effect)
{
    struct item fetch;
    switch (effect->type) {
    case REPLICA_EFFECT_ANSWER:
        answer(w, n, e, effect);
        return;
    case REPLICA_EFFECT_FETCH:
        fetch = (struct item){.type = ITEM_FETCH,
                              .node = effect->fetch.leader - 1,
                              .from = place(w, n),
                              .fetch = effect->fetch.request};
        world_net(w, place(w, n), fetch.node, &fetch);
        return;
    case REPLICA_EFFECT_STORE:
        store_batches(w, n, e, item, effect->store.batches_n);
        return;
    case REPLICA_EFFECT_TRUNCATE:
        ghost_cut(w, n, effect->truncate.end);
        later(w, n, ITEM_CUT, effect->truncate.end, 0);
        return;
    case REPLICA_EFFECT_HIGH_WATER:
        ghost_high_water(w, n, n->seen_high_water, effect->high_water.end);
        n->seen_high_water = effect->high_water.end;
        return;
    case REPLICA_EFFECT_LEAD:
        world_say(w, "%u leads epoch %" PRIu64, n->broker, effect->lead.epoch);
        ghost_lead(w, n, effect->lead.epoch);
        put(w, n, (struct entry){.epoch = effect->lead.epoch});
        return;
    case REPLICA_EFFECT_READY:
        ghost_ready(w, n);
        return;
    case REPLICA_EFFECT_STOP_LEADING:
        world_say(w, "%u leads no more", n->broker);
        return;
    case REPLICA_EFFECT_SWAP:
        catalogue_swap_sent(w, n, &effect->swap.value);
        return;
    case REPLICA_EFFECT_READ_KEY:
        catalogue_read_sent(w, n, effect->read_key.serial);
        return;
    case REPLICA_EFFECT_SNAPSHOT:
        later(w, n, ITEM_SNAPSHOT, effect->snapshot.start, effect->snapshot.leader - 1);
        return;
    case REPLICA_EFFECT_ADOPT:
        n->store.incarnation = effect->adopt.incarnation;
        n->store.is_adopted = true;
        n->store.is_damaged = false;
        n->seen_high_water = 0;
        return;
    case REPLICA_EFFECT_DISCARD:
        later(w, n, ITEM_DISCARD, 0, 0);
        return;
    case REPLICA_EFFECT_QUARANTINE:
        ghost_quarantine(w, n, effect);
        return;
    }
    UNREACHABLE();
}

static void unpark(struct world *w, struct node *n)
{
    for (size_t i = 0; i < NODES_MAX && n->replica != NULL; i++)
        if (n->parked[i].is_there) {
            n->parked[i].is_there = false;
            struct replica_event again = n->parked[i].event;
            node_step(w, n, &again);
        }
}

static void step(struct world *w, struct node *n, struct replica_event *e, const struct item *item)
{
    struct replica_effects out;
    struct replica_status status;
    e->random = draw_id(w);
    e->log_end = n->store.end;
    replica_step(n->replica, e, w->now_ms + n->clock_ms, &out);
    w->seen.steps++;
    bool has_moved = e->type == REPLICA_EVENT_DURABLE;
    for (size_t i = 0; i < out.n; i++) {
        carry_out(w, n, e, item, &out.at[i]);
        has_moved = has_moved || out.at[i].type == REPLICA_EFFECT_HIGH_WATER;
    }
    replica_look(n->replica, &status);
    if (status.health != REPLICA_HEALTH_QUARANTINED && status.durable_end > n->store.durable)
        world_break(w, "a position counts that is not durable");
    w->hash = (w->hash ^ (status.durable_end + status.high_water * 31 + status.epoch * 1009 +
                          (uint64_t)w->now_ms * 65537 + n->broker)) *
              UINT64_C(0x100000001b3);
    if (has_moved)
        unpark(w, n);
}

void node_step(struct world *w, struct node *n, struct replica_event *e)
{
    step(w, n, e, NULL);
}

void node_append(struct world *w, struct node *n, uint64_t value)
{
    struct replica_status status;
    replica_look(n->replica, &status);
    put(w, n, (struct entry){.epoch = status.epoch, .value = value});
}

void node_release(struct world *w, struct node *n)
{
    struct replica_status status;
    replica_look(n->replica, &status);
    if (status.health != REPLICA_HEALTH_OK || status.high_water <= n->store.start)
        return;
    n->store.start += draw(w, status.high_water - n->store.start + 1);
    struct replica_event e = {.type = REPLICA_EVENT_RELEASED, .released.start = n->store.start};
    node_step(w, n, &e);
}

/* ---- items ---- */

static void on_answer(struct world *w, struct node *n, const struct item *item)
{
    struct replica_batch batches[ENTRIES_SENT_MAX];
    struct replica_event e = {.type = REPLICA_EVENT_ANSWER};
    e.answer.broker = (uint32_t)item->from + 1;
    e.answer.answer = item->answer.answer;
    e.answer.batches = batches;
    /* What was asked for is where the store ends: the follower has stood still since, or this
     * answer is not the one that it waits for. */
    uint64_t at = n->store.end;
    for (size_t i = 0; i < item->answer.n; i++, at++) {
        uint64_t epoch = item->answer.entries[i].epoch;
        if (i > 0 && batches[e.answer.batches_n - 1].epoch == epoch) {
            batches[e.answer.batches_n - 1].end++;
            continue;
        }
        batches[e.answer.batches_n++] =
            (struct replica_batch){.base = at, .end = at + 1, .epoch = epoch};
    }
    step(w, n, &e, item);
}

static void on_sync(struct world *w, struct node *n)
{
    n->is_syncing = false;
    if (n->syncing_to <= n->store.end && n->syncing_to > n->store.durable)
        n->store.durable = n->syncing_to;
    struct replica_status status;
    replica_look(n->replica, &status);
    n->store.high_water = status.high_water;
    struct replica_event e = {.type = REPLICA_EVENT_DURABLE};
    e.durable.end = n->store.durable;
    e.durable.last_epoch = n->store.durable == 0 ? 0 : n->store.log[n->store.durable - 1].epoch;
    sync_later(w, n);
    node_step(w, n, &e);
}

static void on_cut(struct world *w, struct node *n, uint64_t end)
{
    struct replica_event e = {.type = REPLICA_EVENT_TRUNCATED, .truncated.end = end};
    n->store.end = n->store.durable = end;
    w->seen.cuts++;
    ghost_stored(w);
    node_step(w, n, &e);
}

static void on_snapshot(struct world *w, struct node *n, const struct item *item)
{
    const struct node *leader = &w->nodes[item->from];
    struct replica_event e = {.type = REPLICA_EVENT_SNAPSHOT};
    struct store *s = &n->store;
    e.snapshot.has_failed = leader->replica == NULL || leader->store.start < item->number ||
                            leader->cut_to[item->node] || (!w->is_healed && chance(w, 20));
    if (!e.snapshot.has_failed) {
        memcpy(s->log, leader->store.log, (size_t)leader->store.start * sizeof s->log[0]);
        s->start = s->durable = s->end = leader->store.start;
        e.snapshot.start = s->start;
        e.snapshot.last_epoch = s->start == 0 ? 0 : s->log[s->start - 1].epoch;
        w->seen.snapshots++;
        ghost_stored(w);
    }
    node_step(w, n, &e);
}

static void on_discard(struct world *w, struct node *n)
{
    struct replica_event e = {.type = REPLICA_EVENT_DISCARDED};
    struct store *s = &n->store;
    s->start = s->durable = s->end = s->high_water = 0;
    s->is_adopted = s->is_excused = false;
    w->seen.discards++;
    ghost_stored(w);
    node_step(w, n, &e);
}

static void on_tick(struct world *w, struct node *n)
{
    struct replica_event e = {.type = REPLICA_EVENT_TICK};
    struct item item = item_for(w, n, ITEM_TICK);
    world_send(w, 100 + (int64_t)draw(w, 100), &item);
    bool is_deaf = !w->is_healed && w->weather.deaf_percent > 30;
    if (!n->cut_from_catalogue && chance(w, is_deaf ? 1 : 5)) { /* lists, now and then */
        catalogue_hint(w, n, false);
        catalogue_tell_sessions(w, n);
    }
    node_step(w, n, &e);
    ghost_gates(w, n);
}

void node_on_item(struct world *w, struct node *n, struct item *item)
{
    struct replica_event e = {0};
    switch ((int)item->type) { /* each part of the world knows its own */
    case ITEM_TICK:
        on_tick(w, n);
        return;
    case ITEM_FETCH:
        e.type = REPLICA_EVENT_FETCH;
        e.fetch.request = item->fetch;
        break;
    case ITEM_ANSWER:
        on_answer(w, n, item);
        return;
    case ITEM_SWAP_DONE:
        e.type = REPLICA_EVENT_SWAP;
        e.swap.op = item->swap.op;
        e.swap.outcome = item->swap.outcome;
        e.swap.version = item->swap.version;
        break;
    case ITEM_KEY:
        e.type = REPLICA_EVENT_KEY;
        e.key.value = item->key.value;
        e.key.serial = item->key.serial;
        break;
    case ITEM_SYNC:
        on_sync(w, n);
        return;
    case ITEM_CUT:
        on_cut(w, n, item->number);
        return;
    case ITEM_SNAPSHOT:
        on_snapshot(w, n, item);
        return;
    case ITEM_DISCARD:
        on_discard(w, n);
        return;
    case ITEM_PARK_END:
        if (n->parked[item->from].is_there && n->parked[item->from].serial == item->number) {
            n->parked[item->from].is_there = false;
            send_answer(w, n, &n->parked[item->from].effect, true);
        }
        return;
    case ITEM_SESSION:
        e.type = REPLICA_EVENT_SESSION;
        e.session.broker = (uint32_t)item->session.of + 1;
        e.session.is_live = item->session.is_live;
        break;
    default:
        UNREACHABLE();
    }
    node_step(w, n, &e);
}

// SPDX-License-Identifier: Apache-2.0
/* One run: a seed, its faults, the healing, the rest. */
#include <inttypes.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/replica/world.h"

enum {
    CALM_MS = 45000, /* sessions, elections and the slowest late messages come to an end */
    LOG_FULL = LOG_ROOM - 150,
};

static struct item *take(struct world *w)
{
    struct item *first = w->queue[0], *last = w->queue[--w->queue_n];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= w->queue_n)
            break;
        struct item *a = w->queue[child];
        if (child + 1 < w->queue_n) {
            struct item *b = w->queue[child + 1];
            if (b->at_ms < a->at_ms || (b->at_ms == a->at_ms && b->order < a->order)) {
                a = b;
                child++;
            }
        }
        if (last->at_ms < a->at_ms || (last->at_ms == a->at_ms && last->order < a->order))
            break;
        w->queue[at] = a;
        at = child;
    }
    if (w->queue_n > 0)
        w->queue[at] = last;
    return first;
}

static void on_client(struct world *w)
{
    struct item item = {.type = ITEM_CLIENT};
    world_send(w, 1 + (int64_t)draw(w, 400), &item);
    for (size_t i = 0; i < w->nodes_n; i++) {
        struct node *n = &w->nodes[i];
        if (n->replica == NULL || n->paused_until_ms > w->now_ms || n->store.end >= LOG_FULL ||
            replica_may_append(n->replica) != REPLICA_GATE_OPEN)
            continue;
        for (uint64_t records = 1 + draw(w, 3); records > 0; records--)
            node_append(w, n, ++w->next_value);
    }
}

static void on_node(struct world *w, struct item *item)
{
    struct node *n = &w->nodes[item->node];
    switch ((int)item->type) { /* each part of the world knows its own */
    case ITEM_START:
        if (n->replica == NULL)
            node_start(w, n);
        return;
    case ITEM_SESSION_END:
        if (n->is_live && n->session == item->number)
            catalogue_session_set(w, n, false);
        return;
    case ITEM_REGISTER:
        if (n->replica != NULL && item->life == n->life && (!n->is_live || item->number == 0) &&
            !n->cut_from_catalogue)
            catalogue_session_set(w, n, true);
        return;
    default:
        break;
    }
    if (n->replica == NULL || (item->life != 0 && item->life != n->life))
        return;
    if (n->paused_until_ms > w->now_ms) {
        /* It wakes to what came meanwhile, in any order. */
        world_send(w, n->paused_until_ms - w->now_ms + (int64_t)draw(w, 3), item);
        return;
    }
    node_on_item(w, n, item);
}

static void play(struct world *w, struct item *item)
{
    struct item again = {.type = item->type};
    switch ((int)item->type) { /* each part of the world knows its own */
    case ITEM_SWAP:
    case ITEM_READ:
        catalogue_on_item(w, item);
        return;
    case ITEM_CONTROL:
    case ITEM_QUESTION:
    case ITEM_DECISION:
        control_on_item(w, item);
        return;
    case ITEM_CLIENT:
        on_client(w);
        return;
    case ITEM_FAULT:
        if (w->is_healed)
            return;
        weather_fault(w);
        world_send(w, 1 + (int64_t)draw(w, (uint64_t)w->weather.fault_gap_ms), &again);
        return;
    default:
        on_node(w, item);
        return;
    }
}

static void begin(struct world *w)
{
    w->nodes_n = 3 + draw(w, 3);
    w->nodes_n = chance(w, 50) ? 3 : w->nodes_n;
    weather_draw(w);
    catalogue_begin(w);
    for (size_t i = 0; i < w->nodes_n; i++) {
        struct node *n = &w->nodes[i];
        n->broker = (uint32_t)i + 1;
        n->sync_max_ms = 5 + (int64_t)draw(w, 60);
        node_start(w, n);
    }
    struct item item = {.type = ITEM_CONTROL};
    world_send(w, 300, &item);
    item.type = ITEM_CLIENT;
    world_send(w, 500, &item);
    item.type = ITEM_FAULT;
    world_send(w, 1000, &item);
    w->faults_until_ms = 4000 + (int64_t)draw(w, 20000);
}

static void end(struct world *w, struct sim_verdict *out)
{
    if (w->broken == NULL)
        ghost_rest(w);
    *out = (struct sim_verdict){.broken = w->broken,
                                .ended = w->ended,
                                .hash = w->hash,
                                .steps = w->seen.steps,
                                .elections = w->seen.elections,
                                .commits = w->seen.commits,
                                .cuts = w->seen.cuts,
                                .snapshots = w->seen.snapshots,
                                .discards = w->seen.discards,
                                .shrinks = w->seen.shrinks,
                                .expands = w->seen.expands,
                                .unknown = w->seen.unknown,
                                .reassigned = w->seen.reassigned};
    if (w->broken != NULL)
        fprintf(w->told, "LEASELOG_SEED=%" PRIu64 ": rule %s (at %" PRId64 " ms)\n", w->seed,
                w->broken, w->now_ms);
    while (w->queue_n > 0)
        mem_free(w->queue[--w->queue_n]);
    mem_free(w->queue);
    for (size_t i = 0; i < w->nodes_n; i++)
        replica_free(w->nodes[i].replica);
    mem_free(w);
}

void replica_sim_run(uint64_t seed, FILE *told, bool is_verbose, struct sim_verdict *out)
{
    struct world *w = mem_new(sizeof *w);
    w->seed = seed;
    w->rng.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    w->told = told;
    w->is_verbose = is_verbose;
    begin(w);
    while (w->broken == NULL && w->ended == NULL) {
        int64_t at_ms = w->queue[0]->at_ms;
        if (w->is_healed && at_ms > w->faults_until_ms + CALM_MS)
            break;
        if (!w->is_healed && at_ms > w->faults_until_ms) {
            w->now_ms = w->faults_until_ms;
            weather_heal(w);
            continue;
        }
        struct item *item = take(w);
        w->now_ms = item->at_ms;
        bool stops = item->type == ITEM_CLIENT && w->is_healed &&
                     w->now_ms > w->faults_until_ms + CALM_MS - 5000;
        if (!stops)
            play(w, item);
        mem_free(item);
    }
    end(w, out);
}

// SPDX-License-Identifier: Apache-2.0
/* Lives of brokers: started as `app` starts them, driven step by step in place of their threads,
 * and ended in all ways. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/cluster/world.h"

enum { TICK_MS = 100, TURN_MS = 40 };

bool broker_is_up(const struct broker *b)
{
    return b->is_up;
}

struct broker *broker_of_clock(const struct clock *clock)
{
    return CONTAINER_OF((struct fake_clock *)clock->self, struct broker, clock);
}

void broker_enter(struct broker *b)
{
    struct world *w = b->world;
    fake_clock_pass(&b->clock, w->now_ms - b->clock_at_ms);
    b->clock_at_ms = w->now_ms;
    w->running = b;
}

void broker_come_back(struct broker *b, int64_t delay_ms)
{
    world_send(b->world, delay_ms, item_new(ITEM_START, b->id));
}

/* ---- begin ---- */

static void options_make(struct broker *b, struct cluster_options *c, struct queue_options *q)
{
    struct world *w = b->world;
    *c = (struct cluster_options){
        .catalog = b->catalog,
        .clock = &b->clock.clock,
        .rng = {rng_next(&w->rng)},
        .broker = b->id,
        .disk = fault_disk_of(b->disk),
        .replace = b->is_replaced,
        .session_ttl_s = TTL_MS / 1000,
        .peer_address = "127.0.0.1",
        .key = BYTES_OF("a key of all the brokers"),
    };
    *q = (struct queue_options){
        .disk = fault_disk_of(b->disk),
        .catalog = b->catalog,
        .clock = &b->clock.clock,
        .rng = {rng_next(&w->rng)},
        .fresh_secret = "a secret of thirty-two bytes....",
        .segment_bytes = w->segment_bytes,
        .journal_bytes = w->journal_bytes,
        .cache_bytes = 4096,
        .snapshot_log_bytes = w->snapshot_log_bytes,
    };
}

static enum err begin(struct broker *b)
{
    struct cluster_options c;
    struct queue_options q;
    options_make(b, &c, &q);
    enum err e = cluster_start(&c, &b->cluster);
    if (e != ERR_OK) {
        b->cluster = NULL;
        return e;
    }
    q.links = cluster_links(b->cluster);
    e = queue_open(&q, &b->queue);
    if (e != ERR_OK) {
        b->queue = NULL;
        return e;
    }
    return cluster_enter(b->cluster, b->queue);
}

/* Frees what there is of a life. */
static void clear(struct broker *b)
{
    b->is_up = false;
    b->is_dying = true;
    if (b->cluster != NULL)
        cluster_abandon(b->cluster);
    if (b->queue != NULL)
        queue_abandon(b->queue);
    cluster_free(b->cluster);
    catalog_close(b->catalog);
    b->catalog = NULL;
    b->queue = NULL;
    b->cluster = NULL;
    b->is_dying = b->is_stopping = b->commits = false;
    client_lost(b->world, b->id);
    net_forget(b);
}

/* A session of an earlier life without its lease's number is waited for as long as it lives. */
static bool may_begin(const struct broker *b)
{
    char name[CLUSTER_KEY_ROOM];
    cluster_key_session(name, b->id);
    return catalogue_is_reached(b) && (!b->is_replaced || store_find(b->world, name) == NULL);
}

void broker_start(struct broker *b)
{
    struct world *w = b->world;
    if (b->is_up)
        return;
    broker_enter(b);
    if (!may_begin(b)) {
        broker_come_back(b, 300 + (int64_t)draw(w, 500));
        return;
    }
    b->life++;
    b->ticked_ms = 0;
    memset(b->seen, 0, sizeof b->seen);
    b->catalog = catalogue_new(b);
    enum err e = begin(b);
    world_say(w, "%u starts: %s", b->id, err_text(e));
    if (e != ERR_OK) {
        clear(b);
        fault_disk_fail_never(b->disk);
        fault_disk_kill(b->disk);
        if (e == ERR_CORRUPT && b->is_excused)
            broker_replace(b);
        broker_come_back(b, 300 + (int64_t)draw(w, 500));
        return;
    }
    b->is_up = true;
    b->is_replaced = false;
    struct item *turn = item_new(ITEM_TURN, b->id);
    turn->life = b->life;
    world_send(w, 1, turn);
    judge_look(b);
}

/* ---- life ---- */

void broker_commit_soon(struct broker *b)
{
    if (b->commits)
        return;
    struct item *i = item_new(ITEM_COMMIT, b->id);
    i->life = b->life;
    b->commits = true;
    world_send(b->world, 1 + (int64_t)draw(b->world, (uint64_t)b->sync_max_ms), i);
}

void broker_commit(struct broker *b)
{
    b->commits = false;
    queue_commit_all(b->queue);
    while (queue_copy_work(b->queue))
        continue;
    if (plog_work_unwritten(b->queue->plog))
        broker_commit_soon(b);
}

static void closed(struct broker *b)
{
    world_say(b->world, "%u has stopped", b->id);
    cluster_leave(b->cluster);
    queue_close(b->queue);
    cluster_free(b->cluster);
    b->cluster = NULL;
    b->queue = NULL;
    clear(b);
    fault_disk_fail_never(b->disk);
    fault_disk_kill(b->disk);
    broker_come_back(b, 1 + (int64_t)draw(b->world, 3000));
}

void broker_turn(struct broker *b)
{
    struct world *w = b->world;
    catalogue_session_look(b);
    (void)!cluster_turn(b->cluster, false);
    if (b->is_stopping && b->cluster->has_left) {
        closed(b);
        return;
    }
    if (w->now_ms - b->ticked_ms >= TICK_MS) {
        b->ticked_ms = w->now_ms;
        queue_copy_tick(b->queue);
        if (chance(w, 50))
            queue_housekeep(b->queue);
    }
    while (queue_copy_work(b->queue))
        continue;
    if (plog_work_unwritten(b->queue->plog))
        broker_commit_soon(b);
    struct item *turn = item_new(ITEM_TURN, b->id);
    turn->life = b->life;
    world_send(w, 1 + TURN_MS / 2 + (int64_t)draw(w, TURN_MS), turn);
}

/* ---- ends ---- */

void broker_die(struct broker *b, bool is_power_cut)
{
    world_say(b->world, "%u %s", b->id, is_power_cut ? "loses its power" : "is killed");
    b->world->counts.crashes++;
    broker_enter(b);
    clear(b);
    fault_disk_fail_never(b->disk);
    if (is_power_cut) {
        fault_disk_power_cut(b->disk);
        fake_clock_reboot(&b->clock);
    } else {
        fault_disk_kill(b->disk);
    }
    b->paused_until_ms = 0;
}

void broker_stop(struct broker *b)
{
    world_say(b->world, "%u is told to stop", b->id);
    b->is_stopping = true;
    cluster_resign(b->cluster);
}

void broker_replace(struct broker *b)
{
    world_say(b->world, "%u has a new disk", b->id);
    b->world->counts.losses++;
    fault_disk_free(b->disk);
    b->disk = fault_disk_new(rng_next(&b->world->rng));
    b->is_replaced = true;
}

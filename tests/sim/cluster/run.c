// SPDX-License-Identifier: Apache-2.0
/* One run: a seed, its faults, the healing, the drain. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/cluster/world.h"

enum { CALM_MS = 45000, LEASES_LOOK_MS = 250, RESTART_MS = 1500 };

/* ---- one thing after the other ---- */

static bool is_for_broker(const struct item *i)
{
    switch (i->type) {
    case ITEM_QUESTION: /* a host without a broker refuses */
    case ITEM_START:
    case ITEM_LATE_CHANGE:
    case ITEM_LEASES:
    case ITEM_CLIENT:
    case ITEM_FAULT:
    case ITEM_UNDO:
        return false;
    case ITEM_TURN:
    case ITEM_COMMIT:
    case ITEM_FETCH:
    case ITEM_ANSWER:
    case ITEM_PARK_END:
    case ITEM_SNAPSHOT_ASK:
    case ITEM_SNAPSHOT:
    case ITEM_REPLY:
    case ITEM_REPLY_OVERDUE:
    case ITEM_NEWS:
        return true;
    }
    UNREACHABLE();
}

static void on_news(struct broker *b, const struct item *i)
{
    struct catalog_watching watching = cluster_watching(b->cluster);
    struct catalog_event e = {.key = i->kv.key,
                              .value = i->kv.value,
                              .dropped = i->kv.value.at == NULL,
                              .create_rev = i->kv.create_rev,
                              .mod_rev = i->kv.mod_rev};
    watching.events(watching.self, &e, 1);
}

static void play_at(struct broker *b, struct item *i)
{
    switch ((int)i->type) {
    case ITEM_TURN:
        broker_turn(b);
        return;
    case ITEM_COMMIT:
        broker_commit(b);
        return;
    case ITEM_NEWS:
        on_news(b, i);
        return;
    case ITEM_REPLY:
    case ITEM_REPLY_OVERDUE:
    case ITEM_QUESTION:
        calls_on_item(b->world, i);
        return;
    default:
        net_on_item(b->world, i);
        return;
    }
}

/* A failed disk ends the life of its broker: at once where the power goes with it, else when
 * somebody has seen it. */
static void disk_look(struct broker *b)
{
    struct world *w = b->world;
    if (!broker_is_up(b) || !(queue_failed(b->queue) || fault_disk_has_failed(b->disk)))
        return;
    if (fault_disk_has_failed(b->disk) || chance(w, 2)) {
        broker_die(b, true);
        broker_come_back(b, 1 + (int64_t)draw(w, RESTART_MS));
    }
}

static void play_world(struct world *w, struct item *i)
{
    switch ((int)i->type) {
    case ITEM_START:
        broker_start(&w->brokers[i->broker]);
        return;
    case ITEM_LATE_CHANGE:
        catalogue_late(w, i->change);
        return;
    case ITEM_LEASES:
        store_leases_look(w);
        world_send(w, LEASES_LOOK_MS, item_new(ITEM_LEASES, 0));
        return;
    case ITEM_CLIENT:
        if (w->is_healed)
            return;
        client_act(w);
        world_send(w, 1 + (int64_t)draw(w, (uint64_t)w->weather.client_gap_ms),
                   item_new(ITEM_CLIENT, 0));
        return;
    case ITEM_FAULT:
        if (w->is_healed)
            return;
        weather_fault(w);
        world_send(w, 1 + (int64_t)draw(w, (uint64_t)w->weather.fault_gap_ms),
                   item_new(ITEM_FAULT, 0));
        return;
    default:
        weather_undo(w, i);
        return;
    }
}

static bool is_call(const struct item *i)
{
    return i->type == ITEM_QUESTION || i->type == ITEM_REPLY || i->type == ITEM_REPLY_OVERDUE;
}

/* True: the item was kept. */
static bool play(struct world *w, struct item *i)
{
    struct broker *b = &w->brokers[i->broker];
    if (!is_for_broker(i) && i->type != ITEM_QUESTION) {
        play_world(w, i);
        return false;
    }
    if (is_for_broker(i) && (!broker_is_up(b) || (i->life != 0 && i->life != b->life)))
        return false;
    if (b->paused_until_ms > w->now_ms) { /* it wakes to what came meanwhile, in any order */
        world_send(w, b->paused_until_ms - w->now_ms + (int64_t)draw(w, 3), i);
        return true;
    }
    if (broker_is_up(b))
        broker_enter(b);
    play_at(b, i);
    if (is_call(i)) /* it is only taken note of: the turn acts on it */
        return false;
    disk_look(b);
    judge_look(b);
    return false;
}

void run_until(struct world *w, int64_t until_ms)
{
    while (w->broken[0] == '\0' && w->queue_n > 0 && w->queue[0]->at_ms <= until_ms) {
        struct item *i = world_take(w);
        w->now_ms = i->at_ms;
        w->counts.steps++;
        world_stir(w, (uint64_t)i->at_ms << 16 ^ (uint64_t)i->type << 8 ^ i->broker);
        if (!play(w, i))
            item_free(i);
    }
    if (w->broken[0] == '\0')
        w->now_ms = until_ms;
}

/* ---- begin ---- */

static void topic_make(struct world *w, uint32_t topic, const char *name, uint32_t partitions)
{
    struct broker *b = &w->brokers[1];
    struct topic_config config;
    struct queue_topic *t;
    broker_enter(b);
    topic_config_init(&config);
    (void)snprintf(config.name, sizeof config.name, "%s", name);
    config.fifo = topic == 1;
    config.partitions = partitions;
    config.copies = 3;
    config.allow_single_copy = true; /* a min_isr of 1 among several needs it */
    config.min_isr = topic == 0 && w->weather.is_loose ? 1 : 2;
    if (topic == 1 && w->weather.is_strict)
        config.min_isr = 3;
    CHECK(queue_topic_create(b->queue, &config, &t) == ERR_OK);
    memcpy(w->topics[topic], t->id.at, sizeof w->topics[topic]);
    queue_topic_give_back(t);
    topic_config_fini(&config);
    for (uint32_t i = 0; i < partitions; i++) {
        struct queue_copy_id of = {.partition = i};
        char key[CATALOG_KEY_BYTES_MAX + 1];
        memcpy(of.topic, w->topics[topic], sizeof of.topic);
        catalog_key_partition(key, of.topic, i);
        struct key *k = store_find(w, key);
        judge_key(w, key, buf_bytes(&k->value), k->mod_rev);
    }
}

static struct world *world_begin(uint64_t seed, FILE *told, bool is_verbose)
{
    struct world *w = mem_new(sizeof *w);
    world_now = w;
    w->seed = seed;
    struct rng mixed = {seed}; /* seeds that follow one another have nothing in common */
    w->rng.state = rng_next(&mixed);
    w->told = told;
    w->is_verbose = is_verbose;
    return w;
}

static void begin(struct world *w)
{
    store_begin(w);
    arena_init(&w->arena, NULL, 0);
    w->is_beginning = true;
    for (uint32_t id = 1; id <= w->brokers_n; id++) {
        struct broker *b = &w->brokers[id];
        b->world = w;
        b->id = id;
        b->disk = fault_disk_new(rng_next(&w->rng));
        b->sync_max_ms = 5 + (int64_t)draw(w, 60);
        fake_clock_init(&b->clock);
        fake_clock_pass(&b->clock, (int64_t)draw(w, 10000));
        b->clock.clock.boot_id.at[1] = (uint8_t)id;
        broker_start(b);
    }
    world_send(w, 1, item_new(ITEM_LEASES, 0));
    run_until(w, 2000);
    topic_make(w, 0, "standard", 2);
    topic_make(w, 1, "order.fifo", 1);
    run_until(w, 4000);
    w->is_beginning = false;
}

static void faults_begin(struct world *w)
{
    w->faults_until_ms = w->now_ms + 6000 + (int64_t)draw(w, 24000);
    world_send(w, 1, item_new(ITEM_CLIENT, 0));
    world_send(w, 500, item_new(ITEM_FAULT, 0));
}

/* ---- end ---- */

static void end(struct world *w, struct sim_verdict *out)
{
    memcpy(out->broken, w->broken, sizeof out->broken);
    out->hash = w->hash;
    out->counts = w->counts;
    if (w->broken[0] != '\0')
        fprintf(w->told, "LEASELOG_SEED=%" PRIu64 ": rule %s (at %" PRId64 " ms)\n", w->seed,
                w->broken, w->now_ms);
    for (uint32_t id = 1; id <= w->brokers_n; id++) {
        if (broker_is_up(&w->brokers[id]))
            broker_die(&w->brokers[id], false);
        fault_disk_free(w->brokers[id].disk);
    }
    client_lost(w, 0);
    while (w->queue_n > 0)
        item_free(w->queue[--w->queue_n]);
    while (w->held != NULL) {
        struct item *i = w->held;
        w->held = i->next;
        item_free(i);
    }
    mem_free(w->queue);
    store_end(w);
    arena_fini(&w->arena);
    for (size_t part = 0; part < PARTS; part++) {
        mem_free(w->parts[part].records);
        mem_free(w->parts[part].states);
    }
    mem_free(w);
    world_now = NULL;
}

static void heal_and_judge(struct world *w, struct sim_verdict *out)
{
    if (w->broken[0] == '\0') {
        weather_heal(w);
        run_until(w, w->now_ms + CALM_MS);
    }
    if (w->broken[0] == '\0')
        judge_rest(w);
    if (w->broken[0] == '\0')
        drain(w);
    end(w, out);
}

void cluster_sim_run(uint64_t seed, FILE *told, bool is_verbose, struct sim_verdict *out)
{
    struct world *w = world_begin(seed, told, is_verbose);
    w->brokers_n = chance(w, 50) ? 3 : 3 + (uint32_t)draw(w, 3);
    weather_draw(w);
    fronts_begin(w);
    begin(w);
    faults_begin(w);
    run_until(w, w->faults_until_ms);
    heal_and_judge(w, out);
}

void cluster_sim_scene(uint64_t seed, void (*scene)(struct world *w), bool is_strict, FILE *told,
                       struct sim_verdict *out)
{
    struct world *w = world_begin(seed, told, getenv("LEASELOG_VERBOSE") != NULL);
    w->brokers_n = 3;
    w->weather = (struct weather){.news_ms = 20, .client_gap_ms = 100, .is_strict = is_strict};
    w->segment_bytes = 65536;
    w->journal_bytes = 65536;
    w->snapshot_log_bytes = 65536;
    begin(w);
    scene(w);
    heal_and_judge(w, out);
}

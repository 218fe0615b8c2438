// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "lib/fault_vfs.h"
#include "sim/sim.h"

uint64_t sim_below(struct sim *s, uint64_t limit)
{
    return rng_below(&s->rng, limit);
}

bool sim_chance(struct sim *s, unsigned percent)
{
    return sim_below(s, 100) < percent;
}

/* What the topics of this run are like. Their dead letters go to one that may be missing. */
static void make_plans(struct sim *s)
{
    static const struct {
        const char *name;
        uint32_t dead_slot;
    } slots[SIM_SLOTS] = {
        {"s", 1},
        {"s-dead", 2},
        {"s-dead-dead", HISTORY_NONE},
        {"f.fifo", 4},
        {"f-dead.fifo", HISTORY_NONE},
        {"plain", HISTORY_NONE},
        {"plain.fifo", HISTORY_NONE},
    };
    for (uint32_t i = 0; i < SIM_SLOTS; i++) {
        struct sim_plan *p = &s->plans[i];
        size_t n = strlen(slots[i].name);
        p->name = slots[i].name;
        p->partitions = sim_chance(s, 30) ? 2 + (uint32_t)sim_below(s, 2) : 1;
        p->delay_ms = sim_chance(s, 20) ? (int64_t)sim_below(s, 4000) : 0;
        p->policy = (struct policy){
            .slot = i,
            .dead_slot = slots[i].dead_slot,
            .retention_ms = sim_chance(s, 15) ? 60000 : 345600000,
            .fifo = n > 5 && strcmp(slots[i].name + n - 5, ".fifo") == 0,
            .dedup_per_group = sim_chance(s, 50),
        };
        if (p->policy.dead_slot != HISTORY_NONE)
            p->policy.receives_max = 1 + (uint32_t)sim_below(s, 3);
        if (p->policy.fifo && !p->policy.dedup_per_group)
            p->partitions = 1;
        s->slots[i] = HISTORY_NONE;
    }
}

void sim_init(struct sim *s, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->rng.state = seed;
    s->disk = fault_disk_new(seed ^ 0xd15c);
    fault_vfs_use(s->disk);
    fake_clock_init(&s->clock);
    folder_make(s->folder);
    snprintf(s->catalog_path, sizeof s->catalog_path, "%s/catalog.sqlite", s->folder);
    s->options = (struct queue_options){
        .disk = fault_disk_of(s->disk),
        .catalog_path = s->catalog_path,
        .clock = &s->clock.clock,
        .fresh_secret = "a secret of thirty-two bytes....",
        .segment_bytes = 4096u << sim_below(s, 3),
        .cache_bytes = 256u << sim_below(s, 9),
        .journal_bytes = 16384u << sim_below(s, 3),
        .snapshot_log_bytes = 500u << sim_below(s, 7),
    };
    arena_init(&s->arena, NULL, 0);
    make_plans(s);
}

void sim_fini(struct sim *s)
{
    if (s->q != NULL)
        sim_down(s, false);
    history_fini(&s->history);
    arena_fini(&s->arena);
    mem_free(s->topics);
    fault_disk_free(s->disk);
    folder_remove(s->folder);
}

void sim_put(struct sim *s, struct event e)
{
    e.now_ms = s->q == NULL ? s->now_ms : queue_now_ms(s->q);
    history_put(&s->history, &e);
}

void sim_remember_time(struct sim *s, int64_t ms)
{
    s->times[s->times_n++ % SIM_TIMES] = ms;
}

enum err sim_open(struct sim *s)
{
    s->options.rng.state = s->seed * 1000 + ++s->life;
    fault_vfs_use(s->disk);
    enum err e = queue_open(&s->options, &s->q);
    if (e != ERR_OK)
        s->q = NULL;
    return e;
}

static bool stamp_is_known(const struct sim *s)
{
    return s->stamp.partition_ms != 0;
}

static void remember_now(struct sim *s)
{
    s->now_ms = queue_now_ms(s->q);
    s->boot_ms = s->clock.boot_ms;
    struct plog_stamp stamp = plog_last_stamp(s->q->plog);
    if (stamp.partition_ms >= s->stamp.partition_ms)
        s->stamp = stamp;
}

void sim_look_around(struct sim *s, bool same_boot)
{
    /* After a reboot the wall clock counts until the first round tells of the new boot. */
    bool exact = same_boot && stamp_is_known(s) &&
                 memcmp(&s->stamp.boot_id, &s->clock.clock.boot_id, sizeof s->stamp.boot_id) == 0;
    sim_put(s, (struct event){
                   .kind = EVENT_OPEN,
                   .flag = exact,
                   .until_ms = exact               ? s->now_ms + s->clock.boot_ms - s->boot_ms
                               : stamp_is_known(s) ? s->stamp.partition_ms
                                                   : INT64_MIN,
               });
    for (uint32_t slot = 0; slot < SIM_SLOTS; slot++)
        sim_topic_look(s, slot);
    remember_now(s);
}

void sim_down(struct sim *s, bool clean)
{
    remember_now(s);
    sim_polls_end(s);
    if (clean) {
        queue_close(s->q);
        s->q = NULL;
        sim_ops_sweep(s);
    } else {
        fault_vfs_kill();
        queue_abandon(s->q);
        s->q = NULL;
    }
    sim_ops_drop(s);
    sim_put(s, (struct event){.kind = clean ? EVENT_SYNCED : EVENT_CRASH});
}

void sim_pass(struct sim *s, int64_t ms)
{
    int64_t before_ms = queue_now_ms(s->q);
    fake_clock_pass(&s->clock, ms);
    sim_put(s, (struct event){.kind = EVENT_TIME, .until_ms = before_ms + ms});
}

void sim_note_synced(struct sim *s)
{
    sim_ops_sweep(s);
    if (s->q == NULL || queue_failed(s->q) || plog_work_unwritten(s->q->plog))
        return;
    remember_now(s);
    sim_put(s, (struct event){.kind = EVENT_SYNCED});
}

void sim_rest(struct sim *s)
{
    for (int i = 0; i < 20; i++) {
        queue_commit_all(s->q);
        queue_housekeep(s->q);
        queue_commit_all(s->q);
        sim_note_synced(s);
        if (!sim_polls_serve(s))
            break;
    }
}

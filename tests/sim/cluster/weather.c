// SPDX-License-Identifier: Apache-2.0
/* Faults: what is drawn once a run, and what happens now and then. */
#include <string.h>

#include "sim/cluster/world.h"

enum undo { UNDO_LINKS, UNDO_CATALOGUE, UNDO_STORE, UNDO_DISK };

void weather_draw(struct world *w)
{
    struct weather *t = &w->weather;
    bool is_mild = chance(w, 25);
    *t = (struct weather){
        .drop_percent = is_mild ? 1 : (unsigned)draw(w, 20),
        .double_percent = (unsigned)draw(w, 10),
        .slow_percent = (unsigned)draw(w, is_mild ? 3 : 25),
        .unknown_percent = (unsigned)draw(w, is_mild ? 5 : 35),
        .deaf_percent = (unsigned)draw(w, is_mild ? 3 : 30),
        .crash_percent = is_mild ? 30 : 100,
        .slow_ms = 50 + (int64_t)draw(w, 4000),
        .news_ms = 5 + (int64_t)draw(w, chance(w, 30) ? 2000 : 50),
        .fault_gap_ms = 200 + (int64_t)draw(w, is_mild ? 4000 : 2000),
        .client_gap_ms = chance(w, 30) ? 15 : 80,
        .has_small_disks = chance(w, 20),
        .has_rot = chance(w, 15),
        .is_loose = chance(w, 20),
    };
    if (chance(w, 30)) {
        t->is_tidy = true;
        t->client_gap_ms = 10;
        t->fault_gap_ms += 1000;
    }
    w->segment_bytes = 4096u << (t->is_tidy ? 0 : draw(w, 3));
    w->journal_bytes = 16384u << draw(w, 2);
    w->snapshot_log_bytes = 500u << draw(w, t->is_tidy || chance(w, 50) ? 3 : 7);
}

/* min_isr - 1 losses at a time do no harm; more are not asked for. */
static bool may_lose(struct world *w, struct broker *b)
{
    judge_excuse(w);
    if (w->weather.is_loose)
        return false;
    for (uint32_t id = 1; id <= w->brokers_n; id++)
        if (w->brokers[id].is_lossy && id != b->id)
            return false;
    for (size_t part = 0; part < PARTS; part++)
        if (w->parts[part].key.epoch == 0)
            return false;
    b->is_lossy = true;
    return true;
}

static void crash(struct world *w, struct broker *b)
{
    if (!broker_is_up(b) || !chance(w, w->weather.crash_percent))
        return;
    broker_die(b, chance(w, 60));
    if (chance(w, 25) && may_lose(w, b))
        broker_replace(b);
    broker_come_back(b, 1 + (int64_t)draw(w, chance(w, 30) ? 9000 : 900));
}

static void power(struct world *w)
{
    for (uint32_t id = 1; id <= w->brokers_n; id++)
        if (broker_is_up(&w->brokers[id]) && chance(w, 85)) {
            broker_die(&w->brokers[id], true);
            broker_come_back(&w->brokers[id], 1 + (int64_t)draw(w, 900));
        }
}

static void undo_later(struct world *w, struct broker *b, enum undo what, int64_t ms)
{
    struct item *i = item_new(ITEM_UNDO, b->id);
    i->number = what;
    world_send(w, 1 + (int64_t)draw(w, (uint64_t)ms), i);
}

static void links(struct world *w, struct broker *b)
{
    unsigned how = (unsigned)draw(w, 3);
    for (uint32_t id = 1; id <= w->brokers_n; id++) {
        if (id == b->id)
            continue;
        b->cut_to[id] = how == 0 || chance(w, 50);
        w->brokers[id].cut_to[b->id] = how == 0 || (how == 1 && chance(w, 50));
    }
    b->cut_from_catalogue = chance(w, 40);
    world_say(w, "%u is cut off%s", b->id, b->cut_from_catalogue ? ", from the catalogue too" : "");
    undo_later(w, b, UNDO_LINKS, chance(w, 30) ? 15000 : 4000);
}

static void catalogue(struct world *w, struct broker *b)
{
    if (chance(w, 30)) {
        world_say(w, "the catalogue is down");
        w->store.is_down = true;
        undo_later(w, b, UNDO_STORE, 9000);
        return;
    }
    world_say(w, "%u is cut from the catalogue", b->id);
    b->cut_from_catalogue = true;
    undo_later(w, b, UNDO_CATALOGUE, 10000);
}

/* Its disk fails in the midst of something: an operation, all from then on, or for want of room. */
static void disk(struct world *w, struct broker *b)
{
    if (!broker_is_up(b))
        return;
    switch (draw(w, 4)) {
    case 0:
        b->sync_max_ms = chance(w, 20) ? 3000 : 5 + (int64_t)draw(w, 100);
        return;
    case 1:
        if (!w->weather.has_small_disks)
            return;
        world_say(w, "%u has no room left", b->id);
        fault_disk_capacity(b->disk, 40000 + draw(w, 200000));
        undo_later(w, b, UNDO_DISK, 5000);
        return;
    default:
        world_say(w, "%u's disk will fail", b->id);
        fault_disk_fail_in(b->disk, draw(w, 60), chance(w, 70) ? ERR_IO : ERR_NO_SPACE,
                           chance(w, 50));
        return;
    }
}

struct files {
    struct world *w;
    unsigned n, chosen;
    char path[256];
    uint64_t bytes;
};

static void each_file(void *arg, const char *path, uint64_t bytes)
{
    struct files *f = arg;
    if (bytes == 0 || strstr(path, ".log") == NULL || strncmp(path, "journal", 7) == 0 ||
        f->n++ != f->chosen)
        return;
    (void)snprintf(f->path, sizeof f->path, "%s", path);
    f->bytes = bytes;
}

/* A bit of a segment turns over while the broker is down. */
static void rot(struct world *w, struct broker *b)
{
    if (!w->weather.has_rot || !broker_is_up(b) || !may_lose(w, b))
        return;
    struct files f = {.w = w, .chosen = (unsigned)draw(w, 4)};
    broker_die(b, true);
    fault_disk_each(b->disk, each_file, &f);
    if (f.path[0] != '\0') {
        world_say(w, "%u: a bit rots in %s", b->id, f.path);
        fault_disk_flip(b->disk, f.path, draw(w, f.bytes), (unsigned)draw(w, 8));
        b->is_excused = true;
        w->counts.damages++;
    }
    broker_come_back(b, 1 + (int64_t)draw(w, 900));
}

static void pause(struct world *w, struct broker *b)
{
    b->paused_until_ms = w->now_ms + (int64_t)draw(w, chance(w, 30) ? 12000 : 1000);
    world_say(w, "%u is stopped until %lld", b->id, (long long)b->paused_until_ms);
}

void weather_fault(struct world *w)
{
    struct broker *b = &w->brokers[1 + draw(w, w->brokers_n)];
    uint32_t leader = w->parts[draw(w, PARTS)].key.leader;
    if (leader != 0 && chance(w, 40))
        b = &w->brokers[leader];
    switch (draw(w, 12)) {
    case 0:
    case 1:
    case 2:
        crash(w, b);
        return;
    case 3:
        if (chance(w, w->weather.crash_percent / 4))
            power(w);
        return;
    case 4:
    case 5:
        links(w, b);
        return;
    case 6:
        catalogue(w, b);
        return;
    case 7:
    case 8:
        pause(w, b);
        return;
    case 9:
        if (b->session != NULL && chance(w, 60))
            store_lease_end(w, b->session->session.id); /* early */
        else if (broker_is_up(b) && !b->is_stopping && b->paused_until_ms < w->now_ms)
            broker_stop(b);
        return;
    case 10:
        disk(w, b);
        return;
    default:
        rot(w, b);
        return;
    }
}

static void links_mend(struct world *w, struct broker *b)
{
    b->cut_from_catalogue = false;
    for (uint32_t id = 1; id <= w->brokers_n; id++)
        b->cut_to[id] = w->brokers[id].cut_to[b->id] = false;
}

void weather_undo(struct world *w, const struct item *i)
{
    struct broker *b = &w->brokers[i->broker];
    switch ((enum undo)i->number) {
    case UNDO_LINKS:
        links_mend(w, b);
        return;
    case UNDO_CATALOGUE:
        b->cut_from_catalogue = false;
        return;
    case UNDO_STORE:
        w->store.is_down = false;
        return;
    case UNDO_DISK:
        fault_disk_capacity(b->disk, UINT64_MAX);
        return;
    }
}

void weather_heal(struct world *w)
{
    world_say(w, "all is healed");
    w->is_healed = true;
    w->store.is_down = false;
    for (uint32_t id = 1; id <= w->brokers_n; id++) {
        struct broker *b = &w->brokers[id];
        links_mend(w, b);
        b->paused_until_ms = 0;
        b->sync_max_ms = 10;
        fault_disk_capacity(b->disk, UINT64_MAX);
        fault_disk_fail_never(b->disk);
        if (broker_is_up(b)) { /* who hears badly asks anew */
            struct catalog_watching watching = cluster_watching(b->cluster);
            watching.again(watching.self);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
/* Faults: what is drawn once a run, and what happens now and then. */
#include <inttypes.h>

#include "sim/replica/world.h"

void weather_draw(struct world *w)
{
    struct weather *t = &w->weather;
    bool is_mild = chance(w, 25);
    *t = (struct weather){.drop_percent = is_mild ? 1 : (unsigned)draw(w, 25),
                          .double_percent = (unsigned)draw(w, 15),
                          .slow_percent = (unsigned)draw(w, is_mild ? 3 : 30),
                          .slow_ms = 50 + (int64_t)draw(w, 6000),
                          .lost_swap_percent = (unsigned)draw(w, is_mild ? 5 : 50),
                          .fault_gap_ms = 100 + (int64_t)draw(w, is_mild ? 4000 : 1500),
                          .mistaken_percent = 3,
                          .deaf_percent = 10,
                          .news_ms = 15,
                          .crash_percent = 100,
                          .lies = chance(w, 15)};
    if (chance(w, 40)) { /* many leaders who do not know of each other */
        t->mistaken_percent = 10 + (unsigned)draw(w, 50);
        t->deaf_percent = (unsigned)draw(w, 80);
        t->news_ms = 100 + (int64_t)draw(w, 15000);
        t->crash_percent = (unsigned)draw(w, 30);
        t->lies = false;
    }
}

/* The promise is that min_isr-1 losses at a time do no harm; more are not asked for. A loss is over
 * when the member is in sync again. */
static bool may_lose(struct world *w, struct node *n)
{
    uint32_t lost = 0;
    for (size_t i = 0; i < w->nodes_n; i++) {
        struct node *other = &w->nodes[i];
        if (w->weather.lies && other->store.is_excused && !other->store.is_adopted &&
            !other->store.is_damaged && other->store.durable >= other->store.lied_end &&
            ghost_holds_all(w, other))
            other->store.is_excused = false; /* it has fetched again what it lost */
        if (other->is_rebuilding &&
            (ghost_is_good(w, other) || replica_key_find(world_key(w), other->broker) == NULL))
            other->is_rebuilding = false;
        lost += other->is_rebuilding && other != n ? 1 : 0;
    }
    if (lost + 1 >= world_key(w)->min_isr || world_key(w)->epoch == 0)
        return false;
    n->is_rebuilding = true;
    return true;
}

static void come_back(struct world *w, struct node *n)
{
    struct item item = {.type = ITEM_START, .node = (size_t)(n - w->nodes)};
    world_send(w, 1 + (int64_t)draw(w, chance(w, 30) ? 9000 : 800), &item);
}

static void fault_crash(struct world *w, struct node *n)
{
    if (n->replica == NULL || !chance(w, w->weather.crash_percent))
        return;
    bool is_power_cut = chance(w, 60);
    node_crash(w, n, is_power_cut);
    if (chance(w, 25) && may_lose(w, n)) {
        world_say(w, "%u loses its disk", n->broker);
        n->store.exists = false;
    } else if (w->weather.lies && chance(w, 40) && may_lose(w, n) &&
               n->store.end > n->store.start) {
        n->store.lied_end = n->store.end;
        n->store.end -= draw(w, n->store.end - n->store.start) / 2 + 1;
        n->store.durable = n->store.end;
        n->store.high_water = 0;
        n->store.is_excused = true;
        world_say(w, "%u lost what lay behind %" PRIu64 ", and does not know", n->broker,
                  n->store.end);
    }
    come_back(w, n);
}

static void fault_power(struct world *w)
{
    for (size_t i = 0; i < w->nodes_n; i++)
        if (w->nodes[i].replica != NULL && chance(w, 85)) {
            node_crash(w, &w->nodes[i], true);
            come_back(w, &w->nodes[i]);
        }
}

static void fault_damage(struct world *w, struct node *n)
{
    if (n->replica == NULL || !may_lose(w, n))
        return;
    world_say(w, "%u finds its log damaged", n->broker);
    n->store.is_excused = n->store.is_damaged = true;
    struct replica_event e = {.type = REPLICA_EVENT_DAMAGE};
    node_step(w, n, &e);
}

static void fault_links(struct world *w, struct node *n)
{
    unsigned how = (unsigned)draw(w, 4);
    for (size_t i = 0; i < w->nodes_n; i++) {
        n->cut_to[i] = how == 0 ? false : chance(w, how == 1 ? 100 : 50);
        if (chance(w, 50)) /* both ways */
            w->nodes[i].cut_to[n - w->nodes] = n->cut_to[i];
    }
    n->cut_from_controller = chance(w, 30);
}

static void fault_catalogue(struct world *w, struct node *n)
{
    n->cut_from_catalogue = chance(w, 60);
    struct item item = {
        .type = ITEM_SESSION_END, .node = (size_t)(n - w->nodes), .number = n->session};
    if (n->cut_from_catalogue)
        world_send(w, 1500 + (int64_t)draw(w, 8000), &item);
}

/* Its disk refuses a write: it does nothing more until it is started again. */
static void fault_disk(struct world *w, struct node *n)
{
    if (n->replica == NULL)
        return;
    world_say(w, "the disk of %u fails", n->broker);
    struct replica_event e = {.type = REPLICA_EVENT_DISK_FAILED};
    node_step(w, n, &e);
}

void weather_fault(struct world *w)
{
    uint32_t leader = world_key(w)->leader;
    struct node *n = &w->nodes[draw(w, w->nodes_n)];
    if (leader != 0 && chance(w, 30))
        n = &w->nodes[leader - 1];
    switch (draw(w, 13)) {
    case 0:
    case 1:
        fault_crash(w, n);
        return;
    case 2:
        if (chance(w, w->weather.crash_percent / 4))
            fault_power(w);
        return;
    case 3:
        if (chance(w, 40))
            fault_damage(w, n);
        return;
    case 4:
    case 5:
        fault_links(w, n);
        return;
    case 6:
        fault_catalogue(w, n);
        return;
    case 7:
        n->paused_until_ms = w->now_ms + (int64_t)draw(w, chance(w, 30) ? 12000 : 1000);
        return;
    case 8:
        if (n->is_live && n->replica != NULL)
            catalogue_session_set(w, n, false); /* early */
        return;
    case 9:
        if (chance(w, 10))
            fault_disk(w, n);
        n->sync_max_ms = chance(w, 20) ? 3000 : 5 + (int64_t)draw(w, 100);
        return;
    case 10:
        if (n->replica != NULL && n->paused_until_ms <= w->now_ms)
            node_release(w, n);
        return;
    case 11:
        control_members(w);
        return;
    default:
        w->controller_is_down = chance(w, 30);
        catalogue_hint(w, n, true);
        return;
    }
}

void weather_heal(struct world *w)
{
    w->is_healed = true;
    for (size_t i = 0; i < w->nodes_n; i++) {
        struct node *n = &w->nodes[i];
        for (size_t j = 0; j < w->nodes_n; j++)
            n->cut_to[j] = false;
        n->cut_from_catalogue = n->cut_from_controller = false;
        n->paused_until_ms = 0;
        struct replica_status status = {0};
        if (n->replica != NULL)
            replica_look(n->replica, &status);
        if (status.quarantine != REPLICA_QUARANTINE_NONE)
            node_crash(w, n, true);
        struct item item = {.type = n->replica == NULL ? ITEM_START : ITEM_REGISTER,
                            .node = i,
                            .life = n->replica == NULL ? 0 : n->life};
        world_send(w, 1, &item);
    }
}

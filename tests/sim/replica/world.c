// SPDX-License-Identifier: Apache-2.0
/* Time, chance and the network. */
#include "sim/replica/world.h"

#include <stdarg.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

uint64_t draw(struct world *w, uint64_t limit)
{
    return rng_below(&w->rng, limit);
}

bool chance(struct world *w, unsigned percent)
{
    return draw(w, 100) < percent;
}

uint64_t draw_id(struct world *w)
{
    return rng_next(&w->rng) | 1;
}

static bool is_before(const struct item *a, const struct item *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

void world_send(struct world *w, int64_t delay_ms, const struct item *item)
{
    struct item *own = mem_new(sizeof *own);
    *own = *item;
    own->at_ms = w->now_ms + delay_ms;
    own->order = w->order++;
    if (w->queue_n == w->queue_room) {
        w->queue_room = w->queue_room == 0 ? 64 : w->queue_room * 2;
        w->queue = mem_resize(w->queue, w->queue_room * sizeof *w->queue);
    }
    size_t at = w->queue_n++;
    for (; at > 0 && is_before(own, w->queue[(at - 1) / 2]); at = (at - 1) / 2)
        w->queue[at] = w->queue[(at - 1) / 2];
    w->queue[at] = own;
}

void world_say(struct world *w, const char *format, ...)
{
    if (!w->is_verbose)
        return;
    va_list args;
    va_start(args, format);
    fprintf(w->told, "%7lld ", (long long)w->now_ms);
    vfprintf(w->told, format, args);
    fputc('\n', w->told);
    va_end(args);
}

void world_break(struct world *w, const char *invariant)
{
    if (w->broken == NULL && w->ended == NULL)
        w->broken = invariant;
    world_say(w, "BROKEN: %s", invariant);
}

const struct replica_key *world_key(const struct world *w)
{
    return &w->versions[w->versions_n - 1];
}

void world_net(struct world *w, size_t from, size_t to, const struct item *item)
{
    const struct weather *t = &w->weather;
    unsigned copies = 1;
    if (w->nodes[from].cut_to[to])
        return;
    if (!w->is_healed && chance(w, t->drop_percent))
        return;
    if (!w->is_healed && chance(w, t->double_percent))
        copies = 2;
    for (; copies > 0; copies--) {
        bool is_slow = !w->is_healed && chance(w, t->slow_percent);
        int64_t delay_ms = 1 + (int64_t)draw(w, is_slow ? (uint64_t)t->slow_ms : 20);
        world_send(w, delay_ms, item);
    }
}

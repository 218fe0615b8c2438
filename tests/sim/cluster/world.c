// SPDX-License-Identifier: Apache-2.0
/* Time, chance, and what is told of them. */
#include "sim/cluster/world.h"

#include <stdarg.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"

struct world *world_now;

uint64_t draw(struct world *w, uint64_t limit)
{
    return rng_below(&w->rng, limit);
}

bool chance(struct world *w, unsigned percent)
{
    return draw(w, 100) < percent;
}

void world_stir(struct world *w, uint64_t value)
{
    w->hash = (w->hash ^ value) * UINT64_C(0x100000001b3);
}

/* ---- the queue of what comes ---- */

static bool is_before(const struct item *a, const struct item *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

struct item *item_new(enum item_type type, uint32_t broker)
{
    struct item *i = mem_new(sizeof *i);
    i->type = type;
    i->broker = broker;
    return i;
}

void item_free(struct item *i)
{
    buf_fini(&i->bytes);
    catalog_kv_fini(&i->kv);
    if (i->change != NULL)
        change_free(i->change);
    mem_free(i);
}

void world_send(struct world *w, int64_t delay_ms, struct item *i)
{
    i->at_ms = w->now_ms + delay_ms;
    i->order = w->order++;
    if (w->queue_n == w->queue_room) {
        w->queue_room = w->queue_room == 0 ? 64 : w->queue_room * 2;
        w->queue = mem_resize(w->queue, w->queue_room * sizeof w->queue[0]);
    }
    size_t at = w->queue_n++;
    for (; at > 0 && is_before(i, w->queue[(at - 1) / 2]); at = (at - 1) / 2)
        w->queue[at] = w->queue[(at - 1) / 2];
    w->queue[at] = i;
}

struct item *world_take(struct world *w)
{
    struct item *first = w->queue[0], *last = w->queue[--w->queue_n];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= w->queue_n)
            break;
        if (child + 1 < w->queue_n && is_before(w->queue[child + 1], w->queue[child]))
            child++;
        if (is_before(last, w->queue[child]))
            break;
        w->queue[at] = w->queue[child];
        at = child;
    }
    if (w->queue_n > 0)
        w->queue[at] = last;
    return first;
}

/* ---- telling ---- */

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

void world_break(struct world *w, const char *format, ...)
{
    va_list args;
    if (w->broken[0] != '\0')
        return;
    va_start(args, format);
    (void)vsnprintf(w->broken, sizeof w->broken, format, args);
    va_end(args);
    world_say(w, "BROKEN: %s", w->broken);
}

/* In the place of base/note.c: what brokers write for their operators belongs to the run. */
void note(enum note_level level, const char *room, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (world_now == NULL || !world_now->is_verbose || level == NOTE_DEBUG)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    world_say(world_now, "%u: %s: %s", world_now->running == NULL ? 0 : world_now->running->id,
              room, text);
}

/* ---- partitions ---- */

size_t world_part(const struct world *w, const struct queue_copy_id *of)
{
    if (memcmp(of->topic, w->topics[0], sizeof of->topic) == 0 && of->partition < 2)
        return of->partition;
    if (memcmp(of->topic, w->topics[1], sizeof of->topic) == 0 && of->partition == 0)
        return 2;
    return PARTS;
}

struct queue_copy_id world_part_id(const struct world *w, size_t part)
{
    struct queue_copy_id of = {.partition = part == 1 ? 1 : 0};
    memcpy(of.topic, w->topics[part == 2 ? 1 : 0], sizeof of.topic);
    return of;
}

// SPDX-License-Identifier: Apache-2.0
/* A group's numbers: finished, known by an entry, or never handed out. */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "partition/state.h"

/* Where the group is or would be. */
static size_t place(const struct partition *p, uint32_t gid)
{
    size_t low = 0, high = p->groups_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->groups[middle]->gid >= gid)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct group *group_find(const struct partition *p, uint32_t gid)
{
    size_t i = place(p, gid);
    return i < p->groups_n && p->groups[i]->gid == gid ? p->groups[i] : NULL;
}

struct group *group_add(struct partition *p, uint32_t gid)
{
    size_t i = place(p, gid);
    CHECK(i == p->groups_n || p->groups[i]->gid != gid);
    struct group *g = mem_new(sizeof *g);
    g->gid = gid;
    g->index.advanced_ms = STATE_TIME_NONE;
    group_delays_init(g, p->delays);
    p->groups = mem_resize(p->groups, (p->groups_n + 1) * sizeof(struct group *));
    memmove(&p->groups[i + 1], &p->groups[i], (p->groups_n - i) * sizeof(struct group *));
    p->groups[i] = g;
    p->groups_n++;
    return g;
}

void group_remove(struct partition *p, struct group *g)
{
    size_t i = place(p, g->gid);
    CHECK(i < p->groups_n && p->groups[i] == g);
    p->groups_n--;
    memmove(&p->groups[i], &p->groups[i + 1], (p->groups_n - i) * sizeof(struct group *));
    group_free(g);
}

void group_free(struct group *g)
{
    group_reset(g, 0);
    mem_free(g);
}

void group_note_changed(struct group *g, uint64_t number)
{
    if (g->index.changed == NULL || g->index.changed_n > GROUP_CHANGED_MAX)
        return;
    if (g->index.changed_n < GROUP_CHANGED_MAX)
        g->index.changed[g->index.changed_n] = number;
    g->index.changed_n++;
}

/* A purge says "look at all of them". */
static void note_range(struct group *g, uint64_t first, uint64_t end)
{
    if (g->index.changed == NULL)
        return;
    if (end - first > GROUP_CHANGED_MAX)
        g->index.changed_n = GROUP_CHANGED_MAX + 1;
    for (uint64_t n = first; n < end && g->index.changed_n <= GROUP_CHANGED_MAX; n++)
        group_note_changed(g, n);
}

void group_changes_seen(struct group *g)
{
    if (g->index.changed == NULL)
        g->index.changed = mem_new_array(GROUP_CHANGED_MAX, sizeof g->index.changed[0]);
    g->index.changed_n = 0;
}

static void entry_free(struct entry *e)
{
    mem_free(e->holder);
    mem_free(e);
}

void group_reset(struct group *g, uint64_t floor)
{
    for (size_t i = 0; i < g->entries.room; i++)
        if (g->entries.at[i].value != 0)
            entry_free(map_pointer(g->entries.at[i].value));
    map_fini(&g->entries);
    runs_fini(&g->finished);
    heap_fini(&g->index.waiting);
    heap_fini(&g->index.free);
    mem_free(g->index.changed);
    g->index.changed = NULL;
    order_fini(&g->index.due);
    g->index.delayed_n = g->index.due_n = 0;
    g->index.turn = 0;
    g->moving_n = 0;
    g->floor = floor;
    g->next = floor;
}

bool group_is_finished(const struct group *g, uint64_t number)
{
    return number < g->floor || runs_find(&g->finished, number) != NULL;
}

uint64_t group_unfinished_from(const struct group *g, uint64_t number)
{
    if (number < g->floor)
        number = g->floor;
    const struct run *run = runs_find(&g->finished, number);
    return run == NULL ? number : run->end;
}

/* Entries in [first, end) are dropped: by number when there are few numbers, else by entry. */
static void drop_entries(struct group *g, uint64_t first, uint64_t end)
{
    if (end - first <= g->entries.n) {
        for (uint64_t n = first; n < end; n++) {
            struct entry *e = group_entry(g, n);
            if (e != NULL)
                group_entry_drop(g, e);
        }
        return;
    }
    if (g->entries.n == 0)
        return;
    struct entry **all = group_entries(g);
    for (size_t i = 0, n = g->entries.n; i < n; i++)
        if (all[i]->number >= first && all[i]->number < end)
            group_entry_drop(g, all[i]);
    mem_free(all);
}

void group_finish(struct group *g, uint64_t first, uint64_t end)
{
    if (first < g->floor)
        first = g->floor;
    if (first >= end)
        return;
    note_range(g, first, end);
    group_delays_leave(g, first, end);
    drop_entries(g, first, end);
    if (first > g->floor) {
        runs_put(&g->finished, first, end);
    } else {
        g->floor = end;
        const struct run *run = runs_find(&g->finished, end);
        if (run != NULL)
            g->floor = run->end;
        runs_drop_below(&g->finished, g->floor);
    }
    if (g->next < g->floor)
        g->next = g->floor;
    group_delays_left(g);
}

uint64_t group_unfinished_count(const struct group *g, uint64_t from, uint64_t next_number)
{
    if (from < g->floor)
        from = g->floor;
    if (from >= next_number)
        return 0;
    uint64_t finished = from == g->floor ? g->finished.sum : runs_count_from(&g->finished, from);
    return next_number - from - finished;
}

struct entry *group_entry(const struct group *g, uint64_t number)
{
    return map_pointer(map_find(&g->entries, number));
}

static void leave_heaps(struct group *g, struct entry *e)
{
    if (!heap_holds(&e->node))
        return;
    heap_remove(e->is_free ? &g->index.free : &g->index.waiting, &e->node);
}

static void enter_waiting(struct group *g, struct entry *e)
{
    e->is_free = false;
    e->node = (struct heap_node){.key = e->until_ms, .tie = e->number};
    heap_put(&g->index.waiting, &e->node);
}

static void enter_free(struct group *g, struct entry *e)
{
    e->is_free = true;
    e->node = (struct heap_node){.key = (int64_t)e->number, .tie = e->number};
    heap_put(&g->index.free, &e->node);
    group_note_changed(g, e->number);
}

struct entry *group_entry_make(struct group *g, uint64_t number)
{
    struct entry *e = group_entry(g, number);
    if (e != NULL)
        return e;
    e = mem_new(sizeof *e);
    e->number = number;
    e->until_ms = group_delay_end(g, number);
    map_put(&g->entries, number, map_value_of(e));
    group_delays_left(g);
    enter_waiting(g, e);
    return e;
}

void group_entry_drop(struct group *g, struct entry *e)
{
    leave_heaps(g, e);
    if (e->moving)
        g->moving_n--;
    map_remove(&g->entries, e->number);
    entry_free(e);
}

void group_entry_wait(struct group *g, struct entry *e, int64_t until_ms)
{
    CHECK(!e->moving);
    leave_heaps(g, e);
    e->until_ms = until_ms;
    enter_waiting(g, e);
}

void group_entry_move(struct group *g, struct entry *e, bool moving)
{
    if (e->moving == moving)
        return;
    e->moving = moving;
    group_note_changed(g, e->number);
    if (moving) {
        leave_heaps(g, e);
        g->moving_n++;
    } else {
        g->moving_n--;
        enter_waiting(g, e);
    }
}

static int by_number(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

struct entry **group_entries(const struct group *g)
{
    struct entry **all = mem_new_array(g->entries.n + 1, sizeof(struct entry *));
    size_t n = 0;
    for (size_t i = 0; i < g->entries.room; i++)
        if (g->entries.at[i].value != 0)
            all[n++] = map_pointer(g->entries.at[i].value);
    CHECK(n == g->entries.n);
    qsort(all, n, sizeof all[0], by_number);
    return all;
}

/* A lease is held while now_ms < until_ms; the deadline itself is free. So is a due time. */
void group_advance(const struct partition *p, struct group *g, int64_t now_ms)
{
    delayed_advance(p, now_ms);
    if (now_ms > g->index.advanced_ms)
        g->index.advanced_ms = now_ms;
    for (;;) {
        struct heap_node *first = heap_first(&g->index.waiting);
        if (first == NULL || g->index.advanced_ms < first->key)
            return;
        struct entry *e = CONTAINER_OF(first, struct entry, node);
        leave_heaps(g, e);
        enter_free(g, e);
    }
}

size_t group_in_flight(const struct group *g)
{
    return g->index.waiting.n;
}

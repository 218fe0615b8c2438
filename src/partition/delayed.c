// SPDX-License-Identifier: Apache-2.0
/* What the partition's delays are to its groups. A delay stands for a number in a group as an entry
 * would, as long as the group knows nothing else of it; how many of them wait and how many are due
 * is counted, and the due ones are kept by number for the next receive. */
#include "base/check.h"
#include "base/mem.h"
#include "partition/state.h"

/* Of those that are needed no more, so many stay without being worth the work. */
enum { STALE_MAX = 64, RELEASED_MAX = 64 };

bool group_has_delay(const struct group *g, const struct delay *delay)
{
    return (!delay_is_released(delay) || delay->number < g->next) &&
           group_entry(g, delay->number) == NULL && !group_is_finished(g, delay->number);
}

const struct delay *group_delay(const struct group *g, uint64_t number)
{
    if (g->delays->n == 0)
        return NULL;
    const struct delay *delay = delays_find(g->delays, number);
    return delay != NULL && group_has_delay(g, delay) ? delay : NULL;
}

bool group_knows(const struct group *g, uint64_t number)
{
    return group_entry(g, number) != NULL || group_delay(g, number) != NULL;
}

/* Delays that are not released are passed over as they lie side by side: whatever else is known of
 * such a number, it does not come in its turn. */
uint64_t group_unknown_from(const struct group *g, uint64_t number)
{
    const struct delays *d = g->delays;
    for (;;) {
        number = group_unfinished_from(g, number);
        size_t i = delays_from(d, number);
        for (; i < d->n && d->at[i].number == number && !delay_is_released(&d->at[i]); i++)
            number++;
        if (!group_is_finished(g, number) && !group_knows(g, number))
            return number;
        number++;
    }
}

uint64_t group_turn(struct group *g)
{
    uint64_t from = g->index.turn > g->next ? g->index.turn : g->next;
    g->index.turn = group_unknown_from(g, from);
    return g->index.turn;
}

/* ---- the due ones, by number ---- */

static bool is_below(const void *of, uint64_t a, uint64_t b)
{
    (void)of;
    return a < b;
}

void group_delays_init(struct group *g, struct delays *delays)
{
    g->delays = delays;
    order_init(&g->index.due, is_below, NULL);
}

/* Numbers whose delay no longer stands for them are passed over at the top, and taken out together
 * when they are the most. */
static void drop_stale(struct group *g)
{
    struct order *due = &g->index.due;
    if (due->n <= 2 * g->index.due_n + STALE_MAX)
        return;
    size_t n = due->n;
    due->n = 0;
    for (size_t i = 0; i < n; i++)
        if (group_delay(g, due->at[i]) != NULL)
            due->at[due->n++] = due->at[i];
    order_settle(due);
}

bool group_due_first(struct group *g, uint64_t *number)
{
    while (g->index.due.n > 0) {
        *number = order_first(&g->index.due);
        if (group_delay(g, *number) != NULL)
            return true;
        order_take(&g->index.due);
    }
    return false;
}

/* ---- coming and going ---- */

static void enter(struct group *g, const struct delay *delay)
{
    if (!delays_are_due(g->delays, delay)) {
        g->index.delayed_n++;
        return;
    }
    g->index.due_n++;
    order_put(&g->index.due, delay->number);
    group_note_changed(g, delay->number);
}

static void leave(struct group *g, const struct delay *delay)
{
    size_t *n = delays_are_due(g->delays, delay) ? &g->index.due_n : &g->index.delayed_n;
    CHECK(*n > 0);
    (*n)--;
}

int64_t group_delay_end(struct group *g, uint64_t number)
{
    const struct delay *delay = group_delay(g, number);
    if (delay == NULL)
        return 0;
    leave(g, delay);
    return delay->due_ms;
}

void group_delays_leave(struct group *g, uint64_t first, uint64_t end)
{
    const struct delays *d = g->delays;
    for (size_t i = delays_from(d, first); i < d->n && d->at[i].number < end; i++)
        if (group_has_delay(g, &d->at[i]))
            leave(g, &d->at[i]);
}

void group_delays_left(struct group *g)
{
    drop_stale(g);
}

void group_delays_count(struct group *g)
{
    const struct delays *d = g->delays;
    order_fini(&g->index.due);
    g->index.due_n = g->index.delayed_n = 0;
    for (size_t i = delays_from(d, g->floor); i < d->n; i++)
        if (group_has_delay(g, &d->at[i]))
            enter(g, &d->at[i]);
}

/* ---- the partition ---- */

void delayed_add(struct partition *p, uint64_t number, int64_t due_ms)
{
    int64_t release_ms = due_ms > p->due_tail_ms ? due_ms : p->due_tail_ms;
    const struct delay *delay = delays_put(p->delays, number, due_ms, release_ms);
    for (size_t i = 0; i < p->groups_n; i++)
        if (group_has_delay(p->groups[i], delay))
            enter(p->groups[i], delay);
}

static void become_due(const struct partition *p, const struct delay *delay)
{
    for (size_t i = 0; i < p->groups_n; i++) {
        struct group *g = p->groups[i];
        if (!group_has_delay(g, delay))
            continue;
        CHECK(g->index.delayed_n > 0);
        g->index.delayed_n--;
        enter(g, delay);
    }
}

void delayed_advance(const struct partition *p, int64_t now_ms)
{
    const struct delay *delay;
    while ((delay = delays_next_due(p->delays, now_ms)) != NULL)
        become_due(p, delay);
}

/* A group whose cursor has yet to pass it will find it, and find it due. To one that has passed it,
 * the delay is all that is known of it. */
static void release(struct partition *p, const struct delay *delay)
{
    for (size_t i = 0; i < p->groups_n; i++) {
        struct group *g = p->groups[i];
        if (delay->number < g->next || !group_has_delay(g, delay))
            continue;
        leave(g, delay);
        if (delay->number < g->index.turn)
            g->index.turn = delay->number;
    }
    delays_release(p->delays);
}

static bool is_needed(const void *of, const struct delay *delay)
{
    const struct partition *p = of;
    for (size_t i = 0; i < p->groups_n; i++)
        if (group_has_delay(p->groups[i], delay))
            return true;
    return false;
}

/* Sweeping costs as much as there are delays. It is worth it when it takes out a quarter of them;
 * of the released ones no more are needed than are due in some group. */
static void sweep(struct partition *p)
{
    const struct delays *d = p->delays;
    size_t kept = RELEASED_MAX + d->n / 4;
    for (size_t i = 0; i < p->groups_n && d->released_n > kept; i++)
        kept += p->groups[i]->index.due_n;
    if (d->released_n > kept)
        delays_sweep(p->delays, is_needed, p);
}

void delayed_time_known(struct partition *p)
{
    const struct delay *delay;
    size_t before_n = p->delays->released_n;
    delayed_advance(p, p->known_ms);
    while ((delay = delays_releasable(p->delays, p->known_ms)) != NULL)
        release(p, delay);
    for (size_t i = 0; i < p->groups_n && p->delays->released_n > before_n; i++)
        drop_stale(p->groups[i]);
    sweep(p);
}

// SPDX-License-Identifier: Apache-2.0
#include "partition/look.h"

#include "base/check.h"
#include "base/mem.h"
#include "partition/state.h"

static void look_at_entry(const struct partition_view *view, const struct entry *e,
                          struct partition_look *out)
{
    out->receive_count = e->receives;
    out->first_received_wall_ms = e->receives > 0 ? e->first_received_wall_ms : 0;
    if (e->moving) {
        out->state = PARTITION_MOVING;
    } else if (view->now_ms < e->until_ms) {
        out->state = PARTITION_LEASED;
        out->until_ms = e->until_ms;
    }
    if (out->state == PARTITION_LEASED && e->holder_bytes > 0) {
        CHECK(e->holder_bytes <= sizeof out->holder);
        out->holder_bytes = e->holder_bytes;
        memcpy(out->holder, e->holder, e->holder_bytes);
    }
}

/* Of an unfinished number, of which there is an entry, or a delay, or neither. Whether it waits is
 * asked by its time and not by its heap, so that a look does not depend on when the index was last
 * advanced. */
static void look_at(const struct partition_view *view, const struct entry *e,
                    const struct delay *delay, uint64_t number, struct partition_look *out)
{
    memset(out, 0, sizeof *out);
    out->number = number;
    out->state = PARTITION_READY;
    out->due_unknown = e == NULL && delay == NULL;
    if (e != NULL)
        look_at_entry(view, e, out);
    else if (delay != NULL && view->now_ms < delay->due_ms) {
        out->state = PARTITION_DELAYED;
        out->until_ms = delay->due_ms;
    }
}

static void look_at_number(const struct group *g, const struct partition_view *view,
                           uint64_t number, struct partition_look *out)
{
    const struct entry *e = group_entry(g, number);
    look_at(view, e, e == NULL ? group_delay(g, number) : NULL, number, out);
}

enum err partition_look_one(const struct partition *p, const struct partition_view *view,
                            uint32_t gid, uint64_t number, struct partition_look *out)
{
    const struct group *g = group_find(p, gid);
    if (g == NULL || number >= p->next_number)
        return ERR_NOT_FOUND;
    if (group_is_finished(g, number))
        *out = (struct partition_look){.number = number, .state = PARTITION_FINISHED};
    else
        look_at_number(g, view, number, out);
    return ERR_OK;
}

bool partition_look_settle(struct partition_look *look, const struct partition_view *view,
                           const struct record_message *m)
{
    if (look->due_unknown && view->now_ms < m->due_ms) {
        look->state = PARTITION_DELAYED;
        look->until_ms = m->due_ms;
    }
    look->due_unknown = false;
    return view->now_ms - m->accepted_ms < view->retention_ms;
}

static bool is_asked_for(const struct partition_looking *l, const struct partition_look *look)
{
    if (l->states & look->state)
        return true;
    return look->due_unknown && (l->states & PARTITION_DELAYED);
}

/* ---- those that are known, when no others can match ---- */

static bool comes_before(const struct partition_looking *l, uint64_t a, uint64_t b)
{
    return l->downward ? a > b : a < b;
}

static bool lies_ahead(const struct partition_looking *l, const struct partition_view *view,
                       uint64_t number)
{
    if (number >= view->committed_number)
        return false;
    return l->downward ? number < l->place : number >= l->place;
}

/* The first of those that were met, in order. */
struct firsts {
    struct partition_look *at;
    size_t n;
    size_t room;
    bool more; /* others came behind them */
};

static bool has_place(const struct partition_looking *l, struct firsts *f, uint64_t number)
{
    if (f->n < f->room || comes_before(l, number, f->at[f->n - 1].number))
        return true;
    f->more = true;
    return false;
}

static void take_place(const struct partition_looking *l, struct firsts *f,
                       const struct partition_look *look)
{
    if (!is_asked_for(l, look))
        return;
    if (f->n == f->room) {
        f->more = true;
        f->n--;
    }
    size_t to = f->n;
    for (; to > 0 && comes_before(l, look->number, f->at[to - 1].number); to--)
        f->at[to] = f->at[to - 1];
    f->at[to] = *look;
    f->n++;
}

/* The first `room` of them, without sorting all. */
static size_t look_at_known(const struct group *g, const struct partition_view *view,
                            struct partition_looking *l, struct partition_look *out, size_t room)
{
    struct firsts f = {out, 0, room, false};
    struct partition_look look;
    for (size_t i = 0; i < g->entries.room; i++) {
        const struct map_slot *slot = &g->entries.at[i];
        if (slot->value == 0 || !lies_ahead(l, view, slot->key) || !has_place(l, &f, slot->key))
            continue;
        look_at(view, map_pointer(slot->value), NULL, slot->key, &look);
        take_place(l, &f, &look);
    }
    const struct delays *d = g->delays;
    for (size_t i = 0; i < d->n && (l->states & PARTITION_DELAYED); i++) {
        const struct delay *delay = &d->at[l->downward ? d->n - 1 - i : i];
        if (!lies_ahead(l, view, delay->number) || !group_has_delay(g, delay))
            continue;
        if (!has_place(l, &f, delay->number))
            break; /* nor has any that follows */
        look_at(view, NULL, delay, delay->number, &look);
        take_place(l, &f, &look);
    }
    l->end = !f.more;
    if (f.n > 0)
        l->place = out[f.n - 1].number + (l->downward ? 0 : 1);
    return f.n;
}

/* ---- one by one ---- */

/* The unfinished number that comes next, if there is one. */
static bool next_unfinished(const struct group *g, const struct partition_view *view,
                            const struct partition_looking *l, uint64_t *number)
{
    if (!l->downward) {
        *number = group_unfinished_from(g, l->place);
        return *number < view->committed_number;
    }
    uint64_t below = l->place < view->committed_number ? l->place : view->committed_number;
    if (below <= g->floor)
        return false;
    const struct run *run = runs_find(&g->finished, below - 1);
    *number = run == NULL ? below - 1 : run->first - 1; /* runs never touch the floor */
    return true;
}

static size_t look_at_all(const struct group *g, const struct partition_view *view,
                          struct partition_looking *l, struct partition_look *out, size_t room)
{
    size_t n = 0;
    for (size_t walked = 0;; walked++) {
        uint64_t number;
        l->end = !next_unfinished(g, view, l, &number);
        if (l->end || n == room || walked == PARTITION_LOOK_WALK_MAX)
            return n;
        look_at_number(g, view, number, &out[n]);
        n += is_asked_for(l, &out[n]);
        l->place = number + (l->downward ? 0 : 1);
    }
}

size_t partition_look_on(const struct partition *p, const struct partition_view *view,
                         struct partition_looking *l, struct partition_look *out, size_t room)
{
    CHECK(room > 0 && view->committed_number <= p->next_number);
    const struct group *g = group_find(p, l->gid);
    if (g == NULL || l->end) {
        l->end = true;
        return 0;
    }
    /* What is not known is ready, or has a default delay that is still to end. */
    bool others =
        (l->states & PARTITION_READY) ||
        ((l->states & PARTITION_DELAYED) && partition_default_delay_pending(p, view->now_ms));
    return others ? look_at_all(g, view, l, out, room) : look_at_known(g, view, l, out, room);
}

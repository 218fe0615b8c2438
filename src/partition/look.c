// SPDX-License-Identifier: Apache-2.0
#include "partition/look.h"

#include "base/check.h"
#include "base/mem.h"
#include "partition/state.h"

/* Of an unfinished number. Whether an entry waits is asked by its time and not by its heap, so that
 * a look does not depend on when the index was last advanced. */
static void look_at(const struct partition_view *view, const struct entry *e, uint64_t number,
                    struct partition_look *out)
{
    memset(out, 0, sizeof *out);
    out->number = number;
    out->state = PARTITION_READY;
    out->due_unknown = e == NULL;
    if (e == NULL)
        return;
    out->receive_count = e->receives;
    out->first_received_wall_ms = e->receives > 0 ? e->first_received_wall_ms : 0;
    if (e->moving) {
        out->state = PARTITION_MOVING;
    } else if (view->now_ms < e->until_ms) {
        out->state = e->delayed ? PARTITION_DELAYED : PARTITION_LEASED;
        out->until_ms = e->until_ms;
    }
    if (out->state == PARTITION_LEASED && e->holder_bytes > 0) {
        CHECK(e->holder_bytes <= sizeof out->holder);
        out->holder_bytes = e->holder_bytes;
        memcpy(out->holder, e->holder, e->holder_bytes);
    }
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
        look_at(view, group_entry(g, number), number, out);
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

/* ---- those with an entry, when no others can match ---- */

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

/* The first `room` of them in order, without sorting all. */
static size_t look_at_entries(const struct group *g, const struct partition_view *view,
                              struct partition_looking *l, struct partition_look *out, size_t room)
{
    size_t n = 0;
    bool more = false;
    for (size_t i = 0; i < g->entries.room; i++) {
        const struct map_slot *slot = &g->entries.at[i];
        struct partition_look look;
        if (slot->value == 0 || !lies_ahead(l, view, slot->key))
            continue;
        if (n == room && !comes_before(l, slot->key, out[n - 1].number)) {
            more = true;
            continue;
        }
        look_at(view, map_pointer(slot->value), slot->key, &look);
        if (!is_asked_for(l, &look))
            continue;
        if (n == room) {
            more = true;
            n--;
        }
        size_t to = n;
        for (; to > 0 && comes_before(l, look.number, out[to - 1].number); to--)
            out[to] = out[to - 1];
        out[to] = look;
        n++;
    }
    l->end = !more;
    if (n > 0)
        l->place = out[n - 1].number + (l->downward ? 0 : 1);
    return n;
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
        look_at(view, group_entry(g, number), number, &out[n]);
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
    /* Without an entry a message is ready, or has a default delay that is still to end. */
    bool others =
        (l->states & PARTITION_READY) ||
        ((l->states & PARTITION_DELAYED) && partition_default_delay_pending(p, view->now_ms));
    return others ? look_at_all(g, view, l, out, room) : look_at_entries(g, view, l, out, room);
}

// SPDX-License-Identifier: Apache-2.0
/* The FIFO order (SQS developer guide, "FIFO queue delivery logic"): within a message group in
 * order; a message waits while an earlier one of its group is in flight or not due; one group gives
 * as many as it can before the next one is asked. Groups that were served go behind those that
 * wait; a new one too, so that none waits for ever. Those that came or were served together are
 * asked in the order of their oldest message. */
#include "partition/plan_receive.h"

#include "base/check.h"
#include "base/mem.h"

/* Why the walk along a message group's chain ended. */
enum stop {
    STOP_BLOCKED, /* nothing more until one of its numbers changes or a message is put */
    STOP_NOT_DUE, /* nothing more until a time */
    STOP_SOON,    /* this receive, or what is committed, ended first */
};

/* `*due_ms` is set with STOP_NOT_DUE. */
static enum stop walk_message_group(struct receive *r, uint64_t place, int64_t *due_ms)
{
    while (place != 0) {
        const struct window_slot *slot = window_slot(r->w, place);
        const struct partition_header *h = &slot->header;
        place = slot->next;
        if (r->is_full || h->number >= r->view->committed_number)
            return STOP_SOON;
        const struct entry *e = group_entry(r->g, h->number);
        /* A message on its way to another topic has left the group: those behind it are free. */
        if (group_is_finished(r->g, h->number) || (e != NULL && e->moving))
            continue;
        if (h->due_ms > r->view->now_ms) {
            *due_ms = h->due_ms;
            return STOP_NOT_DUE;
        }
        if (e != NULL && !e->is_free)
            return STOP_BLOCKED;
        enum verdict verdict = receive_offer(r, h, e);
        if (verdict == VERDICT_FULL || verdict == VERDICT_LATER)
            return STOP_SOON;
    }
    return STOP_BLOCKED;
}

/* Message groups of which a number has changed are ready again; all of them, when the changes are
 * not known. */
static void take_changes(struct partition_window *w, struct group *g, int64_t retention_ms)
{
    if (g->index.changed == NULL || g->index.changed_n > GROUP_CHANGED_MAX ||
        retention_ms != w->retention_ms) {
        for (size_t i = 0; i < w->groups.room; i++)
            if (w->groups.at[i].value != 0)
                window_group_ready(w, map_pointer(w->groups.at[i].value));
        w->retention_ms = retention_ms;
    } else {
        for (size_t i = 0; i < g->index.changed_n; i++) {
            uint64_t place = window_place(w, g->index.changed[i]);
            if (place < w->end_place && window_slot(w, place)->header.number == g->index.changed[i])
                window_group_ready(w, window_slot(w, place)->group);
        }
    }
    group_changes_seen(g);
}

static void take_due(struct partition_window *w, int64_t now_ms)
{
    struct heap_node *first;
    while ((first = heap_first(&w->not_due)) != NULL && first->key <= now_ms)
        window_group_ready(w, CONTAINER_OF(first, struct window_group, node));
}

/* The ready message group that has waited longest; or NULL. */
static struct window_group *first_ready(const struct receive *r)
{
    struct heap *ready = &r->w->ready;
    struct heap_node *first;
    while ((first = heap_first(ready)) != NULL) {
        struct window_group *group = CONTAINER_OF(first, struct window_group, node);
        while (group->head != 0 &&
               group_is_finished(r->g, window_slot(r->w, group->head)->header.number))
            group->head = window_slot(r->w, group->head)->next;
        if (group->head == 0)
            heap_remove(ready, first);
        else if (first->tie == group->head)
            return group;
        else
            window_group_moved(r->w, group);
    }
    return NULL;
}

/* Each ready message group is walked once. Those that gave something stay ready: whether it will
 * be leased is up to the caller. */
static void walk(struct receive *r)
{
    struct partition_window *w = r->w;
    struct window_group **again = NULL;
    size_t again_n = 0, again_room = 0;
    take_changes(w, r->g, r->view->retention_ms);
    take_due(w, r->view->now_ms);
    w->turn += !r->count_only;
    while (!r->is_full) {
        struct window_group *group = first_ready(r);
        if (group == NULL)
            break;
        heap_remove(&w->ready, &group->node);
        size_t taken = receive_taken(r);
        int64_t due_ms = 0;
        enum stop stop = walk_message_group(r, group->head, &due_ms);
        if (receive_taken(r) > taken && !r->count_only)
            group->turn = w->turn;
        if (stop == STOP_SOON || receive_taken(r) > taken) {
            if (again_n == again_room) {
                again_room = again_room == 0 ? 16 : again_room * 2;
                again = mem_resize(again, again_room * sizeof(struct window_group *));
            }
            again[again_n++] = group;
        } else if (stop == STOP_NOT_DUE) {
            group->waits = true;
            group->node = (struct heap_node){.key = due_ms, .tie = group->hash};
            heap_put(&w->not_due, &group->node);
        }
    }
    for (size_t i = 0; i < again_n; i++)
        window_group_ready(w, again[i]);
    mem_free(again);
}

/* Older headers are read only when the window gives nothing: a receive may bring fewer than it
 * could, but must not read a whole backlog to fill its last place. */
enum err receive_fifo(struct receive *r)
{
    struct partition_window *w = r->w;
    window_reach(w, r->g->floor);
    partition_window_drop_below(w, r->g->floor);
    if (window_is_full(w))
        window_sweep(w, r->g);
    walk(r);
    uint64_t need = group_unfinished_from(r->g, partition_window_end(w));
    if (r->out->picks_n > 0 || r->out->moves_n == PARTITION_MOVES_MAX ||
        need >= r->view->committed_number || window_is_full(w))
        return ERR_OK;
    if (need > partition_window_end(w))
        partition_window_skip(w, need);
    r->need = need;
    return ERR_NEED;
}

/* ---- how many long polls to wake ---- */

static size_t deliverable_in_order(const struct receive *r, size_t limit)
{
    size_t n = r->g->index.free.n + r->g->index.due_n;
    uint64_t number = group_turn(r->g);
    for (; n < limit; number = group_unknown_from(r->g, number + 1)) {
        if (number >= r->view->committed_number)
            break;
        const struct partition_header *h = window_header(r->w, number);
        if (h == NULL)
            return limit; /* unknown: all that follow may be deliverable */
        if (h->due_ms > r->view->now_ms)
            break;
        n++;
    }
    return n < limit ? n : limit;
}

/* FIFO: what a receive of `limit` messages would take. */
static size_t deliverable_fifo(struct receive *r, size_t limit)
{
    struct partition_window *w = r->w;
    if (r->g->floor < w->first || r->g->floor > w->end)
        return limit;
    r->count_only = true;
    r->max = limit;
    r->is_full = limit == 0;
    walk(r);
    return w->end < r->view->committed_number ? limit : r->counted;
}

size_t partition_deliverable(const struct partition *p, const struct partition_view *view,
                             struct partition_window *w, uint32_t gid, size_t limit)
{
    struct receive r = {.p = p, .view = view, .w = w, .g = group_find(p, gid)};
    if (r.g == NULL)
        return 0;
    group_advance(p, r.g, view->now_ms);
    window_bind(w, r.g);
    return view->fifo ? deliverable_fifo(&r, limit) : deliverable_in_order(&r, limit);
}

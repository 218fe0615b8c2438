// SPDX-License-Identifier: Apache-2.0
/* The FIFO order (SQS developer guide, "FIFO queue delivery logic"): within a message group in
 * order; a message waits while an earlier one of its group is in flight or not due; one group gives
 * as many as it can before the next one is asked. Groups are asked in the order of their oldest
 * message. */
#include "partition/plan_receive.h"

#include "base/check.h"

/* A message group whose oldest message in the window is at `place`: follows its chain until
 * something blocks it. */
static void walk_message_group(struct receive *r, uint64_t place)
{
    while (place != 0 && !r->is_full) {
        const struct window_slot *slot = window_slot(r->w, place);
        const struct partition_header *h = &slot->header;
        place = slot->next;
        if (h->number >= r->view->committed_number)
            return;
        const struct entry *e = group_entry(r->g, h->number);
        /* A message on its way to another topic has left the group: those behind it are free. */
        if (group_is_finished(r->g, h->number) || (e != NULL && e->moving))
            continue;
        if (h->due_ms > r->view->now_ms)
            return;
        if (e != NULL && !e->is_free)
            return;
        enum verdict verdict = receive_offer(r, h, e);
        if (verdict == VERDICT_FULL || verdict == VERDICT_LATER)
            return;
    }
}

/* Each message group is walked once, when its oldest unfinished message is met; a message without a
 * group is one by itself. */
static void walk(struct receive *r)
{
    struct partition_window *w = r->w;
    uint64_t mark = ++w->walks;
    for (uint64_t place = w->first_place; place < w->end_place && !r->is_full; place++) {
        struct window_slot *slot = window_slot(w, place);
        if (slot->header.number >= r->view->committed_number)
            return;
        if ((slot->group != NULL && slot->group->mark == mark) ||
            group_is_finished(r->g, slot->header.number))
            continue;
        if (slot->group != NULL)
            slot->group->mark = mark;
        walk_message_group(r, place);
    }
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
    size_t n = r->g->index.free.n;
    uint64_t number = r->g->next;
    while (n < limit) {
        number = group_unfinished_from(r->g, number);
        if (number >= r->view->committed_number)
            break;
        if (group_entry(r->g, number) == NULL) {
            const struct partition_header *h = window_header(r->w, number);
            if (h == NULL)
                return limit; /* unknown: all that follow may be deliverable */
            if (h->due_ms > r->view->now_ms)
                break;
            n++;
        }
        number++;
    }
    return n < limit ? n : limit;
}

/* FIFO: what a receive without end would take. */
static size_t deliverable_fifo(struct receive *r, size_t limit)
{
    struct partition_window *w = r->w;
    if (r->g->floor < w->first || r->g->floor > w->end)
        return limit;
    uint64_t mark = ++w->walks;
    size_t n = 0;
    for (uint64_t place = w->first_place; place < w->end_place && n < limit; place++) {
        struct window_slot *slot = window_slot(w, place);
        const struct partition_header *h = &slot->header;
        if (h->number >= r->view->committed_number)
            return n;
        const struct entry *e = group_entry(r->g, h->number);
        if (group_is_finished(r->g, h->number) || (e != NULL && e->moving) ||
            (slot->group != NULL && slot->group->mark == mark))
            continue;
        if (h->due_ms <= r->view->now_ms && (e == NULL || e->is_free))
            n++;
        else if (slot->group != NULL)
            slot->group->mark = mark;
    }
    return w->end < r->view->committed_number ? limit : n;
}

size_t partition_deliverable(const struct partition *p, const struct partition_view *view,
                             struct partition_window *w, uint32_t gid, size_t limit)
{
    struct receive r = {.p = p, .view = view, .w = w, .g = group_find(p, gid)};
    if (r.g == NULL)
        return 0;
    group_advance(r.g, view->now_ms);
    window_bind(w, r.g);
    return view->fifo ? deliverable_fifo(&r, limit) : deliverable_in_order(&r, limit);
}

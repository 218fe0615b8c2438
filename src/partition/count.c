// SPDX-License-Identifier: Apache-2.0
/* Looking: counters, the next event, leases. */
#include <stdlib.h>

#include "base/mem.h"
#include "partition/state.h"
#include "partition/window_state.h"

/* Messages delayed in order: at or after due_next, and nothing else is known of them. */
static uint64_t delayed_in_order(const struct partition *p, const struct group *g,
                                 uint64_t due_next)
{
    uint64_t count = group_unfinished_count(g, due_next, p->next_number);
    if (count == 0)
        return 0;
    for (size_t i = 0; i < g->entries.room; i++)
        if (g->entries.at[i].value != 0 && g->entries.at[i].key >= due_next)
            count--;
    for (size_t i = delays_from(g->delays, due_next); i < g->delays->n; i++)
        count -= group_has_delay(g, &g->delays->at[i]);
    return count;
}

enum err partition_count(const struct partition *p, const struct partition_view *view, uint32_t gid,
                         uint64_t due_next, struct partition_counters *out)
{
    struct group *g = group_find(p, gid);
    if (g == NULL)
        return ERR_NOT_FOUND;
    group_advance(p, g, view->now_ms);
    struct partition_counters c = {
        .in_flight = group_in_flight(g),
        .delayed = g->index.delayed_n + delayed_in_order(p, g, due_next),
        .unfinished = group_unfinished_count(g, g->floor, p->next_number),
        .moving = g->moving_n,
    };
    c.visible = c.unfinished - c.delayed - c.in_flight - c.moving;
    CHECK(c.visible <= c.unfinished);
    *out = c;
    return ERR_OK;
}

bool partition_default_delay_pending(const struct partition *p, int64_t now_ms)
{
    return p->due_tail_ms > now_ms;
}

int64_t partition_next_event_ms(const struct partition *p, const struct partition_view *view,
                                const struct partition_window *w, uint32_t gid)
{
    struct group *g = group_find(p, gid);
    if (g == NULL)
        return INT64_MAX;
    group_advance(p, g, view->now_ms);
    const struct heap_node *first = heap_first(&g->index.waiting);
    int64_t event_ms = first == NULL ? INT64_MAX : first->key;
    int64_t delay_ms = g->index.delayed_n == 0 ? INT64_MAX : delays_next_due_ms(p->delays);
    event_ms = delay_ms < event_ms ? delay_ms : event_ms;
    if (!partition_default_delay_pending(p, view->now_ms))
        return event_ms;
    /* Until the header is seen, looking again within a second costs little. */
    int64_t due_ms = view->now_ms + 1000 < p->due_tail_ms ? view->now_ms + 1000 : p->due_tail_ms;
    uint64_t number, need;
    if (w->bound && w->gid == gid && w->generation == g->generation &&
        window_due_search(w, p, g, view->now_ms, &number, &need) == ERR_OK) {
        const struct partition_header *h = window_header(w, number);
        due_ms = h == NULL ? INT64_MAX : h->due_ms;
    }
    return due_ms < event_ms ? due_ms : event_ms;
}

static int by_number(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

size_t partition_leases(const struct partition *p, uint32_t gid, int64_t now_ms, uint64_t from,
                        struct partition_lease_info *out, size_t room)
{
    struct group *g = group_find(p, gid);
    if (g == NULL)
        return 0;
    group_advance(p, g, now_ms);
    const struct entry **held = mem_new_array(g->index.waiting.n + 1, sizeof(struct entry *));
    size_t n = 0;
    for (size_t i = 0; i < g->index.waiting.n; i++) {
        const struct entry *e = CONTAINER_OF(g->index.waiting.at[i], struct entry, node);
        if (e->number >= from)
            held[n++] = e;
    }
    qsort(held, n, sizeof held[0], by_number);
    if (n > room)
        n = room;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct partition_lease_info){
            .number = held[i]->number,
            .receive_count = held[i]->receives,
            .until_ms = held[i]->until_ms,
            .leased_since_ms = held[i]->leased_since_ms,
            .holder = {held[i]->holder, held[i]->holder_bytes},
        };
    mem_free(held);
    return n;
}

// SPDX-License-Identifier: Apache-2.0
#include "partition/window.h"

#include "base/check.h"
#include "base/mem.h"
#include "partition/state.h"
#include "partition/window_state.h"

enum { ROOM_MIN = 64 };

struct partition_header partition_header_of(uint64_t number, const struct record_message *m)
{
    return (struct partition_header){
        .number = number,
        .group_hash = le_load_u64(m->group_hash.at),
        .due_ms = m->due_ms,
        .accepted_ms = m->accepted_ms,
        .body_bytes = (uint32_t)m->body.n,
        .receive_count = m->receive_count,
        .message_bytes = record_message_bytes(m),
        .delay_is_default = m->delay_is_default || m->moved,
    };
}

struct partition_window *partition_window_new(void)
{
    struct partition_window *w = mem_new(sizeof *w);
    w->first_place = w->end_place = 1;
    return w;
}

static void forget_slots(struct partition_window *w)
{
    for (size_t i = 0; i < w->groups.room; i++)
        if (w->groups.at[i].value != 0)
            mem_free(map_pointer(w->groups.at[i].value));
    map_fini(&w->groups);
    heap_fini(&w->ready);
    heap_fini(&w->not_due);
    mem_free(w->ring);
    w->ring = NULL;
    w->room = 0;
    w->first_place = w->end_place = 1;
}

static void forget_singles(struct partition_window *w)
{
    mem_free(w->singles);
    w->singles = NULL;
    w->singles_put = 0;
    map_fini(&w->singles_at);
}

void partition_window_free(struct partition_window *w)
{
    if (w == NULL)
        return;
    forget_slots(w);
    forget_singles(w);
    fair_forget(w);
    mem_free(w);
}

uint64_t partition_window_first(const struct partition_window *w)
{
    return w->first;
}

uint64_t partition_window_end(const struct partition_window *w)
{
    return w->end;
}

struct window_slot *window_slot(const struct partition_window *w, uint64_t place)
{
    CHECK(place >= w->first_place && place < w->end_place);
    return &w->ring[place & (w->room - 1)];
}

bool window_is_full(const struct partition_window *w)
{
    return w->end_place - w->first_place >= PARTITION_WINDOW_MAX;
}

static void set_room(struct partition_window *w, size_t room)
{
    struct window_slot *ring = mem_new_array(room, sizeof ring[0]);
    for (uint64_t place = w->first_place; place < w->end_place; place++)
        ring[place & (room - 1)] = *window_slot(w, place);
    mem_free(w->ring);
    w->ring = ring;
    w->room = room;
}

static void leave_heaps(struct partition_window *w, struct window_group *group)
{
    if (heap_holds(&group->node))
        heap_remove(group->waits ? &w->not_due : &w->ready, &group->node);
}

void window_group_ready(struct partition_window *w, struct window_group *group)
{
    if (heap_holds(&group->node) && !group->waits)
        return;
    leave_heaps(w, group);
    group->waits = false;
    group->node = (struct heap_node){.key = group->turn, .tie = group->head};
    heap_put(&w->ready, &group->node);
}

void window_group_moved(struct partition_window *w, struct window_group *group)
{
    leave_heaps(w, group);
    window_group_ready(w, group);
}

static void join_group(struct partition_window *w, uint64_t place)
{
    struct window_slot *slot = window_slot(w, place);
    slot->next = 0;
    struct window_group *group = map_pointer(map_find(&w->groups, slot->header.group_hash));
    if (group == NULL) {
        group = mem_new(sizeof *group);
        group->hash = slot->header.group_hash;
        group->turn = w->turn;
        map_put(&w->groups, group->hash, map_value_of(group));
    } else {
        window_slot(w, group->last)->next = place;
    }
    if (group->head == 0)
        group->head = place;
    group->last = place;
    group->slots++;
    slot->group = group;
    if (!heap_holds(&group->node))
        window_group_ready(w, group);
}

bool partition_window_put(struct partition_window *w, const struct partition_header *h)
{
    CHECK(h->number == w->end);
    if (window_is_full(w))
        return false;
    if (w->end_place - w->first_place == w->room)
        set_room(w, w->room == 0 ? ROOM_MIN : w->room * 2);
    uint64_t place = w->end_place++;
    window_slot(w, place)->header = *h;
    join_group(w, place);
    w->end++;
    return true;
}

static void put_single(struct partition_window *w, const struct partition_header *h)
{
    uint64_t known = map_find(&w->singles_at, h->number);
    if (known != 0) {
        w->singles[known - 1] = *h;
        return;
    }
    if (w->singles == NULL)
        w->singles = mem_new_array(PARTITION_WINDOW_SINGLES_MAX, sizeof w->singles[0]);
    uint64_t place = w->singles_put++ % PARTITION_WINDOW_SINGLES_MAX;
    if (w->singles_put > PARTITION_WINDOW_SINGLES_MAX)
        map_remove(&w->singles_at, w->singles[place].number);
    w->singles[place] = *h;
    map_put(&w->singles_at, h->number, place + 1);
}

bool partition_window_take(struct partition_window *w, const struct partition_header *h)
{
    if (h->number == w->end)
        return partition_window_put(w, h);
    if (partition_window_find(w, h->number) == NULL)
        put_single(w, h);
    return false;
}

void partition_window_skip(struct partition_window *w, uint64_t number)
{
    CHECK(number >= w->end);
    w->end = number;
}

void partition_window_reset(struct partition_window *w, uint64_t number)
{
    forget_slots(w);
    w->first = w->end = number;
    w->swept_at = 0;
}

static void drop_first(struct partition_window *w)
{
    const struct window_slot *slot = window_slot(w, w->first_place);
    struct window_group *group = slot->group;
    if (group->head == w->first_place)
        group->head = slot->next;
    w->first_place++;
    /* What was dropped may have been what blocked its group, and its change can no longer be found
     * by number. */
    if (--group->slots > 0) {
        window_group_ready(w, group);
        return;
    }
    leave_heaps(w, group);
    map_remove(&w->groups, group->hash);
    mem_free(group);
}

void partition_window_drop_below(struct partition_window *w, uint64_t number)
{
    if (number <= w->first)
        return;
    while (w->first_place < w->end_place && window_slot(w, w->first_place)->header.number < number)
        drop_first(w);
    w->first = number < w->end ? number : w->end;
    if (w->room > ROOM_MIN && w->end_place - w->first_place < w->room / 8)
        set_room(w, w->room / 2);
}

uint64_t window_place(const struct partition_window *w, uint64_t number)
{
    uint64_t low = w->first_place, high = w->end_place;
    /* Most windows have few holes: look first where the number would be if there were none. */
    if (low < high) {
        uint64_t first = window_slot(w, low)->header.number;
        if (number >= first && number - first < high - low &&
            window_slot(w, low + (number - first))->header.number == number)
            return low + (number - first);
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (window_slot(w, middle)->header.number >= number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct partition_header *partition_window_find(const struct partition_window *w,
                                                     uint64_t number)
{
    if (number < w->first || number >= w->end)
        return NULL;
    uint64_t place = window_place(w, number);
    if (place == w->end_place || window_slot(w, place)->header.number != number)
        return NULL;
    return &window_slot(w, place)->header;
}

const struct partition_header *window_header(const struct partition_window *w, uint64_t number)
{
    const struct partition_header *h = partition_window_find(w, number);
    if (h != NULL)
        return h;
    uint64_t single = map_find(&w->singles_at, number);
    return single == 0 ? NULL : &w->singles[single - 1];
}

size_t partition_window_bytes(const struct partition_window *w)
{
    size_t singles = w->singles == NULL ? 0 : PARTITION_WINDOW_SINGLES_MAX * sizeof w->singles[0];
    return sizeof *w + w->room * sizeof w->ring[0] + singles +
           (w->groups.room + w->singles_at.room) * sizeof(struct map_slot) +
           w->groups.n * sizeof(struct window_group) + fair_bytes(w);
}

void window_bind(struct partition_window *w, const struct group *g)
{
    if (w->bound && w->gid == g->gid && w->generation == g->generation)
        return;
    /* A new window may hold headers already; those of another generation may have holes where
     * numbers were finished that are not finished now. */
    if (w->bound) {
        partition_window_reset(w, g->next);
        forget_singles(w);
        fair_forget(w);
    }
    w->bound = true;
    w->gid = g->gid;
    w->generation = g->generation;
}

void window_reach(struct partition_window *w, uint64_t number)
{
    if (number < w->first)
        partition_window_reset(w, number);
    else if (number > w->end)
        partition_window_skip(w, number);
}

void window_halve(struct partition_window *w, uint64_t number)
{
    uint64_t slots = w->end_place - w->first_place;
    if (slots == 0)
        return;
    uint64_t middle = window_slot(w, w->first_place + slots / 2)->header.number;
    partition_window_drop_below(w, middle < number ? middle : number);
}

void window_sweep(struct partition_window *w, const struct group *g)
{
    uint64_t finished = g->floor + g->finished.sum;
    if (finished < w->swept_at + PARTITION_WINDOW_MAX / 16)
        return;
    struct partition_window old = *w;
    w->ring = NULL;
    w->room = 0;
    w->first_place = w->end_place = 1;
    map_init(&w->groups);
    heap_init(&w->ready);
    heap_init(&w->not_due);
    w->end = w->first;
    for (uint64_t place = old.first_place; place < old.end_place; place++) {
        const struct partition_header *h = &window_slot(&old, place)->header;
        if (group_is_finished(g, h->number))
            continue;
        w->end = h->number;
        CHECK(partition_window_put(w, h));
    }
    w->end = old.end;
    w->swept_at = finished;
    forget_slots(&old);
}

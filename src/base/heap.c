// SPDX-License-Identifier: Apache-2.0
#include "base/heap.h"

#include "base/check.h"
#include "base/mem.h"

enum { ROOM_MIN = 16 };

void heap_init(struct heap *h)
{
    *h = (struct heap){NULL, 0, 0};
}

void heap_fini(struct heap *h)
{
    mem_free(h->at);
    heap_init(h);
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static void set(struct heap *h, size_t place, struct heap_node *node)
{
    h->at[place - 1] = node;
    node->place = place;
}

static void sift_up(struct heap *h, struct heap_node *node)
{
    size_t place = node->place;
    while (place > 1 && before(node, h->at[place / 2 - 1])) {
        set(h, place, h->at[place / 2 - 1]);
        place /= 2;
    }
    set(h, place, node);
}

static void sift_down(struct heap *h, struct heap_node *node)
{
    size_t place = node->place;
    for (;;) {
        size_t child = place * 2;
        if (child > h->n)
            break;
        if (child < h->n && before(h->at[child], h->at[child - 1]))
            child++;
        if (!before(h->at[child - 1], node))
            break;
        set(h, place, h->at[child - 1]);
        place = child;
    }
    set(h, place, node);
}

static void set_room(struct heap *h, size_t room)
{
    h->room = room;
    h->at = mem_resize(h->at, room * sizeof h->at[0]);
}

void heap_put(struct heap *h, struct heap_node *node)
{
    CHECK(!heap_holds(node));
    if (h->n == h->room)
        set_room(h, h->room == 0 ? ROOM_MIN : h->room * 2);
    h->n++;
    set(h, h->n, node);
    sift_up(h, node);
}

void heap_remove(struct heap *h, struct heap_node *node)
{
    CHECK(heap_holds(node) && h->at[node->place - 1] == node);
    struct heap_node *last = h->at[h->n - 1];
    h->n--;
    if (last != node) {
        set(h, node->place, last);
        sift_up(h, last);
        sift_down(h, last);
    }
    node->place = 0;
    if (h->room > ROOM_MIN && h->n < h->room / 8)
        set_room(h, h->room / 2);
}

void heap_rekey(struct heap *h, struct heap_node *node, int64_t key)
{
    CHECK(heap_holds(node));
    node->key = key;
    sift_up(h, node);
    sift_down(h, node);
}

struct heap_node *heap_first(const struct heap *h)
{
    return h->n == 0 ? NULL : h->at[0];
}

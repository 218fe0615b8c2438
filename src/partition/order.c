// SPDX-License-Identifier: Apache-2.0
#include "partition/order.h"

#include "base/check.h"
#include "base/mem.h"

enum { ROOM_MIN = 16 };

size_t order_room_for(size_t n, size_t room)
{
    if (n > room)
        return n < ROOM_MIN ? ROOM_MIN : n + n / 2;
    if (room > ROOM_MIN && n < room / 4)
        return n < ROOM_MIN ? ROOM_MIN : n + n / 2;
    return room;
}

void order_init(struct order *o, bool (*before)(const void *of, uint64_t a, uint64_t b),
                const void *of)
{
    *o = (struct order){.before = before, .of = of};
}

void order_fini(struct order *o)
{
    mem_free(o->at);
    order_init(o, o->before, o->of);
}

static void fit(struct order *o, size_t n)
{
    size_t room = order_room_for(n, o->room);
    if (room == o->room)
        return;
    o->room = room;
    o->at = mem_resize(o->at, room * sizeof o->at[0]);
}

/* The value at `i` goes down to where no child comes before it. */
static void sift_down(struct order *o, size_t i)
{
    uint64_t value = o->at[i];
    for (;;) {
        size_t child = i * 2 + 1;
        if (child >= o->n)
            break;
        if (child + 1 < o->n && o->before(o->of, o->at[child + 1], o->at[child]))
            child++;
        if (!o->before(o->of, o->at[child], value))
            break;
        o->at[i] = o->at[child];
        i = child;
    }
    o->at[i] = value;
}

void order_put(struct order *o, uint64_t value)
{
    order_append(o, value);
    size_t i = o->n - 1;
    for (; i > 0 && o->before(o->of, value, o->at[(i - 1) / 2]); i = (i - 1) / 2)
        o->at[i] = o->at[(i - 1) / 2];
    o->at[i] = value;
}

uint64_t order_first(const struct order *o)
{
    CHECK(o->n > 0);
    return o->at[0];
}

void order_take(struct order *o)
{
    CHECK(o->n > 0);
    o->at[0] = o->at[--o->n];
    if (o->n > 1)
        sift_down(o, 0);
    fit(o, o->n);
}

void order_append(struct order *o, uint64_t value)
{
    fit(o, o->n + 1);
    o->at[o->n++] = value;
}

void order_settle(struct order *o)
{
    for (size_t i = o->n / 2; i > 0; i--)
        sift_down(o, i - 1);
    fit(o, o->n);
}

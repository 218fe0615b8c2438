// SPDX-License-Identifier: Apache-2.0
/* A binary heap of bare 64-bit values, 8 bytes each: numbers, or places in an array that `before`
 * looks into. For heaps of many small things; what is to be removed from its middle belongs in
 * base/heap.h. Grows by half and shrinks with what it holds. */
#ifndef PARTITION_ORDER_H
#define PARTITION_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order {
    uint64_t *at;
    size_t n;
    size_t room;
    bool (*before)(const void *of, uint64_t a, uint64_t b); /* strict, and never changes its mind */
    const void *of;
};

void order_init(struct order *o, bool (*before)(const void *of, uint64_t a, uint64_t b),
                const void *of);
/* Empty; it may be used on. */
void order_fini(struct order *o);
void order_put(struct order *o, uint64_t value);
/* The first of all; there must be one. */
uint64_t order_first(const struct order *o);
void order_take(struct order *o);
/* Many at once, in O(n): append each, then settle. Between, nothing else may be asked. */
void order_append(struct order *o, uint64_t value);
void order_settle(struct order *o);

/* The room of an array that is to hold n: a half more when it grows, less when three quarters of it
 * are empty. So no more than half of what was put is ever slack, except after a shrinking. */
size_t order_room_for(size_t n, size_t room);

#endif

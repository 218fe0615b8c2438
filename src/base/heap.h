// SPDX-License-Identifier: Apache-2.0
/* A binary heap, smallest key first, of elements that embed a struct heap_node. Nodes know their
 * place, so that removing or re-keying any of them costs O(log n). The heap owns only its array,
 * which grows and shrinks with it. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    uint64_t tie; /* breaks equal keys, so that order never depends on history */
    size_t place; /* 1-based; 0 = in no heap */
};

struct heap {
    struct heap_node **at;
    size_t n;
    size_t room;
};

void heap_init(struct heap *h);
void heap_fini(struct heap *h);
void heap_put(struct heap *h, struct heap_node *node); /* must be in no heap */
void heap_remove(struct heap *h, struct heap_node *node);
void heap_rekey(struct heap *h, struct heap_node *node, int64_t key);
/* The smallest, or NULL. */
struct heap_node *heap_first(const struct heap *h);

static inline bool heap_holds(const struct heap_node *node)
{
    return node->place != 0;
}

#endif

// SPDX-License-Identifier: Apache-2.0
/* A hash map from a 64-bit key to a 64-bit value other than 0, by open addressing. It grows and
 * shrinks with what it holds, and owns only its array. */
#ifndef PARTITION_MAP_H
#define PARTITION_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint64_t key;
    uint64_t value; /* 0: the slot is empty */
};

struct map {
    struct map_slot *at;
    size_t n;
    size_t room; /* 0 or a power of two */
};

void map_init(struct map *m);
void map_fini(struct map *m);
/* 0: not there. */
uint64_t map_find(const struct map *m, uint64_t key);
/* Puts or replaces. */
void map_put(struct map *m, uint64_t key, uint64_t value);
void map_remove(struct map *m, uint64_t key);

/* Values that are pointers. */
static inline uint64_t map_value_of(void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static inline void *map_pointer(uint64_t value)
{
    return (void *)(uintptr_t)value;
}

#endif

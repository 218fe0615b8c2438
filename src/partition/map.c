// SPDX-License-Identifier: Apache-2.0
#include "partition/map.h"

#include "base/check.h"
#include "base/mem.h"

enum { ROOM_MIN = 16 };

void map_init(struct map *m)
{
    *m = (struct map){NULL, 0, 0};
}

void map_fini(struct map *m)
{
    mem_free(m->at);
    map_init(m);
}

/* Fibonacci hashing: the high bits of the product depend on every bit of the key. */
static size_t home(const struct map *m, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (m->room - 1);
}

/* Where the key is, or the empty slot where it would be. */
static size_t place(const struct map *m, uint64_t key)
{
    size_t i = home(m, key);
    while (m->at[i].value != 0 && m->at[i].key != key)
        i = (i + 1) & (m->room - 1);
    return i;
}

uint64_t map_find(const struct map *m, uint64_t key)
{
    return m->room == 0 ? 0 : m->at[place(m, key)].value;
}

static void set_room(struct map *m, size_t room)
{
    struct map old = *m;
    m->room = room;
    m->at = mem_new_array(room, sizeof m->at[0]);
    for (size_t i = 0; i < old.room; i++)
        if (old.at[i].value != 0)
            m->at[place(m, old.at[i].key)] = old.at[i];
    mem_free(old.at);
}

void map_put(struct map *m, uint64_t key, uint64_t value)
{
    CHECK(value != 0);
    if (m->n + 1 > m->room / 4 * 3)
        set_room(m, m->room == 0 ? ROOM_MIN : m->room * 2);
    size_t i = place(m, key);
    if (m->at[i].value == 0)
        m->n++;
    m->at[i] = (struct map_slot){key, value};
}

void map_remove(struct map *m, uint64_t key)
{
    if (m->room == 0)
        return;
    size_t mask = m->room - 1, hole = place(m, key);
    if (m->at[hole].value == 0)
        return;
    /* Later slots of the same cluster move back over the hole, if that is nearer to their home. */
    for (size_t i = (hole + 1) & mask; m->at[i].value != 0; i = (i + 1) & mask)
        if (((i - home(m, m->at[i].key)) & mask) >= ((i - hole) & mask)) {
            m->at[hole] = m->at[i];
            hole = i;
        }
    m->at[hole].value = 0;
    m->n--;
    if (m->room > ROOM_MIN && m->n < m->room / 8)
        set_room(m, m->room / 2);
}

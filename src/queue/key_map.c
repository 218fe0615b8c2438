// SPDX-License-Identifier: Apache-2.0
#include "queue/key_map.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/mem.h"

void key_map_init(struct key_map *m, size_t keys_max)
{
    *m = (struct key_map){.keys_max = keys_max};
    if (keys_max == 0)
        return;
    m->room = 4;
    while (m->room / 4 * 3 < keys_max)
        m->room *= 2;
    m->slots = mem_new_array(m->room, sizeof m->slots[0]);
}

void key_map_fini(struct key_map *m)
{
    mem_free(m->slots);
    *m = (struct key_map){0};
}

/* The key's slot, or the free one where it would be; a quarter of the slots is always free. */
static struct key_slot *slot_of(const struct key_map *m, const struct id_hash *hash)
{
    size_t i = (size_t)le_load_u64(hash->at) & (m->room - 1);
    while (m->slots[i].number_after != 0 && memcmp(&m->slots[i].hash, hash, sizeof *hash) != 0)
        i = (i + 1) & (m->room - 1);
    return &m->slots[i];
}

bool key_map_put(struct key_map *m, const struct id_hash *hash, uint64_t number)
{
    struct key_slot *slot = m->room == 0 ? NULL : slot_of(m, hash);
    bool fresh = slot == NULL || slot->number_after == 0;
    if (fresh && m->keys == m->keys_max)
        return false;
    CHECK(number >= slot->number_after);
    m->keys += fresh;
    slot->hash = *hash;
    slot->number_after = number + 1;
    return true;
}

uint64_t key_map_find(const struct key_map *m, const struct id_hash *hash)
{
    return m->room == 0 ? 0 : slot_of(m, hash)->number_after;
}

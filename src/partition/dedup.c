// SPDX-License-Identifier: Apache-2.0
#include "partition/dedup.h"

#include "base/check.h"
#include "base/mem.h"

enum { ROOM_MIN = 16 };

void dedup_init(struct dedup *d)
{
    *d = (struct dedup){.first = 1, .end = 1};
}

void dedup_fini(struct dedup *d)
{
    mem_free(d->ring);
    map_fini(&d->newest);
    dedup_init(d);
}

size_t dedup_count(const struct dedup *d)
{
    return (size_t)(d->end - d->first);
}

static struct dedup_item *at_place(const struct dedup *d, uint64_t place)
{
    CHECK(place >= d->first && place < d->end);
    return &d->ring[place & (d->room - 1)];
}

const struct dedup_item *dedup_at(const struct dedup *d, size_t i)
{
    return at_place(d, d->first + i);
}

static uint64_t key_of(const struct id_hash *hash)
{
    return le_load_u64(hash->at);
}

const struct dedup_item *dedup_find(const struct dedup *d, const struct id_hash *hash,
                                    int64_t now_ms)
{
    uint64_t place = map_find(&d->newest, key_of(hash));
    while (place >= d->first && place < d->end) {
        const struct dedup_item *item = at_place(d, place);
        if (memcmp(&item->hash, hash, sizeof *hash) == 0 && now_ms < item->until_ms)
            return item;
        place = item->older;
    }
    return NULL;
}

static void set_room(struct dedup *d, size_t room)
{
    struct dedup_item *ring = mem_new_array(room, sizeof ring[0]);
    for (uint64_t place = d->first; place < d->end; place++)
        ring[place & (room - 1)] = *at_place(d, place);
    mem_free(d->ring);
    d->ring = ring;
    d->room = room;
}

void dedup_put(struct dedup *d, const struct dedup_item *item)
{
    if (dedup_count(d) == d->room)
        set_room(d, d->room == 0 ? ROOM_MIN : d->room * 2);
    uint64_t place = d->end++, key = key_of(&item->hash);
    struct dedup_item *to = at_place(d, place);
    *to = *item;
    to->older = map_find(&d->newest, key);
    map_put(&d->newest, key, place);
}

void dedup_prune(struct dedup *d, int64_t now_ms)
{
    while (d->first < d->end) {
        const struct dedup_item *oldest = at_place(d, d->first);
        if (now_ms < oldest->until_ms)
            break;
        uint64_t key = key_of(&oldest->hash);
        if (map_find(&d->newest, key) == d->first)
            map_remove(&d->newest, key);
        d->first++;
    }
    size_t room = d->room;
    while (room > ROOM_MIN && dedup_count(d) < room / 8)
        room /= 2;
    if (room < d->room)
        set_room(d, room);
}

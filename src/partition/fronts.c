// SPDX-License-Identifier: Apache-2.0
#include "partition/fronts.h"

#include "base/check.h"
#include "base/mem.h"

enum { ROOM_MIN = 4 };

void fronts_fini(struct fronts *f)
{
    for (size_t i = 0; i < f->n; i++)
        mem_free(f->at[i].at);
    mem_free(f->at);
    *f = (struct fronts){NULL, 0};
}

static size_t front_place(const struct fronts *f, uint32_t broker)
{
    size_t i = 0;
    while (i < f->n && f->at[i].broker < broker) /* there are few */
        i++;
    return i;
}

static size_t send_place(const struct front *front, uint64_t sequence)
{
    size_t low = 0, high = front->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (front->at[middle].sequence >= sequence)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

enum front_answer fronts_find(const struct fronts *f, const struct record_repeat *key,
                              const struct front_send **send)
{
    size_t i = front_place(f, key->front);
    if (i == f->n || f->at[i].broker != key->front || f->at[i].life < key->life)
        return FRONT_NEW;
    const struct front *front = &f->at[i];
    if (key->life < front->life || key->sequence < front->settled_below)
        return FRONT_FORGOTTEN;
    size_t k = send_place(front, key->sequence);
    if (k == front->n || front->at[k].sequence != key->sequence)
        return FRONT_NEW;
    *send = &front->at[k];
    return FRONT_KNOWN;
}

/* The front's newest life is at least the key's. */
static struct front *front_make(struct fronts *f, const struct record_repeat *key)
{
    size_t i = front_place(f, key->front);
    if (i == f->n || f->at[i].broker != key->front) {
        f->at = mem_resize(f->at, (f->n + 1) * sizeof f->at[0]);
        memmove(&f->at[i + 1], &f->at[i], (f->n - i) * sizeof f->at[0]);
        f->n++;
        f->at[i] = (struct front){.broker = key->front, .life = key->life};
    } else if (f->at[i].life < key->life) {
        mem_free(f->at[i].at);
        f->at[i] = (struct front){.broker = key->front, .life = key->life};
    }
    return &f->at[i];
}

static void set_room(struct front *front, size_t room)
{
    front->room = room;
    front->at = mem_resize(front->at, room * sizeof front->at[0]);
}

static void settle(struct front *front, uint64_t below)
{
    if (below <= front->settled_below)
        return;
    front->settled_below = below;
    size_t gone = send_place(front, below);
    if (gone > 0)
        memmove(front->at, front->at + gone, (front->n - gone) * sizeof front->at[0]);
    front->n -= gone;
    if (front->room > ROOM_MIN && front->n < front->room / 8)
        set_room(front, front->room / 2);
}

void fronts_put(struct fronts *f, const struct record_repeat *key, uint64_t number, struct uuid id)
{
    struct front *front = front_make(f, key);
    if (key->life < front->life)
        return;
    settle(front, key->settled_below);
    size_t k = send_place(front, key->sequence);
    if (key->sequence < front->settled_below ||
        (k < front->n && front->at[k].sequence == key->sequence))
        return;
    if (front->n == front->room)
        set_room(front, front->room == 0 ? ROOM_MIN : front->room * 2);
    memmove(&front->at[k + 1], &front->at[k], (front->n - k) * sizeof front->at[0]);
    front->at[k] = (struct front_send){key->sequence, number, id};
    front->n++;
}

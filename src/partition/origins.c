// SPDX-License-Identifier: Apache-2.0
#include "partition/origins.h"

#include "base/mem.h"

void origins_fini(struct origins *o)
{
    for (size_t i = 0; i < o->n; i++)
        mem_free(o->at[i].at);
    mem_free(o->at);
    *o = (struct origins){NULL, 0};
}

static int compare(const struct origin *a, const struct record_origin *b)
{
    int c = memcmp(a->topic.at, b->topic.at, sizeof a->topic.at);
    return c != 0 ? c : (a->partition > b->partition) - (a->partition < b->partition);
}

static size_t origin_place(const struct origins *o, const struct record_origin *key)
{
    size_t low = 0, high = o->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&o->at[middle], key) >= 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static size_t arrival_place(const struct origin *from, uint64_t seq)
{
    size_t low = 0, high = from->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (from->at[middle].seq >= seq)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool origins_find(const struct origins *o, const struct record_origin *key, uint64_t *number)
{
    size_t i = origin_place(o, key);
    if (i == o->n || compare(&o->at[i], key) != 0)
        return false;
    const struct origin *from = &o->at[i];
    if (key->move_seq < from->floor) {
        *number = UINT64_MAX;
        return true;
    }
    size_t k = arrival_place(from, key->move_seq);
    if (k == from->n || from->at[k].seq != key->move_seq)
        return false;
    *number = from->at[k].number;
    return true;
}

static struct origin *origin_make(struct origins *o, const struct record_origin *key)
{
    size_t i = origin_place(o, key);
    if (i < o->n && compare(&o->at[i], key) == 0)
        return &o->at[i];
    o->at = mem_resize(o->at, (o->n + 1) * sizeof o->at[0]);
    memmove(&o->at[i + 1], &o->at[i], (o->n - i) * sizeof o->at[0]);
    o->n++;
    o->at[i] = (struct origin){.topic = key->topic, .partition = key->partition};
    return &o->at[i];
}

static struct origin *raise_floor(struct origins *o, const struct record_origin *key)
{
    struct origin *from = origin_make(o, key);
    if (key->moves_closed <= from->floor)
        return from;
    from->floor = key->moves_closed;
    size_t gone = arrival_place(from, from->floor);
    if (gone > 0)
        memmove(from->at, from->at + gone, (from->n - gone) * sizeof from->at[0]);
    from->n -= gone;
    return from;
}

void origins_floor(struct origins *o, const struct record_origin *key)
{
    raise_floor(o, key);
}

void origins_put(struct origins *o, const struct record_origin *key, uint64_t number)
{
    struct origin *from = raise_floor(o, key);
    size_t k = arrival_place(from, key->move_seq);
    if (key->move_seq < from->floor || (k < from->n && from->at[k].seq == key->move_seq))
        return;
    if (from->n == from->room) {
        from->room = from->room == 0 ? 4 : from->room * 2;
        from->at = mem_resize(from->at, from->room * sizeof from->at[0]);
    }
    memmove(&from->at[k + 1], &from->at[k], (from->n - k) * sizeof from->at[0]);
    from->at[k] = (struct arrival){key->move_seq, number};
    from->n++;
}

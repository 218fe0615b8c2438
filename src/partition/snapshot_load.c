// SPDX-License-Identifier: Apache-2.0
/* Reading a snapshot back. The caller has checked its CRC, so what is tested here guards against
 * mistakes and malice: whatever the bytes, the loaded state keeps this room's invariants. Counts
 * are never believed beyond the bytes that are there. */
#include <stdlib.h>

#include "base/mem.h"
#include "partition/codec.h"
#include "partition/snapshot.h"
#include "partition/state.h"

/* Times in a snapshot: those of records, or STATE_TIME_NONE. */
static int64_t read_time(struct cursor *c)
{
    int64_t ms = codec_signed(c);
    if (ms != STATE_TIME_NONE && (ms < -CODEC_TIME_MAX || ms > CODEC_TIME_MAX))
        c->bad = true;
    return c->bad ? 0 : ms;
}

/* A rising sequence: at least `*least`, below `end`. */
static uint64_t read_rising(struct cursor *c, uint64_t *least, uint64_t end)
{
    uint64_t v = codec_number(c);
    if (v < *least || v >= end)
        c->bad = true;
    if (!c->bad)
        *least = v + 1;
    return v;
}

static void load_delays(struct cursor *c, struct partition *p)
{
    uint64_t n = cursor_varint(c), least = 0;
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        uint64_t number = read_rising(c, &least, p->next_number);
        int64_t due_ms = read_time(c), release_ms = read_time(c);
        if (release_ms < due_ms)
            c->bad = true;
        if (c->bad)
            return;
        delays_put(p->delays, number, due_ms, release_ms);
    }
}

/* Released delays that some group needs, as they are met; and how many delays all groups list. */
struct late {
    struct delay *at;
    size_t n;
    size_t room;
    uint64_t listed_n;
};

static void load_lease(struct cursor *c, struct entry *e)
{
    e->receives = codec_u32(c);
    e->lease.epoch = cursor_varint(c);
    e->lease.counter = cursor_varint(c);
    e->first_received_wall_ms = read_time(c);
    e->leased_since_ms = read_time(c);
    struct bytes holder = codec_sized_upto(c, RECORD_HOLDER_BYTES_MAX);
    if (e->receives == 0)
        c->bad = true;
    if (c->bad || holder.n == 0)
        return;
    e->holder_bytes = holder.n;
    e->holder = mem_new(holder.n);
    memcpy(e->holder, holder.at, holder.n);
}

/* A delay that stands for a number: listed among the delays, or released and needed only here. */
static void load_delayed(struct cursor *c, struct group *g, struct late *late, uint64_t number,
                         int64_t due_ms)
{
    const struct delay *delay = delays_find(g->delays, number);
    if (delay == NULL ? number >= g->next : delay->due_ms != due_ms)
        c->bad = true;
    late->listed_n++;
    if (c->bad || delay != NULL)
        return;
    if (late->n == late->room) {
        late->room = late->room == 0 ? 16 : late->room * 2;
        late->at = mem_resize(late->at, late->room * sizeof late->at[0]);
    }
    late->at[late->n++] = (struct delay){number, due_ms, DELAY_RELEASED};
}

static void load_entry(struct cursor *c, struct group *g, struct late *late, uint64_t number)
{
    uint8_t flags = cursor_u8(c);
    int64_t until_ms = read_time(c);
    bool delayed = flags & SNAPSHOT_DELAYED, moving = flags & SNAPSHOT_MOVING;
    if ((flags & ~SNAPSHOT_FLAGS_KNOWN) || (delayed && flags != SNAPSHOT_DELAYED) ||
        group_is_finished(g, number))
        c->bad = true;
    if (c->bad)
        return;
    if (delayed) {
        load_delayed(c, g, late, number, until_ms);
        return;
    }
    struct entry *e = group_entry_make(g, number);
    group_entry_wait(g, e, until_ms);
    if (flags & SNAPSHOT_RECEIVED)
        load_lease(c, e);
    group_entry_move(g, e, moving);
}

static void load_finished(struct cursor *c, const struct partition *p, struct group *g)
{
    uint64_t n = cursor_varint(c), least = g->floor + 1;
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        uint64_t first = read_rising(c, &least, p->next_number);
        uint64_t end = read_rising(c, &least, p->next_number + 1);
        if (!c->bad)
            runs_put(&g->finished, first, end);
    }
}

static void load_group(struct cursor *c, struct partition *p, struct late *late,
                       uint64_t *least_gid)
{
    uint32_t gid = (uint32_t)read_rising(c, least_gid, (uint64_t)UINT32_MAX + 1);
    if (c->bad)
        return;
    struct group *g = group_add(p, gid);
    g->generation = cursor_varint(c);
    g->floor = codec_upto(c, p->next_number);
    g->next = codec_upto(c, p->next_number);
    if (g->next < g->floor || g->floor < p->trim_floor)
        c->bad = true;
    load_finished(c, p, g);
    group_delays_count(g);
    uint64_t n = cursor_varint(c), least = g->floor;
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        uint64_t number = read_rising(c, &least, p->next_number);
        if (!c->bad)
            load_entry(c, g, late, number);
    }
}

static int by_number(const void *a, const void *b)
{
    const struct delay *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* The late ones take their places among the others. All groups must agree on when one was due. */
static void merge_late(struct cursor *c, struct delays *d, struct late *late)
{
    if (late->n == 0)
        return;
    qsort(late->at, late->n, sizeof late->at[0], by_number);
    struct delays others = *d;
    delays_init(d);
    size_t k = 0;
    for (size_t i = 0; i < late->n; i++) {
        const struct delay *one = &late->at[i];
        if (i > 0 && one[-1].number == one->number) {
            c->bad |= one[-1].due_ms != one->due_ms;
            continue;
        }
        for (; k < others.n && others.at[k].number < one->number; k++)
            delays_put(d, others.at[k].number, others.at[k].due_ms, others.at[k].release_ms);
        delays_put(d, one->number, one->due_ms, DELAY_RELEASED);
    }
    for (; k < others.n; k++)
        delays_put(d, others.at[k].number, others.at[k].due_ms, others.at[k].release_ms);
    delays_fini(&others);
}

/* Below the cursor nothing is unknown. */
static bool cursor_is_sound(const struct group *g)
{
    uint64_t finished = g->finished.sum - runs_count_from(&g->finished, g->next);
    uint64_t known = g->next - g->floor - finished;
    if (known > g->entries.n + g->index.delayed_n + g->index.due_n)
        return false;
    for (size_t i = 0; i < g->entries.room; i++)
        if (g->entries.at[i].value != 0 && g->entries.at[i].key < g->next)
            known--;
    const struct delays *d = g->delays;
    for (size_t i = delays_from(d, g->floor); i < d->n && d->at[i].number < g->next; i++)
        known -= group_has_delay(g, &d->at[i]);
    return known == 0;
}

/* Each delay that a group lists stands for its number there; so if there are as many, a group lists
 * all that do. */
static void load_groups(struct cursor *c, struct partition *p)
{
    uint64_t n = codec_upto(c, PARTITION_GROUPS_MAX), least_gid = 0, standing_n = 0;
    struct late late = {NULL, 0, 0, 0};
    for (uint64_t i = 0; i < n && !c->bad; i++)
        load_group(c, p, &late, &least_gid);
    if (!c->bad)
        merge_late(c, p->delays, &late);
    mem_free(late.at);
    for (size_t i = 0; i < p->groups_n && !c->bad; i++) {
        struct group *g = p->groups[i];
        group_delays_count(g);
        standing_n += g->index.delayed_n + g->index.due_n;
        if (!cursor_is_sound(g))
            c->bad = true;
    }
    if (standing_n != late.listed_n)
        c->bad = true;
}

static void load_moves(struct cursor *c, struct partition *p)
{
    uint64_t next_seq = codec_upto(c, CODEC_NUMBER_MAX);
    uint64_t n = cursor_varint(c), least = 0;
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        struct move move = {.closed = false};
        move.open.seq = read_rising(c, &least, next_seq);
        move.open.gid = codec_u32(c);
        move.generation = cursor_varint(c);
        move.open.number = codec_number(c);
        move.open.receive_count = codec_u32(c);
        codec_copy(c, move.open.target.at, sizeof move.open.target.at);
        if (!c->bad)
            moves_add(&p->moves, &move);
    }
    p->moves.next_seq = next_seq;
}

static void load_dedup(struct cursor *c, struct partition *p)
{
    uint64_t n = cursor_varint(c);
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        struct dedup_item item = {.older = 0};
        codec_copy(c, item.hash.at, sizeof item.hash.at);
        codec_copy(c, item.id.at, sizeof item.id.at);
        item.number = codec_number(c);
        item.until_ms = read_time(c);
        if (!c->bad)
            dedup_put(&p->dedup, &item);
    }
}

static void load_origins(struct cursor *c, struct partition *p)
{
    uint64_t n = cursor_varint(c);
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        struct record_origin key = {.partition = 0};
        codec_copy(c, key.topic.at, sizeof key.topic.at);
        key.partition = codec_u32(c);
        key.moves_closed = codec_upto(c, CODEC_NUMBER_MAX);
        uint64_t arrivals = cursor_varint(c), least = key.moves_closed;
        if (c->bad)
            return;
        origins_floor(&p->origins, &key);
        for (uint64_t k = 0; k < arrivals && !c->bad; k++) {
            key.move_seq = read_rising(c, &least, CODEC_NUMBER_MAX);
            uint64_t number = codec_number(c);
            if (!c->bad)
                origins_put(&p->origins, &key, number);
        }
    }
}

static void load_front(struct cursor *c, struct partition *p, uint64_t *least_broker)
{
    struct record_repeat key = {.front = 0};
    key.front = (uint32_t)read_rising(c, least_broker, RECORD_FRONT_MAX + 1);
    key.life = cursor_varint(c);
    key.settled_below = codec_number(c);
    uint64_t n = codec_upto(c, RECORD_REPEAT_WINDOW), least = key.settled_below;
    uint64_t end = key.settled_below + RECORD_REPEAT_WINDOW;
    c->bad = c->bad || n == 0; /* the newest is always kept */
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        struct uuid id;
        key.sequence = read_rising(c, &least, end < CODEC_NUMBER_MAX ? end : CODEC_NUMBER_MAX);
        uint64_t number = codec_number(c);
        c->bad = c->bad || number >= p->next_number;
        codec_copy(c, id.at, sizeof id.at);
        if (!c->bad)
            fronts_put(&p->fronts, &key, number, id);
    }
}

static void load_fronts(struct cursor *c, struct partition *p)
{
    uint64_t n = codec_upto(c, RECORD_FRONT_MAX), least_broker = 1;
    for (uint64_t i = 0; i < n && !c->bad; i++)
        load_front(c, p, &least_broker);
}

/* Every size belongs to a number that some group has not finished. */
static void load_sizes(struct cursor *c, struct partition *p)
{
    uint64_t n = cursor_varint(c), least = 0;
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        uint64_t number = read_rising(c, &least, p->next_number);
        uint32_t bytes = codec_u32(c);
        if (c->bad || bytes == 0 || !partition_size_missing(p, number)) {
            c->bad = true;
            return;
        }
        map_put(&p->sizes, number, bytes);
    }
}

static void load_live(struct cursor *c, struct partition *p)
{
    for (size_t i = 0; i < p->groups_n && !c->bad; i++) {
        struct group *g = p->groups[i];
        g->live_bytes = codec_upto(c, CODEC_NUMBER_MAX);
        uint8_t exact = cursor_u8(c);
        g->live_exact = exact == 1;
        if (exact > 1 || (live_count(p, g) == 0 && (g->live_bytes > 0 || exact == 0)))
            c->bad = true;
    }
    if (!c->bad)
        load_sizes(c, p);
}

enum err partition_load(struct bytes saved, struct partition **out)
{
    struct cursor c = cursor_of(saved);
    uint64_t format = cursor_varint(&c);
    if (c.bad || format == 0)
        return ERR_CORRUPT;
    if (format > SNAPSHOT_FORMAT)
        return ERR_NEWER_FORMAT;
    struct partition *p = partition_new();
    p->next_number = codec_upto(&c, CODEC_NUMBER_MAX);
    p->trim_floor = codec_upto(&c, p->next_number);
    p->epoch = cursor_varint(&c);
    p->lease_counter = cursor_varint(&c);
    p->known_ms = read_time(&c);
    p->due_tail_ms = read_time(&c);
    load_delays(&c, p);
    load_groups(&c, p);
    load_moves(&c, p);
    load_dedup(&c, p);
    load_origins(&c, p);
    if (format > SNAPSHOT_FORMAT_NO_LIVE)
        load_live(&c, p);
    if (format > SNAPSHOT_FORMAT_NO_FRONTS)
        load_fronts(&c, p);
    for (size_t i = 0; i < p->groups_n && format == SNAPSHOT_FORMAT_NO_LIVE; i++)
        live_reset(p, p->groups[i]);
    if (c.bad || c.left > 0) {
        partition_free(p);
        return ERR_CORRUPT;
    }
    delayed_advance(p, p->known_ms);
    *out = p;
    return ERR_OK;
}

// SPDX-License-Identifier: Apache-2.0
/* Reading a snapshot back. The caller has checked its CRC, so what is tested here guards against
 * mistakes and malice: whatever the bytes, the loaded state keeps this room's invariants. Counts
 * are never believed beyond the bytes that are there. */
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
        struct delay *d = mem_new(sizeof *d);
        d->number = number;
        d->due_ms = due_ms;
        d->release_ms = release_ms;
        d->node = (struct heap_node){.key = release_ms, .tie = number};
        heap_put(&p->delays, &d->node);
    }
}

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

static void load_entry(struct cursor *c, struct group *g, uint64_t number)
{
    uint8_t flags = cursor_u8(c);
    int64_t until_ms = read_time(c);
    bool delayed = flags & SNAPSHOT_DELAYED, moving = flags & SNAPSHOT_MOVING;
    if ((flags & ~SNAPSHOT_FLAGS_KNOWN) || (delayed && flags != SNAPSHOT_DELAYED) ||
        group_is_finished(g, number))
        c->bad = true;
    if (c->bad)
        return;
    struct entry *e = group_entry_make(g, number);
    group_entry_wait(g, e, until_ms, delayed);
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

static void load_group(struct cursor *c, struct partition *p, uint64_t *least_gid)
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
    uint64_t n = cursor_varint(c), least = g->floor;
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        uint64_t number = read_rising(c, &least, p->next_number);
        if (!c->bad)
            load_entry(c, g, number);
    }
}

/* Below the cursor nothing is unknown. */
static bool cursor_is_sound(const struct group *g)
{
    uint64_t finished = g->finished.sum - runs_count_from(&g->finished, g->next);
    uint64_t known = g->next - g->floor - finished;
    if (known > g->entries.n)
        return false;
    for (size_t i = 0; i < g->entries.room; i++)
        if (g->entries.at[i].value != 0 && g->entries.at[i].key < g->next)
            known--;
    return known == 0;
}

static void load_groups(struct cursor *c, struct partition *p)
{
    uint64_t n = codec_upto(c, PARTITION_GROUPS_MAX), least_gid = 0;
    for (uint64_t i = 0; i < n && !c->bad; i++)
        load_group(c, p, &least_gid);
    for (size_t i = 0; i < p->groups_n && !c->bad; i++)
        if (!cursor_is_sound(p->groups[i]))
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
    for (size_t i = 0; i < p->groups_n && format == SNAPSHOT_FORMAT_NO_LIVE; i++)
        live_reset(p, p->groups[i]);
    if (c.bad || c.left > 0) {
        partition_free(p);
        return ERR_CORRUPT;
    }
    *out = p;
    return ERR_OK;
}

// SPDX-License-Identifier: Apache-2.0
/* The state as bytes. Everything is written in an order that its history does not show in: groups
 * by gid, entries and delays by number, moves by seq; and nothing that is derived. snapshot_load.c
 * reads it back in the same order. */
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "partition/codec.h"
#include "partition/snapshot.h"
#include "partition/state.h"

static void save_delays(const struct delays *d, struct buf *out)
{
    buf_put_varint(out, d->n - d->released_n);
    for (size_t i = 0; i < d->n; i++) {
        if (delay_is_released(&d->at[i]))
            continue;
        buf_put_varint(out, d->at[i].number);
        codec_put_signed(out, d->at[i].due_ms);
        codec_put_signed(out, d->at[i].release_ms);
    }
}

static void save_entry(const struct entry *e, struct buf *out)
{
    buf_put_varint(out, e->number);
    buf_put_u8(out, (uint8_t)((e->moving ? SNAPSHOT_MOVING : 0) |
                              (e->receives > 0 ? SNAPSHOT_RECEIVED : 0)));
    codec_put_signed(out, e->until_ms);
    if (e->receives == 0)
        return;
    buf_put_varint(out, e->receives);
    buf_put_varint(out, e->lease.epoch);
    buf_put_varint(out, e->lease.counter);
    codec_put_signed(out, e->first_received_wall_ms);
    codec_put_signed(out, e->leased_since_ms);
    buf_put_sized(out, (struct bytes){e->holder, e->holder_bytes});
}

/* Entries, and between them the delays that stand for a number: the bytes make no difference. */
static void save_known(const struct group *g, struct buf *out)
{
    const struct delays *d = g->delays;
    struct entry **all = group_entries(g);
    size_t place = delays_from(d, g->floor), i = 0;
    buf_put_varint(out, g->entries.n + g->index.delayed_n + g->index.due_n);
    for (; place < d->n; place++) {
        const struct delay *delay = &d->at[place];
        if (!group_has_delay(g, delay))
            continue;
        for (; i < g->entries.n && all[i]->number < delay->number; i++)
            save_entry(all[i], out);
        buf_put_varint(out, delay->number);
        buf_put_u8(out, SNAPSHOT_DELAYED);
        codec_put_signed(out, delay->due_ms);
    }
    for (; i < g->entries.n; i++)
        save_entry(all[i], out);
    mem_free(all);
}

static void save_group(const struct group *g, struct buf *out)
{
    buf_put_varint(out, g->gid);
    buf_put_varint(out, g->generation);
    buf_put_varint(out, g->floor);
    buf_put_varint(out, g->next);
    buf_put_varint(out, g->finished.n);
    for (size_t i = 0; i < g->finished.n; i++) {
        buf_put_varint(out, g->finished.at[i].first);
        buf_put_varint(out, g->finished.at[i].end);
    }
    save_known(g, out);
}

static void save_moves(const struct moves *m, struct buf *out)
{
    buf_put_varint(out, m->next_seq);
    buf_put_varint(out, m->n - m->closed_n);
    for (size_t i = 0; i < m->n; i++) {
        const struct partition_move *open = &m->at[i].open;
        if (m->at[i].closed)
            continue;
        buf_put_varint(out, open->seq);
        buf_put_varint(out, open->gid);
        buf_put_varint(out, m->at[i].generation);
        buf_put_varint(out, open->number);
        buf_put_varint(out, open->receive_count);
        buf_put(out, open->target.at, sizeof open->target.at);
    }
}

static void save_dedup(const struct dedup *d, struct buf *out)
{
    buf_put_varint(out, dedup_count(d));
    for (size_t i = 0; i < dedup_count(d); i++) {
        const struct dedup_item *item = dedup_at(d, i);
        buf_put(out, item->hash.at, sizeof item->hash.at);
        buf_put(out, item->id.at, sizeof item->id.at);
        buf_put_varint(out, item->number);
        codec_put_signed(out, item->until_ms);
    }
}

static void save_origins(const struct origins *o, struct buf *out)
{
    buf_put_varint(out, o->n);
    for (size_t i = 0; i < o->n; i++) {
        const struct origin *from = &o->at[i];
        buf_put(out, from->topic.at, sizeof from->topic.at);
        buf_put_varint(out, from->partition);
        buf_put_varint(out, from->floor);
        buf_put_varint(out, from->n);
        for (size_t k = 0; k < from->n; k++) {
            buf_put_varint(out, from->at[k].seq);
            buf_put_varint(out, from->at[k].number);
        }
    }
}

static int by_key(const void *a, const void *b)
{
    const struct map_slot *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static void save_live(const struct partition *p, struct buf *out)
{
    for (size_t i = 0; i < p->groups_n; i++) {
        buf_put_varint(out, p->groups[i]->live_bytes);
        buf_put_u8(out, p->groups[i]->live_exact);
    }
    struct map_slot *all = mem_new_array(p->sizes.n + 1, sizeof all[0]);
    size_t n = 0;
    for (size_t i = 0; i < p->sizes.room; i++)
        if (p->sizes.at[i].value != 0)
            all[n++] = p->sizes.at[i];
    qsort(all, n, sizeof all[0], by_key);
    buf_put_varint(out, n);
    for (size_t i = 0; i < n; i++) {
        buf_put_varint(out, all[i].key);
        buf_put_varint(out, all[i].value);
    }
    mem_free(all);
}

static void save_fronts(const struct fronts *f, struct buf *out)
{
    buf_put_varint(out, f->n);
    for (size_t i = 0; i < f->n; i++) {
        const struct front *front = &f->at[i];
        buf_put_varint(out, front->broker);
        buf_put_varint(out, front->life);
        buf_put_varint(out, front->settled_below);
        buf_put_varint(out, front->n);
        for (size_t k = 0; k < front->n; k++) {
            buf_put_varint(out, front->at[k].sequence);
            buf_put_varint(out, front->at[k].number);
            buf_put(out, front->at[k].id.at, sizeof front->at[k].id.at);
        }
    }
}

static void save_as(const struct partition *p, unsigned format, struct buf *out)
{
    buf_put_varint(out, format);
    buf_put_varint(out, p->next_number);
    buf_put_varint(out, p->trim_floor);
    buf_put_varint(out, p->epoch);
    buf_put_varint(out, p->lease_counter);
    codec_put_signed(out, p->known_ms);
    codec_put_signed(out, p->due_tail_ms);
    save_delays(p->delays, out);
    buf_put_varint(out, p->groups_n);
    for (size_t i = 0; i < p->groups_n; i++)
        save_group(p->groups[i], out);
    save_moves(&p->moves, out);
    save_dedup(&p->dedup, out);
    save_origins(&p->origins, out);
    if (format > SNAPSHOT_FORMAT_NO_LIVE)
        save_live(p, out);
    if (format > SNAPSHOT_FORMAT_NO_FRONTS)
        save_fronts(&p->fronts, out);
}

void partition_save(const struct partition *p, struct buf *out)
{
    save_as(p, SNAPSHOT_FORMAT, out);
}

bool partition_is_saved_as(const struct partition *p, struct bytes saved)
{
    struct cursor c = cursor_of(saved);
    uint64_t format = cursor_varint(&c);
    if (c.bad || format == 0 || format > SNAPSHOT_FORMAT)
        return false;
    if (format <= SNAPSHOT_FORMAT_NO_FRONTS && p->fronts.n > 0)
        return false; /* whoever wrote it would have refused that log */
    struct buf ours = BUF_EMPTY;
    save_as(p, (unsigned)format, &ours);
    bool same = bytes_equal(buf_bytes(&ours), saved);
    buf_fini(&ours);
    return same;
}

/* The second checksum is over the bytes in reverse: over the same bytes with another seed it would
 * be equal whenever the first is. */
uint64_t partition_hash(const struct partition *p)
{
    struct buf saved = BUF_EMPTY;
    partition_save(p, &saved);
    uint64_t forward = crc32c(0, saved.at, saved.n);
    for (size_t i = 0, k = saved.n - 1; i < k; i++, k--) {
        char byte = saved.at[i];
        saved.at[i] = saved.at[k];
        saved.at[k] = byte;
    }
    uint64_t backward = crc32c(0, saved.at, saved.n);
    buf_fini(&saved);
    return forward << 32 | backward;
}

// SPDX-License-Identifier: Apache-2.0
/* The forms of what a controller asks before an election, of asking for a snapshot, and of what is
 * said of silent brokers. */
#include "base/mem.h"
#include "peer/layout.h"

enum { STATE_PART_BYTES = 112 };
enum { FLAG_THERE = 1, FLAG_LEADING = 2, FLAG_READY = 4, FLAG_SWAP_OPEN = 8, FLAGS_ALL = 15 };

static const char ASK_MAGIC[4] = {'L', 'Q', 'S', PEER_WIRE_VERSION};
static const char STATE_MAGIC[4] = {'L', 'Q', 'T', PEER_WIRE_VERSION};
static const char SNAPSHOT_MAGIC[4] = {'L', 'Q', 'N', PEER_WIRE_VERSION};
static const char SILENT_MAGIC[4] = {'L', 'Q', 'U', PEER_WIRE_VERSION};

/* The magic and a count of parts that are all there. */
static enum err list_head_take(struct cursor *c, const char magic[4], size_t part_bytes, size_t *n)
{
    if (!layout_magic_take(c, magic))
        return ERR_CORRUPT;
    uint32_t count = cursor_u32(c);
    if (c->bad || count > WIRE_PARTS_MAX || c->left != count * part_bytes)
        return ERR_CORRUPT;
    *n = count;
    return ERR_OK;
}

static void list_head_put(struct buf *out, const char magic[4], size_t part_bytes, size_t n)
{
    CHECK(n <= WIRE_PARTS_MAX);
    buf_reserve(out, 8 + n * part_bytes);
    buf_put(out, magic, 4);
    buf_put_u32(out, (uint32_t)n);
}

/* ---- the question ---- */

void wire_state_ask_encode(const struct wire_partition *of, size_t n, struct buf *out)
{
    list_head_put(out, ASK_MAGIC, LAYOUT_PARTITION_BYTES, n);
    for (size_t i = 0; i < n; i++)
        layout_partition_put(out, &of[i]);
}

enum err wire_state_ask_decode(struct bytes b, struct wire_partition **of, size_t *n)
{
    struct cursor c = cursor_of(b);
    size_t count;
    enum err e = list_head_take(&c, ASK_MAGIC, LAYOUT_PARTITION_BYTES, &count);
    if (e != ERR_OK)
        return e;
    *of = mem_new_array(count, sizeof **of);
    for (size_t i = 0; i < count; i++)
        layout_partition_take(&c, &(*of)[i]);
    *n = count;
    return ERR_OK;
}

/* ---- the answer ---- */

static uint32_t flags_of(const struct wire_state_part *part)
{
    const struct replica_status *s = &part->status;
    return FLAG_THERE | (s->is_leading ? FLAG_LEADING : 0U) | (s->is_ready ? FLAG_READY : 0U) |
           (s->swap_is_open ? FLAG_SWAP_OPEN : 0U);
}

static void state_part_put(struct buf *out, const struct wire_state_part *part)
{
    static const struct replica_status none;
    const struct replica_status *s = part->is_there ? &part->status : &none;
    layout_partition_put(out, &part->of);
    buf_put_u32(out, part->is_there ? flags_of(part) : 0);
    buf_put_u32(out, (uint32_t)s->role);
    buf_put_u32(out, (uint32_t)s->health);
    buf_put_u32(out, (uint32_t)s->quarantine);
    buf_put_u32(out, s->leader);
    buf_put_u32(out, s->isr_size);
    buf_put_u32(out, s->min_isr);
    buf_put_u64(out, s->incarnation);
    buf_put_u64(out, s->epoch);
    buf_put_u64(out, (uint64_t)s->version);
    buf_put_u64(out, s->start);
    buf_put_u64(out, s->durable_end);
    buf_put_u64(out, s->last_epoch);
    buf_put_u64(out, s->high_water);
    buf_put_u64(out, s->leso);
}

void wire_state_encode(const struct wire_state_part *parts, size_t n, struct buf *out)
{
    list_head_put(out, STATE_MAGIC, STATE_PART_BYTES, n);
    for (size_t i = 0; i < n; i++)
        state_part_put(out, &parts[i]);
}

static bool state_part_take(struct cursor *c, struct wire_state_part *out)
{
    struct replica_status *s = &out->status;
    layout_partition_take(c, &out->of);
    uint32_t flags = cursor_u32(c), role = cursor_u32(c), health = cursor_u32(c),
             quarantine = cursor_u32(c);
    s->leader = cursor_u32(c);
    s->isr_size = cursor_u32(c);
    s->min_isr = cursor_u32(c);
    s->incarnation = cursor_u64(c);
    s->epoch = cursor_u64(c);
    s->version = (int64_t)cursor_u64(c);
    s->start = cursor_u64(c);
    s->durable_end = cursor_u64(c);
    s->last_epoch = cursor_u64(c);
    s->high_water = cursor_u64(c);
    s->leso = cursor_u64(c);
    out->is_there = (flags & FLAG_THERE) != 0;
    s->is_leading = (flags & FLAG_LEADING) != 0;
    s->is_ready = (flags & FLAG_READY) != 0;
    s->swap_is_open = (flags & FLAG_SWAP_OPEN) != 0;
    s->role = (enum replica_role)role;
    s->health = (enum replica_health)health;
    s->quarantine = (enum replica_quarantine)quarantine;
    return (flags & ~(uint32_t)FLAGS_ALL) == 0 && (out->is_there || flags == 0) &&
           role <= REPLICA_ROLE_LEADER && health <= REPLICA_HEALTH_QUARANTINED &&
           quarantine <= REPLICA_QUARANTINE_DISK;
}

enum err wire_state_decode(struct bytes b, struct wire_state_part **parts, size_t *n)
{
    struct cursor c = cursor_of(b);
    size_t count;
    enum err e = list_head_take(&c, STATE_MAGIC, STATE_PART_BYTES, &count);
    if (e != ERR_OK)
        return e;
    struct wire_state_part *all = mem_new_array(count, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        if (!state_part_take(&c, &all[i])) {
            mem_free(all);
            return ERR_CORRUPT;
        }
    }
    *parts = all;
    *n = count;
    return ERR_OK;
}

/* ---- snapshots ---- */

void wire_snapshot_ask_encode(const struct wire_partition *of, uint64_t epoch, struct buf *out)
{
    buf_put(out, SNAPSHOT_MAGIC, sizeof SNAPSHOT_MAGIC);
    layout_partition_put(out, of);
    buf_put_u64(out, epoch);
}

enum err wire_snapshot_ask_decode(struct bytes b, struct wire_partition *of, uint64_t *epoch)
{
    struct cursor c = cursor_of(b);
    struct wire_partition found = {0};
    if (!layout_magic_take(&c, SNAPSHOT_MAGIC))
        return ERR_CORRUPT;
    layout_partition_take(&c, &found);
    uint64_t found_epoch = cursor_u64(&c);
    if (c.bad || c.left != 0)
        return ERR_CORRUPT;
    *of = found;
    *epoch = found_epoch;
    return ERR_OK;
}

/* ---- silence ---- */

void wire_silent_encode(uint32_t broker, int64_t session, struct buf *out)
{
    buf_put(out, SILENT_MAGIC, sizeof SILENT_MAGIC);
    buf_put_u32(out, broker);
    buf_put_u64(out, (uint64_t)session);
}

enum err wire_silent_decode(struct bytes b, uint32_t *broker, int64_t *session)
{
    struct cursor c = cursor_of(b);
    if (!layout_magic_take(&c, SILENT_MAGIC))
        return ERR_CORRUPT;
    uint32_t found_broker = cursor_u32(&c);
    int64_t found_session = (int64_t)cursor_u64(&c);
    if (c.bad || c.left != 0)
        return ERR_CORRUPT;
    *broker = found_broker;
    *session = found_session;
    return ERR_OK;
}

// SPDX-License-Identifier: Apache-2.0
/* Answers. */
#include "base/check.h"
#include "route/wire.h"

void route_answer_put(enum route_kind kind, enum err e, struct buf *out)
{
    buf_put_u8(out, ROUTE_WIRE_VERSION);
    buf_put_u8(out, (uint8_t)kind);
    buf_put_u16(out, route_err_code(e));
}

void route_items_put(enum route_kind kind, const struct front_item *items, size_t n,
                     struct buf *out)
{
    buf_put_u16(out, (uint16_t)n);
    for (size_t i = 0; i < n; i++) {
        const struct front_item *item = &items[i];
        buf_put_u16(out, route_err_code(item->err));
        buf_put_u32(out, item->leader);
        if (kind == ROUTE_SEND) {
            buf_put(out, item->sent.id, sizeof item->sent.id);
            buf_put_u32(out, item->sent.partition);
            buf_put_u64(out, item->sent.number);
            buf_put_u8(out, item->sent.duplicate);
            buf_put_u64(out, item->sent.had.messages);
            buf_put_u64(out, item->sent.had.bytes);
        } else if (kind == ROUTE_PURGE) {
            buf_put_u64(out, item->finished);
        } else if (kind == ROUTE_COUNT) {
            buf_put_u64(out, item->counters.visible);
            buf_put_u64(out, item->counters.in_flight);
            buf_put_u64(out, item->counters.delayed);
            buf_put_u64(out, item->counters.moving);
        }
    }
}

void route_received_put(const struct queue_received *received, size_t n, struct buf *out)
{
    buf_put_u16(out, (uint16_t)n);
    for (size_t i = 0; i < n; i++) {
        const struct queue_received *m = &received[i];
        CHECK(m->attributes_n <= ROUTE_ATTRIBUTES_MAX);
        buf_put(out, m->id, sizeof m->id);
        buf_put(out, m->body_md5, sizeof m->body_md5);
        buf_put_u64(out, (uint64_t)m->sent_wall_ms);
        buf_put_u64(out, (uint64_t)m->first_received_wall_ms);
        buf_put_u32(out, m->receive_count);
        buf_put_u32(out, m->partition);
        buf_put_u64(out, m->number);
        buf_put_u8(out, m->tombstone);
        buf_put_sized(out, m->body);
        buf_put_sized(out, m->trace);
        buf_put_sized(out, m->group_id);
        buf_put_sized(out, m->dedup_id);
        buf_put_sized(out, m->key);
        buf_put_sized(out, m->origin);
        buf_put_sized(out, bytes_of_text(m->receipt));
        buf_put_u8(out, (uint8_t)m->attributes_n);
        for (size_t k = 0; k < m->attributes_n; k++) {
            buf_put_sized(out, m->attributes[k].name);
            buf_put_sized(out, m->attributes[k].data_type);
            buf_put_u8(out, m->attributes[k].binary);
            buf_put_sized(out, m->attributes[k].value);
        }
    }
}

static void raw_read(struct cursor *c, void *out, size_t n)
{
    struct bytes b = cursor_bytes(c, n);
    if (b.n == n)
        memcpy(out, b.at, n);
}

/* The answer's bytes are gone soon. Nothing stays NULL that a front shows. */
static struct bytes kept_read(struct cursor *c, struct arena *arena)
{
    struct bytes b = cursor_sized(c);
    return c->bad ? BYTES_NONE : arena_copy(arena, b);
}

static void item_read(struct cursor *c, enum front_verb_kind kind, struct front_item *item)
{
    item->err = route_err_of_code(cursor_u16(c));
    item->leader = cursor_u32(c);
    if (kind == FRONT_SEND) {
        raw_read(c, item->sent.id, sizeof item->sent.id);
        item->sent.partition = cursor_u32(c);
        item->sent.number = cursor_u64(c);
        item->sent.duplicate = cursor_u8(c) != 0;
        item->sent.had.messages = cursor_u64(c);
        item->sent.had.bytes = cursor_u64(c);
    } else if (kind == FRONT_PURGE) {
        item->finished = cursor_u64(c);
    } else if (kind == FRONT_COUNT) {
        item->counters.visible = cursor_u64(c);
        item->counters.in_flight = cursor_u64(c);
        item->counters.delayed = cursor_u64(c);
        item->counters.moving = cursor_u64(c);
    }
}

static void message_read(struct cursor *c, struct arena *arena, struct queue_received *m)
{
    memset(m, 0, sizeof *m);
    raw_read(c, m->id, sizeof m->id);
    raw_read(c, m->body_md5, sizeof m->body_md5);
    m->sent_wall_ms = (int64_t)cursor_u64(c);
    m->first_received_wall_ms = (int64_t)cursor_u64(c);
    m->receive_count = cursor_u32(c);
    m->partition = cursor_u32(c);
    m->number = cursor_u64(c);
    m->tombstone = cursor_u8(c) != 0;
    m->body = kept_read(c, arena);
    m->trace = kept_read(c, arena);
    m->group_id = kept_read(c, arena);
    m->dedup_id = kept_read(c, arena);
    m->key = kept_read(c, arena);
    m->origin = kept_read(c, arena);
    struct bytes receipt = cursor_sized(c);
    m->attributes_n = cursor_u8(c);
    if (receipt.n > QUEUE_RECEIPT_TEXT_MAX || m->attributes_n > ROUTE_ATTRIBUTES_MAX)
        c->bad = true;
    if (c->bad)
        return;
    memcpy(m->receipt, receipt.at, receipt.n);
    struct queue_attribute *at = arena_zeros(arena, m->attributes_n * sizeof *at);
    m->attributes = at;
    for (size_t i = 0; i < m->attributes_n && !c->bad; i++) {
        at[i].name = kept_read(c, arena);
        at[i].data_type = kept_read(c, arena);
        at[i].binary = cursor_u8(c) != 0;
        at[i].value = kept_read(c, arena);
    }
}

static enum err head_read(struct cursor *c, enum route_kind kind, enum err *e)
{
    uint8_t version = cursor_u8(c), got = cursor_u8(c);
    enum err whole = route_err_of_code(cursor_u16(c));
    if (c->bad || version != ROUTE_WIRE_VERSION || got != kind)
        return ERR_CORRUPT;
    *e = whole;
    return ERR_OK;
}

enum err route_hop_read(struct bytes b, struct front_hop *hop, enum err *e)
{
    struct cursor c = cursor_of(b);
    enum err whole;
    if (head_read(&c, route_kind_of(hop->kind), &whole) != ERR_OK)
        return ERR_CORRUPT;
    if (whole != ERR_OK) {
        *e = whole;
        return c.left == 0 ? ERR_OK : ERR_CORRUPT;
    }
    size_t n = cursor_u16(&c);
    if (hop->kind == FRONT_RECEIVE) {
        if (n > hop->receive->max)
            return ERR_CORRUPT;
        if (n > 0)
            hop->received = arena_get(hop->arena, n * sizeof *hop->received);
        for (size_t i = 0; i < n && !c.bad; i++)
            message_read(&c, hop->arena, &hop->received[i]);
    } else {
        if (n != hop->n)
            return ERR_CORRUPT;
        for (size_t i = 0; i < n && !c.bad; i++)
            item_read(&c, hop->kind, hop->items[i]);
    }
    if (c.bad || c.left > 0)
        return ERR_CORRUPT;
    hop->received_n = hop->kind == FRONT_RECEIVE ? n : 0;
    *e = ERR_OK;
    return ERR_OK;
}

enum err route_wait_read(struct bytes b, uint32_t *ready, enum err *e)
{
    struct cursor c = cursor_of(b);
    enum err whole;
    if (head_read(&c, ROUTE_WAIT, &whole) != ERR_OK)
        return ERR_CORRUPT;
    uint32_t n = whole == ERR_OK ? cursor_u32(&c) : 0;
    if (c.bad || c.left > 0)
        return ERR_CORRUPT;
    *ready = n;
    *e = whole;
    return ERR_OK;
}

void route_move_answer_put(enum err e, uint32_t leader, struct buf *out)
{
    route_answer_put(ROUTE_MOVE, e, out);
    buf_put_u32(out, leader);
}

enum err route_move_answer_read(struct bytes b, uint32_t *leader, enum err *e)
{
    struct cursor c = cursor_of(b);
    enum err whole;
    if (head_read(&c, ROUTE_MOVE, &whole) != ERR_OK)
        return ERR_CORRUPT;
    uint32_t named = cursor_u32(&c);
    if (c.bad || c.left > 0)
        return ERR_CORRUPT;
    *leader = whole == ERR_NOT_LEADER ? named : 0;
    *e = whole;
    return ERR_OK;
}

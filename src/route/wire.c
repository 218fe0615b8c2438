// SPDX-License-Identifier: Apache-2.0
#include "route/wire.h"

#include "base/check.h"

enum { FLAG_STRICT = 1, HOPS = 1, FLAG_TOMBSTONE = 1 };

static const struct {
    uint16_t code;
    enum err e;
} codes[] = {
    {0, ERR_OK},
    {1, ERR_INVALID},
    {2, ERR_NOT_FOUND},
    {3, ERR_STALE_RECEIPT},
    {4, ERR_LEASE_EXPIRED},
    {5, ERR_GONE},
    {6, ERR_OVER_LIMIT},
    {7, ERR_TOO_BIG},
    {8, ERR_BUSY},
    {9, ERR_FULL},
    {10, ERR_TOPIC_FULL},
    {11, ERR_NO_SPACE},
    {12, ERR_IO},
    {13, ERR_FAILED},
    {14, ERR_CORRUPT},
    {15, ERR_CLOSED},
    {16, ERR_STOPPING},
    {17, ERR_LOG_ONLY},
    {18, ERR_NEEDS_KEY},
    {19, ERR_NOT_LEADER},
    {20, ERR_UNKNOWN},
    {21, ERR_NOT_READY},
    {22, ERR_NOT_ENOUGH},
};
enum { CODES_N = sizeof codes / sizeof codes[0] };

uint16_t route_err_code(enum err e)
{
    for (unsigned i = 0; i < CODES_N; i++)
        if (codes[i].e == e)
            return codes[i].code;
    return route_err_code(ERR_UNKNOWN);
}

enum err route_err_of_code(uint16_t code)
{
    for (unsigned i = 0; i < CODES_N; i++)
        if (codes[i].code == code)
            return codes[i].e;
    return ERR_UNKNOWN;
}

enum route_kind route_kind_of(enum front_verb_kind kind)
{
    switch (kind) {
    case FRONT_SEND:
        return ROUTE_SEND;
    case FRONT_CHANGE:
        return ROUTE_CHANGE;
    case FRONT_PURGE:
        return ROUTE_PURGE;
    case FRONT_COUNT:
        return ROUTE_COUNT;
    case FRONT_RECEIVE:
        return ROUTE_RECEIVE;
    }
    UNREACHABLE();
}

/* ---- requests ---- */

static void head_put(enum route_kind kind, bool strict, const uint8_t topic[16], uint32_t left_ms,
                     struct bytes group, struct buf *out)
{
    buf_put_u8(out, ROUTE_WIRE_VERSION);
    buf_put_u8(out, (uint8_t)kind);
    buf_put_u8(out, HOPS);
    buf_put_u8(out, strict ? FLAG_STRICT : 0);
    buf_put(out, topic, 16);
    buf_put_u32(out, left_ms);
    buf_put_sized(out, group);
}

static void attributes_put(const struct queue_attribute *at, size_t n, struct buf *out)
{
    buf_put_u8(out, (uint8_t)n);
    for (size_t i = 0; i < n; i++) {
        buf_put_sized(out, at[i].name);
        buf_put_sized(out, at[i].data_type);
        buf_put_u8(out, at[i].binary);
        buf_put_sized(out, at[i].value);
    }
}

static void repeat_put(const struct queue_repeat *key, struct buf *out)
{
    buf_put_u64(out, key->life);
    buf_put_u64(out, key->sequence);
    buf_put_u64(out, key->settled_below);
}

static void message_put(const struct queue_message *m, struct buf *out)
{
    CHECK(m->attributes_n <= ROUTE_ATTRIBUTES_MAX);
    buf_put_u8(out, m->tombstone ? FLAG_TOMBSTONE : 0);
    buf_put_u64(out, (uint64_t)m->delay_ms);
    buf_put(out, m->body_md5, sizeof m->body_md5);
    buf_put_sized(out, m->body);
    buf_put_sized(out, m->trace);
    buf_put_sized(out, m->group_id);
    buf_put_sized(out, m->dedup_id);
    buf_put_sized(out, m->key);
    attributes_put(m->attributes, m->attributes_n, out);
}

static void receive_put(const struct queue_receive *r, struct buf *out)
{
    buf_put_u8(out, (uint8_t)r->max);
    buf_put_u64(out, (uint64_t)r->visibility_ms);
    buf_put_sized(out, r->holder);
    buf_put_sized(out, r->attempt_id);
}

void route_hop_put(const struct front_hop *hop, uint32_t left_ms, struct buf *out)
{
    if (hop->kind == FRONT_RECEIVE) {
        head_put(ROUTE_RECEIVE, false, hop->topic, left_ms, hop->receive->group, out);
        receive_put(hop->receive, out);
        return;
    }
    CHECK(hop->n <= ROUTE_ITEMS_MAX);
    head_put(route_kind_of(hop->kind), hop->strict, hop->topic, left_ms, hop->group, out);
    buf_put_u16(out, (uint16_t)hop->n);
    for (size_t i = 0; i < hop->n; i++) {
        const struct front_item *item = hop->items[i];
        buf_put_u32(out, item->partition);
        if (hop->kind == FRONT_SEND) {
            repeat_put(&item->repeat, out);
            message_put(item->message, out);
        } else if (hop->kind == FRONT_CHANGE) {
            buf_put_u8(out, item->is_delete);
            buf_put_u64(out, (uint64_t)item->visibility_ms);
            buf_put_sized(out, item->receipt);
        }
    }
}

void route_wait_put(const uint8_t topic[16], struct bytes group, uint32_t left_ms,
                    uint32_t pause_ms, struct buf *out)
{
    head_put(ROUTE_WAIT, false, topic, left_ms, group, out);
    buf_put_u32(out, pause_ms);
}

void route_give_back_put(const uint8_t topic[16], const struct queue_received *received, size_t n,
                         struct buf *out)
{
    head_put(ROUTE_GIVE_BACK, false, topic, 0, BYTES_NONE, out);
    buf_put_u16(out, (uint16_t)n);
    for (size_t i = 0; i < n; i++)
        buf_put_sized(out, bytes_of_text(received[i].receipt));
}

void route_move_put(const struct queue_move *m, uint32_t left_ms, struct buf *out)
{
    CHECK(m->message.n <= QUEUE_MOVE_MESSAGE_BYTES_MAX);
    buf_reserve(out, m->message.n + 64);
    head_put(ROUTE_MOVE, false, m->topic, left_ms, BYTES_NONE, out);
    buf_put_u32(out, m->partition);
    buf_put_u64(out, m->source_epoch);
    buf_put_u64(out, (uint64_t)m->age_ms);
    buf_put_sized(out, m->message);
}

/* At most `max` bytes, else the whole is bad. */
static struct bytes sized_read(struct cursor *c, size_t max)
{
    struct bytes b = cursor_sized(c);
    if (b.n <= max)
        return b;
    c->bad = true;
    return BYTES_NONE;
}

static bool bool_read(struct cursor *c)
{
    uint8_t v = cursor_u8(c);
    c->bad = c->bad || v > 1;
    return v == 1;
}

/* Neither is ever empty. */
static struct bytes name_read(struct cursor *c)
{
    struct bytes name = sized_read(c, QUEUE_KEY_BYTES_MAX);
    c->bad = c->bad || name.n == 0;
    return name;
}

/* `*bytes` grows by theirs. */
static const struct queue_attribute *attributes_read(struct cursor *c, struct arena *arena,
                                                     size_t *n, size_t *bytes)
{
    size_t count = cursor_u8(c);
    if (count > ROUTE_ATTRIBUTES_MAX)
        c->bad = true;
    struct queue_attribute *at = c->bad ? NULL : arena_zeros(arena, count * sizeof *at);
    for (size_t i = 0; i < count && !c->bad; i++) {
        at[i].name = name_read(c);
        at[i].data_type = name_read(c);
        at[i].binary = bool_read(c);
        at[i].value = sized_read(c, QUEUE_BODY_BYTES_MAX);
        *bytes += at[i].name.n + at[i].data_type.n + at[i].value.n;
    }
    *n = c->bad ? 0 : count;
    return at;
}

static void md5_read(struct cursor *c, uint8_t md5[16])
{
    struct bytes b = cursor_bytes(c, 16);
    if (b.n == 16)
        memcpy(md5, b.at, 16);
}

/* What a record cannot hold is refused here: the queue believes its callers. */
static void message_read(struct cursor *c, struct arena *arena, struct queue_message *m)
{
    m->tombstone = bool_read(c);
    m->delay_ms = (int64_t)cursor_u64(c);
    md5_read(c, m->body_md5);
    m->body = sized_read(c, QUEUE_BODY_BYTES_MAX);
    m->trace = sized_read(c, QUEUE_KEY_BYTES_MAX);
    m->group_id = sized_read(c, QUEUE_ID_BYTES_MAX);
    m->dedup_id = sized_read(c, QUEUE_ID_BYTES_MAX);
    m->key = sized_read(c, QUEUE_KEY_BYTES_MAX);
    size_t bytes = m->body.n;
    m->attributes = attributes_read(c, arena, &m->attributes_n, &bytes);
    bool whole = m->tombstone ? m->body.n == 0 && m->key.n > 0 : m->body.n > 0;
    if (!whole || bytes > ROUTE_MESSAGE_BYTES_MAX || m->delay_ms > TOPIC_DELAY_MS_MAX)
        c->bad = true;
}

/* Again within what a record can hold. */
static void repeat_read(struct cursor *c, struct queue_repeat *key)
{
    key->life = cursor_u64(c);
    key->sequence = cursor_u64(c);
    key->settled_below = cursor_u64(c);
    if (key->sequence >= INT64_MAX || key->settled_below > key->sequence ||
        key->sequence - key->settled_below >= QUEUE_REPEAT_WINDOW)
        c->bad = true;
}

static void item_read(struct cursor *c, enum route_kind kind, struct arena *arena,
                      struct front_item *item)
{
    item->partition = cursor_u32(c);
    if (kind == ROUTE_SEND) {
        struct queue_message *m = arena_zeros(arena, sizeof *m);
        repeat_read(c, &item->repeat);
        message_read(c, arena, m);
        item->message = m;
    } else if (kind == ROUTE_CHANGE) {
        item->is_delete = bool_read(c);
        item->visibility_ms = (int64_t)cursor_u64(c);
        item->receipt = cursor_sized(c);
        if (item->visibility_ms < 0 || item->visibility_ms > TOPIC_VISIBILITY_MS_MAX)
            c->bad = true;
    }
}

static void items_read(struct cursor *c, struct arena *arena, struct route_request *out)
{
    size_t max = out->kind == ROUTE_SEND ? QUEUE_SEND_MAX : ROUTE_ITEMS_MAX;
    out->n = cursor_u16(c);
    if (out->n < 1 || out->n > max || c->left > ROUTE_ITEMS_BYTES_MAX)
        c->bad = true;
    out->items = c->bad ? NULL : arena_zeros(arena, out->n * sizeof *out->items);
    for (size_t i = 0; i < out->n && !c->bad; i++)
        item_read(c, out->kind, arena, &out->items[i]);
}

static void receive_read(struct cursor *c, struct route_request *out)
{
    struct queue_receive *r = &out->receive;
    r->group = out->group;
    r->max = cursor_u8(c);
    r->visibility_ms = (int64_t)cursor_u64(c);
    r->holder = sized_read(c, QUEUE_HOLDER_BYTES_MAX);
    r->attempt_id = sized_read(c, QUEUE_ID_BYTES_MAX);
    if (r->max < 1 || r->max > QUEUE_BATCH_MAX || r->visibility_ms < -1 ||
        r->visibility_ms > TOPIC_VISIBILITY_MS_MAX)
        c->bad = true;
}

static void receipts_read(struct cursor *c, struct arena *arena, struct route_request *out)
{
    out->n = cursor_u16(c);
    if (out->n < 1 || out->n > QUEUE_BATCH_MAX)
        c->bad = true;
    out->received = c->bad ? NULL : arena_zeros(arena, out->n * sizeof *out->received);
    for (size_t i = 0; i < out->n && !c->bad; i++) {
        struct bytes text = sized_read(c, QUEUE_RECEIPT_TEXT_MAX);
        if (text.n > 0)
            memcpy(out->received[i].receipt, text.at, text.n);
    }
}

static void move_read(struct cursor *c, struct queue_move *m, const uint8_t topic[16])
{
    memcpy(m->topic, topic, sizeof m->topic);
    m->partition = cursor_u32(c);
    m->source_epoch = cursor_u64(c);
    m->age_ms = (int64_t)cursor_u64(c);
    m->message = sized_read(c, QUEUE_MOVE_MESSAGE_BYTES_MAX);
    if (m->age_ms < 0 || m->age_ms > QUEUE_MOVE_AGE_MS_MAX)
        c->bad = true;
}

enum err route_request_read(struct bytes b, struct arena *arena, struct route_request *out)
{
    struct cursor c = cursor_of(b);
    struct route_request in = {.kind = ROUTE_SEND};
    uint8_t version = cursor_u8(&c), kind = cursor_u8(&c), hops = cursor_u8(&c);
    uint8_t flags = cursor_u8(&c);
    if (version != ROUTE_WIRE_VERSION || kind < ROUTE_SEND || kind > ROUTE_MOVE || hops != HOPS ||
        flags > FLAG_STRICT)
        return ERR_CORRUPT;
    in.kind = (enum route_kind)kind;
    in.strict = flags == FLAG_STRICT;
    md5_read(&c, in.topic);
    in.left_ms = cursor_u32(&c);
    in.group = sized_read(&c, QUEUE_ID_BYTES_MAX);
    if (in.kind <= ROUTE_COUNT)
        items_read(&c, arena, &in);
    else if (in.kind == ROUTE_RECEIVE)
        receive_read(&c, &in);
    else if (in.kind == ROUTE_WAIT)
        in.pause_ms = cursor_u32(&c);
    else if (in.kind == ROUTE_GIVE_BACK)
        receipts_read(&c, arena, &in);
    else
        move_read(&c, &in.move, in.topic);
    if (c.bad || c.left > 0)
        return ERR_CORRUPT;
    *out = in;
    return ERR_OK;
}

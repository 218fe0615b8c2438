// SPDX-License-Identifier: Apache-2.0
#include "partition/record_message.h"

#include "partition/codec.h"

/* RECORDS.md, "MESSAGE". Bits 8, 9, 11 and 12 are reserved and refused like any other unknown bit.
 */
enum message_flag {
    MESSAGE_DELAY_IS_DEFAULT = 1 << 0,
    MESSAGE_DUE = 1 << 1,
    MESSAGE_RECEIVES = 1 << 2,
    MESSAGE_ATTRIBUTES = 1 << 3,
    MESSAGE_TRACE = 1 << 4,
    MESSAGE_GROUP = 1 << 5,
    MESSAGE_DEDUP = 1 << 6,
    MESSAGE_MOVED = 1 << 7,
    MESSAGE_REPEAT = 1 << 10,
    MESSAGE_KEY = 1 << 13,
    MESSAGE_TOMBSTONE = 1 << 14,
    MESSAGE_FLAGS_KNOWN = ((1 << 8) - 1) | MESSAGE_REPEAT | MESSAGE_KEY | MESSAGE_TOMBSTONE,
};

bool id_hash_is_none(const struct id_hash *hash)
{
    static const struct id_hash none;
    return memcmp(hash, &none, sizeof none) == 0;
}

static unsigned flags_of(const struct record_message *m)
{
    unsigned flags = 0;
    if (m->delay_is_default)
        flags |= MESSAGE_DELAY_IS_DEFAULT;
    if (m->due_ms != m->accepted_ms)
        flags |= MESSAGE_DUE;
    if (m->receive_count != 0)
        flags |= MESSAGE_RECEIVES;
    if (m->attributes.n > 0)
        flags |= MESSAGE_ATTRIBUTES;
    if (m->trace.n > 0)
        flags |= MESSAGE_TRACE;
    if (m->group_id.n > 0 || !id_hash_is_none(&m->group_hash))
        flags |= MESSAGE_GROUP;
    if (m->dedup_id.n > 0 || !id_hash_is_none(&m->dedup_hash) || m->dedup_until_ms != 0)
        flags |= MESSAGE_DEDUP;
    if (m->moved)
        flags |= MESSAGE_MOVED;
    if (m->repeat.front != 0)
        flags |= MESSAGE_REPEAT;
    if (m->key.n > 0)
        flags |= MESSAGE_KEY;
    if (m->tombstone)
        flags |= MESSAGE_TOMBSTONE;
    return flags;
}

static void put_origin(const struct record_origin *o, struct buf *out)
{
    CHECK(o->name.n <= RECORD_ID_BYTES_MAX);
    CHECK(o->move_seq < CODEC_NUMBER_MAX && o->moves_closed < CODEC_NUMBER_MAX);
    buf_put(out, o->topic.at, sizeof o->topic.at);
    buf_put_sized(out, o->name);
    buf_put_varint(out, o->partition);
    buf_put_varint(out, o->move_seq);
    buf_put_varint(out, o->moves_closed);
}

static void put_repeat(const struct record_repeat *k, struct buf *out)
{
    CHECK(k->front <= RECORD_FRONT_MAX && k->sequence < CODEC_NUMBER_MAX);
    CHECK(k->settled_below <= k->sequence);
    CHECK(k->sequence - k->settled_below < RECORD_REPEAT_WINDOW);
    buf_put_varint(out, k->front);
    buf_put_varint(out, k->life);
    buf_put_varint(out, k->sequence);
    buf_put_varint(out, k->sequence - k->settled_below);
}

enum {
    VARINT_BYTES_MAX = 10,
    /* Flags, id, digest, three times. */
    ALWAYS_BYTES_MAX = 3 + 16 + 16 + 3 * VARINT_BYTES_MAX,
    LENGTH_BYTES_MAX = 4, /* of a part: of RECORD_BODY_BYTES_MAX */
};
_Static_assert(RECORD_BODY_BYTES_MAX < 1 << 28, "a part's length has four bytes at most");

static size_t part_bytes_most(struct bytes part)
{
    return part.n == 0 ? 0 : LENGTH_BYTES_MAX + part.n;
}

size_t record_message_bytes_most(const struct record_message *m)
{
    size_t bytes = ALWAYS_BYTES_MAX + part_bytes_most(m->attributes) + part_bytes_most(m->trace) +
                   part_bytes_most(m->key) + m->body.n;
    if (m->receive_count != 0)
        bytes += VARINT_BYTES_MAX;
    if (m->group_id.n > 0 || !id_hash_is_none(&m->group_hash))
        bytes += LENGTH_BYTES_MAX + m->group_id.n + sizeof m->group_hash.at;
    if (m->dedup_id.n > 0 || !id_hash_is_none(&m->dedup_hash) || m->dedup_until_ms != 0)
        bytes += LENGTH_BYTES_MAX + m->dedup_id.n + sizeof m->dedup_hash.at + VARINT_BYTES_MAX;
    if (m->moved)
        bytes +=
            sizeof m->origin.topic.at + LENGTH_BYTES_MAX + m->origin.name.n + 3 * VARINT_BYTES_MAX;
    if (m->repeat.front != 0)
        bytes += 4 * VARINT_BYTES_MAX;
    return bytes;
}

void record_message_encode(const struct record_message *m, struct buf *out)
{
    CHECK(m->tombstone ? m->body.n == 0 && m->key.n > 0 : m->body.n >= 1);
    CHECK(m->body.n <= RECORD_BODY_BYTES_MAX && m->key.n <= RECORD_ID_BYTES_MAX);
    CHECK(m->group_id.n <= RECORD_ID_BYTES_MAX && m->dedup_id.n <= RECORD_ID_BYTES_MAX);
    CHECK(!m->moved || m->repeat.front == 0);
    unsigned flags = flags_of(m);
    size_t most = record_message_bytes_most(m), begin = out->n;
    buf_reserve(out, most);
    buf_put_varint(out, flags);
    buf_put(out, m->id.at, sizeof m->id.at);
    buf_put(out, m->body_md5, sizeof m->body_md5);
    codec_put_time(out, m->accepted_ms);
    codec_put_time_after(out, m->sent_wall_ms, m->accepted_ms);
    if (flags & MESSAGE_DUE)
        codec_put_time_after(out, m->due_ms, m->accepted_ms);
    if (flags & MESSAGE_RECEIVES)
        buf_put_varint(out, m->receive_count);
    if (flags & MESSAGE_ATTRIBUTES)
        buf_put_sized(out, m->attributes);
    if (flags & MESSAGE_TRACE)
        buf_put_sized(out, m->trace);
    if (flags & MESSAGE_GROUP) {
        buf_put_sized(out, m->group_id);
        buf_put(out, m->group_hash.at, sizeof m->group_hash.at);
    }
    if (flags & MESSAGE_DEDUP) {
        buf_put_sized(out, m->dedup_id);
        buf_put(out, m->dedup_hash.at, sizeof m->dedup_hash.at);
        codec_put_time_after(out, m->dedup_until_ms, m->accepted_ms);
    }
    if (flags & MESSAGE_MOVED)
        put_origin(&m->origin, out);
    if (flags & MESSAGE_REPEAT)
        put_repeat(&m->repeat, out);
    if (flags & MESSAGE_KEY)
        buf_put_sized(out, m->key);
    buf_put_bytes(out, m->body);
    CHECK(out->n - begin <= most);
}

static bool attributes_are_well_formed(struct bytes list)
{
    struct record_attribute a;
    while (record_attribute_next(&list, &a))
        ;
    return list.n == 0;
}

static void read_origin(struct cursor *c, struct record_origin *o)
{
    codec_copy(c, o->topic.at, sizeof o->topic.at);
    o->name = codec_sized_upto(c, RECORD_ID_BYTES_MAX);
    o->partition = codec_u32(c);
    o->move_seq = codec_number(c);
    o->moves_closed = codec_number(c);
}

static void read_repeat(struct cursor *c, struct record_repeat *k)
{
    k->front = (uint32_t)codec_upto(c, RECORD_FRONT_MAX);
    k->life = cursor_varint(c);
    k->sequence = codec_number(c);
    uint64_t open = codec_upto(c, RECORD_REPEAT_WINDOW - 1);
    if (k->front == 0 || open > k->sequence)
        c->bad = true;
    k->settled_below = c->bad ? 0 : k->sequence - open;
}

enum err record_message_decode(struct bytes payload, struct record_message *out)
{
    struct cursor c = cursor_of(payload);
    uint64_t flags = cursor_varint(&c);
    if (c.bad)
        return ERR_CORRUPT;
    if (flags & ~(uint64_t)MESSAGE_FLAGS_KNOWN)
        return ERR_NEWER_FORMAT;
    struct record_message m = {.delay_is_default = flags & MESSAGE_DELAY_IS_DEFAULT,
                               .moved = flags & MESSAGE_MOVED,
                               .tombstone = flags & MESSAGE_TOMBSTONE};
    codec_copy(&c, m.id.at, sizeof m.id.at);
    codec_copy(&c, m.body_md5, sizeof m.body_md5);
    m.accepted_ms = codec_time(&c);
    m.sent_wall_ms = codec_time_after(&c, m.accepted_ms);
    m.due_ms = flags & MESSAGE_DUE ? codec_time_after(&c, m.accepted_ms) : m.accepted_ms;
    if (flags & MESSAGE_RECEIVES)
        m.receive_count = codec_u32(&c);
    if (flags & MESSAGE_ATTRIBUTES)
        m.attributes = cursor_sized(&c);
    if (flags & MESSAGE_TRACE)
        m.trace = cursor_sized(&c);
    if (flags & MESSAGE_GROUP) {
        m.group_id = codec_sized_upto(&c, RECORD_ID_BYTES_MAX);
        codec_copy(&c, m.group_hash.at, sizeof m.group_hash.at);
    }
    if (flags & MESSAGE_DEDUP) {
        m.dedup_id = codec_sized_upto(&c, RECORD_ID_BYTES_MAX);
        codec_copy(&c, m.dedup_hash.at, sizeof m.dedup_hash.at);
        m.dedup_until_ms = codec_time_after(&c, m.accepted_ms);
    }
    if (m.moved)
        read_origin(&c, &m.origin);
    if (flags & MESSAGE_REPEAT) {
        read_repeat(&c, &m.repeat);
        c.bad = c.bad || m.moved;
    }
    if (flags & MESSAGE_KEY) {
        m.key = codec_sized_upto(&c, RECORD_ID_BYTES_MAX);
        c.bad = c.bad || m.key.n == 0;
    }
    m.body = codec_rest(&c);
    bool whole = m.tombstone ? m.body.n == 0 && m.key.n > 0 : m.body.n >= 1;
    if (c.bad || !whole || m.body.n > RECORD_BODY_BYTES_MAX ||
        !attributes_are_well_formed(m.attributes))
        return ERR_CORRUPT;
    *out = m;
    return ERR_OK;
}

uint32_t record_message_bytes(const struct record_message *m)
{
    struct bytes list = m->attributes;
    struct record_attribute a;
    size_t bytes = m->body.n + m->key.n;
    while (record_attribute_next(&list, &a))
        bytes += a.name.n + a.data_type.n + a.value.n;
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

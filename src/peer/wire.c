// SPDX-License-Identifier: Apache-2.0
/* The fetch's forms; WIRE.md has their bytes. */
#include "peer/wire.h"

#include "base/mem.h"
#include "peer/layout.h"

enum {
    FETCH_HEAD_BYTES = 16,
    FETCH_PART_BYTES = 72,
    ANSWER_HEAD_BYTES = 8,
    ANSWER_PART_BYTES = 92,
};

static const char FETCH_MAGIC[4] = {'L', 'Q', 'F', PEER_WIRE_VERSION};
static const char ANSWER_MAGIC[4] = {'L', 'Q', 'A', PEER_WIRE_VERSION};

void layout_partition_put(struct buf *out, const struct wire_partition *of)
{
    buf_put(out, of->topic, sizeof of->topic);
    buf_put_u32(out, of->partition);
}

void layout_partition_take(struct cursor *c, struct wire_partition *of)
{
    struct bytes topic = cursor_bytes(c, sizeof of->topic);
    if (topic.n == sizeof of->topic)
        memcpy(of->topic, topic.at, sizeof of->topic);
    of->partition = cursor_u32(c);
}

bool layout_magic_take(struct cursor *c, const char magic[4])
{
    struct bytes found = cursor_bytes(c, 4);
    return !c->bad && memcmp(found.at, magic, 4) == 0;
}

/* ---- request ---- */

void wire_fetch_encode(const struct wire_fetch *f, struct buf *out)
{
    CHECK(f->parts_n <= WIRE_PARTS_MAX);
    buf_reserve(out, FETCH_HEAD_BYTES + f->parts_n * FETCH_PART_BYTES);
    buf_put(out, FETCH_MAGIC, sizeof FETCH_MAGIC);
    buf_put_u32(out, f->wait_ms);
    buf_put_u32(out, f->bytes_max);
    buf_put_u32(out, (uint32_t)f->parts_n);
    for (size_t i = 0; i < f->parts_n; i++) {
        const struct replica_fetch *r = &f->parts[i].request;
        layout_partition_put(out, &f->parts[i].of);
        buf_put_u32(out, r->broker);
        buf_put_u64(out, r->serial);
        buf_put_u64(out, r->epoch);
        buf_put_u64(out, r->incarnation);
        buf_put_u64(out, r->offset);
        buf_put_u64(out, r->last_epoch);
        buf_put_u64(out, (uint64_t)r->echo_ms);
    }
}

static void fetch_part_take(struct cursor *c, struct wire_fetch_part *out)
{
    struct replica_fetch *r = &out->request;
    layout_partition_take(c, &out->of);
    r->broker = cursor_u32(c);
    r->serial = cursor_u64(c);
    r->epoch = cursor_u64(c);
    r->incarnation = cursor_u64(c);
    r->offset = cursor_u64(c);
    r->last_epoch = cursor_u64(c);
    r->echo_ms = (int64_t)cursor_u64(c);
}

enum err wire_fetch_decode(struct bytes b, struct wire_fetch *out)
{
    struct cursor c = cursor_of(b);
    struct wire_fetch f = {0};
    if (!layout_magic_take(&c, FETCH_MAGIC))
        return ERR_CORRUPT;
    f.wait_ms = cursor_u32(&c);
    f.bytes_max = cursor_u32(&c);
    f.parts_n = cursor_u32(&c);
    /* The count is believed only when as many parts are there, so it cannot make us allocate. */
    if (c.bad || f.parts_n > WIRE_PARTS_MAX || c.left != f.parts_n * FETCH_PART_BYTES)
        return ERR_CORRUPT;
    f.parts = mem_new_array(f.parts_n, sizeof *f.parts);
    for (size_t i = 0; i < f.parts_n; i++)
        fetch_part_take(&c, &f.parts[i]);
    CHECK(!c.bad && c.left == 0);
    *out = f;
    return ERR_OK;
}

void wire_fetch_fini(struct wire_fetch *f)
{
    mem_free(f->parts);
    *f = (struct wire_fetch){0};
}

/* ---- answer ---- */

void wire_answer_begin(struct buf *out)
{
    buf_put(out, ANSWER_MAGIC, sizeof ANSWER_MAGIC);
    buf_put_u32(out, 0);
}

size_t wire_answer_part_begin(struct buf *out, const struct wire_partition *of,
                              const struct replica_answer *a)
{
    buf_reserve(out, ANSWER_PART_BYTES);
    layout_partition_put(out, of);
    buf_put_u32(out, (uint32_t)a->status);
    buf_put_u64(out, a->serial);
    buf_put_u64(out, a->epoch);
    buf_put_u64(out, (uint64_t)a->sent_ms);
    buf_put_u64(out, a->high_water);
    buf_put_u64(out, a->start);
    buf_put_u64(out, a->start_last_epoch);
    buf_put_u64(out, a->diverge_epoch);
    buf_put_u64(out, a->diverge_end);
    buf_put_u32(out, 0);
    return out->n;
}

void wire_answer_part_end(struct buf *out, size_t begin)
{
    CHECK(begin <= out->n && out->n - begin <= UINT32_MAX);
    le_store_u32(out->at + begin - sizeof(uint32_t), (uint32_t)(out->n - begin));
}

void wire_answer_put(struct buf *out, const struct wire_answer_part *part)
{
    size_t begin = wire_answer_part_begin(out, &part->of, &part->answer);
    buf_put_bytes(out, part->batches);
    wire_answer_part_end(out, begin);
}

static enum err answer_head_take(struct bytes *rest)
{
    struct cursor c = cursor_of(*rest);
    if (!layout_magic_take(&c, ANSWER_MAGIC) || cursor_u32(&c) != 0 || c.bad)
        return ERR_CORRUPT;
    *rest = (struct bytes){c.at, c.left};
    return ERR_OK;
}

enum err wire_answer_next(struct bytes *rest, bool *head, struct wire_answer_part *out)
{
    if (!*head) {
        enum err e = answer_head_take(rest);
        if (e != ERR_OK)
            return e;
        *head = true;
    }
    if (rest->n == 0)
        return ERR_NOT_FOUND;
    struct cursor c = cursor_of(*rest);
    struct wire_answer_part part = {0};
    struct replica_answer *a = &part.answer;
    layout_partition_take(&c, &part.of);
    uint32_t status = cursor_u32(&c);
    a->serial = cursor_u64(&c);
    a->epoch = cursor_u64(&c);
    a->sent_ms = (int64_t)cursor_u64(&c);
    a->high_water = cursor_u64(&c);
    a->start = cursor_u64(&c);
    a->start_last_epoch = cursor_u64(&c);
    a->diverge_epoch = cursor_u64(&c);
    a->diverge_end = cursor_u64(&c);
    part.batches = cursor_bytes(&c, cursor_u32(&c));
    if (c.bad || status > REPLICA_FETCH_BAD_INCARNATION)
        return ERR_CORRUPT;
    a->status = (enum replica_fetch_status)status;
    *rest = (struct bytes){c.at, c.left};
    *out = part;
    return ERR_OK;
}

_Static_assert(ANSWER_HEAD_BYTES == sizeof ANSWER_MAGIC + sizeof(uint32_t), "as in WIRE.md");

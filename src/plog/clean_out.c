// SPDX-License-Identifier: Apache-2.0
/* What a cleaned segment is made of: batches as they were, batches cut to runs of wanted messages,
 * and GAPs for all else. */
#include "base/mem.h"
#include "plog/clean.h"
#include "plog/index.h"

void clean_out_init(struct clean_out *o, uint64_t name)
{
    *o = (struct clean_out){
        .segment = {.name = name, .number = NUMBER_UNKNOWN},
    };
}

void clean_out_fini(struct clean_out *o)
{
    buf_fini(&o->bytes);
    mem_free(o->segment.pending);
    *o = (struct clean_out){0};
}

/* The next batch of the new file begins with this header and is n bytes long. */
static void put_place(struct clean_out *o, const struct batch_header *h, size_t n)
{
    if (o->position == 0)
        o->segment.number = h->first_number;
    if (o->position - o->indexed_position >= INDEX_STEP_BYTES) {
        index_add_pending(&o->segment, h, o->position);
        o->indexed_position = o->position;
    }
    o->position += n;
}

static void put_gap(struct clean_out *o)
{
    char at[BATCH_HEADER_BYTES];
    if (o->gap.records == 0)
        return;
    batch_gap_store(at, &o->gap);
    put_place(o, &o->gap, sizeof at);
    buf_put(&o->bytes, at, sizeof at);
    o->gap.records = 0;
}

void clean_out_gap(struct clean_out *o, const struct batch_header *h)
{
    struct batch_header *g = &o->gap;
    if (g->records > 0 && (g->epoch != h->epoch || h->records > UINT32_MAX - g->records))
        put_gap(o);
    if (g->records == 0) {
        *g = *h;
        g->hw_hint = 0;
        return;
    }
    CHECK(batch_end(g) == h->base_offset && batch_end_number(g) == h->first_number);
    g->records += h->records;
    g->messages += h->messages;
    g->leader_ms = h->leader_ms;
}

static void put_whole(struct clean_out *o, struct bytes batch, const struct batch_header *h)
{
    put_gap(o);
    put_place(o, h, batch.n);
    buf_put_bytes(&o->bytes, batch);
    o->messages += h->messages;
}

/* A stretch of records of one batch that go the same way. */
struct stretch {
    bool wanted;
    struct batch_header h; /* of the stretch as a batch of its own */
    struct bytes records;
};

/* Takes the next stretch off `c`; `at` is where it begins, and goes on behind it. */
static enum err take_stretch(struct cursor *c, struct batch_header *at,
                             const struct batch_header *h, const bool *wanted, struct stretch *out)
{
    struct stretch s = {.h = *at, .records = {c->at, 0}};
    s.h.records = s.h.messages = 0;
    while (c->left > 0) {
        uint8_t type;
        struct bytes payload;
        struct cursor before = *c;
        enum err e = batch_record(c, &type, &payload);
        uint64_t number = batch_end_number(&s.h);
        bool message = type == RECORD_TYPE_MESSAGE;
        if (e != ERR_OK || batch_end(&s.h) >= batch_end(h) ||
            (message && number >= batch_end_number(h)))
            return ERR_CORRUPT;
        bool stays = message && wanted[number - h->first_number];
        if (s.h.records > 0 && stays != s.wanted) {
            *c = before;
            break;
        }
        s.wanted = stays;
        s.h.records++;
        s.h.messages += message;
        s.records.n += before.left - c->left;
    }
    at->base_offset = batch_end(&s.h);
    at->first_number = batch_end_number(&s.h);
    *out = s;
    return ERR_OK;
}

static void put_stretch(struct clean_out *o, const struct stretch *s)
{
    if (!s->wanted) {
        clean_out_gap(o, &s->h);
        return;
    }
    struct plog_batch *b = plog_batch_new(s->records.n);
    buf_put_bytes(&b->bytes, s->records);
    b->h = s->h;
    batch_seal(b);
    put_whole(o, buf_bytes(&b->bytes), &b->h);
    plog_batch_free(b);
}

/* What the batch would take when cut; puts it out too when `put`. */
static enum err cut(struct clean_out *o, struct bytes batch, const struct batch_header *h,
                    const bool *wanted, bool put, size_t *bytes)
{
    struct cursor c = cursor_of(
        (struct bytes){(const char *)batch.at + BATCH_HEADER_BYTES, batch.n - BATCH_HEADER_BYTES});
    struct batch_header at = *h;
    *bytes = 0;
    while (c.left > 0) {
        struct stretch s;
        enum err e = take_stretch(&c, &at, h, wanted, &s);
        if (e != ERR_OK)
            return e;
        *bytes += BATCH_HEADER_BYTES + (s.wanted ? s.records.n : 0);
        if (put)
            put_stretch(o, &s);
    }
    bool whole = at.base_offset == batch_end(h) && at.first_number == batch_end_number(h);
    return whole ? ERR_OK : ERR_CORRUPT;
}

enum err clean_out_batch(struct clean_out *o, struct bytes batch, const struct batch_header *h,
                         const bool *wanted, bool exact)
{
    size_t bytes = batch.n;
    enum err e = wanted == NULL ? ERR_OK : cut(o, batch, h, wanted, false, &bytes);
    if (e != ERR_OK)
        return e;
    if (bytes < batch.n || exact)
        return cut(o, batch, h, wanted, true, &bytes);
    put_whole(o, batch, h);
    return ERR_OK;
}

void clean_out_end(struct clean_out *o)
{
    put_gap(o);
}

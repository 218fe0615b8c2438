// SPDX-License-Identifier: Apache-2.0
#include "lib/plog_model.h"

#include <check.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void model_init(struct model *m, uint64_t seed)
{
    *m = (struct model){.disk = fault_disk_new(seed ^ 0x5eed), .rng = {.state = seed}};
    plog_options_default(&m->options);
    m->options.disk = fault_disk_of(m->disk);
    m->options.segment_bytes = 4096 << rng_below(&m->rng, 4);
    m->options.cache_bytes = 1 << (8 + rng_below(&m->rng, 8));
    m->options.journal_first_bytes = 16384;
    m->options.write_files_max = 1 + (uint32_t)rng_below(&m->rng, 4);
    m->options.journal_bytes = 16384 << rng_below(&m->rng, 3);
    m->options.sync_singly_max = rng_below(&m->rng, 2) == 0 ? 8 : 0;
    for (unsigned i = 0; i < MODEL_LOGS; i++) {
        m->logs[i].id.topic[0] = (uint8_t)(i / 2);
        m->logs[i].id.partition = i % 2;
    }
}

void model_fini(struct model *m)
{
    if (m->plog != NULL)
        model_abandon(m);
    for (unsigned i = 0; i < MODEL_LOGS; i++)
        mem_free(m->logs[i].records);
    fault_disk_free(m->disk);
}

static void stop_cleaning(struct model *m)
{
    plog_clean_free(m->clean);
    m->clean = NULL;
}

void model_abandon(struct model *m)
{
    stop_cleaning(m);
    plog_abandon(m->plog);
    m->plog = NULL;
    for (unsigned i = 0; i < MODEL_LOGS; i++)
        m->logs[i].log = NULL;
}

char *model_payload(const struct model_record *r)
{
    struct rng rng = {.state = r->seed};
    char *at = mem_new(r->bytes + 1);
    rng_fill(&rng, at, r->bytes);
    return at;
}

static void push(struct model_log *l, struct model_record r)
{
    if (l->n == l->room) {
        l->room = l->room == 0 ? 64 : 2 * l->room;
        l->records = mem_resize(l->records, l->room * sizeof l->records[0]);
    }
    r.number = l->next_number;
    r.unwanted = r.type != 1;
    l->next_number += r.type == 1;
    l->records[l->n++] = r;
}

void model_append(struct model *m, struct model_log *l, unsigned records, uint32_t bytes_max)
{
    struct plog_batch *b = plog_batch_new(0);
    uint64_t offset = l->n, number = l->next_number;
    for (unsigned i = 0; i < records; i++) {
        struct model_record r = {
            .type = (uint8_t)(1 + rng_below(&m->rng, 3)),
            .bytes = (uint32_t)rng_below(&m->rng, bytes_max + 1),
            .seed = rng_next(&m->rng),
        };
        char *payload = model_payload(&r);
        plog_batch_put(b, r.type, (struct bytes){payload, r.bytes});
        mem_free(payload);
        push(l, r);
    }
    ck_assert_uint_eq(plog_end(l->log), offset);
    struct plog_place place = plog_append(l->log, b, 7, 1000, rng_below(&m->rng, 4) != 0);
    ck_assert_uint_eq(place.offset, offset);
    ck_assert_uint_eq(place.number, number);
    ck_assert_uint_eq(plog_end(l->log), l->n);
    ck_assert_uint_eq(plog_end_number(l->log), l->next_number);
}

static void clear(struct model_log *l)
{
    l->n = l->next_number = l->durable = l->released = 0;
    l->snapshot = l->snapshot_tried = l->snapshot_before = 0;
    l->log = NULL;
}

void model_create(struct model *m, struct model_log *l)
{
    clear(l);
    l->life = MODEL_CREATING;
    if (plog_create(m->plog, l->id, &l->log) == ERR_OK)
        l->life = MODEL_THERE;
    else
        l->log = NULL;
}

void model_remove(struct model *m, struct model_log *l)
{
    l->life = MODEL_REMOVING;
    if (plog_remove(m->plog, l->log) == ERR_OK) {
        clear(l);
        l->life = MODEL_ABSENT;
    }
}

static void note_durable(struct model *m)
{
    for (unsigned i = 0; i < MODEL_LOGS; i++) {
        struct model_log *l = &m->logs[i];
        if (l->log == NULL || l->life != MODEL_THERE)
            continue;
        uint64_t durable = plog_durable(l->log);
        ck_assert_uint_ge(durable, l->durable);
        ck_assert_uint_le(durable, l->n);
        l->durable = durable;
    }
}

void model_commit(struct model *m)
{
    bool all = rng_below(&m->rng, 2) == 0;
    plog_commit(m->plog, all);
    note_durable(m);
    if (plog_failed(m->plog))
        return;
    ck_assert(!plog_work_waits(m->plog));
    if (all)
        ck_assert(!plog_work_unwritten(m->plog));
}

static void compare_entry(const struct model_log *l, const struct plog_entry *e, uint64_t offset)
{
    const struct model_record *r = &l->records[offset];
    ck_assert_uint_eq(e->offset, offset);
    ck_assert_uint_eq(e->type, r->type);
    ck_assert_uint_eq(e->number, r->number);
    ck_assert_uint_eq(e->epoch, 7);
    ck_assert_uint_eq(e->payload.n, r->bytes);
    char *payload = model_payload(r);
    ck_assert(bytes_equal(e->payload, (struct bytes){payload, r->bytes}));
    mem_free(payload);
}

/* What lies between two records that were read one after the other, as the cleaner may leave it. */
static void check_gap(const struct model_log *l, uint64_t from, uint64_t to)
{
    for (uint64_t offset = from; offset < to; offset++) {
        ck_assert_msg(l->records[offset].cleaned, "offset %llu is gone",
                      (unsigned long long)offset);
        ck_assert_uint_lt(offset, l->snapshot_before);
    }
}

/* Compares from one offset on to the durable end. */
static void compare_from(struct model *m, struct model_log *l, uint64_t from, size_t read_ahead)
{
    struct plog_cursor c;
    struct plog_entry e;
    enum err err = plog_cursor_at_offset(l->log, from, read_ahead, &c);
    if (from >= plog_durable(l->log)) {
        ck_assert_int_eq(err, ERR_NOT_FOUND);
        return;
    }
    /* Reading may make a bad index again, and so run into the planned fault. */
    ck_assert(err == ERR_OK || fault_disk_has_failed(m->disk));
    if (err != ERR_OK)
        return;
    ck_assert_uint_ge(c.offset, from);
    uint64_t offset = from;
    while (offset < plog_durable(l->log) && err == ERR_OK) {
        err = plog_cursor_next(&c, &e);
        ck_assert(err == ERR_OK || fault_disk_has_failed(m->disk));
        if (err != ERR_OK)
            break;
        ck_assert_uint_ge(e.offset, offset);
        check_gap(l, offset, e.offset);
        compare_entry(l, &e, e.offset);
        offset = e.offset + 1;
    }
    if (err == ERR_OK)
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_NOT_FOUND);
    plog_cursor_close(&c);
}

static void compare_number(struct model *m, struct model_log *l)
{
    uint64_t start = plog_start_offset(l->log), durable = plog_durable(l->log);
    if (start >= durable)
        return;
    uint64_t offset = start + rng_below(&m->rng, durable - start);
    const struct model_record *r = &l->records[offset];
    struct plog_cursor c;
    struct plog_entry e;
    if (r->type != 1 || fault_disk_has_failed(m->disk))
        return;
    enum err err = plog_cursor_at_number(l->log, r->number, 100, &c);
    if ((err == ERR_GONE && r->cleaned) || (err != ERR_OK && fault_disk_has_failed(m->disk)))
        return;
    ck_assert_int_eq(err, ERR_OK);
    ck_assert_uint_eq(c.offset, offset);
    for (unsigned i = 0; i < 3 && offset < durable; i++) {
        err = plog_cursor_next(&c, &e);
        ck_assert(err == ERR_OK || fault_disk_has_failed(m->disk));
        if (err != ERR_OK)
            break;
        check_gap(l, offset, e.offset);
        compare_entry(l, &e, e.offset);
        offset = e.offset + 1;
    }
    plog_cursor_close(&c);
}

void model_compare(struct model *m)
{
    for (unsigned i = 0; i < MODEL_LOGS; i++) {
        struct model_log *l = &m->logs[i];
        struct plog_cursor c;
        if (l->log == NULL || fault_disk_has_failed(m->disk))
            continue;
        uint64_t start = plog_start_offset(l->log), durable = plog_durable(l->log);
        ck_assert_uint_le(start, l->released);
        if (start < l->n)
            ck_assert_uint_eq(plog_start_number(l->log), l->records[start].number);
        if (start > 0)
            ck_assert_int_eq(plog_cursor_at_offset(l->log, start - 1, 100, &c), ERR_GONE);
        compare_from(m, l, start, rng_below(&m->rng, 20000));
        if (start < durable)
            compare_from(m, l, start + rng_below(&m->rng, durable - start), 64);
        for (unsigned k = 0; k < 3; k++)
            compare_number(m, l);
    }
}

static void found(void *arg, struct plog_log *log)
{
    struct model *m = arg;
    struct plog_id id = plog_log_id(log);
    const char *where = "";
    bool damaged = plog_log_damaged(log, &where);
    ck_assert_msg(!damaged, "%s", where);
    struct model_log *l = &m->logs[2 * id.topic[0] + id.partition];
    ck_assert_msg(l->life != MODEL_ABSENT, "a log is there that was removed");
    l->log = log;
}

static void check_snapshot(struct model_log *l)
{
    struct buf b = BUF_EMPTY;
    uint64_t offset = 0;
    enum err e = plog_snapshot_read(l->log, &b, &offset);
    if (e == ERR_NOT_FOUND) {
        ck_assert_uint_eq(l->snapshot, 0);
    } else {
        ck_assert_int_eq(e, ERR_OK);
        ck_assert_uint_ge(offset, l->snapshot);
        ck_assert_uint_le(offset, l->snapshot_tried);
        ck_assert_uint_eq(b.n, 8 + offset % 1000);
        ck_assert_uint_eq(le_load_u64(b.at), offset);
    }
    buf_fini(&b);
}

enum err model_open(struct model *m)
{
    enum err e = plog_open(&m->options, &m->plog);
    if (e != ERR_OK) {
        m->plog = NULL;
        return e;
    }
    plog_each(m->plog, found, m);
    for (unsigned i = 0; i < MODEL_LOGS; i++) {
        struct model_log *l = &m->logs[i];
        if (l->life == MODEL_THERE)
            ck_assert_msg(l->log != NULL, "a log is missing");
        if (l->log == NULL) {
            clear(l);
            l->life = MODEL_ABSENT;
            continue;
        }
        l->life = MODEL_THERE;
        uint64_t end = plog_end(l->log);
        ck_assert_uint_eq(plog_durable(l->log), end);
        ck_assert_uint_ge(end, l->durable);
        ck_assert_uint_le(end, l->n);
        if (end < l->n)
            l->next_number = l->records[end].number;
        l->n = end;
        l->durable = end;
        ck_assert_uint_eq(plog_end_number(l->log), l->next_number);
        check_snapshot(l);
    }
    model_compare(m);
    return ERR_OK;
}

/* Alone or as one of many. */
static enum err write_snapshot(struct model *m, struct model_log *l, uint64_t offset,
                               struct bytes state)
{
    if (rng_below(&m->rng, 2) == 0)
        return plog_snapshot_write(l->log, offset, state);
    struct plog_snapshots *all = plog_snapshots_begin(m->plog);
    enum err put = plog_snapshots_put(all, l->log, offset, state);
    enum err end = plog_snapshots_end(all);
    return put == ERR_OK ? end : put;
}

static void take_snapshot(struct model *m, struct model_log *l)
{
    uint64_t offset = plog_durable(l->log);
    size_t n = 8 + offset % 1000;
    char *state = mem_new(n);
    le_store_u64(state, offset);
    if (offset > l->snapshot) {
        if (l->snapshot_tried < offset)
            l->snapshot_before = l->snapshot_tried;
        l->snapshot_tried = offset;
        if (write_snapshot(m, l, offset, (struct bytes){state, n}) == ERR_OK)
            l->snapshot = offset;
    }
    mem_free(state);
}

static void release(struct model *m, struct model_log *l)
{
    uint64_t durable = plog_durable(l->log);
    if (durable == 0)
        return;
    uint64_t offset = rng_below(&m->rng, durable), number = l->records[offset].number;
    if (offset > l->released)
        l->released = offset;
    enum err e = plog_release(l->log, number, offset);
    ck_assert(e == ERR_OK || fault_disk_has_failed(m->disk));
}

/* ---- cleaning ---- */

/* Messages finish: a stretch of them, or some here and there. */
static void finish(struct model *m, struct model_log *l)
{
    uint64_t first = rng_below(&m->rng, l->n + 1), end = first + rng_below(&m->rng, l->n + 1);
    uint64_t of_100 = rng_below(&m->rng, 101);
    for (uint64_t offset = first; offset < end && offset < l->n; offset++)
        if (rng_below(&m->rng, 100) < of_100)
            l->records[offset].unwanted = true;
}

static uint64_t ask(void *self, uint64_t first, size_t n, bool *wanted)
{
    struct model *m = self;
    struct model_log *l = m->clean_log;
    for (uint64_t offset = 0; offset < l->n; offset++) {
        struct model_record *r = &l->records[offset];
        if (r->type == 1 && r->number >= first && r->number < first + n)
            wanted[r->number - first] = !r->unwanted;
    }
    return plog_end(l->log);
}

static void clean_begin(struct model *m, struct model_log *l)
{
    enum { SEGMENTS_MAX = 1000 };
    struct plog_segment all[SEGMENTS_MAX];
    size_t n, end = 0;
    enum err e = plog_segments(l->log, 0, all, SEGMENTS_MAX, &n);
    ck_assert(e == ERR_OK || fault_disk_has_failed(m->disk));
    if (e != ERR_OK)
        return;
    while (end < n && all[end].cleanable)
        end++;
    if (end > 0) {
        size_t first = (size_t)rng_below(&m->rng, end);
        size_t last = first + (size_t)rng_below(&m->rng, end - first);
        struct plog_wanted wanted = {m, ask, NULL};
        finish(m, l);
        m->clean_log = l;
        ck_assert_int_eq(plog_clean_begin(l->log, all[first].base_offset, all[last].end_offset,
                                          UINT64_MAX, wanted, &m->clean),
                         ERR_OK);
        /* What is unwanted now stays unwanted; more of it does no harm. */
        for (uint64_t offset = all[first].base_offset; offset < all[last].end_offset; offset++)
            l->records[offset].cleaned = l->records[offset].unwanted;
    }
}

static void clean_go_on(struct model *m)
{
    enum plog_clean_state state = PLOG_CLEAN_MORE;
    enum err e = ERR_OK;
    for (uint64_t i = rng_below(&m->rng, 20); e == ERR_OK && state == PLOG_CLEAN_MORE && i > 0; i--)
        e = plog_clean_step(m->clean, 1 + rng_below(&m->rng, 20000), &state);
    ck_assert_msg(e == ERR_OK || e == ERR_GONE || fault_disk_has_failed(m->disk), "%s",
                  err_text(e));
    m->cleaned_n += state == PLOG_CLEAN_DONE;
    if (e != ERR_OK || state == PLOG_CLEAN_DONE)
        stop_cleaning(m);
}

/* Lives are short, so what a cleaning needs is brought about now and then. */
static void clean(struct model *m, struct model_log *l)
{
    if (m->clean != NULL) {
        clean_go_on(m);
        return;
    }
    if (rng_below(&m->rng, 3) == 0)
        plog_checkpoint_ask(m->plog);
    if (rng_below(&m->rng, 2) == 0)
        take_snapshot(m, l);
    clean_begin(m, l);
}

void model_step(struct model *m)
{
    struct model_log *l = &m->logs[rng_below(&m->rng, MODEL_LOGS)];
    uint64_t what = rng_below(&m->rng, 100);
    if (l->log == NULL) {
        if (what < 50)
            model_create(m, l);
    } else if (what < 50) {
        uint32_t big = rng_below(&m->rng, 30) == 0 ? 30000 : 900;
        model_append(m, l, 1 + (unsigned)rng_below(&m->rng, 4), big);
    } else if (what < 75) {
        model_commit(m);
    } else if (what < 81) {
        plog_checkpoint_if_due(m->plog);
    } else if (what < 84) {
        take_snapshot(m, l);
    } else if (what < 88) {
        release(m, l);
    } else if (what < 89) {
        model_remove(m, l);
    } else if (what < 91) {
        model_compare(m);
    } else if (what < 98) {
        clean(m, l);
    } else if (!plog_failed(m->plog)) {
        stop_cleaning(m);
        plog_close(m->plog);
        for (unsigned i = 0; i < MODEL_LOGS; i++)
            m->logs[i].log = NULL;
        /* What waited is durable after a clean stop, unless the disk failed meanwhile. */
        for (unsigned i = 0; i < MODEL_LOGS && !fault_disk_has_failed(m->disk); i++)
            m->logs[i].durable = m->logs[i].n;
        enum err e = model_open(m);
        ck_assert(e == ERR_OK || fault_disk_has_failed(m->disk));
    }
}

// SPDX-License-Identifier: Apache-2.0
/* Random histories of one log as a copy of others: appended to, fed with raw batches, cut, begun
 * anew, adopted, released, cleaned, on a disk that fails at any operation. A model says what must
 * be there: after a crash, the log as it was before what was under way, or as it was to be after.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lib/fault_disk.h"
#include "lib/runner.h"
#include "plog/batch.h"
#include "plog/copy.h"

struct record {
    uint64_t seed; /* the payload is drawn from it */
    uint64_t number;
    uint64_t epoch;
    uint32_t bytes;
    uint8_t type;
    bool ends_batch;
    bool gap; /* was never stored here */
};

enum doing { DOING_NOTHING, DOING_CUT, DOING_ANEW, DOING_ADOPT };

/* What is under way when a fault comes. */
struct attempt {
    enum doing doing;
    uint64_t end; /* of a cut */
    uint64_t start, number, last_epoch, snapshot;
    uint64_t incarnation;
};

static struct {
    struct fault_disk *disk;
    struct plog_options options;
    struct plog *plog; /* NULL while closed */
    struct plog_log *log;
    struct rng rng;
    struct record *records; /* from `base` on */
    size_t n;
    size_t room;
    uint64_t base, base_number, base_last_epoch;
    uint64_t base_snapshot; /* that the log began with */
    uint64_t epoch;
    uint64_t durable;   /* reported */
    uint64_t committed; /* in truth; what the log is told after a start may be less */
    uint64_t released;  /* the start may have moved up to here */
    uint64_t snapshot, snapshot_tried;
    uint64_t incarnation;
    bool adopted;
    struct attempt attempt;
} m;

static unsigned cuts_n, cut_crashes_n, anew_crashes_n, cleaned_n;

static uint64_t model_end(void)
{
    return m.base + m.n;
}

static const struct record *at(uint64_t offset)
{
    ck_assert_uint_ge(offset, m.base);
    ck_assert_uint_lt(offset, model_end());
    return &m.records[offset - m.base];
}

/* The number that belongs to an offset, also to the end. */
static uint64_t number_at(uint64_t offset)
{
    if (offset == m.base)
        return m.base_number;
    const struct record *r = at(offset - 1);
    return r->number + (r->type == RECORD_TYPE_MESSAGE);
}

static bool ends_batch(uint64_t offset)
{
    return offset == m.base || at(offset - 1)->ends_batch;
}

static bool is_unwanted(const struct record *r)
{
    return r->gap || r->type != RECORD_TYPE_MESSAGE || r->seed % 3 == 0;
}

static char *payload_of(const struct record *r)
{
    struct rng rng = {.state = r->seed};
    char *bytes = mem_new(r->bytes + 1);
    rng_fill(&rng, bytes, r->bytes);
    return bytes;
}

static void push(struct record r)
{
    if (m.n == m.room) {
        m.room = m.room == 0 ? 64 : 2 * m.room;
        m.records = mem_resize(m.records, m.room * sizeof m.records[0]);
    }
    r.number = number_at(model_end());
    r.epoch = m.epoch;
    m.records[m.n++] = r;
}

/* ---- comparing ---- */

static bool failed(void)
{
    return fault_disk_has_failed(m.disk);
}

static void compare_record(uint64_t offset, uint8_t type, struct bytes payload)
{
    const struct record *r = at(offset);
    ck_assert(!r->gap);
    ck_assert_int_eq(type, r->type);
    char *want = payload_of(r);
    ck_assert(bytes_equal(payload, (struct bytes){want, r->bytes}));
    mem_free(want);
}

static void check_gone(uint64_t from, uint64_t to)
{
    for (; from < to; from++)
        ck_assert_msg(is_unwanted(at(from)), "offset %llu is gone", (unsigned long long)from);
}

static void compare_cursor(uint64_t from)
{
    struct plog_cursor c;
    struct plog_entry e;
    uint64_t committed = plog_committed(m.log);
    enum err err = plog_cursor_at_offset(m.log, from, rng_below(&m.rng, 9000), &c);
    if (err == ERR_NOT_FOUND)
        check_gone(from, committed);
    if (err != ERR_OK) {
        ck_assert(err == ERR_NOT_FOUND || failed());
        return;
    }
    while ((err = plog_cursor_next(&c, &e)) == ERR_OK) {
        ck_assert_uint_lt(e.offset, committed);
        check_gone(from, e.offset);
        compare_record(e.offset, e.type, e.payload);
        ck_assert_uint_eq(e.number, at(e.offset)->number);
        ck_assert_uint_eq(e.epoch, at(e.offset)->epoch);
        from = e.offset + 1;
    }
    ck_assert(err == ERR_NOT_FOUND || failed());
    if (err == ERR_NOT_FOUND)
        check_gone(from, committed);
    plog_cursor_close(&c);
}

static void compare_raw_batch(const struct plog_raw *raw)
{
    struct batch_header h;
    ck_assert_int_eq(batch_header_peek(raw->bytes.at, &h), ERR_OK);
    ck_assert_uint_eq(raw->end_number, number_at(raw->end_offset));
    for (uint64_t offset = raw->base_offset; offset < raw->end_offset; offset++)
        ck_assert_uint_eq(raw->epoch, at(offset)->epoch);
    if (h.gap) {
        check_gone(raw->base_offset, raw->end_offset);
        return;
    }
    ck_assert_uint_eq(raw->first_number, number_at(raw->base_offset));
    struct cursor c = cursor_of((struct bytes){(const char *)raw->bytes.at + BATCH_HEADER_BYTES,
                                               raw->bytes.n - BATCH_HEADER_BYTES});
    for (uint64_t offset = raw->base_offset; offset < raw->end_offset; offset++) {
        uint8_t type;
        struct bytes payload;
        ck_assert_int_eq(batch_record(&c, &type, &payload), ERR_OK);
        compare_record(offset, type, payload);
    }
}

static void compare_raw(uint64_t offset)
{
    uint64_t durable = plog_durable(m.log);
    while (offset < durable) {
        struct buf b = BUF_EMPTY;
        struct plog_raw raw;
        enum err e = plog_raw_read(m.log, offset, rng_below(&m.rng, 20000), &b);
        struct bytes rest = buf_bytes(&b);
        ck_assert(e == ERR_OK || failed());
        if (e != ERR_OK)
            return;
        ck_assert_uint_gt(rest.n, 0);
        while ((e = plog_raw_next(&rest, &raw)) == ERR_OK) {
            ck_assert_uint_eq(raw.base_offset, offset);
            compare_raw_batch(&raw);
            offset = raw.end_offset;
        }
        ck_assert_int_eq(e, ERR_NOT_FOUND);
        buf_fini(&b);
    }
    ck_assert_uint_eq(offset, durable);
}

static void compare_epochs(void)
{
    size_t n, k = 0;
    const struct plog_epoch *all = plog_epochs(m.log, &n);
    uint64_t start = plog_start_offset(m.log), last = 0;
    uint64_t before = plog_start_last_epoch(m.log);
    if (failed())
        return;
    for (uint64_t offset = start; offset < model_end(); offset++) {
        if (offset > start && at(offset)->epoch == last)
            continue;
        last = at(offset)->epoch;
        ck_assert_uint_lt(k, n);
        ck_assert_uint_eq(all[k].epoch, last);
        ck_assert_uint_eq(all[k].start, offset);
        k++;
    }
    ck_assert_uint_eq(k, n);
    ck_assert_uint_eq(before, start > m.base ? at(start - 1)->epoch : m.base_last_epoch);
}

/* Where the cleaner has joined GAPs over it, the number of what is committed may be too low, by
 * messages that are gone. */
static void check_committed(void)
{
    uint64_t offset = plog_committed(m.log), number = plog_committed_number(m.log);
    ck_assert_uint_le(number, number_at(offset));
    for (; number < number_at(offset); offset--)
        ck_assert(is_unwanted(at(offset - 1)));
}

static void compare(void)
{
    uint64_t start = plog_start_offset(m.log), durable = plog_durable(m.log);
    if (failed())
        return;
    ck_assert_uint_le(start, m.released);
    ck_assert_uint_eq(plog_start_number(m.log), number_at(start));
    ck_assert_uint_eq(plog_durable_number(m.log), number_at(durable));
    check_committed();
    compare_epochs();
    if (start == durable)
        return;
    compare_raw(rng_below(&m.rng, 2) == 0 ? start : start + rng_below(&m.rng, durable - start));
    compare_cursor(start);
}

/* ---- opening, and what was under way ---- */

static void cut_model(uint64_t end)
{
    m.n = (size_t)(end - m.base);
    m.durable = end;
}

static void begin_model(const struct attempt *a)
{
    m.n = 0;
    m.base = m.durable = m.committed = m.released = a->start;
    m.base_number = a->number;
    m.base_last_epoch = a->last_epoch;
    m.snapshot = m.snapshot_tried = 0;
    m.base_snapshot = a->snapshot;
    if (a->last_epoch > m.epoch)
        m.epoch = a->last_epoch;
    m.adopted = false;
}

static void settle_attempt(void)
{
    const struct attempt *a = &m.attempt;
    bool adopted = plog_is_adopted(m.log);
    if (a->doing == DOING_CUT && plog_end(m.log) == a->end) {
        cut_model(a->end);
        cut_crashes_n++;
    }
    /* The model never begins anew where it is, so the start tells. */
    if (a->doing == DOING_ANEW && plog_start_offset(m.log) == a->start) {
        ck_assert_uint_eq(plog_end(m.log), a->start);
        begin_model(a);
        anew_crashes_n++;
    }
    if (a->doing == DOING_ADOPT && plog_incarnation(m.log) == a->incarnation) {
        m.incarnation = a->incarnation;
        m.adopted = true;
    }
    ck_assert_int_eq(adopted, m.adopted);
    m.attempt.doing = DOING_NOTHING;
}

static void check_snapshot(void)
{
    struct buf b = BUF_EMPTY;
    uint64_t offset = 0;
    enum err e = plog_snapshot_read(m.log, &b, &offset);
    bool begun = m.base_snapshot != 0 && m.base_snapshot <= plog_durable(m.log);
    if (e == ERR_NOT_FOUND) {
        ck_assert(m.snapshot == 0 && !begun);
    } else {
        ck_assert_int_eq(e, ERR_OK);
        ck_assert_uint_ge(offset,
                          begun && m.base_snapshot > m.snapshot ? m.base_snapshot : m.snapshot);
        ck_assert(offset <= m.snapshot_tried || offset == m.base_snapshot);
        ck_assert_uint_eq(le_load_u64(b.at), offset);
        ck_assert_uint_eq(le_load_u64(b.at + 8), m.base);
    }
    buf_fini(&b);
}

static void take_log(void *arg, struct plog_log *l)
{
    const char *where = "";
    (void)arg;
    ck_assert_msg(!plog_log_damaged(l, &where), "%s", where);
    ck_assert_ptr_null(m.log);
    m.log = l;
}

/* After a start less may be known to be committed than is. */
static void tell_committed(void)
{
    uint64_t known = m.committed;
    while (known > plog_start_offset(m.log) && (rng_below(&m.rng, 3) != 0 || !ends_batch(known)))
        known--;
    plog_commit_by_owner(m.log, known);
}

static enum err open_log(void)
{
    m.log = NULL;
    enum err e = plog_open(&m.options, &m.plog);
    if (e != ERR_OK) {
        m.plog = NULL;
        return e;
    }
    plog_each(m.plog, take_log, NULL);
    ck_assert_ptr_nonnull(m.log);
    settle_attempt();
    uint64_t end = plog_end(m.log);
    ck_assert_uint_eq(plog_durable(m.log), end);
    ck_assert_uint_ge(end, m.durable);
    ck_assert_uint_le(end, model_end());
    cut_model(end);
    ck_assert_uint_eq(plog_end_number(m.log), number_at(end));
    ck_assert_uint_eq(plog_incarnation(m.log), m.incarnation);
    check_snapshot();
    tell_committed();
    compare();
    return ERR_OK;
}

static void abandon(void)
{
    plog_abandon(m.plog);
    m.plog = NULL;
}

static void open_again(void)
{
    for (unsigned crashes = (unsigned)rng_below(&m.rng, 3);; crashes--) {
        if (crashes > 0)
            fault_disk_fail_in(m.disk, rng_below(&m.rng, 25), ERR_IO, true);
        enum err e = open_log();
        if (e == ERR_OK && !failed())
            break;
        ck_assert_msg(failed(), "%s", err_text(e));
        if (e == ERR_OK)
            abandon();
        fault_disk_power_cut(m.disk);
    }
    fault_disk_fail_never(m.disk);
}

/* ---- what happens ---- */

/* The batch is made beside the log, as one that comes from elsewhere. */
static void append_raw(struct plog_batch *b)
{
    struct plog_raw raw;
    b->h.base_offset = plog_end(m.log);
    b->h.first_number = plog_end_number(m.log);
    b->h.epoch = m.epoch;
    batch_seal(b);
    struct bytes rest = buf_bytes(&b->bytes);
    ck_assert_int_eq(plog_raw_next(&rest, &raw), ERR_OK);
    enum err e = plog_append_raw(m.log, &raw, true);
    ck_assert(e == ERR_OK || failed());
    plog_batch_free(b);
}

static void append_gap(void)
{
    struct plog_batch *b = plog_batch_new(0);
    uint32_t records = 1 + (uint32_t)rng_below(&m.rng, 30);
    uint32_t messages = (uint32_t)rng_below(&m.rng, records + 1);
    for (uint32_t i = 0; i < records; i++)
        push((struct record){.type = i < messages ? RECORD_TYPE_MESSAGE : 2,
                             .gap = true,
                             .ends_batch = i + 1 == records});
    b->h.records = records;
    b->h.messages = messages;
    b->h.gap = true;
    append_raw(b);
}

static void append(void)
{
    if (rng_below(&m.rng, 8) == 0)
        m.epoch += 1 + rng_below(&m.rng, 2);
    if (rng_below(&m.rng, 12) == 0) {
        append_gap();
        return;
    }
    struct plog_batch *b = plog_batch_new(0);
    unsigned n = 1 + (unsigned)rng_below(&m.rng, 4);
    for (unsigned i = 0; i < n; i++) {
        struct record r = {
            .type = (uint8_t)(1 + rng_below(&m.rng, 4) / 3),
            .bytes = (uint32_t)rng_below(&m.rng, 1200),
            .seed = rng_next(&m.rng),
            .ends_batch = i + 1 == n,
        };
        char *payload = payload_of(&r);
        plog_batch_put(b, r.type, (struct bytes){payload, r.bytes});
        mem_free(payload);
        push(r);
    }
    if (rng_below(&m.rng, 2) == 0)
        append_raw(b);
    else
        plog_append(m.log, b, m.epoch, 1000, rng_below(&m.rng, 4) != 0);
}

static void note_durable(void)
{
    uint64_t durable = plog_durable(m.log);
    ck_assert_uint_ge(durable, m.durable);
    ck_assert_uint_le(durable, model_end());
    m.durable = durable;
}

static void commit(void)
{
    plog_commit(m.plog, rng_below(&m.rng, 2) == 0);
    note_durable();
    uint64_t to = m.committed + rng_below(&m.rng, m.durable - m.committed + 1);
    while (to > m.committed && !ends_batch(to))
        to--;
    m.committed = to;
    plog_commit_to(m.log, to);
    ck_assert_uint_eq(plog_committed(m.log), to);
}

static void cut(void)
{
    uint64_t lowest = m.committed > m.released ? m.committed : m.released;
    uint64_t end = lowest + rng_below(&m.rng, model_end() - lowest + 1);
    bool fits = ends_batch(end);
    plog_commit_to(m.log, m.committed);
    m.attempt = (struct attempt){.doing = fits ? DOING_CUT : DOING_NOTHING, .end = end};
    enum err e = plog_truncate(m.log, end);
    ck_assert_msg(e == (fits ? ERR_OK : ERR_INVALID) || failed(), "%s", err_text(e));
    if (e != ERR_OK)
        return;
    m.attempt.doing = DOING_NOTHING;
    cuts_n += end < model_end();
    cut_model(end);
    if (m.n > 0)
        m.epoch = at(end - 1)->epoch + rng_below(&m.rng, 2);
    ck_assert_uint_eq(plog_end(m.log), end);
    ck_assert_uint_eq(plog_end_number(m.log), number_at(end));
    ck_assert_uint_eq(plog_durable(m.log), end);
    if (rng_below(&m.rng, 2) == 0)
        compare();
}

static void begin_anew(void)
{
    uint64_t start = rng_below(&m.rng, 2 * model_end() + 2);
    if (start <= m.released && start >= m.base)
        return;
    struct attempt a = {.doing = DOING_ANEW, .start = start};
    a.number = rng_below(&m.rng, start + 1);
    a.last_epoch = start == 0 ? 0 : 1 + rng_below(&m.rng, m.epoch);
    a.snapshot = rng_below(&m.rng, 3) == 0 ? 0 : start + rng_below(&m.rng, 20);
    char state[16];
    le_store_u64(state, a.snapshot);
    le_store_u64(state + 8, start);
    m.attempt = a;
    enum err e = plog_begin_anew(m.log, start, a.number, a.last_epoch, a.snapshot,
                                 (struct bytes){state, sizeof state});
    ck_assert_msg(e == ERR_OK || failed(), "%s", err_text(e));
    if (e != ERR_OK)
        return;
    m.attempt.doing = DOING_NOTHING;
    begin_model(&a);
    ck_assert_uint_eq(plog_start_offset(m.log), start);
    ck_assert_uint_eq(plog_end(m.log), start);
    ck_assert_uint_eq(plog_committed(m.log), start);
    ck_assert_uint_eq(plog_incarnation(m.log), m.incarnation);
    ck_assert(!plog_is_adopted(m.log));
    check_snapshot();
    compare();
}

static void adopt(void)
{
    m.attempt = (struct attempt){.doing = DOING_ADOPT, .incarnation = rng_next(&m.rng) | 1};
    enum err e = plog_adopt(m.log, m.attempt.incarnation);
    ck_assert(e == ERR_OK || failed());
    if (e != ERR_OK)
        return;
    m.attempt.doing = DOING_NOTHING;
    m.incarnation = m.attempt.incarnation;
    m.adopted = true;
    ck_assert_uint_eq(plog_incarnation(m.log), m.incarnation);
    ck_assert(plog_is_adopted(m.log));
}

static void snapshot(void)
{
    char state[16];
    uint64_t offset = m.committed;
    if (offset <= m.snapshot || offset <= m.base_snapshot)
        return;
    le_store_u64(state, offset);
    le_store_u64(state + 8, m.base);
    m.snapshot_tried = offset;
    if (plog_snapshot_write(m.log, offset, (struct bytes){state, sizeof state}) == ERR_OK)
        m.snapshot = offset;
}

static void release(void)
{
    uint64_t offset = m.base + rng_below(&m.rng, m.committed - m.base + 1);
    if (offset > m.released)
        m.released = offset;
    enum err e = plog_release(m.log, number_at(offset), offset);
    ck_assert(e == ERR_OK || failed());
    if (e == ERR_OK)
        m.released = plog_start_offset(m.log);
}

static uint64_t ask(void *self, uint64_t first, size_t n, bool *wanted)
{
    (void)self;
    for (size_t i = 0; i < m.n; i++) {
        const struct record *r = &m.records[i];
        if (r->type == RECORD_TYPE_MESSAGE && r->number >= first && r->number < first + n)
            wanted[r->number - first] = !is_unwanted(r);
    }
    return plog_end(m.log);
}

static void clean(void)
{
    struct plog_segment all[100];
    struct plog_clean *job;
    size_t n, end = 0;
    snapshot();
    plog_checkpoint_ask(m.plog);
    plog_checkpoint_if_due(m.plog);
    if (failed() || plog_segments(m.log, 0, all, 100, &n) != ERR_OK)
        return;
    while (end < n && end < PLOG_CLEAN_SEGMENTS_MAX && all[end].cleanable)
        end++;
    if (end == 0)
        return;
    size_t first = (size_t)rng_below(&m.rng, end);
    ck_assert_int_eq(plog_clean_begin(m.log, all[first].base_offset, all[end - 1].end_offset,
                                      UINT64_MAX, (struct plog_wanted){NULL, ask, NULL}, &job),
                     ERR_OK);
    plog_commit(m.plog, true);
    note_durable();
    enum plog_clean_state state = PLOG_CLEAN_MORE;
    enum err e = ERR_OK;
    while (e == ERR_OK && state != PLOG_CLEAN_DONE && !failed())
        e = plog_clean_step(job, 100000, &state);
    ck_assert(e == ERR_OK || failed());
    cleaned_n += e == ERR_OK && state == PLOG_CLEAN_DONE;
    plog_clean_free(job);
}

static void stop_and_start(void)
{
    plog_close(m.plog);
    if (!failed())
        m.durable = model_end();
    enum err e = open_log();
    ck_assert(e == ERR_OK || failed());
}

static void step(void)
{
    uint64_t what = rng_below(&m.rng, 100);
    if (what < 45)
        append();
    else if (what < 62)
        commit();
    else if (what < 68)
        plog_checkpoint_ask(m.plog);
    else if (what < 72)
        plog_checkpoint_if_due(m.plog);
    else if (what < 81)
        cut();
    else if (what < 83)
        begin_anew();
    else if (what < 84)
        adopt();
    else if (what < 87)
        snapshot();
    else if (what < 91)
        release();
    else if (what < 95)
        clean();
    else if (what < 98)
        compare();
    else if (!plog_failed(m.plog))
        stop_and_start();
}

/* ---- histories ---- */

static int told = -1;           /* the real standard error */
static uint64_t seed_under_way; /* 0: none */

static void tell_seed(void)
{
    if (seed_under_way != 0)
        dprintf(told, "seed %llu fails: LEASELOG_SEED=%llu LEASELOG_SEEDS=1 plays it again\n",
                (unsigned long long)seed_under_way, (unsigned long long)seed_under_way);
}

static void quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    told = dup(STDERR_FILENO);
    atexit(tell_seed);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

static void begin(uint64_t seed)
{
    struct record *records = m.records;
    size_t room = m.room;
    memset(&m, 0, sizeof m);
    m.records = records;
    m.room = room;
    m.rng.state = seed;
    m.disk = fault_disk_new(seed ^ 0x5eed);
    m.epoch = 1;
    plog_options_default(&m.options);
    m.options.disk = fault_disk_of(m.disk);
    m.options.segment_bytes = 4096 << rng_below(&m.rng, 3);
    m.options.cache_bytes = 1 << (9 + rng_below(&m.rng, 8));
    m.options.journal_first_bytes = 16384;
    m.options.journal_bytes = 16384 << rng_below(&m.rng, 3);
    m.options.sync_singly_max = rng_below(&m.rng, 2) == 0 ? 8 : 0;
    ck_assert_int_eq(plog_open(&m.options, &m.plog), ERR_OK);
    ck_assert_int_eq(plog_create(m.plog, (struct plog_id){{1}, 0}, &m.log), ERR_OK);
    m.incarnation = plog_incarnation(m.log);
    ck_assert_uint_ne(m.incarnation, 0);
    abandon();
    fault_disk_kill(m.disk);
}

static void run(uint64_t seed)
{
    seed_under_way = seed;
    begin(seed);
    bool power = rng_below(&m.rng, 2) == 0;
    for (unsigned life = 0; life < 5; life++) {
        open_again();
        fault_disk_fail_in(m.disk, rng_below(&m.rng, 160), ERR_IO, power);
        for (unsigned i = 0; i < 150 && !failed(); i++)
            step();
        if (m.plog != NULL)
            abandon();
        if (power || rng_below(&m.rng, 2) == 0) {
            fault_disk_power_cut(m.disk);
        } else {
            fault_disk_kill(m.disk);
            fault_disk_fail_never(m.disk);
        }
    }
    open_again();
    abandon();
    fault_disk_free(m.disk);
    seed_under_way = 0;
}

START_TEST(a_copy_is_as_before_or_as_after_whatever_happens)
{
    const char *many = getenv("LEASELOG_SEEDS");
    uint64_t n = many == NULL ? 80 : strtoull(many, NULL, 10);
    quiet();
    for (uint64_t i = 0; i < n; i++)
        run(test_seed() + i);
    mem_free(m.records);
    ck_assert_msg(n < 200 ||
                      (cuts_n > 100 && cut_crashes_n > 5 && anew_crashes_n > 3 && cleaned_n > 20),
                  "%u cuts, %u by crashes, %u beginnings by crashes, %u cleanings", cuts_n,
                  cut_crashes_n, anew_crashes_n, cleaned_n);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog copies, histories");
    TCase *t = tcase_create("histories");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, a_copy_is_as_before_or_as_after_whatever_happens);
    suite_add_tcase(s, t);
    return s;
}

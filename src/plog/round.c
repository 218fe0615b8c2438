// SPDX-License-Identifier: Apache-2.0
/* Appending and committing: batches wait in lists, and a round makes all of them durable with one
 * sync of the journal. */
#include <time.h>

#include "base/mem.h"
#include "base/note.h"
#include "plog/epochs.h"
#include "plog/format.h"
#include "plog/inside.h"

/* A round's bytes are put together in memory that is kept for the next one: the C library would map
 * it for each large round, and the kernel fill each of its pages with zeros. */
enum { ROUND_ROOM_KEPT_BYTES = 4 << 20 };

/* What one log brings to a round. */
struct round_part {
    struct plog_log *log; /* a reference */
    size_t first;         /* of its batches in the round's list */
    size_t n;
};

struct round {
    struct round_part *parts;
    size_t parts_n;
    size_t parts_room;
    struct plog_batch **batches; /* in the tail cache, which keeps them while unwritten */
    size_t batches_n;
    size_t batches_room;
    uint64_t bytes;
    struct dir_work_list dir_work;
};

void store_fail(struct plog *p, const char *what, enum err e)
{
    if (!atomic_exchange(&p->failed, true))
        note(NOTE_ERROR, "plog", "%s failed: %s. Nothing more is accepted until a restart.", what,
             err_text(e));
}

enum err plog_may_append(const struct plog *p, size_t bytes)
{
    if (atomic_load(&p->failed))
        return ERR_FAILED;
    size_t waiting = atomic_load_explicit(&p->unwritten_bytes, memory_order_relaxed);
    /* The disk does not keep up with the segments. */
    size_t late = atomic_load_explicit(&p->late_bytes, memory_order_relaxed);
    if (late > 2 * (size_t)p->options.cache_bytes + PLOG_WAITING_BYTES_MAX)
        return ERR_BUSY;
    return waiting > 0 && waiting + bytes > PLOG_WAITING_BYTES_MAX ? ERR_BUSY : ERR_OK;
}

static void queue_work_locked(struct plog *p, struct plog_log *l, struct plog_batch *b, bool waited)
{
    lock_check_held(&p->commit_lk);
    if (!l->queued) {
        l->queued = true;
        STAILQ_INSERT_TAIL(&p->work, l, work_link);
    }
    if (b != NULL)
        STAILQ_INSERT_TAIL(&l->pending, b, pending_link);
    p->unwritten++;
    p->waited += waited;
}

void append_sealed(struct plog_log *l, struct plog_batch *b, bool waited)
{
    struct plog *p = l->plog;
    b->log = l;
    b->waited = waited;
    epochs_note(l, b->h.epoch, b->h.base_offset);
    l->end = batch_end(&b->h);
    l->end_number = batch_end_number(&b->h);
    if (atomic_load(&p->failed)) {
        plog_batch_free(b);
        b = NULL;
    } else {
        atomic_fetch_add_explicit(&p->unwritten_bytes, b->bytes.n, memory_order_relaxed);
        cache_put(&p->cache, &l->ring, b);
    }
    lock_take(&p->commit_lk);
    queue_work_locked(p, l, b, waited);
    lock_give(&p->commit_lk);
}

struct plog_place plog_append(struct plog_log *l, struct plog_batch *b, uint64_t epoch,
                              int64_t now_ms, bool waited)
{
    CHECK(b->h.records > 0 && l->damage == NULL);
    struct plog_place place = {l->end, l->end_number};
    b->h.base_offset = l->end;
    b->h.first_number = l->end_number;
    b->h.epoch = epoch;
    b->h.leader_ms = now_ms;
    b->h.hw_hint = plog_durable(l);
    if (!atomic_load(&l->plog->failed)) /* else it is dropped */
        batch_seal(b);
    append_sealed(l, b, waited);
    return place;
}

bool plog_work_waits(struct plog *p)
{
    lock_take(&p->commit_lk);
    bool waits = p->waited > 0;
    lock_give(&p->commit_lk);
    return waits;
}

bool plog_work_unwritten(struct plog *p)
{
    lock_take(&p->commit_lk);
    bool waits = p->unwritten > 0;
    lock_give(&p->commit_lk);
    return waits;
}

int64_t plog_sync_average_us(const struct plog *p)
{
    return atomic_load_explicit(&p->sync_average_us, memory_order_relaxed);
}

static void round_put_batch(struct round *r, struct plog_batch *b)
{
    if (r->batches_n == r->batches_room) {
        r->batches_room = r->batches_room == 0 ? 64 : 2 * r->batches_room;
        r->batches = mem_resize(r->batches, r->batches_room * sizeof(struct plog_batch *));
    }
    r->batches[r->batches_n++] = b;
    r->bytes += b->bytes.n;
}

static struct round_part *round_put_part(struct round *r, struct plog_log *l)
{
    if (r->parts_n == r->parts_room) {
        r->parts_room = r->parts_room == 0 ? 16 : 2 * r->parts_room;
        r->parts = mem_resize(r->parts, r->parts_room * sizeof r->parts[0]);
    }
    l->refs++;
    r->parts[r->parts_n] = (struct round_part){l, r->batches_n, 0};
    return &r->parts[r->parts_n++];
}

/* Takes what waits, up to a round's size; the rest stays for the next one. */
static void round_take_locked(struct plog *p, struct round *r)
{
    lock_check_held(&p->commit_lk);
    bool failed = atomic_load(&p->failed);
    STAILQ_CONCAT(&r->dir_work, &p->dir_work);
    for (struct plog_log *l; (l = STAILQ_FIRST(&p->work)) != NULL;) {
        struct round_part *part = round_put_part(r, l);
        for (struct plog_batch *b; (b = STAILQ_FIRST(&l->pending)) != NULL;) {
            if (!failed && r->bytes > 0 && r->bytes + b->bytes.n > ROUND_BYTES_MAX)
                break;
            STAILQ_REMOVE_HEAD(&l->pending, pending_link);
            round_put_batch(r, b);
            part->n++;
            p->unwritten--;
            p->waited -= b->waited;
        }
        if (!STAILQ_EMPTY(&l->pending))
            break;
        STAILQ_REMOVE_HEAD(&p->work, work_link);
        l->queued = false;
    }
    if (failed) {
        p->unwritten = 0;
        p->waited = 0;
    }
    p->run_all = p->run_all && p->unwritten > 0;
}

static void put_entry(struct buf *b, enum entry_kind kind, const struct plog_log *l,
                      struct bytes batch)
{
    buf_put_u32(b, (uint32_t)kind); /* kind in the first byte, three reserved */
    buf_put_u32(b, l->id.partition);
    buf_put(b, l->id.topic, sizeof l->id.topic);
    buf_put_u64(b, l->incarnation);
    buf_put_u32(b, (uint32_t)batch.n);
    buf_put_bytes(b, batch);
}

static uint32_t encode_entries(const struct round *r, struct buf *b)
{
    static const char header[ROUND_HEADER_BYTES];
    uint32_t n = 0;
    const struct dir_work *w;
    buf_reserve(b, ROUND_HEADER_BYTES + r->bytes + JOURNAL_PAGE_BYTES +
                       ENTRY_HEADER_BYTES * (r->batches_n + 1));
    buf_put(b, header, sizeof header);
    STAILQ_FOREACH(w, &r->dir_work, link)
    {
        put_entry(b, w->kind, w->log, w->payload);
        n++;
    }
    for (size_t i = 0; i < r->batches_n; i++, n++)
        put_entry(b, ENTRY_APPEND, r->batches[i]->log, buf_bytes(&r->batches[i]->bytes));
    return n;
}

static int64_t monotonic_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static enum err write_journal(struct plog *p, const struct round *r, struct plog_stamp *stamp)
{
    struct buf *b = &p->round_bytes;
    uint32_t entries = encode_entries(r, b);
    if (p->options.stamp != NULL)
        *stamp = p->options.stamp(p->options.self);
    int64_t begin_us = monotonic_us();
    enum err e = journal_write(p, b, p->round + 1, entries, stamp);
    int64_t took_us = monotonic_us() - begin_us;
    int64_t average_us = plog_sync_average_us(p);
    atomic_store_explicit(&p->sync_average_us,
                          average_us == 0 ? took_us : average_us + (took_us - average_us) / 8,
                          memory_order_relaxed);
    buf_clear(b);
    if (b->room > ROUND_ROOM_KEPT_BYTES)
        buf_fini(b);
    return e;
}

/* The round is on disk: ends move, logs begin and end to exist, all at once for the keeper. */
static void finish(struct plog *p, struct round *r, const struct plog_stamp *stamp)
{
    struct dir_work *w;
    lock_take(&p->commit_lk);
    p->round++;
    p->stamp = *stamp;
    for (size_t i = 0; i < r->parts_n; i++) {
        const struct round_part *part = &r->parts[i];
        struct plog_log *l = part->log;
        if (part->n == 0)
            continue;
        size_t bytes = 0;
        for (size_t k = 0; k < part->n; k++)
            bytes += r->batches[part->first + k]->bytes.n;
        const struct batch_header *last = &r->batches[part->first + part->n - 1]->h;
        atomic_fetch_add_explicit(&l->late_bytes, bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&p->late_bytes, bytes, memory_order_relaxed);
        atomic_store_explicit(&l->durable_number, batch_end_number(last), memory_order_release);
        atomic_store_explicit(&l->durable, batch_end(last), memory_order_release);
        write_late_locked(l, true);
    }
    STAILQ_FOREACH(w, &r->dir_work, link)
    {
        if (w->kind == ENTRY_CREATE)
            log_add_locked(p, w->log);
        else if (w->kind == ENTRY_REMOVE)
            log_take_out_locked(p, w->log);
        w->durable = true;
    }
    lock_give(&p->commit_lk);
    atomic_fetch_sub_explicit(&p->unwritten_bytes, r->bytes, memory_order_relaxed);
}

/* Tells everybody who waits for this round, however it went. */
static void tell(struct plog *p, struct round *r)
{
    for (size_t i = 0; i < r->parts_n; i++) {
        struct plog_log *l = r->parts[i].log;
        if (p->options.on_durable != NULL && l->owner != NULL)
            p->options.on_durable(p->options.self, l->owner);
    }
    lock_take(&p->commit_lk);
    for (size_t i = 0; i < r->parts_n; i++)
        log_unref_locked(r->parts[i].log);
    for (struct dir_work *w; (w = STAILQ_FIRST(&r->dir_work)) != NULL;) {
        STAILQ_REMOVE_HEAD(&r->dir_work, link);
        w->done = true; /* from here on it may be gone */
    }
    lock_signal_all(&p->commit_signal);
    lock_give(&p->commit_lk);
}

/* [runner] */
static void round_run(struct plog *p, struct round *r)
{
    if (!atomic_load(&p->failed)) {
        struct plog_stamp stamp = {0};
        struct dir_work *w;
        STAILQ_FOREACH(w, &r->dir_work, link)
        {
            if (w->kind == ENTRY_REMOVE)
                segment_close_file(w->log);
        }
        enum err e = write_journal(p, r, &stamp);
        if (e != ERR_OK)
            store_fail(p, "writing the journal", e);
        if (e == ERR_OK)
            finish(p, r, &stamp);
    }
    tell(p, r);
    write_if_full(p);
    cache_trim(&p->cache);
    mem_free(r->parts);
    mem_free(r->batches);
}

static bool work_to_do_locked(const struct plog *p)
{
    return p->waited > 0 || !STAILQ_EMPTY(&p->dir_work) || (p->run_all && p->unwritten > 0);
}

void plog_commit(struct plog *p, bool all)
{
    lock_check_none_held();
    lock_take(&p->commit_lk);
    p->run_all = p->run_all || all;
    if (!p->running) {
        p->running = true;
        while (work_to_do_locked(p) || (atomic_load(&p->failed) && !STAILQ_EMPTY(&p->work))) {
            struct round r = {.dir_work = STAILQ_HEAD_INITIALIZER(r.dir_work)};
            round_take_locked(p, &r);
            lock_give(&p->commit_lk);
            round_run(p, &r);
            lock_take(&p->commit_lk);
        }
        p->run_all = false;
        p->running = false;
    }
    lock_give(&p->commit_lk);
}

enum err round_do(struct plog *p, struct dir_work *w)
{
    lock_take(&p->commit_lk);
    w->done = w->durable = false;
    STAILQ_INSERT_TAIL(&p->dir_work, w, link);
    if (w->kind == ENTRY_REMOVE) {
        /* What nobody has committed of a log that goes away needs no round. */
        for (struct plog_batch *b; (b = STAILQ_FIRST(&w->log->pending)) != NULL;) {
            STAILQ_REMOVE_HEAD(&w->log->pending, pending_link);
            atomic_fetch_sub_explicit(&p->unwritten_bytes, b->bytes.n, memory_order_relaxed);
            p->unwritten--;
            p->waited -= b->waited;
        }
    }
    lock_give(&p->commit_lk);
    plog_commit(p, false);
    lock_take(&p->commit_lk);
    while (!w->done)
        lock_signal_wait(&p->commit_signal, &p->commit_lk, -1);
    /* What the disk does after that round does not undo it. */
    bool durable = w->durable;
    lock_give(&p->commit_lk);
    return durable ? ERR_OK : ERR_FAILED;
}

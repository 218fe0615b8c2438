// SPDX-License-Identifier: Apache-2.0
/* Cutting a log's end off (FORMAT.md, "Truncate"): what stays is brought into the segments and
 * synced, then the journal says where the log ends, and only then anything goes. */
#include "plog/cut.h"

#include "base/mem.h"
#include "plog/epochs.h"
#include "plog/files.h"
#include "plog/index.h"
#include "plog/reader.h"
#include "plog/snapshot.h"

enum { READ_AHEAD_BYTES = 64 << 10 };

enum err cut_settle(struct plog_log *l)
{
    struct plog *p = l->plog;
    while (!plog_failed(p) && plog_durable(l) != l->end) {
        plog_commit(p, true);
        lock_take(&p->commit_lk);
        /* Another thread runs the rounds, and tells of each. */
        if (!plog_failed(p) && plog_durable(l) != l->end)
            lock_signal_wait(&p->commit_signal, &p->commit_lk, -1);
        lock_give(&p->commit_lk);
    }
    return plog_failed(p) ? ERR_FAILED : ERR_OK;
}

static void hold_indexes(struct plog_log *l)
{
    struct plog *p = l->plog;
    bool busy = true;
    lock_take(&p->commit_lk);
    for (;;) {
        lock_take(&l->lk);
        busy = l->index_rebuilding;
        l->index_rebuilding = true;
        lock_give(&l->lk);
        if (!busy)
            break;
        lock_signal_wait(&p->commit_signal, &p->commit_lk, -1);
    }
    lock_give(&p->commit_lk);
}

void cut_enter(struct plog_log *l)
{
    keeper_enter(l->plog);
    hold_indexes(l);
    write_enter(l->plog);
}

void cut_leave(struct plog_log *l)
{
    write_leave(l->plog);
    lock_take(&l->lk);
    l->index_rebuilding = false;
    lock_give(&l->lk);
    keeper_leave(l->plog);
}

void cut_set_end(struct plog_log *l, const struct tail *to)
{
    struct plog *p = l->plog;
    l->end = to->offset;
    l->end_number = to->number;
    atomic_store_explicit(&l->durable_number, to->number, memory_order_release);
    atomic_store_explicit(&l->durable, to->offset, memory_order_release);
    l->written = *to;
    l->indexed_position = to->position;
    lock_take(&p->commit_lk);
    l->mark = *to;
    lock_give(&p->commit_lk);
    atomic_fetch_add_explicit(&l->cuts, 1, memory_order_release);
    cache_cut(&p->cache, &l->ring, to->offset);
    kept_drop(l);
    write_forget_late(l);
    segment_close_file(l);
}

/* ---- where the log is to end ---- */

/* The place in the segments where a batch ends with `end`. */
static enum err place_in_segment(struct plog_log *l, uint64_t end, struct tail *to)
{
    struct batch_reader r;
    struct bytes batch;
    struct batch_header h;
    enum err e = batch_reader_find(&r, l, end - 1, false, READ_AHEAD_BYTES);
    if (e != ERR_OK)
        return e;
    e = batch_reader_to(&r, end - 1, &batch, &h);
    if (e == ERR_OK && batch_end(&h) > end)
        e = ERR_INVALID;
    if (e == ERR_OK)
        *to = (struct tail){end, batch_end_number(&h), r.view.name, r.position};
    if (e == ERR_CORRUPT || e == ERR_NEWER_FORMAT)
        log_note_corrupt(l, r.view.name, r.position, e);
    batch_reader_close(&r);
    return e;
}

/* All below `end` is in the segments when it returns. */
static enum err place_of(struct plog_log *l, uint64_t end, struct tail *to)
{
    if (end == l->start_offset) {
        *to = (struct tail){end, l->start_number, end, 0};
        return ERR_OK;
    }
    if (l->written.offset < end) {
        enum err e = write_log(l, end);
        if (e != ERR_OK) {
            store_fail(l->plog, "writing a segment", e);
            return ERR_FAILED;
        }
        if (l->written.offset != end)
            return ERR_INVALID;
    }
    if (l->written.offset != end)
        return place_in_segment(l, end, to);
    *to = l->written;
    return ERR_OK;
}

/* Below the mark all is synced as it is. */
static enum err sync_below(struct plog_log *l, const struct tail *to)
{
    const struct disk *d = l->plog->disk;
    if (to->position == 0 || (l->marked && to->offset <= l->mark.offset))
        return ERR_OK;
    enum err e = l->marked ? ERR_OK : d->sync_dir(d->self, "t");
    if (e == ERR_OK)
        e = checkpoint_sync_log(l, to);
    if (e == ERR_OK)
        return ERR_OK;
    store_fail(l->plog, "syncing a segment", e);
    return ERR_FAILED;
}

/* An empty log has no first batch that would tell the epoch before the start. */
static enum err keep_start_epoch(struct plog_log *l, uint64_t end)
{
    if (end != l->start_offset || copy_beginning(&l->copy, l->incarnation, end) != NULL)
        return ERR_OK;
    uint64_t epoch = plog_start_last_epoch(l);
    return epoch == 0 ? ERR_OK : epochs_save_before(l, end, epoch);
}

static enum err tell_journal(struct plog_log *l, const struct tail *to)
{
    char at[ENTRY_TRUNCATE_BYTES];
    le_store_u64(at, to->offset);
    le_store_u64(at + 8, to->number);
    le_store_u64(at + 16, to->segment);
    le_store_u64(at + 24, to->position);
    struct dir_work work = {.kind = ENTRY_TRUNCATE, .log = l, .payload = {at, sizeof at}};
    return round_do(l->plog, &work);
}

/* ---- what goes ---- */

static enum err remove_one(struct plog_log *l, uint64_t name, const char *suffix)
{
    const struct disk *d = l->plog->disk;
    char *path = log_path(l, name, suffix);
    enum err e = file_remove(d, path);
    mem_free(path);
    return e;
}

/* The files of the segments from the end of the list on that begin at or above `to`, last one
 * first; then the last one left is cut. */
static enum err cut_files(struct plog_log *l, const struct tail *to)
{
    const struct disk *d = l->plog->disk;
    enum err e = ERR_OK;
    for (bool more = true; e == ERR_OK && more;) {
        uint64_t name = 0;
        lock_take(&l->lk);
        size_t n = l->segments.n;
        more = n > 0 && (to->position == 0 || l->segments.at[n - 1].name > to->segment);
        if (more) {
            name = l->segments.at[n - 1].name;
            segment_list_drop_last(&l->segments);
            l->swaps++;
            l->dir_dirty = true;
        }
        lock_give(&l->lk);
        if (more)
            e = remove_one(l, name, "index");
        if (more && e == ERR_OK)
            e = remove_one(l, name, "log");
    }
    if (e != ERR_OK || to->position == 0)
        return e;
    int file;
    char *path = log_path(l, to->segment, "log");
    e = d->open(d->self, path, DISK_WRITE, &file);
    mem_free(path);
    if (e != ERR_OK)
        return e;
    e = d->truncate(d->self, file, to->position);
    d->close(d->self, file);
    return e;
}

/* Whether the index entries of the last segment are right as far as they go: those in its file are
 * the mark's, and all below the cut. */
static bool index_fits(const struct plog_log *l, const struct segment *s, const struct tail *mark,
                       const struct tail *to)
{
    bool marked = l->marked && s->name == mark->segment;
    if (s->footer_saved || s->index_bad || (marked && to->position < mark->position))
        return false;
    return s->index_saved == (marked ? l->mark_index_entries : 0);
}

/* The last segment left takes batches again. `mark` is the log's from before the cut. */
static bool reopen_last(struct plog_log *l, const struct tail *mark, const struct tail *to)
{
    lock_take(&l->lk);
    struct segment *s = &l->segments.at[l->segments.n - 1];
    CHECK(s->name == to->segment);
    bool fits = index_fits(l, s, mark, to);
    s->bytes = to->position;
    s->stored = STORED_ALL;
    s->swap = ++l->swaps;
    while (s->pending_n > 0 && s->pending[s->pending_n - 1].position >= to->position)
        s->pending_n--;
    if (!fits) {
        s->pending_n = 0;
        s->index_saved = 0;
        s->index_bad = false;
        s->footer_saved = false;
        l->dir_dirty = true;
    }
    lock_give(&l->lk);
    return fits;
}

static enum err apply(struct plog_log *l, const struct tail *to)
{
    struct tail mark = l->mark;
    cut_set_end(l, to);
    epochs_cut(l, to->offset);
    enum err e = cut_files(l, to);
    if (e != ERR_OK)
        return e;
    bool fits = to->position == 0 || reopen_last(l, &mark, to);
    /* Again: a cursor opened since may have read ahead what went. */
    atomic_fetch_add_explicit(&l->cuts, 1, memory_order_release);
    if (!fits || to->segment != mark.segment) {
        lock_take(&l->plog->commit_lk);
        l->mark_index_entries = 0;
        lock_give(&l->plog->commit_lk);
    }
    if (fits)
        return ERR_OK;
    /* A later cut is a mark too, but saves no index: what lies here then must not be the old one.
     */
    index_collect(l, to->segment);
    return remove_one(l, to->segment, "index");
}

static enum err cut(struct plog_log *l, uint64_t end)
{
    struct tail to;
    enum err e = place_of(l, end, &to);
    if (e == ERR_OK)
        e = snapshot_drop_above(l, end);
    if (e == ERR_OK)
        e = keep_start_epoch(l, end);
    if (e == ERR_OK)
        e = sync_below(l, &to);
    if (e == ERR_OK)
        e = tell_journal(l, &to);
    if (e != ERR_OK)
        return e;
    e = apply(l, &to);
    if (e == ERR_OK)
        return ERR_OK;
    store_fail(l->plog, "cutting a log", e);
    return ERR_FAILED;
}

enum err plog_truncate(struct plog_log *l, uint64_t end)
{
    lock_check_none_held();
    if (l->damage != NULL)
        return ERR_CORRUPT;
    enum err e = cut_settle(l);
    if (e != ERR_OK || end == l->end)
        return e;
    if (end > l->end || end < plog_committed(l) || end < plog_start_offset(l))
        return ERR_INVALID;
    cut_enter(l);
    e = cut(l, end);
    cut_leave(l);
    return e;
}

enum err cut_recover(struct plog_log *l, struct bytes payload)
{
    const char *at = payload.at;
    struct tail to = {le_load_u64(at), le_load_u64(at + 8), le_load_u64(at + 16),
                      le_load_u64(at + 24)};
    if (to.offset > UINT64_MAX / 2 || to.number > to.offset || to.segment > to.offset ||
        to.offset < l->start_offset || to.number < l->start_number ||
        (to.position > 0 && to.segment == to.offset))
        return ERR_CORRUPT;
    if (to.segment != l->mark.segment || to.position < l->mark.position)
        l->mark_index_entries = 0;
    l->mark = to;
    if (to.position == 0) {
        /* A release may have moved the start since the marks. */
        l->start_offset = to.offset;
        l->start_number = to.number;
    }
    l->cuts_ahead++;
    l->begun_anew = false; /* that was finished before */
    return ERR_OK;
}

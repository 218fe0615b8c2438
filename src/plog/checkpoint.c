// SPDX-License-Identifier: Apache-2.0
/* The checkpoint: segments synced, then marks written, then the journal recycled; in this order,
 * because each step lets go of what the one before has made unnecessary. */
#include "base/mem.h"
#include "base/note.h"
#include "plog/epochs.h"
#include "plog/files.h"
#include "plog/index.h"
#include "plog/inside.h"
#include "plog/marks.h"

void keeper_enter(struct plog *p)
{
    lock_take(&p->commit_lk);
    while (p->keeping)
        lock_signal_wait(&p->commit_signal, &p->commit_lk, -1);
    p->keeping = true;
    lock_give(&p->commit_lk);
}

void keeper_leave(struct plog *p)
{
    lock_take(&p->commit_lk);
    p->keeping = false;
    lock_signal_all(&p->commit_signal);
    lock_give(&p->commit_lk);
}

/* The logs as of one round. */
struct view {
    struct plog_log **logs; /* references */
    struct marks marks;     /* at[i] belongs to logs[i] */
    size_t dirty_n;
};

static bool is_dirty(const struct plog_log *l, const struct mark *m)
{
    return l->damage == NULL && (!l->marked || l->mark.offset != m->end.offset);
}

static void view_take(struct plog *p, struct view *v)
{
    lock_take(&p->commit_lk);
    size_t n = p->logs_n;
    v->logs = mem_new_array(n + 1, sizeof(struct plog_log *));
    v->marks = (struct marks){
        .round = p->round,
        .next_incarnation = p->next_incarnation,
        .stamp = p->stamp,
        .at = mem_new_array(n + 1, sizeof(struct mark)),
        .n = n,
    };
    v->dirty_n = 0;
    for (size_t i = 0; i < n; i++) {
        struct plog_log *l = p->logs[i];
        v->logs[i] = l;
        l->refs++;
        v->marks.at[i] = (struct mark){
            .id = l->id,
            .incarnation = l->incarnation,
            .end = l->mark,
            .start_offset = l->start_offset,
            .start_number = l->start_number,
            .index_entries = l->mark_index_entries,
        };
        if (l->damage == NULL)
            v->marks.at[i].end.offset = plog_durable(l);
        v->dirty_n += is_dirty(l, &v->marks.at[i]);
    }
    lock_give(&p->commit_lk);
}

static void view_fini(struct plog *p, struct view *v)
{
    lock_take(&p->commit_lk);
    for (size_t i = 0; i < v->marks.n; i++)
        log_unref_locked(v->logs[i]);
    lock_give(&p->commit_lk);
    mem_free(v->logs);
    marks_fini(&v->marks);
}

static enum err sync_segment(struct plog_log *l, uint64_t name)
{
    const struct disk *d = l->plog->disk;
    char *path = log_path(l, name, "log");
    int file;
    enum err e = d->open(d->self, path, DISK_WRITE, &file);
    mem_free(path);
    if (e != ERR_OK)
        return e;
    e = d->sync(d->self, file);
    d->close(d->self, file);
    return e;
}

enum err checkpoint_sync_log(struct plog_log *l, const struct tail *to)
{
    enum err e = ERR_OK;
    uint64_t from = l->marked ? l->mark.segment : 0;
    for (bool more = true; more && e == ERR_OK;) {
        more = false;
        uint64_t name = 0;
        lock_take(&l->lk);
        for (size_t i = l->segments.n; i > 0 && l->segments.at[i - 1].name >= from; i--) {
            if (l->segments.at[i - 1].name > to->segment)
                continue;
            name = l->segments.at[i - 1].name;
            more = true;
        }
        lock_give(&l->lk);
        if (more)
            e = sync_segment(l, name);
        from = name + 1;
    }
    lock_take(&l->lk);
    bool dir_dirty = l->dir_dirty;
    l->dir_dirty = false;
    lock_give(&l->lk);
    return e == ERR_OK && dir_dirty ? log_sync_dirs(l) : e;
}

static enum err sync_logs(struct plog *p, const struct view *v)
{
    const struct disk *d = p->disk;
    if (v->dirty_n == 0)
        return ERR_OK;
    if (v->dirty_n > p->options.sync_singly_max) {
        for (size_t i = 0; i < v->marks.n; i++) {
            lock_take(&v->logs[i]->lk);
            v->logs[i]->dir_dirty = false;
            lock_give(&v->logs[i]->lk);
        }
        return d->sync_all(d->self);
    }
    enum err e = d->sync_dir(d->self, "t");
    for (size_t i = 0; e == ERR_OK && i < v->marks.n; i++)
        if (is_dirty(v->logs[i], &v->marks.at[i]))
            e = checkpoint_sync_log(v->logs[i], &v->marks.at[i].end);
    return e;
}

/* The view's offsets become places in the segments. The writer's role is held from before the view
 * was taken, so that no segment goes beyond it and every mark is the state after its round. */
static enum err write_segments(struct view *v)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < v->marks.n; i++) {
        struct plog_log *l = v->logs[i];
        struct mark *m = &v->marks.at[i];
        if (!is_dirty(l, m))
            continue;
        e = write_log(l, m->end.offset);
        m->end = l->written;
    }
    return e;
}

static enum err save_indexes(const struct plog *p, const struct view *v)
{
    enum err e = ERR_OK;
    bool sync = v->dirty_n <= p->options.sync_singly_max; /* else sync_logs syncs everything */
    for (size_t i = 0; e == ERR_OK && i < v->marks.n; i++) {
        struct mark *m = &v->marks.at[i];
        if (is_dirty(v->logs[i], m))
            e = index_save(v->logs[i], &m->end, sync, &m->index_entries);
    }
    return e;
}

static void note_marked(struct plog *p, const struct view *v)
{
    lock_take(&p->commit_lk);
    for (size_t i = 0; i < v->marks.n; i++) {
        v->logs[i]->mark = v->marks.at[i].end;
        v->logs[i]->mark_index_entries = v->marks.at[i].index_entries;
        v->logs[i]->marked = true;
    }
    p->marks_round = v->marks.round;
    lock_give(&p->commit_lk);
}

enum err checkpoint_write(struct plog *p, bool last)
{
    struct view v;
    const char *doing = "writing the segments";
    write_enter(p);
    view_take(p, &v);
    enum err e = write_segments(&v);
    if (e != ERR_OK)
        store_fail(p, doing, e);
    write_leave(p);
    cache_trim(&p->cache);
    if (e == ERR_OK) {
        doing = "writing an index";
        e = save_indexes(p, &v);
    }
    if (e == ERR_OK) {
        doing = "syncing the segments";
        e = sync_logs(p, &v);
        if (e != ERR_OK)
            store_fail(p, doing, e);
    }
    if (e == ERR_OK) {
        doing = "writing the marks";
        e = marks_write(p->disk, &v.marks);
    }
    if (e == ERR_OK) {
        note_marked(p, &v);
        doing = "recycling the journal";
        e = journal_recycle(p, v.marks.round, last);
        if (e != ERR_OK)
            store_fail(p, doing, e);
    }
    /* Without room for marks or an index nothing is lost: the journal just grows. */
    if (e == ERR_NO_SPACE && !plog_failed(p))
        note(NOTE_WARNING, "plog", "%s: %s; the journal is kept", doing, err_text(e));
    else if (e != ERR_OK)
        store_fail(p, doing, e);
    view_fini(p, &v);
    return e;
}

void plog_checkpoint_if_due(struct plog *p)
{
    lock_check_none_held();
    if (plog_failed(p))
        return;
    keeper_enter(p);
    enum err e = ERR_OK;
    bool full = journal_is_half_full(p), asked = atomic_exchange(&p->checkpoint_asked, false);
    if (full || asked)
        e = checkpoint_write(p, false);
    if (full && e == ERR_OK)
        e = journal_prepare(p);
    if (e != ERR_OK && e != ERR_NO_SPACE)
        store_fail(p, "making a journal file", e);
    e = e == ERR_OK ? journal_give_back(p) : ERR_OK;
    if (e != ERR_OK)
        store_fail(p, "giving a journal file back", e);
    keeper_leave(p);
}

void plog_checkpoint_ask(struct plog *p)
{
    atomic_store(&p->checkpoint_asked, true);
}

/* ---- releasing ---- */

/* Takes the first segment out of the list if nothing wanted is in it. */
static enum err take_first(struct plog_log *l, uint64_t number, uint64_t offset, uint64_t *segment)
{
    lock_take(&l->lk);
    bool may = l->segments.n >= 2;
    uint64_t first = may ? l->segments.at[0].name : 0;
    uint64_t next = may ? l->segments.at[1].name : 0;
    lock_give(&l->lk);
    if (!may || next > offset || !l->marked || next > l->mark.segment)
        return ERR_NOT_FOUND;
    uint64_t next_number;
    enum err e = segment_number(l, next, &next_number);
    if (e != ERR_OK)
        return e;
    if (next_number > number)
        return ERR_NOT_FOUND;
    e = epochs_note_release(l, next);
    if (e != ERR_OK)
        return e;
    lock_take(&l->lk);
    segment_list_drop(&l->segments, 0);
    l->start_offset = next;
    l->start_number = next_number;
    lock_give(&l->lk);
    kept_drop(l);
    *segment = first;
    return ERR_OK;
}

static enum err release(struct plog_log *l, uint64_t number, uint64_t offset)
{
    const struct disk *d = l->plog->disk;
    for (;;) {
        uint64_t name;
        enum err e = take_first(l, number, offset, &name);
        if (e != ERR_OK)
            return e == ERR_NOT_FOUND ? ERR_OK : e;
        char *index = log_path(l, name, "index"), *segment = log_path(l, name, "log");
        e = file_remove(d, index);
        if (e == ERR_OK)
            e = file_remove(d, segment);
        /* One at a time, oldest first: after a crash what is left must be without a hole. */
        if (e == ERR_OK)
            e = d->sync_dir(d->self, l->dir);
        mem_free(index);
        mem_free(segment);
        if (e != ERR_OK)
            return e;
    }
}

enum err plog_release(struct plog_log *l, uint64_t number, uint64_t offset)
{
    lock_check_none_held();
    if (l->damage != NULL)
        return ERR_CORRUPT;
    keeper_enter(l->plog);
    enum err e = release(l, number, offset);
    keeper_leave(l->plog);
    return e;
}

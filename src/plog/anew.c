// SPDX-License-Identifier: Apache-2.0
/* Logs that begin anew (FORMAT.md, "Begin anew"), and which copy a log is. A new beginning is a new
 * incarnation of the log in the journal: so nothing that was there before can come back. */
#include "base/mem.h"
#include "plog/cut.h"
#include "plog/files.h"
#include "plog/snapshot.h"

enum { NAME_DIGITS = 20 };

/* ---- beginning anew ---- */

struct anew {
    uint64_t incarnation;
    struct beginning beginning;
    uint64_t start_number;
};

static enum err tell_journal(struct plog_log *l, const struct anew *a)
{
    char at[ENTRY_BEGIN_ANEW_BYTES];
    le_store_u64(at, a->incarnation);
    le_store_u64(at + 8, a->beginning.start);
    le_store_u64(at + 16, a->start_number);
    struct dir_work work = {.kind = ENTRY_BEGIN_ANEW, .log = l, .payload = {at, sizeof at}};
    return round_do(l->plog, &work);
}

/* From here on the log, in memory, is the new one. */
static void change(struct plog_log *l, const struct anew *a)
{
    struct plog *p = l->plog;
    uint64_t start = a->beginning.start;
    struct tail to = {start, a->start_number, start, 0};
    lock_take(&l->lk);
    segment_list_fini(&l->segments);
    l->swaps++;
    l->start_offset = start;
    l->start_number = a->start_number;
    l->snapshots[0] = a->beginning.snapshot;
    l->snapshots_n = a->beginning.snapshot != 0;
    l->corrupt_noted = false;
    lock_give(&l->lk);
    atomic_store_explicit(&l->committed_number, a->start_number, memory_order_release);
    atomic_store_explicit(&l->committed, start, memory_order_release);
    atomic_fetch_add_explicit(&l->beginnings, 1, memory_order_relaxed);
    cache_drop_ring(&p->cache, &l->ring);
    cut_set_end(l, &to);
    lock_take(&p->commit_lk);
    l->mark_index_entries = 0;
    l->incarnation = a->incarnation;
    lock_give(&p->commit_lk);
    l->epochs_n = 0;
    l->epochs_known = true;
    mem_free(l->damage);
    l->damage = NULL;
}

static bool has_suffix(const char *name, const char *suffix, uint64_t *number)
{
    return strlen(name) > NAME_DIGITS && names_number(name, NAME_DIGITS, suffix, number);
}

/* Whether a file of the folder is the new log's. */
static enum err is_ours(struct plog_log *l, const char *name, bool *ours)
{
    uint64_t number;
    *ours = strcmp(name, "copy") == 0;
    if (!has_suffix(name, ".snap", &number) && !has_suffix(name, ".anew", &number))
        return ERR_OK;
    char *path = file_path(l->dir, name);
    enum err e = snapshot_is_of(l, path, l->incarnation, ours);
    mem_free(path);
    return e;
}

static enum err name_snapshot(struct plog_log *l, uint64_t offset)
{
    const struct disk *d = l->plog->disk;
    char *from = log_path(l, offset, "anew"), *to = log_path(l, offset, "snap");
    enum err e = d->rename(d->self, from, to);
    mem_free(from);
    mem_free(to);
    return e;
}

enum err anew_sweep(struct plog_log *l)
{
    const struct disk *d = l->plog->disk;
    struct names names;
    enum err e = names_list(d, l->dir, &names);
    if (e != ERR_OK)
        return e;
    bool anew = false;
    uint64_t offset = 0, number;
    for (size_t i = 0; e == ERR_OK && i < names.n; i++) {
        bool ours;
        e = is_ours(l, names.at[i], &ours);
        if (e == ERR_OK && ours && has_suffix(names.at[i], ".anew", &number)) {
            anew = true;
            offset = number;
        } else if (e == ERR_OK && !ours) {
            char *path = file_path(l->dir, names.at[i]);
            e = file_remove(d, path);
            mem_free(path);
        }
    }
    names_fini(&names);
    if (e == ERR_OK && anew)
        e = name_snapshot(l, offset);
    return e == ERR_OK ? d->sync_dir(d->self, l->dir) : e;
}

/* The file copy with the new beginning; what came before the log's start until now is kept beside
 * it, in case that the journal's entry does not come to be. */
static enum err save_copy(struct plog_log *l, const struct anew *a)
{
    struct copy c = l->copy;
    c.incarnation = plog_incarnation(l);
    copy_put(&c, l, &a->beginning);
    return copy_write(l, &c);
}

static enum err begin_anew(struct plog_log *l, const struct anew *a, struct bytes state)
{
    enum err e = log_make_dirs(l);
    if (e == ERR_OK && a->beginning.snapshot != 0)
        e = snapshot_write_anew(l, a->incarnation, a->beginning.snapshot, state);
    if (e == ERR_OK)
        e = save_copy(l, a);
    if (e == ERR_OK)
        e = tell_journal(l, a);
    if (e != ERR_OK)
        return e;
    change(l, a);
    e = anew_sweep(l);
    if (e == ERR_OK)
        return ERR_OK;
    store_fail(l->plog, "beginning a log anew", e);
    return ERR_FAILED;
}

enum err plog_begin_anew(struct plog_log *l, uint64_t start, uint64_t start_number,
                         uint64_t start_last_epoch, uint64_t snapshot_offset, struct bytes state)
{
    lock_check_none_held();
    if (start > UINT64_MAX / 2 || start_number > start || snapshot_offset > UINT64_MAX / 2 ||
        (snapshot_offset != 0 && snapshot_offset < start))
        return ERR_INVALID;
    enum err e = plog_failed(l->plog) ? ERR_FAILED : ERR_OK;
    if (e == ERR_OK && l->damage == NULL)
        e = cut_settle(l);
    if (e != ERR_OK)
        return e;
    struct anew a = {.incarnation = log_draw_incarnation(), .start_number = start_number};
    a.beginning = (struct beginning){a.incarnation, start, start_last_epoch, snapshot_offset};
    cut_enter(l);
    e = begin_anew(l, &a, state);
    cut_leave(l);
    return e;
}

enum err anew_recover(struct plog_log *l, struct bytes payload)
{
    const char *at = payload.at;
    uint64_t incarnation = le_load_u64(at), start = le_load_u64(at + 8),
             number = le_load_u64(at + 16);
    if (incarnation == 0 || start > UINT64_MAX / 2 || number > start)
        return ERR_CORRUPT;
    l->incarnation = incarnation;
    l->start_offset = start;
    l->start_number = number;
    l->mark = (struct tail){start, number, start, 0};
    l->mark_index_entries = 0;
    l->cuts_ahead = 0; /* those of what was before do not concern it */
    l->begun_anew = true;
    return ERR_OK;
}

/* ---- which copy it is ---- */

static struct copy copy_of(const struct plog_log *l)
{
    struct lock *lk = (struct lock *)(uintptr_t)&l->lk;
    lock_take(lk);
    struct copy c = l->copy;
    lock_give(lk);
    return c;
}

uint64_t plog_incarnation(const struct plog_log *l)
{
    struct copy c = copy_of(l);
    return c.incarnation != 0 ? c.incarnation : l->incarnation;
}

bool plog_is_adopted(const struct plog_log *l)
{
    return copy_of(l).disbelieved == l->incarnation;
}

enum err plog_adopt(struct plog_log *l, uint64_t incarnation)
{
    lock_check_none_held();
    if (incarnation == 0)
        return ERR_INVALID;
    if (plog_failed(l->plog))
        return ERR_FAILED;
    keeper_enter(l->plog);
    struct copy c = l->copy;
    c.incarnation = incarnation;
    c.disbelieved = l->incarnation;
    enum err e = log_make_dirs(l);
    if (e == ERR_OK)
        e = copy_write(l, &c);
    keeper_leave(l->plog);
    return e;
}

// SPDX-License-Identifier: Apache-2.0
/* The store as a whole: opening, closing, and what may be asked of it and of its logs. */
#include "plog/plog.h"

#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"
#include "plog/files.h"
#include "plog/inside.h"
#include "plog/store.h"

enum {
    SEGMENT_BYTES_LEAST = 4096,
    SEGMENT_BYTES_MOST = 1 << 30,
    JOURNAL_FILE_BYTES_LEAST = 4 * JOURNAL_PAGE_BYTES,
};

void plog_options_default(struct plog_options *o)
{
    /* Each log is opened once for many rounds, so more would save little; most descriptors are for
     * connections and readers. */
    long files = sysconf(_SC_OPEN_MAX) / 16;
    *o = (struct plog_options){
        .segment_bytes = 64 << 20,
        .cache_bytes = 32 << 20,
        .journal_first_bytes = 1 << 20,
        .journal_bytes = 64 << 20,
        .sync_singly_max = 8,
        .write_files_max = files < 16    ? 16
                           : files > 256 ? 256
                                         : (uint32_t)files,
    };
}

static void plog_free(struct plog *p)
{
    while (p->logs_n > 0) {
        struct plog_log *l = p->logs[--p->logs_n];
        segment_close_file(l);
        cache_drop_ring(&p->cache, &l->ring);
        kept_drop(l);
        log_unref(l);
    }
    journal_close(p);
    if (p->lock_file >= 0)
        p->disk->close(p->disk->self, p->lock_file);
    cache_fini(&p->cache);
    kept_fini(&p->kept);
    lock_signal_fini(&p->commit_signal);
    lock_fini(&p->commit_lk);
    buf_fini(&p->round_bytes);
    mem_free(p->logs);
    mem_free(p);
}

static struct plog *plog_new(const struct plog_options *o)
{
    CHECK(o->segment_bytes >= SEGMENT_BYTES_LEAST && o->segment_bytes <= SEGMENT_BYTES_MOST);
    CHECK(o->write_files_max > 0 && o->journal_first_bytes >= JOURNAL_FILE_BYTES_LEAST &&
          o->journal_bytes >= o->journal_first_bytes);
    struct plog *p = mem_new(sizeof *p);
    p->options = *o;
    p->disk = o->disk;
    p->lock_file = -1;
    cache_init(&p->cache, o->cache_bytes);
    kept_init(&p->kept, o->write_files_max / 4);
    lock_init(&p->commit_lk, LOCK_RANK_COMMIT);
    lock_signal_init(&p->commit_signal);
    STAILQ_INIT(&p->work);
    STAILQ_INIT(&p->dir_work);
    TAILQ_INIT(&p->open_logs);
    TAILQ_INIT(&p->late);
    return p;
}

static enum err take_lock(struct plog *p)
{
    const struct disk *d = p->disk;
    int file;
    enum err e = d->open(d->self, "lock", DISK_CREATE, &file);
    if (e != ERR_OK) {
        note(NOTE_ERROR, "plog", "the file lock: %s", err_text(e));
        return e;
    }
    e = d->lock(d->self, file);
    if (e != ERR_OK) {
        d->close(d->self, file);
        return e;
    }
    p->lock_file = file;
    return ERR_OK;
}

enum err plog_open(const struct plog_options *o, struct plog **out)
{
    struct plog *p = plog_new(o);
    enum err e = take_lock(p);
    if (e == ERR_OK) {
        e = store_read(p);
        if (e == ERR_NOT_FOUND)
            e = store_make(p);
        else if (e == ERR_OK)
            e = recover_store(p);
    }
    if (e != ERR_OK) {
        plog_free(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

void plog_close(struct plog *p)
{
    p->options.on_durable = NULL;
    p->options.on_full = NULL; /* the owners may be gone */
    if (!plog_failed(p)) {
        plog_commit(p, true);
        keeper_enter(p);
        if (!plog_failed(p)) {
            enum err e = checkpoint_write(p, true);
            if (e != ERR_OK)
                note(NOTE_WARNING, "plog", "the stop was not clean: %s", err_text(e));
        }
        keeper_leave(p);
    }
    plog_free(p);
}

void plog_abandon(struct plog *p)
{
    plog_free(p);
}

struct plog_stamp plog_last_stamp(const struct plog *p)
{
    struct lock *lk = (struct lock *)(uintptr_t)&p->commit_lk;
    lock_take(lk);
    struct plog_stamp stamp = p->stamp;
    lock_give(lk);
    return stamp;
}

bool plog_failed(const struct plog *p)
{
    return atomic_load(&p->failed);
}

const char *plog_store_uuid(const struct plog *p)
{
    return p->store_uuid;
}

void plog_each(struct plog *p, void (*each)(void *arg, struct plog_log *l), void *arg)
{
    for (size_t i = 0;; i++) {
        lock_take(&p->commit_lk);
        struct plog_log *l = i < p->logs_n ? p->logs[i] : NULL;
        lock_give(&p->commit_lk);
        if (l == NULL)
            return;
        each(arg, l);
    }
}

/* A folder of that name may be left from a crash before the creation counted; then it is empty. */
static enum err check_no_files(struct plog_log *l)
{
    struct names names;
    enum err e = names_list(l->plog->disk, l->dir, &names);
    if (e != ERR_OK)
        return e;
    e = names.n == 0 ? ERR_OK : ERR_EXISTS;
    names_fini(&names);
    return e;
}

enum err plog_create(struct plog *p, struct plog_id id, struct plog_log **out)
{
    lock_check_none_held();
    if (plog_failed(p))
        return ERR_FAILED;
    lock_take(&p->commit_lk);
    bool exists = log_find_locked(p, id) != NULL;
    lock_give(&p->commit_lk);
    if (exists)
        return ERR_EXISTS;
    struct plog_log *l = log_new(p, id, log_draw_incarnation());
    l->dir_dirty = true;
    struct dir_work work = {.kind = ENTRY_CREATE, .log = l};
    enum err e = log_make_dirs(l);
    if (e == ERR_OK)
        e = check_no_files(l);
    if (e == ERR_OK)
        e = round_do(p, &work);
    if (e != ERR_OK) {
        log_unref(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

enum err plog_remove(struct plog *p, struct plog_log *l)
{
    lock_check_none_held();
    if (plog_failed(p))
        return ERR_FAILED;
    struct dir_work work = {.kind = ENTRY_REMOVE, .log = l};
    /* No checkpoint may come between the journal entry and the end of the files: it would recycle
     * the entry, and files would be left that nobody knows of. */
    keeper_enter(p);
    enum err e = round_do(p, &work);
    if (e == ERR_OK) {
        cache_drop_ring(&p->cache, &l->ring);
        kept_drop(l);
        e = log_remove_dirs(l);
        if (e != ERR_OK)
            store_fail(p, "removing a log's files", e);
        log_unref(l);
    }
    keeper_leave(p);
    return e;
}

struct plog_id plog_log_id(const struct plog_log *l)
{
    return l->id;
}

void *plog_log_owner(const struct plog_log *l)
{
    return __atomic_load_n(&l->owner, __ATOMIC_ACQUIRE);
}

void plog_log_own(struct plog_log *l, void *owner)
{
    __atomic_store_n(&l->owner, owner, __ATOMIC_RELEASE);
}

bool plog_log_damaged(const struct plog_log *l, const char **where)
{
    if (l->damage != NULL)
        *where = l->damage;
    return l->damage != NULL;
}

uint64_t plog_start_offset(const struct plog_log *l)
{
    struct lock *lk = (struct lock *)(uintptr_t)&l->lk;
    lock_take(lk);
    uint64_t offset = l->start_offset;
    lock_give(lk);
    return offset;
}

uint64_t plog_start_number(const struct plog_log *l)
{
    struct lock *lk = (struct lock *)(uintptr_t)&l->lk;
    lock_take(lk);
    uint64_t number = l->start_number;
    lock_give(lk);
    return number;
}

uint64_t plog_end(const struct plog_log *l)
{
    return l->end;
}

uint64_t plog_end_number(const struct plog_log *l)
{
    return l->end_number;
}

uint64_t plog_durable(const struct plog_log *l)
{
    return atomic_load_explicit(&l->durable, memory_order_acquire);
}

uint64_t plog_durable_number(const struct plog_log *l)
{
    return atomic_load_explicit(&l->durable_number, memory_order_acquire);
}

struct plog_size plog_log_size(const struct plog_log *l)
{
    struct lock *lk = (struct lock *)(uintptr_t)&l->lk;
    struct plog_size size = {0};
    lock_take(lk);
    size.segments = l->segments.n;
    for (size_t i = 0; i < l->segments.n; i++)
        size.bytes += l->segments.at[i].bytes;
    lock_give(lk);
    uint64_t late = atomic_load_explicit(&l->late_bytes, memory_order_relaxed);
    size.bytes += late;
    if (size.segments == 0 && late > 0)
        size.segments = 1;
    return size;
}

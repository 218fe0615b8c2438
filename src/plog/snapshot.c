// SPDX-License-Identifier: Apache-2.0
/* Snapshots: the owner's state as of an offset, as bytes (FORMAT.md, "Snapshot"). */
#include "plog/snapshot.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/note.h"
#include "plog/files.h"
#include "plog/format.h"

enum { HEADER_BYTES = 56 };
#define STATE_BYTES_MAX ((size_t)4 << 30)

static void header_store(char *at, const struct plog_log *l, uint64_t incarnation, uint64_t offset,
                         struct bytes state)
{
    memset(at, 0, HEADER_BYTES);
    format_magic_store(at, 'S');
    le_store_u64(at + 8, state.n);
    le_store_u64(at + 16, offset);
    le_store_u64(at + 24, incarnation);
    memcpy(at + 32, l->id.topic, sizeof l->id.topic);
    le_store_u32(at + 48, l->id.partition);
    uint32_t crc = crc32c(0, at, FORMAT_AT_CRC);
    crc = crc32c(crc, at + FORMAT_AT_COVERED, HEADER_BYTES - FORMAT_AT_COVERED);
    le_store_u32(at + FORMAT_AT_CRC, state.n == 0 ? crc : crc32c(crc, state.at, state.n));
}

/* Puts the offset among the two kept; the one that must go is handed out. */
static bool remember(struct plog_log *l, uint64_t offset, uint64_t *dropped)
{
    lock_take(&l->lk);
    uint64_t *kept = l->snapshots;
    bool drop = false;
    if (l->snapshots_n == 0 || (kept[0] != offset && (l->snapshots_n == 1 || kept[1] != offset))) {
        drop = l->snapshots_n == 2;
        *dropped = kept[1];
        kept[1] = l->snapshots_n > 0 && offset < kept[0] ? offset : kept[0];
        kept[0] = offset > kept[1] ? offset : kept[0];
        l->snapshots_n = l->snapshots_n == 0 ? 1 : 2;
    }
    lock_give(&l->lk);
    return drop;
}

static enum err check_offset(const struct plog_log *l, uint64_t offset)
{
    if (plog_failed(l->plog))
        return ERR_FAILED;
    if (l->damage != NULL)
        return ERR_CORRUPT;
    return offset > plog_durable(l) || offset < plog_snapshot_older(l) ? ERR_INVALID : ERR_OK;
}

/* The snapshot is safe: it is one of the two from now on, and an older third one goes. */
static enum err count_in(struct plog_log *l, uint64_t offset)
{
    uint64_t dropped;
    if (!remember(l, offset, &dropped))
        return ERR_OK;
    char *path = log_path(l, dropped, "snap");
    enum err e = file_remove(l->plog->disk, path);
    mem_free(path);
    return e;
}

static enum err write_unnamed(struct plog_log *l, uint64_t offset, struct bytes state, bool sync)
{
    char header[HEADER_BYTES];
    header_store(header, l, l->incarnation, offset, state);
    struct bytes pieces[] = {{header, sizeof header}, state};
    char *path = log_path(l, offset, "snap");
    enum err e = file_write_tmp(l->plog->disk, path, pieces, state.n == 0 ? 1 : 2, sync);
    mem_free(path);
    return e;
}

static enum err give_name(struct plog_log *l, uint64_t offset)
{
    char *path = log_path(l, offset, "snap");
    enum err e = file_name_tmp(l->plog->disk, path);
    mem_free(path);
    return e;
}

/* The folders of a log that no marks name yet may be gone after a power cut. */
static enum err sync_folders(struct plog_log *l)
{
    const struct disk *d = l->plog->disk;
    lock_take(&l->plog->commit_lk);
    bool marked = l->marked;
    lock_give(&l->plog->commit_lk);
    if (marked)
        return d->sync_dir(d->self, l->dir);
    enum err e = log_sync_dirs(l);
    return e == ERR_OK ? d->sync_dir(d->self, "t") : e;
}

enum err plog_snapshot_write(struct plog_log *l, uint64_t offset, struct bytes state)
{
    lock_check_none_held();
    enum err e = check_offset(l, offset);
    if (e == ERR_OK)
        e = write_unnamed(l, offset, state, true);
    if (e == ERR_OK)
        e = give_name(l, offset);
    if (e == ERR_OK)
        e = sync_folders(l);
    return e == ERR_OK ? count_in(l, offset) : e;
}

/* ---- many at once ---- */

struct snapshot_put {
    struct plog_log *log;
    uint64_t offset;
};

struct plog_snapshots {
    struct plog *plog;
    struct snapshot_put *at; /* the first sync_singly_max are synced, but have no names yet */
    size_t n;
    size_t room;
};

struct plog_snapshots *plog_snapshots_begin(struct plog *p)
{
    struct plog_snapshots *s = mem_new(sizeof *s);
    s->plog = p;
    return s;
}

enum err plog_snapshots_put(struct plog_snapshots *s, struct plog_log *l, uint64_t offset,
                            struct bytes state)
{
    lock_check_none_held();
    enum err e = check_offset(l, offset);
    if (e == ERR_OK)
        e = write_unnamed(l, offset, state, s->n < s->plog->options.sync_singly_max);
    if (e != ERR_OK)
        return e;
    if (s->n == s->room) {
        s->room = s->room == 0 ? 8 : 2 * s->room;
        s->at = mem_resize(s->at, s->room * sizeof s->at[0]);
    }
    s->at[s->n++] = (struct snapshot_put){l, offset};
    return ERR_OK;
}

/* The kernel tells a lost page once: after this sync has failed, the one of the next checkpoint
 * would succeed, though what it was told of may be a page of a segment. */
static enum err sync_all(struct plog *p)
{
    enum err e = p->disk->sync_all(p->disk->self);
    if (e != ERR_OK)
        store_fail(p, "syncing snapshots and all else", e);
    return e;
}

/* No file gets its name before its bytes are safe, and no older one goes before the name is. */
enum err plog_snapshots_end(struct plog_snapshots *s)
{
    bool together = s->n > s->plog->options.sync_singly_max;
    lock_check_none_held();
    enum err e = together ? sync_all(s->plog) : ERR_OK, left = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < s->n; i++)
        e = give_name(s->at[i].log, s->at[i].offset);
    if (e == ERR_OK && together)
        e = sync_all(s->plog);
    for (size_t i = 0; e == ERR_OK && !together && i < s->n; i++)
        e = sync_folders(s->at[i].log);
    for (size_t i = 0; e == ERR_OK && i < s->n; i++) {
        enum err one = count_in(s->at[i].log, s->at[i].offset);
        left = left == ERR_OK ? one : left;
    }
    mem_free(s->at);
    mem_free(s);
    return e == ERR_OK ? left : e;
}

static enum err decode(const struct plog_log *l, struct bytes whole, uint64_t offset)
{
    const char *at = whole.at;
    if (whole.n < HEADER_BYTES)
        return ERR_CORRUPT;
    enum err e = format_check(whole, 'S', 0);
    if (e != ERR_OK)
        return e;
    bool ours = le_load_u64(at + 8) == whole.n - HEADER_BYTES && le_load_u64(at + 16) == offset &&
                le_load_u64(at + 24) == l->incarnation &&
                memcmp(at + 32, l->id.topic, sizeof l->id.topic) == 0 &&
                le_load_u32(at + 48) == l->id.partition;
    return ours ? ERR_OK : ERR_CORRUPT;
}

static enum err read_one(struct plog_log *l, uint64_t offset, struct buf *out)
{
    struct buf b = BUF_EMPTY;
    char *path = log_path(l, offset, "snap");
    enum err e = file_read(l->plog->disk, path, STATE_BYTES_MAX, &b);
    if (e == ERR_OK)
        e = decode(l, buf_bytes(&b), offset);
    if (e == ERR_OK)
        buf_put(out, b.at + HEADER_BYTES, b.n - HEADER_BYTES);
    else
        note(NOTE_ERROR, "plog", "%s: %s", path, err_text(e));
    mem_free(path);
    buf_fini(&b);
    return e == ERR_NOT_FOUND || e == ERR_TOO_BIG ? ERR_CORRUPT : e;
}

/* The snapshot that the log began with: it does not count until the log has come to it. */
static uint64_t begun_with_locked(const struct plog_log *l)
{
    return copy_snapshot(&l->copy, l->incarnation);
}

enum err plog_snapshot_read(struct plog_log *l, struct buf *out, uint64_t *offset)
{
    return plog_snapshot_read_below(l, UINT64_MAX, out, offset);
}

enum err plog_snapshot_read_below(struct plog_log *l, uint64_t below, struct buf *out,
                                  uint64_t *offset)
{
    lock_take(&l->lk);
    unsigned n = l->snapshots_n, first = 0;
    uint64_t offsets[2] = {l->snapshots[0], l->snapshots[1]};
    bool to_come = n > 0 && offsets[0] > plog_durable(l) && offsets[0] == begun_with_locked(l);
    lock_give(&l->lk);
    first += to_come;
    if (n > first && offsets[first] > plog_durable(l)) {
        note(NOTE_ERROR, "plog", "%s: the snapshot at %llu lies above the log's end %llu", l->dir,
             (unsigned long long)offsets[first], (unsigned long long)plog_durable(l));
        return ERR_CORRUPT;
    }
    enum err e = ERR_NOT_FOUND;
    for (unsigned i = first; i < n; i++) {
        if (offsets[i] >= below)
            continue;
        e = read_one(l, offsets[i], out);
        if (e == ERR_OK)
            *offset = offsets[i];
        if (e != ERR_CORRUPT)
            break;
    }
    return e;
}

uint64_t plog_snapshot_newest(const struct plog_log *l)
{
    struct lock *lk = (struct lock *)(uintptr_t)&l->lk;
    lock_take(lk);
    uint64_t offset = l->snapshots_n > 0 ? l->snapshots[0] : 0;
    lock_give(lk);
    return offset;
}

uint64_t plog_snapshot_older(const struct plog_log *l)
{
    struct lock *lk = (struct lock *)(uintptr_t)&l->lk;
    lock_take(lk);
    uint64_t offset = l->snapshots_n > 1 ? l->snapshots[1] : 0;
    lock_give(lk);
    return offset;
}

/* ---- for cuts and new beginnings ---- */

enum err snapshot_drop_above(struct plog_log *l, uint64_t end)
{
    const struct disk *d = l->plog->disk;
    enum err e = ERR_OK;
    bool removed = false;
    for (unsigned i = 0; e == ERR_OK && i < 2; i++) {
        lock_take(&l->lk);
        bool drop =
            i < l->snapshots_n && l->snapshots[i] > end && l->snapshots[i] != begun_with_locked(l);
        uint64_t offset = l->snapshots[i];
        if (drop) {
            l->snapshots[i] = l->snapshots[1];
            l->snapshots_n--;
        }
        lock_give(&l->lk);
        if (!drop)
            continue;
        char *path = log_path(l, offset, "snap");
        e = file_remove(d, path);
        mem_free(path);
        removed = true;
        i--; /* the one behind it is in its place */
    }
    if (e == ERR_OK && removed)
        e = d->sync_dir(d->self, l->dir);
    if (e == ERR_OK)
        return ERR_OK;
    store_fail(l->plog, "removing a snapshot", e);
    return ERR_FAILED;
}

enum err snapshot_write_anew(struct plog_log *l, uint64_t incarnation, uint64_t offset,
                             struct bytes state)
{
    char header[HEADER_BYTES];
    header_store(header, l, incarnation, offset, state);
    struct bytes pieces[] = {{header, sizeof header}, state};
    char *path = log_path(l, offset, "anew");
    enum err e = file_write_tmp(l->plog->disk, path, pieces, state.n == 0 ? 1 : 2, true);
    if (e == ERR_OK)
        e = file_name_tmp(l->plog->disk, path);
    mem_free(path);
    return e;
}

enum err snapshot_is_of(struct plog_log *l, const char *path, uint64_t incarnation, bool *yes)
{
    const struct disk *d = l->plog->disk;
    char at[HEADER_BYTES];
    size_t got = 0;
    int file;
    enum err e = d->open(d->self, path, DISK_READ, &file);
    if (e != ERR_OK)
        return e;
    e = d->read(d->self, file, at, sizeof at, 0, &got);
    d->close(d->self, file);
    *yes = e == ERR_OK && got == sizeof at && format_letters_fit(at, 'S') &&
           le_load_u64(at + 24) == incarnation;
    return e;
}

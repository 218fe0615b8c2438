// SPDX-License-Identifier: Apache-2.0
/* Snapshots: the owner's state as of an offset, as bytes (FORMAT.md, "Snapshot"). */
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/note.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/inside.h"

enum { HEADER_BYTES = 56 };
#define STATE_BYTES_MAX ((size_t)4 << 30)

static void header_store(char *at, const struct plog_log *l, uint64_t offset, struct bytes state)
{
    memset(at, 0, HEADER_BYTES);
    format_magic_store(at, 'S');
    le_store_u64(at + 8, state.n);
    le_store_u64(at + 16, offset);
    le_store_u64(at + 24, l->incarnation);
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

enum err plog_snapshot_write(struct plog_log *l, uint64_t offset, struct bytes state)
{
    const struct disk *d = l->plog->disk;
    lock_check_none_held();
    if (plog_failed(l->plog))
        return ERR_FAILED;
    if (l->damage != NULL)
        return ERR_CORRUPT;
    if (offset > plog_durable(l) || offset < plog_snapshot_older(l))
        return ERR_INVALID;
    char header[HEADER_BYTES];
    header_store(header, l, offset, state);
    struct bytes pieces[] = {{header, sizeof header}, state};
    char *path = log_path(l, offset, "snap");
    enum err e = file_replace(d, l->dir, path, pieces, state.n == 0 ? 1 : 2);
    mem_free(path);
    /* The folders of a log that no marks name yet may be gone after a power cut. */
    lock_take(&l->plog->commit_lk);
    bool marked = l->marked;
    lock_give(&l->plog->commit_lk);
    if (e == ERR_OK && !marked)
        e = log_sync_dirs(l);
    if (e == ERR_OK && !marked)
        e = d->sync_dir(d->self, "t");
    uint64_t dropped;
    if (e != ERR_OK || !remember(l, offset, &dropped))
        return e;
    path = log_path(l, dropped, "snap");
    e = file_remove(d, path);
    mem_free(path);
    return e;
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

enum err plog_snapshot_read(struct plog_log *l, struct buf *out, uint64_t *offset)
{
    return plog_snapshot_read_below(l, UINT64_MAX, out, offset);
}

enum err plog_snapshot_read_below(struct plog_log *l, uint64_t below, struct buf *out,
                                  uint64_t *offset)
{
    lock_take(&l->lk);
    unsigned n = l->snapshots_n;
    uint64_t offsets[2] = {l->snapshots[0], l->snapshots[1]};
    lock_give(&l->lk);
    if (n > 0 && offsets[0] > plog_durable(l)) {
        note(NOTE_ERROR, "plog", "%s: the snapshot at %llu lies above the log's end %llu", l->dir,
             (unsigned long long)offsets[0], (unsigned long long)plog_durable(l));
        return ERR_CORRUPT;
    }
    enum err e = ERR_NOT_FOUND;
    for (unsigned i = 0; i < n; i++) {
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

// SPDX-License-Identifier: Apache-2.0
#include "plog/copy_file.h"

#include "base/mem.h"
#include "base/note.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/inside.h"

enum { COPY_BYTES = 24 + 2 * 32, COPY_AT_BEGINNINGS = 24, BEGINNING_BYTES = 32 };

const struct beginning *copy_beginning(const struct copy *c, uint64_t incarnation, uint64_t start)
{
    for (size_t i = 0; i < 2; i++)
        if (c->at[i].incarnation == incarnation && c->at[i].start == start)
            return &c->at[i];
    return NULL;
}

uint64_t copy_snapshot(const struct copy *c, uint64_t incarnation)
{
    for (size_t i = 0; i < 2; i++)
        if (c->at[i].incarnation == incarnation && c->at[i].snapshot != 0)
            return c->at[i].snapshot;
    return 0;
}

void copy_put(struct copy *c, const struct plog_log *l, const struct beginning *b)
{
    const struct beginning *holds = copy_beginning(c, l->incarnation, plog_start_offset(l));
    c->at[1] = holds != NULL ? *holds : (struct beginning){0};
    c->at[0] = *b;
}

enum err copy_decode(struct bytes whole, struct copy *out)
{
    struct copy c = {0};
    enum err e = format_check(whole, 'C', 0);
    if (e != ERR_OK)
        return e;
    if (whole.n != COPY_BYTES)
        return ERR_CORRUPT;
    const char *at = whole.at;
    c.incarnation = le_load_u64(at + 8);
    c.disbelieved = le_load_u64(at + 16);
    for (size_t i = 0; i < 2; i++) {
        const char *from = at + COPY_AT_BEGINNINGS + i * BEGINNING_BYTES;
        c.at[i] = (struct beginning){le_load_u64(from), le_load_u64(from + 8),
                                     le_load_u64(from + 16), le_load_u64(from + 24)};
    }
    *out = c;
    return ERR_OK;
}

enum err copy_read(struct plog_log *l)
{
    struct buf b = BUF_EMPTY;
    char *path = file_path(l->dir, "copy");
    enum err e = file_read(l->plog->disk, path, COPY_BYTES, &b);
    if (e == ERR_OK)
        e = copy_decode(buf_bytes(&b), &l->copy);
    if (e == ERR_TOO_BIG)
        e = ERR_CORRUPT;
    /* Its name may be in the page cache only, when the sync of the folder has failed; what it says
     * must not be taken back. */
    if (e == ERR_OK)
        e = l->plog->disk->sync_dir(l->plog->disk->self, l->dir);
    if (e == ERR_NOT_FOUND)
        e = ERR_OK;
    else if (e != ERR_OK)
        note(NOTE_ERROR, "plog", "%s: %s", path, err_text(e));
    mem_free(path);
    buf_fini(&b);
    return e;
}

enum err copy_write(struct plog_log *l, const struct copy *c)
{
    const struct disk *d = l->plog->disk;
    char at[COPY_BYTES] = {0};
    format_magic_store(at, 'C');
    le_store_u64(at + 8, c->incarnation);
    le_store_u64(at + 16, c->disbelieved);
    for (size_t i = 0; i < 2; i++) {
        char *to = at + COPY_AT_BEGINNINGS + i * BEGINNING_BYTES;
        le_store_u64(to, c->at[i].incarnation);
        le_store_u64(to + 8, c->at[i].start);
        le_store_u64(to + 16, c->at[i].last_epoch);
        le_store_u64(to + 24, c->at[i].snapshot);
    }
    format_crc_store(at, sizeof at, 0);
    struct bytes piece = {at, sizeof at};
    char *path = file_path(l->dir, "copy");
    enum err e = file_write_tmp(d, path, &piece, 1, true);
    if (e == ERR_OK)
        e = file_name_tmp(d, path);
    /* Once it has its name, the next start may believe it. */
    bool is_as_before = e == ERR_NO_SPACE;
    if (e == ERR_OK)
        e = d->sync_dir(d->self, "t");
    if (e == ERR_OK)
        e = log_sync_dirs(l);
    mem_free(path);
    if (e == ERR_OK) {
        lock_take(&l->lk);
        l->copy = *c;
        lock_give(&l->lk);
    } else if (!is_as_before) {
        store_fail(l->plog, "writing a file copy", e);
        e = ERR_FAILED;
    }
    return e;
}

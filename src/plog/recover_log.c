// SPDX-License-Identifier: Apache-2.0
#include "plog/recover_log.h"

#include "base/mem.h"
#include "base/note.h"
#include "plog/clean.h"
#include "plog/cut.h"
#include "plog/files.h"
#include "plog/index.h"
#include "plog/reader.h"

enum { NAME_DIGITS = 20 };

static void damaged(struct plog_log *l, uint64_t segment, uint64_t position, const char *what)
{
    if (l->damage != NULL)
        return;
    struct buf b = BUF_EMPTY;
    buf_put_format(&b, "%s/%020llu.log at byte %llu: %s", l->dir, (unsigned long long)segment,
                   (unsigned long long)position, what);
    buf_put_u8(&b, 0);
    l->damage = b.at;
    note(NOTE_ERROR, "plog", "%s. The log stays closed.", l->damage);
}

static enum err remove_file(struct plog_log *l, const char *name)
{
    const struct disk *d = l->plog->disk;
    char *path = file_path(l->dir, name);
    enum err e = file_remove(d, path);
    mem_free(path);
    l->dir_dirty = true;
    return e;
}

/* Its size; for the last segment, cut at the mark. */
static enum err size_segment(struct plog_log *l, struct segment *s, bool last)
{
    const struct disk *d = l->plog->disk;
    char *path = log_path(l, s->name, "log");
    int file;
    enum err e = d->open(d->self, path, last ? DISK_WRITE : DISK_READ, &file);
    mem_free(path);
    if (e != ERR_OK)
        return e;
    e = d->size(d->self, file, &s->bytes);
    if (e == ERR_OK && last && s->bytes < l->mark.position) {
        damaged(l, s->name, s->bytes, "the file ends before the mark");
    } else if (e == ERR_OK && last && s->bytes > l->mark.position) {
        e = d->truncate(d->self, file, l->mark.position);
        s->bytes = l->mark.position;
    }
    d->close(d->self, file);
    return e;
}

static enum err list_segments(struct plog_log *l, const struct names *names)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < names->n; i++) {
        uint64_t name;
        if (!names_number(names->at[i], NAME_DIGITS, ".log", &name))
            continue;
        /* Behind the mark everything is written again from the journal. */
        if (l->mark.position == 0 || name > l->mark.segment) {
            e = remove_file(l, names->at[i]);
            continue;
        }
        struct segment *s = segment_list_push(&l->segments, name, NUMBER_UNKNOWN);
        s->index_saved = INDEX_ASK;
        s->footer_saved = name < l->mark.segment;
        e = size_segment(l, s, name == l->mark.segment);
    }
    return e;
}

/* Snapshots are listed; files without a segment and unfinished ones go. What a damaged log could
 * not take was answered to clients: without it the log must not open, however sound its segments
 * are by now. */
static enum err list_others(struct plog_log *l, const struct names *names)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < names->n; i++) {
        const char *text = names->at[i];
        size_t n = strlen(text);
        uint64_t name;
        if (names_number(text, NAME_DIGITS, ".snap", &name)) {
            /* In rising order, so the newest come last; an older third one was to be removed. */
            l->snapshots[1] = l->snapshots[0];
            l->snapshots[0] = name;
            l->snapshots_n = l->snapshots_n < 2 ? l->snapshots_n + 1 : 2;
        } else if (names_number(text, NAME_DIGITS, ".index", &name)) {
            size_t place = segment_list_find(&l->segments, name);
            if (place == SIZE_MAX || l->segments.at[place].name != name)
                e = remove_file(l, text);
        } else if (n > 4 && strcmp(text + n - 4, ".tmp") == 0) {
            e = remove_file(l, text);
        } else if (names_number(text, NAME_DIGITS, ".anew", &name)) {
            e = remove_file(l, text); /* of a beginning that the journal does not know */
        } else if (strcmp(text, "salvage") == 0) {
            damaged(l, l->mark.segment, l->mark.position,
                    "what followed lies in the file salvage beside it");
        }
    }
    return e;
}

/* The first batch of a segment tells the number that the segment begins with. */
static enum err read_number(struct plog_log *l, struct segment *s)
{
    struct batch_reader r;
    struct bytes batch;
    struct batch_header h;
    enum err e = batch_reader_open(&r, l, s->name, 0, BATCH_HEADER_BYTES);
    if (e != ERR_OK)
        return e;
    e = batch_reader_next(&r, s->bytes, &batch, &h);
    batch_reader_close(&r);
    if (e == ERR_NOT_FOUND || e == ERR_CORRUPT || (e == ERR_OK && h.base_offset != s->name)) {
        damaged(l, s->name, 0, "the first batch is bad");
        return ERR_OK;
    }
    if (e == ERR_OK)
        s->number = h.first_number;
    else
        note(NOTE_ERROR, "plog", "%s/%020llu.log: %s", l->dir, (unsigned long long)s->name,
             err_text(e));
    return e;
}

/* Holds the list of segments against the mark. */
static enum err check_segments(struct plog_log *l)
{
    if (l->mark.position == 0)
        return ERR_OK;
    size_t n = l->segments.n;
    if (n == 0 || l->segments.at[n - 1].name != l->mark.segment) {
        damaged(l, l->mark.segment, 0, "the segment that the mark names is missing");
        return ERR_OK;
    }
    struct segment *first = &l->segments.at[0], *last = &l->segments.at[n - 1];
    enum err e = ERR_OK;
    if (first->name == l->start_offset) {
        first->number = l->start_number;
    } else {
        /* A release moved the start after the marks were written. */
        e = read_number(l, first);
        l->start_offset = first->name;
        l->start_number = first->number;
    }
    if (e == ERR_OK && last->number == NUMBER_UNKNOWN)
        e = read_number(l, last);
    if (e == ERR_OK && l->damage == NULL)
        e = index_cut(l, last, l->mark_index_entries);
    return e;
}

static enum err open_files(struct plog_log *l)
{
    struct names names;
    bool changed;
    enum err e = l->begun_anew ? anew_sweep(l) : ERR_OK;
    if (e == ERR_OK)
        e = copy_read(l);
    if (e == ERR_CORRUPT) {
        damaged(l, l->mark.segment, l->mark.position, "the file copy beside it is bad");
        return ERR_OK;
    }
    if (e == ERR_OK)
        e = names_list(l->plog->disk, l->dir, &names);
    if (e == ERR_NOT_FOUND && l->marked) {
        damaged(l, l->mark.segment, 0, "the log's folder is missing");
        return ERR_OK;
    }
    if (e != ERR_OK)
        return e;
    e = swap_recover(l, names.at, names.n, &changed);
    if (e == ERR_CORRUPT) {
        damaged(l, l->mark.segment, 0, "a cleaned segment beside it claims what it cannot hold");
        names_fini(&names);
        return ERR_OK;
    }
    if (e == ERR_OK && changed) {
        names_fini(&names);
        e = names_list(l->plog->disk, l->dir, &names);
        if (e != ERR_OK)
            return e;
    }
    if (e == ERR_OK)
        e = list_segments(l, &names);
    if (e == ERR_OK)
        e = check_segments(l);
    if (e == ERR_OK && l->damage == NULL)
        e = list_others(l, &names);
    names_fini(&names);
    return e;
}

enum err recover_log_open(struct plog_log *l)
{
    l->written = l->mark;
    enum err e = open_files(l);
    l->indexed_position = l->mark.position;
    if (e == ERR_CORRUPT) {
        damaged(l, l->mark.segment, 0, "the file or its folder is something else");
        return ERR_OK;
    }
    /* May pass, so it must not count as damage: what the journal holds for a damaged log goes out
     * of its way. */
    if (e != ERR_OK)
        note(NOTE_ERROR, "plog", "%s: %s", l->dir, err_text(e));
    return e;
}

/* A damaged log cannot take the batch, and the journal will be recycled. It is kept beside the
 * segments, for whoever repairs them. */
static enum err salvage(struct plog_log *l, struct bytes batch)
{
    const struct disk *d = l->plog->disk;
    char *path = file_path(l->dir, "salvage");
    int file;
    uint64_t size = 0;
    enum err e = log_make_dirs(l);
    if (e == ERR_OK)
        e = d->open(d->self, path, DISK_CREATE, &file);
    mem_free(path);
    if (e != ERR_OK)
        return e;
    e = d->size(d->self, file, &size);
    if (e == ERR_OK)
        e = d->write(d->self, file, &batch, 1, size);
    if (e == ERR_OK)
        e = d->sync(d->self, file);
    if (e == ERR_OK)
        e = log_sync_dirs(l);
    d->close(d->self, file);
    return e;
}

/* As a round that has just been made durable. */
static enum err take_batch(struct plog_log *l, struct bytes batch, const struct batch_header *h)
{
    struct plog *p = l->plog;
    struct plog_batch *b = plog_batch_new(batch.n);
    buf_clear(&b->bytes);
    buf_put_bytes(&b->bytes, batch);
    b->h = *h;
    b->log = l;
    cache_put(&p->cache, &l->ring, b);
    l->end = batch_end(h);
    l->end_number = batch_end_number(h);
    atomic_store(&l->durable_number, l->end_number);
    atomic_store(&l->durable, l->end);
    atomic_fetch_add(&l->late_bytes, batch.n);
    atomic_fetch_add(&p->late_bytes, batch.n);
    lock_take(&p->commit_lk);
    write_late_locked(l, true);
    lock_give(&p->commit_lk);
    return cache_unwritten(&p->cache) > p->options.cache_bytes ? write_late(p) : ERR_OK;
}

enum err recover_log_append(struct plog_log *l, struct bytes batch)
{
    struct batch_header h;
    enum err e = batch_check(batch, &h);
    if (e == ERR_NEWER_FORMAT)
        return e;
    if (e == ERR_OK && batch_end(&h) <= l->end)
        return ERR_OK;
    if (e == ERR_OK && l->damage == NULL && h.base_offset == l->end &&
        h.first_number == l->end_number)
        return take_batch(l, batch, &h);
    /* The batches before are written first, so that the place is that of the bad one. */
    e = l->damage == NULL ? write_log(l, l->end) : ERR_OK;
    if (e != ERR_OK)
        return e;
    damaged(l, l->written.segment, l->written.position,
            "the journal does not go on where the mark ends");
    return salvage(l, batch);
}

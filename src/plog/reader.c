// SPDX-License-Identifier: Apache-2.0
#include "plog/reader.h"

#include "base/mem.h"
#include "plog/clean.h"
#include "plog/index.h"

/* A cleaned segment's file gets its usual name at the end of the swap. */
static enum err open_file(struct plog_log *l, const struct segment_view *v, int *file)
{
    const struct disk *d = l->plog->disk;
    enum err e = ERR_NOT_FOUND;
    char *path;
    if (v->clean_end != 0) {
        path = clean_path(l, v->name, v->clean_end, "");
        e = d->open(d->self, path, DISK_READ, file);
        mem_free(path);
    }
    if (e == ERR_NOT_FOUND) {
        path = log_path(l, v->name, "log");
        e = d->open(d->self, path, DISK_READ, file);
        mem_free(path);
    }
    return e;
}

enum err batch_reader_open(struct batch_reader *r, struct plog_log *l, uint64_t name,
                           uint64_t position, size_t read_ahead_bytes)
{
    const struct disk *d = l->plog->disk;
    struct segment_view v, now;
    int file;
    /* What was opened is the file of `v` only if that is still the segment's afterwards. */
    for (;;) {
        if (!segment_look(l, name, &v))
            return ERR_GONE;
        enum err e = open_file(l, &v, &file);
        bool same = segment_look(l, name, &now) && now.swap == v.swap;
        if (same && e != ERR_OK)
            return e == ERR_NOT_FOUND ? ERR_GONE : e;
        if (same)
            break;
        if (e == ERR_OK)
            d->close(d->self, file);
    }
    *r = (struct batch_reader){
        .log = l,
        .file = file,
        .view = v,
        .position = position,
        .read_ahead_bytes = read_ahead_bytes,
    };
    return ERR_OK;
}

enum err batch_reader_end(struct batch_reader *r, uint64_t *end)
{
    const struct disk *d = r->log->plog->disk;
    struct segment_view now;
    if (segment_look(r->log, r->view.name, &now) && now.swap == r->view.swap) {
        r->view.bytes = now.bytes;
        r->view.sealed = now.sealed;
    } else if (r->view.name < plog_start_offset(r->log)) {
        return ERR_GONE;
    } else if (!r->view.sealed) {
        /* Sealed and swapped since: the file has grown as far as it ever will. */
        enum err e = d->size(d->self, r->file, &r->view.bytes);
        if (e != ERR_OK)
            return e;
        r->view.sealed = true;
    }
    *end = r->view.bytes;
    return ERR_OK;
}

void batch_reader_close(struct batch_reader *r)
{
    const struct disk *d = r->log->plog->disk;
    d->close(d->self, r->file);
    buf_fini(&r->window);
}

/* Makes n bytes from r->position on lie in the window, and more where the file has more. */
static enum err fill(struct batch_reader *r, size_t n, uint64_t end, const char **at)
{
    const struct disk *d = r->log->plog->disk;
    uint64_t from = r->position;
    if (from < r->window_position || from + n > r->window_position + r->window.n) {
        size_t want = n > r->read_ahead_bytes ? n : r->read_ahead_bytes;
        size_t got;
        if (want > end - from)
            want = (size_t)(end - from);
        buf_clear(&r->window);
        buf_reserve(&r->window, want);
        enum err e = d->read(d->self, r->file, r->window.at, want, from, &got);
        if (e != ERR_OK)
            return e;
        r->window.n = got;
        r->window_position = from;
        if (got < n)
            return ERR_CORRUPT;
    }
    *at = r->window.at + (from - r->window_position);
    return ERR_OK;
}

enum err batch_reader_next(struct batch_reader *r, uint64_t end, struct bytes *batch,
                           struct batch_header *h)
{
    if (r->position >= end)
        return ERR_NOT_FOUND;
    if (end - r->position < BATCH_HEADER_BYTES)
        return ERR_CORRUPT;
    const char *at;
    enum err e = fill(r, BATCH_HEADER_BYTES, end, &at);
    struct batch_header peek;
    if (e == ERR_OK)
        e = batch_header_peek(at, &peek);
    if (e == ERR_OK && peek.bytes > end - r->position)
        e = ERR_CORRUPT;
    if (e == ERR_OK)
        e = fill(r, peek.bytes, end, &at);
    if (e != ERR_OK)
        return e;
    struct bytes whole = {at, peek.bytes};
    e = batch_check(whole, h);
    if (e != ERR_OK)
        return e;
    *batch = whole;
    r->position += peek.bytes;
    return ERR_OK;
}

enum err batch_reader_to(struct batch_reader *r, uint64_t offset, struct bytes *batch,
                         struct batch_header *h)
{
    enum err e;
    do
        e = batch_reader_next(r, r->view.bytes, batch, h);
    while (e == ERR_OK && batch_end(h) <= offset);
    bool missing = e == ERR_NOT_FOUND || (e == ERR_OK && h->base_offset > offset);
    return missing ? ERR_CORRUPT : e;
}

static enum err segment_of_offset(struct plog_log *l, uint64_t offset, uint64_t *name)
{
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, offset);
    if (place != SIZE_MAX)
        *name = l->segments.at[place].name;
    lock_give(&l->lk);
    return place == SIZE_MAX ? ERR_GONE : ERR_OK;
}

/* The segment that holds the message `number`: the last that begins at or below it. */
static enum err segment_of_number(struct plog_log *l, uint64_t number, uint64_t *name)
{
    lock_take(&l->lk);
    size_t n = l->segments.n;
    uint64_t *names = mem_new_array(n + 1, sizeof names[0]);
    for (size_t i = 0; i < n; i++)
        names[i] = l->segments.at[i].name;
    lock_give(&l->lk);
    size_t low = 0, high = n; /* the first that begins above number */
    enum err e = ERR_OK;
    while (low < high && e == ERR_OK) {
        size_t middle = low + (high - low) / 2;
        uint64_t first;
        e = segment_number(l, names[middle], &first);
        if (e == ERR_OK && first <= number)
            low = middle + 1;
        else
            high = middle;
    }
    if (e == ERR_OK && low == 0)
        e = ERR_GONE;
    if (e == ERR_OK)
        *name = names[low - 1];
    mem_free(names);
    return e;
}

/* Index and file must be of one age, so when the cleaner has swapped meanwhile, all is looked up
 * again. */
enum err batch_reader_find(struct batch_reader *r, struct plog_log *l, uint64_t key, bool by_number,
                           size_t read_ahead_bytes)
{
    for (;;) {
        uint64_t swaps = log_swaps(l), name;
        enum err e =
            by_number ? segment_of_number(l, key, &name) : segment_of_offset(l, key, &name);
        if (e == ERR_OK) {
            uint64_t position = !by_number && key == name ? 0 : index_find(l, name, key, by_number);
            e = batch_reader_open(r, l, name, position, read_ahead_bytes);
        }
        if (log_swaps(l) == swaps || (e != ERR_OK && e != ERR_GONE))
            return e;
        if (e == ERR_OK)
            batch_reader_close(r);
    }
}

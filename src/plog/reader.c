// SPDX-License-Identifier: Apache-2.0
#include "plog/reader.h"

#include "base/mem.h"

enum err batch_reader_open(struct batch_reader *r, struct plog_log *l, uint64_t name,
                           uint64_t position, size_t read_ahead_bytes)
{
    const struct disk *d = l->plog->disk;
    char *path = log_path(l, name, "log");
    int file;
    enum err e = d->open(d->self, path, DISK_READ, &file);
    mem_free(path);
    if (e != ERR_OK)
        return e;
    *r = (struct batch_reader){
        .log = l,
        .file = file,
        .name = name,
        .position = position,
        .read_ahead_bytes = read_ahead_bytes,
    };
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

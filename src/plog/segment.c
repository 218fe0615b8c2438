// SPDX-License-Identifier: Apache-2.0
#include "plog/segment.h"

#include "base/mem.h"
#include "plog/index.h"
#include "plog/inside.h"
#include "plog/reader.h"

enum { PIECES_AT_ONCE = 256 };

static void segment_fini(struct segment *s)
{
    mem_free(s->pending);
}

void segment_list_fini(struct segment_list *s)
{
    for (size_t i = 0; i < s->n; i++)
        segment_fini(&s->at[i]);
    mem_free(s->at);
    *s = (struct segment_list){0};
}

struct segment *segment_list_push(struct segment_list *s, uint64_t name, uint64_t number)
{
    if (s->n == s->room) {
        s->room = s->room == 0 ? 1 : 2 * s->room;
        s->at = mem_resize(s->at, s->room * sizeof s->at[0]);
    }
    CHECK(s->n == 0 || s->at[s->n - 1].name < name);
    s->at[s->n] = (struct segment){.name = name, .number = number, .stored = STORED_ALL};
    return &s->at[s->n++];
}

void segment_list_drop(struct segment_list *s, size_t place)
{
    CHECK(place < s->n);
    segment_fini(&s->at[place]);
    s->n--;
    memmove(s->at + place, s->at + place + 1, (s->n - place) * sizeof s->at[0]);
}

void segment_list_drop_last(struct segment_list *s)
{
    CHECK(s->n > 0);
    segment_fini(&s->at[--s->n]);
}

size_t segment_list_find(const struct segment_list *s, uint64_t offset)
{
    size_t low = 0, high = s->n; /* the first that begins above offset */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->at[middle].name <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? SIZE_MAX : low - 1;
}

bool segment_look(struct plog_log *l, uint64_t name, struct segment_view *out)
{
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, name);
    bool there = place != SIZE_MAX && l->segments.at[place].name == name;
    if (there) {
        const struct segment *s = &l->segments.at[place];
        *out =
            (struct segment_view){name, s->swap, s->clean_end, s->bytes, place + 1 < l->segments.n};
    }
    lock_give(&l->lk);
    return there;
}

void segment_close_file(struct plog_log *l)
{
    struct plog *p = l->plog;
    if (l->write_file < 0)
        return;
    p->disk->close(p->disk->self, l->write_file);
    l->write_file = -1;
    TAILQ_REMOVE(&p->open_logs, l, open_link);
    p->open_logs_n--;
}

static enum err open_file(struct plog_log *l, uint64_t name, enum disk_open_how how)
{
    struct plog *p = l->plog;
    if (l->write_file >= 0) {
        TAILQ_REMOVE(&p->open_logs, l, open_link);
        TAILQ_INSERT_TAIL(&p->open_logs, l, open_link);
        return ERR_OK;
    }
    if (p->open_logs_n >= p->options.write_files_max)
        segment_close_file(TAILQ_FIRST(&p->open_logs));
    char *path = log_path(l, name, "log");
    enum err e = p->disk->open(p->disk->self, path, how, &l->write_file);
    mem_free(path);
    if (e != ERR_OK) {
        l->write_file = -1;
        return e;
    }
    TAILQ_INSERT_TAIL(&p->open_logs, l, open_link);
    p->open_logs_n++;
    return ERR_OK;
}

/* Begins a segment at the log's written end. */
static enum err begin(struct plog_log *l)
{
    segment_close_file(l);
    enum err e = open_file(l, l->written.offset, DISK_CREATE);
    if (e != ERR_OK)
        return e;
    lock_take(&l->lk);
    /* So that one of this name from before a cut is told from it. */
    segment_list_push(&l->segments, l->written.offset, l->written.number)->swap = l->swaps;
    l->dir_dirty = true;
    lock_give(&l->lk);
    l->written.segment = l->written.offset;
    l->written.position = 0;
    l->indexed_position = 0;
    return ERR_OK;
}

/* Makes the list tell what has been written; n batches are behind the written end in the file. */
static void note_written(struct plog_log *l, const struct batch_view *views, size_t n)
{
    struct tail *w = &l->written;
    lock_take(&l->lk);
    struct segment *s = &l->segments.at[l->segments.n - 1];
    for (size_t i = 0; i < n; i++) {
        const struct batch_header *h = views[i].h;
        if (w->position - l->indexed_position >= INDEX_STEP_BYTES) {
            index_add_pending(s, h, w->position);
            l->indexed_position = w->position;
        }
        w->position += h->bytes;
        w->offset = batch_end(h);
        w->number = batch_end_number(h);
    }
    s->bytes = w->position;
    lock_give(&l->lk);
}

enum err segment_append(struct plog_log *l, const struct batch_view *views, size_t n)
{
    const struct disk *d = l->plog->disk;
    uint64_t bytes_max = l->plog->options.segment_bytes;
    while (n > 0) {
        CHECK(views[0].h->base_offset == l->written.offset);
        enum err e = ERR_OK;
        bool none = l->written.position == 0;
        if (none || l->written.position + views[0].h->bytes > bytes_max)
            e = begin(l);
        else
            e = open_file(l, l->written.segment, DISK_WRITE);
        if (e != ERR_OK)
            return e;
        struct bytes pieces[PIECES_AT_ONCE];
        size_t k = 0;
        uint64_t end = l->written.position;
        while (k < n && k < PIECES_AT_ONCE && (end == 0 || end + views[k].h->bytes <= bytes_max)) {
            pieces[k] = views[k].bytes;
            end += views[k].h->bytes;
            k++;
        }
        e = d->write(d->self, l->write_file, pieces, k, l->written.position);
        if (e != ERR_OK)
            return e;
        note_written(l, views, k);
        views += k;
        n -= k;
    }
    return ERR_OK;
}

enum err segment_number(struct plog_log *l, uint64_t name, uint64_t *number)
{
    uint64_t known = NUMBER_UNKNOWN;
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, name);
    bool there = place != SIZE_MAX && l->segments.at[place].name == name;
    if (there)
        known = l->segments.at[place].number;
    lock_give(&l->lk);
    if (!there)
        return ERR_GONE;
    if (known != NUMBER_UNKNOWN) {
        *number = known;
        return ERR_OK;
    }
    struct batch_reader r;
    struct bytes batch;
    struct batch_header h;
    enum err e = batch_reader_open(&r, l, name, 0, INDEX_STEP_BYTES);
    if (e != ERR_OK)
        return e;
    e = batch_reader_next(&r, r.view.bytes, &batch, &h);
    batch_reader_close(&r);
    if (e == ERR_NOT_FOUND || (e == ERR_OK && h.base_offset != name))
        e = ERR_CORRUPT;
    if (e == ERR_CORRUPT || e == ERR_NEWER_FORMAT)
        log_note_corrupt(l, name, 0, e);
    if (e != ERR_OK)
        return e;
    lock_take(&l->lk);
    place = segment_list_find(&l->segments, name);
    if (place != SIZE_MAX && l->segments.at[place].name == name)
        l->segments.at[place].number = h.first_number;
    lock_give(&l->lk);
    *number = h.first_number;
    return ERR_OK;
}

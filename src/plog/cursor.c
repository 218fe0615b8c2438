// SPDX-License-Identifier: Apache-2.0
/* Reading records in order: from the tail cache where it has them, else from the segments. */
#include "base/mem.h"
#include "plog/copy.h"
#include "plog/inside.h"
#include "plog/reader.h"

enum { NEAR_BYTES = 64 << 10 }; /* what a reading that goes on passes over for its next message */

/* What a cursor keeps between calls. */
struct reading {
    size_t read_ahead_bytes;
    struct plog_batch *lent; /* from the cache, or NULL */
    bool file_open;          /* `file` stands in a segment */
    struct batch_reader file;
    bool in_batch; /* records of the batch with header h are left or were read */
    struct batch_header h;
    struct cursor records; /* what is left of it */
    uint64_t offset;       /* of the next record in it */
    uint64_t number;
    uint64_t cuts; /* of the log, when what is open was opened */
    uint64_t beginnings;
};
_Static_assert(sizeof(((struct plog_cursor *)NULL)->priv) >= sizeof(struct reading *), "plog.h");

static struct reading *reading_of(const struct plog_cursor *c)
{
    return c->priv[0];
}

static void leave_batch(struct plog_log *l, struct reading *r)
{
    if (r->lent != NULL)
        cache_give_back(&l->plog->cache, r->lent);
    r->lent = NULL;
    r->in_batch = false;
}

static void leave_file(struct reading *r)
{
    if (r->file_open)
        batch_reader_close(&r->file);
    r->file_open = false;
}

static void enter_batch(struct reading *r, struct bytes whole, const struct batch_header *h)
{
    r->in_batch = true;
    r->h = *h;
    r->records = cursor_of(
        (struct bytes){(const char *)whole.at + BATCH_HEADER_BYTES, whole.n - BATCH_HEADER_BYTES});
    r->offset = h->base_offset;
    r->number = h->first_number;
}

static void enter_lent(struct reading *r, struct plog_batch *b)
{
    r->lent = b;
    enter_batch(r, buf_bytes(&b->bytes), &b->h);
}

void reading_free(struct plog *p, struct reading *r)
{
    if (r->lent != NULL)
        cache_give_back(&p->cache, r->lent);
    if (r->file_open) {
        p->disk->close(p->disk->self, r->file.file);
        buf_fini(&r->file.window);
    }
    mem_free(r);
}

static enum err open_segment(struct plog_log *l, struct reading *r, uint64_t key, bool by_number)
{
    leave_file(r);
    enum err e = batch_reader_find(&r->file, l, key, by_number, r->read_ahead_bytes);
    r->file_open = e == ERR_OK;
    return e;
}

/* The file that is open ends below `offset`: goes on in the segment that holds it. */
static enum err open_next(struct plog_log *l, struct reading *r, uint64_t offset)
{
    struct segment_view ended = r->file.view;
    enum err e = open_segment(l, r, offset, false);
    /* The caller knows that the offset is written, so the same end again is a hole in the log. */
    if (e == ERR_OK && r->file.view.name == ended.name && r->file.view.swap == ended.swap)
        e = ERR_CORRUPT;
    return e;
}

/* Enters the cached batch that holds the record at `*offset`, if there is one; where that is a GAP,
 * which a follower may hold in its cache, goes on behind it. */
static enum err find_cached(struct plog_log *l, struct reading *r, uint64_t *offset)
{
    struct plog_batch *b;
    while ((b = cache_lend_offset(&l->plog->cache, &l->ring, *offset)) != NULL && b->h.gap) {
        *offset = batch_end(&b->h);
        cache_give_back(&l->plog->cache, b);
        if (*offset >= plog_committed(l))
            return ERR_NOT_FOUND;
    }
    if (b == NULL)
        return ERR_GONE;
    leave_file(r);
    enter_lent(r, b);
    return ERR_OK;
}

/* Reads on until the batch that holds the key, or for an offset that is in a GAP, until the first
 * batch behind that; a number in a GAP is ERR_GONE. */
static enum err read_to(struct plog_log *l, struct reading *r, uint64_t key, bool by_number)
{
    bool known = false;
    uint64_t expected = 0, end;
    for (;;) {
        struct bytes whole;
        struct batch_header h;
        uint64_t position = r->file.position;
        enum err e = batch_reader_end(&r->file, &end);
        if (e != ERR_OK)
            return e;
        e = batch_reader_next(&r->file, end, &whole, &h);
        if (e == ERR_NOT_FOUND && !by_number) {
            /* What follows a GAP may be in no segment yet. */
            e = find_cached(l, r, &key);
            if (e != ERR_GONE)
                return e;
            known = false;
            e = open_next(l, r, key);
            if (e == ERR_OK)
                continue;
        }
        if (e == ERR_NOT_FOUND || (e == ERR_OK && known && h.base_offset != expected) ||
            (e == ERR_OK && position == 0 && h.base_offset != r->file.view.name))
            e = ERR_CORRUPT;
        if (e == ERR_OK && (by_number ? h.first_number : h.base_offset) > key)
            e = ERR_CORRUPT;
        if (e != ERR_OK) {
            if (e == ERR_CORRUPT || e == ERR_NEWER_FORMAT)
                log_note_corrupt(l, r->file.view.name, position, e);
            return e;
        }
        expected = batch_end(&h);
        known = true;
        if ((by_number ? batch_end_number(&h) : expected) <= key)
            continue;
        if (!h.gap) {
            enter_batch(r, whole, &h);
            return ERR_OK;
        }
        if (by_number)
            return ERR_GONE;
        if (expected >= plog_committed(l))
            return ERR_NOT_FOUND;
        key = expected;
    }
}

/* Enters the batch that holds the record at `offset`, which is committed. */
static enum err find_offset(struct plog_log *l, struct reading *r, uint64_t offset)
{
    bool follows = r->file_open && r->in_batch && r->lent == NULL && batch_end(&r->h) == offset;
    uint64_t from = offset;
    leave_batch(l, r);
    enum err e = find_cached(l, r, &from);
    if (e != ERR_GONE)
        return e;
    follows = follows && from == offset;
    e = follows ? ERR_OK : open_segment(l, r, from, false);
    return e == ERR_OK ? read_to(l, r, from, false) : e;
}

static enum err find_number(struct plog_log *l, struct reading *r, uint64_t number)
{
    struct plog_batch *b = cache_lend_number(&l->plog->cache, &l->ring, number);
    if (b != NULL && b->h.gap) {
        cache_give_back(&l->plog->cache, b);
        return ERR_GONE;
    }
    if (b != NULL) {
        enter_lent(r, b);
        return ERR_OK;
    }
    enum err e = open_segment(l, r, number, true);
    return e == ERR_OK ? read_to(l, r, number, true) : e;
}

/* Reads on, from a batch whose next message has the number or a lower one, to the batch that holds
 * it. Whatever the error, the number is to be searched for, and that tells what is wrong. */
static enum err read_on(struct reading *r, uint64_t number)
{
    uint64_t from = r->file.position, end;
    if (number < batch_end_number(&r->h))
        return ERR_OK;
    enum err e = batch_reader_end(&r->file, &end);
    while (e == ERR_OK && r->file.position - from < NEAR_BYTES) {
        struct bytes whole;
        struct batch_header h;
        uint64_t expected = batch_end(&r->h);
        e = batch_reader_next(&r->file, end, &whole, &h);
        if (e == ERR_OK && (h.base_offset != expected || h.gap))
            e = ERR_NOT_FOUND;
        if (e != ERR_OK)
            return e;
        enter_batch(r, whole, &h);
        if (number < batch_end_number(&h))
            return ERR_OK;
    }
    return e == ERR_OK ? ERR_NOT_FOUND : e;
}

/* What another cursor has left open, if it can go on to the message. */
static struct reading *go_on(struct plog_log *l, uint64_t number)
{
    struct reading *r = kept_take(&l->plog->kept, l, number);
    if (r == NULL)
        return NULL;
    if (r->cuts == atomic_load_explicit(&l->cuts, memory_order_acquire) &&
        read_on(r, number) == ERR_OK)
        return r;
    reading_free(l->plog, r);
    return NULL;
}

static bool may_be_kept(const struct plog_log *l, const struct reading *r)
{
    return r->file_open && r->lent == NULL && r->in_batch &&
           r->file.window.room <= KEPT_WINDOW_BYTES_MAX &&
           r->cuts == atomic_load_explicit(&l->cuts, memory_order_acquire);
}

/* The records are those that the header counts: offsets and numbers lead from batch to batch. */
static enum err check_place(const struct reading *r, bool message)
{
    bool last = r->offset + 1 == batch_end(&r->h);
    uint64_t number = r->number + message;
    if (r->offset >= batch_end(&r->h) || number > batch_end_number(&r->h) ||
        last != (r->records.left == 0) || (last && number != batch_end_number(&r->h)))
        return ERR_CORRUPT;
    return ERR_OK;
}

/* The next record of the batch. Where it is bad nobody goes on: not this cursor, and not the next
 * one, which would take what lies behind the bad record for it. */
static enum err take_record(struct plog_log *l, struct reading *r, struct plog_entry *out)
{
    uint8_t type;
    struct bytes payload;
    enum err e = batch_record(&r->records, &type, &payload);
    if (e == ERR_OK)
        e = check_place(r, type == RECORD_TYPE_MESSAGE);
    if (e != ERR_OK) {
        log_note_corrupt(l, r->file_open ? r->file.view.name : 0, r->h.base_offset, e);
        leave_batch(l, r);
        return e;
    }
    *out = (struct plog_entry){type, r->offset, r->number, r->h.epoch, payload};
    r->offset++;
    r->number += type == RECORD_TYPE_MESSAGE;
    return ERR_OK;
}

/* A cut, or a new beginning, may have taken what a cursor has read ahead; what lies below the cut
 * is where it was. */
static enum err heed_cuts(struct plog_log *l, struct reading *r)
{
    uint64_t cuts = atomic_load_explicit(&l->cuts, memory_order_acquire);
    if (cuts == r->cuts)
        return ERR_OK;
    if (atomic_load_explicit(&l->beginnings, memory_order_relaxed) != r->beginnings)
        return ERR_GONE;
    leave_batch(l, r);
    leave_file(r);
    r->cuts = cuts;
    return ERR_OK;
}

enum err plog_cursor_next(struct plog_cursor *c, struct plog_entry *out)
{
    struct reading *r = reading_of(c);
    enum err heeded = heed_cuts(c->log, r);
    if (heeded != ERR_OK)
        return heeded;
    if (c->offset >= plog_committed(c->log))
        return ERR_NOT_FOUND;
    if (!r->in_batch || c->offset < r->h.base_offset || c->offset >= batch_end(&r->h) ||
        c->offset < r->offset) {
        enum err e = find_offset(c->log, r, c->offset);
        if (e != ERR_OK)
            return e;
    }
    struct plog_entry entry;
    do {
        enum err e = take_record(c->log, r, &entry);
        if (e != ERR_OK)
            return e;
    } while (entry.offset < c->offset);
    c->offset = entry.offset + 1;
    *out = entry;
    return ERR_OK;
}

static void cursor_begin(struct plog_log *l, size_t read_ahead_bytes, struct plog_cursor *c)
{
    struct reading *r = mem_new(sizeof *r);
    r->read_ahead_bytes =
        read_ahead_bytes < BATCH_HEADER_BYTES ? BATCH_HEADER_BYTES : read_ahead_bytes;
    r->cuts = atomic_load_explicit(&l->cuts, memory_order_acquire);
    r->beginnings = atomic_load_explicit(&l->beginnings, memory_order_relaxed);
    *c = (struct plog_cursor){.log = l};
    c->priv[0] = r;
}

enum err plog_cursor_at_offset(struct plog_log *l, uint64_t offset, size_t read_ahead_bytes,
                               struct plog_cursor *c)
{
    if (l->damage != NULL)
        return ERR_CORRUPT;
    if (offset < plog_start_offset(l))
        return ERR_GONE;
    if (offset >= plog_committed(l))
        return ERR_NOT_FOUND;
    struct plog_cursor made;
    cursor_begin(l, read_ahead_bytes, &made);
    enum err e = find_offset(l, reading_of(&made), offset);
    if (e != ERR_OK) {
        plog_cursor_close(&made);
        return e;
    }
    uint64_t first = reading_of(&made)->h.base_offset; /* above `offset` when that is in a GAP */
    made.offset = first > offset ? first : offset;
    *c = made;
    return ERR_OK;
}

enum err plog_cursor_at_number(struct plog_log *l, uint64_t number, size_t read_ahead_bytes,
                               struct plog_cursor *c)
{
    if (l->damage != NULL)
        return ERR_CORRUPT;
    if (number < plog_start_number(l))
        return ERR_GONE;
    if (number >= plog_committed_number(l))
        return ERR_NOT_FOUND;
    struct plog_cursor made = {.log = l};
    struct reading *r = go_on(l, number);
    enum err e = ERR_OK;
    made.priv[0] = r;
    if (r == NULL) {
        cursor_begin(l, read_ahead_bytes, &made);
        r = reading_of(&made);
        e = find_number(l, r, number);
    }
    while (e == ERR_OK) {
        struct reading before = *r;
        struct plog_entry entry;
        e = take_record(l, r, &entry);
        if (e == ERR_OK && entry.type == RECORD_TYPE_MESSAGE && entry.number == number) {
            *r = before; /* so that the message is the next record */
            made.offset = entry.offset;
            *c = made;
            return ERR_OK;
        }
    }
    plog_cursor_close(&made);
    return e;
}

/* Leaves it to the next cursor; the result is what had to go for it, or NULL. Its file may be gone
 * since it was opened, and whoever removed it has dropped what was kept then: so it is looked for
 * when the reading is where the next one to remove it would find it. */
static struct reading *keep(struct plog_log *l, struct reading *r)
{
    struct segment_view opened = r->file.view, now;
    struct reading *out = kept_put(&l->plog->kept, l, r->number, r);
    if (!segment_look(l, opened.name, &now) || now.swap != opened.swap)
        kept_drop(l);
    return out;
}

void plog_cursor_close(struct plog_cursor *c)
{
    struct reading *r = reading_of(c);
    if (r != NULL && may_be_kept(c->log, r))
        r = keep(c->log, r);
    if (r != NULL)
        reading_free(c->log->plog, r);
    c->priv[0] = NULL;
}

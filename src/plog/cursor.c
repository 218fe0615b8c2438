// SPDX-License-Identifier: Apache-2.0
/* Reading records in order: from the tail cache where it has them, else from the segments. */
#include "base/mem.h"
#include "plog/index.h"
#include "plog/inside.h"
#include "plog/reader.h"

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

/* The written bytes of a segment and the name of the one behind it (UINT64_MAX: it is the last). */
static bool segment_bounds(struct plog_log *l, uint64_t name, uint64_t *bytes, uint64_t *next)
{
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, name);
    bool there = place != SIZE_MAX && l->segments.at[place].name == name;
    if (there) {
        *bytes = l->segments.at[place].bytes;
        *next = place + 1 < l->segments.n ? l->segments.at[place + 1].name : UINT64_MAX;
    }
    lock_give(&l->lk);
    return there;
}

static enum err open_segment(struct plog_log *l, struct reading *r, uint64_t name,
                             uint64_t position)
{
    leave_file(r);
    enum err e = batch_reader_open(&r->file, l, name, position, r->read_ahead_bytes);
    if (e == ERR_OK)
        r->file_open = true;
    return e == ERR_NOT_FOUND ? ERR_GONE : e;
}

/* Reads on until the batch that holds the key, which lies in the file's segment or at the begin of
 * the next one. `follows`: the batch must begin exactly at `expected`. */
static enum err read_to(struct plog_log *l, struct reading *r, uint64_t key, bool by_number)
{
    bool known = false;
    uint64_t expected = 0;
    for (;;) {
        uint64_t bytes, next;
        struct bytes whole;
        struct batch_header h;
        if (!segment_bounds(l, r->file.name, &bytes, &next))
            return ERR_GONE;
        uint64_t position = r->file.position;
        enum err e = batch_reader_next(&r->file, bytes, &whole, &h);
        if (e == ERR_NOT_FOUND && next != UINT64_MAX) {
            e = open_segment(l, r, next, 0);
            if (e != ERR_OK)
                return e;
            continue;
        }
        /* The caller knows that the key is written, so the file's end is a hole in the log. */
        if (e == ERR_NOT_FOUND || (e == ERR_OK && known && h.base_offset != expected) ||
            (e == ERR_OK && position == 0 && h.base_offset != r->file.name))
            e = ERR_CORRUPT;
        if (e == ERR_OK && (by_number ? h.first_number : h.base_offset) > key)
            e = ERR_CORRUPT;
        if (e != ERR_OK) {
            if (e == ERR_CORRUPT || e == ERR_NEWER_FORMAT)
                log_note_corrupt(l, r->file.name, position, e);
            return e;
        }
        if ((by_number ? batch_end_number(&h) : batch_end(&h)) > key) {
            enter_batch(r, whole, &h);
            return ERR_OK;
        }
        expected = batch_end(&h);
        known = true;
    }
}

/* Enters the batch that holds the record at `offset`, which is durable. */
static enum err find_offset(struct plog_log *l, struct reading *r, uint64_t offset)
{
    bool follows = r->file_open && r->in_batch && r->lent == NULL && batch_end(&r->h) == offset;
    leave_batch(l, r);
    struct plog_batch *b = cache_lend_offset(&l->plog->cache, &l->ring, offset);
    if (b != NULL) {
        leave_file(r);
        enter_lent(r, b);
        return ERR_OK;
    }
    if (!follows) {
        lock_take(&l->lk);
        size_t place = segment_list_find(&l->segments, offset);
        uint64_t name = place == SIZE_MAX ? 0 : l->segments.at[place].name;
        lock_give(&l->lk);
        if (place == SIZE_MAX)
            return ERR_GONE;
        enum err e = open_segment(l, r, name, index_find(l, name, offset, false));
        if (e != ERR_OK)
            return e;
    }
    return read_to(l, r, offset, false);
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

static enum err find_number(struct plog_log *l, struct reading *r, uint64_t number)
{
    struct plog_batch *b = cache_lend_number(&l->plog->cache, &l->ring, number);
    if (b != NULL) {
        enter_lent(r, b);
        return ERR_OK;
    }
    uint64_t name;
    enum err e = segment_of_number(l, number, &name);
    if (e == ERR_OK)
        e = open_segment(l, r, name, index_find(l, name, number, true));
    return e == ERR_OK ? read_to(l, r, number, true) : e;
}

/* The next record of the batch. */
static enum err take_record(struct plog_log *l, struct reading *r, struct plog_entry *out)
{
    uint8_t type;
    struct bytes payload;
    enum err e = batch_record(&r->records, &type, &payload);
    if (e != ERR_OK) {
        log_note_corrupt(l, r->file_open ? r->file.name : 0, r->h.base_offset, e);
        return e;
    }
    *out = (struct plog_entry){type, r->offset, r->number, r->h.epoch, payload};
    r->offset++;
    r->number += type == RECORD_TYPE_MESSAGE;
    return ERR_OK;
}

enum err plog_cursor_next(struct plog_cursor *c, struct plog_entry *out)
{
    struct reading *r = reading_of(c);
    if (c->offset >= plog_durable(c->log))
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
    c->offset++;
    *out = entry;
    return ERR_OK;
}

static void cursor_begin(struct plog_log *l, size_t read_ahead_bytes, struct plog_cursor *c)
{
    struct reading *r = mem_new(sizeof *r);
    r->read_ahead_bytes =
        read_ahead_bytes < BATCH_HEADER_BYTES ? BATCH_HEADER_BYTES : read_ahead_bytes;
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
    if (offset >= plog_durable(l))
        return ERR_NOT_FOUND;
    struct plog_cursor made;
    cursor_begin(l, read_ahead_bytes, &made);
    made.offset = offset;
    enum err e = find_offset(l, reading_of(&made), offset);
    if (e != ERR_OK) {
        plog_cursor_close(&made);
        return e;
    }
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
    if (number >= plog_durable_number(l))
        return ERR_NOT_FOUND;
    struct plog_cursor made;
    cursor_begin(l, read_ahead_bytes, &made);
    struct reading *r = reading_of(&made);
    enum err e = find_number(l, r, number);
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

void plog_cursor_close(struct plog_cursor *c)
{
    struct reading *r = reading_of(c);
    if (r == NULL)
        return;
    leave_batch(c->log, r);
    leave_file(r);
    mem_free(r);
    c->priv[0] = NULL;
}

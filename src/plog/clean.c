// SPDX-License-Identifier: Apache-2.0
/* A cleaning job: reads neighbouring segments, asks which messages are wanted, and writes a new
 * segment without the others, in steps that are short enough for the housekeeper. */
#include "plog/clean.h"

#include "base/mem.h"
#include "base/note.h"
#include "plog/files.h"
#include "plog/reader.h"

enum {
    READ_AHEAD_BYTES = 256 << 10,
    WRITE_BYTES = 256 << 10,
    /* Written before each sync, so that no sync holds up the journal's for long. */
    SYNC_BYTES = 4 << 20,
};

enum stage { STAGE_MEASURE, STAGE_WRITE, STAGE_SWAP, STAGE_OVER };

struct plog_clean {
    struct plog_log *log; /* a reference */
    struct plog_wanted wanted;
    struct segment_view sources[PLOG_CLEAN_SEGMENTS_MAX];
    size_t sources_n;
    uint64_t end;
    uint64_t bytes_max;
    uint64_t cuts; /* of the log when the job began: answers may rest on what is cut since */
    enum stage stage;

    /* Reading: the next batch is in sources[source], at next_offset. */
    size_t source;
    bool reader_open;
    struct batch_reader reader;
    uint64_t next_offset;
    uint64_t seen_end; /* the answers count once all below it is committed */
    bool drops;        /* some message of the batches read so far goes */

    /* Writing. */
    struct clean_out out;
    int file; /* NAME-END.clean.tmp, or -1 */
    uint64_t written;
    uint64_t unsynced;
};

/* ---- segments ---- */

/* What lies below the older snapshot is never folded again, and what lies below the mark is never
 * written again from the journal. */
uint64_t clean_offset_max(struct plog_log *l)
{
    uint64_t older = plog_snapshot_older(l);
    lock_take(&l->plog->commit_lk);
    uint64_t marked = l->marked && l->mark.position > 0 ? l->mark.segment : 0;
    lock_give(&l->plog->commit_lk);
    return older < marked ? older : marked;
}

/* The views of the segments from `offset` up to `end`, if these are bounds of segments. */
static size_t find_sources(struct plog_log *l, uint64_t offset, uint64_t end,
                           struct segment_view *out)
{
    size_t n = 0;
    lock_take(&l->lk);
    const struct segment_list *list = &l->segments;
    size_t place = segment_list_find(list, offset);
    bool fits = place != SIZE_MAX && list->at[place].name == offset;
    for (; fits && place + 1 < list->n && list->at[place].name < end; place++) {
        const struct segment *s = &list->at[place];
        fits = n < PLOG_CLEAN_SEGMENTS_MAX;
        if (fits)
            out[n++] = (struct segment_view){s->name, s->swap, s->clean_end, s->bytes, true};
    }
    fits = fits && n > 0 && list->at[place].name == end;
    lock_give(&l->lk);
    return fits ? n : 0;
}

/* ---- the job ---- */

bool clean_log_is_there(struct plog_log *l)
{
    lock_take(&l->plog->commit_lk);
    bool there = log_find_locked(l->plog, l->id) == l;
    lock_give(&l->plog->commit_lk);
    return there;
}

enum err plog_clean_begin(struct plog_log *l, uint64_t offset, uint64_t end_offset,
                          uint64_t bytes_max, struct plog_wanted wanted, struct plog_clean **out)
{
    lock_check_none_held();
    if (l->damage != NULL)
        return ERR_CORRUPT;
    if (end_offset > clean_offset_max(l) || end_offset - offset > UINT32_MAX)
        return ERR_INVALID;
    struct plog_clean *c = mem_new(sizeof *c);
    c->sources_n = find_sources(l, offset, end_offset, c->sources);
    if (c->sources_n == 0) {
        mem_free(c);
        return ERR_INVALID;
    }
    lock_take(&l->plog->commit_lk);
    l->refs++;
    lock_give(&l->plog->commit_lk);
    c->log = l;
    c->wanted = wanted;
    c->end = end_offset;
    c->cuts = atomic_load_explicit(&l->cuts, memory_order_acquire);
    /* A position in an index has 32 bits. */
    c->bytes_max = bytes_max < UINT32_MAX ? bytes_max : UINT32_MAX;
    c->file = -1;
    c->next_offset = offset;
    clean_out_init(&c->out, offset);
    *out = c;
    return ERR_OK;
}

static void close_reader(struct plog_clean *c)
{
    if (c->reader_open)
        batch_reader_close(&c->reader);
    c->reader_open = false;
}

static void close_file(struct plog_clean *c)
{
    const struct disk *d = c->log->plog->disk;
    if (c->file >= 0)
        d->close(d->self, c->file);
    c->file = -1;
}

void plog_clean_free(struct plog_clean *c)
{
    if (c == NULL)
        return;
    struct plog_log *l = c->log;
    close_reader(c);
    if (c->file >= 0) {
        close_file(c);
        char *path = clean_path(l, c->out.segment.name, c->end, ".tmp");
        enum err e = clean_log_is_there(l) ? file_remove(l->plog->disk, path) : ERR_OK;
        if (e != ERR_OK)
            note(NOTE_WARNING, "plog", "%s: %s", path, err_text(e));
        mem_free(path);
    }
    clean_out_fini(&c->out);
    mem_free(c);
    log_unref(l);
}

/* Of the messages that are wanted so far, those stay that their owner keeps. */
static enum err ask_keep(struct plog_clean *c, struct bytes batch, const struct batch_header *h,
                         bool *wanted)
{
    struct cursor records = cursor_of(
        (struct bytes){(const char *)batch.at + BATCH_HEADER_BYTES, batch.n - BATCH_HEADER_BYTES});
    for (size_t i = 0; i < h->messages;) {
        uint8_t type;
        struct bytes payload;
        enum err e = batch_record(&records, &type, &payload);
        if (e != ERR_OK)
            return e;
        if (type != RECORD_TYPE_MESSAGE)
            continue;
        wanted[i] = wanted[i] && c->wanted.keep(c->wanted.self, h->first_number + i, payload);
        i++;
    }
    return ERR_OK;
}

static enum err take_batch(struct plog_clean *c, struct bytes batch, const struct batch_header *h)
{
    if (h->base_offset != c->next_offset)
        return ERR_CORRUPT;
    c->next_offset = batch_end(h);
    if (h->gap || h->messages == 0) {
        clean_out_gap(&c->out, h);
        return ERR_OK;
    }
    bool *wanted = mem_new_array(h->messages, sizeof wanted[0]);
    uint64_t end = c->wanted.ask(c->wanted.self, h->first_number, h->messages, wanted);
    bool exact = c->wanted.keep != NULL;
    enum err e = exact ? ask_keep(c, batch, h, wanted) : ERR_OK;
    size_t n = 0;
    for (size_t i = 0; i < h->messages; i++)
        n += wanted[i];
    if (end > c->seen_end)
        c->seen_end = end;
    c->drops = c->drops || n < h->messages;
    if (e == ERR_OK && n == 0)
        clean_out_gap(&c->out, h);
    else if (e == ERR_OK)
        e = clean_out_batch(&c->out, batch, h, wanted, exact && n < h->messages);
    mem_free(wanted);
    return e;
}

/* The next batch of the sources. ERR_NOT_FOUND: there is none left. */
static enum err next_batch(struct plog_clean *c, struct bytes *batch, struct batch_header *h)
{
    for (;; c->source++) {
        if (c->source == c->sources_n)
            return c->next_offset == c->end ? ERR_NOT_FOUND : ERR_CORRUPT;
        const struct segment_view *v = &c->sources[c->source];
        enum err e = ERR_OK;
        if (!c->reader_open) {
            e = batch_reader_open(&c->reader, c->log, v->name, 0, READ_AHEAD_BYTES);
            if (e != ERR_OK)
                return e;
            c->reader_open = true;
            if (c->reader.view.swap != v->swap || v->name != c->next_offset)
                return v->name != c->next_offset ? ERR_CORRUPT : ERR_GONE;
        }
        uint64_t position = c->reader.position;
        e = batch_reader_next(&c->reader, v->bytes, batch, h);
        if (e == ERR_CORRUPT || e == ERR_NEWER_FORMAT)
            log_note_corrupt(c->log, v->name, position, e);
        if (e != ERR_NOT_FOUND)
            return e;
        close_reader(c);
    }
}

/* Writes what is put out. */
static enum err write_out(struct plog_clean *c, bool last)
{
    const struct disk *d = c->log->plog->disk;
    struct bytes piece = buf_bytes(&c->out.bytes);
    enum err e = ERR_OK;
    if (piece.n > 0 && (last || piece.n >= WRITE_BYTES)) {
        e = d->write(d->self, c->file, &piece, 1, c->written);
        c->written += piece.n;
        c->unsynced += piece.n;
        buf_clear(&c->out.bytes);
    }
    if (e == ERR_OK && (last || c->unsynced >= SYNC_BYTES)) {
        e = d->sync(d->self, c->file);
        c->unsynced = 0;
    }
    return e;
}

static enum err begin_writing(struct plog_clean *c)
{
    const struct disk *d = c->log->plog->disk;
    uint64_t name = c->out.segment.name;
    clean_out_fini(&c->out);
    clean_out_init(&c->out, name);
    c->source = 0;
    c->next_offset = name;
    c->stage = STAGE_WRITE;
    char *path = clean_path(c->log, name, c->end, ".tmp");
    enum err e = d->open(d->self, path, DISK_CREATE, &c->file);
    mem_free(path);
    if (e != ERR_OK) {
        c->file = -1;
        return e;
    }
    return d->truncate(d->self, c->file, 0);
}

static enum err swap(struct plog_clean *c, enum plog_clean_state *state)
{
    *state = PLOG_CLEAN_WAITS;
    /* In this order: what is committed after a cut is not what was seen before it, and what is
     * committed is never cut. */
    bool reached = plog_committed(c->log) >= c->seen_end;
    if (atomic_load_explicit(&c->log->cuts, memory_order_acquire) != c->cuts)
        return ERR_GONE;
    if (!reached)
        return ERR_OK;
    struct swap s = {
        .log = c->log,
        .sources = c->sources,
        .sources_n = c->sources_n,
        .end = c->end,
        .segment = c->out.segment,
    };
    s.segment.bytes = c->out.position;
    s.segment.stored = c->out.messages;
    enum err e = swap_run(&s);
    if (e == ERR_BUSY)
        return ERR_OK;
    if (e != ERR_OK)
        return e;
    close_file(c);
    c->stage = STAGE_OVER;
    *state = PLOG_CLEAN_DONE;
    return ERR_OK;
}

/* All sources are read. */
static enum err finish_stage(struct plog_clean *c, enum plog_clean_state *state)
{
    clean_out_end(&c->out);
    if (c->stage == STAGE_WRITE) {
        c->stage = STAGE_SWAP;
        return write_out(c, true);
    }
    bool useless = c->wanted.keep != NULL && c->sources_n == 1 && !c->drops;
    if (c->out.position <= c->bytes_max && !useless)
        return begin_writing(c);
    c->stage = STAGE_OVER;
    *state = PLOG_CLEAN_USELESS;
    return ERR_OK;
}

static enum err step(struct plog_clean *c, size_t io_bytes, enum plog_clean_state *state)
{
    *state = PLOG_CLEAN_MORE;
    if (c->stage == STAGE_SWAP)
        return swap(c, state);
    for (size_t done = 0; done < io_bytes;) {
        struct bytes batch;
        struct batch_header h;
        uint64_t position = c->out.position;
        enum err e = next_batch(c, &batch, &h);
        if (e == ERR_NOT_FOUND)
            return finish_stage(c, state);
        if (e == ERR_OK)
            e = take_batch(c, batch, &h);
        if (e == ERR_OK && c->stage == STAGE_WRITE)
            e = write_out(c, false);
        if (e != ERR_OK)
            return e;
        if (c->stage == STAGE_MEASURE)
            buf_clear(&c->out.bytes);
        done += h.bytes + (c->stage == STAGE_WRITE ? (size_t)(c->out.position - position) : 0);
    }
    return ERR_OK;
}

enum err plog_clean_step(struct plog_clean *c, size_t io_bytes, enum plog_clean_state *state)
{
    lock_check_none_held();
    CHECK(c->stage != STAGE_OVER);
    if (plog_failed(c->log->plog))
        return ERR_FAILED;
    if (!clean_log_is_there(c->log))
        return ERR_GONE;
    enum plog_clean_state now;
    enum err e = step(c, io_bytes, &now);
    if (e != ERR_OK)
        return clean_log_is_there(c->log) ? e : ERR_GONE;
    *state = now;
    return ERR_OK;
}

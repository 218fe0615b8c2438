// SPDX-License-Identifier: Apache-2.0
/* Reading the journal back at start. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/note.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/inside.h"
#include "plog/journal.h"

enum { SEARCH_BYTES = 1 << 20 };

static enum err bad(const struct journal_file *f, uint64_t position, const char *what)
{
    note(NOTE_ERROR, "plog", "journal/%08llu.wal is damaged at byte %llu: %s",
         (unsigned long long)f->number, (unsigned long long)position, what);
    return ERR_CORRUPT;
}

static enum err read_header(struct plog *p, struct journal_file *f)
{
    const struct disk *d = p->disk;
    char at[JOURNAL_HEADER_BYTES];
    size_t got = 0;
    uint64_t size = 0;
    enum err e = d->read(d->self, f->file, at, sizeof at, 0, &got);
    if (e == ERR_OK)
        e = d->size(d->self, f->file, &size);
    if (e != ERR_OK)
        return e;
    e = got == sizeof at ? format_check((struct bytes){at, sizeof at}, 'J', 0) : ERR_CORRUPT;
    if (e == ERR_NEWER_FORMAT) {
        note(NOTE_ERROR, "plog", "journal/%08llu.wal was written by a newer version",
             (unsigned long long)f->number);
        return e;
    }
    if (e != ERR_OK)
        return bad(f, 0, "its header");
    f->lap = le_load_u64(at + 8);
    f->salt = le_load_u64(at + 16);
    f->bytes = le_load_u64(at + 32);
    f->in_use = le_load_u32(at + 40) != 0;
    f->position = JOURNAL_PAGE_BYTES;
    if (le_load_u64(at + 24) != f->number || f->bytes != size || f->bytes < JOURNAL_PAGE_BYTES)
        return bad(f, 0, "its header is another file's, or the file is cut");
    return ERR_OK;
}

/* Reads the round at `position` if there is one. ERR_NOT_FOUND: there is none that is valid. */
static enum err round_at(struct plog *p, const struct journal_file *f, uint64_t position,
                         struct buf *out)
{
    const struct disk *d = p->disk;
    size_t got;
    if (position + ROUND_HEADER_BYTES > f->bytes)
        return ERR_NOT_FOUND;
    buf_clear(out);
    buf_reserve(out, ROUND_HEADER_BYTES);
    enum err e = d->read(d->self, f->file, out->at, ROUND_HEADER_BYTES, position, &got);
    if (e != ERR_OK)
        return e;
    uint32_t n = le_load_u32(out->at + 8);
    if (got < ROUND_HEADER_BYTES || !format_letters_fit(out->at, 'R') || n < ROUND_HEADER_BYTES ||
        n > f->bytes - position || le_load_u64(out->at + 16) != f->lap)
        return ERR_NOT_FOUND;
    buf_reserve(out, n);
    e = d->read(d->self, f->file, out->at, n, position, &got);
    if (e != ERR_OK)
        return e;
    if (got < n)
        return ERR_NOT_FOUND;
    out->n = n;
    e = format_check(buf_bytes(out), 'R', journal_seed(f, le_load_u64(out->at + 24)));
    return e == ERR_CORRUPT ? ERR_NOT_FOUND : e;
}

/* Looks behind the place where reading stopped for a round that could only have been written after
 * the missing one was synced. */
static enum err search_later(struct plog *p, const struct journal_file *f, uint64_t stop,
                             struct buf *scratch)
{
    const struct disk *d = p->disk;
    char *at = mem_resize(NULL, SEARCH_BYTES);
    enum err e = ERR_OK;
    uint64_t from = stop;
    for (size_t got = 1; e == ERR_OK && got > 0 && from < f->bytes; from += got) {
        e = d->read(d->self, f->file, at, SEARCH_BYTES, from, &got);
        for (size_t i = 0; e == ERR_OK && i + 32 <= got; i += JOURNAL_PAGE_BYTES) {
            if (from + i == stop || !format_letters_fit(at + i, 'R') ||
                le_load_u64(at + i + 16) != f->lap)
                continue;
            e = round_at(p, f, from + i, scratch);
            if (e == ERR_OK)
                e = bad(f, stop, "a round is missing before a later one");
            else if (e == ERR_NOT_FOUND)
                e = ERR_OK;
        }
    }
    mem_free(at);
    return e;
}

static void rounds_put(struct journal_rounds *r, struct journal_round round)
{
    if (r->n == r->room) {
        r->room = r->room == 0 ? 64 : 2 * r->room;
        r->at = mem_resize(r->at, r->room * sizeof r->at[0]);
    }
    r->at[r->n++] = round;
}

/* Says so when a round of this lap was begun at `stop` and is not whole. */
static enum err tell_torn(struct plog *p, const struct journal_file *f, uint64_t stop)
{
    char at[ROUND_HEADER_BYTES];
    size_t got;
    enum err e = p->disk->read(p->disk->self, f->file, at, sizeof at, stop, &got);
    if (e == ERR_OK && got == sizeof at && format_letters_fit(at, 'R') &&
        le_load_u64(at + 16) == f->lap)
        note(
            NOTE_INFO, "plog",
            "journal/%08llu.wal: the last round, %u bytes from byte %llu on, was not written whole "
            "and is dropped; after a crash, none of it had been answered",
            (unsigned long long)f->number, (unsigned)le_load_u32(at + 8), (unsigned long long)stop);
    return e;
}

static enum err scan_file(struct plog *p, struct journal_file *f, uint64_t above,
                          struct journal_rounds *out)
{
    struct buf b = BUF_EMPTY;
    enum err e = ERR_OK;
    uint64_t stop = JOURNAL_PAGE_BYTES;
    f->state = f->in_use ? JOURNAL_FULL : JOURNAL_FREE;
    while (f->in_use) {
        e = round_at(p, f, stop, &b);
        if (e != ERR_OK)
            break;
        uint64_t number = le_load_u64(b.at + 24);
        if (f->last_round != 0 && number != f->last_round + 1)
            e = bad(f, stop, "a round has the wrong number");
        if (e != ERR_OK)
            break;
        f->last_round = number;
        if (number > above)
            rounds_put(out, (struct journal_round){f, stop, number, (uint32_t)b.n});
        stop += (b.n + JOURNAL_PAGE_BYTES - 1) / JOURNAL_PAGE_BYTES * JOURNAL_PAGE_BYTES;
    }
    f->position = stop;
    if (e == ERR_NOT_FOUND)
        e = search_later(p, f, stop, &b);
    if (e == ERR_OK && f->in_use)
        e = tell_torn(p, f, stop);
    if (e == ERR_NEWER_FORMAT)
        note(NOTE_ERROR, "plog", "journal/%08llu.wal holds rounds of a newer version",
             (unsigned long long)f->number);
    buf_fini(&b);
    return e;
}

static int compare_rounds(const void *a, const void *b)
{
    const struct journal_round *one = a, *other = b;
    return (one->number > other->number) - (one->number < other->number);
}

/* The rounds must go on from the marks without a gap: each was synced before the next was begun. */
static enum err check_chain(const struct journal_rounds *r, uint64_t above)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->at[i].number != above + 1 + i) {
            note(NOTE_ERROR, "plog", "the journal is damaged: round %llu is missing before %llu",
                 (unsigned long long)(above + 1 + i), (unsigned long long)r->at[i].number);
            return ERR_CORRUPT;
        }
    }
    return ERR_OK;
}

static enum err open_one(struct plog *p, uint64_t number)
{
    const struct disk *d = p->disk;
    struct journal_file *f = mem_new(sizeof *f);
    f->number = number;
    char *path = journal_path(number);
    enum err e = d->open(d->self, path, DISK_WRITE, &f->file);
    mem_free(path);
    if (e != ERR_OK) {
        mem_free(f);
        return e;
    }
    lock_take(&p->commit_lk);
    journal_add_locked(&p->journal, f);
    if (number >= p->journal.next_number)
        p->journal.next_number = number + 1;
    lock_give(&p->commit_lk);
    return read_header(p, f);
}

enum err journal_open(struct plog *p, uint64_t round, struct journal_rounds *out)
{
    struct names names;
    enum err e = names_list(p->disk, "journal", &names);
    if (e != ERR_OK) {
        note(NOTE_ERROR, "plog", "journal: %s", err_text(e));
        return e == ERR_NOT_FOUND ? ERR_CORRUPT : e;
    }
    struct journal_rounds rounds = {0};
    p->journal.next_number = 1;
    for (size_t i = 0; e == ERR_OK && i < names.n; i++) {
        uint64_t number;
        if (strlen(names.at[i]) == 12 && names_number(names.at[i], 8, ".wal", &number))
            e = open_one(p, number);
    }
    names_fini(&names);
    if (e == ERR_OK && p->journal.n == 0) {
        note(NOTE_ERROR, "plog", "the folder journal holds no journal");
        e = ERR_CORRUPT;
    }
    for (size_t i = 0; e == ERR_OK && i < p->journal.n; i++)
        e = scan_file(p, p->journal.files[i], round, &rounds);
    if (e == ERR_OK && rounds.n > 0) {
        qsort(rounds.at, rounds.n, sizeof rounds.at[0], compare_rounds);
        e = check_chain(&rounds, round);
    }
    if (e != ERR_OK) {
        mem_free(rounds.at);
        return e;
    }
    *out = rounds;
    return ERR_OK;
}

enum err journal_read(struct plog *p, const struct journal_round *r, struct buf *out,
                      uint32_t *entries, struct plog_stamp *stamp)
{
    enum err e = round_at(p, r->file, r->position, out);
    if (e == ERR_NOT_FOUND)
        return bad(r->file, r->position, "a round has changed since it was found");
    if (e != ERR_OK)
        return e;
    struct cursor c = cursor_of((struct bytes){out->at + 32, STAMP_BYTES});
    *entries = le_load_u32(out->at + 12);
    *stamp = format_stamp_take(&c);
    return ERR_OK;
}

/* The header too says that the file is in use. */
static enum err write_header_again(struct plog *p, const struct journal_file *f)
{
    const struct disk *d = p->disk;
    char at[JOURNAL_HEADER_BYTES];
    size_t got;
    enum err e = d->read(d->self, f->file, at, sizeof at, 0, &got);
    struct bytes piece = {at, sizeof at};
    return e == ERR_OK ? d->write(d->self, f->file, &piece, 1, 0) : e;
}

enum err journal_write_again(struct plog *p, const struct journal_rounds *rounds)
{
    const struct disk *d = p->disk;
    struct buf b = BUF_EMPTY;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < rounds->n; i++) {
        const struct journal_round *r = &rounds->at[i];
        e = round_at(p, r->file, r->position, &b);
        struct bytes piece = buf_bytes(&b);
        if (e == ERR_OK)
            e = d->write(d->self, r->file->file, &piece, 1, r->position);
        if (e == ERR_OK && (i + 1 == rounds->n || rounds->at[i + 1].file != r->file))
            e = write_header_again(p, r->file);
        if (e == ERR_OK && (i + 1 == rounds->n || rounds->at[i + 1].file != r->file))
            e = d->sync(d->self, r->file->file);
    }
    buf_fini(&b);
    return e == ERR_NOT_FOUND ? ERR_IO : e;
}

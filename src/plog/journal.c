// SPDX-License-Identifier: Apache-2.0
#include "plog/journal.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/rng.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/inside.h"

enum {
    LARGE_FILES_MIN = 4,
    ZEROS_BYTES = 1 << 20,
    SPARE_LOOKS = 60, /* one a second */
    SPARE_LOOKS_MORE = 10,
    SPARE_SHARE = 4, /* of the journal; above it, files are soon needed again */
};
_Static_assert(32 + STAMP_BYTES + 24 == ROUND_HEADER_BYTES, "FORMAT.md, Journal");
_Static_assert(44 + 20 == JOURNAL_HEADER_BYTES, "FORMAT.md, Journal");

uint32_t journal_seed(const struct journal_file *f, uint64_t round)
{
    unsigned char at[24];
    le_store_u64(at, f->lap);
    le_store_u64(at + 8, f->salt);
    le_store_u64(at + 16, round);
    return crc32c(0, at, sizeof at);
}

char *journal_path(uint64_t number)
{
    struct buf b = BUF_EMPTY;
    buf_put_format(&b, "journal/%08llu.wal", (unsigned long long)number);
    buf_put_u8(&b, 0);
    return b.at;
}

void journal_add_locked(struct journal *j, struct journal_file *f)
{
    if (j->n == j->room) {
        j->room = j->room == 0 ? 8 : 2 * j->room;
        j->files = mem_resize(j->files, j->room * sizeof j->files[0]);
    }
    j->files[j->n++] = f;
}

static void header_store(char *at, const struct journal_file *f, bool in_use)
{
    memset(at, 0, JOURNAL_HEADER_BYTES);
    format_magic_store(at, 'J');
    le_store_u64(at + 8, f->lap);
    le_store_u64(at + 16, f->salt);
    le_store_u64(at + 24, f->number);
    le_store_u64(at + 32, f->bytes);
    le_store_u32(at + 40, in_use);
    format_crc_store(at, JOURNAL_HEADER_BYTES, 0);
}

/* Begins the next lap: from now on nothing in the file exists. */
static enum err raise_lap(const struct disk *d, struct journal_file *f)
{
    char header[JOURNAL_HEADER_BYTES];
    f->lap++;
    rng_secret(&f->salt, sizeof f->salt);
    header_store(header, f, false);
    struct bytes piece = {header, sizeof header};
    enum err e = d->write(d->self, f->file, &piece, 1, 0);
    if (e == ERR_OK)
        e = d->sync(d->self, f->file);
    if (e != ERR_OK)
        return e;
    f->in_use = false;
    return ERR_OK;
}

static enum err write_zeros(const struct disk *d, int file, uint64_t bytes)
{
    char *zeros = mem_new(bytes < ZEROS_BYTES ? (size_t)bytes : ZEROS_BYTES);
    enum err e = ERR_OK;
    for (uint64_t at = 0; e == ERR_OK && at < bytes; at += ZEROS_BYTES) {
        uint64_t left = bytes - at;
        struct bytes piece = {zeros, left < ZEROS_BYTES ? (size_t)left : ZEROS_BYTES};
        e = d->write(d->self, file, &piece, 1, at);
    }
    mem_free(zeros);
    return e;
}

/* A new file under a temporary name, zeroed and synced, then given its name: a file that has its
 * name is whole. */
static enum err make_file(struct plog *p, uint64_t bytes, uint64_t number,
                          struct journal_file **out)
{
    const struct disk *d = p->disk;
    struct journal_file *f = mem_new(sizeof *f);
    f->number = number;
    f->bytes = (bytes + JOURNAL_PAGE_BYTES - 1) / JOURNAL_PAGE_BYTES * JOURNAL_PAGE_BYTES;
    f->position = JOURNAL_PAGE_BYTES;
    char *path = journal_path(number);
    struct buf tmp = BUF_EMPTY;
    buf_put_format(&tmp, "%s.tmp", path);
    buf_put_u8(&tmp, 0);
    enum err e = d->open(d->self, tmp.at, DISK_CREATE, &f->file);
    if (e == ERR_OK) {
        e = d->truncate(d->self, f->file, 0);
        if (e == ERR_OK)
            e = write_zeros(d, f->file, f->bytes);
        if (e == ERR_OK)
            e = raise_lap(d, f);
        if (e == ERR_OK)
            e = d->rename(d->self, tmp.at, path);
        if (e == ERR_OK)
            e = d->sync_dir(d->self, "journal");
        if (e != ERR_OK)
            d->close(d->self, f->file);
    }
    mem_free(path);
    buf_fini(&tmp);
    if (e != ERR_OK) {
        mem_free(f);
        return e;
    }
    *out = f;
    return ERR_OK;
}

static enum err make_and_add(struct plog *p, uint64_t bytes, enum journal_state state,
                             struct journal_file **out)
{
    lock_take(&p->commit_lk);
    uint64_t number = p->journal.next_number++;
    lock_give(&p->commit_lk);
    struct journal_file *f;
    enum err e = make_file(p, bytes, number, &f);
    if (e != ERR_OK)
        return e;
    lock_take(&p->commit_lk);
    f->state = state;
    journal_add_locked(&p->journal, f);
    lock_give(&p->commit_lk);
    if (out != NULL)
        *out = f;
    return ERR_OK;
}

enum err journal_make_first(struct plog *p)
{
    p->journal.next_number = 1;
    return make_and_add(p, p->options.journal_first_bytes, JOURNAL_FREE, NULL);
}

/* Makes p->journal.current a file with room for n bytes. */
static enum err find_room(struct plog *p, uint64_t n)
{
    struct journal *j = &p->journal;
    lock_take(&p->commit_lk);
    struct journal_file *f = j->current;
    bool fits = f != NULL && f->position + n <= f->bytes;
    uint64_t all = 0;
    for (size_t i = 0; i < j->n; i++)
        all += j->files[i]->bytes;
    if (!fits) {
        if (f != NULL)
            f->state = JOURNAL_FULL;
        j->current = NULL;
        for (size_t i = 0; i < j->n; i++) {
            struct journal_file *other = j->files[i];
            if (other->state == JOURNAL_FREE && JOURNAL_PAGE_BYTES + n <= other->bytes &&
                (j->current == NULL || other->number < j->current->number))
                j->current = other;
        }
        if (j->current != NULL)
            j->current->state = JOURNAL_CURRENT;
    }
    lock_give(&p->commit_lk);
    if (j->current != NULL)
        return ERR_OK;
    /* The checkpoint was not in time, and this round pays for a file: as large as all so far, so
     * that few rounds pay, and the first ones little. */
    uint64_t bytes = all;
    if (bytes > p->options.journal_bytes)
        bytes = p->options.journal_bytes;
    if (bytes < JOURNAL_PAGE_BYTES + n)
        bytes = JOURNAL_PAGE_BYTES + n;
    return make_and_add(p, bytes, JOURNAL_CURRENT, &j->current);
}

static void round_header_store(char *at, const struct journal_file *f, size_t n, uint64_t round,
                               uint32_t entries, const struct plog_stamp *stamp)
{
    struct buf s = BUF_EMPTY;
    memset(at, 0, ROUND_HEADER_BYTES);
    format_magic_store(at, 'R');
    le_store_u32(at + 8, (uint32_t)n);
    le_store_u32(at + 12, entries);
    le_store_u64(at + 16, f->lap);
    le_store_u64(at + 24, round);
    format_stamp_put(&s, stamp);
    memcpy(at + 32, s.at, STAMP_BYTES);
    buf_fini(&s);
    format_crc_store(at, n, journal_seed(f, round));
}

/* The first round of a lap, with the file's header before it. */
static enum err write_first(const struct disk *d, const struct journal_file *f, struct bytes round)
{
    char page[JOURNAL_PAGE_BYTES] = {0};
    struct bytes pieces[] = {{page, sizeof page}, round};
    header_store(page, f, true);
    return d->write(d->self, f->file, pieces, 2, 0);
}

enum err journal_write(struct plog *p, struct buf *b, uint64_t round, uint32_t entries,
                       const struct plog_stamp *stamp)
{
    static const char zeros[JOURNAL_PAGE_BYTES];
    const struct disk *d = p->disk;
    size_t n = b->n, padding = (JOURNAL_PAGE_BYTES - n % JOURNAL_PAGE_BYTES) % JOURNAL_PAGE_BYTES;
    enum err e = find_room(p, n + padding);
    if (e != ERR_OK)
        return e;
    struct journal_file *f = p->journal.current;
    round_header_store(b->at, f, n, round, entries, stamp);
    buf_put(b, zeros, padding);
    struct bytes whole = buf_bytes(b);
    e = f->in_use ? d->write(d->self, f->file, &whole, 1, f->position) : write_first(d, f, whole);
    if (e == ERR_OK)
        e = d->sync(d->self, f->file);
    if (e != ERR_OK)
        return e;
    f->in_use = true;
    lock_take(&p->commit_lk);
    f->position += b->n;
    f->last_round = round;
    lock_give(&p->commit_lk);
    return ERR_OK;
}

bool journal_is_half_full(struct plog *p)
{
    uint64_t used = 0, all = 0;
    lock_take(&p->commit_lk);
    for (size_t i = 0; i < p->journal.n; i++) {
        const struct journal_file *f = p->journal.files[i];
        all += f->bytes;
        if (f->state != JOURNAL_FREE)
            used += f->state == JOURNAL_FULL ? f->bytes : f->position;
    }
    lock_give(&p->commit_lk);
    return 2 * used >= all;
}

/* The next file that may be recycled, or NULL. */
static struct journal_file *next_done(struct plog *p, uint64_t round, bool current)
{
    struct journal_file *found = NULL;
    lock_take(&p->commit_lk);
    for (size_t i = 0; i < p->journal.n && found == NULL; i++) {
        struct journal_file *f = p->journal.files[i];
        bool idle = f->state == JOURNAL_FULL || (current && f->state == JOURNAL_CURRENT);
        if (idle && f->last_round <= round)
            found = f;
    }
    lock_give(&p->commit_lk);
    return found;
}

enum err journal_recycle(struct plog *p, uint64_t round, bool current)
{
    for (struct journal_file *f; (f = next_done(p, round, current)) != NULL;) {
        enum err e = raise_lap(p->disk, f);
        if (e != ERR_OK)
            return e;
        lock_take(&p->commit_lk);
        if (p->journal.current == f)
            p->journal.current = NULL;
        f->position = JOURNAL_PAGE_BYTES;
        f->last_round = 0;
        f->state = JOURNAL_FREE;
        lock_give(&p->commit_lk);
    }
    return ERR_OK;
}

enum err journal_prepare(struct plog *p)
{
    unsigned large = 0;
    uint64_t free_bytes = 0;
    lock_take(&p->commit_lk);
    for (size_t i = 0; i < p->journal.n; i++) {
        const struct journal_file *f = p->journal.files[i];
        large += f->bytes >= p->options.journal_bytes;
        free_bytes += f->state == JOURNAL_FREE ? f->bytes : 0;
    }
    lock_give(&p->commit_lk);
    if (large >= LARGE_FILES_MIN || free_bytes >= p->options.journal_bytes)
        return ERR_OK;
    return make_and_add(p, p->options.journal_bytes, JOURNAL_FREE, NULL);
}

/* Out of the list, so that no round takes it; NULL: there is none, or not for long enough. The
 * smallest one, because what is left then holds the largest rounds. */
static struct journal_file *take_spare(struct plog *p)
{
    struct journal *j = &p->journal;
    struct journal_file *spare = NULL;
    uint64_t used = 0, all = 0, kept = (uint64_t)LARGE_FILES_MIN * p->options.journal_bytes;
    size_t place = 0;
    lock_take(&p->commit_lk);
    for (size_t i = 0; i < j->n; i++) {
        struct journal_file *f = j->files[i];
        all += f->bytes;
        if (f->state != JOURNAL_FREE) {
            used += f->state == JOURNAL_FULL ? f->bytes : f->position;
        } else if (spare == NULL || f->bytes < spare->bytes) {
            spare = f;
            place = i;
        }
    }
    if (spare == NULL || all - spare->bytes < kept || SPARE_SHARE * used > all - spare->bytes) {
        j->spare_looks = 0;
        spare = NULL;
    } else if (++j->spare_looks < SPARE_LOOKS) {
        spare = NULL;
    } else {
        j->spare_looks -= SPARE_LOOKS_MORE;
        j->files[place] = j->files[--j->n];
    }
    lock_give(&p->commit_lk);
    return spare;
}

/* The file's lap was raised and synced when it became free, so a crash may bring it back: it holds
 * nothing. */
enum err journal_give_back(struct plog *p)
{
    const struct disk *d = p->disk;
    struct journal_file *f = take_spare(p);
    if (f == NULL)
        return ERR_OK;
    char *path = journal_path(f->number);
    d->close(d->self, f->file);
    enum err e = d->remove(d->self, path);
    if (e == ERR_OK)
        e = d->sync_dir(d->self, "journal");
    mem_free(path);
    mem_free(f);
    return e;
}

void journal_close(struct plog *p)
{
    for (size_t i = 0; i < p->journal.n; i++) {
        p->disk->close(p->disk->self, p->journal.files[i]->file);
        mem_free(p->journal.files[i]);
    }
    mem_free(p->journal.files);
    p->journal = (struct journal){0};
}

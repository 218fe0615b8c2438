// SPDX-License-Identifier: Apache-2.0
#include "offline/journal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/journal.h"

static const char restore[] = "the broker will not start; restore the directory from a backup";

char *offline_journal_path(uint64_t number)
{
    struct buf b = BUF_EMPTY;
    buf_put_format(&b, "journal/%08llu.wal", (unsigned long long)number);
    buf_put_u8(&b, 0);
    return b.at;
}

static enum err read_part(const struct disk *d, const char *path, uint64_t at, size_t n,
                          struct buf *out)
{
    int file;
    size_t got = 0;
    enum err e = d->open(d->self, path, DISK_READ, &file);
    if (e != ERR_OK)
        return e;
    buf_clear(out);
    buf_reserve(out, n);
    e = d->read(d->self, file, out->at, n, at, &got);
    d->close(d->self, file);
    if (e == ERR_OK)
        out->n = got;
    return e;
}

static void read_header(struct bytes whole, const char *path, struct findings *f,
                        struct offline_journal_file *out)
{
    const char *at = whole.at;
    enum err e = whole.n < JOURNAL_HEADER_BYTES
                     ? ERR_CORRUPT
                     : format_check((struct bytes){at, JOURNAL_HEADER_BYTES}, 'J', 0);
    out->bytes = whole.n;
    if (e != ERR_OK) {
        findings_fault(f, path, 0, restore, "the header: %s", err_text(e));
        return;
    }
    out->lap = le_load_u64(at + 8);
    out->salt = le_load_u64(at + 16);
    out->in_use = le_load_u32(at + 40) != 0;
    if (le_load_u64(at + 24) != out->number || le_load_u64(at + 32) != whole.n ||
        whole.n < JOURNAL_PAGE_BYTES)
        findings_fault(f, path, 0, restore,
                       "the header is that of file %llu with %llu bytes, and the file has %llu",
                       (unsigned long long)le_load_u64(at + 24),
                       (unsigned long long)le_load_u64(at + 32), (unsigned long long)whole.n);
    else
        out->good = true;
}

/* The length of the valid round at `position`. ERR_NOT_FOUND: there is none. */
static enum err round_at(struct bytes whole, const struct offline_journal_file *file,
                         uint64_t position, uint32_t *length)
{
    if (position > whole.n || whole.n - position < ROUND_HEADER_BYTES)
        return ERR_NOT_FOUND;
    const char *at = (const char *)whole.at + position;
    uint32_t n = le_load_u32(at + 8);
    if (!format_letters_fit(at, 'R') || le_load_u64(at + 16) != file->lap ||
        n < ROUND_HEADER_BYTES || n > whole.n - position)
        return ERR_NOT_FOUND;
    struct journal_file of = {.lap = file->lap, .salt = file->salt};
    enum err e = format_check((struct bytes){at, n}, 'R', journal_seed(&of, le_load_u64(at + 24)));
    if (e != ERR_OK)
        return e == ERR_CORRUPT ? ERR_NOT_FOUND : e;
    *length = n;
    return ERR_OK;
}

/* Any two of magic, lap and number, so that one bad byte does not hide it. */
static bool looks_like_a_round(struct bytes whole, const struct offline_journal_file *file,
                               uint64_t position)
{
    if (position > whole.n || whole.n - position < ROUND_HEADER_BYTES)
        return false;
    const char *at = (const char *)whole.at + position;
    bool letters = format_letters_fit(at, 'R');
    bool lap = le_load_u64(at + 16) == file->lap;
    bool next = file->last != 0 && le_load_u64(at + 24) == file->last + 1;
    return letters + lap + next >= 2;
}

static void rounds_put(struct offline_journal *j, struct offline_round r)
{
    if (j->rounds_n == j->rounds_room) {
        j->rounds_room = j->rounds_room == 0 ? 64 : 2 * j->rounds_room;
        j->rounds = mem_resize(j->rounds, j->rounds_room * sizeof j->rounds[0]);
    }
    j->rounds[j->rounds_n++] = r;
}

/* What stands where reading stopped: nothing, the last round cut short, or damage, when a round
 * that was written later stands behind it. */
static void look_behind(struct bytes whole, const struct offline_journal_file *file,
                        const char *path, struct findings *f, bool *torn)
{
    uint32_t n;
    uint64_t at = file->stop + JOURNAL_PAGE_BYTES;
    enum err e = ERR_NOT_FOUND;
    for (; e == ERR_NOT_FOUND && at < whole.n; at += JOURNAL_PAGE_BYTES)
        e = round_at(whole, file, at, &n);
    if (e == ERR_OK) {
        findings_fault(f, path, file->stop, restore,
                       "a round is bad, and a later one stands behind it, at byte %llu",
                       (unsigned long long)(at - JOURNAL_PAGE_BYTES));
    } else if (e == ERR_NEWER_FORMAT) {
        findings_fault(f, path, at - JOURNAL_PAGE_BYTES, "use the version that wrote it", "%s",
                       err_text(e));
    } else if (looks_like_a_round(whole, file, file->stop)) {
        *torn = true;
        findings_remark(f, path, file->stop,
                        "the last round is not whole and does not count: a crash cut it short, or "
                        "it is damaged");
    }
}

static void scan(struct bytes whole, const char *path, uint64_t above, struct findings *f,
                 struct offline_journal_file *file, struct offline_journal *j)
{
    uint32_t n;
    enum err e;
    file->stop = JOURNAL_PAGE_BYTES;
    while ((e = round_at(whole, file, file->stop, &n)) == ERR_OK) {
        uint64_t number = le_load_u64((const char *)whole.at + file->stop + 24);
        if (file->rounds > 0 && number != file->last + 1) {
            findings_fault(f, path, file->stop, restore, "round %llu follows round %llu",
                           (unsigned long long)number, (unsigned long long)file->last);
            return;
        }
        if (file->rounds++ == 0)
            file->first = number;
        file->last = number;
        if (number > above)
            rounds_put(j, (struct offline_round){number, file->number, file->stop, n});
        file->stop +=
            ((uint64_t)n + JOURNAL_PAGE_BYTES - 1) / JOURNAL_PAGE_BYTES * JOURNAL_PAGE_BYTES;
    }
    if (e == ERR_NEWER_FORMAT)
        findings_fault(f, path, file->stop, "use the version that wrote it", "%s", err_text(e));
    else
        look_behind(whole, file, path, f, &j->torn);
}

static void read_file(const struct disk *d, uint64_t number, uint64_t above, struct findings *f,
                      struct offline_journal *j)
{
    char *path = offline_journal_path(number);
    struct buf b = BUF_EMPTY;
    struct offline_journal_file file = {.number = number};
    enum err e = file_read(d, path, SIZE_MAX / 2, &b);
    if (e != ERR_OK)
        findings_fault(f, path, FINDING_WHOLE, restore, "%s", err_text(e));
    else
        read_header(buf_bytes(&b), path, f, &file);
    if (file.good && file.in_use)
        scan(buf_bytes(&b), path, above, f, &file, j);
    j->files = mem_resize(j->files, (j->files_n + 1) * sizeof j->files[0]);
    j->files[j->files_n++] = file;
    buf_fini(&b);
    mem_free(path);
}

static int compare_rounds(const void *a, const void *b)
{
    const struct offline_round *one = a, *other = b;
    return (one->number > other->number) - (one->number < other->number);
}

static void check_chain(struct offline_journal *j, uint64_t above, struct findings *f)
{
    if (j->rounds_n > 0)
        qsort(j->rounds, j->rounds_n, sizeof j->rounds[0], compare_rounds);
    for (size_t i = 0; i < j->rounds_n; i++) {
        const struct offline_round *r = &j->rounds[i];
        if (r->number == above + 1 + i)
            continue;
        char *path = offline_journal_path(r->file);
        findings_fault(f, path, r->position, restore,
                       "round %llu is missing before round %llu: a journal file is gone or older "
                       "than the marks",
                       (unsigned long long)(above + 1 + i), (unsigned long long)r->number);
        mem_free(path);
        j->rounds_n = i;
        return;
    }
}

void offline_journal_read(const struct disk *d, uint64_t above, struct findings *f,
                          struct offline_journal *out)
{
    struct offline_journal j = {0};
    struct names names = {0};
    enum err e = names_list(d, "journal", &names);
    if (e != ERR_OK)
        findings_fault(f, "journal", FINDING_WHOLE, restore, "%s", err_text(e));
    for (size_t i = 0; i < names.n; i++) {
        uint64_t number;
        char *path = file_path("journal", names.at[i]);
        if (strlen(names.at[i]) == 12 && names_number(names.at[i], 8, ".wal", &number))
            read_file(d, number, above, f, &j);
        else
            findings_remark(f, path, FINDING_WHOLE, "no file of the journal; it means nothing");
        mem_free(path);
    }
    names_fini(&names);
    if (e == ERR_OK && j.files_n == 0)
        findings_fault(f, "journal", FINDING_WHOLE, restore, "the folder holds no journal");
    check_chain(&j, above, f);
    *out = j;
}

enum err offline_journal_round(const struct disk *d, const struct offline_journal *j,
                               const struct offline_round *r, struct buf *out)
{
    char *path = offline_journal_path(r->file);
    enum err e = read_part(d, path, r->position, r->bytes, out);
    mem_free(path);
    uint32_t n;
    for (size_t i = 0; e == ERR_OK && i < j->files_n; i++)
        if (j->files[i].number == r->file &&
            (round_at(buf_bytes(out), &j->files[i], 0, &n) != ERR_OK || n != r->bytes))
            e = ERR_CORRUPT;
    return e;
}

void offline_journal_fini(struct offline_journal *j)
{
    mem_free(j->files);
    mem_free(j->rounds);
    *j = (struct offline_journal){0};
}

enum err offline_entry_next(struct bytes round, size_t *place, uint32_t *taken,
                            struct offline_entry *out)
{
    const char *at = round.at;
    if (*place == 0)
        *place = ROUND_HEADER_BYTES;
    struct cursor c = cursor_of((struct bytes){at + *place, round.n - *place});
    if (*taken == le_load_u32(at + 12))
        return c.left == 0 ? ERR_NOT_FOUND : ERR_CORRUPT;
    struct offline_entry e = {.kind = cursor_u8(&c)};
    cursor_bytes(&c, 3);
    e.id.partition = cursor_u32(&c);
    struct bytes topic = cursor_bytes(&c, sizeof e.id.topic);
    if (topic.n == sizeof e.id.topic)
        memcpy(e.id.topic, topic.at, topic.n);
    e.incarnation = cursor_u64(&c);
    e.batch = cursor_bytes(&c, cursor_u32(&c));
    if (c.bad)
        return ERR_CORRUPT;
    if (e.kind < ENTRY_APPEND || e.kind > ENTRY_BEGIN_ANEW)
        return ERR_NEWER_FORMAT;
    if ((e.kind == ENTRY_TRUNCATE && e.batch.n != ENTRY_TRUNCATE_BYTES) ||
        (e.kind == ENTRY_BEGIN_ANEW && e.batch.n != ENTRY_BEGIN_ANEW_BYTES))
        return ERR_CORRUPT;
    e.batch_at = *place + ENTRY_HEADER_BYTES;
    *place = e.batch_at + e.batch.n;
    ++*taken;
    *out = e;
    return ERR_OK;
}

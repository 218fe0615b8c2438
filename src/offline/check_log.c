// SPDX-License-Identifier: Apache-2.0
#include "offline/check_log.h"

#include <string.h>

#include "base/mem.h"
#include "offline/batches.h"
#include "offline/check_index.h"
#include "offline/fold.h"
#include "offline/log_files.h"
#include "plog/copy_file.h"
#include "plog/files.h"

static const char restore[] = "restore the directory from a backup, or accept the loss";

struct check {
    struct offline_check *options;
    const struct offline_store *store;
    const struct offline_log *log;
    struct findings *findings;
    struct offline_files files;
    struct copy copy; /* zeros without the file */
    struct offline_fold fold;
    bool begun;  /* the fold is: the first batch tells where the log starts */
    bool broken; /* a bad stretch was told of, so that what follows may well begin elsewhere */
    uint64_t start_number;
};

/* A segment counts when the mark says so. */
static bool counts(const struct offline_log *l, const struct offline_file *file)
{
    if (file->kind != FILE_SEGMENT)
        return false;
    return l->unknown || (l->mark.end.position > 0 && file->name <= l->mark.end.segment);
}

static void begin_fold(struct check *c, uint64_t offset, uint64_t number)
{
    c->start_number = number;
    offline_fold_init(&c->fold, &c->store->disk, c->log, &c->files, c->findings, offset, number);
    c->fold.begun_with = copy_snapshot(&c->copy, c->log->incarnation);
    c->begun = true;
}

/* What the batch says of its place against where the log has come to. */
static void check_place(struct check *c, const struct batch_header *h, const char *file,
                        uint64_t at)
{
    struct offline_fold *fold = &c->fold;
    bool broken = c->broken;
    c->broken = false;
    if (h->base_offset == fold->offset && h->first_number == fold->number)
        return;
    if (h->base_offset > fold->offset && broken)
        findings_remark(c->findings, file, at, "goes on with offset %llu, number %llu",
                        (unsigned long long)h->base_offset, (unsigned long long)h->first_number);
    else
        findings_fault(c->findings, file, at, restore,
                       "the batch is that of offset %llu, number %llu; offset %llu, number %llu "
                       "should follow",
                       (unsigned long long)h->base_offset, (unsigned long long)h->first_number,
                       (unsigned long long)fold->offset, (unsigned long long)fold->number);
    offline_fold_skip(fold, h->base_offset, h->first_number);
}

static void take_batch(struct check *c, struct bytes batch, const struct batch_header *h,
                       const char *file, uint64_t at)
{
    if (!c->begun)
        begin_fold(c, h->base_offset, h->first_number);
    check_place(c, h, file, at);
    c->options->batches++;
    c->options->records += h->gap ? 0 : h->records;
    c->options->bytes += batch.n;
    offline_fold_batch(&c->fold, batch, h, file, at);
}

/* The bytes of the segment that count. */
static struct bytes cut_at_mark(struct check *c, const struct offline_file *file,
                                const struct buf *b)
{
    const struct tail *end = &c->log->mark.end;
    struct bytes bytes = buf_bytes(b);
    if (c->log->unknown || file->name != end->segment)
        return bytes;
    if (bytes.n < end->position)
        findings_fault(c->findings, file->path, bytes.n, restore,
                       "the segment ends before the mark, which stands at byte %llu",
                       (unsigned long long)end->position);
    else
        bytes.n = end->position;
    return bytes;
}

static void scan_segment(struct check *c, const struct offline_file *file, struct bytes bytes,
                         struct offline_segment *s)
{
    struct offline_batches scan = {.bytes = bytes};
    struct batch_header h;
    struct bytes batch;
    uint64_t at;
    if (bytes.n == 0)
        findings_fault(c->findings, file->path, 0, restore, "the segment is empty");
    for (enum err e; (e = offline_batches_next(&scan, &at, &batch, &h)) != ERR_NOT_FOUND;) {
        if (e == ERR_OK && at == 0 && h.base_offset != file->name)
            findings_fault(c->findings, file->path, 0, restore,
                           "the first batch is that of offset %llu",
                           (unsigned long long)h.base_offset);
        if (e == ERR_OK) {
            offline_segment_put(s, &h, at);
            take_batch(c, batch, &h, file->path, at);
            continue;
        }
        findings_fault(c->findings, file->path, at,
                       e == ERR_NEWER_FORMAT ? "use the version that wrote it" : restore,
                       "no good batch up to byte %llu: %s", (unsigned long long)scan.position,
                       err_text(e));
        if (!c->begun)
            begin_fold(c, file->name, c->log->mark.start_number);
        offline_fold_skip(&c->fold, c->fold.offset, c->fold.number);
        c->broken = true;
    }
}

static void check_index(struct check *c, const struct offline_file *file, struct offline_segment *s)
{
    const struct disk *d = &c->store->disk;
    bool last = !c->log->unknown && file->name == c->log->mark.end.segment;
    if (file->clean_end != 0 || c->log->unknown || c->log->cut || s->begin_n == 0)
        return;
    s->sealed = !last;
    s->entries = c->log->mark.index_entries;
    struct buf path = BUF_EMPTY;
    buf_put_format(&path, "%s/%020llu.index", c->log->dir, (unsigned long long)file->name);
    buf_put_u8(&path, 0);
    struct findings_place here = findings_here(c->findings);
    bool good = offline_index_check(d, path.at, s, c->findings);
    if (!good && c->options->repair) {
        enum err e = offline_index_make(d, c->log->dir, path.at, s);
        if (e == ERR_OK) {
            findings_back(c->findings, here);
            findings_remark(c->findings, path.at, FINDING_WHOLE, "the index is made again");
            c->options->repaired++;
        } else if (e != ERR_INVALID) {
            findings_fault(c->findings, path.at, FINDING_WHOLE, "look at the disk",
                           "it cannot be written: %s", err_text(e));
        }
    }
    buf_fini(&path);
}

static void check_segment(struct check *c, const struct offline_file *file)
{
    struct buf b = BUF_EMPTY;
    struct offline_segment s = {.name = file->name};
    size_t faults = c->findings->faults;
    if (file->clean_end != 0)
        findings_remark(c->findings, file->path, FINDING_WHOLE,
                        "a cleaning was cut short here; the next start finishes it");
    if (!c->log->unknown && file->clean_end > c->log->mark.end.segment)
        findings_fault(c->findings, file->path, FINDING_WHOLE, restore,
                       "the cleaned segment reaches above the segment that the mark names");
    enum err e = file_read(&c->store->disk, file->path, SIZE_MAX / 2, &b);
    if (e != ERR_OK) {
        findings_fault(c->findings, file->path, FINDING_WHOLE, restore, "%s", err_text(e));
    } else {
        struct bytes bytes = cut_at_mark(c, file, &b);
        s.bytes = bytes.n;
        scan_segment(c, file, bytes, &s);
    }
    /* Of a segment with faults nothing is known that an index could be held against. */
    if (c->findings->faults == faults)
        check_index(c, file, &s);
    offline_segment_fini(&s);
    buf_fini(&b);
}

static void check_segments(struct check *c)
{
    const struct offline_log *l = c->log;
    const struct tail *end = &l->mark.end;
    const struct offline_file *first = NULL, *last = NULL;
    for (size_t i = 0; i < c->files.n; i++) {
        const struct offline_file *file = &c->files.at[i];
        if (!counts(l, file))
            continue;
        if (first == NULL)
            first = file;
        last = file;
        check_segment(c, file);
    }
    if (l->unknown || end->position == 0)
        return;
    if (last == NULL || last->name != end->segment) {
        struct buf path = BUF_EMPTY;
        buf_put_format(&path, "%s/%020llu.log", l->dir, (unsigned long long)end->segment);
        buf_put_u8(&path, 0);
        findings_fault(c->findings, path.at, FINDING_WHOLE, restore,
                       "the segment that the mark names is missing");
        buf_fini(&path);
    } else if (first->name == l->mark.start_offset && c->begun &&
               c->start_number != l->mark.start_number) {
        findings_fault(c->findings, first->path, 0, restore,
                       "it begins with number %llu, and the marks say %llu",
                       (unsigned long long)c->start_number,
                       (unsigned long long)l->mark.start_number);
    }
}

/* The mark tells at which offset and number its place in the segments is. */
static void check_end(struct check *c)
{
    const struct tail *end = &c->log->mark.end;
    if (!c->begun)
        begin_fold(c, end->offset, end->number);
    if (c->log->unknown || (c->fold.offset == end->offset && c->fold.number == end->number))
        return;
    if (!c->broken)
        findings_fault(c->findings, c->log->dir, FINDING_WHOLE, restore,
                       "the segments end with offset %llu, number %llu, and the mark with %llu, "
                       "%llu",
                       (unsigned long long)c->fold.offset, (unsigned long long)c->fold.number,
                       (unsigned long long)end->offset, (unsigned long long)end->number);
    offline_fold_skip(&c->fold, end->offset, end->number);
}

static void check_append(struct check *c, struct offline_append_reader *r,
                         const struct offline_append *a)
{
    struct bytes batch;
    struct batch_header h;
    uint64_t at;
    char *path = offline_append_where(c->store, a, &at);
    enum err e = offline_append_read(r, a, &batch);
    if (e == ERR_OK)
        e = batch_check(batch, &h);
    if (e != ERR_OK)
        findings_fault(c->findings, path, at, restore, "a batch of %s: %s", c->log->dir,
                       err_text(e));
    else if (batch_end(&h) > c->fold.offset)
        take_batch(c, batch, &h, path, at);
    mem_free(path);
}

static void check_journal(struct check *c)
{
    struct offline_append_reader r = OFFLINE_APPEND_READER(c->store);
    size_t n;
    const struct offline_append *a = offline_store_appends(c->store, c->log, &n);
    for (size_t i = 0; i < n; i++)
        check_append(c, &r, &a[i]);
    offline_append_reader_fini(&r);
}

/* What lies in the folder and is neither a segment nor read with one. */
static void check_others(struct check *c)
{
    unsigned snapshots = 0;
    for (size_t i = 0; i < c->files.n; i++) {
        const struct offline_file *file = &c->files.at[i];
        snapshots += file->kind == FILE_SNAPSHOT;
        if (file->kind == FILE_SALVAGE)
            findings_fault(c->findings, file->path, FINDING_WHOLE,
                           "keep it: once the log is repaired they can be read from here",
                           "batches of the journal that the log was too damaged to take");
        else if (file->kind == FILE_TMP)
            findings_remark(c->findings, file->path, FINDING_WHOLE,
                            "it was being made at a crash; the next start removes it");
        else if (file->kind == FILE_ANEW)
            findings_remark(c->findings, file->path, FINDING_WHOLE,
                            "of a new beginning that did not come to be; the next start removes "
                            "it");
        else if (file->kind == FILE_OTHER)
            findings_remark(c->findings, file->path, FINDING_WHOLE, "no file of leaselog");
        else if (file->kind == FILE_INDEX && !c->options->online &&
                 offline_files_find(&c->files, FILE_SEGMENT, file->name) == NULL)
            findings_remark(c->findings, file->path, FINDING_WHOLE,
                            "an index without a segment; the next start removes it");
    }
    if (snapshots > 2 && !c->options->online)
        findings_remark(c->findings, c->log->dir, FINDING_WHOLE,
                        "%u snapshots; the two newest are used", snapshots);
}

static void read_copy(struct check *c)
{
    const struct offline_file *file = offline_files_find(&c->files, FILE_COPY, 0);
    struct buf b = BUF_EMPTY;
    if (file == NULL)
        return;
    enum err e = file_read(&c->store->disk, file->path, 4096, &b);
    if (e == ERR_OK)
        e = copy_decode(buf_bytes(&b), &c->copy);
    if (e != ERR_OK)
        findings_fault(c->findings, file->path, 0, restore, "%s", err_text(e));
    buf_fini(&b);
}

/* Of a log that began anew at the end of the journal: which files are the new log's, by the
 * incarnation in the headers. The next start removes the others. */
static void heed_beginning(struct check *c)
{
    size_t n = 0;
    if (!c->log->begun_anew)
        return;
    for (size_t i = 0; i < c->files.n; i++) {
        struct offline_file *file = &c->files.at[i];
        struct buf b = BUF_EMPTY;
        bool ours = file->kind != FILE_SNAPSHOT && file->kind != FILE_ANEW;
        if (!ours && file_read(&c->store->disk, file->path, SIZE_MAX / 2, &b) == ERR_OK)
            ours = b.n >= 32 && le_load_u64(b.at + 24) == c->log->incarnation;
        buf_fini(&b);
        if (ours && file->kind == FILE_ANEW)
            file->kind = FILE_SNAPSHOT;
        if (ours)
            c->files.at[n++] = *file;
        else
            mem_free(file->path);
    }
    c->files.n = n;
}

void offline_check_log(struct offline_check *options, const struct offline_store *s,
                       const struct offline_log *l, struct findings *f)
{
    struct check c = {.options = options, .store = s, .log = l, .findings = f};
    enum err e = offline_files_list(&s->disk, l->dir, &c.files);
    if (e != ERR_OK && (e != ERR_NOT_FOUND || l->marked)) {
        findings_fault(f, l->dir, FINDING_WHOLE, restore, "the log's folder: %s", err_text(e));
        return;
    }
    read_copy(&c);
    heed_beginning(&c);
    check_segments(&c);
    check_end(&c);
    if (!options->online)
        check_journal(&c);
    offline_fold_end(&c.fold, c.start_number, options->online);
    check_others(&c);
    offline_fold_fini(&c.fold);
    offline_files_fini(&c.files);
}

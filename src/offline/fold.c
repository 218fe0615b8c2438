// SPDX-License-Identifier: Apache-2.0
#include "offline/fold.h"

#include <string.h>

#include "base/mem.h"
#include "partition/look.h"
#include "plog/files.h"
#include "plog/format.h"

enum { SNAPSHOT_HEADER_BYTES = 56, GID_DEFAULT = 1 };
#define SNAPSHOT_BYTES_MAX ((size_t)4 << 30)

static const char todo_snapshot[] = "remove it: the older snapshot is used, and a new one is made";
static const char todo_state[] = "restore the directory from a backup";

/* Reads a snapshot and loads its state. `*differs`: f has a state, and it is another one. */
static enum err load(const struct offline_fold *f, const struct offline_file *file,
                     struct partition **out, bool *differs)
{
    struct buf b = BUF_EMPTY;
    const struct offline_log *l = f->log;
    enum err e = file_read(f->disk, file->path, SNAPSHOT_BYTES_MAX, &b);
    if (e == ERR_OK && b.n < SNAPSHOT_HEADER_BYTES)
        e = ERR_CORRUPT;
    if (e == ERR_OK)
        e = format_check(buf_bytes(&b), 'S', 0);
    if (e == ERR_OK) {
        bool ours = le_load_u64(b.at + 8) == b.n - SNAPSHOT_HEADER_BYTES &&
                    le_load_u64(b.at + 16) == file->name &&
                    (l->unknown || le_load_u64(b.at + 24) == l->incarnation) &&
                    memcmp(b.at + 32, l->id.topic, sizeof l->id.topic) == 0 &&
                    le_load_u32(b.at + 48) == l->id.partition;
        struct bytes state = {b.at + SNAPSHOT_HEADER_BYTES, b.n - SNAPSHOT_HEADER_BYTES};
        e = ours ? partition_load(state, out) : ERR_CORRUPT;
        *differs = e == ERR_OK && f->state != NULL && !partition_is_saved_as(f->state, state);
    }
    buf_fini(&b);
    return e;
}

static void drop_state(struct offline_fold *f)
{
    f->lost = f->lost || f->state != NULL;
    partition_free(f->state);
    f->state = NULL;
}

/* The fold has come to this snapshot's offset. */
static void meet(struct offline_fold *f, const struct offline_file *file)
{
    struct partition *saved;
    bool differs = false;
    enum err e = load(f, file, &saved, &differs);
    if (e != ERR_OK) {
        findings_fault(f->findings, file->path, 0, todo_snapshot, "the snapshot: %s", err_text(e));
        return;
    }
    if (differs)
        findings_fault(f->findings, file->path, 0, todo_state,
                       "the records before offset %llu do not give the state that it holds",
                       (unsigned long long)f->offset);
    partition_free(f->state);
    f->state = saved;
    f->loaded = true;
}

/* Goes by the snapshots up to f->offset. */
static void meet_snapshots(struct offline_fold *f)
{
    for (; f->next_file < f->files->n; f->next_file++) {
        const struct offline_file *file = &f->files->at[f->next_file];
        if (file->kind != FILE_SNAPSHOT)
            continue;
        if (file->name > f->offset)
            return;
        if (file->name == f->offset) {
            meet(f, file);
            continue;
        }
        struct partition *saved;
        bool differs;
        enum err e = load(f, file, &saved, &differs);
        if (e == ERR_OK)
            partition_free(saved);
        findings_fault(f->findings, file->path, 0, todo_snapshot,
                       "%s, and no batch begins at its offset",
                       e == ERR_OK ? "nothing can be folded from it" : err_text(e));
    }
}

/* Only the two newest snapshots are kept, and what lies below the older one may be cleaned. */
static size_t first_kept(const struct offline_files *files)
{
    size_t i = files->n;
    for (unsigned n = 0; i > 0; i--)
        if (files->at[i - 1].kind == FILE_SNAPSHOT && ++n > 2)
            break;
    return i;
}

void offline_fold_init(struct offline_fold *f, const struct disk *d, const struct offline_log *log,
                       const struct offline_files *files, struct findings *findings,
                       uint64_t offset, uint64_t number)
{
    *f = (struct offline_fold){.disk = d,
                               .log = log,
                               .files = files,
                               .findings = findings,
                               .state = offset == 0 ? partition_new() : NULL,
                               .offset = offset,
                               .number = number,
                               .next_file = first_kept(files)};
    meet_snapshots(f);
}

void offline_fold_fini(struct offline_fold *f)
{
    partition_free(f->state);
    mem_free(f->gaps);
    *f = (struct offline_fold){0};
}

static void put_gap(struct offline_fold *f, uint64_t first, uint64_t end)
{
    if (first == end)
        return;
    if (f->gaps_n > 0 && f->gaps[f->gaps_n - 1].end == first) {
        f->gaps[f->gaps_n - 1].end = end;
        return;
    }
    if (f->gaps_n == f->gaps_room) {
        f->gaps_room = f->gaps_room == 0 ? 64 : 2 * f->gaps_room;
        f->gaps = mem_resize(f->gaps, f->gaps_room * sizeof f->gaps[0]);
    }
    f->gaps[f->gaps_n++] = (struct offline_gap){first, end};
}

static void pass_gap(struct offline_fold *f, const struct batch_header *h, const char *file,
                     uint64_t at)
{
    if (f->loaded)
        findings_fault(f->findings, file, at, todo_state,
                       "records %llu to %llu were cleaned away above a snapshot",
                       (unsigned long long)h->base_offset, (unsigned long long)batch_end(h) - 1);
    partition_free(f->state); /* it was folded from the begin, and need not go on from there */
    f->state = NULL;
    put_gap(f, h->first_number, batch_end_number(h));
    f->offset = batch_end(h);
    f->number = batch_end_number(h);
    meet_snapshots(f);
}

/* Every topic has the group default from its begin on, but for a compact one, which has none. */
static bool is_compact(const struct offline_fold *f)
{
    struct partition_group_info group;
    return f->state != NULL && !partition_group_find(f->state, GID_DEFAULT, &group);
}

/* False: the record cannot be read. */
static enum err pass_record(struct offline_fold *f, struct cursor *c)
{
    uint8_t type;
    struct bytes payload;
    struct record record;
    enum err e = batch_record(c, &type, &payload);
    if (e == ERR_OK)
        e = record_decode(type, payload, &record);
    if (e != ERR_OK)
        return e;
    if (type == RECORD_TYPE_MESSAGE && record.message.key.n == 0 && is_compact(f))
        return ERR_NEEDS_KEY;
    if (f->state != NULL)
        partition_apply(f->state, &record);
    f->offset++;
    f->number += type == RECORD_TYPE_MESSAGE;
    meet_snapshots(f);
    return ERR_OK;
}

void offline_fold_batch(struct offline_fold *f, struct bytes batch, const struct batch_header *h,
                        const char *file, uint64_t at)
{
    CHECK(h->base_offset == f->offset && h->first_number == f->number);
    if (h->gap) {
        pass_gap(f, h, file, at);
        return;
    }
    struct cursor c = cursor_of(batch);
    cursor_bytes(&c, BATCH_HEADER_BYTES);
    enum err e = ERR_OK;
    for (uint32_t i = 0; e == ERR_OK && i < h->records; i++)
        e = pass_record(f, &c);
    if (e == ERR_OK && (c.left != 0 || f->number != batch_end_number(h)))
        e = ERR_CORRUPT;
    if (e == ERR_OK)
        return;
    findings_fault(f->findings, file, at,
                   e == ERR_NEWER_FORMAT ? "use the version that wrote it" : todo_state,
                   "record %llu of a batch whose checksum is good: %s",
                   (unsigned long long)f->offset, err_text(e));
    offline_fold_skip(f, batch_end(h), batch_end_number(h));
}

void offline_fold_skip(struct offline_fold *f, uint64_t offset, uint64_t number)
{
    drop_state(f);
    f->offset = offset;
    f->number = number;
    meet_snapshots(f);
}

/* Every message that some group still wants must be stored. What compaction has taken out of a
 * compact topic only the keys of those messages could tell, and they are gone. */
static void check_wanted(struct offline_fold *f, uint64_t start_number)
{
    uint64_t wanted_from = partition_wanted_from(f->state), missing = 0, first = 0;
    if (wanted_from < start_number) {
        missing = partition_wanted_count(f->state, wanted_from, start_number);
        first = wanted_from;
    }
    for (size_t i = 0; i < f->gaps_n && !is_compact(f); i++) {
        uint64_t n = partition_wanted_count(f->state, f->gaps[i].first, f->gaps[i].end);
        first = missing == 0 && n > 0 ? f->gaps[i].first : first;
        missing += n;
    }
    if (missing > 0)
        findings_fault(f->findings, f->log->dir, FINDING_WHOLE, todo_state,
                       "%llu messages from number %llu on are wanted and not stored",
                       (unsigned long long)missing, (unsigned long long)first);
}

void offline_fold_end(struct offline_fold *f, uint64_t start_number, bool online)
{
    bool above = false, to_come = false;
    for (; f->next_file < f->files->n; f->next_file++) {
        const struct offline_file *file = &f->files->at[f->next_file];
        if (file->kind != FILE_SNAPSHOT)
            continue;
        above = true;
        to_come = to_come || file->name == f->begun_with;
        if (file->name == f->begun_with)
            findings_remark(f->findings, file->path, 0,
                            "the log began with this snapshot and has not come to it yet");
        else if (!online)
            findings_fault(f->findings, file->path, 0, todo_state,
                           "the snapshot lies above the log's end, offset %llu: records are lost",
                           (unsigned long long)f->offset);
    }
    if (f->state == NULL) {
        if (!(online && above) && !to_come)
            findings_fault(f->findings, f->log->dir, FINDING_WHOLE, todo_state,
                           f->lost ? "the state is not known: no good snapshot lies behind what "
                                     "cannot be read"
                                   : "the state is not known: records are gone from the begin, and "
                                     "there is no good snapshot");
        return;
    }
    if (partition_next_number(f->state) != f->number)
        findings_fault(f->findings, f->log->dir, FINDING_WHOLE, todo_state,
                       "the state's next number is %llu, and the log's is %llu",
                       (unsigned long long)partition_next_number(f->state),
                       (unsigned long long)f->number);
    else if (!online)
        check_wanted(f, start_number);
}

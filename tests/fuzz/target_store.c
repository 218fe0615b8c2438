// SPDX-License-Identifier: Apache-2.0
/* Opening a data directory in which one file is not what it was (plog/FORMAT.md).
 *
 * Input: a byte that chooses the file (behind those that are there: names that recovery gives a
 * meaning to), a byte for the way, and
 *   way 0: the file's bytes; 1: the same, with its checksums put right;
 *   way 2: edits to the file as it was: a place (2 bytes), a length, that many bytes; its checksums
 *          are put right; way 3: it is missing.
 * With LEASELOG_VERBOSE in the environment it says which file it is and what came of it.
 * Contract: the store opens, or refuses with an error that names a file; when that is damage,
 * nothing was written. What opened can be read to its end or names its damage, takes an append, and
 * after a clean stop opens again with all that it had. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "fuzz/store_base.h"
#include "partition/partition.h"

enum { LOGS_MAX = 8, RECORDS_MAX = 10000 };

#define LOG_ONE "t/01000000000000000000000000000000/0/"
#define LOG_TWO "t/01000000000000000000000000000000/1/"
#define LOG_GONE "t/02000000000000000000000000000000/0/"

static const struct {
    const char *path, *like; /* edits begin with the bytes of `like` */
} more_files[] = {
    {LOG_ONE "00000000000000000000-00000000000000000032.clean", LOG_ONE "00000000000000000000.log"},
    {LOG_ONE "00000000000000000032-00000000000000000048.clean", LOG_ONE "00000000000000000032.log"},
    {LOG_ONE "00000000000000000000-00000000000000000048.clean.tmp",
     LOG_ONE "00000000000000000000.log"},
    {LOG_TWO "00000000000000000003.snap", LOG_ONE "00000000000000000048.snap"},
    {LOG_TWO "00000000000000000003.index", LOG_TWO "00000000000000000000.index"},
    {LOG_TWO "salvage", LOG_TWO "00000000000000000000.log"},
    {LOG_GONE "00000000000000000000.log", LOG_TWO "00000000000000000000.log"},
    {"journal/00000009.wal", "journal/00000001.wal"},
};

enum { MORE_FILES = sizeof more_files / sizeof more_files[0] };

/* NULL: there is none. */
static const struct base_file *base_file(const char *path)
{
    const struct store_base *base = store_base();
    for (size_t i = 0; i < base->n; i++)
        if (strcmp(base->files[i].path, path) == 0)
            return &base->files[i];
    return NULL;
}

static void edit(struct buf *file, struct cursor *c)
{
    while (c->left > 0 && !c->bad) {
        size_t place = cursor_u16(c), n = cursor_u8(c);
        struct bytes patch = cursor_bytes(c, n < c->left ? n : c->left);
        if (place + patch.n > file->n)
            continue;
        if (patch.n > 0)
            memcpy(file->at + place, patch.at, patch.n);
        else
            file->n = place; /* an empty edit cuts */
    }
}

/* With the folders that it lies in. */
static void put_file(struct fault_disk *disk, const char *path, struct bytes bytes)
{
    const struct disk *d = fault_disk_of(disk);
    char folder[128];
    for (const char *slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
        size_t n = (size_t)(slash - path);
        CHECK(n < sizeof folder);
        memcpy(folder, path, n);
        folder[n] = '\0';
        enum err e = d->make_dir(d->self, folder);
        CHECK(e == ERR_OK || e == ERR_EXISTS);
    }
    fault_disk_plant(disk, path, bytes);
}

static void plant(struct fault_disk *disk, struct cursor *c)
{
    const struct store_base *base = store_base();
    size_t which = fuzz_choice(c, base->n + MORE_FILES), way = fuzz_choice(c, 4);
    bool more = which >= base->n;
    const char *path = more ? more_files[which - base->n].path : base->files[which].path;
    const struct base_file *like = base_file(more ? more_files[which - base->n].like : path);
    struct buf file = BUF_EMPTY;
    for (size_t i = 0; i < base->n; i++)
        if (i != which)
            put_file(disk, base->files[i].path, buf_bytes(&base->files[i].bytes));
    if (way == 2 && like != NULL) {
        buf_put_bytes(&file, buf_bytes(&like->bytes));
        edit(&file, c);
    } else {
        buf_put_bytes(&file, fuzz_rest(c));
    }
    if (getenv("LEASELOG_VERBOSE") != NULL)
        fprintf(stderr, "%s, way %zu, %zu bytes\n", path, way, file.n);
    if (way == 1 || way == 2)
        store_seal(path, &file);
    if (way != 3)
        put_file(disk, path, buf_bytes(&file));
    buf_fini(&file);
}

/* ---- the disk as it was ---- */

struct seen {
    struct fault_disk *disk;
    uint32_t crc;
};

static void see(void *arg, const char *path, uint64_t bytes)
{
    struct seen *s = arg;
    (void)bytes;
    if (strcmp(path, "lock") == 0)
        return;
    struct bytes now = fault_disk_bytes(s->disk, path);
    s->crc = crc32c(crc32c(s->crc, path, strlen(path)), now.at, now.n);
}

static uint32_t disk_crc(struct fault_disk *disk)
{
    struct seen s = {disk, 0};
    fault_disk_each(disk, see, &s);
    return s.crc;
}

/* ---- what opened ---- */

struct told {
    struct plog_id id;
    bool damaged;
    uint64_t end;
    uint64_t records;
};

struct logs {
    size_t n;
    struct plog_log *at[LOGS_MAX];
    struct told told[LOGS_MAX];
};

static void list(void *arg, struct plog_log *l)
{
    struct logs *logs = arg;
    if (logs->n < LOGS_MAX)
        logs->at[logs->n++] = l;
}

/* Reads to the end, or to a refusal; answers how many records. */
static uint64_t read_all(struct plog_log *l)
{
    struct plog_cursor c;
    struct plog_entry entry;
    struct record r;
    uint64_t n = 0, least = plog_start_offset(l);
    enum err e = plog_cursor_at_offset(l, least, 4096, &c);
    if (e != ERR_OK)
        return 0;
    for (; n < RECORDS_MAX && plog_cursor_next(&c, &entry) == ERR_OK; n++) {
        CHECK(entry.offset >= least && entry.offset < plog_durable(l));
        least = entry.offset + 1;
        e = record_decode(entry.type, entry.payload, &r);
        CHECK(e == ERR_OK || e == ERR_CORRUPT || e == ERR_NEWER_FORMAT);
    }
    plog_cursor_close(&c);
    return n;
}

static void read_numbers(struct plog_log *l)
{
    uint64_t start = plog_start_number(l), end = plog_durable_number(l);
    for (uint64_t i = 0, number = start; i < 20 && number <= end; i++, number += 2) {
        struct plog_cursor c;
        struct plog_entry entry;
        if (plog_cursor_at_number(l, number, 1, &c) != ERR_OK)
            continue;
        if (plog_cursor_next(&c, &entry) == ERR_OK)
            CHECK(entry.number == number);
        plog_cursor_close(&c);
    }
}

static void read_snapshot(struct plog_log *l)
{
    struct buf state = BUF_EMPTY;
    struct partition *p;
    uint64_t offset;
    if (plog_snapshot_read(l, &state, &offset) == ERR_OK) {
        CHECK(offset <= plog_durable(l));
        if (partition_load(buf_bytes(&state), &p) == ERR_OK)
            partition_free(p);
    }
    buf_fini(&state);
}

static void read_log(struct plog_log *l, struct told *told)
{
    const char *where;
    *told = (struct told){.id = plog_log_id(l), .damaged = plog_log_damaged(l, &where)};
    if (told->damaged) {
        CHECK(strstr(where, "t/") != NULL && strstr(where, " at byte ") != NULL);
        return;
    }
    told->end = plog_end(l);
    CHECK(told->end == plog_durable(l) && plog_start_offset(l) <= told->end);
    told->records = read_all(l);
    read_numbers(l);
    read_snapshot(l);
}

static void append(struct plog_log *l, struct told *told)
{
    if (told->damaged || told->end > UINT64_MAX / 4) /* behind which there is an end */
        return;
    struct plog_batch *b = plog_batch_new(0);
    plog_batch_put(b, 1, BYTES_OF("one more"));
    struct plog_place place = plog_append(l, b, 9, 9, true);
    CHECK(place.offset == told->end);
    told->end++;
}

static void use(struct plog *p, struct logs *logs)
{
    plog_each(p, list, logs);
    for (size_t i = 0; i < logs->n; i++)
        read_log(logs->at[i], &logs->told[i]);
    for (size_t i = 0; i < logs->n; i++)
        append(logs->at[i], &logs->told[i]);
    plog_commit(p, true);
    CHECK(!plog_failed(p));
    plog_checkpoint_ask(p);
    plog_checkpoint_if_due(p);
    CHECK(!plog_failed(p));
}

static void compare(struct plog *p, const struct logs *before)
{
    struct logs now = {0};
    plog_each(p, list, &now);
    CHECK(now.n == before->n);
    for (size_t i = 0; i < now.n; i++) {
        const char *where;
        const struct told *told = &before->told[i];
        struct plog_id id = plog_log_id(now.at[i]);
        CHECK(memcmp(&id, &told->id, sizeof id) == 0);
        CHECK(plog_log_damaged(now.at[i], &where) == told->damaged);
        if (told->damaged)
            continue;
        CHECK(plog_end(now.at[i]) == told->end);
        uint64_t n = read_all(now.at[i]);
        CHECK(n == told->records || n == told->records + 1);
    }
}

/* The operator is told which file it is. */
static void check_refusal(enum err e)
{
    const char *line = fuzz_error_noted();
    CHECK(e == ERR_CORRUPT || e == ERR_NEWER_FORMAT);
    CHECK(strstr(line, "store.json") != NULL || strstr(line, "marks") != NULL ||
          strstr(line, "journal") != NULL || strstr(line, "t/") != NULL ||
          strstr(line, "folder t") != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    struct fault_disk *disk = fault_disk_new(1);
    struct plog_options options;
    struct plog *p;
    struct logs logs = {0};
    plant(disk, &c);
    fault_disk_of(disk)->sync_all(fault_disk_of(disk)->self);
    store_base_options(&options, fault_disk_of(disk));
    fuzz_notes_clear();
    uint32_t before = disk_crc(disk);
    enum err e = plog_open(&options, &p);
    if (getenv("LEASELOG_VERBOSE") != NULL)
        fprintf(stderr, "%s: %s\n", err_text(e), fuzz_error_noted());
    if (e == ERR_OK) {
        use(p, &logs);
        plog_close(p);
        CHECK(plog_open(&options, &p) == ERR_OK);
        compare(p, &logs);
        plog_abandon(p);
    } else {
        check_refusal(e);
        CHECK(e == ERR_NEWER_FORMAT || disk_crc(disk) == before);
    }
    fault_disk_free(disk);
    return 0;
}

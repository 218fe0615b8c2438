// SPDX-License-Identifier: Apache-2.0
#include "fuzz/store_base.h"

#include "base/mem.h"
#include "partition/partition.h"

enum { GID = 1, SEGMENT_BYTES = 4096, JOURNAL_BYTES = 32768, MESSAGE_BYTES = 400, COMMIT_EACH = 4 };

static struct plog_stamp stamp(void *self)
{
    (void)self;
    return (struct plog_stamp){.boot_id = {{9}}, .boot_ms = 1, .wall_ms = 2, .partition_ms = 3};
}

void store_base_options(struct plog_options *o, const struct disk *disk)
{
    plog_options_default(o);
    o->disk = disk;
    o->segment_bytes = SEGMENT_BYTES;
    o->cache_bytes = SEGMENT_BYTES;
    o->journal_first_bytes = JOURNAL_BYTES;
    o->journal_bytes = JOURNAL_BYTES;
    o->stamp = stamp;
}

static void put(struct plog_batch *b, const struct record *r)
{
    struct buf payload = BUF_EMPTY;
    record_encode(r, &payload);
    plog_batch_put(b, (uint8_t)r->type, buf_bytes(&payload));
    buf_fini(&payload);
}

static void put_done(struct plog_batch *b, uint64_t number)
{
    struct record_runs runs;
    record_runs_init(&runs);
    record_runs_put(&runs, number);
    put(b, &(struct record){.type = RECORD_DONE,
                            .done = {.gid = GID, .numbers = record_runs_bytes(&runs)}});
    record_runs_fini(&runs);
}

/* Some messages, and all before them done. */
static void append(struct plog *p, struct plog_log *l, unsigned messages)
{
    char body[MESSAGE_BYTES] = "body";
    for (unsigned i = 0; i < messages; i++) {
        struct plog_batch *b = plog_batch_new(0);
        if (plog_end(l) == 0)
            put(b, &(struct record){.type = RECORD_GROUP,
                                    .group = {GID, false, BYTES_OF("default"), 1, 0}});
        put(b, &(struct record){.type = RECORD_MESSAGE,
                                .message = {.body = {body, sizeof body}, .accepted_ms = 5}});
        if (plog_end_number(l) > 0)
            put_done(b, plog_end_number(l) - 1);
        plog_append(l, b, 1, 5, true);
        if (i % COMMIT_EACH == COMMIT_EACH - 1)
            plog_commit(p, false);
    }
    plog_commit(p, false);
}

/* The state as a fold of all that is durable. */
static void snapshot(struct plog_log *l)
{
    struct partition *state = partition_new();
    struct buf saved = BUF_EMPTY;
    struct plog_cursor c;
    struct plog_entry entry;
    struct record r;
    CHECK(plog_cursor_at_offset(l, 0, SEGMENT_BYTES, &c) == ERR_OK);
    while (plog_cursor_next(&c, &entry) == ERR_OK) {
        CHECK(record_decode(entry.type, entry.payload, &r) == ERR_OK);
        partition_apply(state, &r);
    }
    plog_cursor_close(&c);
    partition_save(state, &saved);
    CHECK(plog_snapshot_write(l, plog_durable(l), buf_bytes(&saved)) == ERR_OK);
    buf_fini(&saved);
    partition_free(state);
}

static uint64_t every_fourth(void *self, uint64_t first, size_t n, bool *wanted)
{
    for (size_t i = 0; i < n; i++)
        wanted[i] = (first + i) % 4 == 0;
    return plog_durable(self);
}

static void clean(struct plog_log *l)
{
    struct plog_segment segments[8];
    struct plog_clean *c;
    size_t n;
    enum plog_clean_state state = PLOG_CLEAN_MORE;
    CHECK(plog_segments(l, 0, segments, 8, &n) == ERR_OK && n > 2 && segments[1].cleanable);
    CHECK(plog_clean_begin(l, 0, segments[1].end_offset, UINT64_MAX,
                           (struct plog_wanted){.self = l, .ask = every_fourth}, &c) == ERR_OK);
    while (state == PLOG_CLEAN_MORE)
        CHECK(plog_clean_step(c, SEGMENT_BYTES, &state) == ERR_OK);
    CHECK(state == PLOG_CLEAN_DONE);
    plog_clean_free(c);
}

static void fill(struct plog *p)
{
    struct plog_log *one, *two, *gone, *late;
    CHECK(plog_create(p, (struct plog_id){{1}, 0}, &one) == ERR_OK);
    CHECK(plog_create(p, (struct plog_id){{1}, 1}, &two) == ERR_OK);
    CHECK(plog_create(p, (struct plog_id){{2}, 0}, &gone) == ERR_OK);
    append(p, one, 24);
    append(p, gone, 1);
    snapshot(one);
    append(p, one, 4);
    snapshot(one);
    append(p, two, 10);
    plog_checkpoint_ask(p);
    plog_checkpoint_if_due(p);
    clean(one);
    /* Only the journal knows of what follows. */
    append(p, one, 2);
    append(p, two, 2);
    CHECK(plog_remove(p, gone) == ERR_OK);
    CHECK(plog_create(p, (struct plog_id){{2}, 1}, &late) == ERR_OK);
    append(p, late, 2);
}

static void keep(void *arg, const char *path, uint64_t bytes)
{
    struct store_base *base = arg;
    (void)bytes;
    CHECK(base->n < BASE_FILES_MAX);
    base->files[base->n++].path = mem_copy_text(path);
}

const struct store_base *store_base(void)
{
    static struct store_base base;
    struct plog_options options;
    struct plog *p;
    if (base.n > 0)
        return &base;
    struct fault_disk *disk = fault_disk_new(1);
    store_base_options(&options, fault_disk_of(disk));
    CHECK(plog_open(&options, &p) == ERR_OK);
    fill(p);
    plog_abandon(p);
    fault_disk_each(disk, keep, &base);
    for (size_t i = 0; i < base.n; i++)
        buf_put_bytes(&base.files[i].bytes, fault_disk_bytes(disk, base.files[i].path));
    fault_disk_free(disk);
    return &base;
}

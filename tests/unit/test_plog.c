// SPDX-License-Identifier: Apache-2.0
/* The store of logs, sentence by sentence; random histories are in test_plog_history.c. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "lib/plog_model.h"
#include "lib/runner.h"
#include "plog/batch.h"
#include "unit/test_plog_marks.h"

static struct fault_disk *disk;
static struct plog_options options;
static struct plog *store;
static int told;

static void quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

static struct plog_stamp stamp(void *self)
{
    (void)self;
    return (struct plog_stamp){.boot_id = {{9}}, .boot_ms = 1, .wall_ms = 2, .partition_ms = 3};
}

static void on_durable(void *self, void *owner)
{
    (void)self;
    ck_assert_ptr_eq(owner, &told);
    told++;
}

static void setup(void)
{
    quiet();
    disk = fault_disk_new(test_seed());
    plog_options_default(&options);
    options.disk = fault_disk_of(disk);
    options.segment_bytes = 16384;
    options.cache_bytes = 4096;
    options.journal_first_bytes = 65536;
    options.journal_bytes = 131072;
    options.stamp = stamp;
    options.on_durable = on_durable;
    told = 0;
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
}

static void teardown(void)
{
    if (store != NULL)
        plog_abandon(store);
    store = NULL;
    fault_disk_free(disk);
}

static struct plog_log *create(uint32_t partition)
{
    struct plog_log *l;
    ck_assert_int_eq(plog_create(store, (struct plog_id){{1}, partition}, &l), ERR_OK);
    plog_log_own(l, &told);
    return l;
}

/* One message that says its number, padded with zeros to n bytes. */
static void append(struct plog_log *l, size_t n, bool waited)
{
    char *payload = mem_new(n + 8);
    le_store_u64(payload, plog_end_number(l));
    struct plog_batch *b = plog_batch_new(n);
    plog_batch_put(b, 1, (struct bytes){payload, n + 8});
    plog_append(l, b, 1, 1, waited);
    mem_free(payload);
}

static void fill(struct plog_log *l, unsigned messages)
{
    for (unsigned i = 0; i < messages; i++) {
        append(l, 1000, true);
        plog_commit(store, false);
        plog_checkpoint_if_due(store);
    }
}

static void found(void *arg, struct plog_log *l)
{
    *(struct plog_log **)arg = l;
}

/* The only log after opening again; NULL when there is none. */
static struct plog_log *reopen(bool cleanly)
{
    struct plog_log *l = NULL;
    if (cleanly)
        plog_close(store);
    else
        plog_abandon(store);
    store = NULL;
    if (!cleanly)
        fault_disk_power_cut(disk);
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, found, &l);
    return l;
}

static enum err read_number(struct plog_log *l, uint64_t number)
{
    struct plog_cursor c;
    struct plog_entry e;
    enum err err = plog_cursor_at_number(l, number, 1, &c);
    if (err != ERR_OK)
        return err;
    err = plog_cursor_next(&c, &e);
    if (err == ERR_OK) {
        ck_assert_uint_eq(e.number, number);
        ck_assert_uint_eq(le_load_u64(e.payload.at), number);
    }
    plog_cursor_close(&c);
    return err;
}

START_TEST(offsets_count_records_and_numbers_count_messages)
{
    struct plog_log *l = create(0);
    struct plog_batch *b = plog_batch_new(0);
    plog_batch_put(b, 2, BYTES_OF("control"));
    plog_batch_put(b, 1, BYTES_OF("first"));
    plog_batch_put(b, 3, BYTES_OF("control"));
    plog_batch_put(b, 1, BYTES_OF(""));
    struct plog_place place = plog_append(l, b, 5, 1, true);
    ck_assert_uint_eq(place.offset, 0);
    ck_assert_uint_eq(place.number, 0);
    ck_assert_uint_eq(plog_end(l), 4);
    ck_assert_uint_eq(plog_end_number(l), 2);
    plog_commit(store, false);
    struct plog_cursor c;
    struct plog_entry e;
    ck_assert_int_eq(plog_cursor_at_number(l, 1, 100, &c), ERR_OK);
    ck_assert_uint_eq(c.offset, 3);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(e.epoch, 5);
    ck_assert_uint_eq(e.payload.n, 0);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_NOT_FOUND);
    append(l, 10, true);
    plog_commit(store, false);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(e.number, 2);
    plog_cursor_close(&c);
}
END_TEST

START_TEST(a_record_written_in_place_is_as_if_it_was_copied)
{
    static const size_t lengths[] = {0, 126, 127, 16382, 16383, 20000}; /* and hints */
    static const char payload[20000] = "what is moved keeps its order";
    for (size_t k = 0; k < 36; k++) {
        struct plog_batch *copied = plog_batch_new(0), *placed = plog_batch_new(0);
        plog_batch_put(copied, 1, (struct bytes){payload, lengths[k / 6]});
        buf_put(plog_batch_begin(placed, 1, lengths[k % 6]), payload, lengths[k / 6]);
        plog_batch_end(placed);
        ck_assert(bytes_equal(buf_bytes(&placed->bytes), buf_bytes(&copied->bytes)));
        plog_batch_free(copied);
        plog_batch_free(placed);
    }
}
END_TEST

START_TEST(nothing_is_readable_before_its_round)
{
    struct plog_log *l = create(0);
    append(l, 10, true);
    ck_assert_uint_eq(plog_durable(l), 0);
    ck_assert_int_eq(read_number(l, 0), ERR_NOT_FOUND);
    ck_assert(plog_work_waits(store));
    plog_commit(store, false);
    ck_assert(!plog_work_waits(store));
    ck_assert_uint_eq(plog_durable(l), 1);
    ck_assert_uint_eq(plog_durable_number(l), 1);
    ck_assert_int_eq(read_number(l, 0), ERR_OK);
    ck_assert_int_eq(told, 1);
}
END_TEST

START_TEST(what_nobody_waits_for_is_written_when_asked_for_all)
{
    struct plog_log *l = create(0);
    append(l, 10, false);
    plog_commit(store, false);
    ck_assert_uint_eq(plog_durable(l), 0);
    ck_assert(plog_work_unwritten(store));
    plog_commit(store, true);
    ck_assert_uint_eq(plog_durable(l), 1);
    ck_assert(!plog_work_unwritten(store));
}
END_TEST

START_TEST(a_log_outlives_power_cut_and_clean_stop)
{
    struct plog_log *l = create(0);
    fill(l, 50);
    l = reopen(false);
    ck_assert_uint_eq(plog_end(l), 50);
    fill(l, 50);
    l = reopen(true);
    ck_assert_uint_eq(plog_end(l), 100);
    for (uint64_t i = 0; i < 100; i++)
        ck_assert_int_eq(read_number(l, i), ERR_OK);
    ck_assert_int_eq(read_number(l, 100), ERR_NOT_FOUND);
    struct plog_stamp s = plog_last_stamp(store);
    ck_assert_int_eq(s.partition_ms, 3);
    ck_assert_int_eq(s.boot_id.at[0], 9);
}
END_TEST

START_TEST(the_same_log_is_not_made_twice_and_a_removed_one_stays_away)
{
    struct plog_log *l = create(7), *other;
    ck_assert_int_eq(plog_create(store, plog_log_id(l), &other), ERR_EXISTS);
    fill(l, 3);
    append(l, 10, true);
    ck_assert_int_eq(plog_remove(store, l), ERR_OK);
    ck_assert(!plog_work_waits(store));
    ck_assert_ptr_null(reopen(false));
    l = create(7);
    ck_assert_uint_eq(plog_end(l), 0);
}
END_TEST

START_TEST(a_batch_larger_than_journal_and_segment_is_stored)
{
    struct plog_log *l = create(0);
    append(l, 300000, true);
    append(l, 5, true);
    plog_commit(store, false);
    l = reopen(false);
    ck_assert_int_eq(read_number(l, 0), ERR_OK);
    ck_assert_int_eq(read_number(l, 1), ERR_OK);
    ck_assert_uint_eq(plog_log_size(l).segments, 2);
}
END_TEST

START_TEST(too_many_waiting_bytes_are_refused_until_a_round)
{
    struct plog_log *l = create(0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(plog_may_append(store, 10 << 20), ERR_OK);
        append(l, 10 << 20, true);
    }
    ck_assert_int_eq(plog_may_append(store, 10 << 20), ERR_BUSY);
    plog_commit(store, false);
    ck_assert_int_eq(plog_may_append(store, 10 << 20), ERR_OK);
    ck_assert_uint_eq(plog_durable(l), 3);
}
END_TEST

/* Also when first numbers have to be asked of the files, as after a start. */
START_TEST(segments_tell_which_messages_they_hold)
{
    struct plog_segment s[16];
    size_t n, two;
    struct plog_log *l = create(0);
    for (int i = 0; i < 20; i++) {
        append(l, 5000, true);
        plog_commit(store, false);
    }
    if (_i == 1)
        l = reopen(true);
    ck_assert_int_eq(plog_segments(l, 0, s, 16, &n), ERR_OK);
    ck_assert_uint_eq(n, plog_log_size(l).segments);
    ck_assert_uint_gt(n, 4);
    uint64_t number = 0, bytes = 0;
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(s[i].first_number, number);
        ck_assert_uint_gt(s[i].end_number, number);
        ck_assert(s[i].sealed == (i + 1 < n));
        number = s[i].end_number;
        bytes += s[i].bytes;
    }
    ck_assert_uint_eq(number, 20);
    ck_assert_uint_eq(bytes, plog_log_size(l).bytes);
    struct plog_segment some[2];
    ck_assert_int_eq(plog_segments(l, s[0].base_offset + 1, some, 2, &two), ERR_OK);
    ck_assert_uint_eq(two, 2);
    ck_assert_mem_eq(some, s + 1, sizeof some);
    ck_assert_int_eq(plog_segments(l, s[n - 1].base_offset + 1, some, 2, &two), ERR_OK);
    ck_assert_uint_eq(two, 0);
}
END_TEST

START_TEST(release_deletes_whole_old_segments_only)
{
    struct plog_log *l = create(0);
    fill(l, 100);
    l = reopen(true);
    uint64_t before = plog_log_size(l).segments;
    ck_assert_int_eq(plog_release(l, 50, 40), ERR_OK);
    uint64_t start = plog_start_offset(l);
    ck_assert_uint_gt(start, 20);
    ck_assert_uint_le(start, 40);
    ck_assert_uint_lt(plog_log_size(l).segments, before);
    ck_assert_int_eq(read_number(l, start - 1), ERR_GONE);
    ck_assert_int_eq(read_number(l, start), ERR_OK);
    ck_assert_int_eq(plog_release(l, 100, 100), ERR_OK);
    ck_assert_uint_eq(plog_log_size(l).segments, 1);
    start = plog_start_offset(l);
    l = reopen(false);
    ck_assert_uint_eq(plog_start_offset(l), start);
    ck_assert_uint_eq(plog_start_number(l), start);
    ck_assert_int_eq(read_number(l, 99), ERR_OK);
}
END_TEST

START_TEST(two_snapshots_are_kept_and_the_newest_good_one_is_read)
{
    struct plog_log *l = create(0);
    struct buf b = BUF_EMPTY;
    uint64_t offset = 0;
    fill(l, 10);
    ck_assert_int_eq(plog_snapshot_read(l, &b, &offset), ERR_NOT_FOUND);
    ck_assert_int_eq(plog_snapshot_write(l, 11, BYTES_OF("x")), ERR_INVALID);
    ck_assert_int_eq(plog_snapshot_write(l, 3, BYTES_OF("three")), ERR_OK);
    ck_assert_int_eq(plog_snapshot_write(l, 5, BYTES_OF("five")), ERR_OK);
    ck_assert_int_eq(plog_snapshot_write(l, 8, BYTES_OF("eight")), ERR_OK);
    l = reopen(false);
    ck_assert_uint_eq(plog_snapshot_newest(l), 8);
    ck_assert_uint_eq(plog_snapshot_older(l), 5);
    ck_assert_int_eq(plog_snapshot_read(l, &b, &offset), ERR_OK);
    ck_assert_uint_eq(offset, 8);
    ck_assert(bytes_equal(buf_bytes(&b), BYTES_OF("eight")));
    const char *newest = "t/01000000000000000000000000000000/0/00000000000000000008.snap";
    fault_disk_flip(disk, newest, 57, 0);
    buf_clear(&b);
    ck_assert_int_eq(plog_snapshot_read(l, &b, &offset), ERR_OK);
    ck_assert_uint_eq(offset, 5);
    fault_disk_flip(disk, "t/01000000000000000000000000000000/0/00000000000000000005.snap", 20, 3);
    ck_assert_int_eq(plog_snapshot_read(l, &b, &offset), ERR_CORRUPT);
    buf_fini(&b);
}
END_TEST

START_TEST(a_snapshot_between_the_two_takes_the_place_of_the_older)
{
    struct plog_log *l = create(0);
    struct buf b = BUF_EMPTY;
    uint64_t offset = 0;
    fill(l, 10);
    ck_assert_int_eq(plog_snapshot_write(l, 8, BYTES_OF("eight")), ERR_OK);
    ck_assert_int_eq(plog_snapshot_write(l, 3, BYTES_OF("three")), ERR_OK);
    ck_assert_int_eq(plog_snapshot_write(l, 2, BYTES_OF("two")), ERR_INVALID);
    ck_assert_int_eq(plog_snapshot_write(l, 6, BYTES_OF("six")), ERR_OK);
    for (int life = 0; life < 2; life++) {
        ck_assert_uint_eq(plog_snapshot_newest(l), 8);
        ck_assert_uint_eq(plog_snapshot_older(l), 6);
        buf_clear(&b);
        ck_assert_int_eq(plog_snapshot_read_below(l, 8, &b, &offset), ERR_OK);
        ck_assert_uint_eq(offset, 6);
        ck_assert(bytes_equal(buf_bytes(&b), BYTES_OF("six")));
        ck_assert_int_eq(plog_snapshot_read_below(l, 6, &b, &offset), ERR_NOT_FOUND);
        l = reopen(false);
    }
    ck_assert_ptr_null(
        fault_disk_bytes(disk, "t/01000000000000000000000000000000/0/00000000000000000003.snap")
            .at);
    buf_fini(&b);
}
END_TEST

START_TEST(a_directory_in_use_is_refused)
{
    struct plog *second;
    ck_assert_int_eq(plog_open(&options, &second), ERR_IN_USE);
    reopen(true);
}
END_TEST

START_TEST(a_failed_sync_is_final_and_everybody_waiting_is_told)
{
    struct plog_log *l = create(0), *other = create(1);
    fill(l, 2);
    told = 0;
    append(l, 10, true);
    append(other, 10, true);
    fault_disk_fail_in(disk, 1, ERR_IO, false);
    for (unsigned i = 0; i < 4 && !plog_failed(store); i++)
        plog_commit(store, true);
    ck_assert(plog_failed(store));
    ck_assert_int_eq(told, 2);
    ck_assert_uint_eq(plog_durable(l), 2);
    ck_assert_int_eq(plog_may_append(store, 1), ERR_FAILED);
    append(l, 10, true);
    plog_commit(store, false);
    ck_assert_int_eq(told, 3);
    ck_assert_uint_eq(plog_durable(l), 2);
    ck_assert(!plog_work_waits(store));
}
END_TEST

/* Runs the same few steps with a fault at operation 0, 1, 2 ..., until none is hit. */
START_TEST(whichever_operation_fails_what_was_durable_stays)
{
    teardown();
    for (uint64_t n = 0, hit = 1; hit; n++) {
        struct model m;
        model_init(&m, test_seed());
        fault_disk_fail_in(m.disk, n, n % 2 == 0 ? ERR_IO : ERR_NO_SPACE, false);
        if (model_open(&m) == ERR_OK) {
            for (unsigned i = 0; i < 60 && !plog_failed(m.plog); i++) {
                struct model_log *l = &m.logs[i % 2];
                if (l->log == NULL)
                    model_create(&m, l);
                if (l->log != NULL)
                    model_append(&m, l, 2, 2000);
                model_commit(&m);
                plog_checkpoint_if_due(m.plog);
            }
            model_abandon(&m);
        }
        hit = fault_disk_has_failed(m.disk);
        fault_disk_power_cut(m.disk);
        ck_assert_int_eq(model_open(&m), ERR_OK);
        model_fini(&m);
    }
    setup();
}
END_TEST

struct paths {
    char *at[64];
    uint64_t bytes[64];
    unsigned n;
};

static void put_path(void *arg, const char *path, uint64_t bytes)
{
    struct paths *p = arg;
    if (bytes > 0 && p->n < 64) {
        p->at[p->n] = mem_copy_text(path);
        p->bytes[p->n++] = bytes;
    }
}

/* Opens, reads all there is, and takes a wrong record for a failure; an error is an answer. */
static void read_all_or_refuse(uint64_t messages, bool last_may_be_lost)
{
    struct plog_log *l = NULL;
    const char *where = NULL;
    if (plog_open(&options, &store) != ERR_OK) {
        store = NULL;
        return;
    }
    plog_each(store, found, &l);
    ck_assert_ptr_nonnull(l);
    if (plog_log_damaged(l, &where)) {
        ck_assert_ptr_nonnull(strstr(where, ".log at byte"));
    } else {
        uint64_t n = plog_durable_number(l);
        ck_assert(n == messages || (last_may_be_lost && n == messages - 1));
        for (uint64_t i = 0; i < n; i++) {
            enum err e = read_number(l, i);
            ck_assert(e == ERR_OK || e == ERR_CORRUPT);
        }
    }
    plog_abandon(store);
    store = NULL;
}

START_TEST(a_flipped_bit_anywhere_never_gives_a_wrong_record)
{
    struct rng rng = {.state = test_seed()};
    struct plog_log *l = create(0);
    struct paths paths = {.n = 0};
    fill(l, 60);
    l = reopen(true);
    fill(l, 5);
    ck_assert_int_eq(plog_snapshot_write(l, 65, BYTES_OF("state")), ERR_OK);
    plog_abandon(store);
    store = NULL;
    fault_disk_kill(disk);
    fault_disk_each(disk, put_path, &paths);
    ck_assert_uint_ge(paths.n, 12);
    for (unsigned i = 0; i < paths.n; i++) {
        struct buf before[64] = {{0}};
        for (unsigned k = 0; k < paths.n; k++)
            buf_put_bytes(&before[k], fault_disk_bytes(disk, paths.at[k]));
        for (unsigned k = 0; k < 12; k++) {
            /* Headers are where most can go wrong. */
            uint64_t limit = k % 2 == 0 && paths.bytes[i] > 64 ? 64 : paths.bytes[i];
            fault_disk_flip(disk, paths.at[i], rng_below(&rng, limit), rng_below(&rng, 8));
            /* The last round, damaged, cannot be told from one that a crash cut short. */
            read_all_or_refuse(65, strncmp(paths.at[i], "journal/", 8) == 0);
            for (unsigned f = 0; f < paths.n; f++)
                fault_disk_plant(disk, paths.at[f], buf_bytes(&before[f]));
        }
        for (unsigned k = 0; k < paths.n; k++)
            buf_fini(&before[k]);
    }
    read_all_or_refuse(65, false);
    for (unsigned i = 0; i < paths.n; i++)
        mem_free(paths.at[i]);
}
END_TEST

static void expect_open(enum err want)
{
    struct plog *p;
    enum err e = plog_open(&options, &p);
    ck_assert_int_eq(e, want);
}

START_TEST(damage_in_store_marks_or_journal_stops_the_start_and_writes_nothing)
{
    static const char *const files[] = {"store.json", "marks", "journal/00000001.wal"};
    fill(create(0), 5);
    plog_abandon(store);
    store = NULL;
    for (unsigned i = 0; i < 3; i++) {
        fault_disk_flip(disk, files[i], 9, 1);
        uint64_t before = fault_disk_operations(disk);
        expect_open(ERR_CORRUPT);
        /* Opening for writing counts as an operation: the lock, and the journal's files. */
        ck_assert_uint_le(fault_disk_operations(disk) - before, 3);
        fault_disk_flip(disk, files[i], 9, 1);
    }
    /* A round in the middle: later ones follow, so it is no torn end. The last one would be. */
    fault_disk_flip(disk, files[2], 4096 + 4096 + 100, 0);
    expect_open(ERR_CORRUPT);
    fault_disk_flip(disk, files[2], 4096 + 4096 + 100, 0);
    fault_disk_delete(disk, "store.json");
    expect_open(ERR_CORRUPT);
}
END_TEST

START_TEST(damage_in_one_log_leaves_the_others_served)
{
    struct plog_log *l = create(0), *other = create(1);
    const char *where;
    fill(l, 5);
    fill(other, 5);
    reopen(true);
    plog_close(store);
    fault_disk_delete(disk, "t/01000000000000000000000000000000/0/00000000000000000000.log");
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, found, &l);
    ck_assert_uint_eq(plog_log_id(l).partition, 1);
    ck_assert(!plog_log_damaged(l, &where));
    ck_assert_int_eq(read_number(l, 4), ERR_OK);
    reopen(true);
    plog_each(store, found, &l);
    ck_assert_int_eq(read_number(l, 4), ERR_OK);
}
END_TEST

START_TEST(what_a_damaged_log_cannot_take_is_kept_beside_it)
{
    const char *segment = "t/01000000000000000000000000000000/0/00000000000000000000.log";
    const char *salvage = "t/01000000000000000000000000000000/0/salvage";
    const char *where = NULL;
    struct plog_log *l = create(0);
    append(l, 1000, true);
    plog_commit(store, false);
    l = reopen(true);
    for (unsigned i = 0; i < 2; i++) {
        append(l, 100, true);
        plog_commit(store, false);
    }
    plog_abandon(store);
    fault_disk_kill(disk);
    char half[500];
    struct buf whole = BUF_EMPTY;
    buf_put_bytes(&whole, fault_disk_bytes(disk, segment));
    memcpy(half, whole.at, sizeof half);
    fault_disk_plant(disk, segment, (struct bytes){half, sizeof half});
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, found, &l);
    ck_assert(plog_log_damaged(l, &where));
    ck_assert_ptr_nonnull(strstr(where, "00000000000000000000.log at byte 500"));
    size_t kept = fault_disk_bytes(disk, salvage).n;
    ck_assert_uint_ge(kept, 2 * 172);
    l = reopen(true);
    ck_assert(plog_log_damaged(l, &where));
    ck_assert_uint_eq(fault_disk_bytes(disk, salvage).n, kept);
    /* Sound segments alone do not make it whole. */
    plog_abandon(store);
    fault_disk_kill(disk);
    fault_disk_plant(disk, segment, buf_bytes(&whole));
    buf_fini(&whole);
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, found, &l);
    ck_assert(plog_log_damaged(l, &where));
    ck_assert_ptr_nonnull(strstr(where, "the file salvage"));
    ck_assert_int_eq(plog_remove(store, l), ERR_OK);
    ck_assert_ptr_null(fault_disk_bytes(disk, salvage).at);
}
END_TEST

/* Puts version 2 into a structure with magic at 0 and its CRC at 4, as a newer broker would. */
static void make_newer(const char *path, size_t n, uint32_t seed)
{
    struct buf b = BUF_EMPTY;
    buf_put_bytes(&b, fault_disk_bytes(disk, path));
    if (n == 0)
        n = b.n;
    b.at[3] = 2;
    le_store_u32(b.at + 4, crc32c(crc32c(seed, b.at, 4), b.at + 8, n - 8));
    fault_disk_plant(disk, path, buf_bytes(&b));
    buf_fini(&b);
}

START_TEST(a_newer_version_is_refused_by_name)
{
    struct plog_log *l = create(0);
    const char *segment = "t/01000000000000000000000000000000/0/00000000000000000000.log";
    struct buf b = BUF_EMPTY;
    uint64_t offset;
    append(l, 10, true);
    plog_commit(store, false);
    ck_assert_int_eq(plog_snapshot_write(l, 1, BYTES_OF("state")), ERR_OK);
    make_newer("t/01000000000000000000000000000000/0/00000000000000000001.snap", 0, 0);
    ck_assert_int_eq(plog_snapshot_read(l, &b, &offset), ERR_NEWER_FORMAT);
    plog_close(store);
    store = NULL;
    buf_put_bytes(&b, fault_disk_bytes(disk, "marks"));
    make_newer("marks", 0, 0);
    expect_open(ERR_NEWER_FORMAT);
    fault_disk_plant(disk, "marks", buf_bytes(&b));
    buf_clear(&b);
    buf_put_bytes(&b, fault_disk_bytes(disk, "journal/00000001.wal"));
    make_newer("journal/00000001.wal", 64, 0);
    expect_open(ERR_NEWER_FORMAT);
    fault_disk_plant(disk, "journal/00000001.wal", buf_bytes(&b));
    buf_clear(&b);
    make_newer(segment, 0, 0);
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, found, &l);
    ck_assert_int_eq(read_number(l, 0), ERR_NEWER_FORMAT);
    plog_close(store);
    store = NULL;
    buf_put_text(&b, "{\"leaselog\":2,\"more\":true");
    uint32_t crc = crc32c(0, b.at, b.n);
    buf_put_format(&b, ",\"crc32c\":\"%08x\"}\n", crc);
    fault_disk_plant(disk, "store.json", buf_bytes(&b));
    expect_open(ERR_NEWER_FORMAT);
    buf_fini(&b);
}
END_TEST

START_TEST(a_bad_index_is_made_again)
{
    struct plog_log *l = create(0);
    const char *index = "t/01000000000000000000000000000000/0/00000000000000000000.index";
    fill(l, 60);
    l = reopen(true);
    uint64_t bytes = fault_disk_bytes(disk, index).n;
    ck_assert_uint_gt(bytes, 48);
    fault_disk_plant(disk, index, BYTES_OF("nothing that helps"));
    ck_assert_int_eq(read_number(l, 9), ERR_OK);
    ck_assert_uint_eq(fault_disk_bytes(disk, index).n, bytes);
    ck_assert_int_eq(read_number(l, 9), ERR_OK);
}
END_TEST

START_TEST(a_full_disk_fails_the_store_and_a_start_with_room_finds_all)
{
    struct plog_log *l = create(0);
    fill(l, 20);
    fault_disk_capacity(disk, 100000);
    for (unsigned i = 0; i < 200 && !plog_failed(store); i++) {
        append(l, 1000, true);
        plog_commit(store, false);
    }
    ck_assert(plog_failed(store));
    uint64_t durable = plog_durable(l);
    ck_assert_uint_ge(durable, 20);
    fault_disk_capacity(disk, UINT64_MAX / 2);
    l = reopen(false);
    ck_assert_uint_ge(plog_durable(l), durable);
    ck_assert_int_eq(read_number(l, durable - 1), ERR_OK);
}
END_TEST

static void *read_along(void *arg)
{
    struct plog_log *l = arg;
    struct plog_cursor c = {0};
    struct plog_entry e;
    for (uint64_t next = 0; next < 400;) {
        if (c.log == NULL && plog_cursor_at_offset(l, next, 3000, &c) != ERR_OK)
            continue;
        enum err err = plog_cursor_next(&c, &e);
        if (err == ERR_NOT_FOUND)
            continue;
        CHECK(err == ERR_OK && e.offset == next && le_load_u64(e.payload.at) == next);
        next++;
        if (next % 50 == 0) {
            plog_cursor_close(&c);
            c.log = NULL;
        }
    }
    if (c.log != NULL)
        plog_cursor_close(&c);
    return NULL;
}

static void *append_along(void *arg)
{
    for (unsigned i = 0; i < 400; i++) {
        append(arg, 200, true);
        plog_commit(store, false);
    }
    return NULL;
}

START_TEST(readers_and_committers_of_two_logs_run_side_by_side)
{
    pthread_t threads[4];
    struct plog_log *l = create(0), *other = create(1);
    pthread_create(&threads[0], NULL, read_along, l);
    pthread_create(&threads[1], NULL, read_along, other);
    pthread_create(&threads[2], NULL, append_along, other);
    pthread_create(&threads[3], NULL, append_along, l);
    for (unsigned i = 0; i < 50; i++)
        plog_checkpoint_if_due(store);
    for (unsigned i = 2; i < 4; i++)
        pthread_join(threads[i], NULL);
    plog_commit(store, true);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(plog_durable(l), 400);
    ck_assert_uint_eq(plog_durable(other), 400);
}
END_TEST

START_TEST(logs_come_and_go_while_another_commits)
{
    pthread_t threads[2];
    struct plog_log *l = create(0);
    pthread_create(&threads[0], NULL, append_along, l);
    pthread_create(&threads[1], NULL, read_along, l);
    for (uint32_t i = 1; i < 40; i++) {
        struct plog_log *other = create(i);
        append(other, 5000, true);
        plog_commit(store, false);
        plog_checkpoint_if_due(store);
        /* Nothing may be released yet: the reader begins at 0. */
        ck_assert_int_eq(plog_release(l, 0, 0), ERR_OK);
        ck_assert_int_eq(plog_remove(store, other), ERR_OK);
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    plog_commit(store, true);
    ck_assert_uint_eq(plog_durable(l), 400);
    l = reopen(false);
    ck_assert_uint_eq(plog_log_id(l).partition, 0);
    ck_assert_uint_eq(plog_durable(l), 400);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog");
    TCase *t = tcase_create("store");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, offsets_count_records_and_numbers_count_messages);
    tcase_add_test(t, a_record_written_in_place_is_as_if_it_was_copied);
    tcase_add_test(t, nothing_is_readable_before_its_round);
    tcase_add_test(t, what_nobody_waits_for_is_written_when_asked_for_all);
    tcase_add_test(t, a_log_outlives_power_cut_and_clean_stop);
    tcase_add_test(t, the_same_log_is_not_made_twice_and_a_removed_one_stays_away);
    tcase_add_test(t, a_batch_larger_than_journal_and_segment_is_stored);
    tcase_add_test(t, too_many_waiting_bytes_are_refused_until_a_round);
    tcase_add_loop_test(t, segments_tell_which_messages_they_hold, 0, 2);
    tcase_add_test(t, release_deletes_whole_old_segments_only);
    tcase_add_test(t, two_snapshots_are_kept_and_the_newest_good_one_is_read);
    tcase_add_test(t, a_snapshot_between_the_two_takes_the_place_of_the_older);
    tcase_add_test(t, a_directory_in_use_is_refused);
    tcase_add_test(t, a_failed_sync_is_final_and_everybody_waiting_is_told);
    tcase_add_test(t, whichever_operation_fails_what_was_durable_stays);
    tcase_add_test(t, a_flipped_bit_anywhere_never_gives_a_wrong_record);
    tcase_add_test(t, damage_in_store_marks_or_journal_stops_the_start_and_writes_nothing);
    tcase_add_test(t, damage_in_one_log_leaves_the_others_served);
    tcase_add_test(t, what_a_damaged_log_cannot_take_is_kept_beside_it);
    tcase_add_test(t, a_newer_version_is_refused_by_name);
    tcase_add_test(t, a_bad_index_is_made_again);
    tcase_add_test(t, a_full_disk_fails_the_store_and_a_start_with_room_finds_all);
    tcase_add_test(t, readers_and_committers_of_two_logs_run_side_by_side);
    tcase_add_test(t, logs_come_and_go_while_another_commits);
    suite_add_tcase(s, t);
    suite_add_tcase(s, tcase_marks());
    return s;
}

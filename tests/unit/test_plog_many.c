// SPDX-License-Identifier: Apache-2.0
/* Many logs in one store: how many files are open, and what is paid once for all of them. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/mem.h"
#include "lib/fault_disk.h"
#include "lib/runner.h"
#include "plog/plog.h"

enum { LOGS = 50, FILES_MAX = 8, OTHER_FILES_MAX = 8 };

/* Counts what passes through on its way to the fault disk. */
static struct {
    const struct disk *under;
    struct disk disk;
    int open, open_most;
    unsigned syncs, syncs_of_all;
} counting;

static struct fault_disk *fault;
static struct plog_options options;
static struct plog *store;
static struct plog_log *logs[LOGS];
static unsigned written[LOGS]; /* messages of each log */
static unsigned asked;         /* to write */

static void on_full(void *self)
{
    (void)self;
    asked++;
}

static enum err counted_open(void *self, const char *path, enum disk_open_how how, int *file)
{
    (void)self;
    enum err e = counting.under->open(counting.under->self, path, how, file);
    counting.open += e == ERR_OK;
    if (counting.open > counting.open_most)
        counting.open_most = counting.open;
    return e;
}

static void counted_close(void *self, int file)
{
    (void)self;
    counting.open--;
    counting.under->close(counting.under->self, file);
}

static enum err counted_sync(void *self, int file)
{
    (void)self;
    counting.syncs++;
    return counting.under->sync(counting.under->self, file);
}

static enum err counted_sync_all(void *self)
{
    (void)self;
    counting.syncs_of_all++;
    return counting.under->sync_all(counting.under->self);
}

static void open_store(void)
{
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
}

static void setup(void)
{
    fault = fault_disk_new(test_seed());
    counting.under = fault_disk_of(fault);
    counting.disk = *counting.under; /* the other functions are called as they are, with its self */
    counting.disk.open = counted_open;
    counting.disk.close = counted_close;
    counting.disk.sync = counted_sync;
    counting.disk.sync_all = counted_sync_all;
    plog_options_default(&options);
    options.disk = &counting.disk;
    options.write_files_max = FILES_MAX;
    open_store();
    for (uint32_t i = 0; i < LOGS; i++) {
        written[i] = 0;
        ck_assert_int_eq(plog_create(store, (struct plog_id){{1}, i}, &logs[i]), ERR_OK);
    }
}

static void teardown(void)
{
    if (store != NULL)
        plog_abandon(store);
    store = NULL;
    fault_disk_free(fault);
}

/* One message of 600 bytes that says its log and number to each log, in one round. */
static void round_to_all(void)
{
    for (unsigned i = 0; i < LOGS; i++) {
        char payload[600] = {0};
        le_store_u64(payload, i);
        le_store_u64(payload + 8, written[i]++);
        struct plog_batch *b = plog_batch_new(sizeof payload);
        plog_batch_put(b, 1, (struct bytes){payload, sizeof payload});
        plog_append(logs[i], b, 1, 1, true);
    }
    plog_commit(store, false);
}

static void check_log(unsigned i)
{
    struct plog_cursor c;
    struct plog_entry e;
    ck_assert_int_eq(plog_cursor_at_offset(logs[i], 0, 4096, &c), ERR_OK);
    for (unsigned k = 0; k < written[i]; k++) {
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_uint_eq(le_load_u64(e.payload.at), i);
        ck_assert_uint_eq(le_load_u64((const char *)e.payload.at + 8), k);
    }
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_NOT_FOUND);
    plog_cursor_close(&c);
}

static void check_all(void)
{
    for (unsigned i = 0; i < LOGS; i++)
        check_log(i);
}

static void found(void *arg, struct plog_log *l)
{
    struct plog_log **next = arg;
    next[plog_log_id(l).partition] = l;
}

static void die_and_open(void)
{
    plog_abandon(store);
    fault_disk_power_cut(fault);
    counting.open = 0;
    open_store();
    plog_each(store, found, logs);
}

static void no_cache(void)
{
    plog_close(store);
    options.cache_bytes = 4096; /* so that every round is written and evicted at once */
    open_store();
    plog_each(store, found, logs);
}

START_TEST(fifty_logs_are_written_and_read_with_eight_of_their_files_open)
{
    no_cache();
    for (int i = 0; i < 10; i++)
        round_to_all();
    check_all();
    plog_checkpoint_ask(store);
    plog_checkpoint_if_due(store);
    round_to_all();
    die_and_open();
    check_all();
    ck_assert_int_gt(counting.open_most, FILES_MAX);
    ck_assert_int_le(counting.open_most, FILES_MAX + OTHER_FILES_MAX);
    plog_close(store);
    store = NULL;
    ck_assert_int_eq(counting.open, 0);
}
END_TEST

START_TEST(a_round_of_many_logs_is_one_write_and_one_sync)
{
    round_to_all();
    uint64_t before = fault_disk_operations(fault);
    round_to_all();
    ck_assert_uint_eq(fault_disk_operations(fault) - before, 2);
}
END_TEST

START_TEST(what_is_in_no_segment_yet_is_read_counted_and_shown)
{
    struct plog_segment s[2];
    size_t n;
    round_to_all();
    round_to_all();
    check_all();
    ck_assert_uint_eq(plog_log_size(logs[7]).segments, 1);
    ck_assert_uint_gt(plog_log_size(logs[7]).bytes, 2 * 600);
    ck_assert_int_eq(plog_segments(logs[7], 0, s, 2, &n), ERR_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(s[0].end_number, 2);
    ck_assert_uint_eq(s[0].bytes, plog_log_size(logs[7]).bytes);
    uint64_t bytes = plog_log_size(logs[7]).bytes;
    plog_checkpoint_ask(store);
    plog_checkpoint_if_due(store);
    ck_assert_uint_eq(plog_log_size(logs[7]).bytes, bytes);
    ck_assert_int_eq(plog_segments(logs[7], 0, s, 2, &n), ERR_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(s[0].bytes, bytes);
}
END_TEST

static void open_with_cache(uint32_t cache_bytes)
{
    plog_close(store);
    options.cache_bytes = cache_bytes;
    options.on_full = on_full;
    asked = 0;
    open_store();
    plog_each(store, found, logs);
}

static size_t segment_bytes(void)
{
    const char *path = "t/01000000000000000000000000000000/7/00000000000000000000.log";
    return fault_disk_bytes(fault, path).n;
}

START_TEST(a_cache_that_is_half_full_asks_once_to_be_written)
{
    open_with_cache(256 << 10);
    while (asked == 0)
        round_to_all();
    ck_assert_uint_gt(written[7], 1);
    round_to_all();
    ck_assert_uint_eq(asked, 1);
    ck_assert_uint_eq(segment_bytes(), 0);
    plog_write_if_due(store);
    ck_assert_uint_gt(segment_bytes(), written[7] * 600);
    uint64_t before = fault_disk_operations(fault);
    plog_write_if_due(store);
    ck_assert_uint_eq(fault_disk_operations(fault), before);
    check_all();
    die_and_open();
    check_all();
}
END_TEST

START_TEST(a_full_cache_is_written_by_the_round_when_nobody_else_does)
{
    open_with_cache(256 << 10);
    for (int i = 0; i < 12; i++)
        round_to_all(); /* 360 KB in all */
    ck_assert_uint_gt(segment_bytes(), 0);
    check_all();
    die_and_open();
    check_all();
}
END_TEST

/* What a start writes again need not end where the old segment did: its size may be set anew. */
START_TEST(what_lies_behind_a_mark_is_cut)
{
    no_cache();
    round_to_all();
    plog_checkpoint_ask(store);
    plog_checkpoint_if_due(store);
    for (int i = 0; i < 10; i++)
        round_to_all();
    ck_assert_uint_gt(segment_bytes(), 10 * 600);
    plog_abandon(store);
    fault_disk_kill(fault);
    options.segment_bytes = 4096;
    open_store();
    ck_assert_uint_le(segment_bytes(), 4096);
    plog_close(store);
    open_store();
    plog_each(store, found, logs);
    check_all();
}
END_TEST

START_TEST(a_checkpoint_of_many_logs_syncs_them_and_their_indexes_at_once)
{
    for (int i = 0; i < 20; i++)
        round_to_all(); /* 12 KB a log: each has index entries to be saved */
    counting.syncs = counting.syncs_of_all = 0;
    plog_checkpoint_ask(store);
    plog_checkpoint_if_due(store);
    ck_assert_uint_eq(counting.syncs_of_all, 1);
    ck_assert_uint_le(counting.syncs, 8);
    die_and_open();
    check_all();
}
END_TEST

START_TEST(snapshots_of_many_logs_share_two_syncs_and_survive_a_power_cut)
{
    round_to_all();
    counting.syncs = counting.syncs_of_all = 0;
    struct plog_snapshots *all = plog_snapshots_begin(store);
    for (unsigned i = 0; i < LOGS; i++)
        ck_assert_int_eq(plog_snapshots_put(all, logs[i], 1, BYTES_OF("state")), ERR_OK);
    ck_assert_int_eq(plog_snapshots_put(all, logs[0], 2, BYTES_OF("x")), ERR_INVALID);
    ck_assert_uint_eq(plog_snapshot_newest(logs[0]), 0);
    ck_assert_int_eq(plog_snapshots_end(all), ERR_OK);
    ck_assert_uint_eq(counting.syncs_of_all, 2);
    ck_assert_uint_le(counting.syncs, options.sync_singly_max);
    die_and_open();
    for (unsigned i = 0; i < LOGS; i++) {
        struct buf b = BUF_EMPTY;
        uint64_t offset = 0;
        ck_assert_int_eq(plog_snapshot_read(logs[i], &b, &offset), ERR_OK);
        ck_assert_uint_eq(offset, 1);
        ck_assert(bytes_equal(buf_bytes(&b), BYTES_OF("state")));
        buf_fini(&b);
    }
}
END_TEST

/* The sync was of the whole file system, and what it could not write may be of a segment. */
START_TEST(snapshots_whose_common_sync_fails_do_not_count_and_that_is_final)
{
    round_to_all();
    struct plog_snapshots *all = plog_snapshots_begin(store);
    for (unsigned i = 0; i < LOGS; i++)
        ck_assert_int_eq(plog_snapshots_put(all, logs[i], 1, BYTES_OF("state")), ERR_OK);
    fault_disk_fail_in(fault, 0, ERR_IO, false);
    ck_assert_int_eq(plog_snapshots_end(all), ERR_IO);
    for (unsigned i = 0; i < LOGS; i++)
        ck_assert_uint_eq(plog_snapshot_newest(logs[i]), 0);
    ck_assert(plog_failed(store));
    die_and_open();
    check_all();
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog with many logs");
    TCase *t = tcase_create("many");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, fifty_logs_are_written_and_read_with_eight_of_their_files_open);
    tcase_add_test(t, a_round_of_many_logs_is_one_write_and_one_sync);
    tcase_add_test(t, what_is_in_no_segment_yet_is_read_counted_and_shown);
    tcase_add_test(t, a_cache_that_is_half_full_asks_once_to_be_written);
    tcase_add_test(t, a_full_cache_is_written_by_the_round_when_nobody_else_does);
    tcase_add_test(t, what_lies_behind_a_mark_is_cut);
    tcase_add_test(t, a_checkpoint_of_many_logs_syncs_them_and_their_indexes_at_once);
    tcase_add_test(t, snapshots_of_many_logs_share_two_syncs_and_survive_a_power_cut);
    tcase_add_test(t, snapshots_whose_common_sync_fails_do_not_count_and_that_is_final);
    suite_add_tcase(s, t);
    return s;
}

// SPDX-License-Identifier: Apache-2.0
/* Marks and batches that no broker writes, under good checksums: recovery believes every mark that
 * was decoded, and cuts and removes files by it; readers believe what a batch's header counts. */
#include "unit/test_plog_marks.h"

#include "lib/fault_disk.h"
#include "plog/batch.h"
#include "plog/format.h"
#include "plog/marks.h"

enum { FIRST_AT = 80, MARK_BYTES = 80 }; /* FORMAT.md, "Marks" */

static const struct mark first = {
    .id = {{1}, 0}, .incarnation = 1, .end = {9, 5, 4, 700}, .start_offset = 2, .start_number = 1};

/* The verdict over two marks, the first as above with 8 bytes changed. */
static enum err verdict(size_t at, uint64_t value, uint32_t second_partition)
{
    struct mark both[2] = {first, {.id = {{1}, second_partition}, .incarnation = 2}};
    struct fault_disk *disk = fault_disk_new(test_seed());
    struct marks m = {.next_incarnation = 3, .at = both, .n = 2}, read;
    struct buf b = BUF_EMPTY;
    ck_assert_int_eq(marks_write(fault_disk_of(disk), &m), ERR_OK);
    buf_put_bytes(&b, fault_disk_bytes(disk, "marks"));
    if (at > 0)
        le_store_u64(b.at + FIRST_AT + at, value);
    format_crc_store(b.at, b.n, 0);
    enum err e = marks_decode(buf_bytes(&b), &read);
    if (e == ERR_OK)
        marks_fini(&read);
    buf_fini(&b);
    fault_disk_free(disk);
    return e;
}

START_TEST(each_log_has_one_mark_and_they_are_in_order)
{
    ck_assert_int_eq(verdict(0, 0, 1), ERR_OK);
    ck_assert_int_eq(verdict(0, 0, 0), ERR_CORRUPT);
}
END_TEST

START_TEST(a_mark_without_a_segment_is_one_of_an_empty_log)
{
    ck_assert_int_eq(verdict(56, 0, 1), ERR_CORRUPT); /* position */
    ck_assert_int_eq(verdict(32, 0, 1), ERR_CORRUPT); /* end */
}
END_TEST

START_TEST(a_mark_begins_before_it_ends)
{
    ck_assert_int_eq(verdict(64, 9, 1), ERR_OK); /* start */
    ck_assert_int_eq(verdict(64, 10, 1), ERR_CORRUPT);
    ck_assert_int_eq(verdict(72, 6, 1), ERR_CORRUPT);  /* start number */
    ck_assert_int_eq(verdict(48, 10, 1), ERR_CORRUPT); /* last segment */
    ck_assert_int_eq(verdict(40, 10, 1), ERR_CORRUPT); /* end number, above the end */
    ck_assert_int_eq(verdict(32, UINT64_MAX, 1), ERR_CORRUPT);
}
END_TEST

static void found(void *arg, struct plog_log *l)
{
    *(struct plog_log **)arg = l;
}

START_TEST(a_batch_of_fewer_records_than_it_counts_is_corrupt)
{
    const char *segment = "t/01000000000000000000000000000000/0/00000000000000000000.log";
    struct fault_disk *disk = fault_disk_new(test_seed());
    struct plog_options options;
    struct plog *store;
    struct plog_log *l;
    struct plog_cursor c;
    struct plog_entry entry;
    struct buf b = BUF_EMPTY;
    plog_options_default(&options);
    options.disk = fault_disk_of(disk);
    options.journal_first_bytes = 65536;
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    ck_assert_int_eq(plog_create(store, first.id, &l), ERR_OK);
    struct plog_batch *batch = plog_batch_new(0);
    plog_batch_put(batch, 1, BYTES_OF("one"));
    plog_batch_put(batch, 1, BYTES_OF("two"));
    plog_append(l, batch, 1, 1, true);
    plog_commit(store, false);
    plog_close(store);
    buf_put_bytes(&b, fault_disk_bytes(disk, segment));
    le_store_u32(b.at + BATCH_AT_RECORDS, 3);
    format_crc_store(b.at, b.n, 0);
    fault_disk_plant(disk, segment, buf_bytes(&b));
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, found, &l);
    ck_assert_int_eq(plog_cursor_at_offset(l, 0, 100, &c), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&c, &entry), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&c, &entry), ERR_CORRUPT);
    plog_cursor_close(&c);
    plog_abandon(store);
    buf_fini(&b);
    fault_disk_free(disk);
}
END_TEST

TCase *tcase_marks(void)
{
    TCase *t = tcase_create("marks");
    tcase_add_test(t, each_log_has_one_mark_and_they_are_in_order);
    tcase_add_test(t, a_mark_without_a_segment_is_one_of_an_empty_log);
    tcase_add_test(t, a_mark_begins_before_it_ends);
    tcase_add_test(t, a_batch_of_fewer_records_than_it_counts_is_corrupt);
    return t;
}

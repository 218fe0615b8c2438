// SPDX-License-Identifier: Apache-2.0
/* Readings that go on from one cursor to the next (plog/kept.h), on a disk that counts. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lib/fault_disk.h"
#include "lib/runner.h"
#include "plog/inside.h"

enum { MESSAGE_BYTES = 1000, MESSAGES = 200, BATCH = 10, READ_AHEAD = 8192 };

static struct fault_disk *fault;
static struct disk disk; /* counts, and asks `fault` */
static const struct disk *real;
static struct plog *store;
static int opens, reads, open_now;

static enum err counted_open(void *self, const char *path, enum disk_open_how how, int *file)
{
    enum err e = real->open(self, path, how, file);
    opens++;
    open_now += e == ERR_OK;
    return e;
}

static void counted_close(void *self, int file)
{
    open_now--;
    real->close(self, file);
}

static enum err counted_read(void *self, int file, void *at, size_t n, uint64_t offset, size_t *got)
{
    reads++;
    return real->read(self, file, at, n, offset, got);
}

static void setup(void)
{
    struct plog_options options;
    fault = fault_disk_new(test_seed());
    real = fault_disk_of(fault);
    disk = *real;
    disk.open = counted_open;
    disk.close = counted_close;
    disk.read = counted_read;
    opens = reads = open_now = 0;
    plog_options_default(&options);
    options.disk = &disk;
    options.segment_bytes = 65536;
    options.cache_bytes = 4096;
    options.journal_first_bytes = 65536;
    options.journal_bytes = 131072;
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
}

static void teardown(void)
{
    if (store != NULL)
        plog_abandon(store);
    store = NULL;
    ck_assert_int_eq(open_now, 0); /* none is forgotten */
    fault_disk_free(fault);
}

/* Messages that say their number, and `mark`, `each` of them in a batch behind a control record;
 * all in segments but what the cache still holds. */
static void fill(struct plog_log *l, unsigned n, unsigned each, char mark)
{
    char *payload = mem_new(MESSAGE_BYTES);
    payload[8] = mark;
    for (unsigned i = 0; i < n; i += each) {
        struct plog_batch *b = plog_batch_new(each * MESSAGE_BYTES);
        plog_batch_put(b, 2, BYTES_OF("control"));
        for (unsigned k = 0; k < each; k++) {
            le_store_u64(payload, plog_end_number(l) + k);
            plog_batch_put(b, RECORD_TYPE_MESSAGE, (struct bytes){payload, MESSAGE_BYTES});
        }
        plog_append(l, b, 1, 1, true);
        plog_commit(store, false);
    }
    mem_free(payload);
    plog_checkpoint_ask(store);
    plog_checkpoint_if_due(store);
}

static struct plog_log *create(uint32_t partition)
{
    struct plog_log *l;
    ck_assert_int_eq(plog_create(store, (struct plog_id){{1}, partition}, &l), ERR_OK);
    return l;
}

/* By a cursor of its own. */
static void take(struct plog_log *l, uint64_t number, char mark)
{
    struct plog_cursor c;
    struct plog_entry e;
    ck_assert_int_eq(plog_cursor_at_number(l, number, READ_AHEAD, &c), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(e.number, number);
    ck_assert_uint_eq(le_load_u64(e.payload.at), number);
    ck_assert_int_eq(((const char *)e.payload.at)[8], mark);
    plog_cursor_close(&c);
}

START_TEST(messages_taken_one_by_one_are_read_as_by_one_cursor)
{
    struct plog_log *l = create(0);
    unsigned each = _i == 0 ? 1 : BATCH;
    fill(l, MESSAGES, each, 'a');
    opens = reads = 0;
    for (uint64_t n = 0; n < MESSAGES; n++)
        take(l, n, 'a');
    /* 200 KB, in segments of 64 KiB, each found by its index; batches of ten are larger than what
     * is read ahead, so that each is read in two parts. */
    ck_assert_int_le(opens, 12);
    ck_assert_int_le(reads, 100);
}
END_TEST

START_TEST(messages_in_no_order_are_found_all_the_same)
{
    struct rng rng = {.state = test_seed()};
    struct plog_log *l = create(0), *other = create(1);
    fill(l, MESSAGES, BATCH, 'a');
    fill(other, MESSAGES, 1, 'b');
    for (int i = 0; i < 500; i++) {
        uint64_t n = rng_below(&rng, MESSAGES - 3);
        bool first = rng_below(&rng, 2) == 0;
        for (uint64_t k = 0; k < 1 + rng_below(&rng, 3); k++)
            take(first ? l : other, n + k, first ? 'a' : 'b');
    }
}
END_TEST

START_TEST(two_who_take_turns_go_on_each_from_its_own_place)
{
    struct plog_log *l = create(0);
    fill(l, MESSAGES, 1, 'a');
    take(l, 0, 'a');
    take(l, 20, 'a');
    opens = 0;
    for (uint64_t n = 1; n < 20; n++) {
        take(l, n, 'a');
        take(l, 20 + n, 'a');
    }
    ck_assert_int_eq(opens, 0);
}
END_TEST

START_TEST(few_files_stay_open_however_many_logs_are_read)
{
    struct plog_log *l[KEPT_MAX + 10];
    for (uint32_t i = 0; i < KEPT_MAX + 10; i++) {
        l[i] = create(i);
        fill(l[i], 20, 1, 'a');
    }
    int before = open_now;
    for (int i = 0; i < KEPT_MAX + 10; i++)
        take(l[i], 0, 'a');
    ck_assert_int_eq(open_now, before + KEPT_MAX);
    opens = 0;
    take(l[KEPT_MAX + 9], 1, 'a'); /* the last one was kept, the first one gone */
    ck_assert_int_eq(opens, 0);
    take(l[0], 1, 'a');
    ck_assert_int_gt(opens, 0);
}
END_TEST

START_TEST(after_a_cut_the_new_messages_are_read)
{
    struct plog_log *l = create(0);
    fill(l, 40, 1, 'a');
    plog_commit_by_owner(l, 40); /* 20 messages, each behind a record; more is read ahead */
    for (uint64_t n = 0; n < 20; n++)
        take(l, n, 'a');
    ck_assert_int_eq(plog_truncate(l, 40), ERR_OK);
    ck_assert_uint_eq(plog_end_number(l), 20);
    fill(l, 40, 1, 'b');
    plog_commit_to(l, plog_durable(l));
    for (uint64_t n = 20; n < 60; n++)
        take(l, n, 'b');
}
END_TEST

START_TEST(what_is_released_or_removed_is_not_held_open)
{
    struct plog_log *l = create(0), *other = create(1);
    fill(l, MESSAGES, 1, 'a');
    fill(other, MESSAGES, 1, 'b');
    int before = open_now;
    take(l, 0, 'a');
    take(other, 0, 'b');
    ck_assert_int_eq(open_now, before + 2);
    ck_assert_int_eq(plog_release(l, 150, 300), ERR_OK);
    ck_assert_uint_gt(plog_start_number(l), 0);
    ck_assert_int_eq(open_now, before + 1);
    take(l, 150, 'a');
    ck_assert_int_eq(plog_remove(store, other), ERR_OK);
    take(l, 151, 'a');
    ck_assert_int_le(open_now, before + 1);
}
END_TEST

START_TEST(what_is_released_under_an_open_cursor_is_closed_with_it)
{
    struct plog_log *l = create(0);
    struct plog_cursor c;
    fill(l, MESSAGES, 1, 'a');
    int before = open_now;
    ck_assert_int_eq(plog_cursor_at_number(l, 0, READ_AHEAD, &c), ERR_OK);
    ck_assert_int_eq(open_now, before + 1);
    ck_assert_int_eq(plog_release(l, 150, 300), ERR_OK);
    ck_assert_uint_gt(plog_start_number(l), 0);
    plog_cursor_close(&c);
    ck_assert_int_eq(open_now, before);
}
END_TEST

START_TEST(a_batch_of_more_records_than_it_says_stays_bad_for_the_next_reading)
{
    struct plog_log *l = create(0);
    struct plog_batch *b = plog_batch_new(0);
    struct plog_cursor c;
    struct plog_entry e;
    fill(l, BATCH, 1, 'a');
    for (int i = 0; i < 3; i++)
        plog_batch_put(b, RECORD_TYPE_MESSAGE, BYTES_OF("one of three"));
    b->h.records = b->h.messages = 2;
    plog_append(l, b, 1, 1, true);
    fill(l, MESSAGES, 1, 'a');
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(plog_cursor_at_number(l, BATCH + 1, READ_AHEAD, &c), ERR_CORRUPT);
    ck_assert_int_eq(plog_cursor_at_number(l, BATCH, READ_AHEAD, &c), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_CORRUPT);
    plog_cursor_close(&c);
    ck_assert_int_eq(plog_cursor_at_number(l, BATCH + 1, READ_AHEAD, &c), ERR_CORRUPT);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog_kept");
    TCase *t = tcase_create("kept");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, messages_taken_one_by_one_are_read_as_by_one_cursor, 0, 2);
    tcase_add_test(t, messages_in_no_order_are_found_all_the_same);
    tcase_add_test(t, two_who_take_turns_go_on_each_from_its_own_place);
    tcase_add_test(t, few_files_stay_open_however_many_logs_are_read);
    tcase_add_test(t, after_a_cut_the_new_messages_are_read);
    tcase_add_test(t, what_is_released_or_removed_is_not_held_open);
    tcase_add_test(t, what_is_released_under_an_open_cursor_is_closed_with_it);
    tcase_add_test(t, a_batch_of_more_records_than_it_says_stays_bad_for_the_next_reading);
    suite_add_tcase(s, t);
    return s;
}

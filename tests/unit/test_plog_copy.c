// SPDX-License-Identifier: Apache-2.0
/* What replication needs of a log, sentence by sentence; random histories are in
 * test_plog_copies.c. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "lib/fault_disk.h"
#include "lib/runner.h"
#include "plog/batch.h"
#include "plog/copy.h"

static struct fault_disk *disk;
static struct plog_options options;
static struct plog *store;
static struct plog_log *leader, *follower;

static void quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

static struct plog_log *create(uint32_t partition)
{
    struct plog_log *l;
    ck_assert_int_eq(plog_create(store, (struct plog_id){{1}, partition}, &l), ERR_OK);
    return l;
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
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    leader = create(0);
    follower = create(1);
}

static void teardown(void)
{
    if (store != NULL)
        plog_abandon(store);
    store = NULL;
    fault_disk_free(disk);
}

static void take_log(void *arg, struct plog_log *l)
{
    (void)arg;
    *(plog_log_id(l).partition == 0 ? &leader : &follower) = l;
}

static void open_again(void)
{
    leader = follower = NULL;
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, take_log, NULL);
}

static void power_cut(void)
{
    plog_abandon(store);
    fault_disk_power_cut(disk);
    open_again();
}

static void stop_and_start(void)
{
    plog_close(store);
    open_again();
}

/* Messages of 100 bytes that say their number, `controls` other records among them. */
static void append(struct plog_log *l, unsigned messages, unsigned controls, uint64_t epoch)
{
    struct plog_batch *b = plog_batch_new(0);
    char payload[100] = {0};
    for (unsigned i = 0; i < messages || i < controls; i++) {
        le_store_u64(payload, plog_end_number(l) + i);
        if (i < controls)
            plog_batch_put(b, 2, BYTES_OF("control"));
        if (i < messages)
            plog_batch_put(b, 1, (struct bytes){payload, sizeof payload});
    }
    plog_append(l, b, epoch, 1000 + (int64_t)plog_end(l), true);
}

static void fill(struct plog_log *l, unsigned batches, uint64_t epoch)
{
    for (unsigned i = 0; i < batches; i++)
        append(l, 5, 1, epoch);
    plog_commit(store, true);
}

static void checkpoint(void)
{
    plog_checkpoint_ask(store);
    plog_checkpoint_if_due(store);
}

/* Appends to `to` what `from` has beyond it; how many batches that were. */
static unsigned copy(struct plog_log *from, struct plog_log *to, size_t bytes_max)
{
    unsigned n = 0;
    while (plog_end(to) < plog_durable(from)) {
        struct buf b = BUF_EMPTY;
        struct plog_raw raw;
        ck_assert_int_eq(plog_raw_read(from, plog_end(to), bytes_max, &b), ERR_OK);
        struct bytes rest = buf_bytes(&b);
        enum err e;
        while ((e = plog_raw_next(&rest, &raw)) == ERR_OK) {
            ck_assert_int_eq(plog_append_raw(to, &raw, true), ERR_OK);
            n++;
        }
        ck_assert_int_eq(e, ERR_NOT_FOUND);
        buf_fini(&b);
    }
    plog_commit(store, true);
    return n;
}

/* Both logs read the same, record by record. */
static void compare(struct plog_log *a, struct plog_log *b)
{
    struct plog_cursor one, other;
    struct plog_entry x, y;
    uint64_t start = plog_start_offset(a);
    ck_assert_uint_eq(plog_durable(a), plog_durable(b));
    ck_assert_uint_eq(plog_durable_number(a), plog_durable_number(b));
    ck_assert_int_eq(plog_cursor_at_offset(a, start, 4096, &one), ERR_OK);
    ck_assert_int_eq(plog_cursor_at_offset(b, start, 4096, &other), ERR_OK);
    enum err e;
    while ((e = plog_cursor_next(&one, &x)) == ERR_OK) {
        ck_assert_int_eq(plog_cursor_next(&other, &y), ERR_OK);
        ck_assert_uint_eq(x.offset, y.offset);
        ck_assert_uint_eq(x.number, y.number);
        ck_assert_uint_eq(x.epoch, y.epoch);
        ck_assert_int_eq(x.type, y.type);
        ck_assert(bytes_equal(x.payload, y.payload));
    }
    ck_assert_int_eq(e, ERR_NOT_FOUND);
    ck_assert_int_eq(plog_cursor_next(&other, &y), ERR_NOT_FOUND);
    plog_cursor_close(&one);
    plog_cursor_close(&other);
}

/* ---- what is committed ---- */

START_TEST(without_an_owners_word_all_that_is_durable_is_committed)
{
    fill(leader, 3, 1);
    ck_assert_uint_eq(plog_committed(leader), plog_durable(leader));
    ck_assert_uint_eq(plog_committed(leader), 18);
    ck_assert_uint_eq(plog_committed_number(leader), 15);
}
END_TEST

START_TEST(readers_of_messages_stop_at_what_is_committed)
{
    struct plog_cursor c;
    struct plog_entry e;
    fill(leader, 3, 1);
    plog_commit_by_owner(leader, 6);
    ck_assert_uint_eq(plog_committed(leader), 6);
    ck_assert_uint_eq(plog_committed_number(leader), 5);
    ck_assert_int_eq(plog_cursor_at_offset(leader, 6, 1, &c), ERR_NOT_FOUND);
    ck_assert_int_eq(plog_cursor_at_number(leader, 5, 1, &c), ERR_NOT_FOUND);
    ck_assert_int_eq(plog_cursor_at_number(leader, 4, 1, &c), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_NOT_FOUND);
    plog_commit_to(leader, 12);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(e.offset, 6);
    plog_cursor_close(&c);
}
END_TEST

START_TEST(what_is_committed_neither_goes_back_nor_beyond_the_durable_end)
{
    fill(leader, 3, 1);
    plog_commit_by_owner(leader, 0);
    plog_commit_to(leader, 12);
    plog_commit_to(leader, 6);
    ck_assert_uint_eq(plog_committed(leader), 12);
    append(leader, 1, 0, 1);
    plog_commit_to(leader, 100);
    ck_assert_uint_eq(plog_committed(leader), 18);
    ck_assert_uint_eq(plog_committed_number(leader), 15);
}
END_TEST

START_TEST(the_number_of_what_is_committed_is_found_in_the_segments_too)
{
    fill(leader, 100, 1);
    stop_and_start();
    plog_commit_by_owner(leader, 0);
    for (uint64_t offset = 0; offset <= 600; offset += 7) {
        plog_commit_to(leader, offset);
        /* Six records a batch, the first of which is no message. */
        uint64_t in_batch = offset % 6;
        ck_assert_uint_eq(plog_committed_number(leader),
                          offset / 6 * 5 + (in_batch > 0 ? in_batch - 1 : 0));
    }
}
END_TEST

/* ---- raw batches ---- */

START_TEST(a_follower_fed_with_raw_batches_has_the_same_log)
{
    fill(leader, 40, 1);
    ck_assert_uint_eq(copy(leader, follower, 3000), 40);
    compare(leader, follower);
    power_cut();
    fill(leader, 7, 2);
    ck_assert_uint_eq(copy(leader, follower, 1), 7);
    compare(leader, follower);
    stop_and_start();
    compare(leader, follower);
    struct buf one = BUF_EMPTY, other = BUF_EMPTY;
    ck_assert_int_eq(plog_raw_read(leader, 0, 1 << 20, &one), ERR_OK);
    ck_assert_int_eq(plog_raw_read(follower, 0, 1 << 20, &other), ERR_OK);
    ck_assert_uint_gt(one.n, 47 * 500);
    ck_assert(bytes_equal(buf_bytes(&one), buf_bytes(&other)));
    buf_fini(&one);
    buf_fini(&other);
}
END_TEST

START_TEST(raw_batches_end_at_the_durable_end_and_begin_at_the_start)
{
    struct buf b = BUF_EMPTY;
    struct plog_raw raw;
    ck_assert_int_eq(plog_raw_read(leader, 0, 100, &b), ERR_NOT_FOUND);
    fill(leader, 2, 1);
    append(leader, 1, 0, 1);
    ck_assert_int_eq(plog_raw_read(leader, 6, 1 << 20, &b), ERR_OK);
    struct bytes rest = buf_bytes(&b);
    ck_assert_int_eq(plog_raw_next(&rest, &raw), ERR_OK);
    ck_assert_uint_eq(raw.base_offset, 6);
    ck_assert_uint_eq(raw.end_offset, 12);
    ck_assert_uint_eq(raw.first_number, 5);
    ck_assert_uint_eq(raw.end_number, 10);
    ck_assert_uint_eq(raw.epoch, 1);
    ck_assert_int_eq(raw.leader_ms, 1006);
    ck_assert_int_eq(plog_raw_next(&rest, &raw), ERR_NOT_FOUND);
    ck_assert_int_eq(plog_raw_read(leader, 12, 100, &b), ERR_NOT_FOUND);
    plog_commit(store, true);
    fill(leader, 200, 1);
    checkpoint();
    ck_assert_int_eq(plog_release(leader, UINT64_MAX, UINT64_MAX), ERR_OK);
    ck_assert_uint_gt(plog_start_offset(leader), 0);
    ck_assert_int_eq(plog_raw_read(leader, plog_start_offset(leader) - 1, 100, &b), ERR_GONE);
    buf_fini(&b);
}
END_TEST

START_TEST(a_batch_asked_for_from_its_middle_is_made_for_the_occasion)
{
    struct buf b = BUF_EMPTY;
    struct plog_raw raw;
    fill(leader, 1, 4);
    ck_assert_int_eq(plog_raw_read(leader, 3, 1, &b), ERR_OK);
    struct bytes rest = buf_bytes(&b);
    ck_assert_int_eq(plog_raw_next(&rest, &raw), ERR_OK);
    ck_assert_uint_eq(raw.base_offset, 3);
    ck_assert_uint_eq(raw.end_offset, 6);
    ck_assert_uint_eq(raw.first_number, 2);
    ck_assert_uint_eq(raw.end_number, 5);
    ck_assert_uint_eq(raw.epoch, 4);
    ck_assert_uint_eq(rest.n, 0);
    buf_fini(&b);
}
END_TEST

/* A GAP that stands for `records` from an offset and number on. */
static void put_gap(struct buf *b, uint64_t offset, uint32_t records, uint64_t number,
                    uint32_t messages)
{
    char at[BATCH_HEADER_BYTES];
    batch_gap_store(at, &(struct batch_header){.base_offset = offset,
                                               .records = records,
                                               .first_number = number,
                                               .messages = messages,
                                               .epoch = 1});
    buf_put(b, at, sizeof at);
}

static enum err append_bytes(struct plog_log *l, struct bytes bytes)
{
    struct plog_raw raw;
    enum err e = plog_raw_next(&bytes, &raw);
    return e == ERR_OK ? plog_append_raw(l, &raw, true) : e;
}

START_TEST(a_gap_from_elsewhere_is_read_over_wherever_it_lies)
{
    struct buf gap = BUF_EMPTY;
    struct plog_cursor c;
    struct plog_entry e;
    fill(follower, 1, 1);
    put_gap(&gap, 6, 10, 5, 8);
    ck_assert_int_eq(append_bytes(follower, buf_bytes(&gap)), ERR_OK);
    plog_commit(store, true);
    ck_assert_uint_eq(plog_durable(follower), 16);
    ck_assert_int_eq(plog_cursor_at_offset(follower, 6, 1, &c), ERR_NOT_FOUND);
    fill(follower, 1, 1);
    for (unsigned life = 0; life < 3; life++) {
        ck_assert_int_eq(plog_cursor_at_number(follower, 7, 1, &c), ERR_GONE);
        ck_assert_int_eq(plog_cursor_at_offset(follower, 5, 1, &c), ERR_OK);
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_uint_eq(e.offset, 16);
        ck_assert_uint_eq(e.number, 13);
        plog_cursor_close(&c);
        if (life == 0)
            power_cut();
        else
            stop_and_start();
    }
    buf_fini(&gap);
}
END_TEST

/* The written part of the segment ends with the GAP, and what follows is in the cache only. */
START_TEST(what_follows_a_gap_may_be_in_no_segment_yet)
{
    struct buf gap = BUF_EMPTY;
    struct plog_cursor c;
    struct plog_entry e;
    fill(follower, 1, 1);
    put_gap(&gap, 6, 10, 5, 8);
    ck_assert_int_eq(append_bytes(follower, buf_bytes(&gap)), ERR_OK);
    stop_and_start();
    append(follower, 1, 0, 1);
    plog_commit(store, true);
    ck_assert_int_eq(plog_cursor_at_offset(follower, 7, 1, &c), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(e.offset, 16);
    plog_cursor_close(&c);
    buf_fini(&gap);
}
END_TEST

START_TEST(the_rest_of_a_gap_ends_at_the_same_number_wherever_it_begins)
{
    struct buf gap = BUF_EMPTY, rest = BUF_EMPTY;
    put_gap(&gap, 0, 10, 0, 6);
    ck_assert_int_eq(append_bytes(leader, buf_bytes(&gap)), ERR_OK);
    append(leader, 1, 0, 1);
    append(follower, 3, 0, 1);
    plog_commit(store, true);
    copy(leader, follower, 1000);
    ck_assert_uint_eq(plog_end(follower), 11);
    ck_assert_uint_eq(plog_end_number(follower), 7);
    /* More messages than records, or fewer than none, are no GAP. */
    buf_clear(&gap);
    put_gap(&gap, 11, 3, 7, 3);
    ck_assert_int_eq(append_bytes(follower, buf_bytes(&gap)), ERR_OK);
    buf_clear(&gap);
    put_gap(&gap, 14, 3, 9, 0);
    ck_assert_int_eq(append_bytes(follower, buf_bytes(&gap)), ERR_INVALID);
    buf_clear(&gap);
    put_gap(&gap, 14, 3, 11, 3);
    ck_assert_int_eq(append_bytes(follower, buf_bytes(&gap)), ERR_INVALID);
    buf_fini(&gap);
    buf_fini(&rest);
}
END_TEST

START_TEST(a_batch_that_does_not_follow_is_refused)
{
    struct buf b = BUF_EMPTY;
    fill(leader, 1, 3);
    append(leader, 2, 0, 2); /* as no leader would */
    plog_commit(store, true);
    ck_assert_int_eq(plog_raw_read(leader, 6, 1, &b), ERR_OK);
    ck_assert_int_eq(append_bytes(follower, buf_bytes(&b)), ERR_INVALID);
    append(follower, 6, 0, 2);
    ck_assert_int_eq(append_bytes(follower, buf_bytes(&b)), ERR_INVALID); /* another number */
    ck_assert_uint_eq(plog_end(follower), 6);
    struct plog_log *third = create(2);
    append(third, 5, 1, 3);
    ck_assert_int_eq(append_bytes(third, buf_bytes(&b)), ERR_INVALID); /* a lower epoch */
    struct plog_log *fourth = create(3);
    append(fourth, 5, 1, 2);
    ck_assert_int_eq(append_bytes(fourth, buf_bytes(&b)), ERR_OK);
    buf_fini(&b);
}
END_TEST

START_TEST(bytes_that_are_no_batch_are_told_from_the_end)
{
    struct buf b = BUF_EMPTY;
    struct plog_raw raw;
    struct bytes rest = BYTES_NONE;
    ck_assert_int_eq(plog_raw_next(&rest, &raw), ERR_NOT_FOUND);
    fill(leader, 1, 1);
    ck_assert_int_eq(plog_raw_read(leader, 0, 1, &b), ERR_OK);
    for (size_t n = 1; n < b.n; n++) {
        rest = (struct bytes){b.at, n};
        ck_assert_int_eq(plog_raw_next(&rest, &raw), ERR_CORRUPT);
        ck_assert_uint_eq(rest.n, n);
    }
    for (size_t i = 0; i < b.n; i++) {
        b.at[i] ^= 4;
        rest = buf_bytes(&b);
        ck_assert_int_eq(plog_raw_next(&rest, &raw), ERR_CORRUPT);
        b.at[i] ^= 4;
    }
    buf_fini(&b);
}
END_TEST

START_TEST(a_batch_that_counts_other_records_than_it_has_is_refused)
{
    for (int wrong = 0; wrong < 3; wrong++) {
        struct plog_batch *b = plog_batch_new(0);
        struct plog_raw raw;
        plog_batch_put(b, 1, BYTES_OF("one"));
        plog_batch_put(b, 2, BYTES_OF("two"));
        b->h.records += wrong == 1;
        b->h.messages += wrong == 2;
        batch_seal(b);
        struct bytes rest = buf_bytes(&b->bytes);
        ck_assert_int_eq(plog_raw_next(&rest, &raw), wrong == 0 ? ERR_OK : ERR_CORRUPT);
        plog_batch_free(b);
    }
}
END_TEST

/* ---- epochs ---- */

static void check_epochs(const struct plog_log *l, const struct plog_epoch *want, size_t want_n)
{
    size_t n;
    const struct plog_epoch *got = plog_epochs(l, &n);
    ck_assert_uint_eq(n, want_n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(got[i].epoch, want[i].epoch);
        ck_assert_uint_eq(got[i].start, want[i].start);
    }
}

START_TEST(the_epochs_of_a_log_are_known_whoever_wrote_them_down)
{
    static const struct plog_epoch want[] = {{1, 0}, {2, 60}, {5, 66}, {6, 666}, {9, 786}};
    check_epochs(leader, want, 0);
    fill(leader, 10, 1);
    check_epochs(leader, want, 1);
    fill(leader, 1, 2);
    fill(leader, 100, 5);
    fill(leader, 20, 6);
    append(leader, 5, 1, 9);
    check_epochs(leader, want, 5);
    plog_commit(store, true);
    power_cut();
    check_epochs(leader, want, 5);
    fill(leader, 1, 9);
    stop_and_start();
    check_epochs(leader, want, 5);
    copy(leader, follower, 5000);
    check_epochs(follower, want, 5);
}
END_TEST

START_TEST(the_first_epoch_begins_at_the_start_at_the_earliest)
{
    fill(leader, 10, 1);
    fill(leader, 100, 2);
    checkpoint();
    size_t n;
    plog_epochs(leader, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(plog_release(leader, UINT64_MAX, UINT64_MAX), ERR_OK);
    struct plog_epoch want = {2, plog_start_offset(leader)};
    ck_assert_uint_gt(want.start, 60);
    check_epochs(leader, &want, 1);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog copies");
    TCase *t = tcase_create("copies");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, without_an_owners_word_all_that_is_durable_is_committed);
    tcase_add_test(t, readers_of_messages_stop_at_what_is_committed);
    tcase_add_test(t, what_is_committed_neither_goes_back_nor_beyond_the_durable_end);
    tcase_add_test(t, the_number_of_what_is_committed_is_found_in_the_segments_too);
    tcase_add_test(t, a_follower_fed_with_raw_batches_has_the_same_log);
    tcase_add_test(t, raw_batches_end_at_the_durable_end_and_begin_at_the_start);
    tcase_add_test(t, a_batch_asked_for_from_its_middle_is_made_for_the_occasion);
    tcase_add_test(t, a_gap_from_elsewhere_is_read_over_wherever_it_lies);
    tcase_add_test(t, what_follows_a_gap_may_be_in_no_segment_yet);
    tcase_add_test(t, the_rest_of_a_gap_ends_at_the_same_number_wherever_it_begins);
    tcase_add_test(t, a_batch_that_does_not_follow_is_refused);
    tcase_add_test(t, bytes_that_are_no_batch_are_told_from_the_end);
    tcase_add_test(t, a_batch_that_counts_other_records_than_it_has_is_refused);
    tcase_add_test(t, the_epochs_of_a_log_are_known_whoever_wrote_them_down);
    tcase_add_test(t, the_first_epoch_begins_at_the_start_at_the_earliest);
    suite_add_tcase(s, t);
    return s;
}

// SPDX-License-Identifier: Apache-2.0
/* The cleaner of the log, sentence by sentence; test_plog_history.c has it in random histories. */
#include <string.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "plog/batch.h"
#include "plog/copy.h"
#include "plog_clean_fixture.h"

/* ---- the format ---- */

START_TEST(a_gap_says_which_offsets_and_numbers_it_stands_for)
{
    char at[BATCH_HEADER_BYTES];
    struct batch_header h = {.records = 4000000000u,
                             .messages = 3999999999u,
                             .base_offset = 5,
                             .first_number = 4,
                             .epoch = 3,
                             .leader_ms = 2},
                        back;
    struct bytes whole = {at, sizeof at};
    batch_gap_store(at, &h);
    ck_assert_int_eq(batch_check(whole, &back), ERR_OK);
    ck_assert(back.gap);
    ck_assert_uint_eq(batch_end(&back), 4000000005u);
    ck_assert_uint_eq(batch_end_number(&back), 4000000003u);
    ck_assert_uint_eq(back.epoch, 3);
    ck_assert_int_eq(back.leader_ms, 2);
    for (unsigned bit = 0; bit < 8 * sizeof at; bit++) {
        at[bit / 8] = (char)(at[bit / 8] ^ (1 << bit % 8));
        ck_assert_int_eq(batch_check(whole, &back), ERR_CORRUPT);
        at[bit / 8] = (char)(at[bit / 8] ^ (1 << bit % 8));
    }
}
END_TEST

START_TEST(a_flag_that_is_not_known_is_a_newer_version)
{
    struct plog_batch *b = plog_batch_new(0);
    struct batch_header back;
    plog_batch_put(b, 1, BYTES_OF("message"));
    batch_seal(b);
    ck_assert_int_eq(batch_check(buf_bytes(&b->bytes), &back), ERR_OK);
    ck_assert(!back.gap);
    b->bytes.at[BATCH_AT_FLAGS] = 16;
    le_store_u32(b->bytes.at + BATCH_AT_CRC, 0);
    uint32_t crc = 0;
    struct bytes head = {b->bytes.at, 4}, rest = {b->bytes.at + 8, b->bytes.n - 8};
    crc = crc32c(crc32c(crc, head.at, head.n), rest.at, rest.n);
    le_store_u32(b->bytes.at + BATCH_AT_CRC, crc);
    ck_assert_int_eq(batch_check(buf_bytes(&b->bytes), &back), ERR_NEWER_FORMAT);
    plog_batch_free(b);
}
END_TEST

/* ---- cleaning ---- */

START_TEST(what_is_unwanted_goes_and_the_rest_is_read_as_before)
{
    rig_fill(200, MESSAGE_BYTES);
    struct plog_size before = plog_log_size(rig.log);
    uint64_t end;
    rig_cleanable(&end);
    rig_clean_all();
    struct plog_size after = plog_log_size(rig.log);
    ck_assert_uint_lt(after.bytes, before.bytes / 10 + (size_t)2 * SEGMENT_BYTES);
    rig_check_exactly_wanted(end / 2);
    rig_check_all_from(end / 2);
    ck_assert_uint_eq(plog_end_number(rig.log), 201);
    rig_append(1, MESSAGE_BYTES);
    ck_assert_int_eq(rig_read_number(201), ERR_OK);
}
END_TEST

START_TEST(an_offset_in_a_gap_leads_to_the_first_record_behind_it)
{
    rig_fill(200, MESSAGE_BYTES);
    rig_clean_all();
    struct plog_cursor c;
    struct plog_entry e;
    for (uint64_t offset = 8; offset < 27; offset++) {
        ck_assert_int_eq(plog_cursor_at_offset(rig.log, offset, 10, &c), ERR_OK);
        ck_assert_uint_eq(c.offset, 27);
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_uint_eq(e.number, 13);
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_uint_eq(e.number, 23);
        ck_assert_uint_eq(c.offset, 48);
        plog_cursor_close(&c);
    }
}
END_TEST

START_TEST(what_is_cleaned_is_gone_also_for_who_was_about_to_read_on)
{
    struct plog_cursor c;
    struct plog_entry e;
    rig_fill(200, MESSAGE_BYTES);
    ck_assert_int_eq(rig_read_number(3), ERR_OK); /* and 4 would be next */
    ck_assert_int_eq(plog_cursor_at_number(rig.log, 14, 1, &c), ERR_OK);
    rig_clean_all();
    ck_assert_int_eq(rig_read_number(4), ERR_GONE);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(e.number, 14);
    plog_cursor_close(&c);
    ck_assert_int_eq(rig_read_number(15), ERR_GONE);
    ck_assert_int_eq(rig_read_number(23), ERR_OK);
}
END_TEST

START_TEST(neighbours_become_one_segment_and_can_be_cleaned_again)
{
    uint64_t end;
    rig_fill(200, MESSAGE_BYTES);
    size_t were = rig_cleanable(&end);
    rig_clean_all();
    uint64_t same;
    ck_assert_uint_eq(rig_cleanable(&same), 1);
    ck_assert_uint_eq(same, end);
    rig_look();
    ck_assert_uint_eq(rig.seen[0].stored, (end / 2 + 6) / 10);
    ck_assert_uint_eq(rig.seen[0].end_number, end / 2);
    rig.wanted = none;
    enum plog_clean_state state;
    ck_assert_int_eq(rig_clean(0, end, 1000, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
    ck_assert_uint_gt(were, 2);
    struct plog_cursor c;
    ck_assert_int_eq(plog_cursor_at_offset(rig.log, 0, 10, &c), ERR_OK);
    ck_assert_uint_eq(c.offset, end);
    plog_cursor_close(&c);
    rig_check_all_from(end / 2);
    rig_look();
    ck_assert_uint_eq(rig.seen[0].bytes, BATCH_HEADER_BYTES); /* all of one epoch: one GAP */
}
END_TEST

START_TEST(a_cleaned_log_outlives_power_cut_and_clean_stop)
{
    rig_fill(200, MESSAGE_BYTES);
    uint64_t end;
    rig_cleanable(&end);
    rig_clean_all();
    for (int cleanly = 0; cleanly < 2; cleanly++) {
        rig_reopen(cleanly);
        rig_check_exactly_wanted(end / 2);
        rig_check_all_from(end / 2);
        rig_append(1, MESSAGE_BYTES);
    }
    struct buf state = BUF_EMPTY;
    uint64_t offset;
    ck_assert_int_eq(plog_snapshot_read(rig.log, &state, &offset), ERR_OK);
    ck_assert_uint_eq(offset, 402);
    buf_fini(&state);
}
END_TEST

START_TEST(an_open_cursor_reads_on_over_a_swap)
{
    /* Cursors in the begin, in the middle and at the end of what is swapped under them, twice: the
     * first time nothing leaves, the second time all but the wanted does. */
    static const uint64_t begins[] = {0, 7, 13, 50, 120};
    enum { CURSORS = sizeof begins / sizeof begins[0] };
    struct plog_cursor c[CURSORS];
    struct plog_entry e;
    rig_fill(200, MESSAGE_BYTES);
    for (int i = 0; i < CURSORS; i++) {
        ck_assert_int_eq(plog_cursor_at_number(rig.log, begins[i], 100, &c[i]), ERR_OK);
        ck_assert_int_eq(plog_cursor_next(&c[i], &e), ERR_OK);
    }
    rig.wanted = all;
    rig_clean_all();
    for (int i = 0; i < CURSORS; i++) {
        ck_assert_int_eq(plog_cursor_next(&c[i], &e), ERR_OK);
        ck_assert_uint_eq(e.offset, 2 * begins[i] + 2);
    }
    rig.wanted = every_tenth;
    uint64_t end;
    enum plog_clean_state state;
    rig_cleanable(&end);
    ck_assert_int_eq(rig_clean(0, end, UINT64_MAX, &state), ERR_OK);
    for (int i = 0; i < CURSORS; i++) {
        uint64_t last = begins[i];
        while (plog_cursor_next(&c[i], &e) == ERR_OK) {
            if (e.type != 1)
                continue;
            for (uint64_t passed = last + 1; passed < e.number; passed++)
                ck_assert(!every_tenth(passed));
            ck_assert_uint_eq(le_load_u64(e.payload.at), e.number);
            last = e.number;
        }
        ck_assert_uint_eq(last, 200);
        plog_cursor_close(&c[i]);
    }
}
END_TEST

START_TEST(only_what_lies_below_the_older_snapshot_and_the_mark_may_be_cleaned)
{
    uint64_t end;
    enum plog_clean_state state;
    for (unsigned i = 0; i < 60; i++)
        rig_append(1, MESSAGE_BYTES);
    rig_snapshot();
    uint64_t older = plog_durable(rig.log);
    ck_assert_uint_eq(rig_cleanable(&end), 0);
    for (unsigned i = 0; i < 60; i++)
        rig_append(1, MESSAGE_BYTES);
    rig_snapshot();
    rig_reopen(true);
    size_t n = rig_look();
    for (size_t i = 0; i < n; i++) {
        bool may = i + 1 < n && rig.seen[i].end_offset <= older;
        ck_assert(rig.seen[i].cleanable == may);
        enum err e = rig_clean(rig.seen[i].base_offset, rig.seen[i].end_offset, UINT64_MAX, &state);
        ck_assert_int_eq(e, may ? ERR_OK : ERR_INVALID);
    }
    ck_assert_int_eq(
        rig_clean(rig.seen[0].base_offset + 1, rig.seen[0].end_offset, UINT64_MAX, &state),
        ERR_INVALID);
    ck_assert_int_eq(
        rig_clean(rig.seen[0].base_offset, rig.seen[0].end_offset - 1, UINT64_MAX, &state),
        ERR_INVALID);
    rig_check_all_from(older / 2);
}
END_TEST

START_TEST(nothing_leaves_before_what_finished_it_is_durable)
{
    uint64_t end;
    enum plog_clean_state state;
    struct plog_clean *c;
    rig_fill(200, MESSAGE_BYTES);
    rig_cleanable(&end);
    rig.end = plog_end(rig.log) + 2;
    ck_assert_int_eq(plog_clean_begin(rig.log, 0, end, UINT64_MAX, rig_wanted, &c), ERR_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(rig_finish(c, &state), ERR_OK);
        ck_assert_int_eq(state, PLOG_CLEAN_WAITS);
        rig_check_all_from(0);
    }
    rig_append(1, 10);
    ck_assert_int_eq(rig_finish(c, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
    plog_clean_free(c);
    rig_check_exactly_wanted(end / 2);
}
END_TEST

START_TEST(nothing_leaves_when_what_finished_it_was_cut)
{
    uint64_t end;
    enum plog_clean_state state;
    struct plog_clean *c;
    rig_fill(200, MESSAGE_BYTES);
    rig_cleanable(&end);
    uint64_t committed = plog_end(rig.log);
    plog_commit_by_owner(rig.log, committed);
    rig_append(1, 10);
    ck_assert_int_eq(plog_clean_begin(rig.log, 0, end, UINT64_MAX, rig_wanted, &c), ERR_OK);
    ck_assert_int_eq(rig_finish(c, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_WAITS);
    ck_assert_int_eq(plog_truncate(rig.log, committed), ERR_OK);
    rig_append(2, 10);
    plog_commit_to(rig.log, plog_end(rig.log));
    ck_assert_int_eq(rig_finish(c, &state), ERR_GONE);
    plog_clean_free(c);
    rig_check_all_from(0);
}
END_TEST

START_TEST(what_would_not_get_small_enough_is_left_as_it_is)
{
    uint64_t end;
    enum plog_clean_state state;
    rig_fill(200, MESSAGE_BYTES);
    rig_cleanable(&end);
    uint64_t live = (end / 2 + 6) / 10 * (MESSAGE_BYTES + 3 + 2 * BATCH_HEADER_BYTES);
    unsigned files = 0, files_after = 0;
    fault_disk_each(rig.disk, rig_count_files, &files);
    uint64_t operations = fault_disk_operations(rig.disk);
    ck_assert_int_eq(rig_clean(0, end, live / 2, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_USELESS);
    fault_disk_each(rig.disk, rig_count_files, &files_after);
    ck_assert_uint_eq(files, files_after);
    ck_assert_uint_eq(fault_disk_operations(rig.disk), operations); /* nothing was even written */
    rig_check_all_from(0);
    ck_assert_int_eq(rig_clean(0, end, live + 2 * BATCH_HEADER_BYTES, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
}
END_TEST

START_TEST(a_batch_that_would_not_get_smaller_stays_whole)
{
    rig.control_bytes = 0;
    for (unsigned i = 0; i < 100; i++)
        rig_append(20, 10);
    rig_snapshot();
    rig_append(400, 100);
    rig_snapshot();
    rig_reopen(true);
    uint64_t end, before = plog_log_size(rig.log).bytes;
    enum plog_clean_state state;
    rig.wanted = every_tenth_below_500;
    ck_assert_uint_gt(rig_cleanable(&end), 1);
    ck_assert_uint_gt(end / 2, 1000);
    ck_assert_int_eq(rig_clean(0, end, UINT64_MAX, &state), ERR_OK);
    /* Two wanted ones of twenty: five headers would cost more than the bytes that would go. */
    for (uint64_t number = 0; number < end / 2; number++)
        ck_assert_int_eq(rig_read_number(number), number < 500 ? ERR_OK : ERR_GONE);
    ck_assert_uint_lt(plog_log_size(rig.log).bytes, before);
    ck_assert_int_eq(rig_clean(0, end, UINT64_MAX, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
    ck_assert_int_eq(rig_read_number(3), ERR_OK);
}
END_TEST

/* By what the payload says, which must be the message of that number. */
static bool keep_but_thirds(void *self, uint64_t number, struct bytes payload)
{
    ck_assert_ptr_eq(self, &rig);
    ck_assert_uint_eq(le_load_u64(payload.at), number);
    ck_assert(rig.wanted(number)); /* nobody is asked for what is unwanted anyway */
    return number % 3 != 0;
}

START_TEST(with_keep_exactly_what_is_kept_stays_however_small_it_is)
{
    uint64_t end;
    enum plog_clean_state state;
    struct plog_wanted wanted = rig_wanted;
    struct plog_clean *c;
    wanted.keep = keep_but_thirds;
    rig.wanted = all;
    rig.control_bytes = 1;
    for (int i = 0; i < 100; i++)
        rig_append(20, 10);
    rig_fill(100, MESSAGE_BYTES);
    ck_assert_uint_gt(rig_cleanable(&end), 2);
    rig.wanted = not_the_fifth;
    for (int pass = 0; pass < 2; pass++) {
        ck_assert_int_eq(plog_clean_begin(rig.log, 0, end, UINT64_MAX, wanted, &c), ERR_OK);
        ck_assert_int_eq(rig_finish(c, &state), ERR_OK);
        plog_clean_free(c);
        ck_assert_int_eq(state, pass == 0 ? PLOG_CLEAN_DONE : PLOG_CLEAN_USELESS);
        for (uint64_t number = 0; number < end / 2; number++)
            ck_assert_int_eq(rig_read_number(number),
                             number % 3 != 0 && number != 5 ? ERR_OK : ERR_GONE);
    }
    rig_check_all_from(end / 2);
}
END_TEST

TCase *tcase_cleaner(void)
{
    TCase *t = tcase_create("cleaner");
    tcase_add_checked_fixture(t, rig_setup, rig_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_gap_says_which_offsets_and_numbers_it_stands_for);
    tcase_add_test(t, a_flag_that_is_not_known_is_a_newer_version);
    tcase_add_test(t, what_is_unwanted_goes_and_the_rest_is_read_as_before);
    tcase_add_test(t, an_offset_in_a_gap_leads_to_the_first_record_behind_it);
    tcase_add_test(t, what_is_cleaned_is_gone_also_for_who_was_about_to_read_on);
    tcase_add_test(t, neighbours_become_one_segment_and_can_be_cleaned_again);
    tcase_add_test(t, a_cleaned_log_outlives_power_cut_and_clean_stop);
    tcase_add_test(t, an_open_cursor_reads_on_over_a_swap);
    tcase_add_test(t, only_what_lies_below_the_older_snapshot_and_the_mark_may_be_cleaned);
    tcase_add_test(t, nothing_leaves_before_what_finished_it_is_durable);
    tcase_add_test(t, nothing_leaves_when_what_finished_it_was_cut);
    tcase_add_test(t, what_would_not_get_small_enough_is_left_as_it_is);
    tcase_add_test(t, a_batch_that_would_not_get_smaller_stays_whole);
    tcase_add_test(t, with_keep_exactly_what_is_kept_stays_however_small_it_is);
    return t;
}

Suite *suite_new(void)
{
    Suite *s = suite_create("plog cleaner");
    suite_add_tcase(s, tcase_cleaner());
    suite_add_tcase(s, tcase_faults());
    return s;
}

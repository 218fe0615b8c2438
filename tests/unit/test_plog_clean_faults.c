// SPDX-License-Identifier: Apache-2.0
/* The cleaner among crashes, a full disk, removals, and readers at its side. */
#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "plog_clean_fixture.h"

/* ---- when things go wrong ---- */

/* Cleans on a disk whose n-th operation fails, then starts again. False: nothing failed. */
static bool clean_with_fault(uint64_t n, uint64_t end, enum err e, bool power)
{
    enum plog_clean_state state;
    fault_disk_fail_in(rig.disk, n, e, power);
    enum err got = rig_clean(0, end, UINT64_MAX, &state);
    bool failed = fault_disk_has_failed(rig.disk);
    fault_disk_fail_never(rig.disk);
    if (!failed)
        ck_assert_int_eq(got, ERR_OK);
    plog_abandon(rig.store);
    if (power)
        fault_disk_power_cut(rig.disk);
    else
        fault_disk_kill(rig.disk);
    ck_assert_int_eq(plog_open(&rig.options, &rig.store), ERR_OK);
    plog_each(rig.store, rig_found, NULL);
    return failed;
}

/* Whether the messages that are there are all, or exactly the wanted ones. */
static void check_all_or_wanted(uint64_t end)
{
    if (rig_read_number(0) == ERR_OK)
        rig_check_all_from(0);
    else
        rig_check_exactly_wanted(end / 2);
    rig_check_all_from(end / 2);
}

START_TEST(a_crash_at_any_operation_leaves_all_or_exactly_the_wanted)
{
    static const struct {
        enum err e;
        bool power;
    } ways[] = {{ERR_IO, true}, {ERR_IO, false}, {ERR_NO_SPACE, false}};
    rig_fill(80, MESSAGE_BYTES);
    uint64_t end, n = 0;
    ck_assert_uint_gt(rig_cleanable(&end), 2);
    while (true) {
        bool failed = clean_with_fault(n++, end, ways[_i].e, ways[_i].power);
        check_all_or_wanted(end);
        unsigned files = 0;
        fault_disk_each(rig.disk, rig_count_files, &files);
        size_t segments = plog_log_size(rig.log).segments;
        ck_assert_uint_le(files, 2 * segments);
        if (!failed)
            break;
        /* Back to the log that is not cleaned, on a new rig.disk. */
        plog_abandon(rig.store);
        fault_disk_free(rig.disk);
        rig_setup();
        rig_fill(80, MESSAGE_BYTES);
    }
    ck_assert_uint_gt(n, 15); /* write, sync, two renames, four syncs of the folder, removals … */
    rig_check_exactly_wanted(end / 2);
}
END_TEST

START_TEST(a_crash_while_a_start_finishes_a_swap_is_finished_by_the_next)
{
    rig_fill(80, MESSAGE_BYTES);
    uint64_t end;
    rig_cleanable(&end);
    for (uint64_t n = 0, failed = true; failed; n++) {
        enum plog_clean_state state;
        fault_disk_fail_in(rig.disk, n, ERR_IO, true);
        enum err e = rig_clean(0, end, UINT64_MAX, &state);
        failed = fault_disk_has_failed(rig.disk);
        ck_assert(failed || e == ERR_OK);
        plog_abandon(rig.store);
        fault_disk_power_cut(rig.disk);
        /* Each start gets a little further before the power fails again. */
        for (uint64_t k = 0;; k += 3) {
            fault_disk_fail_in(rig.disk, k, ERR_IO, true);
            e = plog_open(&rig.options, &rig.store);
            if (!fault_disk_has_failed(rig.disk))
                break;
            if (e == ERR_OK)
                plog_abandon(rig.store);
            rig.store = NULL;
            fault_disk_power_cut(rig.disk);
        }
        fault_disk_fail_never(rig.disk);
        ck_assert_int_eq(e, ERR_OK);
        plog_each(rig.store, rig_found, NULL);
        check_all_or_wanted(end);
        if (!failed)
            break;
        plog_abandon(rig.store);
        fault_disk_free(rig.disk);
        rig_setup();
        rig_fill(80, MESSAGE_BYTES);
    }
    rig_check_exactly_wanted(end / 2);
}
END_TEST

START_TEST(a_full_disk_ends_a_cleaning_and_nothing_else)
{
    uint64_t end;
    enum plog_clean_state state;
    rig_fill(200, MESSAGE_BYTES);
    rig_cleanable(&end);
    fault_disk_fail_in(rig.disk, 1, ERR_NO_SPACE, false);
    ck_assert_int_eq(rig_clean(0, end, UINT64_MAX, &state), ERR_NO_SPACE);
    fault_disk_fail_never(rig.disk);
    ck_assert(!plog_failed(rig.store));
    rig_check_all_from(0);
    rig_append(1, MESSAGE_BYTES);
    rig_clean_all();
    rig_check_exactly_wanted(end / 2);
}
END_TEST

START_TEST(a_removed_log_ends_its_cleaning)
{
    uint64_t end;
    struct plog_clean *c;
    enum plog_clean_state state;
    rig_fill(200, MESSAGE_BYTES);
    rig_cleanable(&end);
    ck_assert_int_eq(plog_clean_begin(rig.log, 0, end, UINT64_MAX, rig_wanted, &c), ERR_OK);
    for (unsigned i = 0; i < 120; i++)
        ck_assert_int_eq(plog_clean_step(c, 3000, &state), ERR_OK);
    ck_assert_int_eq(plog_remove(rig.store, rig.log), ERR_OK);
    rig_create();
    ck_assert_int_eq(plog_clean_step(c, 3000, &state), ERR_GONE);
    plog_clean_free(c);
    rig_append(1, 10);
    ck_assert_int_eq(rig_read_number(0), ERR_OK);
}
END_TEST

START_TEST(a_released_segment_ends_its_cleaning)
{
    uint64_t end;
    struct plog_clean *c;
    enum plog_clean_state state;
    rig_fill(200, MESSAGE_BYTES);
    rig_cleanable(&end);
    ck_assert_int_eq(plog_clean_begin(rig.log, 0, end, UINT64_MAX, rig_wanted, &c), ERR_OK);
    for (unsigned i = 0; i < 40; i++)
        ck_assert_int_eq(plog_clean_step(c, 3000, &state), ERR_OK);
    ck_assert_int_eq(plog_release(rig.log, 50, end), ERR_OK);
    ck_assert_uint_gt(plog_start_number(rig.log), 20);
    ck_assert_int_eq(rig_finish(c, &state), ERR_GONE);
    plog_clean_free(c);
    rig_check_all_from(plog_start_number(rig.log));
    unsigned files = 0;
    fault_disk_each(rig.disk, rig_count_files, &files);
    ck_assert_uint_eq(files, 2 * plog_log_size(rig.log).segments);
}
END_TEST

static void break_index(void *arg, const char *path, uint64_t bytes)
{
    (void)arg;
    if (strstr(path, ".index") != NULL && bytes > 40)
        fault_disk_flip(rig.disk, path, 30, 3);
}

START_TEST(the_index_of_a_cleaned_segment_is_there_and_made_again_when_bad)
{
    uint64_t end;
    rig_fill(300, MESSAGE_BYTES);
    rig_cleanable(&end);
    rig_clean_all();
    static const char name[] = "t/01000000000000000000000000000000/0/00000000000000000000.index";
    struct bytes index = fault_disk_bytes(rig.disk, name);
    ck_assert_uint_gt(index.n, 24 * (size_t)5);
    char *copy = mem_new(index.n);
    size_t n = index.n;
    memcpy(copy, index.at, n);
    fault_disk_each(rig.disk, break_index, NULL);
    rig_check_exactly_wanted(end / 2);
    index = fault_disk_bytes(rig.disk, name);
    ck_assert_uint_eq(index.n, n);
    ck_assert_mem_eq(index.at, copy, n);
    mem_free(copy);
}
END_TEST

START_TEST(release_counts_gaps_as_what_they_stand_for)
{
    uint64_t end;
    rig_fill(200, MESSAGE_BYTES);
    rig_cleanable(&end);
    rig.wanted = the_fifth;
    rig_clean_all();
    ck_assert_int_eq(plog_release(rig.log, 5, end), ERR_OK);
    ck_assert_uint_eq(plog_start_number(rig.log), 0);
    ck_assert_int_eq(plog_release(rig.log, end / 2, end), ERR_OK);
    ck_assert_uint_eq(plog_start_number(rig.log), end / 2);
    ck_assert_int_eq(rig_read_number(5), ERR_GONE);
    rig_check_all_from(end / 2);
    rig_reopen(false);
    ck_assert_uint_eq(plog_start_number(rig.log), end / 2);
    rig_check_all_from(end / 2);
}
END_TEST

START_TEST(a_clean_file_that_reaches_above_the_mark_is_damage)
{
    const char *where;
    rig_fill(80, MESSAGE_BYTES);
    fault_disk_plant(rig.disk,
                     "t/01000000000000000000000000000000/0/"
                     "00000000000000000000-00000000000000999999.clean",
                     BYTES_OF("bytes"));
    rig_reopen(true);
    ck_assert(plog_log_damaged(rig.log, &where));
    ck_assert_ptr_nonnull(strstr(where, "cleaned"));
    ck_assert_uint_gt(fault_disk_bytes(rig.disk, "t/01000000000000000000000000000000/0/"
                                                 "00000000000000000000.log")
                          .n,
                      5);
}
END_TEST

/* ---- side by side ---- */

/* A disk that has every wanted message read before and after each change of names. */
static struct disk spied;
static uint64_t spied_below;
static unsigned spied_n;

static void read_wanted(void)
{
    uint64_t below = spied_below;
    spied_below = 0; /* what reading itself changes is not looked at */
    for (uint64_t number = 0; number < below; number++)
        if (every_tenth(number))
            ck_assert_int_eq(rig_read_number(number), ERR_OK);
    spied_below = below;
    spied_n += below > 0;
}

static enum err spy_rename(void *self, const char *from, const char *to)
{
    read_wanted();
    enum err e = spied.rename(self, from, to);
    read_wanted();
    return e;
}

static enum err spy_remove(void *self, const char *path)
{
    read_wanted();
    enum err e = spied.remove(self, path);
    read_wanted();
    return e;
}

static enum err spy_sync_dir(void *self, const char *path)
{
    read_wanted();
    return spied.sync_dir(self, path);
}

START_TEST(at_every_step_of_a_swap_every_wanted_message_can_be_read)
{
    struct disk spy = *rig.options.disk;
    spied = spy;
    spy.rename = spy_rename;
    spy.remove = spy_remove;
    spy.sync_dir = spy_sync_dir;
    spied_below = spied_n = 0;
    rig.options.disk = &spy;
    rig_reopen(true);
    rig_fill(300, MESSAGE_BYTES);
    uint64_t end;
    rig_cleanable(&end);
    spied_below = end / 2;
    rig_clean_all();
    ck_assert_uint_gt(spied_n, 20);
    rig.wanted = every_tenth;
    rig_clean_again(end);
    spied_below = 0;
    rig_check_exactly_wanted(end / 2);
    plog_abandon(rig.store);
    rig.store = NULL;
}
END_TEST

static bool stop_reading;

static void *read_always(void *arg)
{
    uint64_t *rounds = arg, end = plog_durable_number(rig.log);
    while (!__atomic_load_n(&stop_reading, __ATOMIC_ACQUIRE)) {
        struct plog_cursor c;
        struct plog_entry e;
        uint64_t number = 3 + *rounds % 19 * 10, last = 0;
        ck_assert_int_eq(rig_read_number(number), ERR_OK);
        ck_assert_int_eq(plog_cursor_at_number(rig.log, number, 3000, &c), ERR_OK);
        while (plog_cursor_next(&c, &e) == ERR_OK) {
            if (e.type != 1)
                continue;
            /* No wanted one is passed over. */
            ck_assert(last == 0 || (e.number + 6) / 10 - (last + 6) / 10 <= 1);
            ck_assert_uint_eq(le_load_u64(e.payload.at), e.number);
            last = e.number;
        }
        ck_assert_uint_eq(last, end - 1);
        plog_cursor_close(&c);
        (*rounds)++;
    }
    return NULL;
}

START_TEST(readers_never_miss_a_wanted_message_while_segments_are_swapped)
{
    pthread_t threads[2];
    uint64_t rounds[2] = {0}, end;
    rig_fill(200, MESSAGE_BYTES);
    __atomic_store_n(&stop_reading, false, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_always, &rounds[i]), 0);
    enum plog_clean_state state;
    while (rig_cleanable(&end) > 1) {
        size_t n = rig_look();
        for (size_t i = 0; i + 1 < n && rig.seen[i].cleanable; i++) {
            uint64_t to = i % 3 == 1 && rig.seen[i + 1].cleanable ? rig.seen[i + 1].end_offset
                                                                  : rig.seen[i].end_offset;
            ck_assert_int_eq(rig_clean(rig.seen[i].base_offset, to, UINT64_MAX, &state), ERR_OK);
            i += to != rig.seen[i].end_offset;
        }
        if (rig_cleanable(&end) <= 8)
            ck_assert_int_eq(rig_clean(0, end, UINT64_MAX, &state), ERR_OK);
    }
    __atomic_store_n(&stop_reading, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    rig_check_exactly_wanted(end / 2);
}
END_TEST

TCase *tcase_faults(void)
{
    TCase *t = tcase_create("faults");
    tcase_add_checked_fixture(t, rig_setup, rig_teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_crash_at_any_operation_leaves_all_or_exactly_the_wanted, 0, 3);
    tcase_add_test(t, a_crash_while_a_start_finishes_a_swap_is_finished_by_the_next);
    tcase_add_test(t, a_full_disk_ends_a_cleaning_and_nothing_else);
    tcase_add_test(t, a_removed_log_ends_its_cleaning);
    tcase_add_test(t, a_released_segment_ends_its_cleaning);
    tcase_add_test(t, the_index_of_a_cleaned_segment_is_there_and_made_again_when_bad);
    tcase_add_test(t, release_counts_gaps_as_what_they_stand_for);
    tcase_add_test(t, a_clean_file_that_reaches_above_the_mark_is_damage);
    tcase_add_test(t, at_every_step_of_a_swap_every_wanted_message_can_be_read);
    tcase_add_test(t, readers_never_miss_a_wanted_message_while_segments_are_swapped);
    return t;
}

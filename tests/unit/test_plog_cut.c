// SPDX-License-Identifier: Apache-2.0
/* Cuts, new beginnings and adoptions of a log, sentence by sentence. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "lib/fault_disk.h"
#include "lib/runner.h"
#include "offline/store.h"
#include "plog/copy.h"

static struct fault_disk *disk;
static struct plog_options options;
static struct plog *store;
static struct plog_log *l;

static void take_log(void *arg, struct plog_log *found)
{
    (void)arg;
    l = found;
}

static void open_store(void)
{
    l = NULL;
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, take_log, NULL);
}

static void setup(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    disk = fault_disk_new(test_seed());
    plog_options_default(&options);
    options.disk = fault_disk_of(disk);
    options.segment_bytes = 4096;
    options.cache_bytes = 4096;
    options.journal_first_bytes = 262144;
    options.journal_bytes = 262144;
    open_store();
    ck_assert_int_eq(plog_create(store, (struct plog_id){{1}, 0}, &l), ERR_OK);
}

static void teardown(void)
{
    plog_abandon(store);
    fault_disk_free(disk);
}

static void power_cut(void)
{
    plog_abandon(store);
    fault_disk_power_cut(disk);
    open_store();
}

static void stop_and_start(void)
{
    plog_close(store);
    open_store();
}

/* Batches of one message that says `life`. */
static void append(unsigned n, unsigned life, uint64_t epoch)
{
    for (unsigned i = 0; i < n; i++) {
        char payload[200] = {0};
        struct plog_batch *b = plog_batch_new(0);
        le_store_u32(payload, life);
        plog_batch_put(b, 1, (struct bytes){payload, sizeof payload});
        plog_append(l, b, epoch, 1000, true);
    }
    plog_commit(store, true);
}

/* The lives that the messages from the start on say, as text: "1111222". */
static void check_lives(const char *want)
{
    struct plog_cursor c;
    struct plog_entry e;
    uint64_t offset = plog_start_offset(l);
    ck_assert_uint_eq(plog_durable(l) - offset, strlen(want));
    if (*want == '\0') {
        ck_assert_int_eq(plog_cursor_at_offset(l, offset, 1, &c), ERR_NOT_FOUND);
        return;
    }
    ck_assert_int_eq(plog_cursor_at_offset(l, offset, 8192, &c), ERR_OK);
    for (; *want != '\0'; want++) {
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_int_eq((char)('0' + le_load_u32(e.payload.at)), *want);
    }
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_NOT_FOUND);
    plog_cursor_close(&c);
}

static void checkpoint(void)
{
    plog_checkpoint_ask(store);
    plog_checkpoint_if_due(store);
}

static void check_snapshot(enum err want, const char *state)
{
    struct buf b = BUF_EMPTY;
    uint64_t offset;
    ck_assert_int_eq(plog_snapshot_read(l, &b, &offset), want);
    if (want == ERR_OK)
        ck_assert(bytes_equal(buf_bytes(&b), bytes_of_text(state)));
    buf_fini(&b);
}

/* ---- cuts ---- */

START_TEST(what_is_cut_stays_gone_and_what_follows_takes_its_place)
{
    append(5, 1, 1);
    plog_commit_by_owner(l, 2);
    ck_assert_int_eq(plog_truncate(l, 3), ERR_OK);
    ck_assert_uint_eq(plog_end(l), 3);
    ck_assert_uint_eq(plog_end_number(l), 3);
    append(2, 2, 2);
    plog_commit_to(l, 5);
    check_lives("11122");
    power_cut();
    check_lives("11122");
    stop_and_start();
    check_lives("11122");
}
END_TEST

START_TEST(a_cut_below_the_mark_goes_through_segments)
{
    append(50, 1, 1);
    stop_and_start();
    plog_commit_by_owner(l, 0);
    ck_assert_int_eq(plog_truncate(l, 20), ERR_OK);
    append(3, 2, 1);
    ck_assert_int_eq(plog_truncate(l, 22), ERR_OK);
    append(30, 3, 1);
    power_cut();
    check_lives("1111111111111111111122333333333333333333333333333333");
    stop_and_start();
    plog_commit_by_owner(l, 0);
    ck_assert_int_eq(plog_truncate(l, 0), ERR_OK);
    power_cut();
    check_lives("");
    append(1, 4, 1);
    stop_and_start();
    check_lives("4");
}
END_TEST

START_TEST(neither_what_is_committed_nor_half_a_batch_is_cut)
{
    struct plog_batch *b = plog_batch_new(0);
    append(2, 1, 1);
    plog_batch_put(b, 1, BYTES_OF("a"));
    plog_batch_put(b, 1, BYTES_OF("b"));
    plog_append(l, b, 1, 1, true);
    plog_commit(store, true);
    /* Without the owner's word all is committed. */
    ck_assert_int_eq(plog_truncate(l, 2), ERR_INVALID);
    plog_commit_by_owner(l, 2);
    ck_assert_int_eq(plog_truncate(l, 1), ERR_INVALID);
    ck_assert_int_eq(plog_truncate(l, 3), ERR_INVALID);
    ck_assert_int_eq(plog_truncate(l, 5), ERR_INVALID);
    stop_and_start();
    plog_commit_by_owner(l, 2);
    ck_assert_int_eq(plog_truncate(l, 3), ERR_INVALID);
    ck_assert_int_eq(plog_truncate(l, 4), ERR_OK);
    ck_assert_uint_eq(plog_end(l), 4);
    ck_assert_int_eq(plog_truncate(l, 2), ERR_OK);
    ck_assert_uint_eq(plog_end(l), 2);
}
END_TEST

START_TEST(what_a_cursor_has_read_ahead_is_not_handed_out_after_a_cut)
{
    struct plog_cursor c;
    struct plog_entry e;
    append(10, 1, 1);
    stop_and_start();
    plog_commit_by_owner(l, 5);
    ck_assert_int_eq(plog_cursor_at_offset(l, 3, 4096, &c), ERR_OK);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_int_eq(plog_truncate(l, 5), ERR_OK);
    append(50, 2, 1); /* so many that the first ones are read from the segment */
    checkpoint();
    plog_commit_to(l, 10);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(le_load_u32(e.payload.at), 1);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_uint_eq(le_load_u32(e.payload.at), 2);
    }
    plog_cursor_close(&c);
}
END_TEST

static struct disk spied;
static struct plog_cursor opened;

/* Opens a cursor just before the last segment left is cut. */
static enum err spy_truncate(void *self, int file, uint64_t size)
{
    struct plog_entry e;
    if (opened.log == NULL && l != NULL) {
        ck_assert_int_eq(plog_cursor_at_offset(l, 3, 4096, &opened), ERR_OK);
        ck_assert_int_eq(plog_cursor_next(&opened, &e), ERR_OK);
    }
    return spied.truncate(self, file, size);
}

START_TEST(what_a_cursor_reads_ahead_during_a_cut_is_not_handed_out_after_it)
{
    static struct disk spy;
    struct plog_entry e;
    append(10, 1, 1);
    spy = spied = *options.disk;
    spy.truncate = spy_truncate;
    options.disk = &spy;
    opened = (struct plog_cursor){.log = NULL};
    stop_and_start();
    plog_commit_by_owner(l, 5);
    ck_assert_int_eq(plog_truncate(l, 5), ERR_OK);
    ck_assert_ptr_eq(opened.log, l);
    append(50, 2, 1); /* so many that the first ones are read from the segment */
    checkpoint();
    plog_commit_to(l, 10);
    for (unsigned i = 4; i < 10; i++) {
        ck_assert_int_eq(plog_cursor_next(&opened, &e), ERR_OK);
        ck_assert_uint_eq(le_load_u32(e.payload.at), i < 5 ? 1 : 2);
    }
    plog_cursor_close(&opened);
}
END_TEST

START_TEST(snapshots_above_a_cut_go_with_it)
{
    append(10, 1, 1);
    ck_assert_int_eq(plog_snapshot_write(l, 2, BYTES_OF("two")), ERR_OK);
    ck_assert_int_eq(plog_snapshot_write(l, 8, BYTES_OF("eight")), ERR_OK);
    plog_commit_by_owner(l, 0);
    ck_assert_int_eq(plog_truncate(l, 7), ERR_OK);
    check_snapshot(ERR_OK, "two");
    append(5, 2, 1);
    check_snapshot(ERR_OK, "two");
    power_cut();
    check_snapshot(ERR_OK, "two");
    ck_assert_uint_eq(plog_snapshot_newest(l), 2);
}
END_TEST

START_TEST(a_cut_cuts_the_epochs_too)
{
    size_t n;
    append(5, 1, 1);
    append(5, 1, 2);
    ck_assert_uint_eq(plog_epochs(l, &n)[1].start, 5);
    plog_commit_by_owner(l, 0);
    ck_assert_int_eq(plog_truncate(l, 5), ERR_OK);
    plog_epochs(l, &n);
    ck_assert_uint_eq(n, 1);
    append(1, 1, 3);
    ck_assert_uint_eq(plog_epochs(l, &n)[1].epoch, 3);
    ck_assert_uint_eq(plog_epochs(l, &n)[1].start, 5);
    ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(a_released_log_that_is_cut_to_its_start_still_knows_the_epoch_before)
{
    size_t n;
    append(50, 1, 3);
    checkpoint();
    ck_assert_int_eq(plog_release(l, 30, 30), ERR_OK);
    uint64_t start = plog_start_offset(l);
    ck_assert_uint_gt(start, 0);
    ck_assert_uint_eq(plog_start_last_epoch(l), 3);
    plog_commit_by_owner(l, start);
    ck_assert_int_eq(plog_truncate(l, start), ERR_OK);
    plog_epochs(l, &n);
    ck_assert_uint_eq(n, 0);
    for (unsigned life = 0; life < 2; life++) {
        if (life == 0)
            power_cut();
        else
            stop_and_start();
        ck_assert_uint_eq(plog_start_offset(l), start);
        ck_assert_uint_eq(plog_end(l), start);
        ck_assert_uint_eq(plog_start_last_epoch(l), 3);
    }
}
END_TEST

START_TEST(a_release_leaves_the_epoch_of_what_it_took)
{
    append(13, 1, 3);
    checkpoint();
    append(40, 1, 4);
    checkpoint();
    do
        ck_assert_int_eq(plog_release(l, plog_start_number(l) + 15, UINT64_MAX), ERR_OK);
    while (plog_start_offset(l) < 13);
    uint64_t epoch = plog_start_offset(l) == 13 ? 3 : 4;
    ck_assert_uint_eq(plog_start_last_epoch(l), epoch);
    power_cut();
    ck_assert_uint_eq(plog_start_last_epoch(l), epoch);
}
END_TEST

/* ---- new beginnings ---- */

START_TEST(a_log_begins_anew_in_one_step_and_keeps_nothing)
{
    append(50, 1, 1);
    checkpoint();
    ck_assert_int_eq(plog_snapshot_write(l, 40, BYTES_OF("old")), ERR_OK);
    append(1, 1, 1);
    uint64_t incarnation = plog_incarnation(l);
    ck_assert_int_eq(plog_begin_anew(l, 30, 20, 7, 32, BYTES_OF("new")), ERR_OK);
    for (unsigned life = 0; life < 3; life++) {
        ck_assert_uint_eq(plog_start_offset(l), 30);
        ck_assert_uint_eq(plog_start_number(l), 20);
        ck_assert_uint_eq(plog_end(l), 30);
        ck_assert_uint_eq(plog_end_number(l), 20);
        ck_assert_uint_eq(plog_start_last_epoch(l), 7);
        ck_assert_uint_eq(plog_incarnation(l), incarnation);
        check_snapshot(ERR_NOT_FOUND, NULL);
        check_lives("");
        if (life == 0)
            power_cut();
        else
            stop_and_start();
    }
    append(1, 2, 7);
    check_snapshot(ERR_NOT_FOUND, NULL);
    append(1, 2, 7);
    check_snapshot(ERR_OK, "new");
    power_cut();
    check_snapshot(ERR_OK, "new");
    check_lives("22");
}
END_TEST

START_TEST(a_cursor_of_before_a_new_beginning_is_told_that_all_is_gone)
{
    struct plog_cursor c;
    struct plog_entry e;
    append(5, 1, 1);
    ck_assert_int_eq(plog_cursor_at_offset(l, 0, 1, &c), ERR_OK);
    ck_assert_int_eq(plog_begin_anew(l, 0, 0, 0, 0, BYTES_NONE), ERR_OK);
    append(5, 2, 1);
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_GONE);
    plog_cursor_close(&c);
    check_lives("22222");
}
END_TEST

START_TEST(a_damaged_log_is_sound_when_it_has_begun_anew)
{
    const char *where;
    append(30, 1, 1);
    plog_close(store);
    fault_disk_delete(disk, "t/01000000000000000000000000000000/0/00000000000000000015.log");
    open_store();
    ck_assert(plog_log_damaged(l, &where));
    ck_assert_int_eq(plog_adopt(l, 77), ERR_OK);
    ck_assert_int_eq(plog_begin_anew(l, 9, 9, 1, 0, BYTES_NONE), ERR_OK);
    ck_assert(!plog_log_damaged(l, &where));
    append(2, 2, 1);
    check_lives("22");
    power_cut();
    ck_assert(!plog_log_damaged(l, &where));
    check_lives("22");
    ck_assert_uint_eq(plog_incarnation(l), 77);
}
END_TEST

START_TEST(a_beginning_that_makes_no_sense_is_refused)
{
    append(1, 1, 1);
    ck_assert_int_eq(plog_begin_anew(l, 5, 6, 1, 0, BYTES_NONE), ERR_INVALID);
    ck_assert_int_eq(plog_begin_anew(l, 5, 5, 1, 4, BYTES_NONE), ERR_INVALID);
    check_lives("1");
}
END_TEST

/* ---- incarnations ---- */

START_TEST(an_adopted_log_is_not_believed_until_it_begins_anew)
{
    uint64_t drawn = plog_incarnation(l);
    ck_assert_uint_ne(drawn, 0);
    ck_assert(!plog_is_adopted(l));
    append(3, 1, 1);
    stop_and_start();
    ck_assert_uint_eq(plog_incarnation(l), drawn);
    ck_assert_int_eq(plog_adopt(l, 0), ERR_INVALID);
    ck_assert_int_eq(plog_adopt(l, 1234), ERR_OK);
    for (unsigned life = 0; life < 2; life++) {
        ck_assert_uint_eq(plog_incarnation(l), 1234);
        ck_assert(plog_is_adopted(l));
        power_cut();
    }
    ck_assert_int_eq(plog_begin_anew(l, 0, 0, 0, 0, BYTES_NONE), ERR_OK);
    for (unsigned life = 0; life < 2; life++) {
        ck_assert_uint_eq(plog_incarnation(l), 1234);
        ck_assert(!plog_is_adopted(l));
        power_cut();
    }
}
END_TEST

START_TEST(an_adoption_that_found_no_room_has_not_happened_for_the_next_start_either)
{
    uint64_t drawn = plog_incarnation(l);
    append(1, 1, 1);
    for (uint64_t n = 0;; n++) {
        fault_disk_fail_in(disk, n, ERR_NO_SPACE, false);
        enum err e = plog_adopt(l, 1000 + n);
        bool over = !fault_disk_has_failed(disk);
        fault_disk_fail_never(disk);
        if (e == ERR_NO_SPACE)
            ck_assert_uint_eq(plog_incarnation(l), drawn);
        else
            ck_assert_int_eq(e, over ? ERR_OK : ERR_FAILED);
        plog_abandon(store);
        fault_disk_kill(disk);
        open_store();
        if (e == ERR_NO_SPACE)
            ck_assert_uint_eq(plog_incarnation(l), drawn);
        drawn = plog_incarnation(l);
        if (over)
            break;
    }
}
END_TEST

START_TEST(no_two_logs_have_the_same_incarnation)
{
    uint64_t first = plog_incarnation(l);
    ck_assert_int_eq(plog_remove(store, l), ERR_OK);
    ck_assert_int_eq(plog_create(store, (struct plog_id){{1}, 0}, &l), ERR_OK);
    ck_assert_uint_ne(plog_incarnation(l), first);
}
END_TEST

/* ---- what the page cache has and the disk has not ---- */

static enum err do_cut(void)
{
    plog_commit_by_owner(l, 0);
    return plog_truncate(l, 10);
}

static enum err do_begin(void)
{
    return plog_begin_anew(l, 0, 0, 0, 0, BYTES_NONE);
}

/* The operation m of `change` fails and the process ends; the next start comes as far as its
 * operation n, where the power goes. Answers whether there were so many; *longer: `change` has more
 * than m. */
static bool start_after_failed(enum err (*change)(void), unsigned left, uint64_t m, uint64_t n,
                               bool *longer)
{
    teardown();
    setup();
    append(40, 1, 1);
    checkpoint();
    fault_disk_fail_in(disk, m, ERR_IO, false);
    enum err e = change();
    *longer = fault_disk_has_failed(disk);
    ck_assert(*longer || e == ERR_OK);
    fault_disk_fail_never(disk);
    plog_abandon(store);
    fault_disk_kill(disk);
    fault_disk_fail_in(disk, n, ERR_IO, true);
    if (plog_open(&options, &store) == ERR_OK)
        plog_abandon(store);
    bool cut_off = fault_disk_has_failed(disk);
    fault_disk_power_cut(disk);
    open_store();
    ck_assert(!plog_log_damaged(l, &(const char *){NULL}));
    ck_assert(plog_durable(l) == left || (plog_durable(l) == 40 && e != ERR_OK));
    check_lives(&"1111111111111111111111111111111111111111"[40 - plog_durable(l)]);
    return cut_off;
}

START_TEST(a_start_believes_a_cut_or_a_beginning_only_once_it_is_on_the_disk)
{
    bool longer = true;
    for (uint64_t m = 0; longer; m++)
        for (uint64_t n = 0; start_after_failed(do_cut, 10, m, n, &longer); n++)
            continue;
    longer = true;
    for (uint64_t m = 0; longer; m++)
        for (uint64_t n = 0; start_after_failed(do_begin, 0, m, n, &longer); n++)
            continue;
}
END_TEST

START_TEST(what_a_start_has_read_of_an_adoption_is_not_taken_back)
{
    bool longer = true;
    append(1, 1, 1);
    stop_and_start();
    for (uint64_t m = 0; longer; m++) {
        fault_disk_fail_in(disk, m, ERR_IO, false);
        enum err e = plog_adopt(l, 1000 + m);
        longer = fault_disk_has_failed(disk);
        ck_assert(longer || e == ERR_OK);
        fault_disk_fail_never(disk);
        plog_abandon(store);
        fault_disk_kill(disk);
        open_store();
        uint64_t seen = plog_incarnation(l);
        power_cut();
        ck_assert_uint_eq(plog_incarnation(l), seen);
    }
}
END_TEST

/* ---- as seen without a broker ---- */

START_TEST(fsck_and_dump_see_the_log_that_the_next_start_will_see)
{
    struct findings findings = {0};
    struct offline_store seen;
    struct plog_id id = plog_log_id(l);
    size_t n;
    append(30, 1, 1);
    checkpoint();
    append(2, 1, 1);
    plog_commit_by_owner(l, 0);
    ck_assert_int_eq(plog_truncate(l, 10), ERR_OK);
    append(3, 2, 2);
    offline_store_read(options.disk, &findings, &seen);
    const struct offline_log *log = offline_store_find(&seen, id);
    ck_assert_uint_eq(log->mark.end.offset, 10);
    offline_store_appends(&seen, log, &n);
    ck_assert_uint_eq(n, 3);
    offline_store_fini(&seen);
    ck_assert_int_eq(plog_begin_anew(l, 50, 40, 2, 0, BYTES_NONE), ERR_OK);
    append(1, 3, 2);
    offline_store_read(options.disk, &findings, &seen);
    log = offline_store_find(&seen, id);
    ck_assert_uint_eq(log->mark.end.offset, 50);
    ck_assert_uint_eq(log->mark.start_number, 40);
    offline_store_appends(&seen, log, &n);
    ck_assert_uint_eq(n, 1);
    offline_store_fini(&seen);
    ck_assert_uint_eq(findings.faults, 0);
    findings_fini(&findings);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog cuts");
    TCase *t = tcase_create("cuts");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_is_cut_stays_gone_and_what_follows_takes_its_place);
    tcase_add_test(t, a_cut_below_the_mark_goes_through_segments);
    tcase_add_test(t, neither_what_is_committed_nor_half_a_batch_is_cut);
    tcase_add_test(t, what_a_cursor_has_read_ahead_is_not_handed_out_after_a_cut);
    tcase_add_test(t, what_a_cursor_reads_ahead_during_a_cut_is_not_handed_out_after_it);
    tcase_add_test(t, snapshots_above_a_cut_go_with_it);
    tcase_add_test(t, a_cut_cuts_the_epochs_too);
    tcase_add_test(t, a_released_log_that_is_cut_to_its_start_still_knows_the_epoch_before);
    tcase_add_test(t, a_release_leaves_the_epoch_of_what_it_took);
    tcase_add_test(t, a_log_begins_anew_in_one_step_and_keeps_nothing);
    tcase_add_test(t, a_cursor_of_before_a_new_beginning_is_told_that_all_is_gone);
    tcase_add_test(t, a_damaged_log_is_sound_when_it_has_begun_anew);
    tcase_add_test(t, a_beginning_that_makes_no_sense_is_refused);
    tcase_add_test(t, an_adopted_log_is_not_believed_until_it_begins_anew);
    tcase_add_test(t, an_adoption_that_found_no_room_has_not_happened_for_the_next_start_either);
    tcase_add_test(t, no_two_logs_have_the_same_incarnation);
    tcase_add_test(t, a_start_believes_a_cut_or_a_beginning_only_once_it_is_on_the_disk);
    tcase_add_test(t, what_a_start_has_read_of_an_adoption_is_not_taken_back);
    tcase_add_test(t, fsck_and_dump_see_the_log_that_the_next_start_will_see);
    suite_add_tcase(s, t);
    return s;
}

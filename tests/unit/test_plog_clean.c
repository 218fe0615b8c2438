// SPDX-License-Identifier: Apache-2.0
/* The cleaner of the log, sentence by sentence; test_plog_history.c has it in random histories. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "lib/fault_disk.h"
#include "lib/runner.h"
#include "plog/batch.h"
#include "plog/plog.h"

enum { MESSAGE_BYTES = 1000, SEGMENT_BYTES = 16384, SEGMENTS_MAX = 64 };

static struct fault_disk *disk;
static struct plog_options options;
static struct plog *store;
static struct plog_log *logged;

/* What the owner's state would say. */
static struct {
    bool (*wanted)(uint64_t number);
    uint64_t end; /* answered instead of the log's end when not 0 */
    size_t control_bytes;
} owner;

static bool every_tenth(uint64_t number)
{
    return number % 10 == 3;
}

static bool every_tenth_below_500(uint64_t number)
{
    return number < 500 && every_tenth(number);
}

static bool none(uint64_t number)
{
    (void)number;
    return false;
}

static bool all(uint64_t number)
{
    (void)number;
    return true;
}

static bool the_fifth(uint64_t number)
{
    return number == 5;
}

static uint64_t ask(void *self, uint64_t first, size_t n, bool *wanted)
{
    ck_assert_ptr_eq(self, &owner);
    for (size_t i = 0; i < n; i++)
        wanted[i] = owner.wanted(first + i);
    return owner.end == 0 ? plog_durable(logged) : owner.end;
}

static const struct plog_wanted wanted = {&owner, ask};

static void quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

static void create(void)
{
    ck_assert_int_eq(plog_create(store, (struct plog_id){{1}, 0}, &logged), ERR_OK);
}

static void setup(void)
{
    quiet();
    disk = fault_disk_new(test_seed());
    plog_options_default(&options);
    options.disk = fault_disk_of(disk);
    options.segment_bytes = SEGMENT_BYTES;
    options.cache_bytes = 4096;
    options.journal_first_bytes = 65536;
    options.journal_bytes = 131072;
    owner.wanted = every_tenth;
    owner.end = 0;
    owner.control_bytes = 200;
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    create();
}

static void teardown(void)
{
    if (store != NULL)
        plog_abandon(store);
    store = NULL;
    fault_disk_free(disk);
}

/* A batch of messages of n bytes that say their numbers, each behind a control record. */
static void append(unsigned messages, size_t n)
{
    static const char control[200];
    char *payload = mem_new(n + 8);
    struct plog_batch *b = plog_batch_new(n);
    for (unsigned i = 0; i < messages; i++) {
        plog_batch_put(b, 2, (struct bytes){control, owner.control_bytes});
        le_store_u64(payload, plog_end_number(logged) + i);
        plog_batch_put(b, 1, (struct bytes){payload, n});
    }
    plog_append(logged, b, 1, 1, true);
    mem_free(payload);
    plog_commit(store, false);
}

static void snapshot(void)
{
    ck_assert_int_eq(plog_snapshot_write(logged, plog_durable(logged), BYTES_OF("state")), ERR_OK);
}

static void found(void *arg, struct plog_log *l)
{
    (void)arg;
    logged = l;
}

static void reopen(bool cleanly)
{
    if (cleanly)
        plog_close(store);
    else
        plog_abandon(store);
    store = NULL;
    if (!cleanly)
        fault_disk_power_cut(disk);
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, found, NULL);
}

/* A log of n messages in many segments, all but the last below two snapshots and the mark. */
static void fill(unsigned n, size_t bytes)
{
    for (unsigned i = 0; i < n; i++)
        append(1, bytes);
    snapshot();
    append(1, bytes);
    snapshot();
    reopen(true);
}

static struct plog_segment seen[SEGMENTS_MAX];

/* All segments, into `seen`; answers how many. */
static size_t look(void)
{
    size_t n;
    ck_assert_int_eq(plog_segments(logged, 0, seen, SEGMENTS_MAX, &n), ERR_OK);
    ck_assert_uint_lt(n, SEGMENTS_MAX);
    return n;
}

static size_t cleanable(uint64_t *end)
{
    size_t n = look(), count = 0;
    while (count < n && seen[count].cleanable)
        count++;
    *end = count == 0 ? 0 : seen[count - 1].end_offset;
    return count;
}

static enum err finish(struct plog_clean *c, enum plog_clean_state *state)
{
    enum err e;
    do {
        e = plog_clean_step(c, 3000, state);
    } while (e == ERR_OK && *state == PLOG_CLEAN_MORE);
    return e;
}

/* Cleans [offset, end) to its end; the state it comes to. */
static enum err clean(uint64_t offset, uint64_t end, uint64_t bytes_max,
                      enum plog_clean_state *state)
{
    struct plog_clean *c;
    enum err e = plog_clean_begin(logged, offset, end, bytes_max, wanted, &c);
    if (e != ERR_OK)
        return e;
    e = finish(c, state);
    plog_clean_free(c);
    return e;
}

static void clean_all(void)
{
    uint64_t end;
    enum plog_clean_state state;
    ck_assert_uint_gt(cleanable(&end), 2);
    ck_assert_int_eq(clean(0, end, UINT64_MAX, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
}

static void clean_again(uint64_t end)
{
    enum plog_clean_state state;
    ck_assert_int_eq(clean(0, end, UINT64_MAX, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
}

static enum err read_number(uint64_t number)
{
    struct plog_cursor c;
    struct plog_entry e;
    enum err err = plog_cursor_at_number(logged, number, 1, &c);
    if (err != ERR_OK)
        return err;
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(e.type, 1);
    ck_assert_uint_eq(e.number, number);
    ck_assert_uint_eq(le_load_u64(e.payload.at), number);
    plog_cursor_close(&c);
    return ERR_OK;
}

/* Below number `end`, exactly the wanted messages are there, by number and in order. */
static void check_exactly_wanted(uint64_t end)
{
    struct plog_cursor c;
    struct plog_entry e;
    for (uint64_t number = 0; number < end; number++)
        ck_assert_int_eq(read_number(number), owner.wanted(number) ? ERR_OK : ERR_GONE);
    ck_assert_int_eq(plog_cursor_at_offset(logged, 0, 10000, &c), ERR_OK);
    for (uint64_t number = 0; number < end; number++) {
        if (!owner.wanted(number))
            continue;
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_uint_eq(e.type, 1);
        ck_assert_uint_eq(e.number, number);
        ck_assert_uint_eq(e.offset, 2 * number + 1);
    }
    plog_cursor_close(&c);
}

/* From number `from` on everything is there. */
static void check_all_from(uint64_t from)
{
    for (uint64_t number = from; number < plog_durable_number(logged); number++)
        ck_assert_int_eq(read_number(number), ERR_OK);
}

static void count_files(void *arg, const char *path, uint64_t bytes)
{
    (void)bytes;
    if (strncmp(path, "t/", 2) == 0 && strstr(path, ".snap") == NULL)
        (*(unsigned *)arg)++;
}

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
    fill(200, MESSAGE_BYTES);
    struct plog_size before = plog_log_size(logged);
    uint64_t end;
    cleanable(&end);
    clean_all();
    struct plog_size after = plog_log_size(logged);
    ck_assert_uint_lt(after.bytes, before.bytes / 10 + (size_t)2 * SEGMENT_BYTES);
    check_exactly_wanted(end / 2);
    check_all_from(end / 2);
    ck_assert_uint_eq(plog_end_number(logged), 201);
    append(1, MESSAGE_BYTES);
    ck_assert_int_eq(read_number(201), ERR_OK);
}
END_TEST

START_TEST(an_offset_in_a_gap_leads_to_the_first_record_behind_it)
{
    fill(200, MESSAGE_BYTES);
    clean_all();
    struct plog_cursor c;
    struct plog_entry e;
    for (uint64_t offset = 8; offset < 27; offset++) {
        ck_assert_int_eq(plog_cursor_at_offset(logged, offset, 10, &c), ERR_OK);
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

START_TEST(neighbours_become_one_segment_and_can_be_cleaned_again)
{
    uint64_t end;
    fill(200, MESSAGE_BYTES);
    size_t were = cleanable(&end);
    clean_all();
    uint64_t same;
    ck_assert_uint_eq(cleanable(&same), 1);
    ck_assert_uint_eq(same, end);
    look();
    ck_assert_uint_eq(seen[0].stored, (end / 2 + 6) / 10);
    ck_assert_uint_eq(seen[0].end_number, end / 2);
    owner.wanted = none;
    enum plog_clean_state state;
    ck_assert_int_eq(clean(0, end, 1000, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
    ck_assert_uint_gt(were, 2);
    struct plog_cursor c;
    ck_assert_int_eq(plog_cursor_at_offset(logged, 0, 10, &c), ERR_OK);
    ck_assert_uint_eq(c.offset, end);
    plog_cursor_close(&c);
    check_all_from(end / 2);
    look();
    ck_assert_uint_eq(seen[0].bytes, BATCH_HEADER_BYTES); /* all of one epoch: one GAP */
}
END_TEST

START_TEST(a_cleaned_log_outlives_power_cut_and_clean_stop)
{
    fill(200, MESSAGE_BYTES);
    uint64_t end;
    cleanable(&end);
    clean_all();
    for (int cleanly = 0; cleanly < 2; cleanly++) {
        reopen(cleanly);
        check_exactly_wanted(end / 2);
        check_all_from(end / 2);
        append(1, MESSAGE_BYTES);
    }
    struct buf state = BUF_EMPTY;
    uint64_t offset;
    ck_assert_int_eq(plog_snapshot_read(logged, &state, &offset), ERR_OK);
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
    fill(200, MESSAGE_BYTES);
    for (int i = 0; i < CURSORS; i++) {
        ck_assert_int_eq(plog_cursor_at_number(logged, begins[i], 100, &c[i]), ERR_OK);
        ck_assert_int_eq(plog_cursor_next(&c[i], &e), ERR_OK);
    }
    owner.wanted = all;
    clean_all();
    for (int i = 0; i < CURSORS; i++) {
        ck_assert_int_eq(plog_cursor_next(&c[i], &e), ERR_OK);
        ck_assert_uint_eq(e.offset, 2 * begins[i] + 2);
    }
    owner.wanted = every_tenth;
    uint64_t end;
    enum plog_clean_state state;
    cleanable(&end);
    ck_assert_int_eq(clean(0, end, UINT64_MAX, &state), ERR_OK);
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
        append(1, MESSAGE_BYTES);
    snapshot();
    uint64_t older = plog_durable(logged);
    ck_assert_uint_eq(cleanable(&end), 0);
    for (unsigned i = 0; i < 60; i++)
        append(1, MESSAGE_BYTES);
    snapshot();
    reopen(true);
    size_t n = look();
    for (size_t i = 0; i < n; i++) {
        bool may = i + 1 < n && seen[i].end_offset <= older;
        ck_assert(seen[i].cleanable == may);
        enum err e = clean(seen[i].base_offset, seen[i].end_offset, UINT64_MAX, &state);
        ck_assert_int_eq(e, may ? ERR_OK : ERR_INVALID);
    }
    ck_assert_int_eq(clean(seen[0].base_offset + 1, seen[0].end_offset, UINT64_MAX, &state),
                     ERR_INVALID);
    ck_assert_int_eq(clean(seen[0].base_offset, seen[0].end_offset - 1, UINT64_MAX, &state),
                     ERR_INVALID);
    check_all_from(older / 2);
}
END_TEST

START_TEST(nothing_leaves_before_what_finished_it_is_durable)
{
    uint64_t end;
    enum plog_clean_state state;
    struct plog_clean *c;
    fill(200, MESSAGE_BYTES);
    cleanable(&end);
    owner.end = plog_end(logged) + 2;
    ck_assert_int_eq(plog_clean_begin(logged, 0, end, UINT64_MAX, wanted, &c), ERR_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(finish(c, &state), ERR_OK);
        ck_assert_int_eq(state, PLOG_CLEAN_WAITS);
        check_all_from(0);
    }
    append(1, 10);
    ck_assert_int_eq(finish(c, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
    plog_clean_free(c);
    check_exactly_wanted(end / 2);
}
END_TEST

START_TEST(what_would_not_get_small_enough_is_left_as_it_is)
{
    uint64_t end;
    enum plog_clean_state state;
    fill(200, MESSAGE_BYTES);
    cleanable(&end);
    uint64_t live = (end / 2 + 6) / 10 * (MESSAGE_BYTES + 3 + 2 * BATCH_HEADER_BYTES);
    unsigned files = 0, files_after = 0;
    fault_disk_each(disk, count_files, &files);
    uint64_t operations = fault_disk_operations(disk);
    ck_assert_int_eq(clean(0, end, live / 2, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_USELESS);
    fault_disk_each(disk, count_files, &files_after);
    ck_assert_uint_eq(files, files_after);
    ck_assert_uint_eq(fault_disk_operations(disk), operations); /* nothing was even written */
    check_all_from(0);
    ck_assert_int_eq(clean(0, end, live + 2 * BATCH_HEADER_BYTES, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
}
END_TEST

START_TEST(a_batch_that_would_not_get_smaller_stays_whole)
{
    owner.control_bytes = 0;
    for (unsigned i = 0; i < 100; i++)
        append(20, 10);
    snapshot();
    append(400, 100);
    snapshot();
    reopen(true);
    uint64_t end, before = plog_log_size(logged).bytes;
    enum plog_clean_state state;
    owner.wanted = every_tenth_below_500;
    ck_assert_uint_gt(cleanable(&end), 1);
    ck_assert_uint_gt(end / 2, 1000);
    ck_assert_int_eq(clean(0, end, UINT64_MAX, &state), ERR_OK);
    /* Two wanted ones of twenty: five headers would cost more than the bytes that would go. */
    for (uint64_t number = 0; number < end / 2; number++)
        ck_assert_int_eq(read_number(number), number < 500 ? ERR_OK : ERR_GONE);
    ck_assert_uint_lt(plog_log_size(logged).bytes, before);
    ck_assert_int_eq(clean(0, end, UINT64_MAX, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
    ck_assert_int_eq(read_number(3), ERR_OK);
}
END_TEST

/* ---- when things go wrong ---- */

/* Cleans on a disk whose n-th operation fails, then starts again. False: nothing failed. */
static bool clean_with_fault(uint64_t n, uint64_t end, enum err e, bool power)
{
    enum plog_clean_state state;
    fault_disk_fail_in(disk, n, e, power);
    enum err got = clean(0, end, UINT64_MAX, &state);
    bool failed = fault_disk_has_failed(disk);
    fault_disk_fail_never(disk);
    if (!failed)
        ck_assert_int_eq(got, ERR_OK);
    plog_abandon(store);
    if (power)
        fault_disk_power_cut(disk);
    else
        fault_disk_kill(disk);
    ck_assert_int_eq(plog_open(&options, &store), ERR_OK);
    plog_each(store, found, NULL);
    return failed;
}

/* Whether the messages that are there are all, or exactly the wanted ones. */
static void check_all_or_wanted(uint64_t end)
{
    if (read_number(0) == ERR_OK)
        check_all_from(0);
    else
        check_exactly_wanted(end / 2);
    check_all_from(end / 2);
}

START_TEST(a_crash_at_any_operation_leaves_all_or_exactly_the_wanted)
{
    static const struct {
        enum err e;
        bool power;
    } ways[] = {{ERR_IO, true}, {ERR_IO, false}, {ERR_NO_SPACE, false}};
    fill(80, MESSAGE_BYTES);
    uint64_t end, n = 0;
    ck_assert_uint_gt(cleanable(&end), 2);
    while (true) {
        bool failed = clean_with_fault(n++, end, ways[_i].e, ways[_i].power);
        check_all_or_wanted(end);
        unsigned files = 0;
        fault_disk_each(disk, count_files, &files);
        size_t segments = plog_log_size(logged).segments;
        ck_assert_uint_le(files, 2 * segments);
        if (!failed)
            break;
        /* Back to the log that is not cleaned, on a new disk. */
        plog_abandon(store);
        fault_disk_free(disk);
        setup();
        fill(80, MESSAGE_BYTES);
    }
    ck_assert_uint_gt(n, 15); /* write, sync, two renames, four syncs of the folder, removals … */
    check_exactly_wanted(end / 2);
}
END_TEST

START_TEST(a_crash_while_a_start_finishes_a_swap_is_finished_by_the_next)
{
    fill(80, MESSAGE_BYTES);
    uint64_t end;
    cleanable(&end);
    for (uint64_t n = 0, failed = true; failed; n++) {
        enum plog_clean_state state;
        fault_disk_fail_in(disk, n, ERR_IO, true);
        enum err e = clean(0, end, UINT64_MAX, &state);
        failed = fault_disk_has_failed(disk);
        ck_assert(failed || e == ERR_OK);
        plog_abandon(store);
        fault_disk_power_cut(disk);
        /* Each start gets a little further before the power fails again. */
        for (uint64_t k = 0;; k += 3) {
            fault_disk_fail_in(disk, k, ERR_IO, true);
            e = plog_open(&options, &store);
            if (!fault_disk_has_failed(disk))
                break;
            if (e == ERR_OK)
                plog_abandon(store);
            store = NULL;
            fault_disk_power_cut(disk);
        }
        fault_disk_fail_never(disk);
        ck_assert_int_eq(e, ERR_OK);
        plog_each(store, found, NULL);
        check_all_or_wanted(end);
        if (!failed)
            break;
        plog_abandon(store);
        fault_disk_free(disk);
        setup();
        fill(80, MESSAGE_BYTES);
    }
    check_exactly_wanted(end / 2);
}
END_TEST

START_TEST(a_full_disk_ends_a_cleaning_and_nothing_else)
{
    uint64_t end;
    enum plog_clean_state state;
    fill(200, MESSAGE_BYTES);
    cleanable(&end);
    fault_disk_fail_in(disk, 1, ERR_NO_SPACE, false);
    ck_assert_int_eq(clean(0, end, UINT64_MAX, &state), ERR_NO_SPACE);
    fault_disk_fail_never(disk);
    ck_assert(!plog_failed(store));
    check_all_from(0);
    append(1, MESSAGE_BYTES);
    clean_all();
    check_exactly_wanted(end / 2);
}
END_TEST

START_TEST(a_removed_log_ends_its_cleaning)
{
    uint64_t end;
    struct plog_clean *c;
    enum plog_clean_state state;
    fill(200, MESSAGE_BYTES);
    cleanable(&end);
    ck_assert_int_eq(plog_clean_begin(logged, 0, end, UINT64_MAX, wanted, &c), ERR_OK);
    for (unsigned i = 0; i < 120; i++)
        ck_assert_int_eq(plog_clean_step(c, 3000, &state), ERR_OK);
    ck_assert_int_eq(plog_remove(store, logged), ERR_OK);
    create();
    ck_assert_int_eq(plog_clean_step(c, 3000, &state), ERR_GONE);
    plog_clean_free(c);
    append(1, 10);
    ck_assert_int_eq(read_number(0), ERR_OK);
}
END_TEST

START_TEST(a_released_segment_ends_its_cleaning)
{
    uint64_t end;
    struct plog_clean *c;
    enum plog_clean_state state;
    fill(200, MESSAGE_BYTES);
    cleanable(&end);
    ck_assert_int_eq(plog_clean_begin(logged, 0, end, UINT64_MAX, wanted, &c), ERR_OK);
    for (unsigned i = 0; i < 40; i++)
        ck_assert_int_eq(plog_clean_step(c, 3000, &state), ERR_OK);
    ck_assert_int_eq(plog_release(logged, 50, end), ERR_OK);
    ck_assert_uint_gt(plog_start_number(logged), 20);
    ck_assert_int_eq(finish(c, &state), ERR_GONE);
    plog_clean_free(c);
    check_all_from(plog_start_number(logged));
    unsigned files = 0;
    fault_disk_each(disk, count_files, &files);
    ck_assert_uint_eq(files, 2 * plog_log_size(logged).segments);
}
END_TEST

static void break_index(void *arg, const char *path, uint64_t bytes)
{
    (void)arg;
    if (strstr(path, ".index") != NULL && bytes > 40)
        fault_disk_flip(disk, path, 30, 3);
}

START_TEST(the_index_of_a_cleaned_segment_is_there_and_made_again_when_bad)
{
    uint64_t end;
    fill(300, MESSAGE_BYTES);
    cleanable(&end);
    clean_all();
    static const char name[] = "t/01000000000000000000000000000000/0/00000000000000000000.index";
    struct bytes index = fault_disk_bytes(disk, name);
    ck_assert_uint_gt(index.n, 24 * (size_t)5);
    char *copy = mem_new(index.n);
    size_t n = index.n;
    memcpy(copy, index.at, n);
    fault_disk_each(disk, break_index, NULL);
    check_exactly_wanted(end / 2);
    index = fault_disk_bytes(disk, name);
    ck_assert_uint_eq(index.n, n);
    ck_assert_mem_eq(index.at, copy, n);
    mem_free(copy);
}
END_TEST

START_TEST(release_counts_gaps_as_what_they_stand_for)
{
    uint64_t end;
    fill(200, MESSAGE_BYTES);
    cleanable(&end);
    owner.wanted = the_fifth;
    clean_all();
    ck_assert_int_eq(plog_release(logged, 5, end), ERR_OK);
    ck_assert_uint_eq(plog_start_number(logged), 0);
    ck_assert_int_eq(plog_release(logged, end / 2, end), ERR_OK);
    ck_assert_uint_eq(plog_start_number(logged), end / 2);
    ck_assert_int_eq(read_number(5), ERR_GONE);
    check_all_from(end / 2);
    reopen(false);
    ck_assert_uint_eq(plog_start_number(logged), end / 2);
    check_all_from(end / 2);
}
END_TEST

START_TEST(a_clean_file_that_reaches_above_the_mark_is_damage)
{
    const char *where;
    fill(80, MESSAGE_BYTES);
    fault_disk_plant(disk,
                     "t/01000000000000000000000000000000/0/"
                     "00000000000000000000-00000000000000999999.clean",
                     BYTES_OF("bytes"));
    reopen(true);
    ck_assert(plog_log_damaged(logged, &where));
    ck_assert_ptr_nonnull(strstr(where, "cleaned"));
    ck_assert_uint_gt(fault_disk_bytes(disk, "t/01000000000000000000000000000000/0/"
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
            ck_assert_int_eq(read_number(number), ERR_OK);
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
    struct disk spy = *options.disk;
    spied = spy;
    spy.rename = spy_rename;
    spy.remove = spy_remove;
    spy.sync_dir = spy_sync_dir;
    spied_below = spied_n = 0;
    options.disk = &spy;
    reopen(true);
    fill(300, MESSAGE_BYTES);
    uint64_t end;
    cleanable(&end);
    spied_below = end / 2;
    clean_all();
    ck_assert_uint_gt(spied_n, 20);
    owner.wanted = every_tenth;
    clean_again(end);
    spied_below = 0;
    check_exactly_wanted(end / 2);
    plog_abandon(store);
    store = NULL;
}
END_TEST

static bool stop_reading;

static void *read_always(void *arg)
{
    uint64_t *rounds = arg, end = plog_durable_number(logged);
    while (!__atomic_load_n(&stop_reading, __ATOMIC_ACQUIRE)) {
        struct plog_cursor c;
        struct plog_entry e;
        uint64_t number = 3 + *rounds % 19 * 10, last = 0;
        ck_assert_int_eq(read_number(number), ERR_OK);
        ck_assert_int_eq(plog_cursor_at_number(logged, number, 3000, &c), ERR_OK);
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
    fill(200, MESSAGE_BYTES);
    __atomic_store_n(&stop_reading, false, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_always, &rounds[i]), 0);
    enum plog_clean_state state;
    while (cleanable(&end) > 1) {
        size_t n = look();
        for (size_t i = 0; i + 1 < n && seen[i].cleanable; i++) {
            uint64_t to =
                i % 3 == 1 && seen[i + 1].cleanable ? seen[i + 1].end_offset : seen[i].end_offset;
            ck_assert_int_eq(clean(seen[i].base_offset, to, UINT64_MAX, &state), ERR_OK);
            i += to != seen[i].end_offset;
        }
        if (cleanable(&end) <= 8)
            ck_assert_int_eq(clean(0, end, UINT64_MAX, &state), ERR_OK);
    }
    __atomic_store_n(&stop_reading, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    check_exactly_wanted(end / 2);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog cleaner");
    TCase *t = tcase_create("cleaner");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_gap_says_which_offsets_and_numbers_it_stands_for);
    tcase_add_test(t, a_flag_that_is_not_known_is_a_newer_version);
    tcase_add_test(t, what_is_unwanted_goes_and_the_rest_is_read_as_before);
    tcase_add_test(t, an_offset_in_a_gap_leads_to_the_first_record_behind_it);
    tcase_add_test(t, neighbours_become_one_segment_and_can_be_cleaned_again);
    tcase_add_test(t, a_cleaned_log_outlives_power_cut_and_clean_stop);
    tcase_add_test(t, an_open_cursor_reads_on_over_a_swap);
    tcase_add_test(t, only_what_lies_below_the_older_snapshot_and_the_mark_may_be_cleaned);
    tcase_add_test(t, nothing_leaves_before_what_finished_it_is_durable);
    tcase_add_test(t, what_would_not_get_small_enough_is_left_as_it_is);
    tcase_add_test(t, a_batch_that_would_not_get_smaller_stays_whole);
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
    suite_add_tcase(s, t);
    return s;
}

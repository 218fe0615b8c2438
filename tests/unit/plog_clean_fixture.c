// SPDX-License-Identifier: Apache-2.0
#include "plog_clean_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

struct rig rig;

bool every_tenth(uint64_t number)
{
    return number % 10 == 3;
}

bool every_tenth_below_500(uint64_t number)
{
    return number < 500 && every_tenth(number);
}

bool none(uint64_t number)
{
    (void)number;
    return false;
}

bool all(uint64_t number)
{
    (void)number;
    return true;
}

bool not_the_fifth(uint64_t number)
{
    return number != 5;
}

bool the_fifth(uint64_t number)
{
    return number == 5;
}

static uint64_t ask(void *self, uint64_t first, size_t n, bool *wanted)
{
    ck_assert_ptr_eq(self, &rig);
    for (size_t i = 0; i < n; i++)
        wanted[i] = rig.wanted(first + i);
    return rig.end == 0 ? plog_durable(rig.log) : rig.end;
}

const struct plog_wanted rig_wanted = {&rig, ask, NULL};

static void quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

void rig_create(void)
{
    ck_assert_int_eq(plog_create(rig.store, (struct plog_id){{1}, 0}, &rig.log), ERR_OK);
}

void rig_setup(void)
{
    quiet();
    rig.disk = fault_disk_new(test_seed());
    plog_options_default(&rig.options);
    rig.options.disk = fault_disk_of(rig.disk);
    rig.options.segment_bytes = SEGMENT_BYTES;
    rig.options.cache_bytes = 4096;
    rig.options.journal_first_bytes = 65536;
    rig.options.journal_bytes = 131072;
    rig.wanted = every_tenth;
    rig.end = 0;
    rig.control_bytes = 200;
    ck_assert_int_eq(plog_open(&rig.options, &rig.store), ERR_OK);
    rig_create();
}

void rig_teardown(void)
{
    if (rig.store != NULL)
        plog_abandon(rig.store);
    rig.store = NULL;
    fault_disk_free(rig.disk);
}

void rig_append(unsigned messages, size_t n)
{
    static const char control[200];
    char *payload = mem_new(n + 8);
    struct plog_batch *b = plog_batch_new(n);
    for (unsigned i = 0; i < messages; i++) {
        plog_batch_put(b, 2, (struct bytes){control, rig.control_bytes});
        le_store_u64(payload, plog_end_number(rig.log) + i);
        plog_batch_put(b, 1, (struct bytes){payload, n});
    }
    plog_append(rig.log, b, 1, 1, true);
    mem_free(payload);
    plog_commit(rig.store, false);
}

void rig_snapshot(void)
{
    ck_assert_int_eq(plog_snapshot_write(rig.log, plog_durable(rig.log), BYTES_OF("state")),
                     ERR_OK);
}

void rig_found(void *arg, struct plog_log *l)
{
    (void)arg;
    rig.log = l;
}

void rig_reopen(bool cleanly)
{
    if (cleanly)
        plog_close(rig.store);
    else
        plog_abandon(rig.store);
    rig.store = NULL;
    if (!cleanly)
        fault_disk_power_cut(rig.disk);
    ck_assert_int_eq(plog_open(&rig.options, &rig.store), ERR_OK);
    plog_each(rig.store, rig_found, NULL);
}

void rig_fill(unsigned n, size_t bytes)
{
    for (unsigned i = 0; i < n; i++)
        rig_append(1, bytes);
    rig_snapshot();
    rig_append(1, bytes);
    rig_snapshot();
    rig_reopen(true);
}

size_t rig_look(void)
{
    size_t n;
    ck_assert_int_eq(plog_segments(rig.log, 0, rig.seen, SEGMENTS_MAX, &n), ERR_OK);
    ck_assert_uint_lt(n, SEGMENTS_MAX);
    return n;
}

size_t rig_cleanable(uint64_t *end)
{
    size_t n = rig_look(), count = 0;
    while (count < n && rig.seen[count].cleanable)
        count++;
    *end = count == 0 ? 0 : rig.seen[count - 1].end_offset;
    return count;
}

enum err rig_finish(struct plog_clean *c, enum plog_clean_state *state)
{
    enum err e;
    do {
        e = plog_clean_step(c, 3000, state);
    } while (e == ERR_OK && *state == PLOG_CLEAN_MORE);
    return e;
}

enum err rig_clean(uint64_t offset, uint64_t end, uint64_t bytes_max, enum plog_clean_state *state)
{
    struct plog_clean *c;
    enum err e = plog_clean_begin(rig.log, offset, end, bytes_max, rig_wanted, &c);
    if (e != ERR_OK)
        return e;
    e = rig_finish(c, state);
    plog_clean_free(c);
    return e;
}

void rig_clean_all(void)
{
    uint64_t end;
    enum plog_clean_state state;
    ck_assert_uint_gt(rig_cleanable(&end), 2);
    ck_assert_int_eq(rig_clean(0, end, UINT64_MAX, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
}

void rig_clean_again(uint64_t end)
{
    enum plog_clean_state state;
    ck_assert_int_eq(rig_clean(0, end, UINT64_MAX, &state), ERR_OK);
    ck_assert_int_eq(state, PLOG_CLEAN_DONE);
}

enum err rig_read_number(uint64_t number)
{
    struct plog_cursor c;
    struct plog_entry e;
    enum err err = plog_cursor_at_number(rig.log, number, 1, &c);
    if (err != ERR_OK)
        return err;
    ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
    ck_assert_uint_eq(e.type, 1);
    ck_assert_uint_eq(e.number, number);
    ck_assert_uint_eq(le_load_u64(e.payload.at), number);
    plog_cursor_close(&c);
    return ERR_OK;
}

void rig_check_exactly_wanted(uint64_t end)
{
    struct plog_cursor c;
    struct plog_entry e;
    for (uint64_t number = 0; number < end; number++)
        ck_assert_int_eq(rig_read_number(number), rig.wanted(number) ? ERR_OK : ERR_GONE);
    ck_assert_int_eq(plog_cursor_at_offset(rig.log, 0, 10000, &c), ERR_OK);
    for (uint64_t number = 0; number < end; number++) {
        if (!rig.wanted(number))
            continue;
        ck_assert_int_eq(plog_cursor_next(&c, &e), ERR_OK);
        ck_assert_uint_eq(e.type, 1);
        ck_assert_uint_eq(e.number, number);
        ck_assert_uint_eq(e.offset, 2 * number + 1);
    }
    plog_cursor_close(&c);
}

void rig_check_all_from(uint64_t from)
{
    for (uint64_t number = from; number < plog_durable_number(rig.log); number++)
        ck_assert_int_eq(rig_read_number(number), ERR_OK);
}

void rig_count_files(void *arg, const char *path, uint64_t bytes)
{
    (void)bytes;
    if (strncmp(path, "t/", 2) == 0 && strstr(path, ".snap") == NULL)
        (*(unsigned *)arg)++;
}

// SPDX-License-Identifier: Apache-2.0
/* Files of the journal that a burst made in a hurry, and that nobody needs afterwards. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/plog_model.h"
#include "lib/runner.h"

enum { BURST = 60, LOOKS_MAX = 400, LARGE_FILES = 4 };

static void quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

struct journal_files {
    unsigned n;
    uint64_t bytes;
};

static void add_file(void *arg, const char *path, uint64_t bytes)
{
    struct journal_files *j = arg;
    if (strncmp(path, "journal/", 8) != 0)
        return;
    j->n++;
    j->bytes += bytes;
}

static struct journal_files journal_of(const struct model *m)
{
    struct journal_files j = {0};
    fault_disk_each(m->disk, add_file, &j);
    return j;
}

/* With journal files of one size, and rounds of a quarter of it. */
static void begin(struct model *m, uint64_t seed)
{
    quiet();
    model_init(m, seed);
    m->options.journal_bytes = 65536;
    ck_assert_int_eq(model_open(m), ERR_OK);
}

static void burst(struct model *m)
{
    struct model_log *l = &m->logs[0];
    if (l->log == NULL)
        model_create(m, l);
    for (unsigned i = 0; i < BURST && l->log != NULL && !plog_failed(m->plog); i++) {
        model_append(m, l, 4, 8000);
        model_commit(m);
    }
}

/* The housekeeper looks, for so long. */
static void look(struct model *m, unsigned times)
{
    for (unsigned i = 0; i < times && !plog_failed(m->plog); i++)
        plog_checkpoint_if_due(m->plog);
}

START_TEST(journal_files_of_a_burst_are_given_back_and_not_at_once)
{
    struct model m;
    begin(&m, test_seed());
    burst(&m);
    struct journal_files before = journal_of(&m);
    uint64_t enough = LARGE_FILES * (uint64_t)m.options.journal_bytes;
    ck_assert_uint_gt(before.bytes, 2 * enough);
    look(&m, 50);
    ck_assert_uint_eq(journal_of(&m).n, before.n);
    look(&m, LOOKS_MAX);
    struct journal_files after = journal_of(&m);
    ck_assert_uint_ge(after.bytes, enough);
    ck_assert_uint_lt(after.bytes, 2 * enough);
    look(&m, LOOKS_MAX);
    ck_assert_uint_eq(journal_of(&m).n, after.n);
    model_abandon(&m);
    fault_disk_power_cut(m.disk);
    ck_assert_int_eq(model_open(&m), ERR_OK); /* compares what is stored */
    look(&m, LOOKS_MAX);                      /* after a start nothing is in use */
    ck_assert_uint_ge(journal_of(&m).bytes, enough);
    burst(&m);
    ck_assert_uint_gt(journal_of(&m).n, after.n);
    model_fini(&m);
}
END_TEST

START_TEST(a_journal_in_use_keeps_its_files)
{
    struct model m;
    begin(&m, test_seed());
    burst(&m);
    look(&m, 1);
    unsigned files = journal_of(&m).n;
    for (unsigned i = 0; i < 100; i++) {
        for (unsigned k = 0; k < 16; k++) { /* about a quarter of all */
            model_append(&m, &m.logs[0], 4, 8000);
            model_commit(&m);
        }
        look(&m, 1);
    }
    ck_assert_uint_ge(journal_of(&m).n, files);
    model_fini(&m);
}
END_TEST

START_TEST(a_crash_while_files_are_given_back_loses_nothing)
{
    for (uint64_t n = 0, hit = 1; hit; n++) {
        struct model m;
        begin(&m, test_seed() + n);
        burst(&m);
        look(&m, 59);
        fault_disk_fail_in(m.disk, n, ERR_IO, n % 2 == 0);
        look(&m, 100);
        model_append(&m, &m.logs[0], 2, 100);
        model_commit(&m);
        hit = fault_disk_has_failed(m.disk);
        ck_assert(n > 0 || hit);
        model_abandon(&m);
        fault_disk_power_cut(m.disk);
        ck_assert_int_eq(model_open(&m), ERR_OK);
        model_fini(&m);
    }
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog journal");
    TCase *t = tcase_create("given back");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, journal_files_of_a_burst_are_given_back_and_not_at_once);
    tcase_add_test(t, a_journal_in_use_keeps_its_files);
    tcase_add_test(t, a_crash_while_files_are_given_back_loses_nothing);
    suite_add_tcase(s, t);
    return s;
}

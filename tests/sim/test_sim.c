// SPDX-License-Identifier: Apache-2.0
/* The simulation within make check: some seeds, and that a seed plays the same run each time. */
#include "sim/test_sim.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/sim.h"

enum { SEEDS = 200 };

static FILE *told; /* the real standard error */
static uint64_t under_way;

static void on_abort(int signal_number)
{
    dprintf(fileno(told), "LEASELOG_SEED=%" PRIu64 ": signal %d\n", under_way, signal_number);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* The notes of planned failures help nobody. */
static void setup(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    told = fdopen(dup(STDERR_FILENO), "w");
    setvbuf(told, NULL, _IOLBF, 0);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
}

static void teardown(void)
{
    dup2(fileno(told), STDERR_FILENO);
    fclose(told);
    signal(SIGABRT, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
}

START_TEST(whatever_fails_the_broker_keeps_its_promises)
{
    const char *seeds = getenv("LEASELOG_SEEDS");
    uint64_t n = seeds == NULL ? SEEDS : strtoull(seeds, NULL, 10), takes = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct sim_result r;
        under_way = test_seed() + i;
        sim_run(under_way, told, &r);
        ck_assert_msg(r.verdict.rule == RULE_NONE, "LEASELOG_SEED=%" PRIu64 ": %s", under_way,
                      r.verdict.text);
        takes += r.takes;
    }
    ck_assert_uint_gt(takes, 10 * n); /* the clients do get something to do */
}
END_TEST

START_TEST(a_seed_plays_the_same_run_each_time)
{
    for (under_way = test_seed(); under_way < test_seed() + 10; under_way++) {
        struct sim_result a, b;
        sim_run(under_way, told, &a);
        sim_run(under_way, told, &b);
        ck_assert_uint_eq(a.hash, b.hash);
        ck_assert_uint_eq(a.events, b.events);
    }
}
END_TEST

/* In this run the sync of the cut that commits fails, so does a write of the next transaction, and
 * a power cut brings the old journal of the catalogue back under the new one's first pages. */
START_TEST(an_old_journal_that_comes_back_under_a_new_one_is_not_played)
{
    struct sim_result r;
    under_way = 7005099;
    sim_run(under_way, told, &r);
    ck_assert_msg(r.verdict.rule == RULE_NONE, "%s", r.verdict.text);
}
END_TEST

START_TEST(other_seeds_play_other_runs)
{
    struct sim_result a, b;
    sim_run(test_seed(), told, &a);
    sim_run(test_seed() + 1, told, &b);
    ck_assert_uint_ne(a.hash, b.hash);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("sim");
    TCase *t = tcase_create("runs");
    tcase_set_timeout(t, 0);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, whatever_fails_the_broker_keeps_its_promises);
    tcase_add_test(t, a_seed_plays_the_same_run_each_time);
    tcase_add_test(t, an_old_journal_that_comes_back_under_a_new_one_is_not_played);
    tcase_add_test(t, other_seeds_play_other_runs);
    suite_add_tcase(s, tcase_checker());
    suite_add_tcase(s, tcase_topics());
    suite_add_tcase(s, t);
    return s;
}

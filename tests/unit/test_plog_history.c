// SPDX-License-Identifier: Apache-2.0
/* Random histories of a store on a disk that fails: whatever happens, all that was reported durable
 * is there byte for byte and in order, and appending goes on. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/plog_model.h"
#include "lib/runner.h"

static uint64_t seeds_of(uint64_t usual)
{
    const char *s = getenv("LEASELOG_SEEDS");
    return s == NULL ? usual : strtoull(s, NULL, 10);
}

static int told = -1;           /* the real standard error */
static uint64_t seed_under_way; /* 0: none */

static void tell_seed(void)
{
    if (seed_under_way != 0)
        dprintf(told, "seed %llu fails: LEASELOG_SEED=%llu LEASELOG_SEEDS=1 plays it again\n",
                (unsigned long long)seed_under_way, (unsigned long long)seed_under_way);
}

/* The notes of thousands of planned failures help nobody. */
static void quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    told = dup(STDERR_FILENO);
    atexit(tell_seed);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* Opens after a crash, with more crashes while it recovers. */
static void open_again(struct model *m)
{
    for (unsigned crashes = (unsigned)rng_below(&m->rng, 3);; crashes--) {
        if (crashes > 0)
            fault_disk_fail_in(m->disk, rng_below(&m->rng, 20), ERR_IO, true);
        enum err e = model_open(m);
        if (e == ERR_OK && !fault_disk_has_failed(m->disk))
            break;
        ck_assert_msg(fault_disk_has_failed(m->disk), "%s", err_text(e));
        if (e == ERR_OK)
            model_abandon(m);
        fault_disk_power_cut(m->disk);
    }
    fault_disk_fail_never(m->disk);
}

static unsigned cleaned_n; /* cleanings that came to their end, in all histories */

static void run(uint64_t seed, bool power)
{
    struct model m;
    seed_under_way = seed;
    model_init(&m, seed);
    for (unsigned life = 0; life < 6; life++) {
        open_again(&m);
        fault_disk_fail_in(m.disk, rng_below(&m.rng, 150), ERR_IO, power);
        for (unsigned i = 0; i < 300 && m.plog != NULL; i++) {
            model_step(&m);
            if (fault_disk_has_failed(m.disk))
                break;
        }
        if (m.plog != NULL)
            model_abandon(&m);
        if (power || rng_below(&m.rng, 2) == 0) {
            fault_disk_power_cut(m.disk);
        } else {
            fault_disk_kill(m.disk);
            fault_disk_fail_never(m.disk);
        }
    }
    open_again(&m);
    cleaned_n += m.cleaned_n;
    model_fini(&m);
    seed_under_way = 0;
}

START_TEST(what_was_durable_survives_any_power_cut)
{
    quiet();
    for (uint64_t i = 0; i < seeds_of(50); i++) {
        run(test_seed() + i, true);
    }
    ck_assert_msg(seeds_of(50) < 50 || cleaned_n > 8, "%u cleanings", cleaned_n);
}
END_TEST

START_TEST(what_was_durable_survives_any_failed_operation)
{
    quiet();
    for (uint64_t i = 0; i < seeds_of(50); i++) {
        run(test_seed() + i, false);
    }
}
END_TEST

/* These showed that a journal file whose name was in the page cache only was trusted, and that the
 * disk of the tests forgot what was named in a folder made again. */
START_TEST(the_histories_that_once_lost_something_lose_nothing)
{
    quiet();
    run(1633, false);
    run(7351, false);
    run(5307, false);
    run(7766, false);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("plog histories");
    TCase *t = tcase_create("histories");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, what_was_durable_survives_any_power_cut);
    tcase_add_test(t, what_was_durable_survives_any_failed_operation);
    tcase_add_test(t, the_histories_that_once_lost_something_lose_nothing);
    suite_add_tcase(s, t);
    return s;
}

// SPDX-License-Identifier: Apache-2.0
/* sim_broker [FIRST_SEED [SEEDS]]: plays seeds one after the other and tells of those that fail, of
 * five at most; by default the one seed of LEASELOG_SEED, or 1. LEASELOG_VERBOSE=1 shows the
 * broker's own notes and whole histories. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/sim.h"

enum { FAILED_MAX = 5 };

static FILE *told;
static uint64_t under_way;

/* A broken invariant of the broker ends the process: which seed was it? */
static void on_abort(int signal_number)
{
    dprintf(fileno(told), "LEASELOG_SEED=%" PRIu64 ": signal %d\n", under_way, signal_number);
    _exit(1);
}

static uint64_t number(const char *text, uint64_t usual)
{
    return text == NULL ? usual : strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
    uint64_t first = number(argc > 1 ? argv[1] : getenv("LEASELOG_SEED"), 1);
    uint64_t seeds = number(argc > 2 ? argv[2] : NULL, 1), failed = 0, events = 0, takes = 0;
    told = fdopen(dup(STDERR_FILENO), "w");
    setvbuf(told, NULL, _IOLBF, 0);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    for (under_way = first; under_way < first + seeds && failed < FAILED_MAX; under_way++) {
        struct sim_result r;
        sim_run(under_way, told, &r);
        failed += r.verdict.rule != RULE_NONE;
        events += r.events;
        takes += r.takes;
        if (seeds == 1)
            printf("hash %016" PRIx64 "\n", r.hash);
    }
    printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " events, %" PRIu64 " receives, %" PRIu64
           " failed\n",
           under_way - first, first, events, takes, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

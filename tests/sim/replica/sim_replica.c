// SPDX-License-Identifier: Apache-2.0
/* sim_replica [FIRST_SEED [SEEDS]]: plays seeds one after the other and tells of those that fail,
 * of five at most; by default the one seed of LEASELOG_SEED, or 1. LEASELOG_VERBOSE=1 tells all
 * that happens. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/replica/world.h"

enum { FAILED_MAX = 5 };

static uint64_t under_way;

/* A broken invariant of the replica itself ends the process: which seed was it? */
static void on_abort(int signal_number)
{
    dprintf(STDERR_FILENO, "LEASELOG_SEED=%" PRIu64 ": signal %d\n", under_way, signal_number);
    _exit(1);
}

static uint64_t number(const char *text, uint64_t usual)
{
    return text == NULL ? usual : strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
    uint64_t first = number(argc > 1 ? argv[1] : getenv("LEASELOG_SEED"), 1);
    uint64_t seeds = number(argc > 2 ? argv[2] : NULL, 1), failed = 0, ended = 0;
    struct sim_verdict sum = {0};
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    for (under_way = first; under_way < first + seeds && failed < FAILED_MAX; under_way++) {
        struct sim_verdict v;
        replica_sim_run(under_way, stderr, getenv("LEASELOG_VERBOSE") != NULL, &v);
        failed += v.broken != NULL;
        ended += v.ended != NULL;
        sum.steps += v.steps;
        sum.elections += v.elections;
        sum.commits += v.commits;
        sum.cuts += v.cuts;
        sum.snapshots += v.snapshots;
        sum.discards += v.discards;
        sum.shrinks += v.shrinks;
        sum.expands += v.expands;
        sum.unknown += v.unknown;
        sum.reassigned += v.reassigned;
        if (seeds == 1)
            printf("hash %016" PRIx64 "%s%s\n", v.hash, v.ended ? ": " : "",
                   v.ended ? v.ended : "");
    }
    printf("%" PRIu64 " steps, %" PRIu64 " elections, %" PRIu64 " records committed, %" PRIu64
           " cuts, %" PRIu64 " snapshots, %" PRIu64 " discards, %" PRIu64 " shrinks, %" PRIu64
           " expands, %" PRIu64 " swaps without an answer, %" PRIu64 " reassignments, %" PRIu64
           " seeds ended early\n",
           sum.steps, sum.elections, sum.commits, sum.cuts, sum.snapshots, sum.discards,
           sum.shrinks, sum.expands, sum.unknown, sum.reassigned, ended);
    printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " failed\n", under_way - first, first,
           failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

// SPDX-License-Identifier: Apache-2.0
/* sim_cluster [FIRST_SEED [SEEDS]]: plays seeds one after the other and tells of those that fail,
 * of five at most (SIM_FAILED_MAX); by default the one seed of LEASELOG_SEED, or 1.
 * LEASELOG_VERBOSE=1 tells all that happens. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/cluster/world.h"

static uint64_t under_way;

/* A broken invariant of the broker itself ends the process: which seed was it? */
static void on_abort(int signal_number)
{
    dprintf(STDERR_FILENO, "LEASELOG_SEED=%" PRIu64 ": signal %d\n", under_way, signal_number);
    _exit(1);
}

static uint64_t number(const char *text, uint64_t usual)
{
    return text == NULL ? usual : strtoull(text, NULL, 10);
}

static void add(struct counts *sum, const struct counts *c)
{
    sum->steps += c->steps;
    sum->elections += c->elections;
    sum->commits += c->commits;
    sum->shrinks += c->shrinks;
    sum->expands += c->expands;
    sum->crashes += c->crashes;
    sum->snapshots += c->snapshots;
    sum->unknown += c->unknown;
    sum->sends += c->sends;
    sum->takes += c->takes;
    sum->deletes += c->deletes;
    sum->double_takes += c->double_takes;
    sum->damages += c->damages;
    sum->losses += c->losses;
    sum->states += c->states;
    sum->voices += c->voices;
    sum->ended += c->ended;
}

int main(int argc, char **argv)
{
    uint64_t first = number(argc > 1 ? argv[1] : getenv("LEASELOG_SEED"), 1);
    uint64_t seeds = number(argc > 2 ? argv[2] : NULL, 1), failed = 0;
    uint64_t failed_max = number(getenv("SIM_FAILED_MAX"), 5);
    struct counts s = {0};
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    for (under_way = first; under_way < first + seeds && failed < failed_max; under_way++) {
        struct sim_verdict v;
        cluster_sim_run(under_way, stderr, getenv("LEASELOG_VERBOSE") != NULL, &v);
        failed += v.broken[0] != '\0';
        add(&s, &v.counts);
        if (seeds == 1)
            printf("hash %016" PRIx64 "\n", v.hash);
    }
    printf("%" PRIu64 " steps, %" PRIu64 " records committed, %" PRIu64 " elections, %" PRIu64
           " shrinks, %" PRIu64 " expands, %" PRIu64 " crashes, %" PRIu64 " disks lost, %" PRIu64
           " damaged, %" PRIu64 " snapshots sent, %" PRIu64 " changes without an answer\n",
           s.steps, s.commits, s.elections, s.shrinks, s.expands, s.crashes, s.losses, s.damages,
           s.snapshots, s.unknown);
    printf("%" PRIu64 " sent, %" PRIu64 " received (%" PRIu64
           " of the standard topic while leased), %" PRIu64 " deleted, %" PRIu64
           " states compared; said of silent ones: %" PRIu64 " times, %" PRIu64
           " sessions ended of brokers that were up\n",
           s.sends, s.takes, s.double_takes, s.deletes, s.states, s.voices, s.ended);
    printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " failed\n", under_way - first, first,
           failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

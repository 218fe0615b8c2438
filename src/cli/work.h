// SPDX-License-Identifier: Apache-2.0
/* leaselog work: a crew of threads, each of which receives one message at a time and runs the
 * command for it. So no message is leased before its command can start, and the lease of one
 * command never waits for another.
 *
 * Signals: the first SIGINT, SIGTERM or SIGHUP stops new receives; the second is passed on to the
 * commands; the third kills them. */
#ifndef CLI_WORK_H
#define CLI_WORK_H

#include <signal.h>
#include <stdatomic.h>

#include "cli/args.h"

enum { CLI_PRESSES = 3 };

/* Set before the threads start, but for the atomics. */
struct cli_crew {
    const struct cli_args *args;
    const char *topic;
    char **command; /* its words and a NULL */
    int64_t visibility_s;
    sigset_t mask; /* of the commands */
    /* Readable once a signal has come, a second, a third: eventfds that nobody reads. The first one
     * is also written when the crew stops for another reason. */
    int presses[CLI_PRESSES];
    atomic_int signal; /* the one to pass on */
    atomic_llong left; /* messages that may still be received */
    atomic_ulong done, failed;
    atomic_int why;       /* the first enum cli_exit that stopped the crew */
    atomic_bool sqs_only; /* the broker has no REST API */
};

#endif

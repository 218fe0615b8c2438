// SPDX-License-Identifier: Apache-2.0
/* One message and the command that is run for it: the body on its stdin, the lease kept while it
 * runs, the message deleted when it exits with 0 and given back when not. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <sys/types.h>

#include "base/clock.h"
#include "cli/lease.h"
#include "cli/work.h"

enum cli_job_end {
    CLI_JOB_DONE,       /* exit 0, and deleted */
    CLI_JOB_FAILED,     /* given back, or its lease was lost, or the delete failed: comes again */
    CLI_JOB_IMPOSSIBLE, /* the command cannot be started; the message was given back */
};

/* Runs the crew's command for `message`, which ReceiveMessage has answered, and waits for its end.
 * All that goes wrong is told here. */
enum cli_job_end cli_job_run(struct cli_crew *crew, struct cli_client *client,
                             const json_t *message);

#endif

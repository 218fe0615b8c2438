// SPDX-License-Identifier: Apache-2.0
/* The signals that end a program, as a descriptor that can be polled beside others. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>

/* SIGINT, SIGTERM and SIGHUP no longer end the process but make the descriptor readable. Those that
 * are ignored (as under nohup) stay ignored. `before` is the mask that programs which are run
 * should have. To be called before any thread is made. -1 when the system refuses. */
int cli_signals_open(sigset_t *before);
/* The next signal's number, or 0 when there is none; does not wait. */
int cli_signals_take(int fd);

#endif

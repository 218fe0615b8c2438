// SPDX-License-Identifier: Apache-2.0
/* The commands of `leaselog` that talk to a running broker over HTTP, and those that tell of the
 * program itself; api/cli_commands.def lists them. Data go to stdout, all else to stderr. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* Everything but `serve`. Gives the exit status (enum cli_exit in cli/answer.h). May be called once
 * a process: getopt, curl and the disposition of SIGPIPE are global. */
int cli_main(int argc, char **argv);

#endif

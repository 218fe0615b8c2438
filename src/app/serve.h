// SPDX-License-Identifier: Apache-2.0
/* `leaselog serve`: wiring, threads' birth and death, signals. */
#ifndef APP_SERVE_H
#define APP_SERVE_H

enum {
    EXIT_CODE_OK = 0,
    EXIT_CODE_FAILURE = 1, /* also: data directory in use or damaged, port taken */
    EXIT_CODE_USAGE = 2,
    EXIT_CODE_CONFIG = 78, /* bad configuration, unreadable or newer format */
};

/* argv[0] is "serve". Returns the exit code after a clean stop. */
int serve_main(int argc, char **argv);

#endif

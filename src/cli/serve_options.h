// SPDX-License-Identifier: Apache-2.0
/* The settings of `leaselog serve`, for the manual page and for completion. Reading them is the
 * affair of the room app, which uses the same table, api/options.def. */
#ifndef CLI_SERVE_OPTIONS_H
#define CLI_SERVE_OPTIONS_H

#include <stddef.h>

struct cli_serve_option {
    const char *word;
    const char *preset;   /* "": none */
    const char *argument; /* NULL: none */
    const char *help;
};
extern const struct cli_serve_option cli_serve_options[];
extern const size_t cli_serve_options_n;

#endif

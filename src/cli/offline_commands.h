// SPDX-License-Identifier: Apache-2.0
/* The commands that read a data directory without a broker, for help, completion and the manual
 * page. Running them is the affair of the room offline, which uses the same table,
 * api/offline.def. */
#ifndef CLI_OFFLINE_COMMANDS_H
#define CLI_OFFLINE_COMMANDS_H

#include <stddef.h>

enum {
#define COMMAND(id, word, arguments, summary, examples) CLI_OFFLINE_##id,
#define OPTION(command, name, kind, member, arg, help)
#include "offline.def"
#undef COMMAND
#undef OPTION
    CLI_OFFLINE_N
};

struct cli_offline_command {
    const char *word, *arguments, *summary, *examples;
};
extern const struct cli_offline_command cli_offline_commands[CLI_OFFLINE_N];

struct cli_offline_option {
    int command;
    const char *word;
    const char *argument; /* NULL: none */
    const char *help;
};
extern const struct cli_offline_option cli_offline_options[];
extern const size_t cli_offline_options_n;

#endif

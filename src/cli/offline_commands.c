// SPDX-License-Identifier: Apache-2.0
#include "cli/offline_commands.h"

const struct cli_offline_command cli_offline_commands[CLI_OFFLINE_N] = {
#define COMMAND(id, word, arguments, summary, examples)                                            \
    [CLI_OFFLINE_##id] = {#word, arguments, summary, examples},
#define OPTION(command, name, kind, member, arg, help)
#include "offline.def"
#undef COMMAND
#undef OPTION
};

const struct cli_offline_option cli_offline_options[] = {
#define COMMAND(id, word, arguments, summary, examples)
#define OPTION(command, name, kind, member, arg, help) {CLI_OFFLINE_##command, name, arg, help},
#include "offline.def"
#undef COMMAND
#undef OPTION
};
const size_t cli_offline_options_n = sizeof cli_offline_options / sizeof cli_offline_options[0];

// SPDX-License-Identifier: Apache-2.0
/* The command line, read by the tables api/cli_commands.def and api/cli_options.def. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/answer.h"

enum cli_command {
#define COMMAND(id, word, arguments, summary, examples) CLI_##id,
#include "cli_commands.def"
#undef COMMAND
    CLI_COMMANDS_N
};

enum {
#define COMMAND(id, word, arguments, summary, examples) CLI_##id##_BIT = 1 << CLI_##id,
#include "cli_commands.def"
#undef COMMAND
    CLI_EVERY = (1 << CLI_COMMANDS_N) - 1
};

struct cli_command_row {
    const char *word, *arguments, *summary, *examples;
};
extern const struct cli_command_row cli_commands[CLI_COMMANDS_N];

struct cli_option_row {
    const char *word;
    int letter;           /* 0: none */
    const char *argument; /* NULL: none */
    unsigned commands;    /* CLI_…_BIT of those that take it */
    const char *help;
};
extern const struct cli_option_row cli_options[];
extern const size_t cli_options_n;

/* All texts are lent from argv. Times are in seconds; -1: not given. */
struct cli_args {
    enum cli_command command;
    char **words; /* what follows the command and is no option */
    int words_n;
    const char *server; /* NULL: not given */
    int64_t timeout_s;
    bool json, quiet, verbose, lines, remove, ready;
    const char *group_id, *dedup_id; /* NULL: not given */
    int64_t delay_s, wait_s, visibility_s;
    int64_t number;
    const char **attributes; /* of a message: NAME[:TYPE]=VALUE */
    size_t attributes_n;
    const char **settings; /* of a topic: NAME=VALUE */
    size_t settings_n;
};

/* CLI_OK, or CLI_USAGE with a sentence in problem. Puts argv into another order. --help turns the
 * command into CLI_HELP with the command as its word. out is fini'ed in both cases. */
enum cli_exit cli_args_parse(int argc, char **argv, struct cli_args *out, struct buf *problem);
void cli_args_fini(struct cli_args *args);

#endif

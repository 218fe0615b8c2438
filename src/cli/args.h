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

enum cli_option_kind {
    CLI_KIND_FLAG,
    CLI_KIND_TEXT,
    CLI_KIND_TIME,
    CLI_KIND_NUMBER,
    CLI_KIND_MILLIS,
    CLI_KIND_PAIR,
    CLI_KIND_TYPED_PAIR,
    CLI_KIND_ASIDE, /* --help and --version: the parser's own */
};

struct cli_option_row {
    const char *word;
    int letter;           /* 0: none */
    const char *argument; /* NULL: none */
    enum cli_option_kind kind;
    int64_t min, max;  /* of a number or a time */
    size_t member;     /* its place in struct cli_args */
    unsigned commands; /* CLI_…_BIT of those that take it */
    const char *help;
};
extern const struct cli_option_row cli_options[];
extern const size_t cli_options_n;

struct cli_list {
    const char **at; /* owned; the texts are lent from argv */
    size_t n;
};

/* All texts are lent from argv; NULL: not given. Times are in seconds; -1: not given. */
struct cli_args {
    enum cli_command command;
    char **words; /* what follows the command and is no option */
    int words_n;
    bool dashes; /* a "--" ended the options */
    const char *server;
    int64_t timeout_s;
    bool json, quiet, verbose;
    bool lines, remove, follow, until_empty, yes, dry_run, ready, man, compact, unsafe, accept_loss;
    bool fifo;
    const char *group_id, *dedup_id, *state, *match, *from, *queue;
    int64_t delay_s, wait_s, visibility_s, retry_delay_s, delete_retention_s;
    int64_t number, max; /* 0: not given */
    int64_t jobs;
    int64_t connections, batch, body_bytes, groups, rate, measure_ms; /* 0: not given */
    struct cli_list attributes; /* of a message: NAME[:TYPE]=VALUE */
    struct cli_list settings;   /* of a topic: NAME=VALUE */
};

/* CLI_OK, or CLI_USAGE with a sentence in problem. Puts argv into another order. --help turns the
 * command into CLI_HELP with the command as its word. out is fini'ed in both cases. */
enum cli_exit cli_args_parse(int argc, char **argv, struct cli_args *out, struct buf *problem);
void cli_args_fini(struct cli_args *args);

#endif

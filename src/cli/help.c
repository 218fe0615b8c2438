// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

/* The options of every command, or those that `command` has besides. */
static void options_print(FILE *to, bool every, enum cli_command command)
{
    for (size_t i = 0; i < cli_options_n; i++) {
        const struct cli_option_row *row = &cli_options[i];
        char left[64], letter[8] = "    ";
        if ((row->commands == CLI_EVERY) != every || !(row->commands & (1U << command)))
            continue;
        if (row->letter != 0)
            (void)snprintf(letter, sizeof letter, "-%c, ", row->letter);
        (void)snprintf(left, sizeof left, "%s--%s%s%s", letter, row->word,
                       row->argument != NULL ? " " : "",
                       row->argument != NULL ? row->argument : "");
        fprintf(to, "  %-34s  %s\n", left, row->help);
    }
}

void cli_help_all(FILE *to)
{
    fputs("leaselog: a durable message queue that speaks SQS\n\nExamples:\n"
          "  leaselog serve --data-dir ./data\n"
          "  leaselog topics create orders\n"
          "  leaselog send orders 'one coffee'\n"
          "  leaselog receive orders --wait 20s --delete\n\n"
          "Commands:\n",
          to);
    fprintf(to, "  %-34s  %s\n", "serve", "run the broker (leaselog serve --help)");
    for (int i = 0; i < CLI_COMMANDS_N; i++) {
        char left[64];
        (void)snprintf(left, sizeof left, "%s %s", cli_commands[i].word, cli_commands[i].arguments);
        fprintf(to, "  %-34s  %s\n", left, cli_commands[i].summary);
    }
    fputs("\nOptions of every command:\n", to);
    options_print(to, true, CLI_HELP);
    fputs("\nleaselog help COMMAND tells more. Exit status: 0 done, 1 failed, 2 wrong usage,\n"
          "3 not found, 4 refused, 5 unavailable or too late, 6 nothing received, 7 done in part,\n"
          "78 wrong configuration.\n",
          to);
}

void cli_help_command(FILE *to, enum cli_command command)
{
    const struct cli_command_row *row = &cli_commands[command];
    fprintf(to, "leaselog %s: %s\n\nExamples:\n%s\nUsage: leaselog %s [OPTIONS] %s\n", row->word,
            row->summary, row->examples, row->word, row->arguments);
    fputs("\nOptions:\n", to);
    options_print(to, false, command);
    options_print(to, true, command);
}

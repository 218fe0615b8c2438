// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include "cli/offline_commands.h"
#include "cli/serve_options.h"

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
    fputs("\nCommands that need no broker:\n", to);
    for (int i = 0; i < CLI_OFFLINE_N; i++) {
        const struct cli_offline_command *c = &cli_offline_commands[i];
        char left[64];
        (void)snprintf(left, sizeof left, "%s %s", c->word, c->arguments);
        fprintf(to, "  %-34s  %s\n", left, c->summary);
    }
    fputs("\nOptions of every command:\n", to);
    options_print(to, true, CLI_HELP);
    fputs("\nleaselog help COMMAND tells more; leaselog help --man prints the manual page.\n"
          "\nExit status:\n",
          to);
    for (int i = 0; i < CLI_EXITS_N; i++)
        fprintf(to, "  %2d  %s\n", (int)cli_exits[i].status, cli_exits[i].text);
}

void cli_help_serve(FILE *to)
{
    fputs("leaselog serve: run the broker\n\nExamples:\n"
          "  leaselog serve --listen 127.0.0.1:9324 --data-dir ./data\n"
          "\nUsage: leaselog serve [OPTIONS]\n\nOptions:\n",
          to);
    for (size_t i = 0; i < cli_serve_options_n; i++) {
        const struct cli_serve_option *o = &cli_serve_options[i];
        char left[64];
        (void)snprintf(left, sizeof left, "--%s%s%s", o->word, o->argument != NULL ? " " : "",
                       o->argument != NULL ? o->argument : "");
        fprintf(to, "  %-34s  %s\n", left, o->help);
    }
}

void cli_help_offline(FILE *to, int command)
{
    const struct cli_offline_command *row = &cli_offline_commands[command];
    fprintf(to, "leaselog %s: %s\n\nExamples:\n%s\nUsage: leaselog %s [OPTIONS] %s\n\nOptions:\n",
            row->word, row->summary, row->examples, row->word, row->arguments);
    for (size_t i = 0; i < cli_offline_options_n; i++) {
        const struct cli_offline_option *o = &cli_offline_options[i];
        char left[64];
        if (o->command != command)
            continue;
        (void)snprintf(left, sizeof left, "--%s%s%s", o->word, o->argument != NULL ? " " : "",
                       o->argument != NULL ? o->argument : "");
        fprintf(to, "  %-34s  %s\n", left, o->help);
    }
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

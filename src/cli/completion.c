// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <string.h>

#include "base/buf.h"
#include "cli/args.h"
#include "cli/offline_commands.h"
#include "cli/serve_options.h"
#include "cli/text.h"

/* The words that may follow some commands; topics are not asked for, since a broker may be slow. */
static const char *words_after(enum cli_command command)
{
    return command == CLI_TOPICS       ? "list show create set rm"
           : command == CLI_BENCH      ? "send receive cycle latency fanout"
           : command == CLI_COMPLETION ? "bash zsh fish"
                                       : "";
}

static bool takes(enum cli_command command, size_t option)
{
    return (cli_options[option].commands >> (unsigned)command & 1U) != 0;
}

/* ---- bash ---- */

/* All commands but serve, each after a blank. */
static void bash_words(FILE *to)
{
    for (int c = 0; c < CLI_COMMANDS_N; c++)
        fprintf(to, " %s", cli_commands[c].word);
    for (int c = 0; c < CLI_OFFLINE_N; c++)
        fprintf(to, " %s", cli_offline_commands[c].word);
}

static void bash_print(FILE *to)
{
    fputs("# bash completion for leaselog\n"
          "_leaselog() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} command= words= i\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "            --) compopt -o default; return;; # a command of its own follows\n"
          "            -*) ;;\n"
          "            *) [[ -n $command ]] || command=${COMP_WORDS[i]};;\n"
          "        esac\n"
          "    done\n"
          "    case $command in\n",
          to);
    for (int c = 0; c < CLI_COMMANDS_N; c++) {
        fprintf(to, "        %s) words='%s", cli_commands[c].word,
                words_after((enum cli_command)c));
        for (size_t i = 0; i < cli_options_n; i++)
            if (takes((enum cli_command)c, i))
                fprintf(to, " --%s", cli_options[i].word);
        fputs("';;\n", to);
    }
    for (int c = 0; c < CLI_OFFLINE_N; c++) {
        fprintf(to, "        %s) words='--help", cli_offline_commands[c].word);
        for (size_t i = 0; i < cli_offline_options_n; i++)
            if (cli_offline_options[i].command == c)
                fprintf(to, " --%s", cli_offline_options[i].word);
        fputs("';;\n", to);
    }
    fputs("        serve) words='", to);
    for (size_t i = 0; i < cli_serve_options_n; i++)
        fprintf(to, "%s--%s", i > 0 ? " " : "", cli_serve_options[i].word);
    fputs("';;\n        '') words='serve", to);
    bash_words(to);
    for (size_t i = 0; i < cli_options_n; i++)
        if (cli_options[i].commands == CLI_EVERY)
            fprintf(to, " --%s", cli_options[i].word);
    fputs("';;\n"
          "    esac\n"
          "    [[ $command == help ]] && words=\"$words serve",
          to);
    bash_words(to);
    fputs("\"\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "}\n"
          "complete -o bashdefault -F _leaselog leaselog\n",
          to);
}

/* ---- zsh ---- */

/* 'word:what it does', in which zsh wants colons of the word escaped; there are none. */
static void zsh_entry(FILE *to, const char *dashes, const char *word, const char *help)
{
    struct buf entry = BUF_EMPTY, quoted = BUF_EMPTY;
    buf_put_format(&entry, "%s%s:%s", dashes, word, help);
    cli_shell_quote(&quoted, buf_bytes(&entry));
    fprintf(to, "            %.*s\n", (int)quoted.n, quoted.at);
    buf_fini(&entry);
    buf_fini(&quoted);
}

static void zsh_offline(FILE *to)
{
    for (int c = 0; c < CLI_OFFLINE_N; c++) {
        fprintf(to, "        %s)\n        entries=(\n", cli_offline_commands[c].word);
        for (size_t i = 0; i < cli_offline_options_n; i++)
            if (cli_offline_options[i].command == c)
                zsh_entry(to, "--", cli_offline_options[i].word, cli_offline_options[i].help);
        fputs("        )\n        ;;\n", to);
    }
}

static void zsh_print(FILE *to)
{
    fputs("#compdef leaselog\n"
          "_leaselog() {\n"
          "    local -a entries plain\n"
          "    if (( CURRENT == 2 )); then\n"
          "        entries=(\n",
          to);
    zsh_entry(to, "", "serve", "run the broker");
    for (int c = 0; c < CLI_COMMANDS_N; c++)
        zsh_entry(to, "", cli_commands[c].word, cli_commands[c].summary);
    for (int c = 0; c < CLI_OFFLINE_N; c++)
        zsh_entry(to, "", cli_offline_commands[c].word, cli_offline_commands[c].summary);
    fputs("        )\n        _describe command entries\n        return\n    fi\n"
          "    case $words[2] in\n",
          to);
    for (int c = 0; c < CLI_COMMANDS_N; c++) {
        fprintf(to, "        %s)\n        plain=(%s)\n        entries=(\n", cli_commands[c].word,
                words_after((enum cli_command)c));
        for (size_t i = 0; i < cli_options_n; i++)
            if (takes((enum cli_command)c, i))
                zsh_entry(to, "--", cli_options[i].word, cli_options[i].help);
        fputs("        )\n        ;;\n", to);
    }
    zsh_offline(to);
    fputs("        serve)\n        entries=(\n", to);
    for (size_t i = 0; i < cli_serve_options_n; i++)
        zsh_entry(to, "--", cli_serve_options[i].word, cli_serve_options[i].help);
    fputs("        )\n        ;;\n    esac\n"
          "    (( $#plain )) && compadd -a plain\n"
          "    (( $#entries )) && _describe -o option entries\n"
          "    _files\n"
          "}\n"
          "compdef _leaselog leaselog\n"
          "# As a file in $fpath this is the function's body, the first time.\n"
          "[[ $funcstack[1] == _leaselog ]] && _leaselog\n",
          to);
}

/* ---- fish ---- */

/* In single quotes fish reads only \\ and \' as something else. */
static void fish_quoted(FILE *to, const char *text)
{
    putc('\'', to);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            putc('\\', to);
        putc(*text, to);
    }
    putc('\'', to);
}

static void fish_option(FILE *to, const char *command, const char *word, int letter, bool argument,
                        const char *help)
{
    fprintf(to, "complete -c leaselog -n '__fish_seen_subcommand_from %s' -l %s", command, word);
    if (letter != 0)
        fprintf(to, " -s %c", letter);
    fputs(argument ? " -r -d " : " -d ", to);
    fish_quoted(to, help);
    putc('\n', to);
}

static void fish_offline(FILE *to)
{
    for (int c = 0; c < CLI_OFFLINE_N; c++) {
        const struct cli_offline_command *row = &cli_offline_commands[c];
        fprintf(to, "complete -c leaselog -n __fish_use_subcommand -f -a %s -d ", row->word);
        fish_quoted(to, row->summary);
        putc('\n', to);
    }
    for (size_t i = 0; i < cli_offline_options_n; i++) {
        const struct cli_offline_option *o = &cli_offline_options[i];
        fish_option(to, cli_offline_commands[o->command].word, o->word, 0, o->argument != NULL,
                    o->help);
    }
}

static void fish_print(FILE *to)
{
    fputs("# fish completion for leaselog\n"
          "complete -c leaselog -n __fish_use_subcommand -f -a serve -d 'run the broker'\n",
          to);
    for (int c = 0; c < CLI_COMMANDS_N; c++) {
        const struct cli_command_row *row = &cli_commands[c];
        fprintf(to, "complete -c leaselog -n __fish_use_subcommand -f -a %s -d ", row->word);
        fish_quoted(to, row->summary);
        putc('\n', to);
        if (words_after((enum cli_command)c)[0] != '\0')
            fprintf(to, "complete -c leaselog -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
                    row->word, words_after((enum cli_command)c));
        for (size_t i = 0; i < cli_options_n; i++)
            if (takes((enum cli_command)c, i))
                fish_option(to, row->word, cli_options[i].word, cli_options[i].letter,
                            cli_options[i].argument != NULL, cli_options[i].help);
    }
    fish_offline(to);
    for (size_t i = 0; i < cli_serve_options_n; i++)
        fish_option(to, "serve", cli_serve_options[i].word, 0,
                    cli_serve_options[i].argument != NULL, cli_serve_options[i].help);
}

bool cli_completion_print(FILE *to, const char *shell)
{
    static const struct {
        const char *word;
        void (*print)(FILE *to);
    } shells[] = {{"bash", bash_print}, {"zsh", zsh_print}, {"fish", fish_print}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shell, shells[i].word) == 0) {
            shells[i].print(to);
            return true;
        }
    return false;
}

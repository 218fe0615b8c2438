// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/run.h"
#include "config.h"

enum cli_exit cli_usage(const struct cli_args *args, const char *what)
{
    cli_say("%s: %s\nTry: leaselog help %s", cli_commands[args->command].word, what,
            cli_commands[args->command].word);
    return CLI_USAGE;
}

void cli_print_json(json_t *root)
{
    json_dumpf(root, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(root);
}

bool cli_print_done(void)
{
    /* A file is synced, since the messages in it may be deleted next. What cannot be synced, such
     * as a pipe, answers EINVAL. */
    bool flushed = fflush(stdout) == 0 && !ferror(stdout);
    if (flushed &&
        (fsync(STDOUT_FILENO) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP))
        return true;
    cli_say("cannot write to stdout: %s", strerror(errno));
    return false;
}

static enum cli_exit run_help(const struct cli_args *args)
{
    if (args->words_n == 0) {
        cli_help_all(stdout);
        return CLI_OK;
    }
    for (int i = 0; i < CLI_COMMANDS_N; i++)
        if (strcmp(args->words[0], cli_commands[i].word) == 0) {
            cli_help_command(stdout, (enum cli_command)i);
            return CLI_OK;
        }
    cli_say("there is no command '%s'\nTry: leaselog help", args->words[0]);
    return CLI_USAGE;
}

static enum cli_exit run_version(const struct cli_args *args)
{
    if (args->json)
        cli_print_json(json_pack("{s:s, s:s}", "name", PACKAGE, "version", PACKAGE_VERSION));
    else
        puts(PACKAGE_STRING);
    return CLI_OK;
}

static enum cli_exit run_with_broker(const struct cli_args *args)
{
    enum cli_exit e = CLI_FAILURE;
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == 0);
    struct cli_client *client = cli_client_new(args, &e);
    if (client != NULL) {
        switch (args->command) {
        case CLI_SEND:
            e = cli_run_send(args, client);
            break;
        case CLI_RECEIVE:
            e = cli_run_receive(args, client);
            break;
        case CLI_DELETE:
            e = cli_run_delete(args, client);
            break;
        case CLI_TOPICS:
            e = cli_run_topics(args, client);
            break;
        case CLI_HEALTH:
            e = cli_run_health(args, client);
            break;
        case CLI_VERSION:
        case CLI_HELP:
        case CLI_COMMANDS_N:
            UNREACHABLE();
        }
        cli_client_free(client);
    }
    curl_global_cleanup();
    return e;
}

int cli_main(int argc, char **argv)
{
    struct cli_args args;
    struct buf problem = BUF_EMPTY;
    /* A reader that has gone away shows as a failed write, so that nothing is deleted unread. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc <= 1) {
        cli_help_all(stderr);
        return CLI_USAGE;
    }
    enum cli_exit e = cli_args_parse(argc, argv, &args, &problem);
    if (e != CLI_OK)
        cli_say("%.*s\nTry: leaselog help", (int)problem.n, problem.at);
    else if (args.command == CLI_HELP)
        e = run_help(&args);
    else if (args.command == CLI_VERSION)
        e = run_version(&args);
    else
        e = run_with_broker(&args);
    cli_args_fini(&args);
    buf_fini(&problem);
    if (fflush(stdout) != 0 && e == CLI_OK)
        e = CLI_FAILURE;
    return (int)e;
}

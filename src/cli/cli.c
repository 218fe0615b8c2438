// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/completion.h"
#include "cli/help.h"
#include "cli/man.h"
#include "cli/offline_commands.h"
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
    if (args->man && args->words_n == 0) {
        cli_man_print(stdout);
        return CLI_OK;
    }
    if (args->words_n == 0) {
        cli_help_all(stdout);
        return CLI_OK;
    }
    if (strcmp(args->words[0], "serve") == 0) {
        cli_help_serve(stdout);
        return CLI_OK;
    }
    for (int i = 0; i < CLI_OFFLINE_N; i++)
        if (strcmp(args->words[0], cli_offline_commands[i].word) == 0) {
            cli_help_offline(stdout, i);
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

static enum cli_exit run_completion(const struct cli_args *args)
{
    if (args->words_n != 1)
        return cli_usage(args, "for which shell? bash, zsh or fish");
    if (!cli_completion_print(stdout, args->words[0]))
        return cli_usage(args, "bash, zsh and fish are the shells that it knows");
    return CLI_OK;
}

static enum cli_exit run_version(const struct cli_args *args)
{
    if (args->json)
        cli_print_json(json_pack("{s:s, s:s}", "name", PACKAGE, "version", PACKAGE_VERSION));
    else
        puts(PACKAGE_STRING);
    return CLI_OK;
}

/* The commands that ask a broker. */
static enum cli_exit (*const runs[CLI_COMMANDS_N])(const struct cli_args *, struct cli_client *) = {
    [CLI_SEND] = cli_run_send,       [CLI_RECEIVE] = cli_run_receive,
    [CLI_WORK] = cli_run_work,       [CLI_DELETE] = cli_run_delete,
    [CLI_EXTEND] = cli_run_extend,   [CLI_RELEASE] = cli_run_release,
    [CLI_PEEK] = cli_run_peek,       [CLI_TOPICS] = cli_run_topics,
    [CLI_GROUPS] = cli_run_groups,   [CLI_LEASES] = cli_run_leases,
    [CLI_PURGE] = cli_run_purge,     [CLI_HEALTH] = cli_run_health,
    [CLI_CLUSTER] = cli_run_cluster, [CLI_PARTITION] = cli_run_partition,
    [CLI_BENCH] = cli_run_bench,
};

static enum cli_exit run_with_broker(const struct cli_args *args)
{
    enum cli_exit e = CLI_FAILURE;
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == 0);
    struct cli_client *client = cli_client_new(args, &e);
    if (client != NULL)
        e = runs[args->command](args, client);
    cli_client_free(client);
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
    else if (args.command == CLI_COMPLETION)
        e = run_completion(&args);
    else
        e = run_with_broker(&args);
    cli_args_fini(&args);
    buf_fini(&problem);
    if (e == CLI_OK && !cli_print_done())
        e = CLI_FAILURE;
    return (int)e;
}

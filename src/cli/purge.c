// SPDX-License-Identifier: Apache-2.0
/* leaselog purge: says how many messages it is about, and asks before it drops them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/run.h"
#include "cli/table.h"

/* How many messages were dropped, or would be. */
static enum cli_exit purge(const struct cli_args *args, struct cli_client *client, bool dry_run,
                           long long *messages)
{
    struct buf path = BUF_EMPTY;
    json_t *reply;
    cli_topic_path(&path, args->words[0], dry_run ? "/purge?dry_run=true" : "/purge");
    buf_put_u8(&path, 0);
    enum cli_exit e = cli_client_rest(client, "POST", path.at, NULL, &reply, NULL);
    buf_fini(&path);
    if (e != CLI_OK)
        return e;
    *messages = (long long)json_integer_value(json_object_get(reply, "messages"));
    json_decref(reply);
    return CLI_OK;
}

static bool confirmed(const struct cli_args *args, long long messages)
{
    char answer[16] = "";
    fprintf(stderr, "Drop %lld message%s of %s, received ones included? [y/N] ", messages,
            messages == 1 ? "" : "s", args->words[0]);
    fflush(stderr);
    return fgets(answer, sizeof answer, stdin) != NULL &&
           (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
}

enum cli_exit cli_run_purge(const struct cli_args *args, struct cli_client *client)
{
    long long messages = 0;
    enum cli_exit e = CLI_OK;
    if (args->words_n != 1)
        return cli_usage(args, args->words_n == 0 ? "which topic?" : "one topic only");
    bool asks = !args->yes && !args->dry_run;
    if (asks && !isatty(STDIN_FILENO))
        return cli_usage(args,
                         "nobody is there to be asked; say --yes, or --dry-run to look first");
    if (asks || args->dry_run)
        e = purge(args, client, true, &messages);
    if (e == CLI_OK && asks && !confirmed(args, messages)) {
        cli_say("nothing is dropped");
        return CLI_FAILURE;
    }
    if (e == CLI_OK && !args->dry_run)
        e = purge(args, client, false, &messages);
    if (e != CLI_OK)
        return e;
    if (args->json)
        cli_print_json(json_pack("{s:I, s:b}", "messages", (json_int_t)messages, "dry_run",
                                 (int)args->dry_run));
    else
        printf("%lld message%s %sdropped\n", messages, messages == 1 ? "" : "s",
               args->dry_run ? "would be " : "");
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

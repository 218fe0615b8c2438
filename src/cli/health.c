// SPDX-License-Identifier: Apache-2.0
/* leaselog health: for containers and scripts that have no curl. */
#include <stdio.h>

#include "cli/run.h"

enum cli_exit cli_run_health(const struct cli_args *args, struct cli_client *client)
{
    struct buf body = BUF_EMPTY;
    long status = 0;
    if (args->words_n > 0)
        return cli_usage(args, "health takes no words");
    enum cli_exit e = cli_client_get(client, args->ready ? "/readyz" : "/livez", &body, &status);
    if (e == CLI_OK) {
        /* The broker's own words, good or bad: they say which check failed. */
        fwrite(body.n == 0 ? "" : body.at, 1, body.n, stdout);
        if (body.n > 0 && body.at[body.n - 1] != '\n')
            putchar('\n');
        if (status < 200 || status >= 300) {
            cli_say("the broker is not %s (HTTP status %ld)", args->ready ? "ready" : "well",
                    status);
            e = cli_exit_of_answer(status, "");
        }
    }
    buf_fini(&body);
    return e == CLI_OK && !cli_print_done() ? CLI_FAILURE : e;
}

// SPDX-License-Identifier: Apache-2.0
/* leaselog groups and leaselog leases: what a topic's consumers have before them and in hand. */
#include <stdio.h>

#include "cli/run.h"
#include "cli/table.h"

enum { LEASES_N = 100 }; /* unless -n says more */

/* Prints a list of the topic: as a table, or one JSON value a line. */
static enum cli_exit list_print(const struct cli_args *args, struct cli_client *client,
                                const char *rest, const char *member, int64_t most,
                                const struct cli_column *columns, size_t columns_n)
{
    struct buf path = BUF_EMPTY;
    json_t *rows, *row;
    size_t i;
    if (args->words_n != 1)
        return cli_usage(args, args->words_n == 0 ? "which topic?" : "one topic only");
    cli_topic_path(&path, args->words[0], rest);
    enum cli_exit e = cli_pages_get(client, &path, member, most, &rows);
    buf_fini(&path);
    if (e != CLI_OK)
        return e;
    if (args->json)
        json_array_foreach(rows, i, row) cli_print_json(json_incref(row));
    else if (json_array_size(rows) > 0)
        cli_table_print(columns, columns_n, NULL, rows);
    else
        cli_hint(args, "no %s", member);
    json_decref(rows);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

enum cli_exit cli_run_groups(const struct cli_args *args, struct cli_client *client)
{
    static const struct cli_column columns[] = {
        {"NAME", "name", false},
        {"VISIBLE", "visible", true},
        {"IN FLIGHT", "in_flight", true},
        {"DELAYED", "delayed", true},
        {"MOVING", "moving", true},
        {"WAITING RECEIVERS", "waiting_receivers", true},
        {"OLDEST", "oldest_sent_at", false},
    };
    return list_print(args, client, "/groups", "groups", -1, columns,
                      sizeof columns / sizeof columns[0]);
}

enum cli_exit cli_run_leases(const struct cli_args *args, struct cli_client *client)
{
    static const struct cli_column columns[] = {
        {"PARTITION", "partition", true},
        {"NUMBER", "number", true},
        {"SECONDS LEFT", "left_seconds", true},
        {"RECEIVED", "receive_count", true},
        {"HOLDER", "holder", false},
    };
    return list_print(args, client, "/groups/default/leases", "leases",
                      args->number > 0 ? args->number : LEASES_N, columns,
                      sizeof columns / sizeof columns[0]);
}

// SPDX-License-Identifier: Apache-2.0
/* leaselog cluster: its brokers, and who leads and stores what. */
#include <stdio.h>
#include <string.h>

#include "cli/run.h"
#include "cli/table.h"

/* [1,2,3] becomes "1,2,3", so that it fits into a cell. */
static void flatten(json_t *row, const char *member)
{
    struct buf text = BUF_EMPTY;
    json_t *list = json_object_get(row, member), *value;
    size_t i;
    json_array_foreach(list, i, value)
        buf_put_format(&text, "%s%lld", i == 0 ? "" : ",", (long long)json_integer_value(value));
    json_object_set_new(row, member, json_stringn(text.n == 0 ? "" : text.at, text.n));
    buf_fini(&text);
}

static void brokers_print(json_t *rows, json_int_t controller)
{
    static const struct cli_column columns[] = {
        {"BROKER", "id", true},           {"STATE", "state", false},    {"ROLE", "role", false},
        {"CLIENTS", "client_url", false}, {"PEERS", "peer_url", false},
    };
    json_t *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        bool live = json_is_true(json_object_get(row, "live"));
        bool draining = json_is_true(json_object_get(row, "draining"));
        bool leads = json_integer_value(json_object_get(row, "id")) == controller;
        json_object_set_new(row, "state",
                            json_string(draining ? "draining" : (live ? "live" : "gone")));
        json_object_set_new(row, "role", json_string(leads ? "controller" : ""));
    }
    cli_table_print(columns, sizeof columns / sizeof columns[0], NULL, rows);
}

static void partitions_print(json_t *rows)
{
    static const struct cli_column columns[] = {
        {"TOPIC", "topic", false},    {"PARTITION", "partition", true},
        {"LEADER", "leader", true},   {"EPOCH", "epoch", true},
        {"IN SYNC", "isr", false},    {"MEMBERS", "members", false},
        {"MIN ISR", "min_isr", true}, {"STATE", "state", false},
    };
    json_t *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        flatten(row, "isr");
        flatten(row, "members");
    }
    cli_table_print(columns, sizeof columns / sizeof columns[0], NULL, rows);
}

enum cli_exit cli_run_cluster(const struct cli_args *args, struct cli_client *client)
{
    json_t *reply;
    struct cli_fault fault = {0};
    if (args->words_n > 1 || (args->words_n == 1 && strcmp(args->words[0], "status") != 0))
        return cli_usage(args, "the only thing to do is: status");
    enum cli_exit e = cli_client_rest(client, "GET", "/v1/cluster", NULL, &reply, &fault);
    if (e != CLI_OK)
        return fault.status == 0 ? e : cli_fault_say(&fault);
    if (args->json) {
        cli_print_json(reply);
        return cli_print_done() ? CLI_OK : CLI_FAILURE;
    }
    json_t *partitions = json_object_get(reply, "partitions");
    brokers_print(json_object_get(reply, "brokers"),
                  json_integer_value(json_object_get(reply, "controller")));
    if (json_array_size(partitions) > 0) {
        putchar('\n');
        partitions_print(partitions);
    }
    json_decref(reply);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

// SPDX-License-Identifier: Apache-2.0
/* leaselog cluster: its brokers, who leads and stores what, and moving a lead. leaselog partition:
 * what is left when messages were lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "cli/table.h"
#include "cli/text.h"

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

/* False: no number in decimal from `least` to 65535. */
static bool number_read(const char *text, long least, long *out)
{
    size_t n = strlen(text);
    if (n == 0 || n > 5 || strspn(text, "0123456789") != n)
        return false;
    *out = strtol(text, NULL, 10);
    return *out >= least && *out <= 65535;
}

/* POST /v1/cluster/partitions/TOPIC/PARTITION/verb. Takes `request`. */
static enum cli_exit wish_post(struct cli_client *client, const char *topic, const char *partition,
                               const char *verb, json_t *request)
{
    struct buf path = BUF_EMPTY;
    const char *slash = strrchr(topic, '/'); /* its URL will do, too */
    struct cli_fault fault = {0};
    buf_put_text(&path, "/v1/cluster/partitions/");
    cli_url_quote(&path, bytes_of_text(slash == NULL ? topic : slash + 1));
    buf_put_format(&path, "/%s/%s", partition, verb);
    buf_put_u8(&path, 0);
    enum cli_exit e = cli_client_rest(client, "POST", path.at, request, NULL, &fault);
    buf_fini(&path);
    return e == CLI_OK || fault.status == 0 ? e : cli_fault_say(&fault);
}

static enum cli_exit leader_move(const struct cli_args *args, struct cli_client *client)
{
    long partition, broker;
    if (args->words_n != 4)
        return cli_usage(args, "move-leader needs a topic, the partition's number and a broker's");
    if (!number_read(args->words[2], 0, &partition))
        return cli_usage(args, "a partition is a number from 0");
    if (!number_read(args->words[3], 1, &broker))
        return cli_usage(args, "a broker is a number from 1 to 65535");
    enum cli_exit e = wish_post(client, args->words[1], args->words[2], "leader",
                                json_pack("{s:I}", "broker", (json_int_t)broker));
    if (e == CLI_OK)
        cli_hint(args, "broker %ld will lead in a moment; see: leaselog cluster status", broker);
    return e;
}

enum cli_exit cli_run_partition(const struct cli_args *args, struct cli_client *client)
{
    long partition, broker;
    if (args->words_n != 3 || strcmp(args->words[0], "recover") != 0)
        return cli_usage(args, "it goes: recover TOPIC PARTITION");
    if (!number_read(args->words[2], 0, &partition))
        return cli_usage(args, "a partition is a number from 0");
    if (args->from == NULL || !number_read(args->from, 1, &broker))
        return cli_usage(args, "--from BROKER says whose copy is left, by its number");
    if (!args->unsafe || !args->accept_loss)
        return cli_usage(args, "messages that were acknowledged will be lost: say --unsafe and "
                               "--i-accept-loss if that is meant");
    enum cli_exit e = wish_post(
        client, args->words[1], args->words[2], "recover",
        json_pack("{s:I, s:b, s:b}", "from", (json_int_t)broker, "unsafe", 1, "i_accept_loss", 1));
    if (e == CLI_OK)
        cli_hint(args, "broker %ld leads with what it has; the broker's log names what is given up",
                 broker);
    return e;
}

enum cli_exit cli_run_cluster(const struct cli_args *args, struct cli_client *client)
{
    json_t *reply;
    struct cli_fault fault = {0};
    if (args->words_n > 0 && strcmp(args->words[0], "move-leader") == 0)
        return leader_move(args, client);
    if (args->words_n > 1 || (args->words_n == 1 && strcmp(args->words[0], "status") != 0))
        return cli_usage(args, "it is: status, or move-leader TOPIC PARTITION BROKER");
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

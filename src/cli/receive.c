// SPDX-License-Identifier: Apache-2.0
/* leaselog receive. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/body.h"
#include "cli/lease.h"
#include "cli/run.h"
#include "cli/signals.h"

/* SQS: at most 10 messages a receive, and 20 s of waiting. */
enum { BATCH_MAX = 10, WAIT_S_MAX = 20, PAUSE_MS_MAX = 5000 };

json_t *cli_receive_request(const char *topic, int64_t number, int64_t wait_s, int64_t visibility_s)
{
    json_t *request = json_pack(
        "{s:s, s:I, s:[s], s:[s]}", "QueueUrl", topic, "MaxNumberOfMessages", (json_int_t)number,
        "MessageSystemAttributeNames", "All", "MessageAttributeNames", "All");
    if (request != NULL && wait_s >= 0)
        json_object_set_new(request, "WaitTimeSeconds", json_integer(wait_s));
    if (request != NULL && visibility_s >= 0)
        json_object_set_new(request, "VisibilityTimeout", json_integer(visibility_s));
    return request;
}

static bool messages_print(const struct cli_args *args, const json_t *messages)
{
    size_t i;
    json_t *message;
    json_array_foreach(messages, i, message)
    {
        if (args->json) {
            cli_print_json(json_incref(message));
            continue;
        }
        struct arena arena;
        arena_init(&arena, NULL, 0);
        struct bytes body = cli_message_body(message, &arena);
        fwrite(body.at, 1, body.n, stdout);
        putchar('\n');
        arena_fini(&arena);
    }
    return cli_print_done();
}

static enum cli_exit messages_delete(const struct cli_args *args, struct cli_client *client,
                                     const json_t *messages)
{
    size_t i;
    json_t *message;
    enum cli_exit e = CLI_OK;
    struct cli_deletion d;
    cli_deletion_begin(&d, args->words[0], client);
    json_array_foreach(messages, i, message) if (e == CLI_OK) e =
        cli_deletion_add(&d, json_incref(json_object_get(message, "ReceiptHandle")));
    return cli_deletion_end(&d, e);
}

/* One request: receives, prints, and only then deletes. *n is how many there were. */
static enum cli_exit receive_some(const struct cli_args *args, struct cli_client *client,
                                  int64_t most, int64_t wait_s, int64_t *n)
{
    json_t *reply;
    json_t *request = cli_receive_request(args->words[0], most < BATCH_MAX ? most : BATCH_MAX,
                                          wait_s, args->visibility_s);
    *n = 0;
    enum cli_exit e = cli_client_call(client, "ReceiveMessage", request,
                                      wait_s >= 0 ? wait_s : WAIT_S_MAX, &reply);
    if (e != CLI_OK)
        return e;
    json_t *messages = json_object_get(reply, "Messages");
    *n = (int64_t)json_array_size(messages);
    if (*n > 0 && !messages_print(args, messages))
        e = CLI_FAILURE; /* they come back when their leases end */
    else if (*n > 0 && args->remove)
        e = messages_delete(args, client, messages);
    json_decref(reply);
    return e;
}

/* Goes on until a signal, or until nobody reads stdout any more. Once it has been reached, a broker
 * that is away is waited for. */
static enum cli_exit follow(const struct cli_args *args, struct cli_client *client)
{
    sigset_t before;
    int signals = cli_signals_open(&before), pause_ms = 0;
    int64_t n, wait_s = args->wait_s >= 0 ? args->wait_s : WAIT_S_MAX;
    bool reached = false;
    /* POLLERR, which is always told, shows on a pipe that has lost its reader. */
    struct pollfd watched[] = {{.fd = signals, .events = POLLIN}, {.fd = STDOUT_FILENO}};
    enum cli_exit e = CLI_OK;
    CHECK(signals >= 0);
    cli_client_watch(client, watched, 2);
    while (!cli_client_stopped(client)) {
        e = receive_some(args, client, args->number > 0 ? args->number : 1, wait_s, &n);
        if (cli_client_stopped(client) && e == CLI_EMPTY)
            break;
        reached = reached || e == CLI_OK;
        if (e != CLI_OK && !(e == CLI_UNAVAILABLE && reached))
            break;
        pause_ms = e == CLI_OK ? 0 : pause_ms == 0 ? 100 : pause_ms * 2;
        if (pause_ms > PAUSE_MS_MAX)
            pause_ms = PAUSE_MS_MAX;
        if (e == CLI_OK && n == 0 && wait_s == 0)
            cli_client_pause(client, 1000); /* --wait 0 shall not become a flood of requests */
        else if (pause_ms > 0)
            cli_client_pause(client, pause_ms);
    }
    cli_client_watch(client, NULL, 0);
    close(signals);
    return e == CLI_EMPTY ? CLI_OK : e;
}

enum cli_exit cli_run_receive(const struct cli_args *args, struct cli_client *client)
{
    int64_t received = 0, n = 1, most = args->number > 0 ? args->number : 1;
    enum cli_exit e = CLI_OK;
    if (args->words_n != 1)
        return cli_usage(args, args->words_n == 0 ? "which topic?" : "one topic only");
    if (args->follow)
        return follow(args, client);
    while (e == CLI_OK && received < most && n > 0) {
        /* Only a first message is worth waiting for. */
        e = receive_some(args, client, most - received, received > 0 ? 0 : args->wait_s, &n);
        received += n;
    }
    if (e != CLI_OK)
        return e;
    if (received == 0) {
        cli_hint(args, "no message");
        return CLI_EMPTY;
    }
    if (!args->remove && !args->json)
        cli_hint(args, "leased, not deleted: --delete deletes, --json shows the receipts");
    return CLI_OK;
}

// SPDX-License-Identifier: Apache-2.0
/* leaselog receive and leaselog delete. */
#include <stdio.h>
#include <string.h>

#include "cli/input.h"
#include "cli/run.h"
#include "cli/text.h"

enum { BATCH_MAX = 10 }; /* SQS: messages of a receive, entries of a batch */

/* The receipts of one DeleteMessageBatch, and what became of those before. */
struct deletion {
    const char *topic;
    struct cli_client *client;
    json_t *entries;
    unsigned long deleted, failed;
};

/* The Failed entries of a batch's answer on stderr; `first` is the number of the batch's first
 * receipt. Gives how many there are. */
static unsigned long failed_print(const json_t *reply, unsigned long first)
{
    size_t i;
    json_t *entry, *failed = json_object_get(reply, "Failed");
    json_array_foreach(failed, i, entry)
    {
        int64_t index = 0;
        const char *id = json_string_value(json_object_get(entry, "Id"));
        (void)(id != NULL && cli_number_read(id, 0, BATCH_MAX - 1, &index));
        cli_say("receipt %lu: %s: %s", first + (unsigned long)index,
                json_string_value(json_object_get(entry, "Code")) ?: "failed",
                json_string_value(json_object_get(entry, "Message")) ?: "");
    }
    return json_array_size(failed);
}

static enum cli_exit deletion_flush(struct deletion *d)
{
    json_t *reply;
    size_t n = json_array_size(d->entries);
    if (n == 0)
        return CLI_OK;
    json_t *request = json_pack("{s:s, s:o}", "QueueUrl", d->topic, "Entries", d->entries);
    d->entries = json_array();
    enum cli_exit e = cli_client_call(d->client, "DeleteMessageBatch", request, 0, &reply);
    if (e != CLI_OK) {
        d->failed += n;
        return e;
    }
    unsigned long failed = failed_print(reply, d->deleted + d->failed + 1);
    d->failed += failed;
    d->deleted += failed < n ? n - failed : 0;
    json_decref(reply);
    return CLI_OK;
}

static enum cli_exit deletion_add(struct deletion *d, json_t *receipt)
{
    char id[8];
    if (receipt == NULL) {
        cli_say("a receipt is not UTF-8");
        d->failed++;
        return CLI_OK;
    }
    (void)snprintf(id, sizeof id, "%zu", json_array_size(d->entries));
    json_array_append_new(d->entries, json_pack("{s:s, s:o}", "Id", id, "ReceiptHandle", receipt));
    return json_array_size(d->entries) == BATCH_MAX ? deletion_flush(d) : CLI_OK;
}

static enum cli_exit deletion_end(struct deletion *d, enum cli_exit e)
{
    if (e == CLI_OK)
        e = deletion_flush(d);
    json_decref(d->entries);
    return cli_exit_of_many(d->deleted, d->failed, e != CLI_OK ? e : CLI_FAILURE);
}

enum cli_exit cli_run_delete(const struct cli_args *args, struct cli_client *client)
{
    if (args->words_n < 2)
        return cli_usage(args, "which topic, and which receipts?");
    struct deletion d = {.topic = args->words[0], .client = client, .entries = json_array()};
    enum cli_exit e = CLI_OK;
    if (args->words_n == 2 && strcmp(args->words[1], "-") == 0) {
        struct buf line = BUF_EMPTY;
        enum err read = ERR_OK;
        while (e == CLI_OK && (read = cli_input_line(&line)) == ERR_OK)
            if (line.n > 0)
                e = deletion_add(&d, json_stringn(line.at, line.n));
        if (read == ERR_IO || read == ERR_TOO_BIG) {
            cli_say("cannot read the receipts from stdin");
            d.failed++;
        }
        buf_fini(&line);
    } else {
        for (int i = 1; i < args->words_n && e == CLI_OK; i++)
            e = deletion_add(&d, json_string(args->words[i]));
    }
    return deletion_end(&d, e);
}

static json_t *receive_request(const struct cli_args *args, int64_t number, int64_t wait_s)
{
    json_t *request = json_pack(
        "{s:s, s:I, s:[s], s:[s]}", "QueueUrl", args->words[0], "MaxNumberOfMessages",
        (json_int_t)number, "MessageSystemAttributeNames", "All", "MessageAttributeNames", "All");
    if (request != NULL && wait_s >= 0)
        json_object_set_new(request, "WaitTimeSeconds", json_integer(wait_s));
    if (request != NULL && args->visibility_s >= 0)
        json_object_set_new(request, "VisibilityTimeout", json_integer(args->visibility_s));
    return request;
}

static bool messages_print(const struct cli_args *args, const json_t *messages)
{
    size_t i;
    json_t *message;
    json_array_foreach(messages, i, message)
    {
        json_t *body = json_object_get(message, "Body");
        if (args->json) {
            cli_print_json(json_incref(message));
        } else {
            fwrite(json_string_value(body) ?: "", 1, json_string_length(body), stdout);
            putchar('\n');
        }
    }
    return cli_print_done();
}

static enum cli_exit messages_delete(const struct cli_args *args, struct cli_client *client,
                                     const json_t *messages)
{
    size_t i;
    json_t *message;
    enum cli_exit e = CLI_OK;
    struct deletion d = {.topic = args->words[0], .client = client, .entries = json_array()};
    json_array_foreach(messages, i, message) if (e == CLI_OK) e =
        deletion_add(&d, json_incref(json_object_get(message, "ReceiptHandle")));
    return deletion_end(&d, e);
}

/* One request: receives, prints, and only then deletes. Adds to *received. */
static enum cli_exit receive_some(const struct cli_args *args, struct cli_client *client,
                                  int64_t *received, bool *empty)
{
    json_t *reply;
    int64_t left = args->number - *received;
    /* Only a first message is worth waiting for. */
    int64_t wait_s = *received > 0 ? 0 : args->wait_s;
    json_t *request = receive_request(args, left < BATCH_MAX ? left : BATCH_MAX, wait_s);
    enum cli_exit e =
        cli_client_call(client, "ReceiveMessage", request, wait_s >= 0 ? wait_s : 20, &reply);
    if (e != CLI_OK)
        return e;
    json_t *messages = json_object_get(reply, "Messages");
    size_t n = json_array_size(messages);
    *empty = n == 0;
    *received += (int64_t)n;
    if (n > 0 && !messages_print(args, messages))
        e = CLI_FAILURE; /* they come back when their leases end */
    else if (n > 0 && args->remove)
        e = messages_delete(args, client, messages);
    json_decref(reply);
    return e;
}

enum cli_exit cli_run_receive(const struct cli_args *args, struct cli_client *client)
{
    int64_t received = 0;
    bool empty = false;
    enum cli_exit e = CLI_OK;
    if (args->words_n != 1)
        return cli_usage(args, args->words_n == 0 ? "which topic?" : "one topic only");
    while (e == CLI_OK && received < args->number && !empty)
        e = receive_some(args, client, &received, &empty);
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

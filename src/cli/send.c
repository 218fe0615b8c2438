// SPDX-License-Identifier: Apache-2.0
/* leaselog send: one message, or one for each line of stdin, in batches. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/run.h"
#include "cli/text.h"

/* SQS: at most 10 entries, and 1 MiB for all of them together, their attributes included. */
enum { BATCH_MAX = 10, BATCH_BYTES_MAX = 1024 * 1024 };

static json_t *attributes_of(const struct cli_args *args, size_t *bytes)
{
    json_t *all = json_object();
    *bytes = 0;
    for (size_t i = 0; i < args->attributes.n; i++) {
        struct cli_pair pair;
        char name[257] = "", type[257] = "String";
        CHECK(cli_pair_read(args->attributes.at[i], &pair)); /* the parser has read it before */
        (void)snprintf(name, sizeof name, "%.*s", (int)pair.name.n, (const char *)pair.name.at);
        if (pair.type.n > 0)
            (void)snprintf(type, sizeof type, "%.*s", (int)pair.type.n, (const char *)pair.type.at);
        bool binary = strncmp(type, "Binary", 6) == 0;
        json_object_set_new(all, name,
                            json_pack("{s:s, s:s}", "DataType", type,
                                      binary ? "BinaryValue" : "StringValue", pair.value));
        *bytes += strlen(name) + strlen(type) + strlen(pair.value);
    }
    return all;
}

/* What SendMessage and an entry of SendMessageBatch have in common. */
static json_t *message_new(const struct cli_args *args, struct bytes body, size_t *bytes)
{
    json_t *message = json_object();
    json_t *text = json_stringn(body.n == 0 ? "" : body.at, body.n);
    if (text == NULL) {
        cli_say("the body is not UTF-8; encode it first, for instance with base64");
        json_decref(message);
        return NULL;
    }
    json_object_set_new(message, "MessageBody", text);
    json_t *attributes = attributes_of(args, bytes);
    *bytes += body.n;
    if (json_object_size(attributes) > 0)
        json_object_set(message, "MessageAttributes", attributes);
    json_decref(attributes);
    if (args->delay_s >= 0)
        json_object_set_new(message, "DelaySeconds", json_integer(args->delay_s));
    if (args->group_id != NULL)
        json_object_set_new(message, "MessageGroupId", json_string(args->group_id));
    if (args->dedup_id != NULL)
        json_object_set_new(message, "MessageDeduplicationId", json_string(args->dedup_id));
    return message;
}

static void sent_print(const struct cli_args *args, json_t *result)
{
    if (args->json)
        cli_print_json(json_incref(result));
    else
        printf("%s\n", json_string_value(json_object_get(result, "MessageId")) ?: "");
}

static enum cli_exit send_one(const struct cli_args *args, struct cli_client *client,
                              struct bytes body)
{
    size_t bytes;
    json_t *reply, *message = message_new(args, body, &bytes);
    if (message == NULL)
        return CLI_FAILURE;
    json_object_set_new(message, "QueueUrl", json_string(args->words[0]));
    enum cli_exit e = cli_client_call(client, "SendMessage", message, 0, &reply);
    if (e != CLI_OK)
        return e;
    sent_print(args, reply);
    json_decref(reply);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

/* What becomes of the lines. */
struct lines {
    const struct cli_args *args;
    struct cli_client *client;
    json_t *entries; /* of the batch that is being filled */
    size_t entries_bytes;
    unsigned long line;             /* number of the last line read */
    unsigned long lines[BATCH_MAX]; /* of the entries */
    unsigned long sent, failed;
};

static unsigned long entry_line(const struct lines *l, const json_t *entry)
{
    int64_t index;
    const char *id = json_string_value(json_object_get(entry, "Id"));
    return id != NULL && cli_number_read(id, 0, BATCH_MAX - 1, &index) ? l->lines[index] : 0;
}

static enum cli_exit batch_send(struct lines *l)
{
    json_t *reply, *entry;
    size_t i, n = json_array_size(l->entries);
    if (n == 0)
        return CLI_OK;
    json_t *request = json_pack("{s:s, s:o}", "QueueUrl", l->args->words[0], "Entries", l->entries);
    l->entries = json_array();
    l->entries_bytes = 0;
    enum cli_exit e = cli_client_call(l->client, "SendMessageBatch", request, 0, &reply);
    if (e != CLI_OK) {
        l->failed += n;
        return e;
    }
    json_array_foreach(json_object_get(reply, "Successful"), i, entry)
    {
        l->sent++;
        sent_print(l->args, entry);
    }
    json_array_foreach(json_object_get(reply, "Failed"), i, entry)
    {
        l->failed++;
        cli_say("line %lu: %s: %s", entry_line(l, entry),
                json_string_value(json_object_get(entry, "Code")) ?: "failed",
                json_string_value(json_object_get(entry, "Message")) ?: "");
    }
    json_decref(reply);
    if (!cli_print_done())
        return CLI_FAILURE;
    return CLI_OK;
}

static enum cli_exit line_add(struct lines *l, struct bytes body)
{
    char id[8];
    size_t bytes;
    json_t *message = message_new(l->args, body, &bytes);
    if (message == NULL) {
        l->failed++;
        cli_say("line %lu was not sent", l->line);
        return CLI_OK; /* the other lines may be good */
    }
    enum cli_exit e = CLI_OK;
    if (l->entries_bytes + bytes > BATCH_BYTES_MAX)
        e = batch_send(l);
    size_t index = json_array_size(l->entries);
    (void)snprintf(id, sizeof id, "%zu", index);
    json_object_set_new(message, "Id", json_string(id));
    json_array_append_new(l->entries, message);
    l->lines[index] = l->line;
    l->entries_bytes += bytes;
    if (e == CLI_OK && index + 1 == BATCH_MAX)
        e = batch_send(l);
    return e;
}

static enum cli_exit send_lines(const struct cli_args *args, struct cli_client *client)
{
    struct lines l = {.args = args, .client = client, .entries = json_array()};
    struct buf line = BUF_EMPTY;
    enum cli_exit e = CLI_OK;
    enum err read = ERR_OK;
    while (e == CLI_OK && (read = cli_input_line(&line)) == ERR_OK) {
        l.line++;
        if (line.n > 0)
            e = line_add(&l, buf_bytes(&line));
    }
    if (read == ERR_TOO_BIG || read == ERR_IO) {
        cli_say("line %lu: %s", l.line + 1,
                read == ERR_IO ? "cannot read stdin" : "longer than 1 MiB");
        l.failed++;
    }
    if (e == CLI_OK)
        e = batch_send(&l);
    if (e != CLI_OK || l.failed > 0)
        cli_say("%lu sent; line %lu was the last one read", l.sent, l.line);
    json_decref(l.entries);
    buf_fini(&line);
    return cli_exit_of_many(l.sent, l.failed + (e != CLI_OK), e != CLI_OK ? e : CLI_FAILURE);
}

enum cli_exit cli_run_send(const struct cli_args *args, struct cli_client *client)
{
    struct buf body = BUF_EMPTY;
    if (args->words_n < 1)
        return cli_usage(args, "which topic?");
    if (args->words_n > 2)
        return cli_usage(args, "one body only; put it in quotes when it has blanks");
    bool from_stdin = args->words_n == 1 || strcmp(args->words[1], "-") == 0;
    if (args->lines && !from_stdin)
        return cli_usage(args, "--lines reads the bodies from stdin, so it takes no body");
    if (args->lines && args->dedup_id != NULL)
        return cli_usage(args, "with one --dedup-id for all --lines, only the first would count");
    /* Nobody should sit before a program that waits without a word. */
    if (args->words_n == 1 && isatty(STDIN_FILENO))
        return cli_usage(args, "which body? ('-' reads it from the terminal)");
    if (args->lines)
        return send_lines(args, client);
    if (!from_stdin)
        return send_one(args, client, bytes_of_text(args->words[1]));
    enum err read = cli_input_all(&body);
    enum cli_exit e = CLI_FAILURE;
    if (read == ERR_OK)
        e = send_one(args, client, buf_bytes(&body));
    else
        cli_say("%s", read == ERR_TOO_BIG ? "the body is larger than 1 MiB" : "cannot read stdin");
    buf_fini(&body);
    return e;
}

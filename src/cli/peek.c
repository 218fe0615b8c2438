// SPDX-License-Identifier: Apache-2.0
/* leaselog peek: messages as they lie there. */
#include <stdio.h>

#include "cli/run.h"
#include "cli/table.h"
#include "cli/text.h"

enum { PEEK_N = 10 }; /* unless -n says more */

static void query_put(struct buf *path, const char *name, const char *value)
{
    if (value == NULL)
        return;
    buf_put_format(path, "%c%s=", memchr(path->at, '?', path->n) == NULL ? '?' : '&', name);
    cli_url_quote(path, bytes_of_text(value));
}

/* "0-17", the place that the REST API knows the message by, and what the table shows as its body:
 * bytes that are no text come in base64. */
static void shown_put(json_t *message)
{
    char place[64];
    json_t *body = json_object_get(message, "body_base64");
    (void)snprintf(place, sizeof place, "%lld-%lld",
                   (long long)json_integer_value(json_object_get(message, "partition")),
                   (long long)json_integer_value(json_object_get(message, "number")));
    json_object_set_new(message, "place", json_string(place));
    if (body != NULL)
        json_object_set(message, "body", body);
}

enum cli_exit cli_run_peek(const struct cli_args *args, struct cli_client *client)
{
    static const struct cli_column columns[] = {
        {"PLACE", "place", false},  {"STATE", "state", false}, {"RECEIVED", "receive_count", true},
        {"SENT", "sent_at", false}, {"BODY", "body", false},
    };
    struct buf path = BUF_EMPTY;
    json_t *messages, *message;
    size_t i;
    if (args->words_n != 1)
        return cli_usage(args, args->words_n == 0 ? "which topic?" : "one topic only");
    cli_topic_path(&path, args->words[0], "/messages");
    query_put(&path, "from", args->from);
    query_put(&path, "state", args->state);
    query_put(&path, "match", args->match);
    enum cli_exit e = cli_pages_get(client, &path, "messages",
                                    args->number > 0 ? args->number : PEEK_N, &messages);
    buf_fini(&path);
    if (e != CLI_OK)
        return e;
    json_array_foreach(messages, i, message)
    {
        if (args->json)
            cli_print_json(json_incref(message));
        else
            shown_put(message);
    }
    if (json_array_size(messages) == 0)
        cli_hint(args, "no message");
    else if (!args->json)
        cli_table_print(columns, sizeof columns / sizeof columns[0], NULL, messages);
    json_decref(messages);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

// SPDX-License-Identifier: Apache-2.0
/* leaselog topics: list, create, delete, show. */
#include <stdio.h>
#include <string.h>

#include "cli/run.h"
#include "cli/text.h"

/* ---- list ---- */

static const struct {
    const char *member, *title;
} counters[] = {{"visible", "VISIBLE"}, {"in_flight", "IN FLIGHT"}, {"delayed", "DELAYED"}};
enum { COUNTERS_N = sizeof counters / sizeof counters[0] };

/* A topic is an object with a name, or its bare name. */
static const char *name_of(const json_t *topic)
{
    const char *name = json_string_value(topic);
    return name ?: json_string_value(json_object_get(topic, "name")) ?: "";
}

static void table_print(const json_t *topics)
{
    size_t i;
    json_t *topic;
    int width = 4;
    json_array_foreach(topics, i, topic) if ((int)strlen(name_of(topic)) > width) width =
        (int)strlen(name_of(topic));
    printf("%-*s", width, "NAME");
    for (int k = 0; k < COUNTERS_N; k++)
        printf("  %12s", counters[k].title);
    putchar('\n');
    json_array_foreach(topics, i, topic)
    {
        printf("%-*s", width, name_of(topic));
        for (int k = 0; k < COUNTERS_N; k++) {
            const json_t *count = json_object_get(topic, counters[k].member);
            if (json_is_integer(count))
                printf("  %12lld", (long long)json_integer_value(count));
            else
                printf("  %12s", "-"); /* a broker that does not count this */
        }
        putchar('\n');
    }
}

static enum cli_exit topics_list(const struct cli_args *args, struct cli_client *client)
{
    struct buf body = BUF_EMPTY;
    long status = 0;
    enum cli_exit e = cli_client_get(client, "/v1/topics", &body, &status);
    if (e == CLI_OK && (status < 200 || status >= 300))
        e = cli_client_fault(status, buf_bytes(&body));
    if (e == CLI_OK) {
        json_t *root = json_loadb(body.n == 0 ? "" : body.at, body.n, 0, NULL);
        json_t *topics = json_object_get(root, "topics");
        if (!json_is_array(topics)) {
            cli_say("the answer to /v1/topics is not a list of topics");
            e = CLI_FAILURE;
        } else if (args->json) {
            cli_print_json(json_incref(root));
        } else if (json_array_size(topics) > 0) {
            table_print(topics);
        } else {
            cli_hint(args, "no topics yet; make one: leaselog topics create NAME");
        }
        json_decref(root);
    }
    buf_fini(&body);
    return e == CLI_OK && !cli_print_done() ? CLI_FAILURE : e;
}

/* ---- one topic ---- */

static enum cli_exit topics_create(const struct cli_args *args, struct cli_client *client)
{
    const char *name = args->words[1];
    size_t name_n = strlen(name);
    json_t *reply, *attributes = json_object();
    /* A name that ends so is refused without the attribute, so it can only be meant. */
    if (name_n > 5 && strcmp(name + name_n - 5, ".fifo") == 0)
        json_object_set_new(attributes, "FifoQueue", json_string("true"));
    for (size_t i = 0; i < args->settings_n; i++) {
        struct cli_pair pair;
        char setting[129];
        CHECK(cli_pair_read(args->settings[i], &pair)); /* the parser has read it before */
        (void)snprintf(setting, sizeof setting, "%.*s", (int)pair.name.n,
                       (const char *)pair.name.at);
        json_object_set_new(attributes, setting, json_string(pair.value));
    }
    json_t *request = json_pack("{s:s, s:o}", "QueueName", name, "Attributes", attributes);
    enum cli_exit e = cli_client_call(client, "CreateQueue", request, 0, &reply);
    if (e != CLI_OK)
        return e;
    if (args->json)
        cli_print_json(json_incref(reply));
    else
        printf("%s\n", json_string_value(json_object_get(reply, "QueueUrl")) ?: name);
    cli_hint(args, "%s is there; send to it: leaselog send %s 'hello'", name, name);
    json_decref(reply);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

static enum cli_exit topics_delete(const struct cli_args *args, struct cli_client *client)
{
    json_t *reply;
    enum cli_exit e = cli_client_call(client, "DeleteQueue",
                                      json_pack("{s:s}", "QueueUrl", args->words[1]), 0, &reply);
    if (e != CLI_OK)
        return e;
    cli_hint(args, "%s and its messages are deleted", args->words[1]);
    json_decref(reply);
    return CLI_OK;
}

static enum cli_exit topics_show(const struct cli_args *args, struct cli_client *client)
{
    const char *name;
    json_t *reply, *value;
    json_t *request =
        json_pack("{s:s, s:[s]}", "QueueUrl", args->words[1], "AttributeNames", "All");
    enum cli_exit e = cli_client_call(client, "GetQueueAttributes", request, 0, &reply);
    if (e != CLI_OK)
        return e;
    json_t *attributes = json_object_get(reply, "Attributes");
    if (args->json)
        cli_print_json(json_incref(attributes));
    else
        json_object_foreach(attributes, name, value)
            printf("%s: %s\n", name, json_string_value(value) ?: "");
    json_decref(reply);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

enum cli_exit cli_run_topics(const struct cli_args *args, struct cli_client *client)
{
    static const char *const verbs[] = {"list", "create", "delete", "show"};
    static enum cli_exit (*const run[])(const struct cli_args *, struct cli_client *) = {
        topics_list, topics_create, topics_delete, topics_show};
    const char *word = args->words_n > 0 ? args->words[0] : "list";
    size_t i = 0;
    while (i < 4 && strcmp(word, verbs[i]) != 0)
        i++;
    if (i == 4) {
        const char *near = cli_word_nearest(word, verbs, 4);
        char what[160];
        (void)snprintf(what, sizeof what, "there is no 'topics %.40s'%s%s%s", word,
                       near != NULL ? "; did you mean 'topics " : "", near ?: "",
                       near != NULL ? "'?" : "");
        return cli_usage(args, what);
    }
    if (i == 0 ? args->words_n > 1 : args->words_n != 2)
        return cli_usage(args, i == 0 ? "list takes no name" : "which topic? One name is needed");
    if (args->settings_n > 0 && i != 1)
        return cli_usage(args, "--option belongs to topics create");
    return run[i](args, client);
}

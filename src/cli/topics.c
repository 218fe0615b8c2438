// SPDX-License-Identifier: Apache-2.0
/* leaselog topics: list, show, create, set, rm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "cli/table.h"
#include "cli/text.h"

/* ---- list ---- */

static enum cli_exit topics_list(const struct cli_args *args, struct cli_client *client)
{
    static const struct cli_column columns[] = {{"NAME", "name", false},
                                                {"VISIBLE", "visible", true},
                                                {"IN FLIGHT", "in_flight", true},
                                                {"DELAYED", "delayed", true}};
    struct buf path = BUF_EMPTY;
    json_t *topics;
    buf_put_text(&path, "/v1/topics");
    enum cli_exit e = cli_pages_get(client, &path, "topics", INT64_MAX, &topics);
    buf_fini(&path);
    if (e != CLI_OK)
        return e;
    if (args->json)
        cli_print_json(json_pack("{s:O}", "topics", topics));
    else if (json_array_size(topics) > 0)
        cli_table_print(columns, sizeof columns / sizeof columns[0], "stats", topics);
    else
        cli_hint(args, "no topics yet; make one: leaselog topics create NAME");
    json_decref(topics);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

/* ---- one topic ---- */

/* What a topic has from birth on, and both APIs know: it goes with the request that makes it. */
static bool is_of_birth(const char *name)
{
    static const char *const names[] = {"copies", "min_isr", "allow_single_copy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* SQS's attributes begin with a capital; what begins with a small letter is a setting that only the
 * REST API knows. */
static bool is_rest_setting(const char *name)
{
    return name[0] >= 'a' && name[0] <= 'z' && !is_of_birth(name);
}

/* Whole numbers go as numbers, true and false as such, all else as text. */
static json_t *rest_value(const char *text)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(text[0] == 't');
    size_t n = strlen(text);
    bool number = n > 0 && n < 19 && strspn(text, "0123456789") == n;
    return number ? json_integer(strtoll(text, NULL, 10)) : json_string(text);
}

static void settings_put(const struct cli_args *args, json_t *attributes, json_t *rest)
{
    for (size_t i = 0; i < args->settings.n; i++) {
        struct cli_pair pair;
        char setting[129];
        CHECK(cli_pair_read(args->settings.at[i], &pair)); /* the parser has read it before */
        (void)snprintf(setting, sizeof setting, "%.*s", (int)pair.name.n,
                       (const char *)pair.name.at);
        if (is_rest_setting(setting))
            json_object_set_new(rest, setting, rest_value(pair.value));
        else
            json_object_set_new(attributes, setting, json_string(pair.value));
    }
}

/* The settings of birth, for a topic that REST makes. */
static void birth_put(const struct cli_args *args, json_t *settings)
{
    for (size_t i = 0; i < args->settings.n; i++) {
        struct cli_pair pair;
        char name[129];
        CHECK(cli_pair_read(args->settings.at[i], &pair));
        (void)snprintf(name, sizeof name, "%.*s", (int)pair.name.n, (const char *)pair.name.at);
        if (is_of_birth(name))
            json_object_set_new(settings, name, rest_value(pair.value));
    }
}

/* SQS takes a topic's URL in place of its name. */
static void topic_path(struct buf *path, const char *topic)
{
    const char *slash = strrchr(topic, '/');
    cli_topic_path(path, slash == NULL ? topic : slash + 1, "");
    buf_put_u8(path, 0);
}

/* Takes `settings`. */
static enum cli_exit topic_patch(struct cli_client *client, const char *name, json_t *settings)
{
    struct buf path = BUF_EMPTY;
    if (json_object_size(settings) == 0) {
        json_decref(settings);
        return CLI_OK;
    }
    topic_path(&path, name);
    enum cli_exit e = cli_client_rest(client, "PATCH", path.at, settings, NULL, NULL);
    buf_fini(&path);
    return e;
}

/* What a name needs before it on a command line that is shown to be copied. */
static const char *guard(const char *name)
{
    return name[0] == '-' ? "-- " : "";
}

/* Of a topic that is there. */
static enum cli_exit settings_set(const struct cli_args *args, struct cli_client *client)
{
    json_t *reply, *attributes = json_object(), *rest = json_object();
    const char *name = args->words[1];
    enum cli_exit e = CLI_OK;
    settings_put(args, attributes, rest);
    if (json_object_size(attributes) > 0) {
        json_t *request = json_pack("{s:s, s:O}", "QueueUrl", name, "Attributes", attributes);
        e = cli_client_call(client, "SetQueueAttributes", request, 0, &reply);
        if (e == CLI_OK)
            json_decref(reply);
    }
    json_decref(attributes);
    if (e == CLI_OK)
        return topic_patch(client, name, rest);
    json_decref(rest);
    return e;
}

/* Only the REST API makes compact topics. A PUT would replace the settings of one that is there. */
static enum cli_exit compact_create(const struct cli_args *args, struct cli_client *client)
{
    struct buf path = BUF_EMPTY;
    struct cli_fault fault = {0};
    json_t *settings = json_pack("{s:s}", "cleanup", "compact");
    if (args->delete_retention_s >= 0)
        json_object_set_new(settings, "delete_retention", json_integer(args->delete_retention_s));
    birth_put(args, settings);
    cli_topic_path(&path, args->words[1], "");
    buf_put_u8(&path, 0);
    enum cli_exit e = cli_client_rest(client, "GET", path.at, NULL, NULL, &fault);
    if (e == CLI_OK) {
        cli_say("there is a topic %s already", args->words[1]);
        json_decref(settings);
        e = CLI_FAILURE;
    } else if (fault.status == 404) {
        e = cli_client_rest(client, "PUT", path.at, settings, NULL, NULL);
        if (e == CLI_OK) {
            e = settings_set(args, client);
            if (e != CLI_OK)
                cli_say("%s is there, without what was refused", args->words[1]);
        }
    } else {
        json_decref(settings);
        e = fault.status == 0 ? e : cli_fault_say(&fault);
    }
    buf_fini(&path);
    return e;
}

enum cli_exit cli_topic_create(const struct cli_args *args, struct cli_client *client,
                               const char *name, json_t **reply)
{
    size_t name_n = strlen(name);
    json_t *got, *attributes = json_object(), *rest = json_object();
    /* A name that ends so is refused without the attribute, so it can only be meant. */
    if (name_n > 5 && strcmp(name + name_n - 5, ".fifo") == 0)
        json_object_set_new(attributes, "FifoQueue", json_string("true"));
    if (!args->compact) /* else they are set already */
        settings_put(args, attributes, rest);
    json_t *request = json_pack("{s:s, s:o}", "QueueName", name, "Attributes", attributes);
    enum cli_exit e = cli_client_call(client, "CreateQueue", request, 0, &got);
    if (e != CLI_OK) {
        json_decref(rest);
        return e;
    }
    e = topic_patch(client, name, rest);
    if (e != CLI_OK) {
        cli_say("%s is there, without what was refused", name);
        json_decref(got);
        return e;
    }
    *reply = got;
    return CLI_OK;
}

static enum cli_exit topics_create(const struct cli_args *args, struct cli_client *client)
{
    const char *name = args->words[1];
    json_t *reply;
    enum cli_exit e = args->compact ? compact_create(args, client) : CLI_OK;
    if (e == CLI_OK)
        e = cli_topic_create(args, client, name, &reply);
    if (e != CLI_OK)
        return e;
    if (args->json)
        cli_print_json(json_incref(reply));
    else
        printf("%s\n", json_string_value(json_object_get(reply, "QueueUrl")) ?: name);
    if (args->compact)
        cli_hint(args,
                 "%s is there; send to it: curl -H 'Leaselog-Key: KEY' -d VALUE "
                 ".../v1/topics/%s/messages",
                 name, name);
    else
        cli_hint(args, "%s is there; send to it: leaselog send %s%s 'hello'", name, guard(name),
                 name);
    json_decref(reply);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

static enum cli_exit topics_set(const struct cli_args *args, struct cli_client *client)
{
    const char *name = args->words[1];
    enum cli_exit e = settings_set(args, client);
    if (e == CLI_OK)
        cli_hint(args, "%s is changed; see: leaselog topics show %s%s", name, guard(name), name);
    return e;
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

/* What only the REST API shows of a topic, into `shown`: its limits, what it holds, and its oldest
 * message. */
static enum cli_exit rest_show(struct cli_client *client, const char *name, json_t *shown)
{
    static const char *const members[] = {"retention_bytes", "max_bytes", "max_messages",
                                          "when_full",       "usage",     "oldest"};
    struct buf path = BUF_EMPTY;
    json_t *topic;
    topic_path(&path, name);
    enum cli_exit e = cli_client_rest(client, "GET", path.at, NULL, &topic, NULL);
    buf_fini(&path);
    if (e != CLI_OK)
        return e;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (json_object_get(topic, members[i]) != NULL)
            json_object_set(shown, members[i], json_object_get(topic, members[i]));
    json_decref(topic);
    return CLI_OK;
}

/* name: value, a line each; members of objects as object.name. */
static void lines_print(const char *prefix, const json_t *shown)
{
    const char *name;
    json_t *value;
    char inner[64];
    json_object_foreach((json_t *)(uintptr_t)shown, name, value)
    {
        if (json_is_object(value)) {
            (void)snprintf(inner, sizeof inner, "%s.", name);
            lines_print(inner, value);
        } else if (json_is_string(value) && prefix[0] != 0) { /* a holder is any text */
            struct buf line = BUF_EMPTY;
            (void)cli_line_quote(&line, bytes_of_text(json_string_value(value)), CLI_CELL_MAX);
            printf("%s%s: %.*s\n", prefix, name, (int)line.n, line.at);
            buf_fini(&line);
        } else if (json_is_string(value)) {
            printf("%s%s: %s\n", prefix, name, json_string_value(value));
        } else {
            char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
            printf("%s%s: %s\n", prefix, name, text ?: "");
            free(text);
        }
    }
}

static enum cli_exit topics_show(const struct cli_args *args, struct cli_client *client)
{
    json_t *reply;
    json_t *request =
        json_pack("{s:s, s:[s]}", "QueueUrl", args->words[1], "AttributeNames", "All");
    enum cli_exit e = cli_client_call(client, "GetQueueAttributes", request, 0, &reply);
    if (e != CLI_OK)
        return e;
    json_t *shown = json_object_get(reply, "Attributes");
    e = rest_show(client, args->words[1], shown);
    if (e != CLI_OK) {
        json_decref(reply);
        return e;
    }
    if (args->json)
        cli_print_json(json_incref(shown));
    else
        lines_print("", shown);
    json_decref(reply);
    return cli_print_done() ? CLI_OK : CLI_FAILURE;
}

static const struct verb {
    const char *word;
    enum cli_exit (*run)(const struct cli_args *args, struct cli_client *client);
    bool named;   /* takes a topic's name */
    bool options; /* takes --option */
} verbs[] = {
    {"list", topics_list, false, false},   {"show", topics_show, true, false},
    {"create", topics_create, true, true}, {"set", topics_set, true, true},
    {"rm", topics_delete, true, false},    {"delete", topics_delete, true, false},
};
enum { VERBS_N = sizeof verbs / sizeof verbs[0] };

static enum cli_exit verb_unknown(const struct cli_args *args)
{
    const char *words[VERBS_N];
    char what[160];
    for (size_t i = 0; i < VERBS_N; i++)
        words[i] = verbs[i].word;
    const char *near = cli_word_nearest(args->words[0], words, VERBS_N);
    (void)snprintf(what, sizeof what, "there is no 'topics %.40s'%s%s%s", args->words[0],
                   near != NULL ? "; did you mean 'topics " : "", near ?: "",
                   near != NULL ? "'?" : "");
    return cli_usage(args, what);
}

enum cli_exit cli_run_topics(const struct cli_args *args, struct cli_client *client)
{
    const char *word = args->words_n > 0 ? args->words[0] : "list";
    size_t i = 0;
    while (i < VERBS_N && strcmp(word, verbs[i].word) != 0)
        i++;
    if (i == VERBS_N)
        return verb_unknown(args);
    if (!verbs[i].named && args->words_n > 1)
        return cli_usage(args, "list takes no name");
    if (verbs[i].named && args->words_n != 2)
        return cli_usage(args, "which topic? One name is needed");
    if (args->settings.n > 0 && !verbs[i].options)
        return cli_usage(args, "--option belongs to topics create and topics set");
    if ((args->compact || args->delete_retention_s >= 0) && verbs[i].run != topics_create)
        return cli_usage(args, "--compact and --delete-retention belong to topics create");
    if (args->delete_retention_s >= 0 && !args->compact)
        return cli_usage(args, "--delete-retention goes with --compact");
    if (verbs[i].run == topics_set && args->settings.n == 0)
        return cli_usage(args, "set what? Say -o NAME=VALUE");
    return verbs[i].run(args, client);
}

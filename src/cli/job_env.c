// SPDX-License-Identifier: Apache-2.0
#include "cli/job_env.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/body.h"
#include "cli/text.h"

/* Linux takes no single text above 128 KiB in an environment (MAX_ARG_STRLEN), and fails the whole
 * exec. */
enum { VARIABLE_BYTES_MAX = 128 * 1024 - 512 };

#define ATTRIBUTE_PREFIX "LEASELOG_ATTR_"

/* Takes the variable's bytes; `v` may be used again. */
static void put(struct cli_job_env *e, struct buf *v)
{
    buf_put_u8(v, 0);
    e->at = mem_resize(e->at, (e->n + 2) * sizeof *e->at);
    e->at[e->n++] = v->at;
    e->at[e->n] = NULL;
    *v = BUF_EMPTY;
}

static void put_text(struct cli_job_env *e, const char *name, const char *value)
{
    struct buf v = BUF_EMPTY;
    if (value == NULL)
        return;
    buf_put_format(&v, "%s=", name);
    buf_put_text(&v, value);
    put(e, &v);
}

/* What an outer worker said of its own message must not pass for this one's. */
static bool is_ours(const char *variable, const char *server)
{
    static const char *const names[] = {
        "LEASELOG_TOPIC=",   "LEASELOG_ID=",       "LEASELOG_RECEIPT=",  "LEASELOG_RECEIVE_COUNT=",
        "LEASELOG_SENT_AT=", "LEASELOG_GROUP_ID=", "LEASELOG_DEDUP_ID=", "LEASELOG_ATTRS_OMITTED=",
        ATTRIBUTE_PREFIX,
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return server != NULL && strncmp(variable, "LEASELOG_URL=", 13) == 0;
}

static bool has_name(const struct cli_job_env *e, struct bytes name_equals)
{
    for (size_t i = 0; i < e->n; i++)
        if (strncmp(e->at[i], name_equals.at, name_equals.n) == 0)
            return true;
    return false;
}

/* False when no variable can hold it: too long, a NUL inside, or another attribute has the name. */
static bool put_attribute(struct cli_job_env *e, const char *name, const json_t *attribute)
{
    struct buf v = BUF_EMPTY;
    const json_t *value = json_object_get(attribute, "StringValue");
    if (value == NULL)
        value = json_object_get(attribute, "BinaryValue"); /* stays in base64 */
    const char *text = json_string_value(value);
    size_t n = json_string_length(value);
    buf_put_text(&v, ATTRIBUTE_PREFIX);
    for (const char *c = name; *c != '\0'; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= 'a' && *c <= 'z') || *c == '_';
        buf_put_u8(&v, plain ? (uint8_t)*c : '_');
    }
    buf_put_u8(&v, '=');
    if (text == NULL || strlen(text) != n || v.n + n > VARIABLE_BYTES_MAX ||
        has_name(e, buf_bytes(&v))) {
        buf_fini(&v);
        return false;
    }
    buf_put(&v, text, n);
    put(e, &v);
    return true;
}

/* SQS's milliseconds since 1970 as RFC 3339. */
static void put_time(struct cli_job_env *e, const char *name, const char *ms_text)
{
    char text[64];
    int64_t ms;
    struct tm tm;
    if (ms_text == NULL || !cli_number_read(ms_text, 0, INT64_MAX, &ms))
        return;
    time_t seconds = (time_t)(ms / 1000);
    if (gmtime_r(&seconds, &tm) == NULL)
        return;
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text + n, sizeof text - n, ".%03dZ", (int)(ms % 1000));
    put_text(e, name, text);
}

void cli_job_env_init(struct cli_job_env *e, char *const *inherited, const char *topic,
                      const char *server, const json_t *message)
{
    const json_t *system = json_object_get(message, "Attributes");
    json_t *attributes = json_object_get(message, "MessageAttributes"), *attribute;
    const char *name;
    unsigned omitted = 0;
    *e = (struct cli_job_env){NULL, 0};
    for (size_t i = 0; inherited[i] != NULL; i++) {
        struct buf v = BUF_EMPTY;
        if (is_ours(inherited[i], server))
            continue;
        buf_put_text(&v, inherited[i]);
        put(e, &v);
    }
    put_text(e, "LEASELOG_URL", server);
    put_text(e, "LEASELOG_TOPIC", topic);
    put_text(e, "LEASELOG_ID", json_string_value(json_object_get(message, "MessageId")));
    put_text(e, "LEASELOG_RECEIPT", json_string_value(json_object_get(message, "ReceiptHandle")));
    put_text(e, "LEASELOG_RECEIVE_COUNT",
             json_string_value(json_object_get(system, "ApproximateReceiveCount")));
    put_time(e, "LEASELOG_SENT_AT", json_string_value(json_object_get(system, "SentTimestamp")));
    put_text(e, "LEASELOG_GROUP_ID", json_string_value(json_object_get(system, "MessageGroupId")));
    put_text(e, "LEASELOG_DEDUP_ID",
             json_string_value(json_object_get(system, "MessageDeduplicationId")));
    json_object_foreach(attributes, name, attribute)
    {
        if (strcmp(name, CLI_ENCODING_NAME) != 0 && !put_attribute(e, name, attribute))
            omitted++;
    }
    if (omitted > 0) {
        char number[16];
        (void)snprintf(number, sizeof number, "%u", omitted);
        put_text(e, "LEASELOG_ATTRS_OMITTED", number);
    }
}

void cli_job_env_fini(struct cli_job_env *e)
{
    for (size_t i = 0; i < e->n; i++)
        mem_free(e->at[i]);
    mem_free(e->at);
    *e = (struct cli_job_env){NULL, 0};
}

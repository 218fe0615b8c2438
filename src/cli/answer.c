// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

const struct cli_exit_row cli_exits[CLI_EXITS_N] = {
#define EXIT(name, status, text) {CLI_##name, text},
#include "cli_exits.def"
#undef EXIT
};

enum cli_exit cli_exit_of_answer(long status, const char *code)
{
    if (status >= 200 && status < 300)
        return CLI_OK;
    /* The second is the code that clients of the older Query protocol know. */
    if (strcmp(code, "QueueDoesNotExist") == 0 ||
        strcmp(code, "AWS.SimpleQueueService.NonExistentQueue") == 0 || status == 404 ||
        status == 410) /* a lease that is over */
        return CLI_NOT_FOUND;
    if (status == 401 || status == 403)
        return CLI_REFUSED;
    if (status == 408 || status == 429 || status >= 500)
        return CLI_UNAVAILABLE;
    return CLI_FAILURE;
}

enum cli_exit cli_exit_of_many(unsigned long done, unsigned long failed, enum cli_exit first)
{
    if (failed == 0)
        return CLI_OK;
    return done > 0 ? CLI_PARTIAL : first;
}

static void text_member(const json_t *object, const char *name, char *out, size_t out_size)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text != NULL)
        (void)snprintf(out, out_size, "%s", text);
}

/* " (wait: 0s to 60s)": what was wrong where. */
static void errors_append(const json_t *errors, struct cli_fault *out)
{
    size_t i;
    json_t *error;
    json_array_foreach(errors, i, error)
    {
        const char *where = json_string_value(json_object_get(error, "parameter"))
                                ?: json_string_value(json_object_get(error, "pointer"));
        const char *detail = json_string_value(json_object_get(error, "detail"));
        size_t n = strlen(out->message);
        if (detail != NULL && strstr(out->message, detail) == NULL)
            (void)snprintf(out->message + n, sizeof out->message - n, " (%s%s%s)", where ?: "",
                           where != NULL ? ": " : "", detail);
    }
}

void cli_fault_read(long status, struct bytes body, struct cli_fault *out)
{
    char type[256] = "";
    *out = (struct cli_fault){.status = status};
    json_t *root = json_loadb(body.n == 0 ? "" : body.at, body.n, 0, NULL);
    text_member(root, "__type", type, sizeof type);
    text_member(root, "type", type, sizeof type);
    text_member(root, "title", out->message, sizeof out->message);
    text_member(root, "detail", out->message, sizeof out->message);
    text_member(root, "Message", out->message, sizeof out->message);
    text_member(root, "message", out->message, sizeof out->message);
    errors_append(json_object_get(root, "errors"), out);
    /* The namespace of a fault ends at its hash, that of a problem at its last slash. */
    const char *end = strchr(type, '#') ?: strrchr(type, '/');
    if (strcmp(type, "about:blank") != 0)
        (void)snprintf(out->code, sizeof out->code, "%.*s", (int)sizeof out->code - 1,
                       end == NULL ? type : end + 1);
    json_decref(root);
}

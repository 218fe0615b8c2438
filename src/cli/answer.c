// SPDX-License-Identifier: Apache-2.0
#include "cli/answer.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum cli_exit cli_exit_of_answer(long status, const char *code)
{
    if (status >= 200 && status < 300)
        return CLI_OK;
    /* The second is the code that clients of the older Query protocol know. */
    if (strcmp(code, "QueueDoesNotExist") == 0 ||
        strcmp(code, "AWS.SimpleQueueService.NonExistentQueue") == 0 || status == 404)
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

void cli_fault_read(struct bytes body, struct cli_fault *out)
{
    char type[256] = "";
    *out = (struct cli_fault){{0}, {0}};
    json_t *root = json_loadb(body.n == 0 ? "" : body.at, body.n, 0, NULL);
    text_member(root, "__type", type, sizeof type);
    text_member(root, "Message", out->message, sizeof out->message);
    text_member(root, "message", out->message, sizeof out->message);
    const char *hash = strchr(type, '#'); /* the namespace ends there */
    (void)snprintf(out->code, sizeof out->code, "%.*s", (int)sizeof out->code - 1,
                   hash == NULL ? type : hash + 1);
    json_decref(root);
}

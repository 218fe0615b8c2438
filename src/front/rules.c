// SPDX-License-Identifier: Apache-2.0
#include "front/rules.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "queue/queue.h"

enum { TRACE_BYTES_MAX = 1024 };

static bool ascii_between(struct bytes text, char lowest, char highest)
{
    const char *at = text.at;
    for (size_t i = 0; i < text.n; i++)
        if (at[i] < lowest || at[i] > highest)
            return false;
    return true;
}

bool front_id_valid(struct bytes id)
{
    return id.n > 0 && id.n <= QUEUE_ID_BYTES_MAX && ascii_between(id, '!', '~');
}

struct bytes front_content_dedup_id(struct bytes body, struct arena *arena)
{
    char *hex = arena_get(arena, DIGEST_SHA256_HEX_ROOM);
    digest_sha256_hex(body, hex);
    return (struct bytes){hex, DIGEST_SHA256_HEX_ROOM - 1};
}

static bool is_hex(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f') ||
              (at[i] >= 'A' && at[i] <= 'F')))
            return false;
    return true;
}

/* Root=1-5759e988-bd862e3fe1be46a994272793 */
static bool is_root(const char *at, size_t n)
{
    return n == 40 && memcmp(at, "Root=1-", 7) == 0 && is_hex(at + 7, 8) && at[15] == '-' &&
           is_hex(at + 16, 24);
}

bool front_trace_valid(struct bytes header)
{
    bool rooted = false;
    if (header.n == 0 || header.n > TRACE_BYTES_MAX || !ascii_between(header, ' ', '~'))
        return false;
    const char *at = header.at, *end = at + header.n;
    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        while (at < stop && *at == ' ')
            at++;
        if (at < stop && memchr(at, '=', (size_t)(stop - at)) == NULL)
            return false;
        rooted = rooted || is_root(at, (size_t)(stop - at));
        at = stop == end ? end : stop + 1;
    }
    return rooted;
}

/* arn:…:name */
static bool arn_names(const char *arn, struct bytes name)
{
    const char *colon = arn == NULL ? NULL : strrchr(arn, ':');
    return colon != NULL && bytes_equal(bytes_of_text(colon + 1), name);
}

bool front_redrive_allowed(const char *policy, struct bytes source)
{
    size_t i;
    json_t *arn, *root = policy == NULL ? NULL : json_loads(policy, 0, NULL);
    const char *word = json_string_value(json_object_get(root, "redrivePermission"));
    bool allowed = word == NULL || strcmp(word, "allowAll") == 0;
    if (word != NULL && strcmp(word, "byQueue") == 0)
        json_array_foreach(json_object_get(root, "sourceQueueArns"), i, arn)
        {
            allowed = allowed || arn_names(json_string_value(arn), source);
        }
    json_decref(root);
    return allowed;
}

void front_full_text(const struct topic_config *t, const struct queue_sent *sent,
                     char out[FRONT_FULL_TEXT_ROOM])
{
    bool by_messages = t->max_messages > 0 && sent->had.messages >= (uint64_t)t->max_messages;
    if (by_messages)
        snprintf(out, FRONT_FULL_TEXT_ROOM,
                 "the topic holds %llu unfinished messages, and its max_messages is %lld",
                 (unsigned long long)sent->had.messages, (long long)t->max_messages);
    else
        snprintf(out, FRONT_FULL_TEXT_ROOM,
                 "the topic holds %llu bytes of unfinished messages, its max_bytes is %lld, and "
                 "this message does not fit",
                 (unsigned long long)sent->had.bytes, (long long)t->max_bytes);
}

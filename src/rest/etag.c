// SPDX-License-Identifier: Apache-2.0
#include "rest/etag.h"

#include <inttypes.h>
#include <stdio.h>

void rest_conditions_read(struct http_request *r, struct rest_conditions *out)
{
    out->match = arena_copy(http_arena(r), http_header(r, "If-Match"));
    out->none_match = arena_copy(http_arena(r), http_header(r, "If-None-Match"));
}

void rest_version_text(int64_t version, char out[REST_ETAG_ROOM])
{
    snprintf(out, REST_ETAG_ROOM, "%" PRId64, version);
}

void rest_etag_text(int64_t version, char out[REST_ETAG_ROOM])
{
    snprintf(out, REST_ETAG_ROOM, "\"%" PRId64 "\"", version);
}

static struct bytes trim(struct bytes b)
{
    const char *at = b.at;
    size_t n = b.n;
    while (n > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        n--;
    }
    while (n > 0 && (at[n - 1] == ' ' || at[n - 1] == '\t'))
        n--;
    if (n >= 2 && at[0] == 'W' && at[1] == '/') {
        at += 2;
        n -= 2;
    }
    if (n >= 2 && at[0] == '"' && at[n - 1] == '"') {
        at++;
        n -= 2;
    }
    return (struct bytes){at, n};
}

/* Our tags hold no comma, so one inside the quotes of a foreign tag does no harm. */
bool rest_etag_matches(struct bytes list, int64_t version)
{
    char text[REST_ETAG_ROOM];
    rest_version_text(version, text);
    while (list.n > 0) {
        const char *at = list.at, *comma = memchr(at, ',', list.n);
        size_t n = comma == NULL ? list.n : (size_t)(comma - at);
        struct bytes tag = trim((struct bytes){at, n});
        if (bytes_equal(tag, BYTES_OF("*")) || bytes_equal(tag, bytes_of_text(text)))
            return true;
        size_t used = comma == NULL ? n : n + 1;
        list = (struct bytes){at + used, list.n - used};
    }
    return false;
}

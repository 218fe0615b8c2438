// SPDX-License-Identifier: Apache-2.0
#include "admin/answer.h"

#include <stdio.h>
#include <string.h>

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000 };

static void answer(struct http_request *r, int status, const char *type, json_t *value)
{
    struct http_answer_header headers[] = {
        {"Content-Type", type},
        {"Request-Id", http_request_id(r)},
        {"Cache-Control", "no-store"},
    };
    struct buf body = BUF_EMPTY;
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
    json_decref(value);
    if (text != NULL)
        buf_put_text(&body, text);
    else
        status = 503; /* jansson had no memory */
    free(text);
    buf_put_u8(&body, '\n');
    http_reply(r, status, headers, sizeof headers / sizeof headers[0], &body);
    buf_fini(&body);
}

void answer_json(struct http_request *r, int status, json_t *value)
{
    answer(r, status, "application/json", value);
}

void answer_problem(struct http_request *r, int status, const char *title, const char *detail)
{
    answer(r, status, "application/problem+json",
           json_pack("{s:s, s:s, s:i, s:s, s:s}", "type", "about:blank", "title", title, "status",
                     status, "detail", detail, "instance", http_request_id(r)));
}

static bool limit_read(struct bytes value, int64_t *out)
{
    int64_t n = 0;
    if (value.n < 1 || value.n > 4)
        return false;
    for (size_t i = 0; i < value.n; i++) {
        char c = ((const char *)value.at)[i];
        if (c < '0' || c > '9')
            return false;
        n = n * 10 + (c - '0');
    }
    if (n < 1 || n > LIMIT_MAX)
        return false;
    *out = n;
    return true;
}

/* Names hold no character that would need percent-coding, so values are compared as they are. */
static const char *parameter_read(struct bytes name, struct bytes value, struct admin_query *out)
{
    if (bytes_equal(name, BYTES_OF("limit")))
        return limit_read(value, &out->limit) ? NULL : "limit must be a number from 1 to 1000";
    if (bytes_equal(name, BYTES_OF("prefix"))) {
        out->prefix = value;
        return NULL;
    }
    if (bytes_equal(name, BYTES_OF("cursor"))) {
        out->cursor = value;
        return NULL;
    }
    if (bytes_equal(name, BYTES_OF("verbose")))
        return NULL;
    return "unknown query parameter; known are prefix, cursor, limit, verbose";
}

bool answer_query(struct http_request *r, struct admin_query *out)
{
    *out = (struct admin_query){.limit = LIMIT_DEFAULT};
    struct bytes rest = http_query(r);
    while (rest.n > 0) {
        const char *end = memchr(rest.at, '&', rest.n);
        size_t n = end == NULL ? rest.n : (size_t)(end - (const char *)rest.at);
        struct bytes pair = {rest.at, n};
        size_t used = end == NULL ? n : n + 1;
        rest = (struct bytes){(const char *)rest.at + used, rest.n - used};
        const char *equals = memchr(pair.at, '=', pair.n);
        size_t name_n = equals == NULL ? pair.n : (size_t)(equals - (const char *)pair.at);
        struct bytes name = {pair.at, name_n}, value = BYTES_NONE;
        if (equals != NULL)
            value = (struct bytes){equals + 1, pair.n - name_n - 1};
        const char *wrong = parameter_read(name, value, out);
        if (wrong != NULL) {
            answer_problem(r, 400, "Bad query parameter", wrong);
            return false;
        }
    }
    return true;
}

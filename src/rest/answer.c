// SPDX-License-Identifier: Apache-2.0
#include "rest/answer.h"

#include "base/check.h"
#include "rest/query.h"

enum { REQUEST_ID_MAX = 128 };

static bool id_valid(struct bytes id)
{
    const char *at = id.at;
    if (id.n == 0 || id.n > REQUEST_ID_MAX)
        return false;
    for (size_t i = 0; i < id.n; i++) {
        char c = at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '_' || c == '-'))
            return false;
    }
    return true;
}

const char *rest_request_id(struct http_request *r)
{
    struct bytes id = http_header(r, "Request-Id");
    return id_valid(id) ? arena_copy(http_arena(r), id).at : http_request_id(r);
}

static void answer(struct http_request *r, int status, const char *type,
                   const struct http_answer_header *more, size_t more_n, struct buf *body)
{
    struct http_answer_header headers[REST_ANSWER_HEADERS_MAX + 4];
    size_t n = 0;
    CHECK(more_n <= REST_ANSWER_HEADERS_MAX);
    if (type != NULL)
        headers[n++] = (struct http_answer_header){"Content-Type", type};
    headers[n++] = (struct http_answer_header){"Request-Id", rest_request_id(r)};
    headers[n++] = (struct http_answer_header){"Cache-Control", "no-store"};
    if (status == 429 || status == 503 || status == 507)
        headers[n++] = (struct http_answer_header){"Retry-After", "1"};
    for (size_t i = 0; i < more_n; i++)
        headers[n++] = more[i];
    http_reply(r, status, headers, n, body);
    buf_fini(body);
}

void rest_answer_bytes(struct http_request *r, int status, const char *type,
                       const struct http_answer_header *headers, size_t n, struct buf *body)
{
    answer(r, status, type, headers, n, body);
}

static void line_begin(struct buf *out, unsigned depth)
{
    buf_put_u8(out, '\n');
    for (unsigned i = 0; i < depth; i++)
        buf_put_text(out, "  ");
}

/* Our own JSON has no white space outside of strings, so only strings have to be told apart. */
void rest_json_indent(struct buf *out, struct bytes json)
{
    const char *at = json.at;
    unsigned depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < json.n; i++) {
        char c = at[i];
        bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
        if (quoted || c == '"') {
            buf_put_u8(out, (uint8_t)c);
            if (quoted && c == '\\' && i + 1 < json.n)
                buf_put_u8(out, (uint8_t)at[++i]);
            else if (c == '"')
                quoted = !quoted;
            continue;
        }
        if (closes) {
            depth--;
            if (at[i - 1] != '{' && at[i - 1] != '[')
                line_begin(out, depth);
        }
        buf_put_u8(out, (uint8_t)c);
        if (c == ':')
            buf_put_u8(out, ' ');
        if (opens)
            depth++;
        if (c == ',' || (opens && i + 1 < json.n && at[i + 1] != '}' && at[i + 1] != ']'))
            line_begin(out, depth);
    }
}

static void answer_json(struct http_request *r, int status, const char *type,
                        const struct http_answer_header *headers, size_t n, struct buf *json)
{
    if (rest_query_pretty(http_query(r))) {
        struct buf indented = BUF_EMPTY;
        rest_json_indent(&indented, buf_bytes(json));
        buf_fini(json);
        *json = indented;
    }
    buf_put_u8(json, '\n');
    answer(r, status, type, headers, n, json);
}

void rest_answer_json(struct http_request *r, int status, const struct http_answer_header *headers,
                      size_t n, struct buf *json)
{
    answer_json(r, status, "application/json", headers, n, json);
}

void rest_answer_tree(struct http_request *r, int status, json_t *value)
{
    struct buf body = BUF_EMPTY;
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
    json_decref(value);
    if (text == NULL) {
        struct rest_fault f = {.arena = http_arena(r)};
        rest_fault_of_err(&f, ERR_BUSY);
        rest_answer_problem(r, &f);
        return;
    }
    buf_put_text(&body, text);
    free(text);
    rest_answer_json(r, status, NULL, 0, &body);
}

void rest_answer_none(struct http_request *r, int status, const struct http_answer_header *headers,
                      size_t n)
{
    struct buf none = BUF_EMPTY;
    answer(r, status, NULL, headers, n, &none);
}

static void answer_problem(struct http_request *r, const struct rest_fault *f,
                           const struct http_answer_header *headers, size_t n)
{
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    rest_problem_put(&w, f, rest_request_id(r));
    json_writer_done(&w);
    answer_json(r, rest_problem_row(f->problem)->status, "application/problem+json", headers, n,
                &body);
}

void rest_answer_problem(struct http_request *r, const struct rest_fault *f)
{
    answer_problem(r, f, NULL, 0);
}

void rest_answer_method_not_allowed(struct http_request *r, const char *allow)
{
    const struct http_answer_header header = {"Allow", allow};
    struct rest_fault f = {.arena = http_arena(r)};
    rest_fault_set(&f, REST_PROBLEM_METHOD_NOT_ALLOWED, "allowed here: %s", allow);
    answer_problem(r, &f, &header, 1);
}

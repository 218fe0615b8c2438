// SPDX-License-Identifier: Apache-2.0
/* The way in: path, method, query and body's type are checked in one place for all operations. */
#include "rest/rest.h"

#include <strings.h>

#include "base/check.h"
#include "rest/call.h"

static rest_step *const operations[REST_OPERATIONS_N] = {
#define ROUTE(method, template, operation) [REST_##operation] = rest_do_##operation,
#include "rest.def"
};

enum body_kind { BODY_NONE, BODY_RAW, BODY_JSON, BODY_MERGE, BODY_BATCH };

static const enum body_kind bodies[REST_OPERATIONS_N] = {
    [REST_put_topic] = BODY_JSON,     [REST_patch_topic] = BODY_MERGE,
    [REST_send_message] = BODY_RAW,   [REST_send_messages] = BODY_BATCH,
    [REST_change_leases] = BODY_JSON, [REST_extend_lease] = BODY_MERGE,
    [REST_move_leader] = BODY_JSON,   [REST_recover_partition] = BODY_JSON,
};

/* A media type, whatever parameters follow it (RFC 9110, section 8.3.1). */
static bool type_is(struct bytes header, const char *type)
{
    const char *at = header.at;
    size_t n = strlen(type);
    if (header.n < n || strncasecmp(at, type, n) != 0)
        return false;
    while (n < header.n && (at[n] == ' ' || at[n] == '\t'))
        n++;
    return n == header.n || at[n] == ';';
}

static bool check_body(struct rest_call *c)
{
    enum body_kind kind = bodies[c->match.operation];
    struct bytes type = http_header(c->http, "Content-Type");
    if (http_body(c->http).n == 0 || kind == BODY_RAW)
        return true;
    if (kind == BODY_NONE)
        return rest_fault_set(&c->fault, REST_PROBLEM_INVALID_BODY, "no body belongs here");
    /* The form's type is what curl -d sends unless it is told better. */
    if (type.n == 0 || type_is(type, "application/json") ||
        type_is(type, "application/x-www-form-urlencoded") ||
        (kind == BODY_MERGE && type_is(type, "application/merge-patch+json")) ||
        (kind == BODY_BATCH && type_is(type, "application/x-ndjson")))
        return true;
    return rest_fault_at(&c->fault, REST_PROBLEM_UNSUPPORTED_MEDIA_TYPE, "header", "Content-Type",
                         "the body's type must be application/json%s",
                         kind == BODY_MERGE   ? " or application/merge-patch+json"
                         : kind == BODY_BATCH ? " or application/x-ndjson"
                                              : "");
}

static bool find_topic(struct rest_call *c)
{
    enum rest_operation o = c->match.operation;
    if (c->match.topic.n == 0 || o == REST_put_topic || o == REST_delete_topic)
        return true;
    enum err e = rest_call_topic_find(c);
    if (e != ERR_OK)
        return e == ERR_NOT_FOUND ? rest_fault_set(&c->fault, REST_PROBLEM_TOPIC_NOT_FOUND,
                                                   "there is no topic of this name")
                                  : rest_fault_of_err(&c->fault, e);
    return c->match.group.n == 0 || rest_group_known(c, c->match.group);
}

static void run(struct rest_call *c)
{
    size_t n;
    const struct rest_param *params = rest_route_params(c->match.operation, &n);
    if (!rest_query_read(http_query(c->http), params, n, c->arena, &c->query, &c->fault) ||
        !check_body(c) || !find_topic(c))
        rest_reply_fault(c);
    else
        operations[c->match.operation](c);
}

static void handle(void *self, struct http_request *r)
{
    struct rest_call *c = arena_zeros(http_arena(r), sizeof *c);
    struct rest_path path;
    rest_call_init(c, r);
    c->front = self;
    c->call.links = c->front->links;
    c->fault.arena = c->arena;
    if (!rest_path_read(http_path(r), c->arena, &path, &c->fault)) {
        rest_reply_fault(c);
        return;
    }
    enum rest_found found = rest_route_find(http_method_of(r), &path, &c->match);
    const struct http_answer_header allow = {"Allow", c->match.allow};
    if (found == REST_NO_PATH) {
        rest_fault_set(&c->fault, REST_PROBLEM_NOT_FOUND, "nothing is at this path");
        rest_reply_fault(c);
    } else if (http_method_of(r) == HTTP_OPTIONS) {
        rest_answer_none(r, 204, &allow, 1);
    } else if (found == REST_NO_METHOD) {
        rest_answer_method_not_allowed(r, c->match.allow);
    } else {
        run(c);
    }
}

void rest_refuse(struct http_request *r, int status, const char *detail)
{
    enum rest_problem p = REST_PROBLEM_INTERNAL;
    if (status == 400)
        p = REST_PROBLEM_MALFORMED_REQUEST;
    else if (status == 404)
        p = REST_PROBLEM_NOT_FOUND;
    else if (status == 405)
        p = REST_PROBLEM_METHOD_NOT_ALLOWED;
    else if (status == 413)
        p = REST_PROBLEM_BODY_TOO_BIG;
    else if (status == 429)
        p = REST_PROBLEM_OVERLOADED;
    else if (status == 431)
        p = REST_PROBLEM_HEAD_TOO_BIG;
    else if (status == 503)
        p = REST_PROBLEM_UNAVAILABLE;
    struct rest_fault f = {.arena = http_arena(r)};
    rest_fault_set(&f, p, "%s", detail);
    rest_answer_problem(r, &f);
}

size_t rest_routes(struct rest *s, struct http_route out[REST_ROUTES_MAX])
{
    out[0] = (struct http_route){HTTP_OTHER, "/v1/topics", handle, s};
    out[1] = (struct http_route){HTTP_OTHER, "/v1/topics/*", handle, s};
    out[2] = (struct http_route){HTTP_OTHER, "/v1/openapi.yaml", handle, s};
    out[3] = (struct http_route){HTTP_OTHER, "/problems/*", handle, s};
    out[4] = (struct http_route){HTTP_OTHER, "/v1/cluster", handle, s};
    out[5] = (struct http_route){HTTP_OTHER, "/v1/cluster/*", handle, s};
    return REST_ROUTES_MAX;
}

// SPDX-License-Identifier: Apache-2.0
#include "admin/admin.h"

#include <string.h>

#include "config.h"
#include "rest/answer.h"
#include "rest/query.h"

static const struct rest_param verbose = {"verbose", REST_FLAG, 0, 1, "0", ""};

/* Answers with a problem, and gives false, where the query has what it should not. */
static bool query_fine(struct http_request *r, size_t params_n)
{
    struct rest_query query;
    struct rest_fault f = {.arena = http_arena(r)};
    if (rest_query_read(http_query(r), &verbose, params_n, http_arena(r), &query, &f))
        return true;
    rest_answer_problem(r, &f);
    return false;
}

static void live(void *self, struct http_request *r)
{
    /* The loop answers, so it lives; nothing else is asked, lest one fault restart all. */
    (void)self;
    rest_answer_tree(r, 200, json_pack("{s:s}", "status", "ok"));
}

static void ready(void *self, struct http_request *r)
{
    struct admin *a = self;
    if (!query_fine(r, 1))
        return;
    bool disk = !queue_failed(a->queue), serving = !http_stopping(http_server_of(r));
    /* Without space the broker is ready all the same: consumers must reach it to make space. */
    bool space = !queue_space_low(a->queue);
    rest_answer_tree(r, disk && serving ? 200 : 503,
                     json_pack("{s:s, s:{s:s, s:s, s:s, s:s}}", "status",
                               disk && serving ? "ready" : "not ready", "checks", "recovered", "ok",
                               "data_directory", disk ? "ok" : "failed: restart to clear", "space",
                               space ? "ok" : "low: sends are refused", "serving",
                               serving ? "ok" : "stopping"));
}

static void about(void *self, struct http_request *r)
{
    struct admin *a = self;
    struct queue_stats s;
    if (!query_fine(r, 0))
        return;
    queue_stats_read(a->queue, &s);
    struct http_counts c = http_server_counts(http_server_of(r));
    rest_answer_tree(
        r, 200,
        json_pack("{s:s, s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i}, s:{s:s, s:s}}",
                  "name", "leaselog", "version", PACKAGE_VERSION, "stats", "messages_sent",
                  (json_int_t)s.sent, "messages_received", (json_int_t)s.received,
                  "messages_deleted", (json_int_t)s.deleted, "empty_receives",
                  (json_int_t)s.empty_receives, "messages_moved", (json_int_t)s.moves,
                  "commit_rounds", (json_int_t)s.rounds, "sync_average_us",
                  (json_int_t)s.sync_average_us, "waiting_receivers", (int)s.polls, "connections",
                  (int)c.connections, "parked_requests", (int)c.parked, "links", "topics",
                  "/v1/topics", "description", "/v1/openapi.yaml"));
}

static void elsewhere(void *self, struct http_request *r)
{
    struct rest_fault f = {.arena = http_arena(r)};
    (void)self;
    rest_fault_set(&f, REST_PROBLEM_NOT_FOUND, "nothing is at this path");
    rest_answer_problem(r, &f);
}

size_t admin_routes(struct admin *a, struct http_route out[ADMIN_ROUTES_MAX])
{
    const struct http_route routes[] = {
        {HTTP_GET, "/livez", live, a},
        {HTTP_GET, "/readyz", ready, a},
        {HTTP_GET, "/v1", about, a},
        {HTTP_OTHER, "/v1/*", elsewhere, a},
    };
    memcpy(out, routes, sizeof routes);
    return sizeof routes / sizeof routes[0];
}

// SPDX-License-Identifier: Apache-2.0
/* The API's description, a page for each problem, and the cluster. */
#include "base/check.h"
#include "rest/put.h"

/* api/openapi.yaml line by line, written into this folder by the build (room.mk). */
extern const char *const rest_openapi_lines[];

void rest_do_get_openapi(struct rest_call *c)
{
    struct buf body = BUF_EMPTY;
    for (size_t i = 0; rest_openapi_lines[i] != NULL; i++)
        buf_put_text(&body, rest_openapi_lines[i]);
    rest_answer_bytes(c->http, 200, "application/yaml", NULL, 0, &body);
}

void rest_do_get_problem(struct rest_call *c)
{
    enum rest_problem p = rest_problem_named(c->match.last);
    struct buf body = BUF_EMPTY;
    if (p == REST_PROBLEM_NONE) {
        rest_fault_set(&c->fault, REST_PROBLEM_NOT_FOUND, "no problem has this name");
        rest_reply_fault(c);
        return;
    }
    const struct rest_problem_row *row = rest_problem_row(p);
    buf_put_format(&body, "%s (%d)\n\n%s.\n\n%s\n", row->name, row->status, row->title,
                   row->advice);
    rest_answer_bytes(c->http, 200, "text/plain; charset=utf-8", NULL, 0, &body);
}

void rest_do_get_cluster(struct rest_call *c)
{
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    if (c->front->put_cluster == NULL) {
        rest_fault_set(&c->fault, REST_PROBLEM_NO_CLUSTER, "it was started without --etcd");
        rest_reply_fault(c);
        return;
    }
    c->front->put_cluster(c->front->cluster, &w);
    rest_reply_json(c, &w);
}

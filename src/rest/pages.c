// SPDX-License-Identifier: Apache-2.0
/* The API's description, a page for each problem, and the cluster: what it is, and what an operator
 * asks of it. */
#include <stdio.h>

#include "base/check.h"
#include "rest/body.h"
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

/* ---- what an operator asks of the cluster ---- */

struct wish {
    uint32_t partition;
    int64_t broker; /* 0: not given */
    bool is_unsafe, accepts_loss;
};

static bool read_wish_member(struct rest_call *c, struct json *j, struct bytes key, struct wish *w)
{
    bool recovers = c->match.operation == REST_recover_partition;
    const struct rest_place at = {NULL, key, 0};
    if (bytes_equal(key, recovers ? BYTES_OF("from") : BYTES_OF("broker")))
        return rest_body_number(j, &at, 1, 65535, &w->broker, &c->fault);
    if (recovers && bytes_equal(key, BYTES_OF("unsafe")))
        return rest_body_flag(j, &at, &w->is_unsafe, &c->fault);
    if (recovers && bytes_equal(key, BYTES_OF("i_accept_loss")))
        return rest_body_flag(j, &at, &w->accepts_loss, &c->fault);
    return rest_body_unknown(&at, recovers ? "from, unsafe, i_accept_loss" : "broker", &c->fault);
}

static bool read_wish(struct rest_call *c, struct wish *w)
{
    bool recovers = c->match.operation == REST_recover_partition;
    struct json j;
    struct bytes key;
    json_init(&j, http_body(c->http), c->arena);
    bool fine = rest_body_object(&j, NULL, &c->fault);
    while (fine && json_next_member(&j, &key))
        fine = read_wish_member(c, &j, key, w);
    if (!rest_body_finish(&j, fine, &c->fault))
        return false;
    if (w->broker == 0)
        return rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, NULL,
                               "%s must name a broker by its number", recovers ? "from" : "broker");
    if (recovers && !(w->is_unsafe && w->accepts_loss))
        return rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, NULL,
                               "messages that were acknowledged will be lost: unsafe and "
                               "i_accept_loss must both be true");
    return true;
}

static void wish_work(struct rest_call *c)
{
    const struct wish *w = c->state;
    bool recovers = c->match.operation == REST_recover_partition;
    char why[REST_WHY_ROOM] = "";
    enum err e = (recovers ? c->front->recover : c->front->move_leader)(
        c->front->cluster, c->config->id, w->partition, (uint32_t)w->broker, why);
    if (e == ERR_CONFLICT)
        rest_fault_set(&c->fault, REST_PROBLEM_CONFLICT, "%s", why);
    else if (e != ERR_OK)
        rest_fault_of_err(&c->fault, e);
}

void rest_do_move_leader(struct rest_call *c)
{
    struct wish *w = arena_zeros(c->arena, sizeof *w);
    int64_t partition = 0;
    c->state = w;
    if (c->front->move_leader == NULL)
        rest_fault_set(&c->fault, REST_PROBLEM_NO_CLUSTER, "it was started without --etcd");
    else if (!rest_number_read(c->match.last, &partition) ||
             partition >= (int64_t)queue_partitions(c->topic))
        rest_fault_set(&c->fault, REST_PROBLEM_PARTITION_NOT_FOUND,
                       "the topic has partitions 0 to %u", queue_partitions(c->topic) - 1);
    else if (read_wish(c, w)) {
        w->partition = (uint32_t)partition;
        rest_call_run(c, wish_work, rest_reply_fault_or_none);
        return;
    }
    rest_reply_fault(c);
}

void rest_do_recover_partition(struct rest_call *c)
{
    rest_do_move_leader(c);
}

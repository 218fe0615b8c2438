// SPDX-License-Identifier: Apache-2.0
/* A partition as a log: its messages in the order of their offsets, a line of JSON each, and in
 * headers where to go on and where the log ends. It is read on the catalogue thread, as peeks are;
 * an answer is bounded by the bytes and messages asked for. */
#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "rest/message.h"
#include "rest/put.h"

struct records {
    struct queue_records request;
    struct queue_record *out;
    size_t n;
    uint64_t next, end;
};

static void put_line(struct buf *body, const struct queue_record *r)
{
    struct json_writer w = json_writer_to(body);
    json_begin_object(&w);
    json_put_key(&w, "offset");
    json_put_uint64(&w, r->offset);
    rest_record_put(&w, &r->message);
    json_end_object(&w);
    json_writer_done(&w);
    buf_put_u8(body, '\n');
}

static void read_work(struct rest_call *c)
{
    struct records *r = c->state;
    enum err e = queue_records(c->topic, &r->request, c->arena, r->out, &r->n, &r->next, &r->end);
    if (e != ERR_OK)
        rest_fault_of_err(&c->fault, e);
}

static void read_reply(struct rest_call *c)
{
    const struct records *r = c->state;
    char next[24], end[24];
    struct buf body = BUF_EMPTY;
    if (c->fault.problem != REST_PROBLEM_NONE) {
        rest_reply_fault(c);
        return;
    }
    for (size_t i = 0; i < r->n; i++)
        put_line(&body, &r->out[i]);
    snprintf(next, sizeof next, "%" PRIu64, r->next);
    snprintf(end, sizeof end, "%" PRIu64, r->end);
    const struct http_answer_header headers[] = {{"Leaselog-Next", next}, {"Leaselog-End", end}};
    rest_answer_bytes(c->http, 200, "application/x-ndjson", headers, 2, &body);
}

void rest_do_read_records(struct rest_call *c)
{
    struct records *r = arena_zeros(c->arena, sizeof *r);
    int64_t partition;
    c->state = r;
    if (!rest_number_read(c->match.last, &partition) ||
        partition >= (int64_t)queue_partitions(c->topic)) {
        rest_fault_set(&c->fault, REST_PROBLEM_PARTITION_NOT_FOUND,
                       "the topic has partitions 0 to %u", queue_partitions(c->topic) - 1);
        rest_reply_fault(c);
        return;
    }
    r->request = (struct queue_records){
        .partition = (uint32_t)partition,
        .from = (uint64_t)rest_query_get(&c->query, "from")->number,
        .max = (size_t)rest_query_get(&c->query, "limit")->number,
        .bytes_max = (size_t)rest_query_get(&c->query, "max_bytes")->number,
    };
    r->out = arena_get(c->arena, r->request.max * sizeof *r->out);
    rest_call_run(c, read_work, read_reply);
}

// SPDX-License-Identifier: Apache-2.0
/* Receiving: the request and the answer of the loop in front/poll.h. */
#include "base/check.h"
#include "front/poll.h"
#include "rest/lease.h"
#include "rest/message.h"
#include "rest/put.h"

struct receive {
    char peer[HTTP_ADDRESS_TEXT_MAX + 1]; /* the holder, when none was named */
    bool raw;
    struct front_poll poll;
};

static void put_message(struct json_writer *w, struct rest_call *c, const struct queue_received *m,
                        int64_t lease_until_ms)
{
    struct buf url = BUF_EMPTY;
    rest_lease_url_put(&url, c, m->receipt);
    json_begin_object(w);
    rest_message_put(w, m);
    json_put_key(w, "receipt");
    json_put_text(w, m->receipt);
    rest_put_time(w, "lease_until", lease_until_ms);
    json_put_key(w, "lease_url");
    json_put_string(w, buf_bytes(&url));
    json_end_object(w);
    buf_fini(&url);
}

static void reply_list(struct rest_call *c, const struct front_poll *p)
{
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    size_t bytes = 0;
    for (size_t i = 0; i < p->n; i++)
        bytes += p->received[i].body.n;
    buf_reserve(&body, 64 + bytes + bytes / 8 + p->n * 1024);
    json_begin_object(&w);
    json_put_key(&w, "messages");
    json_begin_array(&w);
    for (size_t i = 0; i < p->n; i++)
        put_message(&w, c, &p->received[i], p->lease_until_wall_ms);
    json_end_array(&w);
    json_end_object(&w);
    rest_reply_json(c, &w);
}

static void answer(struct front_poll *p)
{
    const struct receive *r = CONTAINER_OF(p, struct receive, poll);
    struct rest_call *c = rest_call_of(p->call);
    bool list = bytes_equal(rest_query_get(&c->query, "empty")->text, BYTES_OF("200"));
    if (p->n == 0 && (r->raw || !list))
        rest_answer_none(c->http, 204, NULL, 0);
    else if (r->raw)
        rest_reply_raw(c, &p->received[0], p->lease_until_wall_ms);
    else
        reply_list(c, p);
}

static void refuse(struct front_poll *p, enum err e)
{
    rest_reply_err(rest_call_of(p->call), e);
}

static bool read_request(struct rest_call *c, struct receive *r)
{
    const struct rest_value *visibility = rest_query_get(&c->query, "visibility");
    const struct rest_value *raw = rest_query_get(&c->query, "raw");
    struct front_poll *p = &r->poll;
    p->request = (struct queue_receive){
        .group = c->match.group,
        .max = (size_t)rest_query_get(&c->query, "max")->number,
        .visibility_ms = visibility->given ? visibility->number : -1,
        .holder = rest_query_get(&c->query, "holder")->text,
    };
    if (p->request.holder.n == 0) {
        http_peer_address(c->http, r->peer);
        p->request.holder = bytes_of_text(r->peer);
    }
    r->raw = raw->given ? raw->number == 1 : rest_accept_raw(http_header(c->http, "Accept"));
    if (r->raw && p->request.max != 1)
        return rest_fault_at(&c->fault, REST_PROBLEM_INVALID_PARAMETER, "parameter", "max",
                             "max must be 1 where the answer is raw (raw, or the Accept header)");
    return true;
}

void rest_do_receive_messages(struct rest_call *c)
{
    struct receive *r = arena_zeros(c->arena, sizeof *r);
    struct front_poll *p = &r->poll;
    const struct rest_value *wait = rest_query_get(&c->query, "wait");
    if (!read_request(c, r)) {
        rest_reply_fault(c);
        return;
    }
    p->call = &c->call;
    p->topic = c->topic;
    p->wait = &c->wait;
    p->clock = c->front->clock;
    p->wait_ms = wait->given ? wait->number : c->config->receive_wait_ms;
    p->answer = answer;
    p->refuse = refuse;
    front_poll_run(p);
}

// SPDX-License-Identifier: Apache-2.0
/* Receiving, at once or as a long poll.
 *
 * A long poll registers before its first look (queue.h), then goes round: look; nothing: sleep
 * until a wake, the deadline or the server's end; look again. Looking may leave marks that must be
 * committed before the same `wait` can be used again, so each look is followed by rest_call_commit;
 * a wake that comes during it is remembered in `called`.
 *
 * The SQS front has the same loop. Sharing it would need a room between the fronts and queue whose
 * only content it were; what the two must have in common is written in queue.h. */
#include "base/check.h"
#include "rest/lease.h"
#include "rest/message.h"
#include "rest/put.h"

struct receive {
    struct rest_call *call;
    struct queue_receive request;
    char peer[HTTP_ADDRESS_TEXT_MAX + 1]; /* the holder, when none was named */
    bool raw;
    bool polls; /* waits: the poll is registered until it is ended */
    int64_t deadline_boot_ms;
    int64_t lease_until_ms; /* wall time, of what was leased last */
    struct queue_poll poll;
    atomic_bool called; /* by queue, since the last look */
    size_t n;
    struct queue_received received[QUEUE_BATCH_MAX];
};

static void look(struct rest_call *c);

/* ---- answers ---- */

static void put_message(struct json_writer *w, struct rest_call *c, const struct queue_received *m)
{
    const struct receive *r = c->state;
    struct buf url = BUF_EMPTY;
    rest_lease_url_put(&url, c, m->receipt);
    json_begin_object(w);
    rest_message_put(w, m);
    json_put_key(w, "receipt");
    json_put_text(w, m->receipt);
    rest_put_time(w, "lease_until", r->lease_until_ms);
    json_put_key(w, "lease_url");
    json_put_string(w, buf_bytes(&url));
    json_end_object(w);
    buf_fini(&url);
}

static void reply_list(struct rest_call *c)
{
    const struct receive *r = c->state;
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    size_t bytes = 0;
    for (size_t i = 0; i < r->n; i++)
        bytes += r->received[i].body.n;
    buf_reserve(&body, 64 + bytes + bytes / 8 + r->n * 1024);
    json_begin_object(&w);
    json_put_key(&w, "messages");
    json_begin_array(&w);
    for (size_t i = 0; i < r->n; i++)
        put_message(&w, c, &r->received[i]);
    json_end_array(&w);
    json_end_object(&w);
    rest_reply_json(c, &w);
}

/* Whatever ends the request ends the poll; one that took nothing hands its wake on. */
static void cleanup(struct rest_call *c)
{
    struct receive *r = c->state;
    if (r->poll.linked)
        queue_poll_end(&r->poll, r->n == 0);
}

static void reply(struct rest_call *c)
{
    const struct receive *r = c->state;
    cleanup(c);
    c->leased = r->received;
    c->leased_n = r->n;
    bool list = bytes_equal(rest_query_get(&c->query, "empty")->text, BYTES_OF("200"));
    if (r->n == 0 && (r->raw || !list))
        rest_answer_none(c->http, 204, NULL, 0);
    else if (r->raw)
        rest_reply_raw(c, &r->received[0], r->lease_until_ms);
    else
        reply_list(c);
}

/* ---- the loop ---- */

static void on_call(struct queue_poll *p)
{
    struct receive *r = CONTAINER_OF(p, struct receive, poll);
    atomic_store_explicit(&r->called, true, memory_order_release);
    http_wake(r->call->http);
}

static void on_sleep_end(void *self, struct http_request *http);

static void sleep_more(struct rest_call *c)
{
    const struct receive *r = c->state;
    http_park(c->http, on_sleep_end, c, r->deadline_boot_ms, true);
}

static bool stopping(const struct rest_call *c)
{
    return http_stopping(http_server_of(c->http));
}

static bool late(const struct rest_call *c)
{
    const struct receive *r = c->state;
    return clock_boot_ms(c->front->clock) >= r->deadline_boot_ms;
}

static void on_sleep_end(void *self, struct http_request *http)
{
    struct rest_call *c = self;
    struct receive *r = c->state;
    bool over = late(c);
    /* No lease for a client that is not there to take it. */
    if (http_peer_gone(http) || stopping(c))
        reply(c);
    else if (over || atomic_load_explicit(&r->called, memory_order_acquire))
        look(c);
    else
        sleep_more(c);
}

/* What was seen is committed. */
static void looked(struct rest_call *c)
{
    struct receive *r = c->state;
    bool over = late(c);
    if (r->n > 0 || !r->polls || over || stopping(c) || http_peer_gone(c->http))
        reply(c);
    else if (queue_poll_again(&r->poll) || atomic_load_explicit(&r->called, memory_order_acquire))
        look(c);
    else
        sleep_more(c);
}

static void look(struct rest_call *c)
{
    struct receive *r = c->state;
    const struct topic_config *t = queue_topic_config(c->topic);
    int64_t visibility_ms =
        r->request.visibility_ms < 0 ? t->visibility_ms : r->request.visibility_ms;
    c->wait = (struct queue_wait){.err = ERR_OK};
    r->n = 0;
    atomic_store_explicit(&r->called, false, memory_order_release);
    r->lease_until_ms = clock_wall_ms(c->front->clock) + visibility_ms;
    enum err e = queue_receive(c->topic, &r->request, c->arena, r->received, &r->n, &c->wait);
    if (e == ERR_OK || (e == ERR_OVER_LIMIT && r->polls)) {
        rest_call_commit(c, looked);
    } else {
        rest_fault_of_err(&c->fault, e);
        rest_call_commit(c, rest_reply_fault);
    }
}

static bool read_request(struct rest_call *c, struct receive *r)
{
    const struct rest_value *visibility = rest_query_get(&c->query, "visibility");
    const struct rest_value *raw = rest_query_get(&c->query, "raw");
    r->request = (struct queue_receive){
        .group = c->match.group,
        .max = (size_t)rest_query_get(&c->query, "max")->number,
        .visibility_ms = visibility->given ? visibility->number : -1,
        .holder = rest_query_get(&c->query, "holder")->text,
    };
    if (r->request.holder.n == 0) {
        http_peer_address(c->http, r->peer);
        r->request.holder = bytes_of_text(r->peer);
    }
    r->raw = raw->given ? raw->number == 1 : rest_accept_raw(http_header(c->http, "Accept"));
    if (r->raw && r->request.max != 1)
        return rest_fault_at(&c->fault, REST_PROBLEM_INVALID_PARAMETER, "parameter", "max",
                             "max must be 1 where the answer is raw (raw, or the Accept header)");
    return true;
}

void rest_do_receive_messages(struct rest_call *c)
{
    struct receive *r = arena_zeros(c->arena, sizeof *r);
    const struct rest_value *wait = rest_query_get(&c->query, "wait");
    r->call = c;
    c->state = r;
    c->cleanup = cleanup;
    if (!read_request(c, r)) {
        rest_reply_fault(c);
        return;
    }
    int64_t wait_ms = wait->given ? wait->number : c->config->receive_wait_ms;
    if (wait_ms > 0) {
        r->deadline_boot_ms = http_arrived_boot_ms(c->http) + wait_ms;
        enum err e = queue_poll_start(c->topic, r->request.group, &r->poll, on_call);
        if (e != ERR_OK) {
            rest_reply_err(c, e);
            return;
        }
        r->polls = true;
    }
    look(c);
}

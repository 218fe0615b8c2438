// SPDX-License-Identifier: Apache-2.0
/* ReceiveMessage, at once or as a long poll.
 *
 * A long poll registers before its first look (queue.h), then goes round: look; nothing: sleep
 * until a wake, the deadline or the server's end; look again. Looking may leave marks that must be
 * committed before the same `wait` can be used again, so each look is followed by sqs_call_commit;
 * a wake that comes during it is remembered in `called`. */
#include "base/check.h"
#include "sqs/call.h"
#include "sqs/name.h"
#include "sqs/show.h"

struct receive {
    struct sqs_call *call;
    struct queue_receive request;
    bool polls; /* waits: the poll is registered until it is ended */
    int64_t deadline_boot_ms;
    struct queue_poll poll;
    atomic_bool called; /* by queue, since the last look */
    size_t n;
    struct queue_received received[QUEUE_BATCH_MAX];
};

static void look(struct sqs_call *c);

static bool check(struct sqs_call *c)
{
    struct bytes attempt = c->request.attempt_id;
    if (!sqs_check_ranges(c->action, &c->request, &c->fault))
        return false;
    if (attempt.at == NULL)
        return true;
    if (!c->config->fifo)
        return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter ReceiveRequestAttemptId is invalid. Reason: "
                             "The request include parameter that is not valid for this queue type.",
                             SQS_SHOW(attempt));
    if (!sqs_id_valid(attempt))
        return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter ReceiveRequestAttemptId is invalid. Reason: "
                             "ReceiveRequestAttemptId can only include alphanumeric and "
                             "punctuation characters. 1 to 128 in length.",
                             SQS_SHOW(attempt));
    return true;
}

static void reply(struct sqs_call *c)
{
    const struct receive *r = c->state;
    const struct sqs_show_rules rules = {
        .fifo = c->config->fifo,
        .place = &c->place,
        .system_names = {&c->request.attribute_names, &c->request.system_names},
        .message_names = &c->request.message_names,
    };
    struct buf body = BUF_EMPTY;
    size_t bytes = 0;
    for (size_t i = 0; i < r->n; i++)
        bytes += r->received[i].body.n;
    buf_reserve(&body, 64 + bytes + bytes / 8 + r->n * 512);
    struct sqs_out out = sqs_reply_begin(c, &body);
    sqs_out_list_begin(&out, "Messages", "Message");
    for (size_t i = 0; i < r->n; i++)
        sqs_show_message(&out, &rules, &r->received[i]);
    sqs_out_list_end(&out);
    c->leased = r->received;
    c->leased_n = r->n;
    sqs_reply_send(c, &out);
}

/* Whatever ends the request ends the poll; one that took nothing hands its wake on. */
static void cleanup(struct sqs_call *c)
{
    struct receive *r = c->state;
    if (r->poll.linked)
        queue_poll_end(&r->poll, r->n == 0);
}

static void reply_and_end(struct sqs_call *c)
{
    cleanup(c);
    reply(c);
}

static void on_call(struct queue_poll *p)
{
    struct receive *r = CONTAINER_OF(p, struct receive, poll);
    atomic_store_explicit(&r->called, true, memory_order_release);
    http_wake(r->call->http);
}

static void on_sleep_end(void *self, struct http_request *http);

static void sleep_more(struct sqs_call *c)
{
    struct receive *r = c->state;
    http_park(c->http, on_sleep_end, c, r->deadline_boot_ms, true);
}

static bool stopping(const struct sqs_call *c)
{
    return http_stopping(http_server_of(c->http));
}

static void on_sleep_end(void *self, struct http_request *http)
{
    struct sqs_call *c = self;
    struct receive *r = c->state;
    bool late = clock_boot_ms(c->front->clock) >= r->deadline_boot_ms;
    /* No lease for a client that is not there to take it. */
    if (http_peer_gone(http) || stopping(c))
        reply_and_end(c);
    else if (late || atomic_load_explicit(&r->called, memory_order_acquire))
        look(c);
    else
        sleep_more(c);
}

/* What was seen is committed. */
static void looked(struct sqs_call *c)
{
    struct receive *r = c->state;
    bool late = clock_boot_ms(c->front->clock) >= r->deadline_boot_ms;
    if (r->n > 0 || !r->polls || late || stopping(c) || http_peer_gone(c->http))
        reply_and_end(c);
    else if (queue_poll_again(&r->poll) || atomic_load_explicit(&r->called, memory_order_acquire))
        look(c);
    else
        sleep_more(c);
}

static void look(struct sqs_call *c)
{
    struct receive *r = c->state;
    c->wait = (struct queue_wait){.err = ERR_OK};
    r->n = 0;
    atomic_store_explicit(&r->called, false, memory_order_release);
    enum err e = queue_receive(c->topic, &r->request, c->arena, r->received, &r->n, &c->wait);
    if (e == ERR_OVER_LIMIT && !r->polls && !c->config->fifo) {
        sqs_fault_set(&c->fault, SQS_FAULT_OVER_LIMIT,
                      "Too many messages have been received without being deleted. Please delete "
                      "your received messages or let them timeout before receiving more.");
        sqs_call_commit(c, sqs_reply_fault);
    } else if (e == ERR_OK || e == ERR_OVER_LIMIT) {
        sqs_call_commit(c, looked);
    } else {
        sqs_fault_of_err(&c->fault, e);
        sqs_call_commit(c, sqs_reply_fault);
    }
}

void sqs_answer_ReceiveMessage(struct sqs_call *c)
{
    const struct sqs_request *in = &c->request;
    struct receive *r = arena_zeros(c->arena, sizeof *r);
    r->call = c;
    c->state = r;
    c->cleanup = cleanup;
    if (!check(c)) {
        sqs_reply_fault(c);
        return;
    }
    r->request.max = in->max_messages.given ? (size_t)in->max_messages.value : 1;
    r->request.visibility_ms = in->one.visibility_s.given ? in->one.visibility_s.value * 1000 : -1;
    r->request.attempt_id = in->attempt_id;
    int64_t wait_ms = in->wait_s.given ? in->wait_s.value * 1000 : c->config->receive_wait_ms;
    if (wait_ms > 0) {
        r->deadline_boot_ms = http_arrived_boot_ms(c->http) + wait_ms;
        enum err e = queue_poll_start(c->topic, BYTES_NONE, &r->poll, on_call);
        if (e != ERR_OK) {
            sqs_reply_err(c, e);
            return;
        }
        r->polls = true;
    }
    look(c);
}

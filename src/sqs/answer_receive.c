// SPDX-License-Identifier: Apache-2.0
/* ReceiveMessage: the request and the answer of the loop in front/poll.h. */
#include "front/poll.h"
#include "front/rules.h"
#include "sqs/call.h"
#include "sqs/show.h"

struct receive {
    char holder[HTTP_ADDRESS_TEXT_MAX + 1]; /* who is shown to hold the leases: the peer */
    struct front_poll poll;
};

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
    if (!front_id_valid(attempt))
        return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Value %.*s for parameter ReceiveRequestAttemptId is invalid. Reason: "
                             "ReceiveRequestAttemptId can only include alphanumeric and "
                             "punctuation characters. 1 to 128 in length.",
                             SQS_SHOW(attempt));
    return true;
}

static void answer(struct front_poll *p)
{
    struct sqs_call *c = sqs_call_of(p->call);
    const struct sqs_show_rules rules = {
        .fifo = c->config->fifo,
        .place = &c->place,
        .system_names = {&c->request.attribute_names, &c->request.system_names},
        .message_names = &c->request.message_names,
    };
    struct buf body = BUF_EMPTY;
    size_t bytes = 0;
    for (size_t i = 0; i < p->n; i++)
        bytes += p->received[i].body.n;
    buf_reserve(&body, 64 + bytes + bytes / 8 + p->n * 512);
    struct sqs_out out = sqs_reply_begin(c, &body);
    sqs_out_list_begin(&out, "Messages", "Message");
    for (size_t i = 0; i < p->n; i++)
        sqs_show_message(&out, &rules, &p->received[i]);
    sqs_out_list_end(&out);
    sqs_reply_send(c, &out);
}

/* Too many messages in flight are an error for standard queues only (developer guide, "Message
 * quotas"). */
static void refuse(struct front_poll *p, enum err e)
{
    struct sqs_call *c = sqs_call_of(p->call);
    if (e != ERR_OVER_LIMIT) {
        sqs_reply_err(c, e);
    } else if (c->config->fifo) {
        answer(p);
    } else {
        sqs_fault_set(&c->fault, SQS_FAULT_OVER_LIMIT,
                      "Too many messages have been received without being deleted. Please delete "
                      "your received messages or let them timeout before receiving more.");
        sqs_reply_fault(c);
    }
}

void sqs_answer_ReceiveMessage(struct sqs_call *c)
{
    const struct sqs_request *in = &c->request;
    if (!check(c)) {
        sqs_reply_fault(c);
        return;
    }
    struct receive *r = arena_zeros(c->arena, sizeof *r);
    struct front_poll *p = &r->poll;
    http_peer_address(c->http, r->holder);
    p->call = &c->call;
    p->topic = c->topic;
    p->wait = &c->wait;
    p->clock = c->front->clock;
    p->request.max = in->max_messages.given ? (size_t)in->max_messages.value : 1;
    p->request.visibility_ms = in->one.visibility_s.given ? in->one.visibility_s.value * 1000 : -1;
    p->request.attempt_id = in->attempt_id;
    p->request.holder = bytes_of_text(r->holder);
    p->wait_ms = in->wait_s.given ? in->wait_s.value * 1000 : c->config->receive_wait_ms;
    p->answer = answer;
    p->refuse = refuse;
    front_poll_run(p);
}

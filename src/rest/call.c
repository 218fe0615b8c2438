// SPDX-License-Identifier: Apache-2.0
/* What the room front is told of its calls, its waits with steps of this room, and answers that
 * operations share. */
#include "rest/call.h"

#include "base/check.h"

struct rest_call *rest_call_of(struct front_call *call)
{
    return CONTAINER_OF(call, struct rest_call, call);
}

static void refuse(struct front_call *call, enum err e)
{
    rest_reply_err(rest_call_of(call), e);
}

static void end(struct front_call *call)
{
    struct rest_call *c = rest_call_of(call);
    if (c->topic != NULL)
        queue_topic_give_back(c->topic);
}

static const struct front_call_kind kind = {refuse, end};

void rest_call_init(struct rest_call *c, struct http_request *http)
{
    front_call_init(&c->call, &kind, http);
    c->http = http;
    c->arena = http_arena(http);
}

static void work_step(struct front_call *call)
{
    struct rest_call *c = rest_call_of(call);
    c->work(c);
}

static void next_step(struct front_call *call)
{
    struct rest_call *c = rest_call_of(call);
    c->next(c);
}

void rest_call_commit(struct rest_call *c, rest_step *next)
{
    c->next = next;
    front_call_commit(&c->call, &c->wait, next_step);
}

void rest_call_run(struct rest_call *c, rest_step *work, rest_step *next)
{
    c->work = work;
    c->next = next;
    front_call_run(&c->call, c->front->queue, work_step, next_step);
}

void rest_call_send(struct rest_call *c, const struct queue_message *messages, size_t n,
                    struct queue_sent *sent, enum err *errs, rest_step *next)
{
    c->next = next;
    front_send(&c->call, c->topic, &c->wait, messages, n, sent, errs, next_step);
}

void rest_call_change(struct rest_call *c, struct front_change *changes, size_t n, rest_step *next)
{
    c->next = next;
    front_change(&c->call, c->topic, &c->wait, changes, n, true, next_step);
}

void rest_call_purge(struct rest_call *c, struct bytes group, struct front_sum *sum,
                     rest_step *next)
{
    c->next = next;
    front_purge(&c->call, c->topic, &c->wait, group, sum, next_step);
}

void rest_call_count(struct rest_call *c, struct bytes group, struct front_sum *sum,
                     rest_step *next)
{
    c->next = next;
    front_count(&c->call, c->topic, &c->wait, group, sum, next_step);
}

void rest_reply_fault(struct rest_call *c)
{
    rest_answer_problem(c->http, &c->fault);
}

void rest_reply_err(struct rest_call *c, enum err e)
{
    rest_fault_of_err(&c->fault, e);
    rest_reply_fault(c);
}

void rest_reply_fault_or_none(struct rest_call *c)
{
    if (c->fault.problem != REST_PROBLEM_NONE)
        rest_reply_fault(c);
    else
        rest_answer_none(c->http, 204, NULL, 0);
}

enum err rest_call_topic_find(struct rest_call *c)
{
    enum err e = queue_topic_find(c->front->queue, c->match.topic, &c->topic);
    if (e == ERR_OK)
        c->config = queue_topic_config(c->topic);
    return e;
}

bool rest_group_known(struct rest_call *c, struct bytes group)
{
    if (c->config->compact)
        return rest_fault_of_err(&c->fault, ERR_LOG_ONLY);
    if (bytes_equal(group, BYTES_OF("default")))
        return true;
    return rest_fault_set(&c->fault, REST_PROBLEM_GROUP_NOT_FOUND,
                          "the topic has no group of this name; there is one, default");
}

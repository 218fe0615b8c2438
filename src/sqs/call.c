// SPDX-License-Identifier: Apache-2.0
/* What the room front is told of its calls, and its waits with steps of this room. */
#include "sqs/call.h"

#include "base/check.h"

struct sqs_call *sqs_call_of(struct front_call *call)
{
    return CONTAINER_OF(call, struct sqs_call, call);
}

static void refuse(struct front_call *call, enum err e)
{
    sqs_reply_err(sqs_call_of(call), e);
}

static void end(struct front_call *call)
{
    struct sqs_call *c = sqs_call_of(call);
    if (c->topic != NULL)
        queue_topic_give_back(c->topic);
}

static const struct front_call_kind kind = {refuse, end};

void sqs_call_init(struct sqs_call *c, struct http_request *http)
{
    front_call_init(&c->call, &kind, http);
    c->http = http;
    c->arena = http_arena(http);
}

static void work_step(struct front_call *call)
{
    struct sqs_call *c = sqs_call_of(call);
    c->work(c);
}

static void next_step(struct front_call *call)
{
    struct sqs_call *c = sqs_call_of(call);
    c->next(c);
}

void sqs_call_commit(struct sqs_call *c, sqs_step *next)
{
    c->next = next;
    front_call_commit(&c->call, &c->wait, next_step);
}

void sqs_call_run(struct sqs_call *c, sqs_step *work, sqs_step *next)
{
    c->work = work;
    c->next = next;
    front_call_run(&c->call, c->front->queue, work_step, next_step);
}

void sqs_call_send(struct sqs_call *c, const struct queue_message *messages, size_t n,
                   struct queue_sent *sent, enum err *errs, sqs_step *next)
{
    c->next = next;
    front_send(&c->call, c->topic, &c->wait, messages, n, sent, errs, next_step);
}

void sqs_call_change(struct sqs_call *c, struct front_change *changes, size_t n, sqs_step *next)
{
    c->next = next;
    front_change(&c->call, c->topic, &c->wait, changes, n, false, next_step);
}

void sqs_call_purge(struct sqs_call *c, struct bytes group, struct front_sum *sum, sqs_step *next)
{
    c->next = next;
    front_purge(&c->call, c->topic, &c->wait, group, sum, next_step);
}

void sqs_call_count(struct sqs_call *c, struct bytes group, struct front_sum *sum, sqs_step *next)
{
    c->next = next;
    front_count(&c->call, c->topic, &c->wait, group, sum, next_step);
}

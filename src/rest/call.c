// SPDX-License-Identifier: Apache-2.0
/* The waits that operations share, and what ends a call. A wake may belong to an earlier wait of
 * the same request, so each wait asks its own flag. */
#include "rest/call.h"

#include "base/check.h"

static void on_wake(void *self, struct http_request *r)
{
    struct rest_call *c = self;
    if (!atomic_load_explicit(&c->woken, memory_order_acquire))
        http_park(r, on_wake, c, 0, false);
    else if (c->wait.err != ERR_OK)
        rest_reply_err(c, c->wait.err);
    else
        c->next(c);
}

/* Ends a wait that began with http_hold: a server that stops may finish the request before those
 * who are to tell it have, and they write into its arena. */
static void wake(struct rest_call *c)
{
    struct http_request *r = c->http;
    atomic_store_explicit(&c->woken, true, memory_order_release);
    http_wake(r);
    http_let_go(r);
}

static void on_committed(struct queue_wait *w)
{
    wake(CONTAINER_OF(w, struct rest_call, wait));
}

void rest_call_commit(struct rest_call *c, rest_step *next)
{
    c->next = next;
    c->wait.ready = on_committed;
    atomic_store_explicit(&c->woken, false, memory_order_relaxed);
    http_hold(c->http);
    if (queue_wait_start(&c->wait)) {
        http_park(c->http, on_wake, c, 0, false);
        return;
    }
    http_let_go(c->http);
    if (c->wait.err != ERR_OK)
        rest_reply_err(c, c->wait.err);
    else
        next(c);
}

static void on_job(struct queue_job *job)
{
    struct rest_call *c = CONTAINER_OF(job, struct rest_call, job);
    c->work(c);
    rest_call_release(c);
    wake(c);
}

void rest_call_run(struct rest_call *c, rest_step *work, rest_step *next)
{
    c->next = next;
    c->work = work;
    c->job.run = on_job;
    atomic_fetch_add_explicit(&c->owners, 1, memory_order_relaxed);
    atomic_store_explicit(&c->woken, false, memory_order_relaxed);
    http_hold(c->http);
    enum err e = queue_run(c->front->queue, &c->job);
    if (e == ERR_OK) {
        http_park(c->http, on_wake, c, 0, false);
        return;
    }
    rest_call_release(c);
    http_let_go(c->http);
    rest_reply_err(c, e);
}

void rest_call_release(struct rest_call *c)
{
    if (atomic_fetch_sub_explicit(&c->owners, 1, memory_order_acq_rel) != 1)
        return;
    if (c->cleanup != NULL)
        c->cleanup(c);
    if (c->topic != NULL)
        queue_topic_give_back(c->topic);
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
    if (bytes_equal(group, BYTES_OF("default")))
        return true;
    return rest_fault_set(&c->fault, REST_PROBLEM_GROUP_NOT_FOUND,
                          "the topic has no group of this name; there is one, default");
}

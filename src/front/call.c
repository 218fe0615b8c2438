// SPDX-License-Identifier: Apache-2.0
#include "front/call.h"

#include "base/check.h"

static void release(struct front_call *c)
{
    if (atomic_fetch_sub_explicit(&c->owners, 1, memory_order_acq_rel) != 1)
        return;
    if (c->cleanup != NULL)
        c->cleanup(c);
    c->kind->end(c);
}

static void on_finish(void *self, bool written)
{
    struct front_call *c = self;
    c->written = written;
    release(c);
}

void front_call_init(struct front_call *c, const struct front_call_kind *kind,
                     struct http_request *http)
{
    c->kind = kind;
    c->http = http;
    atomic_init(&c->woken, false);
    atomic_init(&c->owners, 1);
    http_on_finish(http, on_finish, c);
}

/* A job's call may have left marks in a wait that has failed already: they are linked into the
 * queue until a commit was waited for, so after a job `next` is called all the same. */
static void go_on(struct front_call *c)
{
    if (c->wait != NULL && c->wait->err != ERR_OK)
        c->kind->refuse(c, c->wait->err);
    else
        c->next(c);
}

/* A wake may belong to an earlier wait of the same request, or to its poll, so each wait asks its
 * own flag. */
static void on_wake(void *self, struct http_request *r)
{
    struct front_call *c = self;
    if (atomic_load_explicit(&c->woken, memory_order_acquire))
        go_on(c);
    else
        http_park(r, on_wake, c, 0, false);
}

/* The request is held while others are to tell it: a server that stops may finish it before they
 * have, and they write into its arena. */
static void begin(struct front_call *c, struct queue_wait *wait, front_step *next)
{
    c->wait = wait;
    c->next = next;
    atomic_store_explicit(&c->woken, false, memory_order_relaxed);
    http_hold(c->http);
}

/* From here on the loop may have the call, and it may be gone. */
static void wake(struct front_call *c)
{
    struct http_request *r = c->http;
    atomic_store_explicit(&c->woken, true, memory_order_release);
    http_wake(r);
    http_let_go(r);
}

static void on_committed(struct queue_wait *wait)
{
    wake(wait->self);
}

void front_call_commit(struct front_call *c, struct queue_wait *wait, front_step *next)
{
    wait->ready = on_committed;
    wait->self = c;
    begin(c, wait, next);
    if (queue_wait_start(wait)) {
        http_park(c->http, on_wake, c, 0, false);
        return;
    }
    http_let_go(c->http);
    go_on(c);
}

static void on_job(struct queue_job *job)
{
    struct front_call *c = CONTAINER_OF(job, struct front_call, job);
    c->work(c);
    release(c);
    wake(c);
}

void front_call_run(struct front_call *c, struct queue *q, front_step *work, front_step *next)
{
    c->work = work;
    c->job.run = on_job;
    begin(c, NULL, next);
    atomic_fetch_add_explicit(&c->owners, 1, memory_order_relaxed);
    enum err e = queue_run(q, &c->job);
    if (e == ERR_OK) {
        http_park(c->http, on_wake, c, 0, false);
        return;
    }
    release(c);
    http_let_go(c->http);
    c->kind->refuse(c, e);
}

void front_call_begin(struct front_call *c, front_step *next)
{
    begin(c, NULL, next);
    atomic_fetch_add_explicit(&c->owners, 1, memory_order_relaxed);
    atomic_store_explicit(&c->left, 1, memory_order_relaxed);
}

void front_call_expect(struct front_call *c)
{
    atomic_fetch_add_explicit(&c->left, 1, memory_order_relaxed);
}

void front_call_told(struct front_call *c)
{
    if (atomic_fetch_sub_explicit(&c->left, 1, memory_order_acq_rel) != 1)
        return;
    release(c);
    wake(c);
}

/* All may have told already: the wake waits for the park. */
void front_call_park(struct front_call *c)
{
    http_park(c->http, on_wake, c, 0, false);
    front_call_told(c);
}

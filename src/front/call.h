// SPDX-License-Identifier: Apache-2.0
/* A request that waits now and then: for a commit, or for a job on the catalogue thread. It is the
 * first member of a front's own call (struct sqs_call, struct rest_call), in the request's arena.
 *
 * Everything but the job runs on the request's loop. There is at most one wait at a time. Once it
 * has begun, whoever began it touches nothing of the call: another thread may have it.
 *
 * A call has owners: the request, and a job that was begun. A server that stops may finish the
 * request while the job still works for it, so what the call holds is let go by the last owner. */
#ifndef FRONT_CALL_H
#define FRONT_CALL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "http/http.h"
#include "queue/queue.h"

struct front_call;
struct front_links;
struct front_poll;
struct front_verb;
typedef void front_step(struct front_call *c);

/* What a front brings along; one constant for all its calls. */
struct front_call_kind {
    /* Answers a request whose wait came to nothing. */
    void (*refuse)(struct front_call *c, enum err e);
    /* Lets go of what the front holds, such as the topic. Called once, by the last owner, after
     * `cleanup`: on the loop or on the catalogue thread. */
    front_step *end;
};

struct front_call {
    const struct front_call_kind *kind;
    struct http_request *http;
    const struct front_links *links; /* to other brokers; NULL: there are none. Set by the front */
    struct front_poll *poll;         /* of a request that receives, else NULL */
    struct front_verb *verb;         /* of a request that several brokers carry out, else NULL */
    front_step *cleanup; /* of what the request does; may be set while nothing waits; or NULL */
    bool written;        /* once it is finished: the answer was */
    /* Of the wait. */
    struct queue_wait *wait; /* for a commit; NULL: for something else */
    struct queue_job job;
    front_step *work; /* the job */
    front_step *next; /* what goes on then */
    atomic_bool woken;
    atomic_int left; /* those who are still to tell it something, and front_call_park */
    atomic_int owners;
};

/* `c` is zeros. Its end is called once, whatever becomes of the request. */
void front_call_init(struct front_call *c, const struct front_call_kind *kind,
                     struct http_request *http);

/* Goes on with `next` once all that verbs left in `wait` is committed: at once, or later on the
 * same loop. When that failed kind->refuse is called instead. */
void front_call_commit(struct front_call *c, struct queue_wait *wait, front_step *next);
/* Runs `work` as a job, then `next` on the loop. kind->refuse: there are too many jobs. */
void front_call_run(struct front_call *c, struct queue *q, front_step *work, front_step *next);

/* Waits for several others at once: begin; expect for each, before it is started; park, which goes
 * on with `next` once each has called told, from any thread. Together they own the call meanwhile.
 */
void front_call_begin(struct front_call *c, front_step *next);
void front_call_expect(struct front_call *c);
void front_call_told(struct front_call *c);
void front_call_park(struct front_call *c);

#endif

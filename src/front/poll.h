// SPDX-License-Identifier: Apache-2.0
/* Receiving, at once or as a long poll: the same for all fronts, which only read the request and
 * write the answer.
 *
 * No lease is taken for a client that is gone, and the leases of an answer that could not be
 * written end at once. */
#ifndef FRONT_POLL_H
#define FRONT_POLL_H

#include "front/call.h"

struct front_poll {
    /* Set by the front, in zeros; all borrowed until the call ends. */
    struct front_call *call;
    struct queue_topic *topic;
    struct queue_wait *wait;
    const struct clock *clock;
    struct queue_receive request;
    int64_t wait_ms; /* from when the request came; 0: looks once */
    /* Answers with what was received; perhaps nothing. */
    void (*answer)(struct front_poll *p);
    /* Errors of queue_receive and queue_poll_start. ERR_OVER_LIMIT only where wait_ms is 0: who
     * waits may see leases end. */
    void (*refuse)(struct front_poll *p, enum err e);

    /* For the answer. */
    size_t n;
    struct queue_received received[QUEUE_BATCH_MAX];
    int64_t lease_until_wall_ms;

    /* The loop's own. */
    struct queue_poll poll; /* registered until it is answered, if it waits */
    int64_t deadline_boot_ms;
    atomic_bool called; /* by queue, since the last look */
    enum err err;
};

/* Calls `answer` or `refuse`, once: at once, or later on the same loop. */
void front_poll_run(struct front_poll *p);

#endif

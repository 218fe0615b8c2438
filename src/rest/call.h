// SPDX-License-Identifier: Apache-2.0
/* One request on its way through the room: routed, its query read, its topic found, perhaps waiting
 * (front/call.h), then answered once. It lives in the request's arena. */
#ifndef REST_CALL_H
#define REST_CALL_H

#include "base/json_write.h"
#include "front/verbs.h"
#include "rest/answer.h"
#include "rest/duration.h"
#include "rest/rest.h"
#include "rest/route.h"

struct rest_call;
typedef void rest_step(struct rest_call *c);

struct rest_call {
    struct front_call call;
    struct rest *front;
    struct http_request *http;
    struct arena *arena; /* of the request */
    struct rest_match match;
    struct rest_query query;
    struct rest_fault fault;           /* REST_PROBLEM_NONE: none so far */
    struct queue_topic *topic;         /* a reference, given back when the call ends; or NULL */
    const struct topic_config *config; /* of the topic when it was found */
    struct queue_wait wait; /* a verb may link it into the queue: rest_call_commit after each */
    void *state;            /* of the operation */
    rest_step *work, *next; /* of the wait: see below */
};

/* Operations: each replies, or sees to it that something later does. The topic is there where the
 * path names one, but for put_topic and delete_topic, which look for it themselves; the group is
 * known; the body is not empty only where the operation takes one. */
#define ROUTE(method, template, operation) void rest_do_##operation(struct rest_call *c);
#include "rest.def"

/* `c` is zeros. The call ends with its request, or later, when its job has ended. */
void rest_call_init(struct rest_call *c, struct http_request *http);
struct rest_call *rest_call_of(struct front_call *call);
/* Goes on with `next` once everything in c->wait is committed: at once, or later on the same loop.
 * `next` is not called when that failed: the call is answered with a problem. */
void rest_call_commit(struct rest_call *c, rest_step *next);
/* Runs `work` on the catalogue thread, then `next` on the loop. */
void rest_call_run(struct rest_call *c, rest_step *work, rest_step *next);
/* The verbs of front/verbs.h on c->topic, then `next` on the loop, as rest_call_commit. */
void rest_call_send(struct rest_call *c, const struct queue_message *messages, size_t n,
                    struct queue_sent *sent, enum err *errs, rest_step *next);
void rest_call_change(struct rest_call *c, struct front_change *changes, size_t n, rest_step *next);
void rest_call_purge(struct rest_call *c, struct bytes group, struct front_sum *sum,
                     rest_step *next);
void rest_call_count(struct rest_call *c, struct bytes group, struct front_sum *sum,
                     rest_step *next);

/* Answers, each once a call. */
void rest_reply_fault(struct rest_call *c); /* c->fault */
void rest_reply_err(struct rest_call *c, enum err e);
/* A fault where there is one, else 204. */
void rest_reply_fault_or_none(struct rest_call *c);

/* Shared by the operations that look for their topic themselves. */
enum err rest_call_topic_find(struct rest_call *c) MUST_USE;
/* "group": parameter or path; only `default` exists. */
bool rest_group_known(struct rest_call *c, struct bytes group) MUST_USE;

#endif

// SPDX-License-Identifier: Apache-2.0
/* One request on its way through the room: decoded, checked, perhaps waiting (front/call.h),
 * then answered once. It lives in the request's arena. */
#ifndef SQS_CALL_H
#define SQS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "front/verbs.h"
#include "sqs/action.h"
#include "sqs/out.h"
#include "sqs/redrive.h"
#include "sqs/sqs.h"

struct sqs_call;
typedef void sqs_step(struct sqs_call *c);

struct sqs_call {
    struct front_call call;
    struct sqs *front;
    struct http_request *http;
    struct arena *arena;        /* of the request */
    enum sqs_protocol protocol; /* of the request, and so of the answer */
    const struct sqs_action *action;
    struct bytes url_base;  /* of queue URLs, once one was asked for */
    struct sqs_place place; /* region of the signature, and the account */
    struct sqs_request request;
    int status;                /* of the fault; 0: its own */
    struct sqs_fault fault;    /* code SQS_FAULT_NONE: none so far */
    struct queue_topic *topic; /* a reference, given back when the call ends; or NULL */
    const struct topic_config *config;
    struct queue_wait wait; /* a verb may link it into the queue: sqs_call_commit after each */
    void *state;            /* of the handler */
    sqs_step *work, *next;  /* of the wait: see below */
};

/* Handlers, one an action: the request is decoded, required members are there, the queue is found
 * (c->topic) where the action needs one. Each replies, or sees to it that something later does. */
#define ACTION(name, queue) void sqs_answer_##name(struct sqs_call *c);
#include "actions.def"

/* `c` is zeros. The call ends with its request, or later, when its job has ended. */
void sqs_call_init(struct sqs_call *c, struct http_request *http);
struct sqs_call *sqs_call_of(struct front_call *call);
/* Goes on with `next` once everything in c->wait is committed: at once, or later on the same loop.
 * `next` is not called when that failed: the call is answered with a fault. */
void sqs_call_commit(struct sqs_call *c, sqs_step *next);
/* Runs `work` on the catalogue thread, then `next` on the loop. */
void sqs_call_run(struct sqs_call *c, sqs_step *work, sqs_step *next);
/* The verbs of front/verbs.h on c->topic, then `next` on the loop, as sqs_call_commit. */
void sqs_call_send(struct sqs_call *c, const struct queue_message *messages, size_t n,
                   struct queue_sent *sent, enum err *errs, sqs_step *next);
void sqs_call_change(struct sqs_call *c, struct front_change *changes, size_t n, sqs_step *next);
void sqs_call_purge(struct sqs_call *c, struct bytes group, struct front_sum *sum, sqs_step *next);
void sqs_call_count(struct sqs_call *c, struct bytes group, struct front_sum *sum, sqs_step *next);

/* There is one account, and which one a request names (n = 0: none) matters only when the front is
 * strict about it. */
bool sqs_account_is_ours(const struct sqs_call *c, struct bytes account);

/* On the catalogue thread: whether the queue `source` may name this dead-letter target: it exists,
 * is of the same type, and its RedriveAllowPolicy lets it. False: c->fault. */
bool sqs_redrive_check(struct sqs_call *c, const struct sqs_redrive *r, struct bytes source,
                       bool fifo) MUST_USE;

/* Answers, each once a call. */
void sqs_reply_fault(struct sqs_call *c); /* c->fault */
void sqs_reply_err(struct sqs_call *c, enum err e);
void sqs_reply_empty(struct sqs_call *c);
void sqs_reply_fault_or_empty(struct sqs_call *c);
/* A result in the form of the call's protocol: begin, fields (sqs/out.h), send. `body` is empty and
 * is the writer's until it is sent, which takes what it holds. */
struct sqs_out sqs_reply_begin(const struct sqs_call *c, struct buf *body);
void sqs_reply_send(struct sqs_call *c, struct sqs_out *out);

/* The URL of a queue as this client may reach it; in the arena. */
struct bytes sqs_queue_url(struct sqs_call *c, struct bytes name);

/* Failed: [{Id, Code, Message, SenderFault}]. */
struct sqs_failed {
    struct bytes id;
    enum sqs_fault_code code; /* SQS_FAULT_NONE: this entry did not fail */
    struct bytes text;
};
void sqs_put_failed(struct sqs_out *out, const struct sqs_failed *failed, size_t n);

#endif

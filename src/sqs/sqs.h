// SPDX-License-Identifier: Apache-2.0
/* The SQS front: AWS JSON 1.0 over the verbs of the room queue. It hands out routes for http, which
 * stand behind all others, since a request may come on any path: its body decides.
 *
 * Threads: handlers run on http's loops; what changes topics runs as jobs on queue's catalogue
 * thread. The front outlives the server; the queue outlives the front. */
#ifndef SQS_SQS_H
#define SQS_SQS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "http/http.h"
#include "queue/queue.h"

struct sqs;

struct sqs_options {
    struct queue *queue;       /* borrowed */
    const struct clock *clock; /* borrowed */
    const char *public_url;    /* scheme, host and port of queue URLs; NULL: from the Host header */
    const char *region;        /* shown in ARNs when a request is not signed; NULL: us-east-1 */
    const char *account;       /* NULL: 000000000000 */
    bool strict_cooldowns;     /* refuse what AWS refuses within 60 s of a delete or purge */
};

/* The options' texts are copied. */
struct sqs *sqs_new(const struct sqs_options *o);
/* After the server has stopped and the queue's threads have ended. */
void sqs_free(struct sqs *s);

/* Lent until sqs_free. */
const struct http_route *sqs_routes(const struct sqs *s, size_t *n);

/* For http_options.refuse: an answer in SQS's form to a request that http refused. `self` is the
 * struct sqs. */
void sqs_refuse(void *self, struct http_request *r, int status, const char *text);

#endif

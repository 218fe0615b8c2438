// SPDX-License-Identifier: Apache-2.0
/* The SQS front: AWS JSON 1.0 and Query/XML over the verbs of the room queue. It hands out routes
 * for http, which stand behind all others, since a request may come on any path: its body decides.
 *
 * Threads: handlers run on http's loops; what changes topics runs as jobs on queue's catalogue
 * thread. */
#ifndef SQS_SQS_H
#define SQS_SQS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "front/links.h"
#include "http/http.h"
#include "queue/queue.h"
#include "sqs/cooldown.h"
#include "sqs/proxies.h"
#include "sqs/signature.h"

enum { SQS_ROUTES_MAX = 2 };

struct sqs {
    /* Set by whoever owns it, before the server starts; all borrowed until it has stopped. */
    struct queue *queue;
    const struct front_links *links; /* to other brokers; NULL: there are none */
    const struct clock *clock;
    const char *public_url; /* scheme, host and port of queue URLs; NULL: from the Host header */
    struct sqs_proxies proxies;  /* whose X-Forwarded-* headers are believed */
    struct sqs_access_keys keys; /* requests must be signed with one of them; none: with nothing */
    const char *region;          /* shown in ARNs when a request is not signed; NULL: us-east-1 */
    const char *account;         /* NULL: 000000000000 */
    bool strict_accounts;        /* queues of another account than ours are not found */
    bool strict_cooldowns;       /* refuse what AWS refuses within 60 s of a delete or purge */
    /* The catalogue thread's; zeros at birth. Names of topics, and when it happened. */
    struct sqs_cooldown deleted;
    struct sqs_cooldown purged;
};

/* Writes at most SQS_ROUTES_MAX routes and says how many. */
size_t sqs_routes(struct sqs *s, struct http_route *out);
/* After the server and the queue's threads have stopped. */
void sqs_fini(struct sqs *s);

/* For http_options.refuse: an answer in SQS's form to a request that http refused. `self` is not
 * looked at. */
void sqs_refuse(void *self, struct http_request *r, int status, const char *text);

#endif

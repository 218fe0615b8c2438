// SPDX-License-Identifier: Apache-2.0
/* The REST API: topics, messages, groups, leases and partitions under /v1/topics, its description
 * at /v1/openapi.yaml, and a page for each problem under /problems. */
#ifndef REST_REST_H
#define REST_REST_H

#include <stddef.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "front/links.h"
#include "http/http.h"
#include "queue/queue.h"

enum { REST_WHY_ROOM = 160 };

struct rest {
    struct queue *queue;             /* borrowed; set before the server starts, as all here */
    const struct front_links *links; /* to other brokers; NULL: there are none */
    const struct clock *clock;       /* borrowed */
    /* Writes what is known of the cluster, as one object; NULL: the broker is alone. Any thread. */
    void (*put_cluster)(void *cluster, struct json_writer *w);
    /* What an operator asks for; NULL as well. Both block. ERR_CONFLICT: `why` says what is in the
     * way, and nothing was done. */
    enum err (*move_leader)(void *cluster, const uint8_t topic[16], uint32_t partition,
                            uint32_t broker, char why[REST_WHY_ROOM]);
    enum err (*recover)(void *cluster, const uint8_t topic[16], uint32_t partition, uint32_t broker,
                        char why[REST_WHY_ROOM]);
    void *cluster;
};

enum { REST_ROUTES_MAX = 6 };

/* Writes the room's routes; gives their number. `s` is lent to the server. */
size_t rest_routes(struct rest *s, struct http_route out[REST_ROUTES_MAX]);

/* Answers a request that http refused before any handler saw it: as a problem. */
void rest_refuse(struct http_request *r, int status, const char *detail);

#endif

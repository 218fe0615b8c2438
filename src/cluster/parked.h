// SPDX-License-Identifier: Apache-2.0
/* Fetches that wait at this leader, and for which partitions. Not for other rooms.
 *
 * A fetch is registered before its partitions are looked at: what moves between the look and the
 * park finds it here, and its wake comes after the park (http.h keeps it). */
#ifndef CLUSTER_PARKED_H
#define CLUSTER_PARKED_H

#include <sys/queue.h>

#include "base/lock.h"
#include "cluster/serve.h"
#include "http/http.h"
#include "peer/wire.h"
#include "queue/copies.h"

struct parked_place;
struct parked_fetch;

/* A partition of a fetch. */
struct parked_part {
    struct parked_fetch *fetch;
    /* the loop's thread: what the last look said */
    struct replica_answer answer;
    uint64_t from;
    bool has_batches;
    bool may_park;
    bool needs_look; /* it has moved since */
    /* guarded by parked.lock */
    bool has_moved; /* since the last look */
    struct parked_place *place;
    LIST_ENTRY(parked_part) link;
};

/* A request, from its decoding to its finish; owned by its loop's thread. */
struct parked_fetch {
    void *owner; /* the struct cluster_serve */
    struct http_request *request;
    uint32_t from; /* the broker */
    struct wire_fetch fetch;
    struct parked_part *parts; /* as many as fetch.parts */
    int64_t until_boot_ms;
    /* guarded by parked.lock */
    bool is_registered;
    bool is_woken; /* http_wake was called, and its parts were not looked at since */
    TAILQ_ENTRY(parked_fetch) link;
};

struct parked {
    struct lock lock;
    /* guarded by lock */
    struct parked_place *places;
    TAILQ_HEAD(, parked_fetch) fetches;
    size_t fetches_n, parts_n;
};

void parked_init(struct parked *p);
void parked_fini(struct parked *p); /* nothing is registered any more */
void parked_register(struct parked *p, struct parked_fetch *f);
void parked_unregister(struct parked *p, struct parked_fetch *f); /* if it is registered */
/* Wakes whoever waits for it. Any thread. */
void parked_moved(struct parked *p, const struct queue_copy_id *of);
/* Sets needs_look of the parts that have moved since the last call, and asks for wakes anew. */
void parked_take_moved(struct parked *p, struct parked_fetch *f);
struct cluster_serve_counts parked_counts(struct parked *p);

#endif

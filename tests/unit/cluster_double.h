// SPDX-License-Identifier: Apache-2.0
/* Brokers whose queue is a double: partitions that count batches instead of storing them. What it
 * says of copies (queue/copies.h) is enough for the transport between brokers to be played over
 * loopback.
 *
 * One offset is one batch; its bytes are its offset, its length, and filling. */
#ifndef TESTS_UNIT_CLUSTER_DOUBLE_H
#define TESTS_UNIT_CLUSTER_DOUBLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/fetcher.h"
#include "cluster/serve.h"
#include "cluster/snapshots.h"

enum { DOUBLE_BROKERS_MAX = 4, DOUBLE_WAIT_MS = 10000 };

/* Guarded by queue.lock. */
struct double_part {
    uint32_t leader; /* 0: no copy is here */
    uint64_t end;
    uint64_t acked[DOUBLE_BROKERS_MAX]; /* leader: what each follower says that it has */
    /* follower */
    bool asks_on; /* an answer is followed by the next request */
    uint64_t serial;
    uint64_t answers, stale;
    enum replica_fetch_status status; /* of the newest answer */
};

struct queue {
    uint32_t broker;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t parts_n;
    struct double_part *parts;
    size_t batch_bytes;
    atomic_int fail_reads; /* leader: reads of batches fail */
    /* leader: called without the lock after a look that found nothing new */
    void (*_Atomic on_nothing)(struct queue *q, uint32_t part);
    atomic_ullong bytes; /* follower: of batches */
    atomic_int looks;
    /* snapshots */
    size_t snapshot_bytes; /* leader: 0, there is none */
    int puts, failed_puts;
    size_t put_bytes;
    struct broker *owner;
};

struct broker {
    uint32_t id;
    struct queue queue;
    struct peer *peer; /* NULL: stopped */
    struct cluster_serve *serve;
    struct cluster_fetcher *fetcher;
    struct cluster_snapshots *snapshots;
    struct peer_route routes[CLUSTER_SERVE_ROUTES];
    atomic_int losses; /* told by the fetcher */
    _Atomic(enum err) loss;
};

/* Settings of all brokers, to be changed before they are started. */
struct double_world {
    struct clock clock;
    atomic_int ports[DOUBLE_BROKERS_MAX]; /* by id; 0: unknown */
    bool (*is_in_sync)(void *self, const struct queue_copy_id *of);
    uint64_t catchup_bytes_per_s;
    uint32_t wait_ms;
};
extern struct double_world double_world;
void double_world_reset(void);

struct queue_copy_id double_id(uint32_t part);
void double_start(struct broker *b, uint32_t id, size_t parts_n, size_t batch_bytes);
void double_stop(struct broker *b);
/* The broker's copies of all partitions follow or lead. */
void double_lead(struct broker *b, uint32_t leader);
/* n batches more at the leader. */
void double_append(struct broker *b, uint32_t part, uint64_t n);
/* The follower asks its leader, and after each answer again. */
void double_ask(struct broker *b, uint32_t part);
/* Waits; false: it has not come within ten seconds. */
bool double_wait_end(struct broker *b, uint32_t part, uint64_t end);
bool double_wait(struct broker *b, bool (*is_so)(struct broker *b));
int64_t double_now_us(void);

#endif

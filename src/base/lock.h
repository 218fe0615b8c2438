// SPDX-License-Identifier: Apache-2.0
/* A mutex that knows its rank and its owner. A thread takes locks only in rising rank, so no two
 * threads can wait for each other; breaking the order stops the process. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum lock_rank {
    LOCK_RANK_TOPICS = 10,    /* queue: the list of topics */
    LOCK_RANK_PARTITION = 20, /* queue: one partition's log, state and windows */
    LOCK_RANK_LIMITS = 25,    /* queue: what one topic may still take (leaf) */
    LOCK_RANK_POLLS = 30,     /* queue: long polls of one topic and group */
    LOCK_RANK_HOUSEKEEPER = 40,
    LOCK_RANK_CATALOG = 50,
    LOCK_RANK_CATALOG_QUEUE = 55, /* catalog: transactions that wait (leaf) */
    LOCK_RANK_CATALOG_WATCH = 57, /* catalog: one watch or session (leaf) */
    LOCK_RANK_COMMIT = 60,        /* plog: partitions with unwritten batches (leaf) */
    LOCK_RANK_CACHE = 70,         /* plog: the tail cache (leaf) */
    LOCK_RANK_SEGMENTS = 75,      /* plog: one log's list of segments (leaf) */
    LOCK_RANK_FETCHES = 76,       /* cluster: what the fetcher is to ask (leaf) */
    LOCK_RANK_PARKED = 77,        /* cluster: fetches of followers that wait; wakes requests */
    LOCK_RANK_PEER = 78,          /* peer: calls to be made, nonces seen (leaf) */
    LOCK_RANK_CLUSTER = 79,       /* cluster: work for its thread, and what it knows (leaf) */
    LOCK_RANK_MAILBOX = 80,       /* http: a loop's mailbox (leaf) */
};

struct lock {
    pthread_mutex_t mutex;
    enum lock_rank rank;
    bool owned; /* by `owner`; guarded by mutex */
    pthread_t owner;
};

void lock_init(struct lock *l, enum lock_rank rank);
void lock_fini(struct lock *l);
void lock_take(struct lock *l);
void lock_give(struct lock *l);
/* Stops the process unless the calling thread holds l. Opens every function named _locked. */
void lock_check_held(struct lock *l);
/* Stops the process if the calling thread holds any lock: before a sync, a read, a callback. */
void lock_check_none_held(void);

/* A condition for a lock; waits on CLOCK_MONOTONIC. */
struct lock_signal {
    pthread_cond_t cond;
};

void lock_signal_init(struct lock_signal *s);
void lock_signal_fini(struct lock_signal *s);
void lock_signal_all(struct lock_signal *s);
/* The caller holds l, which is given up while waiting. At most timeout_ms, or for ever when it is
 * negative. Wakes without cause happen: the caller asks its condition again. */
void lock_signal_wait(struct lock_signal *s, struct lock *l, int64_t timeout_ms);

#endif

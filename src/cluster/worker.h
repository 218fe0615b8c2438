// SPDX-License-Identifier: Apache-2.0
/* A thread of the data side, and the lock and signal by which others give it work.
 *
 * Life: init; join; ... stop; fini. Between the last two nothing is worked on any more. */
#ifndef CLUSTER_WORKER_H
#define CLUSTER_WORKER_H

#include <pthread.h>

#include "base/check.h"
#include "base/err.h"
#include "base/lock.h"

struct cluster_worker {
    struct lock lock;
    struct lock_signal changed;
    bool is_stopping; /* guarded by lock; the thread ends when it sees it */
    /* of whoever joins and stops */
    bool is_joined;
    pthread_t thread;
};

void cluster_worker_init(struct cluster_worker *w, enum lock_rank rank);
/* The thread was stopped, or never began. */
void cluster_worker_fini(struct cluster_worker *w);
/* ERR_BUSY: no thread; a line tells what it was `for_what`. */
enum err cluster_worker_join(struct cluster_worker *w, void *(*run)(void *self), void *self,
                             const char *for_what) MUST_USE;
/* Returns when the thread has ended. */
void cluster_worker_stop(struct cluster_worker *w);

#endif

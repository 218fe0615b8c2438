// SPDX-License-Identifier: Apache-2.0
#include "cluster/worker.h"

#include "base/note.h"

void cluster_worker_init(struct cluster_worker *w, enum lock_rank rank)
{
    *w = (struct cluster_worker){.is_joined = false};
    lock_init(&w->lock, rank);
    lock_signal_init(&w->changed);
}

void cluster_worker_fini(struct cluster_worker *w)
{
    CHECK(!w->is_joined);
    lock_signal_fini(&w->changed);
    lock_fini(&w->lock);
}

enum err cluster_worker_join(struct cluster_worker *w, void *(*run)(void *self), void *self,
                             const char *for_what)
{
    if (pthread_create(&w->thread, NULL, run, self) != 0) {
        note(NOTE_ERROR, "cluster", "no thread for %s", for_what);
        return ERR_BUSY;
    }
    w->is_joined = true;
    return ERR_OK;
}

void cluster_worker_stop(struct cluster_worker *w)
{
    lock_take(&w->lock);
    w->is_stopping = true;
    lock_signal_all(&w->changed);
    lock_give(&w->lock);
    if (w->is_joined)
        CHECK(pthread_join(w->thread, NULL) == 0);
    w->is_joined = false;
}

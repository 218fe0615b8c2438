// SPDX-License-Identifier: Apache-2.0
#include "base/lock.h"

#include <stddef.h>
#include <time.h>

#include "base/check.h"

enum { HELD_MAX = 8 };

/* The ranks that this thread holds, rising. */
static _Thread_local struct {
    int n;
    enum lock_rank rank[HELD_MAX];
} held;

void lock_init(struct lock *l, enum lock_rank rank)
{
    CHECK(pthread_mutex_init(&l->mutex, NULL) == 0);
    l->rank = rank;
    l->owned = false;
}

void lock_fini(struct lock *l)
{
    CHECK(!l->owned);
    CHECK(pthread_mutex_destroy(&l->mutex) == 0);
}

static void owner_set(struct lock *l)
{
    l->owned = true;
    l->owner = pthread_self();
    held.rank[held.n++] = l->rank;
}

static void owner_clear(struct lock *l)
{
    CHECK(l->owned && pthread_equal(l->owner, pthread_self()));
    l->owned = false;
    CHECK(held.n > 0 && held.rank[held.n - 1] == l->rank); /* given back in reverse order */
    held.n--;
}

void lock_take(struct lock *l)
{
    CHECK(held.n < HELD_MAX);
    CHECK(held.n == 0 || held.rank[held.n - 1] < l->rank);
    CHECK(pthread_mutex_lock(&l->mutex) == 0);
    CHECK(!l->owned);
    owner_set(l);
}

void lock_give(struct lock *l)
{
    owner_clear(l);
    CHECK(pthread_mutex_unlock(&l->mutex) == 0);
}

void lock_check_held(struct lock *l)
{
    CHECK(l->owned && pthread_equal(l->owner, pthread_self()));
}

void lock_check_none_held(void)
{
    CHECK(held.n == 0);
}

void lock_signal_init(struct lock_signal *s)
{
    pthread_condattr_t attr;
    CHECK(pthread_condattr_init(&attr) == 0);
    CHECK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&s->cond, &attr) == 0);
    pthread_condattr_destroy(&attr);
}

void lock_signal_fini(struct lock_signal *s)
{
    CHECK(pthread_cond_destroy(&s->cond) == 0);
}

void lock_signal_all(struct lock_signal *s)
{
    CHECK(pthread_cond_broadcast(&s->cond) == 0);
}

void lock_signal_wait(struct lock_signal *s, struct lock *l, int64_t timeout_ms)
{
    owner_clear(l);
    if (timeout_ms < 0) {
        CHECK(pthread_cond_wait(&s->cond, &l->mutex) == 0);
    } else {
        struct timespec until;
        CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
        until.tv_sec += (time_t)(timeout_ms / 1000);
        until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        (void)pthread_cond_timedwait(&s->cond, &l->mutex, &until);
    }
    owner_set(l);
}

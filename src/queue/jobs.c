// SPDX-License-Identifier: Apache-2.0
/* What blocks: jobs of the catalogue thread. They run one after the other, in the order in which
 * they came; but those that make topics run beside one another, on helpers, so that many of them
 * share the syncs of one transaction and one round. */
#include "base/check.h"
#include "base/crc32c.h"
#include "queue/state.h"

enum { JOBS_MAX = 1000 };

void jobs_init(struct queue *q)
{
    lock_init(&q->jobs.lk, LOCK_RANK_MAILBOX);
    lock_signal_init(&q->jobs.changed);
    lock_signal_init(&q->jobs.helpers_changed);
}

void jobs_fini(struct queue *q)
{
    CHECK(q->jobs.first == NULL && q->jobs.running_n == 0);
    lock_signal_fini(&q->jobs.helpers_changed);
    lock_signal_fini(&q->jobs.changed);
    lock_fini(&q->jobs.lk);
}

uint64_t queue_job_beside(struct bytes name)
{
    return (uint64_t)crc32c(0, name.at, name.n) | (uint64_t)1 << 32; /* 0 means "alone" */
}

/* The first job has changed, or may run now. Helpers are not woken for what they may not take. */
static void tell_locked(struct job_list *jobs)
{
    lock_check_held(&jobs->lk);
    lock_signal_all(&jobs->changed);
    if (jobs->first != NULL && jobs->first->beside != 0)
        lock_signal_all(&jobs->helpers_changed);
}

enum err queue_run(struct queue *q, struct queue_job *job)
{
    struct job_list *jobs = &q->jobs;
    if (!__atomic_load_n(&q->threads, __ATOMIC_ACQUIRE)) {
        job->run(job);
        return ERR_OK;
    }
    enum err e = ERR_OK;
    lock_take(&jobs->lk);
    if (__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE)) {
        e = ERR_STOPPING;
    } else if (jobs->n >= JOBS_MAX) {
        e = ERR_BUSY;
    } else {
        job->next = NULL;
        if (jobs->last == NULL)
            jobs->first = job;
        else
            jobs->last->next = job;
        jobs->last = job;
        jobs->n++;
        tell_locked(jobs);
    }
    lock_give(&jobs->lk);
    return e;
}

/* One that runs alone waits for all that run, and everybody behind it for that one. */
static bool may_run_locked(const struct job_list *jobs, const struct queue_job *job)
{
    for (size_t i = 0; i < jobs->running_n; i++)
        if (job->beside == 0 || jobs->running[i] == 0 || jobs->running[i] == job->beside)
            return false;
    return true;
}

/* NULL: none may be begun now. */
static struct queue_job *begin_locked(struct job_list *jobs, bool helper)
{
    struct queue_job *job = jobs->first;
    if (job == NULL || (helper && job->beside == 0) || !may_run_locked(jobs, job))
        return NULL;
    jobs->first = job->next;
    if (jobs->first == NULL)
        jobs->last = NULL;
    jobs->n--;
    CHECK(jobs->running_n < JOB_THREADS);
    jobs->running[jobs->running_n++] = job->beside;
    tell_locked(jobs);
    return job;
}

static void end_locked(struct job_list *jobs, uint64_t beside)
{
    size_t i = 0;
    while (jobs->running[i] != beside)
        i++;
    jobs->running[i] = jobs->running[--jobs->running_n];
    tell_locked(jobs);
}

/* Jobs that wait when the queue stops are still run, so that no request is left without answer. */
void jobs_run(struct queue *q, bool helper)
{
    struct job_list *jobs = &q->jobs;
    lock_take(&jobs->lk);
    for (;;) {
        struct queue_job *job = begin_locked(jobs, helper);
        if (job == NULL) {
            if (__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE) && (helper || jobs->first == NULL))
                break;
            lock_signal_wait(helper ? &jobs->helpers_changed : &jobs->changed, &jobs->lk, -1);
            continue;
        }
        uint64_t beside = job->beside; /* when it has run it may be gone */
        lock_give(&jobs->lk);
        job->run(job);
        lock_take(&jobs->lk);
        end_locked(jobs, beside);
    }
    lock_give(&jobs->lk);
}

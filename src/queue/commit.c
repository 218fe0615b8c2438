// SPDX-License-Identifier: Apache-2.0
/* Who runs rounds: the loop that ends a pass, while syncs are fast; the committer's thread, when
 * they are slow, and for appends nobody waits for. And the catalogue thread's list of jobs. */
#include "base/check.h"
#include "queue/state.h"

enum {
    SLOW_SYNC_US = 1000,
    UNWAITED_MS = 10, /* appends that nobody waits for are durable after so long */
    JOBS_MAX = 1000,
};

void commit_init(struct queue *q)
{
    lock_init(&q->committer.lk, LOCK_RANK_MAILBOX);
    lock_signal_init(&q->committer.changed);
    q->committer.at_ms = INT64_MAX;
}

void commit_fini(struct queue *q)
{
    lock_signal_fini(&q->committer.changed);
    lock_fini(&q->committer.lk);
}

static void ask_committer(struct queue *q, int64_t in_ms)
{
    struct committer *c = &q->committer;
    int64_t at_ms = clock_boot_ms(q->clock) + in_ms;
    lock_take(&c->lk);
    if (at_ms < c->at_ms) {
        c->at_ms = at_ms;
        lock_signal_all(&c->changed);
    }
    lock_give(&c->lk);
}

void queue_pass_end(struct queue *q)
{
    lock_check_none_held();
    bool threads = __atomic_load_n(&q->threads, __ATOMIC_ACQUIRE);
    bool marks = __atomic_exchange_n(&q->marks_wait, false, __ATOMIC_ACQ_REL);
    if (marks || plog_work_waits(q->plog)) {
        if (threads && plog_sync_average_us(q->plog) > SLOW_SYNC_US) {
            ask_committer(q, 0);
            return;
        }
        plog_commit(q->plog, marks);
    }
    if (threads && plog_work_unwritten(q->plog))
        ask_committer(q, UNWAITED_MS);
}

void queue_commit_all(struct queue *q)
{
    lock_check_none_held();
    plog_commit(q->plog, true);
}

void commit_run(struct queue *q)
{
    struct committer *c = &q->committer;
    lock_take(&c->lk);
    while (!__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE)) {
        int64_t wait_ms = c->at_ms == INT64_MAX ? -1 : c->at_ms - clock_boot_ms(q->clock);
        if (wait_ms > 0 || c->at_ms == INT64_MAX) {
            lock_signal_wait(&c->changed, &c->lk, wait_ms);
            continue;
        }
        c->at_ms = INT64_MAX;
        lock_give(&c->lk);
        queue_commit_all(q);
        lock_take(&c->lk);
    }
    lock_give(&c->lk);
}

/* ---- jobs ---- */

void jobs_init(struct queue *q)
{
    lock_init(&q->jobs.lk, LOCK_RANK_MAILBOX);
    lock_signal_init(&q->jobs.changed);
}

void jobs_fini(struct queue *q)
{
    CHECK(q->jobs.first == NULL);
    lock_signal_fini(&q->jobs.changed);
    lock_fini(&q->jobs.lk);
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
        lock_signal_all(&jobs->changed);
    }
    lock_give(&jobs->lk);
    return e;
}

/* Jobs that wait when the queue stops are still run, so that no request is left without answer. */
void jobs_run(struct queue *q)
{
    struct job_list *jobs = &q->jobs;
    lock_take(&jobs->lk);
    for (;;) {
        struct queue_job *job = jobs->first;
        if (job == NULL) {
            if (__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE))
                break;
            lock_signal_wait(&jobs->changed, &jobs->lk, -1);
            continue;
        }
        jobs->first = job->next;
        if (jobs->first == NULL)
            jobs->last = NULL;
        jobs->n--;
        lock_give(&jobs->lk);
        job->run(job);
        lock_take(&jobs->lk);
    }
    lock_give(&jobs->lk);
}

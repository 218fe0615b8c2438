// SPDX-License-Identifier: Apache-2.0
/* Who runs rounds: the loop that ends a pass, while syncs are fast; the committer's thread, when
 * they are slow, and for appends nobody waits for. */
#include "queue/copy_inside.h"
#include "queue/state.h"

enum {
    SLOW_SYNC_US = 1000,
    UNWAITED_MS = 10, /* appends that nobody waits for are durable after so long */
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

void commit_ask(struct queue *q)
{
    if (__atomic_load_n(&q->threads, __ATOMIC_ACQUIRE))
        ask_committer(q, 0);
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

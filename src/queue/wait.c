// SPDX-License-Identifier: Apache-2.0
/* Waiting for commit. A partition keeps a list of marks, offsets rising; when its durable end has
 * moved, the marks below it leave the list under the partition's lock, and their requests are told
 * after the lock is given back. */
#include "base/check.h"
#include "base/mem.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

/* Marks beyond those of the request itself. They never move: lists of partitions point to them. */
enum { MARKS_MORE = 64 };
struct queue_marks {
    struct queue_marks *next; /* older ones, all in use */
    unsigned n;
    struct queue_mark at[MARKS_MORE];
};

static struct queue_mark *next_mark(struct queue_wait *w)
{
    if (w->marks_n < QUEUE_BATCH_MAX)
        return &w->marks[w->marks_n++];
    if (w->more == NULL || w->more->n == MARKS_MORE) {
        struct queue_marks *m = mem_new(sizeof *m);
        m->next = w->more;
        w->more = m;
    }
    w->marks_n++;
    return &w->more->at[w->more->n++];
}

static void free_more(struct queue_wait *w)
{
    while (w->more != NULL) {
        struct queue_marks *next = w->more->next;
        mem_free(w->more);
        w->more = next;
    }
}

/* `left` counts the marks and, until queue_wait_start, one more, so that a request is never told
 * before it asked. NULL: there is nothing to wait for. */
static struct queue_mark *mark_locked(struct queue_wait *w, struct queue_partition *p)
{
    lock_check_held(&p->lk);
    uint64_t end = plog_end(p->log);
    if (plog_committed(p->log) >= end || !copy_serves_locked(p))
        return NULL;
    if (plog_failed(p->q->plog)) {
        w->err = ERR_FAILED;
        return NULL;
    }
    /* The request's own mark is the newest here: it waits a little longer. So a batch of receipts
     * leaves few marks. */
    if (p->marks_last != NULL && p->marks_last->wait == w) {
        p->marks_last->offset = end;
        return p->marks_last;
    }
    if (w->marks_n == 0)
        __atomic_store_n(&w->left, 1, __ATOMIC_RELAXED);
    struct queue_mark *m = next_mark(w);
    *m = (struct queue_mark){.wait = w, .partition = p, .offset = end, .until_ms = INT64_MAX};
    if (p->q->links != NULL)
        m->since_ms = queue_now_ms(p->q);
    __atomic_fetch_add(&w->left, 1, __ATOMIC_RELAXED);
    if (p->marks_last == NULL)
        p->marks_first = m;
    else
        p->marks_last->next = m;
    p->marks_last = m;
    __atomic_store_n(&p->q->marks_wait, true, __ATOMIC_RELEASE);
    return m;
}

void wait_mark_locked(struct queue_wait *w, struct queue_partition *p)
{
    (void)mark_locked(w, p);
}

void wait_lease_locked(struct queue_wait *w, struct queue_partition *p, int64_t until_ms,
                       int64_t visibility_ms)
{
    struct queue_mark *m = mark_locked(w, p);
    if (m != NULL && visibility_ms > 0 && until_ms < m->until_ms)
        m->until_ms = until_ms;
}

void queue_wait_topic(struct queue_topic *t, struct queue_wait *w)
{
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        if (p->closed)
            continue;
        lock_take(&p->lk);
        wait_mark_locked(w, p);
        lock_give(&p->lk);
    }
}

static bool release_one(struct queue_wait *w)
{
    if (__atomic_sub_fetch(&w->left, 1, __ATOMIC_ACQ_REL) > 0)
        return false;
    free_more(w);
    return true;
}

bool queue_wait_start(struct queue_wait *w)
{
    if (w->marks_n > 0 && !release_one(w))
        return true; /* what is committed later was led until then */
    if (w->leased != NULL && w->err == ERR_OK)
        w->err = copy_check_leased(w);
    return false;
}

/* A lease is committed, and is over: a broker that stood still learns from an old letter what its
 * followers stored long ago. Others may have been given the message since, and finished it. */
static bool is_too_late(const struct queue_mark *m)
{
    return m->until_ms != INT64_MAX && partition_now_ms(m->partition) >= m->until_ms;
}

/* Those that are committed, and, with an error `e`, all others as well, which learn it. */
static struct queue_mark *take_marks(struct queue_partition *p, enum err e)
{
    struct queue_mark *first = p->marks_first, **end = &p->marks_first;
    uint64_t committed = plog_committed(p->log);
    lock_check_held(&p->lk);
    while (*end != NULL && (e != ERR_OK || (*end)->offset <= committed)) {
        if ((*end)->offset > committed)
            __atomic_store_n(&(*end)->wait->err, e, __ATOMIC_RELAXED);
        else if (is_too_late(*end))
            __atomic_store_n(&(*end)->wait->err, ERR_UNKNOWN, __ATOMIC_RELAXED);
        end = &(*end)->next;
    }
    if (end == &p->marks_first)
        return NULL;
    p->marks_first = *end;
    *end = NULL;
    if (p->marks_first == NULL)
        p->marks_last = NULL;
    return first;
}

struct queue_mark *wait_take_overdue_locked(struct queue_partition *p, int64_t since_ms)
{
    struct queue_mark *first = p->marks_first, **end = &p->marks_first;
    lock_check_held(&p->lk);
    while (*end != NULL && (*end)->since_ms <= since_ms) {
        __atomic_store_n(&(*end)->wait->err, ERR_UNKNOWN, __ATOMIC_RELAXED);
        end = &(*end)->next;
    }
    if (end == &p->marks_first)
        return NULL;
    p->marks_first = *end;
    *end = NULL;
    if (p->marks_first == NULL)
        p->marks_last = NULL;
    return first;
}

struct queue_mark *wait_take_reached_locked(struct queue_partition *p)
{
    return take_marks(p, ERR_OK);
}

struct queue_mark *wait_take_failed_locked(struct queue_partition *p, enum err e)
{
    return take_marks(p, e);
}

void wait_tell(struct queue_mark *m)
{
    while (m != NULL) {
        struct queue_mark *next = m->next; /* m is gone once its request was told */
        struct queue_wait *w = m->wait;
        if (release_one(w))
            w->ready(w);
        m = next;
    }
}

void wait_on_durable(void *queue, void *partition)
{
    struct queue *q = queue;
    struct queue_partition *p = partition;
    if (p == NULL)
        return;
    bool failed = plog_failed(q->plog);
    lock_take(&p->lk);
    if (p->closed) {
        lock_give(&p->lk);
        return;
    }
    struct copy_after after = {.reached = take_marks(p, failed ? ERR_FAILED : ERR_OK)};
    after.moves = move_committed_locked(p);
    after.wakes = true;
    copy_durable_locked(p, failed, &after);
    lock_give(&p->lk);
    copy_after(p, &after);
    if (failed && !after.moves)
        house_call(q);
}

/* ---- blocking, for jobs ---- */

struct blocked {
    struct queue_wait w;
    struct lock lk;
    struct lock_signal done_signal;
    bool done;
};

static void blocked_ready(struct queue_wait *w)
{
    struct blocked *b = CONTAINER_OF(w, struct blocked, w);
    lock_take(&b->lk);
    b->done = true;
    lock_signal_all(&b->done_signal);
    lock_give(&b->lk);
}

enum err wait_for_topic(struct queue_topic *t)
{
    struct blocked b = {.w = {.ready = blocked_ready}};
    lock_init(&b.lk, LOCK_RANK_MAILBOX);
    lock_signal_init(&b.done_signal);
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        if (p->closed)
            continue;
        lock_take(&p->lk);
        wait_mark_locked(&b.w, p);
        lock_give(&p->lk);
    }
    if (queue_wait_start(&b.w)) {
        queue_commit_all(t->q);
        lock_take(&b.lk);
        while (!b.done)
            lock_signal_wait(&b.done_signal, &b.lk, -1);
        lock_give(&b.lk);
    }
    lock_signal_fini(&b.done_signal);
    lock_fini(&b.lk);
    return b.w.err;
}

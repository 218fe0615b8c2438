// SPDX-License-Identifier: Apache-2.0
/* Which partitions the housekeeper looks at, and when: in the next second those to which something
 * was appended, all others when their oldest message expires or a segment is to be looked at. So
 * thousands of idle topics cost nothing. */
#include "base/check.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

enum {
    LOOK_AGAIN_MS = 1000,
    TRIM_STEPS_MAX = 16, /* at a look */
};

static void put_locked(struct queue_partition *p, int64_t at_ms)
{
    struct queue *q = p->q;
    lock_check_held(&q->house_lk);
    if (!heap_holds(&p->keep)) {
        p->keep.key = at_ms;
        heap_put(&q->keeps, &p->keep);
    } else if (at_ms < p->keep.key) {
        heap_rekey(&q->keeps, &p->keep, at_ms);
    }
}

void house_touch(struct queue_partition *p)
{
    struct queue *q = p->q;
    /* A topic that is being made is touched when it is registered. */
    if (!__atomic_load_n(&p->topic->registered, __ATOMIC_ACQUIRE) ||
        __atomic_exchange_n(&p->touched, true, __ATOMIC_ACQ_REL))
        return;
    lock_take(&q->house_lk);
    put_locked(p, queue_now_ms(q));
    lock_give(&q->house_lk);
}

void house_touch_all(struct queue_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++)
        house_touch(&t->partitions[i]);
}

void house_untouch(struct queue_partition *p)
{
    lock_take(&p->q->house_lk);
    if (heap_holds(&p->keep))
        heap_remove(&p->q->keeps, &p->keep);
    lock_give(&p->q->house_lk);
}

/* A topic is freed by this thread alone, or before it is registered, so what the heap gives is
 * there. */
static struct queue_partition *next_due(struct queue *q, int64_t now_ms)
{
    struct queue_partition *p = NULL;
    lock_take(&q->house_lk);
    struct heap_node *first = heap_first(&q->keeps);
    if (first != NULL && first->key <= now_ms) {
        p = CONTAINER_OF(first, struct queue_partition, keep);
        heap_remove(&q->keeps, first);
        __atomic_store_n(&p->touched, false, __ATOMIC_RELEASE);
    }
    lock_give(&q->house_lk);
    return p;
}

/* Without traffic no record tells the state that deduplication windows and delays have ended, and
 * their memory would stay until the next one. */
static void tell_time(struct queue_partition *p)
{
    lock_take(&p->lk);
    int64_t now_ms = partition_now_ms(p);
    if (now_ms >= partition_time_wanted_ms(p->state) && partition_check_locked(p, 0) == ERR_OK) {
        struct appending a;
        append_begin_locked(&a, p, now_ms);
        append_put_locked(
            &a, &(struct record){.type = RECORD_EPOCH, .epoch = {copy_epoch_locked(p), now_ms}});
        append_end_locked(&a, false);
    }
    lock_give(&p->lk);
}

static int64_t time_wanted_ms(struct queue_partition *p)
{
    lock_take(&p->lk);
    int64_t at_ms = partition_time_wanted_ms(p->state);
    lock_give(&p->lk);
    return at_ms;
}

static int64_t earlier(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

/* When it must be looked at next if nothing is appended until then. */
static int64_t keep_partition(struct queue_partition *p)
{
    bool more = true;
    tell_time(p);
    for (int i = 0; i < TRIM_STEPS_MAX && more; i++)
        more = retention_trim(p);
    snapshot_if_due(p);
    more = retention_release(p) || more;
    if (p->topic->compact)
        compact_look(p);
    else
        clean_look(p);
    int64_t again_ms = queue_now_ms(p->q) + LOOK_AGAIN_MS;
    if (more || plog_committed(p->log) < p->kept_end)
        return again_ms;
    int64_t next_ms = earlier(partition_due_ms(p, retention_next_ms(p)), clean_look_next_ms(p));
    next_ms = earlier(next_ms, partition_due_ms(p, time_wanted_ms(p)));
    return next_ms < again_ms ? again_ms : next_ms;
}

void house_keep_due(struct queue *q)
{
    int64_t now_ms = queue_now_ms(q);
    struct queue_partition *p;
    while (!__atomic_load_n(&q->stop, __ATOMIC_RELAXED) && (p = next_due(q, now_ms)) != NULL) {
        struct queue_topic *t = p->topic;
        if (!topic_try_lend(t))
            continue;
        lock_take(&p->lk); /* a copy's log may be attached meanwhile */
        bool closed = p->closed;
        if (!closed)
            p->kept_end = plog_end(p->log);
        lock_give(&p->lk);
        if (!closed && topic_check(t) == ERR_OK) {
            STAT_ADD(q, kept, 1);
            limit_retain(t);
            int64_t next_ms = keep_partition(p);
            lock_take(&q->house_lk);
            if (next_ms != INT64_MAX)
                put_locked(p, next_ms);
            lock_give(&q->house_lk);
        }
        queue_topic_give_back(t);
    }
}

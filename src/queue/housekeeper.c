// SPDX-License-Identifier: Apache-2.0
/* The housekeeper: what happens by itself. It sleeps until the earliest alarm of a topic on which
 * somebody polls, or for a second. */
#include "base/check.h"
#include "base/note.h"
#include "queue/state.h"

enum {
    HOUSE_PERIOD_MS = 1000,
    FREED_KEPT_MS = 60000,
};

void house_init(struct queue *q)
{
    lock_init(&q->house_lk, LOCK_RANK_HOUSEKEEPER);
    lock_signal_init(&q->house_changed);
    heap_init(&q->alarms);
    heap_init(&q->keeps);
    q->trips_due_ms = INT64_MAX;
}

void house_fini(struct queue *q)
{
    heap_fini(&q->alarms);
    heap_fini(&q->keeps);
    lock_signal_fini(&q->house_changed);
    lock_fini(&q->house_lk);
}

void house_alarm(struct queue *q, struct queue_waiters *ws, int64_t at_ms)
{
    if (at_ms == INT64_MAX)
        return;
    lock_take(&q->house_lk);
    if (!heap_holds(&ws->alarm)) {
        ws->alarm.key = at_ms;
        heap_put(&q->alarms, &ws->alarm);
    } else if (at_ms < ws->alarm.key) {
        heap_rekey(&q->alarms, &ws->alarm, at_ms);
    }
    if (at_ms < q->house_sleeps_until_ms)
        lock_signal_all(&q->house_changed);
    lock_give(&q->house_lk);
}

void house_alarm_drop(struct queue *q, struct queue_waiters *ws)
{
    lock_take(&q->house_lk);
    if (heap_holds(&ws->alarm))
        heap_remove(&q->alarms, &ws->alarm);
    lock_give(&q->house_lk);
}

void house_call(struct queue *q)
{
    lock_take(&q->house_lk);
    q->house_called = true;
    lock_signal_all(&q->house_changed);
    lock_give(&q->house_lk);
}

void house_on_full(void *queue)
{
    house_call(queue);
}

/* ---- steps ---- */

static struct queue_waiters *next_alarm(struct queue *q, int64_t now_ms)
{
    struct queue_waiters *ws = NULL;
    lock_take(&q->house_lk);
    struct heap_node *first = heap_first(&q->alarms);
    if (first != NULL && first->key <= now_ms) {
        ws = CONTAINER_OF(first, struct queue_waiters, alarm);
        heap_remove(&q->alarms, first);
    }
    lock_give(&q->house_lk);
    return ws;
}

/* A topic is freed by this thread alone, and not before its alarm is dropped, so what the heap
 * gives is there. */
void house_ring(struct queue *q)
{
    int64_t now_ms = queue_now_ms(q);
    struct queue_waiters *ws;
    while ((ws = next_alarm(q, now_ms)) != NULL) {
        waiters_kick(ws);
        if (topic_check(ws->topic) == ERR_OK)
            waiters_alarm(ws);
    }
}

static void tell_failure(struct queue *q, struct queue_topic **topics, size_t n)
{
    if (q->failure_told || !plog_failed(q->plog))
        return;
    q->failure_told = true;
    note(NOTE_ERROR, "queue", "the data directory has failed: nothing more is accepted");
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < topics[i]->partitions_n; k++)
            wait_on_durable(q, &topics[i]->partitions[k]);
        waiters_wake_all(&topics[i]->waiters);
    }
}

static void drive_moves(struct queue *q, struct queue_topic **topics, size_t n)
{
    int64_t now_ms = queue_now_ms(q);
    __atomic_store_n(&q->moves_open, false, __ATOMIC_RELEASE);
    q->moves_later = false;
    q->trips_due_ms = INT64_MAX;
    if (plog_failed(q->plog))
        return;
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < topics[i]->partitions_n; k++) {
            struct queue_partition *p = &topics[i]->partitions[k];
            if (p->closed)
                continue;
            bool due = p->trips_due_ms != 0 && p->trips_due_ms <= now_ms;
            if (__atomic_exchange_n(&p->moves_open, false, __ATOMIC_ACQ_REL) || due)
                move_drive(p);
            if (p->trips_due_ms != 0 && p->trips_due_ms < q->trips_due_ms)
                q->trips_due_ms = p->trips_due_ms;
        }
}

static void remove_dropped(struct queue *q)
{
    lock_take(&q->topics_lk);
    struct queue_topic *t = q->dropped;
    q->dropped = NULL;
    lock_give(&q->topics_lk);
    while (t != NULL) {
        struct queue_topic *next = t->dropped_next;
        house_alarm_drop(q, &t->waiters);
        redrive_forget(t);
        topic_remove_rest(t);
        t->freed_at_ms = queue_now_ms(q);
        lock_take(&q->topics_lk);
        t->dropped_next = q->freed;
        q->freed = t;
        lock_give(&q->topics_lk);
        t = next;
    }
}

static void free_removed(struct queue *q, int64_t now_ms)
{
    struct queue_topic *old = NULL;
    lock_take(&q->topics_lk);
    for (struct queue_topic **at = &q->freed; *at != NULL;) {
        struct queue_topic *t = *at;
        if (t->freed_at_ms > now_ms - FREED_KEPT_MS) {
            at = &t->dropped_next;
            continue;
        }
        *at = t->dropped_next;
        t->dropped_next = old;
        old = t;
    }
    lock_give(&q->topics_lk);
    while (old != NULL) {
        struct queue_topic *next = old->dropped_next;
        topic_free(old);
        old = next;
    }
}

static void keep_house(struct queue *q)
{
    house_keep_due(q);
    snapshots_bound(q);
    windows_bound(q);
    space_look(q);
    plog_checkpoint_if_due(q->plog);
}

int64_t queue_housekeep(struct queue *q)
{
    lock_check_none_held();
    lock_take(&q->house_lk);
    q->house_called = false;
    lock_give(&q->house_lk);
    house_ring(q);
    plog_write_if_due(q->plog);
    int64_t now_ms = queue_now_ms(q);
    bool due = now_ms >= q->house_next_ms;
    bool moves = __atomic_load_n(&q->moves_open, __ATOMIC_ACQUIRE) || (due && q->moves_later) ||
                 now_ms >= q->trips_due_ms;
    if (moves || (plog_failed(q->plog) && !q->failure_told)) {
        size_t n;
        struct queue_topic **topics = topics_lend(q, &n);
        tell_failure(q, topics, n);
        drive_moves(q, topics, n);
        topics_give_back(topics, n);
    }
    if (due && !plog_failed(q->plog))
        keep_house(q);
    if (__atomic_exchange_n(&q->redrives_called, false, __ATOMIC_ACQ_REL) ||
        now_ms >= q->redrive_next_ms)
        q->redrive_next_ms = redrive_step(q);
    clean_step(q);
    compact_step(q);
    remove_dropped(q);
    if (due) {
        free_removed(q, now_ms);
        q->house_next_ms = queue_now_ms(q) + HOUSE_PERIOD_MS;
    }
    lock_take(&q->house_lk);
    struct heap_node *first = heap_first(&q->alarms);
    int64_t next_ms =
        first != NULL && first->key < q->house_next_ms ? first->key : q->house_next_ms;
    lock_give(&q->house_lk);
    if (q->redrive_next_ms < next_ms)
        next_ms = q->redrive_next_ms;
    if (q->trips_due_ms < next_ms)
        next_ms = q->trips_due_ms;
    int64_t clean_ms = clean_next_ms(q), compact_ms = compact_next_ms(q);
    if (compact_ms < clean_ms)
        clean_ms = compact_ms;
    return clean_ms < next_ms ? clean_ms : next_ms;
}

void house_run(struct queue *q)
{
    while (!__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE)) {
        int64_t next_ms = queue_housekeep(q);
        lock_take(&q->house_lk);
        /* An alarm that was set since then is in the heap already. */
        struct heap_node *first = heap_first(&q->alarms);
        if (first != NULL && first->key < next_ms)
            next_ms = first->key;
        int64_t wait_ms = next_ms - queue_now_ms(q);
        if (!q->house_called && wait_ms > 0 && !__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE)) {
            q->house_sleeps_until_ms = next_ms;
            lock_signal_wait(&q->house_changed, &q->house_lk, wait_ms);
            q->house_sleeps_until_ms = INT64_MIN;
        }
        lock_give(&q->house_lk);
    }
}

// SPDX-License-Identifier: Apache-2.0
/* Long polls. No wake-up is lost, because
 *   - a poll is registered before the receive that may come back empty;
 *   - a wake that finds polls on their way raises `events`, and a poll that found nothing asks
 *     whether it was raised since it was woken (queue_poll_again);
 *   - a poll that was woken and ends, for whatever reason, looks again on behalf of the others. */
#include "base/check.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

enum { WAKE_AT_A_TIME = 32 };

void waiters_init(struct queue_waiters *ws, struct queue_topic *t, uint32_t gid)
{
    ws->topic = t;
    ws->gid = gid;
    lock_init(&ws->lk, LOCK_RANK_POLLS);
    lock_signal_init(&ws->called);
}

void waiters_fini(struct queue_waiters *ws)
{
    CHECK(ws->first == NULL && !heap_holds(&ws->alarm));
    lock_signal_fini(&ws->called);
    lock_fini(&ws->lk);
}

/* How many messages the topic could hand out now, at most `limit`. */
static size_t deliverable(struct queue_waiters *ws, size_t limit)
{
    struct queue_topic *t = ws->topic;
    const struct topic_config *config = queue_topic_config(t);
    size_t n = 0;
    for (uint32_t i = 0; i < t->partitions_n && n < limit; i++) {
        struct queue_partition *p = &t->partitions[i];
        if (p->closed)
            continue;
        lock_take(&p->lk);
        if (copy_serves_locked(p)) {
            struct partition_view view = partition_view_locked(p, config);
            n += partition_deliverable(p->state, &view, window_locked(p), ws->gid, limit - n);
        }
        lock_give(&p->lk);
    }
    return n;
}

/* The oldest polls that are not on their way, until `target` are. */
static size_t choose_locked(struct queue_waiters *ws, size_t target, struct queue_poll **chosen)
{
    size_t n = 0;
    lock_check_held(&ws->lk);
    for (struct queue_poll *p = ws->first; p != NULL && ws->woken_n < target && n < WAKE_AT_A_TIME;
         p = p->next) {
        if (p->woken)
            continue;
        p->woken = p->calling = true;
        p->seen = ws->events;
        ws->woken_n++;
        chosen[n++] = p;
    }
    return n;
}

static void wake(struct queue_waiters *ws, size_t target)
{
    struct queue_poll *chosen[WAKE_AT_A_TIME];
    size_t n;
    lock_take(&ws->lk);
    ws->events++;
    while ((n = choose_locked(ws, target, chosen)) > 0) {
        lock_give(&ws->lk);
        for (size_t i = 0; i < n; i++)
            chosen[i]->wake(chosen[i]);
        lock_take(&ws->lk);
        for (size_t i = 0; i < n; i++)
            chosen[i]->calling = false;
        lock_signal_all(&ws->called);
    }
    lock_give(&ws->lk);
}

void waiters_kick(struct queue_waiters *ws)
{
    unsigned n = __atomic_load_n(&ws->n, __ATOMIC_SEQ_CST);
    if (n == 0)
        return;
    if (topic_check(ws->topic) != ERR_OK || !topic_try_lend(ws->topic)) {
        wake(ws, SIZE_MAX);
        return;
    }
    size_t target = deliverable(ws, n);
    queue_topic_give_back(ws->topic);
    if (target > 0)
        wake(ws, target);
}

void waiters_wake_all(struct queue_waiters *ws)
{
    if (__atomic_load_n(&ws->n, __ATOMIC_SEQ_CST) > 0)
        wake(ws, SIZE_MAX);
}

void waiters_alarm(struct queue_waiters *ws)
{
    struct queue_topic *t = ws->topic;
    if (__atomic_load_n(&ws->n, __ATOMIC_SEQ_CST) == 0 || !topic_try_lend(t))
        return;
    const struct topic_config *config = queue_topic_config(t);
    int64_t at_ms = INT64_MAX;
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        if (p->closed)
            continue;
        int64_t ms = INT64_MAX;
        lock_take(&p->lk);
        if (copy_serves_locked(p)) {
            struct partition_view view = partition_view_locked(p, config);
            ms = partition_next_event_ms(p->state, &view, window_locked(p), ws->gid);
            ms = partition_due_ms(p, ms);
        }
        lock_give(&p->lk);
        at_ms = ms < at_ms ? ms : at_ms;
    }
    queue_topic_give_back(t);
    house_alarm(t->q, ws, at_ms);
}

enum err queue_poll_start(struct queue_topic *t, struct bytes group, struct queue_poll *p,
                          void (*on_wake)(struct queue_poll *p))
{
    struct queue_waiters *ws = topic_waiters(t, group);
    enum err e = topic_check(t);
    if (e != ERR_OK)
        return e;
    if (ws == NULL)
        return topic_no_group(t);
    CHECK(!p->linked);
    *p = (struct queue_poll){.topic = t, .waiters = ws, .linked = true, .wake = on_wake};
    lock_take(&ws->lk);
    p->previous = ws->last;
    if (ws->last == NULL)
        ws->first = p;
    else
        ws->last->next = p;
    ws->last = p;
    __atomic_store_n(&ws->n, ws->n + 1, __ATOMIC_SEQ_CST);
    lock_give(&ws->lk);
    STAT_ADD(t->q, polls, 1);
    waiters_alarm(ws);
    return ERR_OK;
}

bool queue_poll_again(struct queue_poll *p)
{
    struct queue_waiters *ws = p->waiters;
    bool again = false;
    lock_take(&ws->lk);
    CHECK(p->linked);
    if (p->woken) {
        again = ws->events != p->seen;
        p->seen = ws->events;
        p->woken = again;
        if (!again)
            ws->woken_n--;
    }
    lock_give(&ws->lk);
    return again;
}

void queue_poll_end(struct queue_poll *p, bool passes_on)
{
    struct queue_waiters *ws = p->waiters;
    if (!p->linked)
        return;
    lock_take(&ws->lk);
    while (p->calling)
        lock_signal_wait(&ws->called, &ws->lk, -1);
    if (p->previous == NULL)
        ws->first = p->next;
    else
        p->previous->next = p->next;
    if (p->next == NULL)
        ws->last = p->previous;
    else
        p->next->previous = p->previous;
    __atomic_store_n(&ws->n, ws->n - 1, __ATOMIC_SEQ_CST);
    bool was_woken = p->woken;
    if (was_woken)
        ws->woken_n--;
    p->linked = p->woken = false;
    lock_give(&ws->lk);
    __atomic_fetch_sub(&p->topic->q->stats.polls, 1, __ATOMIC_RELAXED);
    /* One wake may have stood for more than this poll took: whoever was woken looks again. */
    if (was_woken || passes_on)
        waiters_kick(ws);
}

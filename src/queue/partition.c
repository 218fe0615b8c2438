// SPDX-License-Identifier: Apache-2.0
/* One partition: plan, append and apply under its lock. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

void partition_init(struct queue_partition *p, struct queue_topic *t, uint32_t index)
{
    p->q = t->q;
    p->topic = t;
    p->index = index;
    p->state = partition_new();
    p->head_accepted_ms = INT64_MIN;
    p->tombstone_ms = INT64_MAX;
    lock_init(&p->lk, LOCK_RANK_PARTITION);
}

void partition_fini(struct queue_partition *p)
{
    CHECK(p->marks_first == NULL);
    house_untouch(p);
    snapshot_count(p->q, -(int64_t)p->log_bytes);
    partition_window_free(p->window);
    partition_free(p->state);
    trips_free(p);
    copy_fini(p);
    mem_free(p->looks);
    heads_fini(&p->heads);
    __atomic_fetch_sub(&p->q->windows_bytes, p->window_bytes, __ATOMIC_RELAXED);
    lock_fini(&p->lk);
}

void partition_attach(struct queue_partition *p, struct plog_log *log)
{
    p->log = log;
    plog_log_own(log, p);
    const char *where;
    if (plog_log_damaged(log, &where))
        partition_close(p, where);
}

void partition_close(struct queue_partition *p, const char *where)
{
    p->closed = true;
    snprintf(p->where, sizeof p->where, "%s", where);
    note(NOTE_ERROR, "queue", "topic %s, partition %u stays closed: %s", p->topic->name,
         (unsigned)p->index, p->where);
}

int64_t partition_now_ms(const struct queue_partition *p)
{
    return queue_now_ms(p->q) + __atomic_load_n(&p->time_shift_ms, __ATOMIC_RELAXED);
}

int64_t partition_due_ms(const struct queue_partition *p, int64_t at_ms)
{
    if (at_ms == INT64_MIN || at_ms == INT64_MAX)
        return at_ms;
    return at_ms - __atomic_load_n(&p->time_shift_ms, __ATOMIC_RELAXED);
}

struct partition_view partition_view_locked(struct queue_partition *p,
                                            const struct topic_config *config)
{
    lock_check_held(&p->lk);
    return (struct partition_view){
        .now_ms = partition_now_ms(p),
        .now_wall_ms = clock_wall_ms(p->q->clock),
        .committed_number = plog_committed_number(p->log),
        .epoch = copy_epoch_locked(p),
        .fifo = p->topic->fifo,
        .retention_ms = config->retention_ms,
        .visibility_total_ms = LEASE_TOTAL_MS,
        .in_flight_max = p->q->in_flight_max,
    };
}

enum err partition_check_locked(struct queue_partition *p, size_t bytes)
{
    if (p->closed)
        return p->away ? ERR_NOT_LEADER : ERR_CLOSED;
    if (__atomic_load_n(&p->topic->dropped, __ATOMIC_ACQUIRE))
        return ERR_NOT_FOUND;
    if (__atomic_load_n(&p->topic->in_doubt, __ATOMIC_ACQUIRE))
        return ERR_FAILED;
    enum err e = plog_may_append(p->q->plog, bytes);
    return e == ERR_OK ? copy_may_append_locked(p) : e;
}

void append_begin_locked(struct appending *a, struct queue_partition *p, int64_t now_ms)
{
    lock_check_held(&p->lk);
    *a = (struct appending){.p = p, .now_ms = now_ms};
}

static void put(struct appending *a, const struct record *r)
{
    size_t hint = record_bytes_hint(r), all = PLOG_RECORD_FRAME_BYTES + hint;
    if (a->batch == NULL)
        a->batch = plog_batch_new(all > a->bytes_hint ? all : a->bytes_hint);
    record_encode(r, plog_batch_begin(a->batch, (uint8_t)r->type, hint));
    plog_batch_end(a->batch);
    struct queue_partition *p = a->p;
    uint64_t number = partition_next_number(p->state);
    struct partition_live before = account_now_locked(p);
    partition_apply(p->state, r);
    struct partition_live after = account_now_locked(p);
    uint64_t reserved = r->type == RECORD_MESSAGE ? a->reserved_bytes : 0;
    account_change(p->topic, after.messages - before.messages - (reserved > 0),
                   after.bytes - before.bytes - reserved);
    if (r->type == RECORD_MOVE) {
        a->moves = true;
        a->move_seq = r->move.seq;
    }
    if (r->type == RECORD_MESSAGE) {
        a->reserved_bytes = 0;
        if (limit_lets_go(&topic_settings_now(p->topic)->config))
            heads_note_locked(p, number, &r->message);
    }
    if (r->type != RECORD_MESSAGE || p->window == NULL || partition_window_end(p->window) != number)
        return;
    struct partition_header h = partition_header_of(number, &r->message);
    if (partition_window_put(p->window, &h))
        window_count_locked(p);
}

/* A broker that is alone leads from its first append on, so that idle partitions write nothing. */
void append_put_locked(struct appending *a, const struct record *r)
{
    struct queue_partition *p = a->p;
    lock_check_held(&p->lk);
    if (p->copy == NULL)
        copy_lead_alone_locked(p, a->now_ms);
    put(a, r);
}

void partition_alarm_locked(struct queue_partition *p, const struct partition_view *view)
{
    struct queue_waiters *ws = &p->topic->waiters;
    lock_check_held(&p->lk);
    if (__atomic_load_n(&ws->n, __ATOMIC_SEQ_CST) > 0)
        house_alarm(p->q, ws,
                    partition_due_ms(
                        p, partition_next_event_ms(p->state, view, window_locked(p), ws->gid)));
}

bool append_end_locked(struct appending *a, bool waited)
{
    struct queue_partition *p = a->p;
    lock_check_held(&p->lk);
    if (a->batch == NULL)
        return false;
    p->log_bytes += plog_batch_bytes(a->batch);
    snapshot_count(p->q, (int64_t)plog_batch_bytes(a->batch));
    __atomic_fetch_add(&p->q->unlooked_bytes, plog_batch_bytes(a->batch), __ATOMIC_RELAXED);
    plog_append(p->log, a->batch, copy_epoch_locked(p), a->now_ms, waited);
    a->batch = NULL;
    if (a->moves)
        move_appended_locked(p, a->move_seq);
    house_touch(p);
    CHECK(plog_end_number(p->log) == partition_next_number(p->state) || plog_failed(p->q->plog));
    if (__atomic_load_n(&p->topic->waiters.n, __ATOMIC_SEQ_CST) > 0) {
        struct partition_view view =
            partition_view_locked(p, &topic_settings_now(p->topic)->config);
        partition_alarm_locked(p, &view);
    }
    return true;
}

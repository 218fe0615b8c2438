// SPDX-License-Identifier: Apache-2.0
/* What a receipt does, and purge. */
#include <string.h>

#include "base/check.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

/* A receipt of another topic is garbage here if that topic lives; if it is gone, it may be the one
 * whose name t has now, and its receipts have no effect: a success in SQS, but whoever is strict
 * learns that nothing was finished. */
static enum err receipt_of(struct queue_topic *t, struct bytes text, bool strict,
                           struct receipt *out)
{
    enum err e = receipt_read(t->q, text, out);
    if (e != ERR_OK)
        return e;
    if (memcmp(out->topic.at, t->id.at, sizeof t->id.at) == 0)
        return out->partition < t->partitions_n ? ERR_OK : ERR_INVALID;
    struct queue_topic *other;
    if (topic_find_by_id(t->q, &out->topic, &other) != ERR_OK)
        return strict ? ERR_LEASE_EXPIRED : ERR_GONE;
    queue_topic_give_back(other);
    return ERR_INVALID;
}

static enum receipt_rule rule_of(const struct queue_topic *t, bool strict)
{
    return t->fifo || strict ? RECEIPT_CURRENT : RECEIPT_ANY;
}

/* One delete. */
struct finishing {
    enum receipt_rule rule;
    uint32_t bytes; /* of the message, once `asked`; 0: it cannot be read */
    bool asked;
    struct record_runs runs;
};

/* ERR_NEED: the message's size is wanted. It is known unless a crash lost the lease, or a version
 * that knew of no sizes gave it. */
static enum err finish_locked(struct queue_partition *p, const struct partition_receipt *lease,
                              struct finishing *f, struct queue_wait *w)
{
    struct record done;
    enum err e = partition_check_locked(p, 0);
    if (e != ERR_OK)
        return e;
    struct partition_view view = partition_view_locked(p, queue_topic_config(p->topic));
    e = partition_plan_done(p->state, &view, lease, f->rule, &done, &f->runs);
    if (e == ERR_OK && !f->asked && partition_size_missing(p->state, lease->number))
        return ERR_NEED;
    if (e == ERR_OK) {
        struct appending a;
        append_begin_locked(&a, p, view.now_ms);
        account_size_locked(&a, lease->number, f->bytes);
        append_put_locked(&a, &done);
        append_end_locked(&a, true);
    }
    wait_mark_locked(w, p);
    return e;
}

enum err queue_delete(struct queue_topic *t, struct bytes text, bool strict, struct queue_wait *w)
{
    struct receipt receipt;
    enum err e = topic_check(t);
    if (e == ERR_OK)
        e = receipt_of(t, text, strict, &receipt);
    if (e != ERR_OK)
        return e;
    struct queue_partition *p = &t->partitions[receipt.partition];
    struct finishing f = {.rule = rule_of(t, strict)};
    record_runs_init(&f.runs);
    lock_take(&p->lk);
    e = finish_locked(p, &receipt.lease, &f, w);
    lock_give(&p->lk);
    if (e == ERR_NEED) {
        f.bytes = account_size_read(p, receipt.lease.number);
        f.asked = true;
        lock_take(&p->lk);
        e = finish_locked(p, &receipt.lease, &f, w);
        lock_give(&p->lk);
    }
    record_runs_fini(&f.runs);
    if (e == ERR_OK)
        STAT_ADD(t->q, deleted, 1);
    return e;
}

enum err queue_extend(struct queue_topic *t, struct bytes text, int64_t visibility_ms, bool strict,
                      struct queue_wait *w)
{
    struct receipt receipt;
    enum err e = topic_check(t);
    if (e == ERR_OK)
        e = receipt_of(t, text, strict, &receipt);
    if (e != ERR_OK)
        return e;
    struct queue_partition *p = &t->partitions[receipt.partition];
    struct record extend;
    lock_take(&p->lk);
    e = partition_check_locked(p, 0);
    if (e == ERR_OK)
        e = copy_may_receive_locked(p);
    if (e == ERR_OK) {
        struct partition_view view = partition_view_locked(p, queue_topic_config(t));
        e = partition_plan_extend(p->state, &view, &receipt.lease, rule_of(t, strict),
                                  visibility_ms, &extend);
        if (e == ERR_OK) {
            struct appending a;
            append_begin_locked(&a, p, view.now_ms);
            append_put_locked(&a, &extend);
            append_end_locked(&a, true);
        }
        wait_mark_locked(w, p);
    }
    lock_give(&p->lk);
    return e;
}

/* Nobody waits for this; a crash that loses it means that the lease lasts until its deadline. Those
 * who poll are told at once all the same. */
void queue_give_back(struct queue_topic *t, const struct queue_received *received, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n && topic_check(t) == ERR_OK; i++) {
        struct receipt receipt;
        if (receipt_of(t, bytes_of_text(received[i].receipt), true, &receipt) != ERR_OK)
            continue;
        struct queue_partition *p = &t->partitions[receipt.partition];
        struct record extend;
        lock_take(&p->lk);
        if (partition_check_locked(p, 0) == ERR_OK) {
            struct partition_view view = partition_view_locked(p, queue_topic_config(t));
            if (partition_plan_give_back(p->state, &view, &receipt.lease, &extend) == ERR_OK) {
                struct appending a;
                append_begin_locked(&a, p, view.now_ms);
                append_put_locked(&a, &extend);
                any = append_end_locked(&a, false) || any;
            }
        }
        lock_give(&p->lk);
    }
    if (any)
        waiters_kick(&t->waiters);
}

/* The messages are counted under the lock under which they are finished. */
static enum err purge_partition(struct queue_partition *p, uint32_t gid, uint64_t *finished,
                                struct queue_wait *w)
{
    struct record purge;
    struct partition_counters counters = {0};
    lock_take(&p->lk);
    enum err e = partition_check_locked(p, 0);
    if (e == ERR_OK)
        e = partition_plan_purge(p->state, gid, true, &purge);
    if (e == ERR_OK) {
        struct partition_view view = partition_view_locked(p, queue_topic_config(p->topic));
        uint64_t none_delayed = partition_next_number(p->state);
        CHECK(partition_count(p->state, &view, gid, none_delayed, &counters) == ERR_OK);
        struct appending a;
        append_begin_locked(&a, p, view.now_ms);
        append_put_locked(&a, &purge);
        append_end_locked(&a, true);
        wait_mark_locked(w, p);
    }
    lock_give(&p->lk);
    *finished += counters.unfinished;
    return e;
}

enum err queue_purge_group(struct queue_topic *t, struct bytes group, uint64_t *finished,
                           struct queue_wait *w)
{
    const struct queue_waiters *ws = topic_waiters(t, group);
    enum err worst = topic_check(t);
    *finished = 0;
    if (worst == ERR_OK && ws == NULL)
        worst = topic_no_group(t);
    if (worst != ERR_OK)
        return worst;
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        enum err e = purge_partition(&t->partitions[i], ws->gid, finished, w);
        if (e != ERR_OK)
            worst = e;
    }
    return worst;
}

enum err queue_purge(struct queue_topic *t, struct queue_wait *w)
{
    uint64_t finished;
    return queue_purge_group(t, BYTES_NONE, &finished, w);
}

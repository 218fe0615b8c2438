// SPDX-License-Identifier: Apache-2.0
/* What a receipt does, and purge. */
#include <string.h>

#include "base/check.h"
#include "queue/copy_inside.h"
#include "queue/spread.h"
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

/* One delete of several. */
struct finishing {
    struct receipt receipt;
    uint32_t bytes; /* of the message, once `asked`; 0: it cannot be read */
    bool asked;
    enum err err; /* ERR_NEED: not settled yet */
};

/* ERR_NEED: the message's size is wanted. It is known unless a crash lost the lease, or a version
 * that knew of no sizes gave it. */
static enum err finish_one_locked(struct appending *a, const struct partition_view *view,
                                  const struct finishing *f, enum receipt_rule rule)
{
    struct record done;
    struct record_runs runs;
    const struct partition *state = a->p->state;
    record_runs_init(&runs);
    enum err e = partition_plan_done(state, view, &f->receipt.lease, rule, &done, &runs);
    if (e == ERR_OK && !f->asked && partition_size_missing(state, f->receipt.lease.number))
        e = ERR_NEED;
    if (e == ERR_OK) {
        account_size_locked(a, f->receipt.lease.number, f->bytes);
        append_put_locked(a, &done);
    }
    record_runs_fini(&runs);
    return e;
}

/* Those of one partition that are not settled, as one batch. */
static void finish_some(struct queue_partition *p, struct finishing *all, size_t n,
                        enum receipt_rule rule, struct queue_wait *w)
{
    struct partition_view view;
    struct appending a;
    lock_take(&p->lk);
    enum err e = partition_check_locked(p, 0);
    if (e == ERR_OK) {
        view = partition_view_locked(p, queue_topic_config(p->topic));
        append_begin_locked(&a, p, view.now_ms);
    }
    for (size_t i = 0; i < n; i++)
        if (all[i].err == ERR_NEED && all[i].receipt.partition == p->index)
            all[i].err = e != ERR_OK ? e : finish_one_locked(&a, &view, &all[i], rule);
    if (e == ERR_OK) {
        append_end_locked(&a, true);
        wait_mark_locked(w, p);
    }
    lock_give(&p->lk);
}

/* Partition by partition; then one by one those whose size had to be read first, without the lock.
 * It is known then, or known to be lost. */
static void finish_all(struct queue_topic *t, struct finishing *all, size_t n,
                       enum receipt_rule rule, struct queue_wait *w)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].err == ERR_NEED)
            finish_some(&t->partitions[all[i].receipt.partition], all, n, rule, w);
    for (size_t i = 0; i < n; i++) {
        if (all[i].err != ERR_NEED)
            continue;
        struct queue_partition *p = &t->partitions[all[i].receipt.partition];
        all[i].bytes = account_size_read(p, all[i].receipt.lease.number);
        all[i].asked = true;
        finish_some(p, &all[i], 1, rule, w);
    }
}

void queue_delete_many(struct queue_topic *t, const struct bytes *receipts, size_t n, bool strict,
                       enum err *errs, struct queue_wait *w)
{
    struct finishing all[QUEUE_BATCH_MAX];
    size_t deleted = 0;
    CHECK(n <= QUEUE_BATCH_MAX);
    enum err e = topic_check(t);
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct finishing){.err = e};
        if (e == ERR_OK)
            all[i].err = receipt_of(t, receipts[i], strict, &all[i].receipt);
        if (all[i].err == ERR_OK)
            all[i].err = ERR_NEED;
    }
    finish_all(t, all, n, rule_of(t, strict), w);
    for (size_t i = 0; i < n; i++) {
        errs[i] = all[i].err;
        deleted += errs[i] == ERR_OK;
    }
    if (deleted > 0)
        STAT_ADD(t->q, deleted, deleted);
}

enum err queue_delete(struct queue_topic *t, struct bytes text, bool strict, struct queue_wait *w)
{
    enum err e;
    queue_delete_many(t, &text, 1, strict, &e, w);
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

enum err queue_receipt_place(struct queue_topic *t, struct bytes text, bool strict,
                             uint32_t *partition)
{
    struct receipt receipt;
    enum err e = topic_check(t);
    if (e == ERR_OK)
        e = receipt_of(t, text, strict, &receipt);
    if (e == ERR_OK)
        *partition = receipt.partition;
    return e;
}

enum err queue_purge_place(struct queue_topic *t, struct bytes group, uint32_t partition,
                           uint64_t *finished, struct queue_wait *w)
{
    const struct queue_waiters *ws = topic_waiters(t, group);
    enum err e = topic_check(t);
    *finished = 0;
    if (e == ERR_OK && ws == NULL)
        e = topic_no_group(t);
    if (e == ERR_OK && !queue_copy_is_ours(t, partition))
        e = ERR_NOT_LEADER;
    return e == ERR_OK ? purge_partition(&t->partitions[partition], ws->gid, finished, w) : e;
}

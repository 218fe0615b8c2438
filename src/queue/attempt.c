// SPDX-License-Identifier: Apache-2.0
/* Receives of FIFO topics that may be tried again (SQS: ReceiveRequestAttemptId). When the answer
 * to one is lost, its messages are leased and their groups blocked; the same attempt id brings them
 * again, with the same receipts and a new visibility, for five minutes and as long as none of them
 * was deleted, changed or has expired.
 *
 * Attempts are kept in memory alone, at most ATTEMPTS_MAX in the broker, oldest out. One that is
 * forgotten costs what no attempt id costs: the messages come again when their leases end. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "queue/state.h"

enum { ATTEMPTS_MAX = 10000, ATTEMPT_MS = 5 * 60 * 1000, ATTEMPT_READ_AHEAD = 4096 };

struct attempt_key {
    struct uuid topic;
    struct id_hash id;
};

struct attempt {
    UT_hash_handle by_key;
    struct attempt *next; /* in the order in which they end */
    struct attempt_key key;
    int64_t end_ms;
    size_t n;
    struct attempt_message at[QUEUE_BATCH_MAX];
};

static struct attempt_key key_of(const struct queue_topic *t, struct bytes id)
{
    struct attempt_key key;
    memset(&key, 0, sizeof key);
    key.topic = t->id;
    key.id = secret_id_hash(t->q, BYTES_NONE, id);
    return key;
}

static void drop_first_locked(struct attempts *all)
{
    struct attempt *a = all->first;
    all->first = a->next;
    if (all->first == NULL)
        all->last = NULL;
    HASH_DELETE(by_key, all->by_key, a);
    mem_free(a);
}

void attempts_fini(struct queue *q)
{
    while (q->attempts.first != NULL)
        drop_first_locked(&q->attempts);
}

static struct attempt *find_locked(struct queue *q, const struct attempt_key *key)
{
    struct attempt *a = NULL;
    int64_t now_ms = queue_now_ms(q);
    lock_check_held(&q->topics_lk);
    while (q->attempts.first != NULL && q->attempts.first->end_ms <= now_ms)
        drop_first_locked(&q->attempts);
    HASH_FIND(by_key, q->attempts.by_key, key, sizeof *key, a);
    return a;
}

void attempt_note(struct queue_topic *t, struct bytes id, const struct attempt_message *messages,
                  size_t n)
{
    struct queue *q = t->q;
    struct attempt_key key = key_of(t, id);
    lock_take(&q->topics_lk);
    struct attempts *all = &q->attempts;
    struct attempt *a = find_locked(q, &key);
    if (a == NULL) {
        if (HASH_CNT(by_key, all->by_key) >= ATTEMPTS_MAX)
            drop_first_locked(all);
        a = mem_new(sizeof *a);
        a->key = key;
        a->end_ms = queue_now_ms(q) + ATTEMPT_MS;
        HASH_ADD(by_key, all->by_key, key, sizeof a->key, a);
        if (all->last == NULL)
            all->first = a;
        else
            all->last->next = a;
        all->last = a;
    }
    a->n = n;
    memcpy(a->at, messages, n * sizeof a->at[0]);
    lock_give(&q->topics_lk);
}

static size_t recall(struct queue_topic *t, struct bytes id,
                     struct attempt_message out[QUEUE_BATCH_MAX])
{
    struct attempt_key key = key_of(t, id);
    lock_take(&t->q->topics_lk);
    const struct attempt *a = find_locked(t->q, &key);
    size_t n = a == NULL ? 0 : a->n;
    if (n > 0)
        memcpy(out, a->at, n * sizeof out[0]);
    lock_give(&t->q->topics_lk);
    return n;
}

/* The lease is held as it was given. `*extend` would begin it anew: ERR_FULL, which is as good,
 * when it would then last too long. */
static enum err check_locked(struct queue_partition *p, const struct attempt_message *m,
                             int64_t visibility_ms, struct partition_look *look,
                             struct record *extend)
{
    enum err e = partition_check_locked(p, 0);
    if (e != ERR_OK)
        return e;
    struct partition_view view = partition_view_locked(p, queue_topic_config(p->topic));
    e = partition_look_one(p->state, &view, m->lease.gid, m->lease.number, look);
    if (e == ERR_OK && (look->state != PARTITION_LEASED || look->until_ms != m->until_ms))
        e = ERR_GONE;
    if (e == ERR_OK)
        e = partition_plan_extend(p->state, &view, &m->lease, RECEIPT_CURRENT, visibility_ms,
                                  extend);
    return e;
}

static bool all_are_held(struct queue_topic *t, const struct attempt_message *messages, size_t n,
                         int64_t visibility_ms)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && (e == ERR_OK || e == ERR_FULL); i++) {
        struct queue_partition *p = &t->partitions[messages[i].partition];
        struct partition_look look;
        struct record extend;
        lock_take(&p->lk);
        e = check_locked(p, &messages[i], visibility_ms, &look, &extend);
        lock_give(&p->lk);
    }
    return e == ERR_OK || e == ERR_FULL;
}

/* One message again. False: it has gone in between. */
static bool lease_again(struct queue_topic *t, struct attempt_message *m, int64_t visibility_ms,
                        struct queue_received *out, struct queue_wait *w)
{
    struct queue_partition *p = &t->partitions[m->partition];
    struct partition_look look;
    struct record extend;
    lock_take(&p->lk);
    enum err e = check_locked(p, m, visibility_ms, &look, &extend);
    if (e == ERR_OK) {
        struct appending a;
        append_begin_locked(&a, p, partition_now_ms(p));
        append_put_locked(&a, &extend);
        append_end_locked(&a, true);
        m->until_ms = extend.extend.until_ms;
    }
    wait_lease_locked(w, p, m->until_ms, visibility_ms);
    lock_give(&p->lk);
    if (e != ERR_OK && e != ERR_FULL)
        return false;
    out->receive_count += look.receive_count;
    out->first_received_wall_ms = look.first_received_wall_ms;
    out->partition = p->index;
    out->number = m->lease.number;
    struct receipt receipt = {.topic = t->id, .partition = p->index, .lease = m->lease};
    receipt_write(t->q, &receipt, out->receipt);
    return true;
}

bool attempt_again(struct queue_topic *t, const struct queue_receive *request,
                   int64_t visibility_ms, struct arena *arena,
                   struct queue_received out[QUEUE_BATCH_MAX], size_t *n, struct queue_wait *w)
{
    struct attempt_message messages[QUEUE_BATCH_MAX];
    size_t known = recall(t, request->attempt_id, messages), got = 0;
    size_t asked = known < request->max ? known : request->max;
    if (known == 0 || !all_are_held(t, messages, known, visibility_ms))
        return false;
    size_t i;
    for (i = 0; i < asked; i++) {
        struct record_message m;
        struct reader reader;
        reader_init(&reader);
        struct plog_log *log = t->partitions[messages[i].partition].log;
        enum err e = reader_get(&reader, log, messages[i].lease.number, ATTEMPT_READ_AHEAD, &m);
        if (e == ERR_OK) {
            message_copy_out(&m, arena, &out[got]);
            out[got].receive_count = m.receive_count;
            if (lease_again(t, &messages[i], visibility_ms, &out[got], w))
                messages[got++] = messages[i];
        }
        reader_fini(&reader);
        if (e != ERR_OK && e != ERR_GONE && e != ERR_NOT_FOUND)
            break; /* those behind one that cannot be read may be of its group */
    }
    size_t kept = got;
    for (; i < known; i++) /* for one that asks for more again */
        messages[kept++] = messages[i];
    if (got > 0)
        attempt_note(t, request->attempt_id, messages, kept);
    *n = got;
    return got > 0;
}

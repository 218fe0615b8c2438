// SPDX-License-Identifier: Apache-2.0
/* What a leader gives to its followers: answers, batches, snapshots; and what anybody may ask about
 * a copy. */
#include <string.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/note.h"
#include "queue/copy_inside.h"

/* A snapshot on its way: this, then the state.
 *
 *     magic 8 | crc32c 4 of all behind it | reserved 4 | epoch 8 | start 8 | start_number 8 |
 *     start_last_epoch 8 | snapshot_offset 8 */
enum { HEAD_BYTES = 56, HEAD_CRC_AT = 8, HEAD_CHECKED_AT = 12 };
static const char head_magic[9] = "LLCOPY01";

enum err queue_copy_fetch(struct queue *q, const struct queue_copy_id *of,
                          const struct replica_fetch *request, struct replica_answer *answer,
                          uint64_t *from, bool *has_batches, bool *may_park)
{
    struct queue_partition *p = copy_lend(q, of);
    struct replica_effects effects;
    struct copy_after after = {.reached = NULL};
    enum err e = ERR_NOT_FOUND;
    if (p == NULL)
        return e;
    struct replica_event event = {.type = REPLICA_EVENT_FETCH};
    event.fetch.request = *request;
    lock_take(&p->lk);
    if (p->copy != NULL && !p->closed) {
        copy_released_locked(p, &after); /* so that the answer tells where the log begins now */
        copy_step_locked(p, &event, NULL, &effects, &after);
        for (size_t i = 0; i < effects.n; i++) {
            const struct replica_effect *f = &effects.at[i];
            if (f->type != REPLICA_EFFECT_ANSWER)
                continue;
            e = ERR_OK;
            *answer = f->answer.answer;
            *from = f->answer.from;
            *may_park = f->answer.may_park;
            *has_batches = f->answer.answer.status == REPLICA_FETCH_OK &&
                           f->answer.from < plog_durable(p->log);
        }
    }
    lock_give(&p->lk);
    copy_after(p, &after);
    queue_topic_give_back(p->topic);
    return e;
}

static bool leads_in(struct queue_partition *p, uint64_t epoch)
{
    lock_take(&p->lk);
    bool leads = p->copy != NULL && !p->closed && p->copy->epoch == epoch && epoch != 0;
    lock_give(&p->lk);
    return leads;
}

void copy_rotten(struct queue_partition *p, uint64_t epoch)
{
    struct copy_after after = {.reached = NULL};
    struct replica_status s = {.isr_size = 0};
    lock_take(&p->lk);
    const struct queue_copy *c = p->copy;
    if (c != NULL && !p->closed && (epoch == 0 ? c->serves : c->epoch == epoch))
        replica_look(c->replica, &s);
    /* Where nobody else has what is lost, the rest is still served. */
    if (s.isr_size > 1)
        copy_rotten_locked(p, &after);
    lock_give(&p->lk);
    copy_after(p, &after);
}

/* Asked before, and after: what was read in between may be of a log that is being cut. */
enum err queue_copy_read(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                         uint64_t from, size_t bytes_max, struct buf *out)
{
    struct queue_partition *p = copy_lend(q, of);
    size_t before = out->n;
    if (p == NULL)
        return ERR_NOT_FOUND;
    enum err e = ERR_NOT_LEADER;
    if (leads_in(p, epoch))
        e = plog_raw_read(p->log, from, bytes_max, out);
    if ((e == ERR_OK || e == ERR_CORRUPT) && !leads_in(p, epoch))
        e = ERR_NOT_LEADER;
    if (e == ERR_CORRUPT) /* who follows would wait for ever, and another leader has it */
        copy_rotten(p, epoch);
    if (e != ERR_OK)
        out->n = before;
    queue_topic_give_back(p->topic);
    return e;
}

/* ---- snapshots ---- */

/* Where the log begins, as an offset and the number that belongs to it. */
static void read_start(struct queue_partition *p, uint64_t *start, uint64_t *number,
                       uint64_t *last_epoch)
{
    do {
        *start = plog_start_offset(p->log);
        *number = plog_start_number(p->log);
        lock_take(&p->lk);
        *last_epoch = plog_start_last_epoch(p->log);
        lock_give(&p->lk);
    } while (*start != plog_start_offset(p->log));
}

static enum err snapshot_read(struct queue_partition *p, uint64_t epoch, struct buf *out)
{
    uint64_t start, number, last_epoch, offset = 0;
    struct buf state = BUF_EMPTY;
    /* In this order: what a snapshot needs to go on from is never released after it was read. */
    read_start(p, &start, &number, &last_epoch);
    enum err e = plog_snapshot_read(p->log, &state, &offset);
    if (e == ERR_NOT_FOUND && start == 0)
        e = ERR_OK;
    if (e == ERR_OK) {
        size_t at = out->n;
        buf_put(out, head_magic, 8);
        buf_put_u32(out, 0);
        buf_put_u32(out, 0);
        buf_put_u64(out, epoch);
        buf_put_u64(out, start);
        buf_put_u64(out, number);
        buf_put_u64(out, last_epoch);
        buf_put_u64(out, offset);
        buf_put_bytes(out, buf_bytes(&state));
        uint8_t *head = (uint8_t *)out->at + at;
        le_store_u32(head + HEAD_CRC_AT,
                     crc32c(0, head + HEAD_CHECKED_AT, out->n - at - HEAD_CHECKED_AT));
    }
    buf_fini(&state);
    return e;
}

/* A leader that has just been elected may ask for the state too, one who follows it: snapshots are
 * of what is committed, so one is as good as another. */
static bool is_in(struct queue_partition *p, uint64_t epoch)
{
    struct replica_status s = {.role = REPLICA_ROLE_NONE};
    lock_take(&p->lk);
    if (p->copy != NULL && !p->closed && !p->copy->log_is_busy)
        replica_look(p->copy->replica, &s);
    lock_give(&p->lk);
    return s.role != REPLICA_ROLE_NONE && s.epoch == epoch && epoch != 0;
}

enum err queue_copy_snapshot_read(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                                  struct buf *out)
{
    struct queue_partition *p = copy_lend(q, of);
    if (p == NULL)
        return ERR_NOT_FOUND;
    enum err e = is_in(p, epoch) ? snapshot_read(p, epoch, out) : ERR_NOT_LEADER;
    queue_topic_give_back(p->topic);
    return e;
}

struct snapshot_head {
    uint64_t epoch, start, start_number, start_last_epoch, snapshot_offset;
    struct bytes state;
};

static bool head_read(struct bytes b, struct snapshot_head *h)
{
    const uint8_t *at = b.at;
    if (b.n < HEAD_BYTES || memcmp(at, head_magic, 8) != 0 ||
        le_load_u32(at + HEAD_CRC_AT) != crc32c(0, at + HEAD_CHECKED_AT, b.n - HEAD_CHECKED_AT))
        return false;
    *h = (struct snapshot_head){
        .epoch = le_load_u64(at + 16),
        .start = le_load_u64(at + 24),
        .start_number = le_load_u64(at + 32),
        .start_last_epoch = le_load_u64(at + 40),
        .snapshot_offset = le_load_u64(at + 48),
        .state = {at + HEAD_BYTES, b.n - HEAD_BYTES},
    };
    return h->snapshot_offset == 0 ? h->start == 0 : h->snapshot_offset >= h->start;
}

/* The log begins anew; only then the replica hears of it. */
static void begin_anew(struct queue_partition *p, bool is_good, const struct snapshot_head *h)
{
    struct replica_event e = {.type = REPLICA_EVENT_SNAPSHOT};
    struct replica_effects effects;
    struct copy_after after = {.reached = NULL};
    bool has_state = is_good && h->snapshot_offset > 0;
    if (is_good && plog_begin_anew(p->log, h->start, h->start_number, h->start_last_epoch,
                                   h->snapshot_offset, has_state ? h->state : BYTES_NONE) != ERR_OK)
        is_good = false;
    lock_take(&p->lk);
    if (is_good) {
        p->copy->start_told = h->start;
        copy_begin_state_locked(p);
        e.snapshot.start = h->start;
        e.snapshot.last_epoch = h->start_last_epoch;
    }
    e.snapshot.has_failed = !is_good;
    p->copy->log_is_busy = false;
    copy_step_locked(p, &e, NULL, &effects, &after);
    lock_give(&p->lk);
    copy_after(p, &after);
}

void queue_copy_snapshot_put(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                             struct bytes snapshot)
{
    struct queue_partition *p = copy_lend(q, of);
    struct snapshot_head h = {0};
    if (p == NULL)
        return;
    bool is_good = snapshot.n > 0 && head_read(snapshot, &h);
    lock_take(&p->lk);
    struct queue_copy *c = p->copy;
    bool is_awaited = c != NULL && !p->closed && epoch == c->snapshot_epoch;
    bool begins = is_awaited && c->wants_snapshot, is_state = is_awaited && c->wants_state;
    if (begins)
        c->wants_snapshot = false;
    if (is_state) {
        c->wants_state = false;
        if (is_good && h.snapshot_offset > 0) {
            buf_clear(&c->state);
            buf_put_bytes(&c->state, h.state);
            c->state_offset = h.snapshot_offset;
            copy_work_list_locked(p);
        }
    }
    lock_give(&p->lk);
    if (begins)
        begin_anew(p, is_good, &h);
    queue_topic_give_back(p->topic);
}

void copy_put_state(struct queue_partition *p)
{
    struct queue_copy *c = p->copy;
    struct buf state = BUF_EMPTY;
    lock_take(&p->lk);
    uint64_t offset = c->state_offset;
    bool is_due = c->state.n > 0 && plog_committed(p->log) >= offset && !c->log_is_busy;
    if (is_due) {
        state = c->state;
        c->state = (struct buf)BUF_EMPTY;
    }
    lock_give(&p->lk);
    if (!is_due)
        return;
    enum err e = ERR_OK;
    if (plog_snapshot_newest(p->log) < offset)
        e = plog_snapshot_write(p->log, offset, buf_bytes(&state));
    buf_fini(&state);
    lock_take(&p->lk);
    if (e != ERR_OK)
        note(NOTE_WARNING, "queue", "topic %s, partition %u: the leader's state cannot be kept: %s",
             p->topic->name, (unsigned)p->index, err_text(e));
    else if (!c->serves && c->folded < offset) {
        c->fold_life++;
        c->fold_fresh = c->to_fold = true;
    }
    lock_give(&p->lk);
}

/* ---- looking ---- */

enum err queue_copy_look(struct queue *q, const struct queue_copy_id *of,
                         struct replica_status *out)
{
    struct queue_partition *p = copy_lend(q, of);
    enum err e = ERR_NOT_FOUND;
    if (p == NULL)
        return e;
    lock_take(&p->lk);
    if (p->copy != NULL && !p->closed) {
        replica_look(p->copy->replica, out);
        e = ERR_OK;
    }
    lock_give(&p->lk);
    queue_topic_give_back(p->topic);
    return e;
}

uint32_t queue_copy_leader(struct queue_topic *t, uint32_t partition)
{
    const struct queue_partition *p = &t->partitions[partition];
    return __atomic_load_n(&p->leader, __ATOMIC_ACQUIRE);
}

bool queue_copy_is_ours(struct queue_topic *t, uint32_t partition)
{
    struct queue_partition *p = &t->partitions[partition];
    if (p->closed)
        return false;
    if (t->q->links == NULL)
        return true;
    if (!__atomic_load_n(&p->ours, __ATOMIC_ACQUIRE))
        return false;
    lock_take(&p->lk);
    bool ours = copy_may_receive_locked(p) == ERR_OK;
    lock_give(&p->lk);
    return ours;
}

enum err copy_check_leased(const struct queue_wait *w)
{
    struct queue_topic *t = w->leased;
    enum err e = ERR_OK;
    for (uint32_t i = 0; i < t->partitions_n && e == ERR_OK; i++) {
        if ((w->leased_partitions[i / 64] >> (i % 64) & 1) == 0)
            continue;
        struct queue_partition *p = &t->partitions[i];
        lock_take(&p->lk);
        e = p->closed ? ERR_NOT_LEADER : copy_may_receive_locked(p);
        lock_give(&p->lk);
    }
    return e;
}

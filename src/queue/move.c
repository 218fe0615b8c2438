// SPDX-License-Identifier: Apache-2.0
/* Dead letters. A receive appended MOVE at the source; once that is committed, the housekeeper
 * appends the message at the target under the move's key, waits for its commit there, and appends
 * MOVED at the source. Each step can be done again: the target knows the key, so a second append is
 * a duplicate, and the source knows which moves are open. So no step leaves anything to remember in
 * memory, and a start goes on where the last life ended. */
#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "queue/state.h"

enum { MOVES_AT_A_TIME = 64, MOVE_READ_AHEAD = 4096 };

enum step {
    STEP_APPENDED, /* to be asked again when the target has committed */
    STEP_CLOSE,
    STEP_CALL_OFF,
    STEP_LATER,
};

static void id_text(const struct uuid *id, char out[37])
{
    char hex[33];
    codec_hex_text((struct bytes){id->at, sizeof id->at}, hex);
    static const uint8_t cut[] = {0, 8, 12, 16, 20, 32};
    for (size_t i = 0; i + 1 < sizeof cut; i++) {
        memcpy(out, hex + cut[i], (size_t)(cut[i + 1] - cut[i]));
        out += cut[i + 1] - cut[i];
        *out++ = i + 2 < sizeof cut ? '-' : 0;
    }
}

static struct queue_partition *partition_at(struct queue_topic *target,
                                            const struct queue_partition *source, uint64_t seq,
                                            const struct record_message *m)
{
    uint64_t hash = le_load_u64(m->group_hash.at + 8);
    if (!target->fifo)
        hash = seq * UINT64_C(0x9e3779b97f4a7c15) + source->index;
    return &target->partitions[hash % target->partitions_n];
}

/* Appends the message at the target, unless it is there. STEP_CLOSE: it is committed there. */
static enum step append_at_target(struct queue_topic *target, struct queue_partition *to,
                                  struct record *r)
{
    enum step step = STEP_LATER;
    struct partition_duplicate there;
    lock_take(&to->lk);
    if (partition_check_locked(to, r->message.body.n + 1024) == ERR_OK) {
        struct partition_view view = partition_view_locked(to, queue_topic_config(target));
        if (target->fifo)
            r->message.accepted_ms = view.now_ms;
        r->message.due_ms = view.now_ms;
        enum err e = partition_plan_send(to->state, &view, &r->message, &there);
        if (e == ERR_OK) {
            struct appending a;
            append_begin_locked(&a, to, view.now_ms);
            append_put_locked(&a, r);
            append_end_locked(&a, true);
            step = STEP_APPENDED;
        } else if (e == ERR_DUPLICATE) {
            bool committed = there.number == UINT64_MAX || there.number < view.committed_number;
            step = committed ? STEP_CLOSE : STEP_APPENDED;
        }
    }
    lock_give(&to->lk);
    return step;
}

static enum step move_to(struct queue_topic *target, struct queue_partition *p,
                         const struct partition_move *move, uint64_t closed,
                         const struct record_message *m)
{
    char dedup[37];
    struct record r;
    memset(&r, 0, sizeof r);
    r.type = RECORD_MESSAGE;
    r.message = *m;
    r.message.receive_count = move->receive_count;
    r.message.delay_is_default = false;
    /* A move is known by its key alone; the id is there to be shown. */
    memset(&r.message.dedup_hash, 0, sizeof r.message.dedup_hash);
    r.message.dedup_until_ms = 0;
    if (target->fifo) {
        id_text(&m->id, dedup);
        r.message.dedup_id = bytes_of_text(dedup);
    }
    r.message.moved = true;
    r.message.origin = (struct record_origin){
        .topic = p->topic->id,
        .name = bytes_of_text(p->topic->name),
        .partition = p->index,
        .move_seq = move->seq,
        .moves_closed = closed,
    };
    return append_at_target(target, partition_at(target, p, move->seq, m), &r);
}

static enum step take_step(struct queue_partition *p, const struct partition_move *move,
                           uint64_t closed)
{
    struct queue_topic *target;
    if (topic_find_by_id(p->q, &move->target, &target) != ERR_OK)
        return STEP_CALL_OFF; /* its id is never used again, so nothing can arrive there */
    struct reader reader;
    struct record_message m;
    reader_init(&reader);
    enum step step = STEP_LATER;
    enum err e = reader_get(&reader, p->log, move->number, MOVE_READ_AHEAD, &m);
    if (e == ERR_OK)
        step = move_to(target, p, move, closed, &m);
    else if (e == ERR_GONE)
        step = STEP_CLOSE; /* purged or expired: there is nothing left to move */
    reader_fini(&reader);
    queue_topic_give_back(target);
    return step;
}

static void close_move(struct queue_partition *p, uint64_t seq, bool called_off)
{
    struct record moved;
    lock_take(&p->lk);
    if (partition_check_locked(p, 0) == ERR_OK &&
        partition_plan_moved(p->state, seq, called_off, &moved) == ERR_OK) {
        struct appending a;
        append_begin_locked(&a, p, queue_now_ms(p->q));
        append_put_locked(&a, &moved);
        append_end_locked(&a, true);
        if (!called_off)
            STAT_ADD(p->q, moves, 1);
    }
    lock_give(&p->lk);
}

/* ---- which moves are committed ---- */

/* A MOVE must be committed before its message is appended elsewhere: a crash could forget it, and
 * the message would be in both topics. New MOVEs may come in all the time, so one place in the log
 * is watched at a time; when it is committed, the newest place becomes the next one. */
void move_appended_locked(struct queue_partition *p, uint64_t seq)
{
    p->moves_newest = (struct move_place){seq + 1, plog_end(p->log)};
    if (p->moves_watched.offset == 0)
        p->moves_watched = p->moves_newest;
}

bool move_committed_locked(struct queue_partition *p)
{
    uint64_t before = p->moves_committed_end;
    if (p->moves_watched.offset == 0)
        return false;
    uint64_t durable = plog_durable(p->log);
    while (p->moves_watched.offset != 0 && durable >= p->moves_watched.offset) {
        p->moves_committed_end = p->moves_watched.seq_end;
        bool newer = p->moves_newest.offset > p->moves_watched.offset;
        p->moves_watched = newer ? p->moves_newest : (struct move_place){0, 0};
    }
    return p->moves_committed_end > before;
}

void move_call(struct queue_partition *p)
{
    __atomic_store_n(&p->moves_open, true, __ATOMIC_RELEASE);
    __atomic_store_n(&p->q->moves_open, true, __ATOMIC_RELEASE);
    house_call(p->q);
}

void move_recover(struct queue_partition *p)
{
    struct partition_move moves[MOVES_AT_A_TIME];
    size_t n;
    while ((n = partition_moves_open(p->state, p->moves_committed_end, moves, MOVES_AT_A_TIME)) > 0)
        p->moves_committed_end = moves[n - 1].seq + 1;
    if (p->moves_committed_end > 0)
        move_call(p);
}

static size_t committed_moves(struct queue_partition *p, uint64_t from,
                              struct partition_move *moves, uint64_t *closed)
{
    lock_take(&p->lk);
    move_committed_locked(p);
    size_t n = partition_moves_open(p->state, from, moves, MOVES_AT_A_TIME);
    while (n > 0 && moves[n - 1].seq >= p->moves_committed_end)
        n--;
    *closed = partition_moves_closed(p->state);
    lock_give(&p->lk);
    return n;
}

/* ---- driving ---- */

/* One step of each; answers whether some were appended, whose target must commit before the next.
 */
static bool drive_steps(struct queue_partition *p, const struct partition_move *moves, size_t n,
                        uint64_t closed, bool *later)
{
    bool appended = false;
    *later = false;
    for (size_t i = 0; i < n; i++) {
        enum step step = take_step(p, &moves[i], closed);
        if (step == STEP_CLOSE || step == STEP_CALL_OFF)
            close_move(p, moves[i].seq, step == STEP_CALL_OFF);
        appended = appended || step == STEP_APPENDED;
        *later = *later || step == STEP_LATER;
    }
    return appended;
}

static void wait_for_targets(struct queue_partition *p, const struct partition_move *moves,
                             size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct queue_topic *target;
        if (i > 0 && memcmp(&moves[i].target, &moves[i - 1].target, sizeof moves[i].target) == 0)
            continue;
        if (topic_find_by_id(p->q, &moves[i].target, &target) != ERR_OK)
            continue;
        /* When it fails, so has the data directory, and every later step will see it. */
        (void)!wait_for_topic(target);
        queue_topic_give_back(target);
    }
}

void move_drive(struct queue_partition *p)
{
    struct partition_move moves[MOVES_AT_A_TIME];
    uint64_t from = 0, closed;
    size_t n;
    bool any_later = false, later;
    while ((n = committed_moves(p, from, moves, &closed)) > 0 && !plog_failed(p->q->plog)) {
        if (drive_steps(p, moves, n, closed, &later)) {
            wait_for_targets(p, moves, n);
            drive_steps(p, moves, n, closed, &later);
        }
        any_later = any_later || later;
        from = moves[n - 1].seq + 1;
    }
    queue_commit_all(p->q);
    /* A target that is overloaded or closed is asked again at the housekeeper's next period. */
    if (any_later)
        __atomic_store_n(&p->moves_open, true, __ATOMIC_RELEASE);
}

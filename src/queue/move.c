// SPDX-License-Identifier: Apache-2.0
/* Dead letters and redrives. A receive, or a redrive, appended MOVE at the source; once that is
 * committed, the housekeeper appends the message at the target under the move's key, waits for its
 * commit there, and appends MOVED at the source. Each step can be done again: the target knows the
 * key, so a second append is a duplicate, and the source knows which moves are open. So no step
 * leaves anything to remember in memory, and a start goes on where the last life ended. */
#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "queue/state.h"

enum { MOVE_READ_AHEAD = 4096 };

enum step {
    STEP_APPENDED, /* to be asked again when the target has committed */
    STEP_CLOSE,    /* it has arrived */
    STEP_GONE,     /* purged or expired: there is nothing left to move */
    STEP_CALL_OFF,
    STEP_LATER,
};

/* The choice must be the same at each try, under whichever leader: it follows from what the MOVE
 * and the message say and from the number of the target's partitions, which never changes. */
static uint32_t place_of(const struct queue_topic *target, const struct queue_partition *source,
                         uint64_t seq, const struct record_message *m)
{
    uint64_t hash = le_load_u64(m->group_hash.at + 8);
    if (!target->fifo)
        hash = seq * UINT64_C(0x9e3779b97f4a7c15) + source->index;
    return (uint32_t)(hash % target->partitions_n);
}

static void make_record(struct queue_partition *p, const struct partition_move *move,
                        uint64_t floor, const struct record_message *m, struct record *r)
{
    memset(r, 0, sizeof *r);
    r->type = RECORD_MESSAGE;
    r->message = *m;
    r->message.receive_count = move->receive_count;
    r->message.due_ms = m->accepted_ms;
    r->message.delay_is_default = false;
    /* A move is known by its key alone; a FIFO topic shows the message's id as its dedup id. */
    r->message.dedup_id = BYTES_NONE;
    memset(&r->message.dedup_hash, 0, sizeof r->message.dedup_hash);
    r->message.dedup_until_ms = 0;
    memset(&r->message.repeat, 0, sizeof r->message.repeat); /* it was for this partition */
    r->message.moved = true;
    r->message.origin = (struct record_origin){
        .topic = p->topic->id,
        .name = bytes_of_text(p->topic->name),
        .partition = p->index,
        .move_seq = move->seq,
        .moves_closed = floor,
    };
}

/* Where the message shall go, with a reference. A dead letter goes to one topic by its id, which is
 * never used again. One that goes back to where it came from, goes to the topic that has the name
 * now, if that one was made anew. */
static enum move_ready find_target(struct queue_partition *p, const struct partition_move *move,
                                   const struct record_message *m, struct move_plan *plan)
{
    static const struct uuid none;
    struct queue_topic *t;
    plan->target_id = move->target;
    if (memcmp(&move->target, &none, sizeof none) != 0)
        return topic_find_by_id(p->q, &move->target, &plan->target) == ERR_OK ? MOVE_READY
                                                                              : MOVE_NO_TARGET;
    if (!m->moved || m->origin.name.n == 0)
        return MOVE_NO_SOURCE;
    plan->target_id = m->origin.topic;
    if (topic_find_by_id(p->q, &m->origin.topic, &plan->target) == ERR_OK)
        return MOVE_READY;
    plan->target_name = m->origin.name;
    if (queue_topic_find(p->q, m->origin.name, &t) != ERR_OK)
        return MOVE_NO_TARGET;
    if (t->fifo != p->topic->fifo || t->compact) {
        queue_topic_give_back(t);
        plan->target_name = BYTES_NONE;
        return MOVE_NO_TARGET;
    }
    plan->target = t;
    return MOVE_READY;
}

enum move_ready move_plan(struct queue_partition *p, const struct partition_move *move,
                          uint64_t floor, struct move_plan *plan)
{
    struct record_message m;
    memset(plan, 0, sizeof *plan);
    reader_init(&plan->reader);
    enum err e = reader_get(&plan->reader, p->log, move->number, MOVE_READ_AHEAD, &m);
    if (e != ERR_OK)
        return e == ERR_GONE ? MOVE_GONE : MOVE_LATER;
    plan->group_hash = m.group_hash;
    plan->was_read = true;
    enum move_ready ready = find_target(p, move, &m, plan);
    if (ready != MOVE_READY)
        return ready;
    plan->partition = place_of(plan->target, p, move->seq, &m);
    plan->age_ms = partition_now_ms(p) - m.accepted_ms;
    make_record(p, move, floor, &m, &plan->record);
    return MOVE_READY;
}

void move_plan_fini(struct move_plan *plan)
{
    if (plan->target != NULL)
        queue_topic_give_back(plan->target);
    reader_fini(&plan->reader);
}

static enum step step_at_target(struct move_plan *plan)
{
    struct queue_partition *to = &plan->target->partitions[plan->partition];
    enum step step = STEP_LATER;
    bool committed;
    lock_take(&to->lk);
    if (move_arrive_locked(to, plan->age_ms, &plan->record, &committed) == ERR_OK)
        step = committed ? STEP_CLOSE : STEP_APPENDED;
    lock_give(&to->lk);
    return step;
}

/* One step of one move. `*target`: the topic that must commit, when it says STEP_APPENDED. */
static enum step take_step(struct queue_partition *p, const struct partition_move *move,
                           uint64_t closed, struct uuid *target)
{
    struct move_plan plan;
    enum step step = STEP_LATER;
    switch (move_plan(p, move, closed, &plan)) {
    case MOVE_READY:
        step = step_at_target(&plan);
        *target = plan.target->id;
        break;
    case MOVE_GONE:
        step = STEP_GONE;
        break;
    case MOVE_NO_TARGET:
        step = STEP_CALL_OFF;
        if (partition_move_is_redrive(move))
            redrive_failed(p->topic, REDRIVE_NO_TARGET);
        break;
    case MOVE_NO_SOURCE:
        step = STEP_CALL_OFF;
        redrive_failed(p->topic, REDRIVE_NO_SOURCE);
        break;
    case MOVE_LATER:
        break;
    }
    move_plan_fini(&plan);
    return step;
}

enum err move_close(struct queue_partition *p, uint64_t seq, bool called_off)
{
    struct record moved;
    lock_take(&p->lk);
    enum err e = partition_check_locked(p, 0);
    if (e == ERR_OK)
        e = partition_plan_moved(p->state, seq, called_off, &moved);
    if (e == ERR_OK) {
        struct appending a;
        append_begin_locked(&a, p, partition_now_ms(p));
        append_put_locked(&a, &moved);
        append_end_locked(&a, true);
        p->closings.newest =
            (struct move_place){partition_moves_closed(p->state), plog_end(p->log)};
        if (p->closings.watched.offset == 0)
            p->closings.watched = p->closings.newest;
        if (!called_off)
            STAT_ADD(p->q, moves, 1);
    }
    lock_give(&p->lk);
    return e;
}

/* ---- which moves are committed ---- */

/* A MOVE must be committed before its message is appended elsewhere: a crash could forget it, and
 * the message would be in both topics. New MOVEs may come in all the time, so one place in the log
 * is watched at a time; when it is committed, the newest place becomes the next one. */
static void watch_locked(struct queue_partition *p, struct move_watch *w)
{
    uint64_t committed = w->watched.offset == 0 ? 0 : plog_committed(p->log);
    lock_check_held(&p->lk);
    while (w->watched.offset != 0 && committed >= w->watched.offset) {
        w->committed = w->watched.seq_end;
        bool newer = w->newest.offset > w->watched.offset;
        w->watched = newer ? w->newest : (struct move_place){0, 0};
    }
}

void move_appended_locked(struct queue_partition *p, uint64_t seq)
{
    p->moves.newest = (struct move_place){seq + 1, plog_end(p->log)};
    if (p->moves.watched.offset == 0)
        p->moves.watched = p->moves.newest;
}

bool move_committed_locked(struct queue_partition *p)
{
    uint64_t before = p->moves.committed;
    watch_locked(p, &p->moves);
    return p->moves.committed > before;
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
    while ((n = partition_moves_open(p->state, p->moves.committed, moves, MOVES_AT_A_TIME)) > 0)
        p->moves.committed = moves[n - 1].seq + 1;
    p->closings.committed = partition_moves_closed(p->state);
    if (p->moves.committed > 0)
        move_call(p);
}

/* What the target may forget: all below is closed, and that is committed. A leader that is none any
 * more knows only what was committed until then, so its floor can only be too low: no harm. */
static uint64_t floor_locked(struct queue_partition *p)
{
    lock_check_held(&p->lk);
    if (p->q->links == NULL)
        return partition_moves_closed(p->state); /* one journal keeps the order of both logs */
    watch_locked(p, &p->closings);
    return p->closings.committed;
}

size_t move_committed(struct queue_partition *p, uint64_t from, struct partition_move *moves,
                      uint64_t *floor)
{
    lock_take(&p->lk);
    move_committed_locked(p);
    size_t n = partition_moves_open(p->state, from, moves, MOVES_AT_A_TIME);
    while (n > 0 && moves[n - 1].seq >= p->moves.committed)
        n--;
    *floor = floor_locked(p);
    lock_give(&p->lk);
    return n;
}

/* ---- driving ---- */

/* The moves that are driven together. */
struct drive {
    struct queue_partition *p;
    struct partition_move moves[MOVES_AT_A_TIME];
    struct uuid targets[MOVES_AT_A_TIME]; /* of those that were appended; else zeros */
    size_t n;
    uint64_t closed;
};

/* One step of each. `*appended`: the target of some must commit before their next. `*later`: some
 * could not be taken. On FIFO topics those behind such a one wait as well, or they would overtake
 * it. */
static void drive_steps(struct drive *d, bool *appended, bool *later)
{
    struct queue_partition *p = d->p;
    *appended = *later = false;
    memset(d->targets, 0, sizeof d->targets);
    for (size_t i = 0; i < d->n && !(*later && p->topic->fifo); i++) {
        const struct partition_move *move = &d->moves[i];
        struct uuid target;
        enum step step = take_step(p, move, d->closed, &target);
        if (step == STEP_APPENDED)
            d->targets[i] = target;
        else if (step != STEP_LATER)
            (void)!move_close(p, move->seq, step == STEP_CALL_OFF); /* else it stays open */
        if (step == STEP_CLOSE && partition_move_is_redrive(move))
            redrive_arrived(p->topic);
        *appended = *appended || step == STEP_APPENDED;
        *later = *later || step == STEP_LATER;
    }
}

static void wait_for_targets(const struct drive *d)
{
    for (size_t i = 0; i < d->n; i++) {
        struct queue_topic *target;
        if (i > 0 && memcmp(&d->targets[i], &d->targets[i - 1], sizeof d->targets[i]) == 0)
            continue;
        if (topic_find_by_id(d->p->q, &d->targets[i], &target) != ERR_OK)
            continue;
        /* When it fails, so has the data directory, and every later step will see it. */
        (void)!wait_for_topic(target);
        queue_topic_give_back(target);
    }
}

static void drive_here(struct queue_partition *p)
{
    struct drive d = {.p = p};
    uint64_t from = 0;
    bool any_later = false, later, appended;
    while (!(any_later && p->topic->fifo) && !plog_failed(p->q->plog) &&
           (d.n = move_committed(p, from, d.moves, &d.closed)) > 0) {
        drive_steps(&d, &appended, &later);
        if (appended) {
            wait_for_targets(&d);
            /* What is appended only now needs another drive. */
            drive_steps(&d, &appended, &later);
            later = later || appended;
        }
        any_later = any_later || later;
        from = d.moves[d.n - 1].seq + 1;
    }
    queue_commit_all(p->q);
    /* A target that is overloaded or closed is asked again at the housekeeper's next period. */
    if (any_later) {
        __atomic_store_n(&p->moves_open, true, __ATOMIC_RELEASE);
        p->q->moves_later = true;
    }
}

void move_drive(struct queue_partition *p)
{
    if (p->q->links == NULL)
        drive_here(p);
    else if (!plog_failed(p->q->plog))
        trips_drive(p);
}

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

enum { MOVES_AT_A_TIME = 64, MOVE_READ_AHEAD = 4096 };

enum step {
    STEP_APPENDED, /* to be asked again when the target has committed */
    STEP_CLOSE,    /* it has arrived */
    STEP_GONE,     /* purged or expired: there is nothing left to move */
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

/* A redrive makes a new message of it (SQS developer guide, "dead-letter queue redrive"): with its
 * own id and time, no receives, and no word of where it was. */
static void make_new_locked(struct queue_partition *to, const struct partition_view *view,
                            struct record_message *m)
{
    m->id = message_id_new_locked(to);
    m->sent_wall_ms = view->now_wall_ms;
    m->accepted_ms = view->now_ms;
    m->origin.name = BYTES_NONE;
}

static void append_locked(struct queue_topic *target, struct queue_partition *to,
                          const struct partition_view *view, struct record *r)
{
    char dedup[37];
    if (target->fifo) {
        r->message.accepted_ms = view->now_ms;
        id_text(&r->message.id, dedup);
        r->message.dedup_id = bytes_of_text(dedup);
    }
    struct appending a;
    append_begin_locked(&a, to, view->now_ms);
    append_put_locked(&a, r);
    append_end_locked(&a, true);
}

/* Appends the message at the target, unless it is there. STEP_CLOSE: it is committed there. */
static enum step append_at_target(struct queue_topic *target, struct queue_partition *to,
                                  int64_t age_ms, bool redrive, struct record *r)
{
    enum step step = STEP_LATER;
    struct partition_duplicate there;
    lock_take(&to->lk);
    if (partition_check_locked(to, r->message.body.n + 1024) == ERR_OK) {
        struct partition_view view = partition_view_locked(to, queue_topic_config(target));
        r->message.due_ms = view.now_ms;
        r->message.accepted_ms = view.now_ms - age_ms; /* partitions have times of their own */
        enum err e = partition_plan_send(to->state, &view, &r->message, &there);
        if (e == ERR_OK) {
            if (redrive)
                make_new_locked(to, &view, &r->message);
            append_locked(target, to, &view, r);
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
    struct record r;
    memset(&r, 0, sizeof r);
    r.type = RECORD_MESSAGE;
    r.message = *m;
    r.message.receive_count = move->receive_count;
    r.message.delay_is_default = false;
    /* A move is known by its key alone; a FIFO topic shows the message's id as its dedup id. */
    r.message.dedup_id = BYTES_NONE;
    memset(&r.message.dedup_hash, 0, sizeof r.message.dedup_hash);
    r.message.dedup_until_ms = 0;
    r.message.moved = true;
    r.message.origin = (struct record_origin){
        .topic = p->topic->id,
        .name = bytes_of_text(p->topic->name),
        .partition = p->index,
        .move_seq = move->seq,
        .moves_closed = closed,
    };
    return append_at_target(target, partition_at(target, p, move->seq, m),
                            partition_now_ms(p) - m->accepted_ms, partition_move_is_redrive(move),
                            &r);
}

/* Where the message shall go, with a reference. A dead letter goes to one topic by its id, which is
 * never used again. One that goes back to where it came from, goes to the topic that has the name
 * now, if that one was made anew. */
static enum err find_target(struct queue_partition *p, const struct partition_move *move,
                            const struct record_message *m, struct queue_topic **out)
{
    static const struct uuid none;
    struct queue_topic *t;
    if (memcmp(&move->target, &none, sizeof none) != 0)
        return topic_find_by_id(p->q, &move->target, out);
    if (!m->moved || m->origin.name.n == 0)
        return ERR_INVALID;
    if (topic_find_by_id(p->q, &m->origin.topic, out) == ERR_OK)
        return ERR_OK;
    enum err e = queue_topic_find(p->q, m->origin.name, &t);
    if (e == ERR_OK && (t->fifo != p->topic->fifo || t->compact)) {
        queue_topic_give_back(t);
        e = ERR_NOT_FOUND;
    }
    if (e == ERR_OK)
        *out = t;
    return e;
}

/* In a cluster a topic may be there of which this broker has not heard yet: it has just begun to
 * lead the source, and a move that is called off may have arrived. So the catalogue is asked. */
static bool is_target_gone(const struct queue_partition *p, const struct partition_move *move,
                           const struct record_message *m)
{
    static const struct uuid none;
    char key[CATALOG_KEY_BYTES_MAX + 1], name[TOPIC_NAME_MAX + 1];
    struct catalog_kv kv = {0};
    if (p->q->links == NULL)
        return true;
    if (memcmp(&move->target, &none, sizeof none) != 0) {
        catalog_key_topic(key, move->target.at);
    } else {
        if (!m->moved || m->origin.name.n == 0 || m->origin.name.n > TOPIC_NAME_MAX)
            return true;
        memcpy(name, m->origin.name.at, m->origin.name.n);
        name[m->origin.name.n] = '\0';
        catalog_key_name(key, name);
    }
    enum err e = catalog_get(p->q->catalog, key, &kv);
    catalog_kv_fini(&kv);
    return e == ERR_NOT_FOUND;
}

/* One step of one move. `*target`: the topic that must commit, when it says STEP_APPENDED. */
static enum step take_step(struct queue_partition *p, const struct partition_move *move,
                           uint64_t closed, struct uuid *target)
{
    struct reader reader;
    struct record_message m;
    struct queue_topic *to;
    reader_init(&reader);
    enum step step = STEP_LATER;
    enum err e = reader_get(&reader, p->log, move->number, MOVE_READ_AHEAD, &m);
    if (e == ERR_GONE) {
        step = STEP_GONE;
    } else if (e == ERR_OK) {
        e = find_target(p, move, &m, &to);
        if (e == ERR_OK) {
            step = move_to(to, p, move, closed, &m);
            *target = to->id;
            queue_topic_give_back(to);
        } else if (is_target_gone(p, move, &m)) {
            step = STEP_CALL_OFF;
            if (partition_move_is_redrive(move))
                redrive_failed(p->topic, e == ERR_INVALID ? REDRIVE_NO_SOURCE : REDRIVE_NO_TARGET);
        }
    }
    reader_fini(&reader);
    return step;
}

static void close_move(struct queue_partition *p, uint64_t seq, bool called_off)
{
    struct record moved;
    lock_take(&p->lk);
    if (partition_check_locked(p, 0) == ERR_OK &&
        partition_plan_moved(p->state, seq, called_off, &moved) == ERR_OK) {
        struct appending a;
        append_begin_locked(&a, p, partition_now_ms(p));
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
    uint64_t committed = plog_committed(p->log);
    while (p->moves_watched.offset != 0 && committed >= p->moves_watched.offset) {
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
            close_move(p, move->seq, step == STEP_CALL_OFF);
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

void move_drive(struct queue_partition *p)
{
    struct drive d = {.p = p};
    uint64_t from = 0;
    bool any_later = false, later, appended;
    while (!(any_later && p->topic->fifo) && !plog_failed(p->q->plog) &&
           (d.n = committed_moves(p, from, d.moves, &d.closed)) > 0) {
        drive_steps(&d, &appended, &later);
        if (appended && p->q->links != NULL) {
            later = true; /* other brokers are not waited for here: asked again in a second */
        } else if (appended) {
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

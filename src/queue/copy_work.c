// SPDX-License-Identifier: Apache-2.0
/* What a copy needs that takes I/O, on a thread of its own: incarnations that are adopted, logs
 * that are cut or begun anew, and the fold of what is committed. Each is begun under the
 * partition's lock, done without it, and told to the replica under it again. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "queue/copy_inside.h"

enum {
    FOLD_READ_AHEAD_BYTES = 1 << 20,
    FOLD_RECORDS = 1000, /* under the lock at a time */
    FOLD_BYTES = 1 << 20,
    ASK_STATE_MS = 1000, /* between two questions for the state of another */
};

void copies_init(struct queue *q)
{
    lock_init(&q->copies.lk, LOCK_RANK_MAILBOX);
    lock_signal_init(&q->copies.changed);
    lock_signal_init(&q->copies.roles_changed);
}

void copies_fini(struct queue *q)
{
    mem_free(q->copies.sessions);
    lock_signal_fini(&q->copies.roles_changed);
    lock_signal_fini(&q->copies.changed);
    lock_fini(&q->copies.lk);
}

void copies_stop(struct queue_topic **topics, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < topics[i]->partitions_n; k++) {
            struct queue_partition *p = &topics[i]->partitions[k];
            lock_take(&p->lk);
            struct queue_mark *m = p->copy != NULL && !p->closed && !p->copy->alone
                                       ? wait_take_failed_locked(p, ERR_UNKNOWN)
                                       : NULL;
            lock_give(&p->lk);
            wait_tell(m);
        }
}

/* ---- the list ---- */

void copy_work_list_locked(struct queue_partition *p)
{
    struct queue_copies *all = &p->q->copies;
    lock_check_held(&p->lk);
    lock_take(&all->lk);
    if (!p->copy->is_listed) {
        p->copy->is_listed = true;
        p->copy->next_listed = NULL;
        if (all->last == NULL)
            all->first = p;
        else
            all->last->copy->next_listed = p;
        all->last = p;
        lock_signal_all(&all->changed);
    }
    lock_give(&all->lk);
}

static void take_out_locked(struct queue_copies *all, struct queue_partition *p)
{
    struct queue_partition *before = NULL;
    lock_check_held(&all->lk);
    for (struct queue_partition *at = all->first; at != p; at = at->copy->next_listed)
        before = at;
    if (before == NULL)
        all->first = p->copy->next_listed;
    else
        before->copy->next_listed = p->copy->next_listed;
    if (all->last == p)
        all->last = before;
    p->copy->is_listed = false;
}

void copy_work_forget(struct queue_partition *p)
{
    struct queue_copies *all = &p->q->copies;
    lock_take(&all->lk);
    if (p->copy->is_listed)
        take_out_locked(all, p);
    lock_give(&all->lk);
}

/* With a reference to its topic. A topic that nobody holds is about to be freed. */
static struct queue_partition *next_listed(struct queue *q)
{
    struct queue_copies *all = &q->copies;
    struct queue_partition *p;
    lock_take(&all->lk);
    while ((p = all->first) != NULL) {
        take_out_locked(all, p);
        if (topic_try_lend(p->topic))
            break;
    }
    lock_give(&all->lk);
    return p;
}

/* ---- the state ---- */

void copy_forget_state_locked(struct queue_partition *p)
{
    struct queue_copy *c = p->copy;
    struct partition_live live = account_now_locked(p);
    lock_check_held(&p->lk);
    account_change(p->topic, 0 - live.messages, 0 - live.bytes);
    p->head_number = 0;
    p->head_accepted_ms = INT64_MIN;
    heads_fini(&p->heads);
    memset(&p->heads, 0, sizeof p->heads);
    window_drop_locked(p);
    memset(&p->moves, 0, sizeof p->moves);
    memset(&p->closings, 0, sizeof p->closings);
    p->finished_number = p->finished_end = 0;
    c->fold_life++;
    /* All that was folded in is committed, or the state is not what the others will have. */
    if (plog_end(p->log) == plog_committed(p->log) && !c->log_is_busy && !c->fold_fresh) {
        c->folded = plog_end(p->log);
        return;
    }
    partition_free(p->state);
    p->state = partition_new();
    c->folded = 0;
    c->fold_fresh = c->to_fold = true;
    copy_work_list_locked(p);
}

static void group_create_locked(struct queue_partition *p, struct copy_after *after)
{
    struct partition_group_info group;
    if (p->topic->compact || partition_group_find(p->state, GID_DEFAULT, &group))
        return;
    struct record r = {.type = RECORD_GROUP};
    r.group = (struct record_group){
        .gid = GID_DEFAULT,
        .name = BYTES_OF("default"),
        .generation = GENERATION_FIRST,
    };
    struct appending a;
    append_begin_locked(&a, p, partition_now_ms(p));
    append_put_locked(&a, &r);
    append_end_locked(&a, true);
    after->commits = true;
}

void copy_serve_if_folded_locked(struct queue_partition *p, struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    lock_check_held(&p->lk);
    if (c->serves || !c->is_ready || c->fold_fresh || c->folded != plog_end(p->log) ||
        plog_failed(p->q->plog))
        return;
    CHECK(partition_next_number(p->state) == plog_end_number(p->log));
    struct partition_live live = account_now_locked(p);
    account_change(p->topic, live.messages, live.bytes);
    window_drop_locked(p); /* whoever looked in has filled it, but nobody has gone on with it */
    copy_set_serves_locked(p, true);
    after->serves = true;
    move_recover(p);
    group_create_locked(p, after);
}

/* What is read without the lock and folded in under it. */
struct piece {
    uint64_t from, end;
    unsigned life;
    struct buf payloads;
    uint8_t types[FOLD_RECORDS];
    size_t ends[FOLD_RECORDS]; /* in payloads */
    size_t n;
};

/* ERR_GONE: records are missing that the cleaner, here or at the leader, has dropped. */
static enum err read_piece(struct queue_partition *p, struct piece *piece)
{
    struct plog_cursor cursor;
    enum err e = plog_cursor_at_offset(p->log, piece->from, FOLD_READ_AHEAD_BYTES, &cursor);
    if (e != ERR_OK)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    uint64_t offset = piece->from;
    while (e == ERR_OK && offset < piece->end && piece->n < FOLD_RECORDS &&
           piece->payloads.n < FOLD_BYTES) {
        struct plog_entry entry;
        e = plog_cursor_next(&cursor, &entry);
        if (e == ERR_OK && entry.offset != offset)
            e = ERR_GONE;
        if (e != ERR_OK)
            break;
        piece->types[piece->n] = entry.type;
        buf_put_bytes(&piece->payloads, entry.payload);
        piece->ends[piece->n++] = piece->payloads.n;
        offset++;
    }
    plog_cursor_close(&cursor);
    return piece->n > 0 || e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err fold_piece_locked(struct queue_partition *p, const struct piece *piece)
{
    size_t from = 0;
    for (size_t i = 0; i < piece->n; i++) {
        struct record record;
        struct bytes payload = {(const uint8_t *)piece->payloads.at + from, piece->ends[i] - from};
        enum err e = record_decode(piece->types[i], payload, &record);
        if (e != ERR_OK)
            return e;
        partition_apply(p->state, &record);
        p->copy->folded++;
        from = piece->ends[i];
    }
    return ERR_OK;
}

/* ERR_NOT_FOUND: there is none here yet that could be used. */
static enum err load_state(struct queue_partition *p, uint64_t committed, struct partition **out,
                           uint64_t *offset)
{
    struct buf saved = BUF_EMPTY;
    enum err e = plog_snapshot_read_below(p->log, committed + 1, &saved, offset);
    if (e == ERR_OK)
        e = partition_load(buf_bytes(&saved), out);
    /* What a rotten snapshot told is in the log, where that still has its beginning. */
    if ((e == ERR_NOT_FOUND || e == ERR_CORRUPT) && plog_start_offset(p->log) == 0) {
        *out = partition_new();
        *offset = 0;
        e = ERR_OK;
    }
    buf_fini(&saved);
    return e;
}

/* Once, until the log has begun anew: told twice, it would begin twice. */
static void note_rotten_locked(struct queue_partition *p)
{
    p->copy->is_rotten = true;
    note(NOTE_ERROR, "queue", "topic %s, partition %u: its copy is rotten, and is made anew",
         p->topic->name, (unsigned)p->index);
}

void copy_rotten_locked(struct queue_partition *p, struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    struct replica_effects effects;
    lock_check_held(&p->lk);
    if (c == NULL || c->alone || c->is_rotten || c->log_is_busy || plog_failed(p->q->plog))
        return;
    note_rotten_locked(p);
    struct replica_event damage = {.type = REPLICA_EVENT_DAMAGE};
    copy_step_locked(p, &damage, NULL, &effects, after);
}

/* The newest snapshot takes the place of the state. */
static enum err begin_state(struct queue_partition *p, unsigned life, uint64_t committed)
{
    struct partition *state = NULL;
    struct copy_after after = {.reached = NULL};
    uint64_t offset;
    enum err e = load_state(p, committed, &state, &offset);
    lock_take(&p->lk);
    struct queue_copy *c = p->copy;
    bool is_valid = c->fold_life == life && !c->serves;
    if (is_valid && e == ERR_CORRUPT)
        copy_rotten_locked(p, &after);
    if (is_valid && e == ERR_OK) {
        partition_free(p->state);
        p->state = state;
        state = NULL;
        c->folded = offset;
        c->fold_fresh = c->has_gap = false;
    }
    lock_give(&p->lk);
    copy_after(p, &after);
    partition_free(state);
    return e;
}

bool copy_state_is_due_locked(const struct queue_partition *p)
{
    const struct queue_copy *c = p->copy;
    return c->has_gap && !c->serves && clock_boot_ms(p->q->clock) >= c->ask_state_ms;
}

/* Whom a leader asks that was elected before it had the state: the others in turn, since one of
 * them may stand before the same gap. 0: there are no others. */
static uint32_t next_member_locked(struct queue_partition *p)
{
    struct queue_copy *c = p->copy;
    uint32_t own = p->q->links->broker;
    for (uint32_t i = 0; i < c->members_n; i++) {
        uint32_t member = c->members[c->states_asked++ % c->members_n];
        if (member != own)
            return member;
    }
    return 0;
}

/* The newest state of another is asked for, which takes the place of what cannot be folded here:
 * the leader's, or where this is the leader, another member's. Each holds what is committed. */
static void want_state_locked(struct queue_partition *p)
{
    struct queue_copy *c = p->copy;
    struct replica_status s;
    replica_look(c->replica, &s);
    c->has_gap = true;
    bool is_asked = c->wants_state && c->snapshot_epoch == s.epoch;
    if (c->wants_snapshot || is_asked || s.role == REPLICA_ROLE_NONE ||
        !copy_state_is_due_locked(p))
        return;
    uint32_t from = s.role == REPLICA_ROLE_LEADER ? next_member_locked(p) : s.leader;
    c->ask_state_ms = clock_boot_ms(p->q->clock) + ASK_STATE_MS;
    if (from == 0)
        return;
    c->wants_state = true;
    c->snapshot_epoch = s.epoch;
    struct queue_copy_id id = copy_id(p);
    p->q->links->snapshot(p->q->links->self, &id, from, s.epoch);
}

/* True: there may be more. */
static bool end_piece(struct queue_partition *p, const struct piece *piece, enum err e)
{
    struct queue_copy *c = p->copy;
    struct copy_after after = {.reached = NULL};
    bool more = false;
    lock_take(&p->lk);
    bool is_valid = c->fold_life == piece->life && !c->serves && !c->fold_fresh && !c->log_is_busy;
    if (is_valid && e == ERR_OK && c->folded == piece->from)
        e = fold_piece_locked(p, piece);
    if (is_valid && e == ERR_OK) {
        more = piece->n > 0 && c->folded < plog_committed(p->log);
        copy_serve_if_folded_locked(p, &after);
    } else if (is_valid && e == ERR_GONE) {
        want_state_locked(p);
    } else if (is_valid && e == ERR_CORRUPT) {
        copy_rotten_locked(p, &after);
    } else if (is_valid) {
        note(NOTE_WARNING, "queue", "topic %s, partition %u: its copy cannot be folded: %s",
             p->topic->name, (unsigned)p->index, err_text(e));
    }
    lock_give(&p->lk);
    copy_after(p, &after);
    return more;
}

static bool read_on(struct queue_partition *p, struct piece *piece)
{
    return end_piece(p, piece, piece->from < piece->end ? read_piece(p, piece) : ERR_OK);
}

/* One piece. True: there is more to fold. */
static bool fold_on(struct queue_partition *p)
{
    struct queue_copy *c = p->copy;
    lock_take(&p->lk);
    bool wanted = c->to_fold && !c->serves && !c->log_is_busy;
    bool fresh = c->fold_fresh;
    uint64_t committed = plog_committed(p->log);
    struct piece *piece = mem_new(sizeof *piece);
    piece->from = c->folded;
    piece->end = committed;
    piece->life = c->fold_life;
    lock_give(&p->lk);
    bool more = false;
    if (wanted && fresh)
        more = begin_state(p, piece->life, committed) == ERR_OK;
    else if (wanted)
        more = read_on(p, piece);
    buf_fini(&piece->payloads);
    mem_free(piece);
    if (!more) {
        lock_take(&p->lk);
        /* The mark may have moved meanwhile, which has listed p again. */
        c->to_fold = c->folded < plog_committed(p->log) && !c->serves;
        lock_give(&p->lk);
    }
    return more;
}

/* ---- the log ---- */

void copy_begin_state_locked(struct queue_partition *p)
{
    struct queue_copy *c = p->copy;
    lock_check_held(&p->lk);
    CHECK(!c->serves);
    partition_free(p->state);
    p->state = partition_new();
    c->fold_life++;
    c->folded = 0;
    c->is_rotten = false;
    c->fold_fresh = c->to_fold = true;
    snapshot_count(p->q, -(int64_t)p->log_bytes);
    p->log_bytes = p->snapshot_bytes = 0;
    /* A damaged log had no owner yet who could say. */
    plog_commit_by_owner(p->log, plog_start_offset(p->log));
    copy_work_list_locked(p);
}

static void step(struct queue_partition *p, struct replica_event *e)
{
    struct replica_effects effects;
    struct copy_after after = {.reached = NULL};
    lock_take(&p->lk);
    p->copy->log_is_busy = p->copy->log_is_busy && e->type == REPLICA_EVENT_DISK_FAILED;
    copy_step_locked(p, e, NULL, &effects, &after);
    lock_give(&p->lk);
    copy_after(p, &after);
}

static void fail(struct queue_partition *p, const char *what, enum err e)
{
    struct replica_event failed = {.type = REPLICA_EVENT_DISK_FAILED};
    note(NOTE_ERROR, "queue", "topic %s, partition %u: its copy could not be %s: %s",
         p->topic->name, (unsigned)p->index, what, err_text(e));
    step(p, &failed);
}

static void adopt(struct queue_partition *p, uint64_t incarnation)
{
    struct queue_copy *c = p->copy;
    enum err e = plog_adopt(p->log, incarnation);
    if (e != ERR_OK) {
        fail(p, "given another incarnation", e);
        return;
    }
    lock_take(&p->lk);
    c->to_adopt = c->adopted != incarnation; /* another was drawn meanwhile, and p is listed */
    if (c->swap_waits && !c->to_adopt) {
        struct queue_copy_id id = copy_id(p);
        c->swap_waits = false;
        p->q->links->swap(p->q->links->self, &id, &c->swap);
    }
    lock_give(&p->lk);
}

static void cut(struct queue_partition *p, uint64_t end)
{
    enum err e = plog_truncate(p->log, end);
    if (e != ERR_OK && e != ERR_CORRUPT) {
        fail(p, "cut", e);
        return;
    }
    struct replica_event cut = {.type = REPLICA_EVENT_TRUNCATED};
    cut.truncated.end = end;
    cut.truncated.is_damaged = e == ERR_CORRUPT;
    if (e == ERR_CORRUPT) { /* others hold what is committed */
        lock_take(&p->lk);
        note_rotten_locked(p);
        lock_give(&p->lk);
    }
    step(p, &cut);
}

static void discard(struct queue_partition *p)
{
    enum err e = plog_begin_anew(p->log, 0, 0, 0, 0, BYTES_NONE);
    if (e != ERR_OK) {
        fail(p, "begun anew", e);
        return;
    }
    struct replica_event discarded = {.type = REPLICA_EVENT_DISCARDED};
    lock_take(&p->lk);
    p->copy->start_told = 0;
    copy_begin_state_locked(p);
    lock_give(&p->lk);
    step(p, &discarded);
}

static void work(struct queue_partition *p)
{
    struct queue_copy *c = p->copy;
    lock_take(&p->lk);
    bool adopts = c->to_adopt, cuts = c->to_cut, discards = c->to_discard;
    uint64_t end = c->cut_end, adopted = c->adopted;
    c->to_cut = c->to_discard = false;
    lock_give(&p->lk);
    if (plog_failed(p->q->plog))
        return;
    if (adopts)
        adopt(p, adopted);
    if (cuts)
        cut(p, end);
    if (discards)
        discard(p);
    copy_put_state(p);
    while (fold_on(p))
        continue;
}

bool queue_copy_work(struct queue *q)
{
    struct queue_partition *p = next_listed(q);
    lock_check_none_held();
    if (p == NULL)
        return false;
    work(p);
    queue_topic_give_back(p->topic);
    return true;
}

void copy_work_run(struct queue *q)
{
    struct queue_copies *all = &q->copies;
    while (!__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE)) {
        if (queue_copy_work(q))
            continue;
        lock_take(&all->lk);
        if (all->first == NULL && !__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE))
            lock_signal_wait(&all->changed, &all->lk, -1);
        lock_give(&all->lk);
    }
}

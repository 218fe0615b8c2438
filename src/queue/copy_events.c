// SPDX-License-Identifier: Apache-2.0
/* What the cluster tells: keys, outcomes of swaps, sessions, time, answers of leaders. Each is
 * handed to the replica of the partition that it is about. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "queue/copy_inside.h"

enum {
    /* A request waits no longer to be committed: longer than it takes until a member that fetches
     * nothing has left the in-sync set (replica_config.lag_max_ms, a tick, a write to the
     * catalogue), and shorter than a front waits for its hops. */
    COMMIT_MAX_MS = 7000,
    BATCHES_FEW = 64,
};

struct queue_session {
    uint32_t broker;
    bool is_live, is_draining;
};

struct queue_partition *copy_lend(struct queue *q, const struct queue_copy_id *of)
{
    struct queue_topic *t;
    struct uuid id;
    memcpy(id.at, of->topic, sizeof id.at);
    if (topic_find_by_id(q, &id, &t) != ERR_OK)
        return NULL;
    if (of->partition < t->partitions_n)
        return &t->partitions[of->partition];
    queue_topic_give_back(t);
    return NULL;
}

/* One event for a partition that is lent, if it has a copy here. */
static void tell(struct queue_partition *p, struct replica_event *e)
{
    struct replica_effects effects;
    struct copy_after after = {.reached = NULL};
    lock_take(&p->lk);
    if (p->copy != NULL && !p->closed)
        copy_step_locked(p, e, NULL, &effects, &after);
    lock_give(&p->lk);
    copy_after(p, &after);
}

/* ---- who leads ---- */

void copy_tell_roles(struct queue *q)
{
    lock_take(&q->copies.lk);
    q->copies.roles++;
    lock_signal_all(&q->copies.roles_changed);
    lock_give(&q->copies.lk);
}

static void note_members_locked(struct queue_copy *c, const struct replica_key *key)
{
    c->members_n = (uint32_t)key->members_n;
    for (uint32_t i = 0; i < c->members_n; i++)
        c->members[i] = key->members[i].broker;
}

void copy_key(struct queue_partition *p, const struct replica_key *key, uint64_t serial)
{
    struct replica_effects effects;
    struct copy_after after = {.reached = NULL};
    lock_take(&p->lk);
    if (key->version > p->key_version) {
        p->key_version = key->version;
        __atomic_store_n(&p->leader, key->leader, __ATOMIC_RELEASE);
    }
    if (p->copy != NULL && !p->closed) {
        struct replica_event e = {.type = REPLICA_EVENT_KEY};
        if (key->version == p->key_version)
            note_members_locked(p->copy, key);
        e.key.value = *key;
        e.key.serial = serial;
        copy_step_locked(p, &e, NULL, &effects, &after);
        copy_tell_sessions_locked(p, &after); /* it may have a new member */
    }
    lock_give(&p->lk);
    copy_after(p, &after);
    copy_tell_roles(p->q);
}

void queue_copy_key(struct queue *q, const struct queue_copy_id *of, const struct replica_key *key,
                    uint64_t serial)
{
    struct queue_partition *p = copy_lend(q, of);
    if (p == NULL)
        return;
    copy_attach(p, key);
    copy_key(p, key, serial);
    queue_topic_give_back(p->topic);
}

void queue_copy_swapped(struct queue *q, const struct queue_copy_id *of, uint64_t op,
                        enum replica_swap_outcome outcome, int64_t version)
{
    struct queue_partition *p = copy_lend(q, of);
    if (p == NULL)
        return;
    struct replica_event e = {.type = REPLICA_EVENT_SWAP};
    e.swap.op = op;
    e.swap.outcome = outcome;
    e.swap.version = version;
    tell(p, &e);
    queue_topic_give_back(p->topic);
}

/* ---- sessions ---- */

static struct queue_session *find_session_locked(struct queue_copies *all, uint32_t broker)
{
    for (size_t i = 0; i < all->sessions_n; i++)
        if (all->sessions[i].broker == broker)
            return &all->sessions[i];
    return NULL;
}

void copy_tell_sessions_locked(struct queue_partition *p, struct copy_after *after)
{
    struct queue_copies *all = &p->q->copies;
    struct replica_effects effects;
    lock_take(&all->lk);
    size_t n = all->sessions_n;
    struct queue_session *sessions = mem_new_array(n + 1, sizeof sessions[0]);
    if (n > 0)
        memcpy(sessions, all->sessions, n * sizeof sessions[0]);
    lock_give(&all->lk);
    for (size_t i = 0; i < n; i++) {
        struct replica_event e = {.type = REPLICA_EVENT_SESSION};
        e.session.broker = sessions[i].broker;
        e.session.is_live = sessions[i].is_live;
        e.session.is_draining = sessions[i].is_draining;
        copy_step_locked(p, &e, NULL, &effects, after);
    }
    mem_free(sessions);
}

void copy_tell_sessions(struct queue_partition *p)
{
    struct copy_after after = {.reached = NULL};
    lock_take(&p->lk);
    copy_tell_sessions_locked(p, &after);
    lock_give(&p->lk);
    copy_after(p, &after);
}

static void each_copy(struct queue *q, void (*each)(struct queue_partition *p, void *arg),
                      void *arg)
{
    size_t n;
    struct queue_topic **topics = topics_lend(q, &n);
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < topics[i]->partitions_n; k++)
            each(&topics[i]->partitions[k], arg);
    topics_give_back(topics, n);
}

static void tell_each(struct queue_partition *p, void *event)
{
    tell(p, event);
}

void queue_copy_session(struct queue *q, uint32_t broker, bool is_live, bool is_draining)
{
    struct queue_copies *all = &q->copies;
    lock_take(&all->lk);
    struct queue_session *s = find_session_locked(all, broker);
    if (s == NULL) {
        all->sessions = mem_resize(all->sessions, (all->sessions_n + 1) * sizeof all->sessions[0]);
        s = &all->sessions[all->sessions_n++];
    }
    *s = (struct queue_session){broker, is_live, is_draining};
    lock_give(&all->lk);
    struct replica_event e = {.type = REPLICA_EVENT_SESSION};
    e.session.broker = broker;
    e.session.is_live = is_live;
    e.session.is_draining = is_draining;
    each_copy(q, tell_each, &e);
}

/* ---- time ---- */

static void tick(struct queue_partition *p, void *arg)
{
    struct replica_event e = {.type = REPLICA_EVENT_TICK};
    struct replica_effects effects;
    struct copy_after after = {.reached = NULL};
    (void)arg;
    lock_take(&p->lk);
    if (p->copy != NULL && !p->closed) {
        copy_step_locked(p, &e, NULL, &effects, &after);
        struct queue_mark **last = &after.reached;
        while (*last != NULL)
            last = &(*last)->next;
        *last = wait_take_overdue_locked(p, queue_now_ms(p->q) - COMMIT_MAX_MS);
        if (p->copy->state.n > 0 || copy_state_is_due_locked(p))
            copy_work_list_locked(p);
    }
    lock_give(&p->lk);
    copy_after(p, &after);
}

void queue_copy_tick(struct queue *q)
{
    each_copy(q, tick, NULL);
}

/* ---- a leader's answer ---- */

struct batches {
    struct plog_raw few[BATCHES_FEW], *at; /* at: few, or owned */
    struct replica_batch *heads;           /* owned */
    size_t n, room;
};

/* As many as are whole and sound; behind one that is not, nothing can be trusted. */
static void read_batches(struct bytes bytes, struct batches *b)
{
    struct plog_raw raw;
    b->at = b->few;
    b->room = BATCHES_FEW;
    while (plog_raw_next(&bytes, &raw) == ERR_OK) {
        if (b->n == b->room) {
            struct plog_raw *more = mem_new_array(2 * b->room, sizeof more[0]);
            memcpy(more, b->at, b->n * sizeof more[0]);
            if (b->at != b->few)
                mem_free(b->at);
            b->at = more;
            b->room *= 2;
        }
        b->at[b->n++] = raw;
    }
    b->heads = mem_new_array(b->n + 1, sizeof b->heads[0]);
    for (size_t i = 0; i < b->n; i++)
        b->heads[i] = (struct replica_batch){
            .base = b->at[i].base_offset, .end = b->at[i].end_offset, .epoch = b->at[i].epoch};
}

void queue_copy_answer(struct queue *q, const struct queue_copy_id *of, uint32_t leader,
                       const struct replica_answer *answer, struct bytes bytes)
{
    struct queue_partition *p = copy_lend(q, of);
    if (p == NULL)
        return;
    struct batches *b = mem_new(sizeof *b);
    struct replica_effects effects;
    struct copy_after after = {.reached = NULL};
    read_batches(bytes, b);
    struct replica_event e = {.type = REPLICA_EVENT_ANSWER};
    e.answer.broker = leader;
    e.answer.answer = *answer;
    e.answer.batches = b->heads;
    e.answer.batches_n = b->n;
    lock_take(&p->lk);
    if (p->copy != NULL && !p->closed)
        copy_step_locked(p, &e, b->at, &effects, &after);
    lock_give(&p->lk);
    copy_after(p, &after);
    if (b->at != b->few)
        mem_free(b->at);
    mem_free(b->heads);
    mem_free(b);
    queue_topic_give_back(p->topic);
}

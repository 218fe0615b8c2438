// SPDX-License-Identifier: Apache-2.0
/* Moves of a partition that has copies on other brokers. The target may be led elsewhere, and even
 * where it is led here its commit needs others, so nobody waits in place: each move that was begun
 * is a trip, which is told its outcome from another thread; the housekeeper then appends MOVED, or
 * rests the trip and tries again.
 *
 * Trips are those of the first 64 moves that are open and committed. They are memory only: what a
 * broker forgets its successor begins anew, and the target knows the move by its key. A trip's seq
 * names one move for ever, because it was committed before the trip began; so an answer holds
 * whenever it comes, also after this broker has lost its office and won it again. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

enum {
    TRIPS_BYTES_MAX = 4 << 20, /* under way of one partition, beyond the first */
    AGAIN_MS_MIN = 100,        /* doubled with each failure in a row ... */
    AGAIN_MS_MAX = 1600,
    HINTS_MAX = 3, /* ... but at once, so often, where the answer says who leads */
};

enum trip_state { TRIP_RESTS, TRIP_UNDER_WAY, TRIP_TOLD };

struct trip {
    struct queue_partition *p;
    struct partition_move move;
    bool knows_group;
    struct id_hash group_hash; /* on FIFO: those of one group go one after the other */
    bool is_wanted;            /* its move is still open */
    size_t bytes;              /* under way */
    unsigned tries;
    int64_t again_ms; /* TRIP_RESTS: not before; the queue's time */
    uint32_t hint;    /* who leads, as the last answer said; 0: it did not */
    uint32_t asked;

    /* guarded by p->lk */
    enum trip_state state;
    enum err err; /* ERR_OK: it has arrived; ERR_GONE: there is no such topic, and never will be */
    uint32_t leader;

    /* where the target is led here */
    struct queue_topic *target;
    struct queue_wait wait;
    /* where the target is not known */
    struct queue_job job;
    struct uuid target_id;
    char target_name[TOPIC_NAME_MAX + 1]; /* "": no name was looked for */
};

struct move_trips {
    struct trip *at[MOVES_AT_A_TIME]; /* seq rises */
    size_t n;
    size_t bytes;
};

void trips_free(struct queue_partition *p)
{
    for (size_t i = 0; p->trips != NULL && i < p->trips->n; i++)
        mem_free(p->trips->at[i]);
    mem_free(p->trips);
    p->trips = NULL;
}

static void drop(struct move_trips *all, size_t i)
{
    mem_free(all->at[i]);
    all->n--;
    memmove(&all->at[i], &all->at[i + 1], (all->n - i) * sizeof(struct trip *));
}

static enum trip_state state_of(struct trip *t)
{
    lock_take(&t->p->lk);
    enum trip_state state = t->state;
    lock_give(&t->p->lk);
    return state;
}

/* ---- under way ---- */

/* The topic is held meanwhile, so that the partition is there to be told. */
static void depart(struct trip *t)
{
    topic_lend(t->p->topic);
    lock_take(&t->p->lk);
    t->state = TRIP_UNDER_WAY;
    lock_give(&t->p->lk);
}

/* Any thread, once. The housekeeper may free the trip as soon as the lock is given back. */
static void tell(void *arg, enum err e, uint32_t leader)
{
    struct trip *t = arg;
    struct queue_partition *p = t->p;
    struct queue_topic *target = t->target;
    lock_take(&p->lk);
    t->target = NULL;
    t->err = e;
    t->leader = leader;
    t->state = TRIP_TOLD;
    lock_give(&p->lk);
    move_call(p);
    if (target != NULL)
        queue_topic_give_back(target);
    queue_topic_give_back(p->topic);
}

static void on_committed(struct queue_wait *w)
{
    tell(CONTAINER_OF(w, struct trip, wait), w->err, 0);
}

static void go_here(struct trip *t, struct queue_topic *target, const struct queue_move *m)
{
    topic_lend(target);
    t->target = target;
    memset(&t->wait, 0, sizeof t->wait);
    t->wait.ready = on_committed;
    enum err e = queue_move_take(target, m, &t->wait);
    if (queue_wait_start(&t->wait))
        return;
    tell(t, e != ERR_OK ? e : t->wait.err, 0);
}

/* ---- a target that is not known here ---- */

/* A broker may not have heard of a topic yet to which another one has moved this very message. It
 * is given back to its consumers only once it can arrive nowhere: the topic's id, which is never
 * used again, is not in the catalogue any more, or its topic is being deleted. */
static enum err ask_key(struct queue *q, const char *key, bool *is_there)
{
    struct catalog_kv kv = {0};
    enum err e = catalog_get(q->catalog, key, &kv);
    *is_there = e == ERR_OK;
    catalog_kv_fini(&kv);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err ask_topic(struct queue *q, const struct uuid *id, bool *is_there)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    struct catalog_kv kv = {0};
    struct topic_config config;
    catalog_key_topic(key, id->at);
    enum err e = catalog_get(q->catalog, key, &kv);
    *is_there = e == ERR_OK;
    if (e == ERR_OK)
        e = topic_config_decode(kv.value, &config);
    if (*is_there && e == ERR_OK) {
        *is_there = config.state != TOPIC_DELETING;
        topic_config_fini(&config);
    }
    catalog_kv_fini(&kv);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static void ask_catalogue(struct queue_job *job)
{
    struct trip *t = CONTAINER_OF(job, struct trip, job);
    bool is_there = true, has_name = false;
    enum err e = ask_topic(t->p->q, &t->target_id, &is_there);
    if (e == ERR_OK && !is_there && t->target_name[0] != '\0') {
        char key[CATALOG_KEY_BYTES_MAX + 1];
        catalog_key_name(key, t->target_name);
        e = ask_key(t->p->q, key, &has_name);
    }
    if (e == ERR_OK)
        e = is_there || has_name ? ERR_NOT_FOUND : ERR_GONE;
    tell(t, e, 0);
}

static void ask(struct trip *t, const struct move_plan *plan)
{
    t->target_id = plan->target_id;
    t->target_name[0] = '\0';
    if (plan->target_name.n > 0 && plan->target_name.n <= TOPIC_NAME_MAX) {
        memcpy(t->target_name, plan->target_name.at, plan->target_name.n);
        t->target_name[plan->target_name.n] = '\0';
    }
    t->job = (struct queue_job){.run = ask_catalogue};
    depart(t);
    enum err e = queue_run(t->p->q, &t->job);
    if (e != ERR_OK)
        tell(t, e, 0);
}

/* ---- beginning ---- */

static void rest(struct trip *t, int64_t now_ms)
{
    int64_t ms = AGAIN_MS_MAX;
    if (t->tries < 4)
        ms = (int64_t)AGAIN_MS_MIN << t->tries;
    t->tries++;
    t->again_ms = now_ms + ms;
}

static bool is_behind_its_group(const struct move_trips *all, const struct trip *t)
{
    if (!t->p->topic->fifo || !t->knows_group)
        return false;
    for (size_t i = 0; i < all->n && all->at[i] != t; i++)
        if (all->at[i]->knows_group &&
            memcmp(&all->at[i]->group_hash, &t->group_hash, sizeof t->group_hash) == 0)
            return true;
    return false;
}

static uint64_t epoch_of(struct queue_partition *p)
{
    lock_take(&p->lk);
    uint64_t epoch = copy_epoch_locked(p);
    lock_give(&p->lk);
    return epoch;
}

/* Those that are under way bound the memory; when one is told, others go on. */
static void go(struct trip *t, struct move_plan *plan, int64_t now_ms)
{
    struct queue *q = t->p->q;
    struct move_trips *all = t->p->trips;
    uint32_t leader = t->hint != 0 ? t->hint : queue_copy_leader(plan->target, plan->partition);
    t->hint = 0;
    if (leader == 0 || (leader != q->links->broker && q->mover == NULL)) {
        rest(t, now_ms);
        return;
    }
    struct buf message = BUF_EMPTY;
    record_encode(&plan->record, &message);
    if (all->bytes == 0 || all->bytes + message.n <= TRIPS_BYTES_MAX) {
        struct queue_move m = {
            .partition = plan->partition,
            .broker = leader,
            .source_epoch = epoch_of(t->p),
            .age_ms = plan->age_ms < 0 ? 0 : plan->age_ms,
            .message = buf_bytes(&message),
        };
        memcpy(m.topic, plan->target->id.at, sizeof m.topic);
        t->asked = leader;
        t->bytes = message.n;
        all->bytes += message.n;
        depart(t);
        if (leader == q->links->broker)
            go_here(t, plan->target, &m);
        else
            q->mover->move(q->mover->self, &m, tell, t);
    }
    buf_fini(&message);
}

/* It came to an end without a journey; ERR_BUSY and the like: not yet. */
static bool end(struct trip *t, bool called_off, int64_t now_ms)
{
    enum err e = move_close(t->p, t->move.seq, called_off);
    if (e == ERR_OK || e == ERR_GONE)
        return true;
    rest(t, now_ms);
    return false;
}

/* True: the trip has ended. */
static bool begin(struct trip *t, uint64_t floor, int64_t now_ms)
{
    struct move_plan plan;
    bool ended = false;
    enum move_ready ready = move_plan(t->p, &t->move, floor, &plan);
    if (plan.was_read) {
        t->knows_group = true;
        t->group_hash = plan.group_hash;
    }
    if (ready == MOVE_GONE) {
        ended = end(t, false, now_ms);
    } else if (ready == MOVE_NO_SOURCE) {
        redrive_failed(t->p->topic, REDRIVE_NO_SOURCE);
        ended = end(t, true, now_ms);
    } else if (ready == MOVE_LATER) {
        rest(t, now_ms);
    } else if (!is_behind_its_group(t->p->trips, t)) {
        if (ready == MOVE_READY)
            go(t, &plan, now_ms);
        else
            ask(t, &plan);
    }
    move_plan_fini(&plan);
    return ended;
}

/* ---- what was told ---- */

/* True: the trip has ended. */
static bool settle(struct trip *t, int64_t now_ms)
{
    struct queue_partition *p = t->p;
    bool is_redrive = partition_move_is_redrive(&t->move);
    p->trips->bytes -= t->bytes;
    t->bytes = 0;
    lock_take(&p->lk);
    t->state = TRIP_RESTS;
    enum err e = t->err;
    uint32_t leader = t->leader;
    lock_give(&p->lk);
    if (e == ERR_OK || e == ERR_GONE) {
        if (!end(t, e == ERR_GONE, now_ms))
            return false;
        if (is_redrive && e == ERR_GONE)
            redrive_failed(p->topic, REDRIVE_NO_TARGET);
        else if (is_redrive)
            redrive_arrived(p->topic);
        return true;
    }
    rest(t, now_ms);
    if (e == ERR_NOT_LEADER && leader != 0 && leader != t->asked && t->tries <= HINTS_MAX) {
        t->hint = leader;
        t->again_ms = now_ms;
    }
    return false;
}

static void settle_told(struct queue_partition *p, int64_t now_ms)
{
    struct move_trips *all = p->trips;
    bool redriven = false;
    for (size_t i = 0; i < all->n;) {
        struct trip *t = all->at[i];
        bool is_redrive = partition_move_is_redrive(&t->move);
        if (state_of(t) == TRIP_TOLD && settle(t, now_ms)) {
            redriven = redriven || is_redrive;
            drop(all, i);
        } else {
            i++;
        }
    }
    if (redriven && all->n == 0)
        redrive_call(p->q); /* what it planned has arrived: it may plan more */
}

/* ---- the window ---- */

static struct trip *trip_of(struct queue_partition *p, const struct partition_move *move)
{
    struct move_trips *all = p->trips;
    size_t i = 0;
    while (i < all->n && all->at[i]->move.seq < move->seq)
        i++;
    if (i < all->n && all->at[i]->move.seq == move->seq)
        return all->at[i];
    if (all->n == MOVES_AT_A_TIME)
        return NULL;
    struct trip *t = mem_new(sizeof *t);
    t->p = p;
    t->move = *move;
    memmove(&all->at[i + 1], &all->at[i], (all->n - i) * sizeof(struct trip *));
    all->at[i] = t;
    all->n++;
    return t;
}

/* Those whose moves are not open any more: another leader has ended them. */
static void forget_unwanted(struct move_trips *all)
{
    for (size_t i = 0; i < all->n;) {
        if (!all->at[i]->is_wanted && state_of(all->at[i]) == TRIP_RESTS)
            drop(all, i);
        else
            i++;
    }
}

static void take_in(struct queue_partition *p, const struct partition_move *moves, size_t n)
{
    struct move_trips *all = p->trips;
    for (size_t i = 0; i < all->n; i++)
        all->at[i]->is_wanted = false;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < all->n; i++)
            if (all->at[i]->move.seq == moves[k].seq)
                all->at[i]->is_wanted = true;
    forget_unwanted(all);
    for (size_t k = 0; k < n; k++) {
        struct trip *t = trip_of(p, &moves[k]);
        if (t != NULL)
            t->is_wanted = true;
    }
}

/* On FIFO one whose group is not known stops all behind it, which may be of the same. */
static void begin_all(struct queue_partition *p, uint64_t floor, int64_t now_ms)
{
    struct move_trips *all = p->trips;
    for (size_t i = 0; i < all->n;) {
        struct trip *t = all->at[i];
        bool may_go = t->is_wanted && state_of(t) == TRIP_RESTS && t->again_ms <= now_ms &&
                      !is_behind_its_group(all, t);
        if (may_go && begin(t, floor, now_ms)) {
            drop(all, i);
            continue;
        }
        if (p->topic->fifo && !t->knows_group)
            break;
        i++;
    }
}

static int64_t next_due_ms(const struct move_trips *all, int64_t now_ms)
{
    int64_t due_ms = 0;
    for (size_t i = 0; i < all->n; i++) {
        int64_t ms = all->at[i]->again_ms;
        if (ms > now_ms && (due_ms == 0 || ms < due_ms))
            due_ms = ms;
    }
    return due_ms;
}

void trips_drive(struct queue_partition *p)
{
    struct partition_move moves[MOVES_AT_A_TIME];
    int64_t now_ms = queue_now_ms(p->q);
    uint64_t floor;
    if (p->trips != NULL)
        settle_told(p, now_ms);
    size_t n = move_committed(p, 0, moves, &floor);
    if (p->trips == NULL && n == 0)
        return;
    if (p->trips == NULL)
        p->trips = mem_new(sizeof *p->trips);
    take_in(p, moves, n);
    begin_all(p, floor, now_ms);
    p->trips_due_ms = next_due_ms(p->trips, now_ms);
    if (p->trips_due_ms != 0 && p->trips_due_ms < p->q->trips_due_ms)
        p->q->trips_due_ms = p->trips_due_ms;
    commit_ask(p->q);
}

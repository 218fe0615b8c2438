// SPDX-License-Identifier: Apache-2.0
/* Redrives. What is asked for stands in the catalogue (r/<tid>) before it is answered, so a start
 * goes on with it. The housekeeper plans MOVEs of ready messages, a bounded number at a time, and
 * has them driven as those of dead letters are (move.c): that is what makes each arrive once.
 *
 * Memory is the truth of a topic's list, guarded by topics_lk; the catalogue follows. The
 * catalogue's thread starts and cancels, the housekeeper goes on and ends. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

enum {
    STEP_MESSAGES_MAX = 500, /* a redrive and step */
    FILLS_MAX = 1000,        /* NEEDs that one plan may answer */
    RATED_PAUSE_MS = 50,     /* between the steps of a redrive with a rate */
    STUCK_PAUSE_MS = 1000,   /* after a step that moved nothing */
    US_PER_S = 1000000,
};

bool redrive_is_active(const struct redrive_config *r)
{
    return r->state == REDRIVE_RUNNING || r->state == REDRIVE_CANCELLING;
}

void redrive_free(struct queue_topic *t)
{
    mem_free(t->redrives);
    mem_free(t->redrive_report);
}

void redrive_arrived(struct queue_topic *t)
{
    t->redriven++;
}

void redrive_failed(struct queue_topic *t, enum redrive_failure failure)
{
    t->redrive_failure = failure;
}

/* ---- the list in the catalogue ---- */

/* Whoever reads the revision before he copies the list cannot write an older list over a newer one:
 * the newer one's write has changed the revision. */
static enum err store(struct queue_topic *t)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    struct redrives_config *copy = mem_new(sizeof *copy);
    enum err e;
    catalog_key_redrives(key, t->id.at);
    do {
        struct catalog_kv kv = {0};
        struct buf value = BUF_EMPTY;
        e = catalog_get(t->q->catalog, key, &kv);
        int64_t rev = e == ERR_OK ? kv.mod_rev : 0;
        catalog_kv_fini(&kv);
        if (e != ERR_OK && e != ERR_NOT_FOUND)
            break;
        lock_take(&t->q->topics_lk);
        *copy = *t->redrives;
        lock_give(&t->q->topics_lk);
        redrives_config_encode(copy, &value);
        struct catalog_cmp same = {key, CATALOG_MOD, rev};
        struct catalog_op put = {.key = key, .value = buf_bytes(&value)};
        e = catalog_txn(t->q->catalog, &same, 1, &put, 1, NULL);
        buf_fini(&value);
    } while (e == ERR_CONFLICT);
    mem_free(copy);
    return e;
}

void redrive_call(struct queue *q)
{
    __atomic_store_n(&q->redrives_called, true, __ATOMIC_RELEASE);
    house_call(q);
}

/* Nothing new for one that is in the list already. */
void redrive_link(struct queue_topic *t)
{
    struct queue *q = t->q;
    lock_take(&q->topics_lk);
    struct queue_topic *at = q->redriving;
    while (at != NULL && at != t)
        at = at->redriving_next;
    if (at == NULL) {
        t->redriving_next = q->redriving;
        q->redriving = t;
    }
    lock_give(&q->topics_lk);
    redrive_call(q);
}

void redrive_forget_locked(struct queue_topic *t)
{
    lock_check_held(&t->q->topics_lk);
    struct queue_topic **at = &t->q->redriving;
    while (*at != NULL && *at != t)
        at = &(*at)->redriving_next;
    if (*at == t)
        *at = t->redriving_next;
}

/* For the housekeeper alone. */
void redrive_forget(struct queue_topic *t)
{
    lock_take(&t->q->topics_lk);
    redrive_forget_locked(t);
    lock_give(&t->q->topics_lk);
}

enum err redrive_recover(struct queue_topic *t)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    struct catalog_kv kv = {0};
    catalog_key_redrives(key, t->id.at);
    enum err e = catalog_get(t->q->catalog, key, &kv);
    if (e == ERR_NOT_FOUND)
        return ERR_OK;
    if (e == ERR_OK) {
        t->redrives = mem_new(sizeof *t->redrives);
        e = redrives_config_decode(kv.value, t->redrives);
    }
    catalog_kv_fini(&kv);
    if (e == ERR_OK && t->redrives->n > 0 && redrive_is_active(&t->redrives->at[0])) {
        if (t->redrives->at[0].ends_n == t->partitions_n)
            redrive_link(t);
        else
            e = ERR_CORRUPT;
    }
    if (e != ERR_OK)
        note(NOTE_ERROR, "queue", "catalogue key %s: %s", key, err_text(e));
    return e;
}

/* ---- starting and cancelling ---- */

static enum err measure(struct queue_topic *t, struct redrive_config *r)
{
    struct queue_counters counters;
    enum err e = queue_count(t, BYTES_NONE, &counters);
    if (e != ERR_OK)
        return e;
    r->to_move = counters.visible;
    r->ends_n = t->partitions_n;
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        lock_take(&p->lk);
        r->ends[i] = p->closed ? 0 : partition_next_number(p->state);
        lock_give(&p->lk);
    }
    return ERR_OK;
}

static size_t active_n_locked(const struct queue *q)
{
    size_t n = 0;
    for (const struct queue_topic *t = q->redriving; t != NULL; t = t->redriving_next)
        n++;
    return n;
}

/* The list forgets its oldest. */
void redrives_put_first(struct redrives_config *list, const struct redrive_config *r)
{
    if (list->n < REDRIVES_MAX)
        list->n++;
    memmove(&list->at[1], &list->at[0], (list->n - 1) * sizeof list->at[0]);
    list->at[0] = *r;
}

static void make_id(struct queue *q, struct redrive_config *r)
{
    lock_take(&q->topics_lk);
    rng_fill(&q->rng, r->id, sizeof r->id);
    lock_give(&q->topics_lk);
    r->id[6] = (uint8_t)((r->id[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
    r->id[8] = (uint8_t)((r->id[8] & 0x3f) | 0x80);
}

static enum err add(struct queue_topic *t, struct redrive_config *r)
{
    struct queue *q = t->q;
    enum err e = ERR_OK;
    lock_take(&q->topics_lk);
    if (t->redrives == NULL)
        t->redrives = mem_new(sizeof *t->redrives);
    struct redrives_config *list = t->redrives;
    if (list->n > 0 && redrive_is_active(&list->at[0]))
        e = ERR_EXISTS;
    else if (active_n_locked(q) >= QUEUE_REDRIVES_ACTIVE_MAX)
        e = ERR_FULL;
    if (e == ERR_OK)
        redrives_put_first(list, r);
    lock_give(&q->topics_lk);
    return e;
}

static void take_back(struct queue_topic *t)
{
    lock_take(&t->q->topics_lk);
    struct redrives_config *list = t->redrives;
    list->n--;
    memmove(&list->at[0], &list->at[1], list->n * sizeof list->at[0]);
    lock_give(&t->q->topics_lk);
}

static enum err start_here(struct queue_topic *t, struct redrive_config *r)
{
    enum err e = measure(t, r);
    if (e == ERR_OK)
        e = add(t, r);
    if (e != ERR_OK)
        return e;
    e = store(t);
    if (e == ERR_OK)
        redrive_link(t);
    else
        take_back(t);
    return e;
}

enum err queue_redrive_start(struct queue_topic *t, struct queue_topic *target,
                             uint32_t per_second_max, uint8_t id[16])
{
    enum err e = topic_check(t);
    if (e == ERR_OK && (t->compact || (target != NULL && target->compact)))
        e = ERR_LOG_ONLY;
    struct redrive_config *r = mem_new(sizeof *r);
    r->per_second_max = per_second_max;
    r->started_wall_ms = clock_wall_ms(t->q->clock);
    if (target != NULL) {
        memcpy(r->target, target->name, sizeof r->target);
        memcpy(r->target_id, target->id.at, sizeof r->target_id);
    }
    make_id(t->q, r);
    if (e == ERR_OK)
        e = t->q->links != NULL ? copy_redrive_start(t, r) : start_here(t, r);
    if (e == ERR_OK)
        memcpy(id, r->id, sizeof r->id);
    mem_free(r);
    return e;
}

enum err queue_redrive_cancel(struct queue_topic *t, const uint8_t id[16], uint64_t *moved)
{
    enum err e = ERR_NOT_FOUND;
    uint64_t until_now = 0;
    if (t->q->links != NULL)
        return copy_redrive_cancel(t, id, moved);
    lock_take(&t->q->topics_lk);
    struct redrive_config *r =
        t->redrives != NULL && t->redrives->n > 0 ? &t->redrives->at[0] : NULL;
    if (r != NULL && redrive_is_active(r) && memcmp(r->id, id, sizeof r->id) == 0) {
        r->state = REDRIVE_CANCELLING;
        until_now = r->moved;
        e = ERR_OK;
    }
    lock_give(&t->q->topics_lk);
    if (e == ERR_OK)
        e = store(t);
    if (e != ERR_OK)
        return e;
    *moved = until_now;
    redrive_call(t->q);
    return ERR_OK;
}

size_t queue_redrives(struct queue_topic *t, struct queue_redrive *out, size_t room)
{
    lock_take(&t->q->topics_lk);
    const struct redrives_config *list = t->redrives;
    size_t n = list == NULL ? 0 : list->n < room ? list->n : room;
    for (size_t i = 0; i < n; i++) {
        const struct redrive_config *r = &list->at[i];
        out[i] = (struct queue_redrive){
            .state = (enum queue_redrive_state)r->state,
            .no_source = r->failure == REDRIVE_NO_SOURCE,
            .per_second_max = r->per_second_max,
            .started_wall_ms = r->started_wall_ms,
            .to_move = r->to_move,
            .moved = r->moved,
        };
        memcpy(out[i].id, r->id, sizeof out[i].id);
        memcpy(out[i].target, r->target, sizeof out[i].target);
    }
    lock_give(&t->q->topics_lk);
    return n;
}

/* ---- going on ---- */

/* MOVEs of this partition that belong to a redrive are still open. */
bool redrive_is_open(struct queue_partition *p)
{
    struct partition_move moves[64];
    uint64_t from = 0;
    bool open = false;
    size_t n;
    if (p->closed)
        return false;
    lock_take(&p->lk);
    while (!open && (n = partition_moves_open(p->state, from, moves, 64)) > 0) {
        for (size_t i = 0; i < n; i++)
            open = open || partition_move_is_redrive(&moves[i]);
        from = moves[n - 1].seq + 1;
    }
    lock_give(&p->lk);
    return open;
}

static enum err plan_locked(struct queue_partition *p, const struct redrive_config *r, size_t max,
                            struct partition_grant *grant, uint64_t *need)
{
    struct partition_view view = partition_view_locked(p, queue_topic_config(p->topic));
    struct uuid target;
    memcpy(target.at, r->target_id, sizeof target.at);
    if (view.committed_number > r->ends[p->index])
        view.committed_number = r->ends[p->index];
    enum err e = partition_plan_redrive(p->state, &view, window_locked(p), GID_DEFAULT,
                                        max < PARTITION_MOVES_MAX ? max : PARTITION_MOVES_MAX,
                                        target, grant, need);
    window_count_locked(p);
    if (e == ERR_OK && grant->moves_n > 0) {
        struct appending a;
        append_begin_locked(&a, p, view.now_ms);
        account_sizes_locked(&a, grant);
        for (size_t i = 0; i < grant->moves_n; i++)
            append_put_locked(&a, &grant->moves[i]);
        append_end_locked(&a, true);
    }
    return e;
}

/* Appends up to `max` MOVEs; answers how many. `*empty`: nothing is left to be planned. */
size_t redrive_plan(struct queue_partition *p, const struct redrive_config *r, size_t max,
                    struct partition_grant *grant, bool *empty)
{
    size_t n = 0;
    uint64_t need = 0;
    *empty = false;
    for (int fills = 0; n < max && fills < FILLS_MAX && !*empty;) {
        lock_take(&p->lk);
        enum err e = partition_check_locked(p, 0);
        if (e == ERR_OK)
            e = plan_locked(p, r, max - n, grant, &need);
        lock_give(&p->lk);
        if (e == ERR_OK)
            n += grant->moves_n;
        if (e == ERR_NEED && window_fill(p, need) == ERR_OK)
            fills++;
        else if (e != ERR_OK)
            break;
        *empty = e == ERR_OK && grant->moves_n == 0;
    }
    return n;
}

/* All partitions, until `max` are planned; those whose last ones have not arrived wait. `*empty`:
 * each was asked, and has nothing left. One that could not be asked may have. */
static size_t plan_all(struct queue_topic *t, const struct redrive_config *r, size_t max,
                       bool *empty)
{
    struct partition_grant grant;
    size_t n = 0;
    *empty = max > 0;
    partition_grant_init(&grant);
    for (uint32_t i = 0; i < t->partitions_n && n < max; i++) {
        struct queue_partition *p = &t->partitions[i];
        bool none = false;
        if (p->closed)
            continue;
        if (!redrive_is_open(p))
            n += redrive_plan(p, r, max - n, &grant, &none);
        *empty = *empty && none;
    }
    *empty = *empty && n == 0;
    partition_grant_fini(&grant);
    windows_bound(t->q);
    return n;
}

/* How many messages the rate allows by now. A redrive that was held up does not make up for more
 * than a second. */
size_t redrive_allowed(struct queue_topic *t, const struct redrive_config *r)
{
    int64_t now_us = queue_now_ms(t->q) * 1000;
    if (r->per_second_max == 0)
        return STEP_MESSAGES_MAX;
    if (t->redrive_paid_us == 0)
        t->redrive_paid_us = now_us - US_PER_S / r->per_second_max - 1; /* one at once */
    if (t->redrive_paid_us < now_us - US_PER_S)
        t->redrive_paid_us = now_us - US_PER_S;
    int64_t n = (now_us - t->redrive_paid_us) * r->per_second_max / US_PER_S;
    return n < 0 ? 0 : n < STEP_MESSAGES_MAX ? (size_t)n : STEP_MESSAGES_MAX;
}

void redrive_pay(struct queue_topic *t, const struct redrive_config *r, size_t n)
{
    if (r->per_second_max > 0)
        t->redrive_paid_us += (int64_t)n * US_PER_S / r->per_second_max;
}

static bool target_is_there(struct queue *q, const struct redrive_config *r)
{
    struct queue_topic *target;
    struct uuid id;
    if (r->target[0] == 0)
        return true;
    memcpy(id.at, r->target_id, sizeof id.at);
    if (topic_find_by_id(q, &id, &target) != ERR_OK)
        return false;
    queue_topic_give_back(target);
    return true;
}

/* Plans, and drives what is open. Answers whether nothing is left to be planned. */
static bool move_some(struct queue_topic *t, const struct redrive_config *r)
{
    bool exhausted = false;
    bool runs = r->state == REDRIVE_RUNNING && t->redrive_failure == REDRIVE_FINE;
    if (runs && !target_is_there(t->q, r)) {
        redrive_failed(t, REDRIVE_NO_TARGET);
    } else if (runs) {
        size_t n = plan_all(t, r, redrive_allowed(t, r), &exhausted);
        redrive_pay(t, r, n);
        if (n > 0)
            queue_commit_all(t->q);
    }
    for (uint32_t i = 0; i < t->partitions_n; i++)
        if (!t->partitions[i].closed && redrive_is_open(&t->partitions[i]))
            move_drive(&t->partitions[i]);
    return exhausted;
}

/* What became of it; true when it has ended. `r` is a copy from before. */
static bool settle(struct queue_topic *t, const struct redrive_config *before, bool exhausted)
{
    bool open = false;
    for (uint32_t i = 0; i < t->partitions_n && !open; i++)
        open = redrive_is_open(&t->partitions[i]);
    lock_take(&t->q->topics_lk);
    struct redrive_config *r = &t->redrives->at[0]; /* nobody starts one while this is active */
    r->moved += t->redriven;
    if (!open && t->redrive_failure != REDRIVE_FINE) {
        r->state = REDRIVE_FAILED;
        r->failure = t->redrive_failure;
    } else if (!open && r->state == REDRIVE_CANCELLING) {
        r->state = REDRIVE_CANCELLED;
    } else if (!open && exhausted) {
        r->state = REDRIVE_COMPLETED;
    }
    bool ended = !redrive_is_active(r),
         changed = ended || t->redriven > 0 || r->state != before->state;
    if (ended) {
        r->ends_n = 0;
        redrive_forget_locked(t); /* before the next one can be started, which will be linked */
    }
    t->redriven = 0;
    lock_give(&t->q->topics_lk);
    enum err e = changed ? store(t) : ERR_OK;
    if (e != ERR_OK)
        note(NOTE_WARNING, "queue", "topic %s: the progress of its redrive is not stored: %s",
             t->name, err_text(e));
    if (ended) {
        t->redrive_failure = REDRIVE_FINE;
        t->redrive_paid_us = 0;
    }
    return ended;
}

int64_t redrive_pause_ms(const struct redrive_config *r, bool moved)
{
    int64_t pause_ms = moved ? 0 : STUCK_PAUSE_MS;
    if (r->per_second_max > 0) {
        pause_ms = 1000 / r->per_second_max;
        pause_ms = pause_ms > RATED_PAUSE_MS ? pause_ms : RATED_PAUSE_MS;
    }
    return pause_ms;
}

/* When it wants to go on. */
static int64_t step_one(struct queue_topic *t, bool *ended)
{
    struct redrive_config *r = mem_new(sizeof *r);
    lock_take(&t->q->topics_lk);
    *r = t->redrives->at[0];
    lock_give(&t->q->topics_lk);
    bool exhausted = move_some(t, r);
    /* What could not be moved waits for a target that is overloaded or closed. */
    int64_t pause_ms = redrive_pause_ms(r, t->redriven > 0);
    *ended = settle(t, r, exhausted);
    mem_free(r);
    return queue_now_ms(t->q) + pause_ms;
}

/* The topics with a redrive under way that are still there, each with a reference. */
static size_t lend_active(struct queue *q, struct queue_topic *out[QUEUE_REDRIVES_ACTIVE_MAX])
{
    size_t n = 0;
    lock_take(&q->topics_lk);
    for (struct queue_topic *t = q->redriving; t != NULL && n < QUEUE_REDRIVES_ACTIVE_MAX;
         t = t->redriving_next)
        if (topic_try_lend(t))
            out[n++] = t;
    lock_give(&q->topics_lk);
    return n;
}

int64_t redrive_step(struct queue *q)
{
    struct queue_topic *topics[QUEUE_REDRIVES_ACTIVE_MAX];
    int64_t next_ms = INT64_MAX;
    size_t n = lend_active(q, topics);
    for (size_t i = 0; i < n; i++) {
        struct queue_topic *t = topics[i];
        bool ended = false;
        int64_t ms = INT64_MAX;
        if (topic_check(t) == ERR_OK)
            ms = q->links != NULL ? copy_redrive_step(t, &ended) : step_one(t, &ended);
        else
            redrive_forget(t);
        if (!ended && ms < next_ms)
            next_ms = ms;
        queue_topic_give_back(t);
        house_ring(q);
    }
    return next_ms;
}

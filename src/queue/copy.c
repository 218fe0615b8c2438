// SPDX-License-Identifier: Apache-2.0
/* A partition's replica is told what happens, and what it wants is done. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "queue/copy_inside.h"

enum { ALONE = 1 /* the broker's id where there is only one */ };

struct queue_copy_id copy_id(const struct queue_partition *p)
{
    struct queue_copy_id id = {.partition = p->index};
    memcpy(id.topic, p->topic->id.at, sizeof id.topic);
    return id;
}

uint64_t copy_epoch_locked(const struct queue_partition *p)
{
    return p->copy == NULL ? p->q->epoch : p->copy->epoch;
}

/* The epoch of the record before `end`, as the log itself tells. */
static uint64_t last_epoch_locked(const struct queue_partition *p, uint64_t end)
{
    size_t n;
    const struct plog_epoch *epochs = plog_epochs(p->log, &n);
    while (n > 0 && epochs[n - 1].start >= end)
        n--;
    if (n > 0 && end > plog_start_offset(p->log))
        return epochs[n - 1].epoch;
    return end == 0 ? 0 : plog_start_last_epoch(p->log);
}

/* ---- effects ---- */

void copy_set_serves_locked(struct queue_partition *p, bool serves)
{
    p->copy->serves = serves;
    __atomic_store_n(&p->ours, serves, __ATOMIC_RELEASE);
}

/* The first record of an epoch. Nothing is folded in here where the state is behind: copy_work.c
 * reads it back. */
static void lead_locked(struct queue_partition *p, uint64_t epoch, struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    c->epoch = epoch;
    c->is_ready = false;
    copy_set_serves_locked(p, false);
    if (!c->alone) {
        /* As much time as has passed since the last leader's newest batch came in was gone for it
         * as well, and a little more: so no lease ends early. */
        int64_t shift_ms = c->heard_queue_ms == INT64_MIN ? 0 : c->leader_ms - c->heard_queue_ms;
        __atomic_store_n(&p->time_shift_ms, shift_ms, __ATOMIC_RELAXED);
    }
    struct record r = {.type = RECORD_EPOCH, .epoch = {epoch, partition_now_ms(p)}};
    struct buf payload = BUF_EMPTY;
    record_encode(&r, &payload);
    struct plog_batch *b = plog_batch_new(payload.n + 64);
    plog_batch_put(b, (uint8_t)r.type, buf_bytes(&payload));
    buf_fini(&payload);
    p->log_bytes += plog_batch_bytes(b);
    snapshot_count(p->q, (int64_t)plog_batch_bytes(b));
    plog_append(p->log, b, epoch, r.epoch.now_ms, !c->alone);
    if (c->alone) {
        partition_apply(p->state, &r);
        c->is_ready = true;
        copy_set_serves_locked(p, true);
    }
    after->commits = true;
}

static void stop_leading_locked(struct queue_partition *p, struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    bool served = c->serves;
    c->leader_ms = partition_now_ms(p);
    c->heard_queue_ms = queue_now_ms(p->q);
    c->epoch = 0;
    c->is_ready = false;
    copy_set_serves_locked(p, false);
    after->ends_polls = true;
    struct queue_mark **end = &after->reached;
    while (*end != NULL)
        end = &(*end)->next;
    *end = wait_take_failed_locked(p, ERR_UNKNOWN);
    if (served)
        copy_forget_state_locked(p);
}

static void high_water_locked(struct queue_partition *p, uint64_t end, struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    if (c->alone)
        return; /* committed is what is durable, and whoever told that tells the marks */
    plog_commit_to(p->log, end);
    if (!c->serves) {
        c->to_fold = true;
        copy_work_list_locked(p);
        return;
    }
    struct queue_mark **last = &after->reached;
    while (*last != NULL)
        last = &(*last)->next;
    *last = wait_take_reached_locked(p);
    after->moves = move_committed_locked(p) || after->moves;
    after->wakes = true;
}

/* The bytes of an answer, which the replica has found to follow. */
static bool store_locked(struct queue_partition *p, const struct plog_raw *batches, size_t n,
                         struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    for (size_t i = 0; i < n; i++) {
        enum err e = plog_append_raw(p->log, &batches[i], true);
        if (e != ERR_OK) {
            note(NOTE_ERROR, "queue", "topic %s, partition %u: a batch at %llu is refused: %s",
                 p->topic->name, (unsigned)p->index, (unsigned long long)batches[i].base_offset,
                 err_text(e));
            return false;
        }
        p->log_bytes += batches[i].bytes.n;
        snapshot_count(p->q, (int64_t)batches[i].bytes.n);
        __atomic_fetch_add(&p->q->unlooked_bytes, batches[i].bytes.n, __ATOMIC_RELAXED);
        c->leader_ms = batches[i].leader_ms;
        c->heard_queue_ms = queue_now_ms(p->q);
    }
    after->commits = true;
    house_touch(p);
    return true;
}

static void work_locked(struct queue_partition *p, bool *what)
{
    *what = true;
    copy_work_list_locked(p);
}

static void quarantine_locked(struct queue_partition *p, const struct replica_effect *f)
{
    const struct queue_links *links = p->q->links;
    struct queue_copy_id id = copy_id(p);
    if (links != NULL)
        links->alarm(links->self, &id, f->quarantine.reason, f->quarantine.offset);
    note(NOTE_ERROR, "queue",
         "topic %s, partition %u: its copy here takes no part until a restart (reason %d, at %llu)",
         p->topic->name, (unsigned)p->index, (int)f->quarantine.reason,
         (unsigned long long)f->quarantine.offset);
}

/* Those that go out to other brokers and to the catalogue. */
static void send_locked(struct queue_partition *p, const struct replica_effect *f)
{
    const struct queue_links *links = p->q->links;
    struct queue_copy *c = p->copy;
    struct queue_copy_id id = copy_id(p);
    if (links == NULL)
        return; /* the key is in memory, and copy_lead_alone_locked answers */
    switch ((int)f->type) {
    case REPLICA_EFFECT_FETCH:
        links->fetch(links->self, &id, f->fetch.leader, &f->fetch.request);
        return;
    case REPLICA_EFFECT_SWAP:
        /* It says that the incarnation is this one, which a restart must know then. */
        c->swap_waits = c->to_adopt;
        if (c->to_adopt)
            c->swap = f->swap.value;
        else
            links->swap(links->self, &id, &f->swap.value);
        return;
    case REPLICA_EFFECT_READ_KEY:
        links->read_key(links->self, &id, f->read_key.serial);
        return;
    case REPLICA_EFFECT_SNAPSHOT:
        c->wants_snapshot = c->log_is_busy = true;
        c->busy_log_end = plog_end(p->log);
        c->snapshot_epoch = f->snapshot.epoch;
        links->snapshot(links->self, &id, f->snapshot.leader, f->snapshot.epoch);
        return;
    default:
        UNREACHABLE();
    }
}

/* False: the log here is not what the replica believes it to be. */
static bool carry_out_locked(struct queue_partition *p, const struct replica_effect *f,
                             const struct plog_raw *batches, struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    switch (f->type) {
    case REPLICA_EFFECT_ANSWER:
        return true;
    case REPLICA_EFFECT_STORE:
        return store_locked(p, batches, f->store.batches_n, after);
    case REPLICA_EFFECT_TRUNCATE:
        c->cut_end = f->truncate.end;
        c->log_is_busy = true;
        c->busy_log_end = plog_end(p->log);
        work_locked(p, &c->to_cut);
        return true;
    case REPLICA_EFFECT_HIGH_WATER:
        high_water_locked(p, f->high_water.end, after);
        return true;
    case REPLICA_EFFECT_LEAD:
        lead_locked(p, f->lead.epoch, after);
        return true;
    case REPLICA_EFFECT_READY:
        c->is_ready = true;
        copy_serve_if_folded_locked(p, after);
        return true;
    case REPLICA_EFFECT_STOP_LEADING:
        stop_leading_locked(p, after);
        return true;
    case REPLICA_EFFECT_ADOPT:
        c->adopted = f->adopt.incarnation;
        work_locked(p, &c->to_adopt);
        return true;
    case REPLICA_EFFECT_DISCARD:
        c->log_is_busy = true;
        c->busy_log_end = plog_end(p->log);
        work_locked(p, &c->to_discard);
        return true;
    case REPLICA_EFFECT_QUARANTINE:
        quarantine_locked(p, f);
        return true;
    case REPLICA_EFFECT_FETCH:
    case REPLICA_EFFECT_SWAP:
    case REPLICA_EFFECT_READ_KEY:
    case REPLICA_EFFECT_SNAPSHOT:
        send_locked(p, f);
        return true;
    }
    UNREACHABLE();
}

void copy_step_locked(struct queue_partition *p, struct replica_event *e,
                      const struct plog_raw *batches, struct replica_effects *effects,
                      struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    const struct queue_links *links = p->q->links;
    lock_check_held(&p->lk);
    e->random = rng_next(&p->rng) | 1; /* never 0 */
    e->log_end = c->log_is_busy ? c->busy_log_end : plog_end(p->log);
    uint64_t epoch = c->epoch;
    bool sound = true, moved = e->type == REPLICA_EVENT_DURABLE;
    replica_step(c->replica, e, clock_boot_ms(p->q->clock), effects);
    for (size_t i = 0; i < effects->n; i++) {
        sound = carry_out_locked(p, &effects->at[i], batches, after) && sound;
        moved = moved || effects->at[i].type == REPLICA_EFFECT_HIGH_WATER;
    }
    if (links != NULL && epoch != 0 && (moved || c->epoch != epoch)) {
        struct queue_copy_id id = copy_id(p);
        links->moved(links->self, &id);
    }
    if (!sound && !plog_failed(p->q->plog)) {
        struct replica_event damage = {.type = REPLICA_EVENT_DAMAGE};
        copy_step_locked(p, &damage, NULL, effects, after);
    }
}

void copy_after(struct queue_partition *p, struct copy_after *after)
{
    struct queue *q = p->q;
    lock_check_none_held();
    wait_tell(after->reached);
    after->reached = NULL;
    if (after->commits)
        commit_ask(q);
    if (after->moves)
        move_call(p);
    if (after->wakes)
        waiters_kick(&p->topic->waiters);
    if (after->ends_polls)
        waiters_wake_all(&p->topic->waiters);
    if (after->serves) {
        house_touch(p);
        waiters_kick(&p->topic->waiters);
        waiters_alarm(&p->topic->waiters);
    }
    if (after->serves || after->ends_polls)
        copy_tell_roles(q);
}

/* ---- a broker that is alone ---- */

static struct queue_copy *copy_new(struct queue_partition *p, const struct replica_recovered *found,
                                   uint32_t broker)
{
    struct replica_config config;
    struct queue_copy *c = mem_new(sizeof *c);
    replica_config_default(&config, broker);
    c->replica = replica_new(&config, found);
    c->start_told = found->start;
    p->copy = c;
    return c;
}

/* The key is kept in memory: with the epoch of this life of the broker, which is written to the
 * catalogue once at its start, a key of each partition's own would tell nothing new. The first key
 * is of the epoch before, because a replica does not lead an epoch that it finds. */
void copy_lead_alone_locked(struct queue_partition *p, int64_t now_ms)
{
    uint64_t epoch = p->q->epoch, end = plog_end(p->log);
    struct replica_recovered found = {
        .incarnation = 1,
        .start = plog_start_offset(p->log),
        .end = end,
        .high_water = end,
    };
    struct replica_effects effects;
    struct copy_after after = {.reached = NULL};
    CHECK(p->q->links == NULL && epoch > 0 &&
          (plog_durable(p->log) == end || plog_failed(p->q->plog)));
    (void)now_ms;
    struct queue_copy *c = copy_new(p, &found, ALONE);
    c->alone = true;
    c->alone_from = end;
    struct replica_event e = {.type = REPLICA_EVENT_TICK};
    copy_step_locked(p, &e, NULL, &effects, &after);
    CHECK(effects.n == 1 && effects.at[0].type == REPLICA_EFFECT_READ_KEY);
    e = (struct replica_event){.type = REPLICA_EVENT_KEY};
    e.key.serial = effects.at[0].read_key.serial;
    e.key.value = (struct replica_key){
        .version = (int64_t)epoch,
        .epoch = epoch - 1,
        .min_isr = 1,
        .members_n = 1,
        .members = {{.broker = ALONE, .in_isr = true, .incarnation = 1}},
    };
    copy_step_locked(p, &e, NULL, &effects, &after);
    e.key.serial = 0;
    e.key.value.version++;
    e.key.value.epoch = epoch;
    e.key.value.leader = ALONE;
    copy_step_locked(p, &e, NULL, &effects, &after);
    CHECK(c->serves);
}

/* ---- with links ---- */

/* When the last leader's newest batch was written, by its own clock. The moment of the last round
 * here stands for that of its receipt, which it was not before. */
static void find_time(struct queue_partition *p, struct queue_copy *c, uint64_t end)
{
    struct buf bytes = BUF_EMPTY;
    struct plog_raw last;
    c->heard_queue_ms = INT64_MIN;
    if (end > plog_start_offset(p->log) && plog_raw_read(p->log, end - 1, 1, &bytes) == ERR_OK) {
        struct bytes rest = buf_bytes(&bytes);
        if (plog_raw_next(&rest, &last) == ERR_OK) {
            c->leader_ms = last.leader_ms;
            c->heard_queue_ms = p->q->stamp_ms;
        }
    }
    buf_fini(&bytes);
}

void copy_begin(struct queue_partition *p, bool is_new)
{
    struct queue *q = p->q;
    const char *where;
    size_t n;
    lock_take(&p->lk);
    uint64_t end = plog_durable(p->log), start = plog_start_offset(p->log);
    uint64_t known = plog_snapshot_newest(p->log);
    const struct plog_epoch *epochs = plog_epochs(p->log, &n);
    struct replica_epoch *table = mem_new_array(n + 1, sizeof table[0]);
    size_t k = 0;
    uint64_t before = start > 0 ? plog_start_last_epoch(p->log) : 0;
    if (before > 0)
        table[k++] = (struct replica_epoch){before, start - 1};
    for (size_t i = 0; i < n; i++)
        if (k == 0 || table[k - 1].epoch < epochs[i].epoch)
            table[k++] = (struct replica_epoch){epochs[i].epoch, epochs[i].start};
    struct replica_recovered found = {
        .incarnation = plog_incarnation(p->log),
        .is_new = is_new,
        .is_adopted = plog_is_adopted(p->log),
        .is_damaged = plog_log_damaged(p->log, &where) || (n == 0 && end > start),
        .start = start,
        .end = end,
        .high_water = known > start && known <= end ? known : start,
        .epochs = table,
        .epochs_n = k,
    };
    struct queue_copy *c = copy_new(p, &found, q->links->broker);
    plog_commit_by_owner(p->log, found.high_water);
    c->fold_fresh = c->to_fold = true;
    find_time(p, c, end);
    copy_work_list_locked(p);
    lock_give(&p->lk);
    mem_free(table);
}

void copy_fini(struct queue_partition *p)
{
    if (p->copy == NULL)
        return;
    copy_work_forget(p);
    replica_free(p->copy->replica);
    buf_fini(&p->copy->state);
    mem_free(p->copy);
    p->copy = NULL;
}

/* ---- events of the log ---- */

void copy_durable_locked(struct queue_partition *p, bool failed, struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    struct replica_effects effects;
    if (c == NULL || c->log_is_busy || (failed && c->alone))
        return;
    /* A round that was full before it came to EPOCH tells nothing new of this log. */
    if (c->alone && plog_durable(p->log) == c->alone_from)
        return;
    struct replica_event e = {.type = failed ? REPLICA_EVENT_DISK_FAILED : REPLICA_EVENT_DURABLE};
    if (!failed) {
        e.durable.end = plog_durable(p->log);
        e.durable.last_epoch = c->alone ? c->epoch : last_epoch_locked(p, e.durable.end);
    }
    copy_step_locked(p, &e, NULL, &effects, after);
}

void copy_released_locked(struct queue_partition *p, struct copy_after *after)
{
    struct queue_copy *c = p->copy;
    struct replica_effects effects;
    /* Who is alone has no followers that would ask, and may release what is durable before its
     * replica has heard that it is. */
    if (c == NULL || c->alone || c->log_is_busy)
        return;
    struct replica_event e = {.type = REPLICA_EVENT_RELEASED};
    e.released.start = plog_start_offset(p->log);
    if (e.released.start == c->start_told)
        return;
    c->start_told = e.released.start;
    copy_step_locked(p, &e, NULL, &effects, after);
}

void copy_released(struct queue_partition *p)
{
    struct copy_after after = {.reached = NULL};
    lock_take(&p->lk);
    copy_released_locked(p, &after);
    lock_give(&p->lk);
    copy_after(p, &after);
}

/* ---- gates ---- */

static enum err err_of(enum replica_gate gate)
{
    switch (gate) {
    case REPLICA_GATE_OPEN:
        return ERR_OK;
    case REPLICA_GATE_NOT_LEADER:
        return ERR_NOT_LEADER;
    case REPLICA_GATE_NOT_READY:
        return ERR_NOT_READY;
    case REPLICA_GATE_NOT_ENOUGH:
    case REPLICA_GATE_STALE:
        return ERR_NOT_ENOUGH;
    }
    UNREACHABLE();
}

/* Who is alone need not wait until EPOCH is committed: all that was found was committed before, and
 * what follows EPOCH is committed with it or later. */
static enum err gate_locked(struct queue_partition *p, bool receives)
{
    const struct queue_copy *c = p->copy;
    lock_check_held(&p->lk);
    if (c == NULL)
        return p->q->links == NULL ? ERR_OK : ERR_NOT_LEADER;
    enum replica_gate gate = receives ? replica_may_receive(c->replica, clock_boot_ms(p->q->clock))
                                      : replica_may_append(c->replica);
    if (c->alone)
        return gate == REPLICA_GATE_NOT_READY ? ERR_OK : err_of(gate);
    if (gate == REPLICA_GATE_OPEN && !c->serves)
        return ERR_NOT_READY;
    return err_of(gate);
}

enum err copy_may_append_locked(struct queue_partition *p)
{
    return gate_locked(p, false);
}

enum err copy_may_receive_locked(struct queue_partition *p)
{
    return gate_locked(p, true);
}

bool copy_serves_locked(const struct queue_partition *p)
{
    return p->copy == NULL ? p->q->links == NULL : p->copy->serves;
}

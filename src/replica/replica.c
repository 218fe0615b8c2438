// SPDX-License-Identifier: Apache-2.0
#include "replica/replica.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "replica/state.h"

void replica_config_default(struct replica_config *c, uint32_t broker)
{
    *c = (struct replica_config){.broker = broker,
                                 .lag_max_ms = 5000,
                                 .fresh_ms = 3000,
                                 .fetch_max_ms = 2000,
                                 .retry_ms = 100};
}

struct replica *replica_new(const struct replica_config *c, const struct replica_recovered *found)
{
    struct replica *r = mem_new(sizeof *r);
    CHECK(c->broker != 0);
    CHECK(found->start <= found->end && found->high_water <= found->end);
    r->config = *c;
    r->incarnation = found->incarnation;
    r->trust = found->is_damaged ? LOG_DAMAGED : found->is_adopted ? LOG_ADOPTED : LOG_BELIEVED;
    /* Nothing was ever asked for under a new or an adopted one, so no leader can have counted it.
     */
    r->may_register = !found->is_damaged && (found->is_new || found->is_adopted);
    r->start = found->start;
    r->log_end = r->durable_end = found->end;
    /* What was released was committed before. */
    r->high_water = found->high_water > found->start ? found->high_water : found->start;
    for (size_t i = 0; i < found->epochs_n; i++)
        epochs_append(&r->epochs, found->epochs[i].epoch, found->epochs[i].start);
    r->read.is_wanted = true;
    return r;
}

void replica_free(struct replica *r)
{
    if (r == NULL)
        return;
    epochs_fini(&r->epochs);
    mem_free(r->peers);
    mem_free(r);
}

struct replica_effect *effect_add(struct replica_effects *out, enum replica_effect_type type)
{
    CHECK(out->n < REPLICA_EFFECTS_MAX);
    struct replica_effect *effect = &out->at[out->n++];
    memset(effect, 0, sizeof *effect);
    effect->type = type;
    return effect;
}

void high_water_move(struct replica *r, uint64_t end, struct replica_effects *out)
{
    if (end <= r->high_water)
        return;
    CHECK(end <= r->durable_end);
    r->high_water = end;
    effect_add(out, REPLICA_EFFECT_HIGH_WATER)->high_water.end = end;
}

void quarantine(struct replica *r, enum replica_quarantine reason, uint64_t offset,
                struct replica_effects *out)
{
    r->quarantine = reason;
    struct replica_effect *effect = effect_add(out, REPLICA_EFFECT_QUARANTINE);
    effect->quarantine.reason = reason;
    effect->quarantine.offset = offset;
}

static void on_durable(struct replica *r, const struct replica_event *e)
{
    uint64_t end = e->durable.end;
    /* News of the log as it was before it was cut or replaced, or of one that will be. */
    if (r->work != LOG_WORK_NONE || end < r->durable_end || r->trust != LOG_BELIEVED)
        return;
    CHECK(end <= r->log_end);
    CHECK(epochs_before(&r->epochs, end) == e->durable.last_epoch);
    r->durable_end = end;
}

static void on_released(struct replica *r, const struct replica_event *e)
{
    CHECK(e->released.start >= r->start && e->released.start <= r->high_water);
    r->start = e->released.start;
    epochs_release(&r->epochs, r->start);
}

static void on_session(struct replica *r, const struct replica_event *e)
{
    for (size_t i = 0; i < r->key.members_n; i++)
        if (r->key.members[i].broker == e->session.broker) {
            r->peers[i].is_live = e->session.is_live;
            r->peers[i].is_draining = e->session.is_draining;
        }
}

static void on_truncated(struct replica *r, const struct replica_event *e)
{
    CHECK(r->work == LOG_WORK_CUT);
    CHECK(e->truncated.end == r->durable_end);
    CHECK(e->truncated.is_damaged ? e->log_end > r->durable_end : e->log_end == r->durable_end);
    r->work = LOG_WORK_NONE;
    if (e->truncated.is_damaged)
        join_on_damage(r);
}

static void dispatch(struct replica *r, const struct replica_event *e, struct replica_effects *out)
{
    switch (e->type) {
    case REPLICA_EVENT_TICK:
        return;
    case REPLICA_EVENT_KEY:
        catalogue_on_key(r, e, out);
        return;
    case REPLICA_EVENT_SWAP:
        catalogue_on_swap(r, e);
        return;
    case REPLICA_EVENT_DURABLE:
        on_durable(r, e);
        return;
    case REPLICA_EVENT_FETCH:
        leader_on_fetch(r, e, out);
        return;
    case REPLICA_EVENT_ANSWER:
        follower_on_answer(r, e, out);
        return;
    case REPLICA_EVENT_TRUNCATED:
        on_truncated(r, e);
        return;
    case REPLICA_EVENT_SNAPSHOT:
        follower_on_snapshot(r, e);
        return;
    case REPLICA_EVENT_DISCARDED:
        join_on_discarded(r);
        return;
    case REPLICA_EVENT_RELEASED:
        on_released(r, e);
        return;
    case REPLICA_EVENT_SESSION:
        on_session(r, e);
        return;
    case REPLICA_EVENT_DAMAGE:
        join_on_damage(r);
        return;
    case REPLICA_EVENT_DISK_FAILED:
        quarantine(r, REPLICA_QUARANTINE_DISK, 0, out);
        return;
    }
    UNREACHABLE();
}

void replica_step(struct replica *r, const struct replica_event *e, int64_t now_ms,
                  struct replica_effects *out)
{
    CHECK(now_ms >= r->now_ms && e->random != 0);
    out->n = 0;
    r->now_ms = now_ms;
    r->random = e->random;
    r->log_end = e->log_end;
    if (r->quarantine == REPLICA_QUARANTINE_NONE)
        dispatch(r, e, out);
    else if (e->type == REPLICA_EVENT_FETCH)
        leader_on_fetch(r, e, out);
    CHECK(r->work != LOG_WORK_NONE || r->durable_end <= r->log_end);
    /* Each of these looks at the whole state and does what it calls for, whatever the event was, so
     * that no rule hangs on which event came last. */
    role_settle(r, out);
    if (r->quarantine == REPLICA_QUARANTINE_NONE)
        join_settle(r, out);
    if (r->quarantine != REPLICA_QUARANTINE_NONE)
        return;
    leader_settle(r, out);
    isr_settle(r, out);
    follower_settle(r, out);
    catalogue_settle(r, out);
}

enum replica_gate replica_may_append(const struct replica *r)
{
    if (!r->is_leading || r->ahead_epoch > r->key.epoch)
        return REPLICA_GATE_NOT_LEADER;
    if (replica_key_isr_size(&r->key) < r->key.min_isr)
        return REPLICA_GATE_NOT_ENOUGH;
    return r->is_ready ? REPLICA_GATE_OPEN : REPLICA_GATE_NOT_READY;
}

enum replica_gate replica_may_receive(const struct replica *r, int64_t now_ms)
{
    enum replica_gate gate = replica_may_append(r);
    if (gate != REPLICA_GATE_OPEN)
        return gate;
    return leader_fresh(r, now_ms) < r->key.min_isr ? REPLICA_GATE_STALE : REPLICA_GATE_OPEN;
}

static enum replica_health health_of(const struct replica *r)
{
    if (r->quarantine != REPLICA_QUARANTINE_NONE)
        return REPLICA_HEALTH_QUARANTINED;
    if (r->key.version == 0)
        return REPLICA_HEALTH_STARTING;
    return join_is_registered(r) && r->trust == LOG_BELIEVED ? REPLICA_HEALTH_OK
                                                             : REPLICA_HEALTH_JOINING;
}

void replica_look(const struct replica *r, struct replica_status *out)
{
    *out = (struct replica_status){.role = r->role,
                                   .health = health_of(r),
                                   .quarantine = r->quarantine,
                                   .incarnation = r->incarnation,
                                   .epoch = r->key.epoch,
                                   .leader = r->key.leader,
                                   .version = r->key.version,
                                   .isr_size = replica_key_isr_size(&r->key),
                                   .min_isr = r->key.min_isr,
                                   .start = r->start,
                                   .durable_end = r->durable_end,
                                   .last_epoch = epochs_before(&r->epochs, r->durable_end),
                                   .high_water = r->high_water,
                                   .leso = r->leso,
                                   .is_leading = r->is_leading,
                                   .is_ready = r->is_ready,
                                   .swap_is_open = r->proposal.is_open};
}

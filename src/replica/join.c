// SPDX-License-Identifier: Apache-2.0
/* A replica whose data may be incomplete draws a new incarnation, registers it in the key, by which
 * it leaves the in-sync set, and begins its log anew; until the key shows it, it is silent. */
#include "replica/state.h"

bool join_is_registered(const struct replica *r)
{
    const struct replica_member *self = replica_key_find(&r->key, r->config.broker);
    return self != NULL && self->incarnation == r->incarnation;
}

void join_on_damage(struct replica *r)
{
    r->trust = LOG_DAMAGED;
    r->may_register = false;
    r->read_before_giving_up = r->read.serial + 1;
}

void join_on_discarded(struct replica *r)
{
    if (r->work != LOG_WORK_DISCARD)
        return;
    r->work = LOG_WORK_NONE;
    r->start = r->durable_end = r->high_water = 0;
    epochs_reset(&r->epochs, 0, 0);
    if (r->trust == LOG_ADOPTED)
        r->trust = LOG_BELIEVED;
}

/* Nobody else is in sync, and something is stored here: a person may still make use of it. */
static bool is_last_copy(const struct replica *r, const struct replica_member *self)
{
    return r->key.epoch > 0 && self->in_isr && replica_key_isr_size(&r->key) == 1 && r->log_end > 0;
}

/* Draws the next incarnation. Even a log that was being discarded anyway needs another one when it
 * is damaged: a leader that heard of us under the old one may be about to count us in. */
static void begin_anew(struct replica *r, const struct replica_member *self,
                       struct replica_effects *out)
{
    if (is_last_copy(r, self)) {
        if (r->read_before_giving_up > 0) { /* others may have joined since we last heard */
            if (!r->read.is_open)
                catalogue_want_read(r, 0);
            return;
        }
        quarantine(r, REPLICA_QUARANTINE_LAST_COPY, 0, out);
        return;
    }
    r->incarnation = r->random;
    r->may_register = true;
    r->trust = LOG_ADOPTED;
    effect_add(out, REPLICA_EFFECT_ADOPT)->adopt.incarnation = r->incarnation;
}

void join_settle(struct replica *r, struct replica_effects *out)
{
    const struct replica_member *self = replica_key_find(&r->key, r->config.broker);
    if (r->key.version == 0 || self == NULL || r->work != LOG_WORK_NONE)
        return;
    if (r->trust != LOG_DAMAGED && self->incarnation == r->incarnation) {
        if (r->trust == LOG_ADOPTED) {
            r->work = LOG_WORK_DISCARD;
            effect_add(out, REPLICA_EFFECT_DISCARD);
        }
        return;
    }
    /* Another incarnation than ours in the key: somebody has declared our data lost, or an old disk
     * came back. Only one that was just drawn may be registered. */
    if (r->trust == LOG_DAMAGED || !r->may_register)
        begin_anew(r, self, out);
    if (r->trust == LOG_DAMAGED || r->proposal.is_open)
        return;
    struct replica_key value = r->key;
    replica_key_renew(&value, r->config.broker, r->incarnation);
    catalogue_propose(r, &value, out);
}

// SPDX-License-Identifier: Apache-2.0
/* Who is in sync: what the leader proposes. */
#include "replica/state.h"

bool isr_is_maximal_member(const struct replica *r, size_t member)
{
    /* A proposal has the members of the key in the same places. */
    return r->key.members[member].in_isr ||
           (r->proposal.is_open && r->proposal.value.members[member].in_isr);
}

static bool is_lagging(const struct replica *r, const struct peer *p)
{
    return !p->is_live || r->now_ms - p->caught_up_ms > r->config.lag_max_ms;
}

/* It holds all that is committed: up to our high-water mark, and up to where our epoch began, since
 * a new leader's mark may be behind that of the old one (the model of KIP-966 calls this the rule
 * of the leader's epoch). It is heard of, and is meant to stay. */
static bool may_join(const struct replica *r, const struct peer *p)
{
    return p->has_fetched && p->acked >= r->high_water && p->acked >= r->leso && p->is_live &&
           !p->is_draining && r->now_ms - p->fetched_ms <= r->config.lag_max_ms;
}

static bool find_change(const struct replica *r, struct replica_key *value)
{
    /* Never below min_isr for being late: else the last one left may lose its data, come back, and
     * be followed by those who had everything (KIP-966's "last replica standing"). */
    bool may_shrink = replica_key_isr_size(&r->key) > r->key.min_isr;
    *value = r->key;
    for (size_t i = 0; i < r->key.members_n; i++) {
        const struct replica_member *m = &r->key.members[i];
        if (m->broker == r->config.broker)
            continue;
        if (m->in_isr ? may_shrink && is_lagging(r, &r->peers[i]) : may_join(r, &r->peers[i])) {
            value->members[i].in_isr = !m->in_isr;
            return true;
        }
    }
    return false;
}

void isr_settle(struct replica *r, struct replica_effects *out)
{
    struct replica_key value;
    if (!r->is_leading || r->proposal.is_open || r->ahead_epoch > r->key.epoch)
        return;
    if (find_change(r, &value))
        catalogue_propose(r, &value, out);
}

// SPDX-License-Identifier: Apache-2.0
/* Who leads, as far as the key says and the own log allows. */
#include "replica/state.h"

static enum replica_role role_of(const struct replica *r)
{
    if (r->quarantine != REPLICA_QUARANTINE_NONE || r->key.version == 0 ||
        r->key.state != REPLICA_KEY_OK || r->key.leader == 0)
        return REPLICA_ROLE_NONE;
    if (!join_is_registered(r) || r->trust != LOG_BELIEVED)
        return REPLICA_ROLE_NONE;
    if (r->key.leader != r->config.broker)
        return REPLICA_ROLE_FOLLOWER;
    /* An epoch that may have been led before a restart is over: lease ids would repeat, and what
     * was promised then is forgotten. The controller sees the new session and elects again. */
    return r->key.epoch > r->led_before ? REPLICA_ROLE_LEADER : REPLICA_ROLE_NONE;
}

void role_settle(struct replica *r, struct replica_effects *out)
{
    enum replica_role role = role_of(r);
    if (role == r->role && r->key.epoch == r->role_epoch && r->key.leader == r->role_leader)
        return;
    if (r->is_leading)
        effect_add(out, REPLICA_EFFECT_STOP_LEADING);
    r->role = role;
    r->role_epoch = r->key.epoch;
    r->role_leader = r->key.leader;
    leader_reset(r);
    follower_reset(r);
}

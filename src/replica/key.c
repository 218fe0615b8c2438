// SPDX-License-Identifier: Apache-2.0
#include "replica/key.h"

#include "base/check.h"

const struct replica_member *replica_key_find(const struct replica_key *k, uint32_t broker)
{
    for (size_t i = 0; i < k->members_n; i++)
        if (k->members[i].broker == broker)
            return &k->members[i];
    return NULL;
}

uint32_t replica_key_isr_size(const struct replica_key *k)
{
    uint32_t size = 0;
    for (size_t i = 0; i < k->members_n; i++)
        size += k->members[i].in_isr ? 1 : 0;
    return size;
}

static struct replica_member *member_of(struct replica_key *k, uint32_t broker)
{
    for (size_t i = 0; i < k->members_n; i++)
        if (k->members[i].broker == broker)
            return &k->members[i];
    UNREACHABLE();
}

void replica_key_put_in_isr(struct replica_key *k, uint32_t broker, bool in_isr)
{
    member_of(k, broker)->in_isr = in_isr;
}

void replica_key_renew(struct replica_key *k, uint32_t broker, uint64_t incarnation)
{
    struct replica_member *m = member_of(k, broker);
    m->incarnation = incarnation;
    m->in_isr = k->epoch == 0;
    if (k->epoch > 0 && replica_key_isr_size(k) == 0)
        k->state = REPLICA_KEY_LOST;
    if (k->leader == broker) {
        k->leader = 0;
        k->epoch++; /* so that its followers forget it at once */
    }
}

bool replica_key_is_valid(const struct replica_key *k)
{
    if (k->members_n > REPLICA_MEMBERS_MAX || k->min_isr == 0)
        return false;
    for (size_t i = 0; i < k->members_n; i++) {
        if (k->members[i].broker == 0)
            return false;
        for (size_t j = 0; j < i; j++)
            if (k->members[j].broker == k->members[i].broker)
                return false;
    }
    return k->leader == 0 || (k->epoch > 0 && replica_key_find(k, k->leader) != NULL);
}

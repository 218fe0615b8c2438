// SPDX-License-Identifier: Apache-2.0
#include "replica/elect.h"

static bool may_lead(const struct replica_key *k, const struct replica_candidate *c)
{
    const struct replica_member *m = replica_key_find(k, c->broker);
    return m != NULL && m->in_isr && m->incarnation == c->incarnation && c->is_live &&
           c->has_answered && c->is_well;
}

/* The longer log saves cutting; it is no matter of safety. */
static bool is_better(const struct replica_candidate *a, const struct replica_candidate *b)
{
    if (a->is_draining != b->is_draining)
        return !a->is_draining;
    if (a->last_epoch != b->last_epoch)
        return a->last_epoch > b->last_epoch;
    return a->durable_end > b->durable_end;
}

/* Somebody knows of committed records that this one does not hold: it has lost them, whatever its
 * incarnation says. */
static bool has_lost(const struct replica_candidate *c, const struct replica_candidate *all,
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].has_answered && all[i].high_water > c->durable_end)
            return true;
    return false;
}

/* Dead members leave, as far as min_isr allows. */
static void drop_dead(struct replica_key *k, const struct replica_candidate *candidates, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        const struct replica_candidate *c = &candidates[i];
        const struct replica_member *m = replica_key_find(k, c->broker);
        if (m == NULL || !m->in_isr || c->is_live || c->broker == k->leader)
            continue;
        if (replica_key_isr_size(k) > k->min_isr)
            replica_key_put_in_isr(k, c->broker, false);
    }
}

enum replica_choice replica_elect(const struct replica_key *k,
                                  const struct replica_candidate *candidates, size_t n, uint64_t op,
                                  struct replica_key *out)
{
    const struct replica_candidate *choice = NULL;
    bool evidence = false;
    /* The first leader waits for enough members; later there may be fewer, when data were lost, and
     * the one who is left must lead so that the others can copy from it. */
    if (k->state != REPLICA_KEY_OK || (k->epoch == 0 && replica_key_isr_size(k) < k->min_isr))
        return REPLICA_CHOICE_NOBODY;
    for (size_t i = 0; i < n; i++) {
        const struct replica_candidate *c = &candidates[i];
        if (!may_lead(k, c))
            continue;
        if (has_lost(c, candidates, n))
            evidence = true;
        else if (choice == NULL || is_better(c, choice))
            choice = c;
    }
    if (choice == NULL && !evidence)
        return REPLICA_CHOICE_NOBODY;
    struct replica_key next = *k;
    next.op = op;
    next.leader = choice == NULL ? 0 : choice->broker;
    next.epoch = k->epoch + 1;
    if (choice == NULL)
        next.state = REPLICA_KEY_INCONSISTENT;
    else
        drop_dead(&next, candidates, n);
    *out = next;
    return choice == NULL ? REPLICA_CHOICE_INCONSISTENT : REPLICA_CHOICE_MADE;
}

// SPDX-License-Identifier: Apache-2.0
#include "cluster/election.h"

#include <string.h>

#include "base/mem.h"
#include "replica/elect.h"

void cluster_elections_fini(struct cluster_elections *e)
{
    mem_free(e->at);
    mem_free(e->waiting);
    *e = (struct cluster_elections){.at = NULL};
}

void cluster_elections_clear(struct cluster_elections *e)
{
    e->n = e->waiting_n = 0;
    e->round = CLUSTER_ROUND_NONE;
}

void cluster_elections_add(struct cluster_elections *e, const struct wire_partition *of,
                           const struct replica_key *key, uint32_t preferred)
{
    if (e->n == e->room) {
        e->room = e->room == 0 ? 16 : 2 * e->room;
        e->at = mem_resize(e->at, e->room * sizeof e->at[0]);
    }
    e->at[e->n++] = (struct cluster_election){
        .of = *of, .version = key->version, .preferred = preferred, .key = *key};
}

static bool is_same(const struct wire_partition *a, const struct wire_partition *b)
{
    return a->partition == b->partition && memcmp(a->topic, b->topic, sizeof a->topic) == 0;
}

/* Answers come in the order of the questions, so the next one is looked for behind the last. */
static struct cluster_election *find(struct cluster_elections *e, const struct wire_partition *of,
                                     size_t *hint)
{
    for (size_t i = 0; i < e->n; i++) {
        size_t at = (*hint + i) % e->n;
        if (is_same(&e->at[at].of, of)) {
            *hint = at + 1;
            return &e->at[at];
        }
    }
    return NULL;
}

void cluster_elections_hear(struct cluster_elections *e, uint32_t broker,
                            const struct wire_state_part *part, size_t *hint)
{
    struct cluster_election *one = find(e, &part->of, hint);
    if (one == NULL || !part->is_there)
        return;
    for (size_t i = 0; i < one->key.members_n; i++) {
        struct cluster_election_said *said = &one->said[i];
        if (one->key.members[i].broker != broker)
            continue;
        if (e->round == CLUSTER_ROUND_MARKS) {
            said->has_mark = true;
            said->high_water = part->status.high_water;
        } else if (said->has_mark) {
            said->has_end = true;
            said->status = part->status;
        }
    }
}

void cluster_elections_done(struct cluster_elections *e, uint32_t broker)
{
    for (size_t i = 0; i < e->waiting_n; i++)
        if (e->waiting[i] == broker) {
            e->waiting[i] = e->waiting[--e->waiting_n];
            return;
        }
}

/* A live member of the in-sync set that has said nothing may hold what the others lack. */
static bool all_have_spoken(const struct cluster_election *e,
                            const bool is_usable[REPLICA_MEMBERS_MAX])
{
    for (size_t i = 0; i < e->key.members_n; i++)
        if (e->key.members[i].in_isr && is_usable[i] && !e->said[i].has_end)
            return false;
    return true;
}

enum replica_choice cluster_election_choose(const struct cluster_election *e,
                                            const bool is_usable[REPLICA_MEMBERS_MAX],
                                            const bool is_draining[REPLICA_MEMBERS_MAX],
                                            uint64_t op, struct replica_key *out)
{
    struct replica_candidate candidates[REPLICA_MEMBERS_MAX];
    struct replica_key next;
    memset(candidates, 0, sizeof candidates);
    for (size_t i = 0; i < e->key.members_n; i++) {
        const struct cluster_election_said *said = &e->said[i];
        struct replica_candidate *c = &candidates[i];
        c->broker = e->key.members[i].broker;
        c->is_live = is_usable[i];
        c->is_draining = is_draining[i];
        c->has_answered = said->has_mark; /* a mark alone is evidence; leading takes both answers */
        c->high_water = said->high_water;
        if (!said->has_end)
            continue;
        c->is_well = said->status.health == REPLICA_HEALTH_OK &&
                     (e->preferred == 0 || e->preferred == c->broker);
        c->incarnation = said->status.incarnation;
        c->last_epoch = said->status.last_epoch;
        c->durable_end = said->status.durable_end;
    }
    enum replica_choice choice = replica_elect(&e->key, candidates, e->key.members_n, op, &next);
    if (choice == REPLICA_CHOICE_INCONSISTENT &&
        (e->preferred != 0 || !all_have_spoken(e, is_usable)))
        choice = REPLICA_CHOICE_NOBODY;
    if (choice != REPLICA_CHOICE_NOBODY)
        *out = next;
    return choice;
}

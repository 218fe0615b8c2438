// SPDX-License-Identifier: Apache-2.0
/* The controller: elects when the leader's session is gone or new, or by mistake. */
#include <inttypes.h>
#include <string.h>

#include "sim/replica/world.h"

enum { QUESTION_MAX_MS = 250 };

static bool leader_is_gone(struct world *w)
{
    const struct replica_key *k = world_key(w);
    if (k->leader == 0)
        return true;
    const struct node *leader = &w->nodes[k->leader - 1];
    return !leader->is_live || leader->session != w->leader_session;
}

static void open_election(struct world *w)
{
    struct election *el = &w->election;
    *el = (struct election){.is_open = true, .key = *world_key(w), .n = w->nodes_n};
    size_t first = draw(w, w->nodes_n);
    for (size_t i = 0; i < w->nodes_n; i++) {
        size_t of = (first + i) % w->nodes_n;
        el->candidates[i] = (struct replica_candidate){.broker = (uint32_t)of + 1,
                                                       .is_live = w->nodes[of].is_live,
                                                       .is_draining = chance(w, 10)};
        el->sessions[i] = w->nodes[of].session;
        for (uint64_t round = 0; round < 2; round++) {
            struct item item = {.type = ITEM_QUESTION, .node = of, .from = i, .number = round};
            world_send(w,
                       1 + (int64_t)(round * QUESTION_MAX_MS) + (int64_t)draw(w, QUESTION_MAX_MS),
                       &item);
        }
    }
    struct item item = {.type = ITEM_DECISION};
    world_send(w, 2 * QUESTION_MAX_MS + 2, &item);
}

/* First all high-water marks, then all the rest: elect.h says why. */
static void on_question(struct world *w, const struct item *item)
{
    const struct node *n = &w->nodes[item->node];
    struct replica_candidate *c = &w->election.candidates[item->from];
    struct replica_status status;
    if (n->replica == NULL || n->cut_from_controller || n->paused_until_ms > w->now_ms)
        return;
    replica_look(n->replica, &status);
    if (item->number == 0) {
        c->high_water = status.high_water;
        return;
    }
    c->has_answered = true;
    c->is_well = status.health == REPLICA_HEALTH_OK;
    c->incarnation = status.incarnation;
    c->last_epoch = status.last_epoch;
    c->durable_end = status.durable_end;
}

/* One with lost data was chosen, or nobody could be: was there anything that told? */
static void judge_choice(struct world *w, uint32_t leader)
{
    const struct election *el = &w->election;
    if (leader == 0 || !w->nodes[leader - 1].store.is_excused)
        return;
    uint64_t end = w->nodes[leader - 1].store.durable;
    uint64_t said_end = 0; /* it may have lost more since */
    for (size_t i = 0; i < el->n; i++)
        if (el->candidates[i].broker == leader)
            said_end = el->candidates[i].durable_end;
    for (size_t i = 0; i < el->n; i++)
        if (el->candidates[i].has_answered && el->candidates[i].high_water > said_end)
            world_break(w, "one is elected against the evidence");
    if (end < w->committed_end)
        w->ended = "what a lying disk lost was lost, and nobody could know";
}

static void on_decision(struct world *w)
{
    struct election *el = &w->election;
    struct replica_key next;
    el->is_open = false;
    enum replica_choice choice = replica_elect(&el->key, el->candidates, el->n, draw_id(w), &next);
    if (choice == REPLICA_CHOICE_NOBODY || !catalogue_apply(w, &next))
        return;
    w->seen.elections++;
    if (choice == REPLICA_CHOICE_INCONSISTENT) {
        if (!w->weather.lies)
            world_break(w, "the controller believes in a loss that is none");
        else
            w->ended = "a lying disk was found out";
        return;
    }
    judge_choice(w, next.leader);
    for (size_t i = 0; i < el->n; i++)
        if (el->candidates[i].broker == next.leader)
            w->leader_session = el->sessions[i];
}

/* A new epoch under the same leader is an election without questions: it must not have been away.
 */
static bool leads_on(const struct world *w, const struct replica_key *k)
{
    struct replica_status status;
    const struct replica *r = k->leader == 0 ? NULL : w->nodes[k->leader - 1].replica;
    if (r == NULL)
        return false;
    replica_look(r, &status);
    return status.is_leading && status.epoch == k->epoch;
}

/* A reassignment's two steps: a broker becomes a member without data; a member goes, which takes no
 * more than min_isr allows, and begins a new epoch. */
void control_members(struct world *w)
{
    struct replica_key k = *world_key(w);
    uint32_t broker = 1 + (uint32_t)draw(w, w->nodes_n);
    const struct replica_member *m = replica_key_find(&k, broker);
    if (k.epoch == 0 || k.state != REPLICA_KEY_OK)
        return;
    if (m == NULL) {
        k.members[k.members_n++] = (struct replica_member){.broker = broker};
    } else {
        size_t at = (size_t)(m - k.members);
        if (broker == k.leader || k.members_n <= 3 || !leads_on(w, &k) ||
            replica_key_isr_size(&k) - (m->in_isr ? 1 : 0) < k.min_isr)
            return;
        k.members_n--;
        memmove(&k.members[at], &k.members[at + 1], (k.members_n - at) * sizeof k.members[0]);
        k.epoch++;
    }
    world_say(w, "%u %s", broker, m == NULL ? "becomes a member" : "is a member no more");
    k.op = draw_id(w);
    w->seen.reassigned += catalogue_apply(w, &k) ? 1 : 0;
}

void control_on_item(struct world *w, struct item *item)
{
    if (item->type == ITEM_QUESTION) {
        on_question(w, item);
        return;
    }
    if (item->type == ITEM_DECISION) {
        on_decision(w);
        return;
    }
    struct item again = {.type = ITEM_CONTROL};
    world_send(w, 200 + (int64_t)draw(w, 600), &again);
    if (w->election.is_open || (w->controller_is_down && !w->is_healed))
        return;
    bool is_mistaken = !w->is_healed && chance(w, w->weather.mistaken_percent);
    if (world_key(w)->state == REPLICA_KEY_OK && (leader_is_gone(w) || is_mistaken))
        open_election(w);
}

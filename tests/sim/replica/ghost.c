// SPDX-License-Identifier: Apache-2.0
/* What must hold after each step, judged by one who sees everything. */
#include <inttypes.h>
#include <stdarg.h>

#include "sim/replica/world.h"

static bool holds(const struct store *s, const struct world *w, uint64_t from, uint64_t to)
{
    for (uint64_t at = from > s->start ? from : s->start; at < to; at++)
        if (at >= s->durable || s->log[at].epoch != w->committed[at].epoch ||
            s->log[at].value != w->committed[at].value)
            return false;
    return true;
}

static bool is_registered_member(const struct world *w, const struct node *n)
{
    const struct replica_member *m = replica_key_find(world_key(w), n->broker);
    return m != NULL && m->in_isr && n->store.exists && m->incarnation == n->store.incarnation;
}

bool ghost_is_good(const struct world *w, const struct node *n)
{
    return is_registered_member(w, n) && !n->store.is_excused && !n->store.is_adopted;
}

bool ghost_holds_all(const struct world *w, const struct node *n)
{
    return holds(&n->store, w, 0, w->committed_end);
}

/* I5: whoever may be elected holds all that is committed. */
static void check_members(struct world *w, uint64_t from)
{
    for (size_t i = 0; i < w->nodes_n; i++)
        if (ghost_is_good(w, &w->nodes[i]) &&
            !holds(&w->nodes[i].store, w, from, w->committed_end)) {
            world_say(w, "%u lacks something below %" PRIu64, w->nodes[i].broker, w->committed_end);
            world_break(w, "an in-sync member does not hold what is committed");
        }
}

void ghost_stored(struct world *w)
{
    check_members(w, 0);
}

void ghost_high_water(struct world *w, struct node *n, uint64_t from, uint64_t to)
{
    struct replica_status status;
    replica_look(n->replica, &status);
    if (to < from)
        world_break(w, "a high-water mark went back");
    if (to > n->store.durable)
        world_break(w, "what is not durable was committed");
    if (status.is_leading && status.isr_size < status.min_isr)
        world_break(w, "committed with fewer than min_isr in sync");
    uint64_t known = w->committed_end;
    for (uint64_t at = from > n->store.start ? from : n->store.start; at < to; at++) {
        const struct entry *own = &n->store.log[at];
        if (at >= w->committed_end) {
            if (!status.is_leading)
                world_break(w, "a follower commits before its leader");
            w->committed[w->committed_end++] = *own;
            w->seen.commits++;
        }
        if (own->epoch != w->committed[at].epoch || own->value != w->committed[at].value)
            world_break(w, "two records are committed at one offset");
    }
    if (w->committed_end > known)
        check_members(w, known);
}

void ghost_lead(struct world *w, struct node *n, uint64_t epoch)
{
    if (w->led_by[epoch] != 0)
        world_break(w, "an epoch is led twice");
    w->led_by[epoch] = n->broker;
}

void ghost_ready(struct world *w, struct node *n)
{
    struct replica_status status;
    replica_look(n->replica, &status);
    w->ready_ms[status.epoch] = w->now_ms;
}

void ghost_cut(struct world *w, struct node *n, uint64_t end)
{
    world_say(w, "%u cuts its log at %" PRIu64, n->broker, end);
    if (end < n->seen_high_water)
        world_break(w, "a log is cut below its high-water mark");
}

void ghost_key(struct world *w, const struct replica_key *old, const struct replica_key *new)
{
    uint32_t was = replica_key_isr_size(old), is = replica_key_isr_size(new);
    bool is_renewed = false;
    for (size_t i = 0; i < new->members_n; i++) {
        const struct replica_member *before = replica_key_find(old, new->members[i].broker);
        is_renewed =
            is_renewed || (before != NULL && new->members[i].incarnation != before->incarnation);
    }
    if (new->epoch < old->epoch || new->epoch > old->epoch + 1)
        world_break(w, "an epoch goes back, or jumps");
    if (is < was && is < new->min_isr && !is_renewed)
        world_break(w, "the in-sync set shrinks below min_isr");
    if (new->state == REPLICA_KEY_LOST)
        world_break(w, "all is lost though a member lives");
    uint32_t *most = w->members_most;
    if (new->epoch < EPOCHS_ROOM && most[new->epoch] < new->members_n)
        most[new->epoch] = new->members_n;
    if (new->epoch < EPOCHS_ROOM && most[new->epoch] < old->members_n)
        most[new->epoch] = old->members_n;
    w->seen.shrinks += is < was ? 1 : 0;
    w->seen.expands += is > was ? 1 : 0;
    if (new->epoch + 1 >= EPOCHS_ROOM)
        w->ended = "no more epochs";
    check_members(w, 0);
}

void ghost_quarantine(struct world *w, struct node *n, const struct replica_effect *effect)
{
    world_say(w, "%u is quarantined, reason %d at %" PRIu64, n->broker,
              (int)effect->quarantine.reason, effect->quarantine.offset);
    if (effect->quarantine.reason != REPLICA_QUARANTINE_DISK)
        world_break(w, "a replica sees proof of loss");
}

/* Whether two sets of min_isr members must meet, of all that were members since an epoch began: a
 * zombie may not know yet that one has been removed. */
static bool is_exclusive(const struct world *w, uint64_t since_epoch)
{
    const struct replica_key *k = world_key(w);
    uint32_t most = k->members_n;
    for (uint64_t epoch = since_epoch; epoch <= k->epoch && epoch < EPOCHS_ROOM; epoch++)
        most = w->members_most[epoch] > most ? w->members_most[epoch] : most;
    return 2 * k->min_isr > most;
}

/* A zombie hands out nothing once the next leader has been at work for longer than fresh_ms. */
void ghost_gates(struct world *w, struct node *n)
{
    struct replica_status status;
    struct replica_config config;
    replica_config_default(&config, n->broker);
    if (n->replica == NULL ||
        replica_may_receive(n->replica, w->now_ms + n->clock_ms) != REPLICA_GATE_OPEN)
        return;
    replica_look(n->replica, &status);
    if (!is_exclusive(w, status.epoch))
        return;
    for (uint64_t epoch = status.epoch + 1; epoch <= world_key(w)->epoch; epoch++)
        if (w->ready_ms[epoch] != 0 && w->now_ms - w->ready_ms[epoch] > config.fresh_ms)
            world_break(w, "a zombie serves though another leads");
}

void ghost_rest(struct world *w)
{
    const struct replica_key *k = world_key(w);
    struct replica_status status;
    if (w->ended != NULL)
        return;
    if (k->leader == 0 || w->nodes[k->leader - 1].replica == NULL) {
        world_break(w, "all is well, and nobody leads");
        return;
    }
    struct node *leader = &w->nodes[k->leader - 1];
    replica_look(leader->replica, &status);
    if (!status.is_ready || status.high_water != status.durable_end ||
        status.durable_end != leader->store.end)
        world_break(w, "all is well, and the leader commits nothing");
    if (replica_may_receive(leader->replica, w->now_ms + leader->clock_ms) != REPLICA_GATE_OPEN)
        world_break(w, "all is well, and the leader does not serve");
    if (replica_key_isr_size(k) != k->members_n)
        world_break(w, "all is well, and not all are in sync");
    for (size_t i = 0; i < w->nodes_n; i++) {
        if (replica_key_find(k, w->nodes[i].broker) == NULL)
            continue;
        if (w->nodes[i].store.durable != status.durable_end ||
            !holds(&w->nodes[i].store, w, 0, w->committed_end))
            world_break(w, "all is well, and the logs differ");
    }
}

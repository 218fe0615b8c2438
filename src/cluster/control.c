// SPDX-License-Identifier: Apache-2.0
#include "cluster/control.h"

#include <string.h>

#include "base/mem.h"
#include "base/note.h"
#include "cluster/election.h"

enum { LOOKS_MAX = 1000 }; /* partitions in one question */

/* What is thought of a broker, beside the view. */
struct opinion {
    uint32_t broker;
    bool was_live;
    int64_t vanished_ms;          /* when it ceased to be; counts while it is not live */
    bool is_suspect;              /* nobody listened there */
    int64_t suspect_session;      /* in this session; another one clears it */
    int64_t look_ms;              /* the next question to it */
    uint64_t look_serial;         /* of the one that is out, or 0 */
    struct wire_partition *looks; /* being gathered for the next; owned by the action then */
    size_t looks_n, looks_room;
};

struct cluster_control {
    struct cluster_control_config config;
    uint64_t reign; /* 0: not begun */
    bool is_new;    /* no step was taken in this reign */
    uint64_t serial;
    struct opinion *opinions;
    size_t opinions_n, opinions_room;
    int64_t hold_until_ms; /* no election before */
    int64_t prefer_ms;     /* the next look at who should lead */
    struct cluster_elections elections;
};

void cluster_control_config_default(struct cluster_control_config *c)
{
    *c = (struct cluster_control_config){.answer_ms = 500,
                                         .ask_ms = 500,
                                         .look_ms = 5000,
                                         .lead_ms = 3000,
                                         .retry_ms = 300,
                                         .vanish_ms = 1000,
                                         .hold_ms = 6000,
                                         .prefer_ms = 300000,
                                         .elections_max = 600};
}

struct cluster_control *cluster_control_new(const struct cluster_control_config *config)
{
    struct cluster_control *c = mem_new(sizeof *c);
    c->config = *config;
    return c;
}

static void opinions_clear(struct cluster_control *c)
{
    for (size_t i = 0; i < c->opinions_n; i++)
        mem_free(c->opinions[i].looks);
    c->opinions_n = 0;
}

void cluster_control_free(struct cluster_control *c)
{
    if (c == NULL)
        return;
    opinions_clear(c);
    mem_free(c->opinions);
    cluster_elections_fini(&c->elections);
    mem_free(c);
}

void cluster_control_begin(struct cluster_control *c, uint64_t reign, int64_t now_ms)
{
    CHECK(reign > c->reign);
    c->reign = reign;
    c->is_new = true;
    c->hold_until_ms = now_ms;
    c->prefer_ms = now_ms + c->config.prefer_ms;
    opinions_clear(c);
    cluster_elections_clear(&c->elections);
}

void cluster_actions_fini(struct cluster_actions *a)
{
    for (size_t i = 0; i < a->n; i++)
        mem_free(a->at[i].of);
    mem_free(a->at);
    *a = (struct cluster_actions){.at = NULL};
}

static struct cluster_action *action_add(struct cluster_actions *a, enum cluster_action_kind kind)
{
    if (a->n == a->room) {
        a->room = a->room == 0 ? 16 : 2 * a->room;
        a->at = mem_resize(a->at, a->room * sizeof a->at[0]);
    }
    a->at[a->n] = (struct cluster_action){.kind = kind};
    return &a->at[a->n++];
}

/* ---- brokers ---- */

static struct opinion *opinion_of(struct cluster_control *c, uint32_t broker)
{
    for (size_t i = 0; i < c->opinions_n; i++)
        if (c->opinions[i].broker == broker)
            return &c->opinions[i];
    return NULL;
}

static struct opinion *opinion_make(struct cluster_control *c, uint32_t broker)
{
    struct opinion *o = opinion_of(c, broker);
    if (o != NULL)
        return o;
    if (c->opinions_n == c->opinions_room) {
        c->opinions_room = c->opinions_room == 0 ? 8 : 2 * c->opinions_room;
        c->opinions = mem_resize(c->opinions, c->opinions_room * sizeof c->opinions[0]);
    }
    o = &c->opinions[c->opinions_n++];
    *o = (struct opinion){.broker = broker, .vanished_ms = INT64_MIN / 2};
    return o;
}

/* Lives, as far as can be told, and somebody listens there. */
static bool is_usable(struct cluster_control *c, const struct cluster_view *v, uint32_t broker)
{
    const struct opinion *o = opinion_of(c, broker);
    return cluster_view_is_live(v, broker) && (o == NULL || !o->is_suspect);
}

/* Control-plane trouble looks like the death of most brokers at once: their leases ran out while
 * nobody could renew them. Electing among the few that are back first would only move everything
 * twice. */
static void hold_if_most_vanished(struct cluster_control *c, bool has_vanished, int64_t now_ms)
{
    size_t live = 0, gone = 0;
    bool is_held = now_ms < c->hold_until_ms;
    int64_t since_ms =
        (is_held ? c->hold_until_ms - c->config.hold_ms : now_ms) - c->config.vanish_ms;
    for (size_t i = 0; i < c->opinions_n; i++) {
        live += c->opinions[i].was_live;
        gone += !c->opinions[i].was_live && c->opinions[i].vanished_ms > since_ms;
    }
    bool is_most = gone > live;
    if (is_held && !is_most) {
        c->hold_until_ms = now_ms; /* they are back */
    } else if (!is_held && is_most && has_vanished) {
        c->hold_until_ms = now_ms + c->config.hold_ms;
        note(NOTE_WARNING, "cluster",
             "%zu of %zu brokers are gone at once: elections wait for %lld s", gone, gone + live,
             (long long)(c->config.hold_ms / 1000));
    }
}

static void brokers_look(struct cluster_control *c, const struct cluster_view *v, int64_t now_ms)
{
    bool has_vanished = false;
    for (size_t i = 0; i < v->members_n; i++) {
        const struct cluster_member *m = &v->members[i];
        struct opinion *o = opinion_make(c, m->broker);
        if (o->is_suspect && m->session.session != o->suspect_session)
            o->is_suspect = false;
        bool is_live = m->is_live && !o->is_suspect;
        /* At the beginning those that are registered and away count as just gone. */
        bool was_live =
            c->is_new ? m->is_known && m->key.state != CLUSTER_BROKER_REMOVED : o->was_live;
        if (was_live && !is_live) {
            o->vanished_ms = now_ms;
            has_vanished = true;
        }
        o->was_live = is_live;
    }
    hold_if_most_vanished(c, has_vanished, now_ms);
    c->is_new = false;
}

/* ---- which partitions need a leader ---- */

static struct cluster_control_mark *mark_of(struct cluster_control *c, struct cluster_partition *p,
                                            int64_t now_ms)
{
    struct cluster_control_mark *m = &p->mark;
    if (m->reign != c->reign || m->epoch != p->key.epoch)
        *m = (struct cluster_control_mark){.reign = c->reign,
                                           .epoch = p->key.epoch,
                                           .first_seen_ms = now_ms,
                                           .asked_ms = now_ms - c->config.ask_ms,
                                           .retry_ms = now_ms};
    return m;
}

/* Could anybody lead? `not_draining`: one that will stay. */
static bool has_candidate(struct cluster_control *c, const struct cluster_view *v,
                          const struct replica_key *k, bool not_draining)
{
    for (size_t i = 0; i < k->members_n; i++) {
        uint32_t broker = k->members[i].broker;
        if (k->members[i].in_isr && is_usable(c, v, broker) &&
            !(not_draining && cluster_view_is_draining(v, broker)))
            return true;
    }
    return false;
}

static bool needs_leader(struct cluster_control *c, const struct cluster_view *v,
                         const struct cluster_partition *p)
{
    const struct replica_key *k = &p->key;
    const struct cluster_control_mark *mark = &p->mark;
    const struct cluster_member *leader = cluster_view_member(v, k->leader);
    if (k->state != REPLICA_KEY_OK)
        return false;
    if (k->leader == 0) /* in epoch 0 its members have yet to come together */
        return (k->epoch > 0 || replica_key_isr_size(k) >= k->min_isr) &&
               has_candidate(c, v, k, false);
    if (!is_usable(c, v, k->leader) || mark->is_bad ||
        (mark->leader_session != 0 && leader->session.session != mark->leader_session))
        return has_candidate(c, v, k, false);
    return cluster_view_is_draining(v, k->leader) && has_candidate(c, v, k, true);
}

/* The first member that could lead for long, when that is not the one who does. */
static uint32_t better_leader(struct cluster_control *c, const struct cluster_view *v,
                              const struct cluster_partition *p)
{
    const struct replica_key *k = &p->key;
    if (k->state != REPLICA_KEY_OK || k->leader == 0 || p->mark.leader_session == 0)
        return 0;
    for (size_t i = 0; i < k->members_n; i++) {
        uint32_t broker = k->members[i].broker;
        if (broker == k->leader)
            return 0;
        if (k->members[i].in_isr && is_usable(c, v, broker) && !cluster_view_is_draining(v, broker))
            return broker;
    }
    return 0;
}

static struct wire_partition wire_of(const struct cluster_topic *t, uint32_t partition)
{
    struct wire_partition of = {.partition = partition};
    memcpy(of.topic, t->id, sizeof of.topic);
    return of;
}

/* The leader is asked whether it leads: soon when it has not said so yet, else now and then. */
static void look_gather(struct cluster_control *c, const struct cluster_topic *t, uint32_t n,
                        int64_t now_ms)
{
    struct cluster_partition *p = &t->partitions[n];
    struct opinion *o = opinion_of(c, p->key.leader);
    int64_t pause_ms = p->mark.leader_session == 0 ? c->config.ask_ms : c->config.look_ms;
    if (o == NULL || !o->was_live || now_ms < o->look_ms || o->looks_n == LOOKS_MAX ||
        now_ms - p->mark.asked_ms < pause_ms)
        return;
    if (o->looks_n == o->looks_room) {
        o->looks_room = o->looks_room == 0 ? 16 : 2 * o->looks_room;
        o->looks = mem_resize(o->looks, o->looks_room * sizeof o->looks[0]);
    }
    o->looks[o->looks_n++] = wire_of(t, n);
    p->mark.asked_ms = now_ms;
}

/* An operator has asked for the first member, and that one could lead. 0: no. */
static uint32_t wished_leader(struct cluster_control *c, const struct cluster_view *v,
                              const struct cluster_partition *p)
{
    const struct replica_key *k = &p->key;
    if (k->wish_epoch == 0 || k->wish_epoch != k->epoch)
        return 0;
    return better_leader(c, v, p) == k->members[0].broker ? k->members[0].broker : 0;
}

static void partitions_look(struct cluster_control *c, const struct cluster_view *v, int64_t now_ms)
{
    bool may_elect = c->elections.round == CLUSTER_ROUND_NONE && now_ms >= c->hold_until_ms;
    for (const struct cluster_topic *t = v->topics; t != NULL; t = t->next)
        for (uint32_t i = 0; i < t->partitions_n; i++) {
            struct cluster_partition *p = &t->partitions[i];
            if (!p->is_known)
                continue;
            struct cluster_control_mark *mark = mark_of(c, p, now_ms);
            uint32_t wished = wished_leader(c, v, p);
            if (p->key.leader != 0 && !needs_leader(c, v, p))
                look_gather(c, t, i, now_ms);
            if ((wished != 0 || needs_leader(c, v, p)) && may_elect && now_ms >= mark->retry_ms &&
                c->elections.n < c->config.elections_max) {
                struct wire_partition of = wire_of(t, i);
                mark->retry_ms = now_ms + c->config.retry_ms;
                cluster_elections_add(&c->elections, &of, &p->key,
                                      needs_leader(c, v, p) ? 0 : wished);
            }
        }
}

/* Every so often a tenth of the leaders go back to where they were placed, when that lives again.
 */
static void preferences_look(struct cluster_control *c, const struct cluster_view *v,
                             int64_t now_ms)
{
    size_t leaders = 0;
    if (now_ms < c->prefer_ms || now_ms < c->hold_until_ms || c->elections.n > 0)
        return;
    c->prefer_ms = now_ms + c->config.prefer_ms;
    for (const struct cluster_topic *t = v->topics; t != NULL; t = t->next)
        for (uint32_t i = 0; i < t->partitions_n; i++)
            leaders += t->partitions[i].is_known && t->partitions[i].key.leader != 0;
    size_t moves_max = (leaders + 9) / 10;
    if (moves_max > c->config.elections_max)
        moves_max = c->config.elections_max;
    for (const struct cluster_topic *t = v->topics; t != NULL; t = t->next)
        for (uint32_t i = 0; i < t->partitions_n; i++) {
            struct cluster_partition *p = &t->partitions[i];
            uint32_t better = p->is_known ? better_leader(c, v, p) : 0;
            if (better == 0 || c->elections.n == moves_max)
                continue;
            struct wire_partition of = wire_of(t, i);
            cluster_elections_add(&c->elections, &of, &p->key, better);
        }
}

/* ---- elections ---- */

static void waiting_add(struct cluster_elections *e, uint32_t broker)
{
    if (e->waiting_n == e->waiting_room) {
        e->waiting_room = e->waiting_room == 0 ? 8 : 2 * e->waiting_room;
        e->waiting = mem_resize(e->waiting, e->waiting_room * sizeof e->waiting[0]);
    }
    e->waiting[e->waiting_n++] = broker;
}

static bool is_asked(const struct cluster_election *e, enum cluster_round round, uint32_t broker)
{
    for (size_t i = 0; i < e->key.members_n; i++)
        if (e->key.members[i].broker == broker)
            return round == CLUSTER_ROUND_MARKS || e->said[i].has_mark;
    return false;
}

static void round_begin(struct cluster_control *c, const struct cluster_view *v,
                        enum cluster_round round, int64_t now_ms, struct cluster_actions *out)
{
    struct cluster_elections *e = &c->elections;
    e->round = round;
    e->serial = ++c->serial;
    e->deadline_ms = now_ms + c->config.answer_ms;
    e->waiting_n = 0;
    for (size_t b = 0; b < v->members_n; b++) {
        uint32_t broker = v->members[b].broker;
        struct wire_partition *of = NULL;
        size_t n = 0;
        if (!is_usable(c, v, broker))
            continue;
        for (size_t i = 0; i < e->n; i++) {
            if (!is_asked(&e->at[i], round, broker))
                continue;
            if (of == NULL)
                of = mem_new_array(e->n, sizeof of[0]);
            of[n++] = e->at[i].of;
        }
        if (n == 0)
            continue;
        struct cluster_action *ask = action_add(out, CLUSTER_ACTION_ASK);
        ask->serial = e->serial;
        ask->broker = broker;
        ask->of = of;
        ask->of_n = n;
        waiting_add(e, broker);
    }
}

static void choose(struct cluster_control *c, const struct cluster_view *v,
                   const struct cluster_election *e, struct rng *rng, struct cluster_actions *out)
{
    const struct cluster_partition *p = cluster_view_partition(v, e->of.topic, e->of.partition);
    bool usable[REPLICA_MEMBERS_MAX] = {false}, draining[REPLICA_MEMBERS_MAX] = {false};
    struct replica_key next;
    if (p == NULL || p->key.version != e->version)
        return; /* it has moved meanwhile */
    for (size_t i = 0; i < e->key.members_n; i++) {
        usable[i] = is_usable(c, v, e->key.members[i].broker);
        draining[i] = cluster_view_is_draining(v, e->key.members[i].broker);
    }
    enum replica_choice choice =
        cluster_election_choose(e, usable, draining, rng_next(rng) | 1, &next);
    if (choice == REPLICA_CHOICE_NOBODY)
        return;
    /* A leader that was only asked to make room, and for whom nobody can stand in, stays. */
    if (choice == REPLICA_CHOICE_MADE && next.leader == e->key.leader && !p->mark.is_bad &&
        is_usable(c, v, next.leader) && cluster_view_is_draining(v, next.leader) &&
        p->mark.leader_session == cluster_view_member(v, next.leader)->session.session)
        return;
    struct cluster_action *swap = action_add(out, CLUSTER_ACTION_SWAP);
    swap->swapped = e->of;
    swap->value = next;
}

static void elections_step(struct cluster_control *c, const struct cluster_view *v, int64_t now_ms,
                           struct rng *rng, struct cluster_actions *out)
{
    struct cluster_elections *e = &c->elections;
    if (e->round == CLUSTER_ROUND_NONE && e->n > 0) {
        round_begin(c, v, CLUSTER_ROUND_MARKS, now_ms, out);
        return;
    }
    if (e->round == CLUSTER_ROUND_NONE || (e->waiting_n > 0 && now_ms < e->deadline_ms))
        return;
    if (e->round == CLUSTER_ROUND_MARKS) {
        round_begin(c, v, CLUSTER_ROUND_ENDS, now_ms, out);
        return;
    }
    for (size_t i = 0; i < e->n; i++)
        choose(c, v, &e->at[i], rng, out);
    cluster_elections_clear(e);
}

/* ---- looks ---- */

/* Each broker is asked though it leads nothing: so it is seen when nobody listens there. */
static void looks_send(struct cluster_control *c, const struct cluster_view *v, int64_t now_ms,
                       struct cluster_actions *out)
{
    for (size_t i = 0; i < c->opinions_n; i++) {
        struct opinion *o = &c->opinions[i];
        if (now_ms < o->look_ms || !cluster_view_is_live(v, o->broker))
            continue;
        struct cluster_action *ask = action_add(out, CLUSTER_ACTION_ASK);
        ask->serial = o->look_serial = ++c->serial;
        ask->broker = o->broker;
        ask->of = o->looks;
        ask->of_n = o->looks_n;
        o->looks = NULL;
        o->looks_n = o->looks_room = 0;
        o->look_ms = now_ms + c->config.ask_ms;
    }
}

static void look_hear(struct cluster_control *c, const struct cluster_view *v, uint32_t broker,
                      const struct wire_state_part *part, int64_t now_ms)
{
    struct cluster_partition *p = cluster_view_partition(v, part->of.topic, part->of.partition);
    const struct cluster_member *m = cluster_view_member(v, broker);
    if (p == NULL || p->key.leader != broker || p->mark.reign != c->reign ||
        p->mark.epoch != p->key.epoch || m == NULL || !m->is_live)
        return;
    const struct replica_member *self = replica_key_find(&p->key, broker);
    const struct replica_status *s = &part->status;
    bool is_hopeless =
        part->is_there && (s->health == REPLICA_HEALTH_QUARANTINED ||
                           (s->health == REPLICA_HEALTH_OK && s->incarnation != self->incarnation));
    if (part->is_there && s->epoch == p->key.epoch && s->is_leading && !is_hopeless) {
        p->mark.leader_session = m->session.session;
        p->mark.is_bad = false;
        return;
    }
    /* It may not have heard of its new office yet, or be busy with a cut. Who led and does so no
     * more, or cannot for good, is not waited for: such as one that is well, knows that it should
     * lead, and sees no role for itself, since the epoch is one of its last life (role.c). So the
     * whole cluster is soon there again after a restart. */
    bool is_of_last_life =
        s->health == REPLICA_HEALTH_OK && s->leader == broker && s->role == REPLICA_ROLE_NONE;
    bool has_ended = part->is_there && s->epoch == p->key.epoch &&
                     (p->mark.leader_session != 0 || is_of_last_life);
    if (is_hopeless || has_ended || now_ms - p->mark.first_seen_ms >= c->config.lead_ms)
        p->mark.is_bad = true;
}

void cluster_control_step(struct cluster_control *c, const struct cluster_view *v, int64_t now_ms,
                          struct rng *rng, struct cluster_actions *out)
{
    CHECK(c->reign > 0);
    brokers_look(c, v, now_ms);
    partitions_look(c, v, now_ms);
    preferences_look(c, v, now_ms);
    elections_step(c, v, now_ms, rng, out);
    looks_send(c, v, now_ms, out);
}

void cluster_control_answer(struct cluster_control *c, const struct cluster_view *v,
                            uint64_t serial, uint32_t broker, const struct wire_state_part *parts,
                            size_t n, int64_t now_ms)
{
    struct opinion *o = opinion_of(c, broker);
    size_t hint = 0;
    if (o == NULL)
        return;
    if (serial == o->look_serial) {
        o->look_serial = 0;
        o->is_suspect = false;
        for (size_t i = 0; i < n; i++)
            look_hear(c, v, broker, &parts[i], now_ms);
    } else if (c->elections.round != CLUSTER_ROUND_NONE && serial == c->elections.serial) {
        for (size_t i = 0; i < n; i++)
            cluster_elections_hear(&c->elections, broker, &parts[i], &hint);
        cluster_elections_done(&c->elections, broker);
    }
}

void cluster_control_silence(struct cluster_control *c, const struct cluster_view *v,
                             uint64_t serial, uint32_t broker, bool is_refused)
{
    struct opinion *o = opinion_of(c, broker);
    const struct cluster_member *m = cluster_view_member(v, broker);
    bool is_look = o != NULL && serial == o->look_serial;
    bool is_round = c->elections.round != CLUSTER_ROUND_NONE && serial == c->elections.serial;
    if (o == NULL || m == NULL || (!is_look && !is_round))
        return;
    if (is_look)
        o->look_serial = 0;
    else
        cluster_elections_done(&c->elections, broker);
    if (is_refused && m->is_live && !o->is_suspect) {
        o->is_suspect = true;
        o->suspect_session = m->session.session;
        note(NOTE_WARNING, "cluster", "nobody listens where broker %u should: it counts as gone",
             broker);
    }
}

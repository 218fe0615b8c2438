// SPDX-License-Identifier: Apache-2.0
/* What a leader does: takes up its epoch, answers fetches, counts acknowledgements, commits. */
#include <string.h>

#include "base/check.h"
#include "replica/state.h"

void leader_reset(struct replica *r)
{
    r->is_leading = r->is_ready = false;
    r->leso = 0;
    for (size_t i = 0; i < r->key.members_n; i++)
        r->peers[i] = (struct peer){.is_live = r->peers[i].is_live,
                                    .is_draining = r->peers[i].is_draining,
                                    .caught_up_ms = r->now_ms}; /* a grace, not a fact */
}

static struct replica_answer *answer_add(struct replica *r, const struct replica_fetch *q,
                                         enum replica_fetch_status status,
                                         struct replica_effects *out)
{
    struct replica_effect *effect = effect_add(out, REPLICA_EFFECT_ANSWER);
    effect->answer.broker = q->broker;
    effect->answer.answer = (struct replica_answer){.status = status,
                                                    .serial = q->serial,
                                                    .epoch = r->key.epoch,
                                                    .sent_ms = r->now_ms,
                                                    .high_water = r->high_water,
                                                    .start = r->start};
    return &effect->answer.answer;
}

/* A request that may not be served, whatever it asks for: only equal epochs may talk (KIP-320). */
static bool is_refused(struct replica *r, const struct replica_fetch *q, size_t *member,
                       enum replica_fetch_status *why)
{
    *member = 0;
    *why = REPLICA_FETCH_NOT_LEADER;
    if (r->quarantine != REPLICA_QUARANTINE_NONE)
        return true;
    if (q->epoch > r->key.epoch) {
        /* There is a newer epoch, so this one may be over. */
        r->ahead_epoch = q->epoch > r->ahead_epoch ? q->epoch : r->ahead_epoch;
        *why = REPLICA_FETCH_AHEAD;
        return true;
    }
    if (q->epoch < r->key.epoch) {
        *why = REPLICA_FETCH_FENCED;
        return true;
    }
    if (!r->is_leading || r->ahead_epoch > r->key.epoch)
        return true;
    while (*member < r->key.members_n && r->key.members[*member].broker != q->broker)
        ++*member;
    *why = REPLICA_FETCH_BAD_INCARNATION;
    if (*member < r->key.members_n && r->key.members[*member].incarnation == q->incarnation)
        return false;
    catalogue_want_read(r, r->config.retry_ms); /* perhaps we are the one who is late */
    return true;
}

/* The request says that all below its offset is durable there, and it is our log. */
static void note_fetch(struct replica *r, struct peer *p, const struct replica_fetch *q)
{
    /* Caught up when it has all that there was at its last request, as KIP-16 has it: under load a
     * follower never has all that there is. */
    if (q->offset >= r->durable_end)
        p->caught_up_ms = r->now_ms;
    else if (p->has_fetched && q->offset >= p->end_at_fetch && p->fetched_ms > p->caught_up_ms)
        p->caught_up_ms = p->fetched_ms;
    p->acked = q->offset;
    p->has_fetched = true;
    p->end_at_fetch = r->durable_end;
    p->fetched_ms = r->now_ms;
    /* Not the time of receipt: the request may have waited in a socket while this process, or the
     * network, stood still. */
    if (q->echo_ms <= r->now_ms && q->echo_ms > p->known_ms)
        p->known_ms = q->echo_ms;
}

/* What is not durable here yet counts as well: a follower may have synced first what both took from
 * the leader before. So what parts from this log once does so for the whole epoch, and a request
 * that comes late, when the follower has cut already, is never found to agree. */
static void serve(struct replica *r, const struct replica_fetch *q, struct peer *p,
                  struct replica_effects *out)
{
    uint64_t last_epoch = epochs_before(&r->epochs, q->offset), end = 0, epoch = 0;
    bool diverges = q->offset > r->log_end || last_epoch != q->last_epoch;
    if (diverges)
        epoch = epochs_floor(&r->epochs, q->last_epoch, r->log_end, &end);
    /* Where the logs part may be forgotten here, with the records that were released. */
    if (q->offset < r->start || (diverges && end < r->start)) {
        struct replica_answer *a = answer_add(r, q, REPLICA_FETCH_BELOW_START, out);
        a->start_last_epoch = epochs_before(&r->epochs, r->start);
        return;
    }
    if (diverges) {
        struct replica_answer *a = answer_add(r, q, REPLICA_FETCH_DIVERGE, out);
        a->diverge_epoch = epoch;
        a->diverge_end = end;
        return;
    }
    note_fetch(r, p, q);
    /* After this request the mark may move, so that the answer tells the newest one. */
    leader_settle(r, out);
    answer_add(r, q, REPLICA_FETCH_OK, out);
    struct replica_effect *effect = &out->at[out->n - 1];
    effect->answer.from = q->offset;
    effect->answer.may_park = q->offset >= r->durable_end && p->told_high_water == r->high_water;
    p->told_high_water = r->high_water;
}

void leader_on_fetch(struct replica *r, const struct replica_event *e, struct replica_effects *out)
{
    const struct replica_fetch *q = &e->fetch.request;
    enum replica_fetch_status why;
    size_t member;
    if (is_refused(r, q, &member, &why))
        answer_add(r, q, why, out);
    else
        serve(r, q, &r->peers[member], out);
}

uint32_t leader_fresh(const struct replica *r, int64_t now_ms)
{
    uint32_t fresh = 0;
    for (size_t i = 0; i < r->key.members_n; i++) {
        if (!isr_is_maximal_member(r, i))
            continue;
        const struct peer *p = &r->peers[i];
        if (r->key.members[i].broker == r->config.broker ||
            (p->known_ms > 0 && now_ms - p->known_ms < r->config.fresh_ms))
            fresh++;
    }
    return fresh;
}

/* The commit rule. Records of older epochs may be counted, unlike in Raft: the next leader comes
 * from those who were counted. */
static void commit(struct replica *r, struct replica_effects *out)
{
    if (replica_key_isr_size(&r->key) < r->key.min_isr || r->ahead_epoch > r->key.epoch)
        return;
    uint64_t end = r->durable_end;
    for (size_t i = 0; i < r->key.members_n; i++) {
        if (!isr_is_maximal_member(r, i) || r->key.members[i].broker == r->config.broker)
            continue;
        uint64_t acked = r->peers[i].has_fetched ? r->peers[i].acked : 0;
        end = acked < end ? acked : end;
    }
    high_water_move(r, end, out);
}

void leader_settle(struct replica *r, struct replica_effects *out)
{
    if (r->ahead_epoch > r->key.epoch && !r->read.is_open)
        catalogue_want_read(r, r->config.retry_ms);
    if (r->role != REPLICA_ROLE_LEADER)
        return;
    if (!r->is_leading) {
        if (r->work != LOG_WORK_NONE)
            return;
        r->is_leading = true;
        r->leso = r->log_end;
        epochs_append(&r->epochs, r->key.epoch, r->leso);
        r->log_end++; /* the EPOCH record, which the caller appends now */
        effect_add(out, REPLICA_EFFECT_LEAD)->lead.epoch = r->key.epoch;
    }
    commit(r, out);
    if (!r->is_ready && r->high_water > r->leso) {
        r->is_ready = true;
        effect_add(out, REPLICA_EFFECT_READY);
    }
}

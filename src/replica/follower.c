// SPDX-License-Identifier: Apache-2.0
/* What a follower does: asks, stores, cuts where its log and the leader's part. */
#include "base/check.h"
#include "replica/state.h"

void follower_reset(struct replica *r)
{
    r->is_asking = false;
    r->retry_ms = r->now_ms;
    r->told_high_water = 0;
    r->echo_ms = 0;
}

/* How many of the batches follow from the end of our log as they should; they are bytes from
 * outside. Takes them into the table of epochs. */
static size_t take_batches(struct replica *r, const struct replica_event *e)
{
    size_t n = 0;
    uint64_t end = r->durable_end, epoch = epochs_before(&r->epochs, end);
    for (; n < e->answer.batches_n; n++) {
        const struct replica_batch *b = &e->answer.batches[n];
        if (b->base != end || b->end <= b->base || b->epoch < epoch || b->epoch == 0 ||
            b->epoch > r->key.epoch)
            break;
        epochs_append(&r->epochs, b->epoch, b->base);
        epoch = b->epoch;
        end = b->end;
    }
    r->log_end = end;
    return n;
}

static void on_ok(struct replica *r, const struct replica_event *e, struct replica_effects *out)
{
    size_t stored_n = take_batches(r, e);
    if (stored_n > 0)
        effect_add(out, REPLICA_EFFECT_STORE)->store.batches_n = stored_n;
    if (stored_n < e->answer.batches_n)
        r->retry_ms = r->now_ms + r->config.retry_ms; /* something is wrong with it; not at once */
    /* The leader has found our log to be a part of its own, and what we append in this epoch is; so
     * its mark holds here as far as we reach. */
    r->told_high_water = e->answer.answer.high_water;
}

/* Cuts to where the logs last agreed: the end of the leader's largest epoch that is not newer than
 * our last one, or our own end of it, whichever comes first. With interleaved epochs it takes more
 * than one exchange (KIP-101, KIP-279).
 *
 * Where we have nothing of that epoch, its end over there says nothing of our log and may lie
 * within one of our batches, which are cut between only. Then what is newer than it goes, and the
 * next exchange is about an older epoch: of one that both have, each holds whole batches that one
 * leader wrote, so where one ends a batch of the other ends. */
static void on_diverge(struct replica *r, const struct replica_answer *a,
                       struct replica_effects *out)
{
    uint64_t end;
    uint64_t own_epoch = epochs_floor(&r->epochs, a->diverge_epoch, r->durable_end, &end);
    if (own_epoch == a->diverge_epoch)
        end = a->diverge_end < end ? a->diverge_end : end;
    if (end < r->high_water) {
        /* What is committed was lost elsewhere. Obeying would lose it here as well. */
        quarantine(r, REPLICA_QUARANTINE_BELOW_HIGH_WATER, end, out);
        return;
    }
    if (end >= r->durable_end) {
        quarantine(r, REPLICA_QUARANTINE_CONTRADICTION, end, out);
        return;
    }
    epochs_truncate(&r->epochs, end);
    r->durable_end = end;
    r->work = LOG_WORK_CUT;
    effect_add(out, REPLICA_EFFECT_TRUNCATE)->truncate.end = end;
}

/* What we would need, or the place where the logs part, was released there. All that is released is
 * committed, so nothing committed is lost by beginning anew at the leader's start, unless we know
 * of more. */
static void on_below_start(struct replica *r, const struct replica_answer *a,
                           struct replica_effects *out)
{
    if (a->start < r->high_water) {
        quarantine(r, REPLICA_QUARANTINE_BELOW_HIGH_WATER, a->start, out);
        return;
    }
    r->work = LOG_WORK_SNAPSHOT;
    struct replica_effect *effect = effect_add(out, REPLICA_EFFECT_SNAPSHOT);
    effect->snapshot.leader = r->key.leader;
    effect->snapshot.epoch = r->key.epoch;
    effect->snapshot.start = a->start;
    effect->snapshot.last_epoch = a->start_last_epoch;
}

void follower_on_answer(struct replica *r, const struct replica_event *e,
                        struct replica_effects *out)
{
    const struct replica_answer *a = &e->answer.answer;
    if (r->role != REPLICA_ROLE_FOLLOWER || !r->is_asking || a->serial != r->fetch_serial ||
        e->answer.broker != r->key.leader)
        return;
    r->is_asking = false;
    CHECK(r->work == LOG_WORK_NONE && r->durable_end == r->log_end);
    bool is_served = a->status == REPLICA_FETCH_OK || a->status == REPLICA_FETCH_DIVERGE ||
                     a->status == REPLICA_FETCH_BELOW_START;
    if (!is_served || a->epoch != r->key.epoch) {
        r->retry_ms = r->now_ms + r->config.retry_ms;
        if (a->status != REPLICA_FETCH_AHEAD)
            catalogue_want_read(r, 0);
        return;
    }
    r->echo_ms = a->sent_ms;
    if (a->status == REPLICA_FETCH_OK)
        on_ok(r, e, out);
    else if (a->status == REPLICA_FETCH_DIVERGE)
        on_diverge(r, a, out);
    else
        on_below_start(r, a, out);
}

void follower_on_snapshot(struct replica *r, const struct replica_event *e)
{
    if (r->work != LOG_WORK_SNAPSHOT)
        return;
    r->work = LOG_WORK_NONE;
    if (e->snapshot.has_failed) {
        r->retry_ms = r->now_ms + r->config.retry_ms;
        return;
    }
    CHECK(e->log_end == e->snapshot.start);
    r->start = r->durable_end = e->snapshot.start;
    epochs_reset(&r->epochs, r->start, e->snapshot.last_epoch);
    /* Only what is committed is released or in a snapshot. */
    r->high_water = r->start > r->high_water ? r->start : r->high_water;
}

static void ask(struct replica *r, struct replica_effects *out)
{
    r->is_asking = true;
    r->asked_ms = r->now_ms;
    r->fetch_serial = r->random; /* no answer to an earlier life may pass for one to this */
    struct replica_effect *effect = effect_add(out, REPLICA_EFFECT_FETCH);
    effect->fetch.leader = r->key.leader;
    effect->fetch.request =
        (struct replica_fetch){.broker = r->config.broker,
                               .serial = r->fetch_serial,
                               .epoch = r->key.epoch,
                               .incarnation = r->incarnation,
                               .offset = r->durable_end,
                               .echo_ms = r->echo_ms,
                               .last_epoch = epochs_before(&r->epochs, r->durable_end)};
}

void follower_settle(struct replica *r, struct replica_effects *out)
{
    if (r->role != REPLICA_ROLE_FOLLOWER)
        return;
    high_water_move(r, r->told_high_water < r->durable_end ? r->told_high_water : r->durable_end,
                    out);
    if (r->is_asking && r->now_ms - r->asked_ms >= r->config.fetch_max_ms)
        r->is_asking = false;
    /* Asking says that all below the offset is durable, and an answer is stored behind it: so not
     * while there is more in the log than is durable, as after a leadership. */
    if (!r->is_asking && r->work == LOG_WORK_NONE && r->durable_end == r->log_end &&
        r->now_ms >= r->retry_ms)
        ask(r, out);
}

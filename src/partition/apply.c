// SPDX-License-Identifier: Apache-2.0
/* The fold: one function a record. It is total. A record that makes no sense here (an unknown
 * group, a number not reached) changes nothing, in the same way on every machine. */
#include "base/check.h"
#include "base/mem.h"
#include "partition/codec.h"
#include "partition/state.h"

/* ---- what time has made needless ---- */

/* A record told that partition time has come to `ms`; its fold is complete. */
static void time_known(struct partition *p, int64_t ms)
{
    if (ms <= p->known_ms)
        return;
    p->known_ms = ms;
    dedup_prune(&p->dedup, ms);
    delayed_time_known(p);
}

/* ---- messages ---- */

/* The cursor stops at the first message in order that is not due; so those in order must not become
 * due before an earlier one. A due time below the tail is in order too once the tail is known to be
 * past: then all of them are due. */
static bool is_delayed_in_order(const struct partition *p, const struct record_message *m)
{
    if (!m->delay_is_default && !m->moved && m->due_ms > m->accepted_ms)
        return false;
    int64_t known_ms = p->known_ms > m->accepted_ms ? p->known_ms : m->accepted_ms;
    return m->due_ms >= p->due_tail_ms || p->due_tail_ms <= known_ms;
}

static void apply_message(struct partition *p, const struct record_message *m)
{
    CHECK(p->next_number < CODEC_NUMBER_MAX);
    uint64_t number = p->next_number++;
    if (!is_delayed_in_order(p, m))
        delayed_add(p, number, m->due_ms);
    else if (m->due_ms > p->due_tail_ms)
        p->due_tail_ms = m->due_ms;
    live_arrived(p, record_message_bytes(m));
    if (m->moved)
        origins_put(&p->origins, &m->origin, number);
    if (m->repeat.front != 0)
        fronts_put(&p->fronts, &m->repeat, number, m->id);
    time_known(p, m->accepted_ms);
    if (!id_hash_is_none(&m->dedup_hash)) {
        struct dedup_item item = {m->dedup_hash, m->id, number, m->dedup_until_ms, 0};
        dedup_put(&p->dedup, &item);
    }
}

/* ---- groups ---- */

static void apply_group(struct partition *p, const struct record_group *r)
{
    struct group *g = group_find(p, r->gid);
    if (r->dropped) {
        if (g != NULL)
            group_remove(p, g);
        live_forget(p);
        return;
    }
    if (g != NULL && r->generation <= g->generation)
        return;
    if (g == NULL) {
        if (p->groups_n == PARTITION_GROUPS_MAX)
            return;
        g = group_add(p, r->gid);
    }
    uint64_t floor = r->from < p->trim_floor ? p->trim_floor : r->from;
    group_reset(g, floor < p->next_number ? floor : p->next_number);
    g->generation = r->generation;
    group_delays_count(g);
    live_reset(p, g);
    live_forget(p);
}

/* ---- leases ---- */

static void set_holder(struct entry *e, struct bytes holder)
{
    mem_free(e->holder);
    e->holder = NULL;
    e->holder_bytes = holder.n;
    if (holder.n > 0) {
        e->holder = mem_new(holder.n);
        memcpy(e->holder, holder.at, holder.n);
    }
}

static void lease_one(struct group *g, uint64_t number, const struct record_lease *l)
{
    struct entry *e = group_entry_make(g, number);
    if (e->moving)
        return;
    if (e->receives == 0)
        e->first_received_wall_ms = l->granted_wall_ms;
    if (e->receives < UINT32_MAX)
        e->receives++;
    e->lease = l->id;
    e->leased_since_ms = l->granted_ms;
    set_holder(e, l->holder);
    group_entry_wait(g, e, l->until_ms);
}

/* The cursor passes what is known or finished, up to the last number handed out. It does not pass
 * delayed messages beyond: of those nothing need be known once they are due. */
static void cursor_pass(struct group *g, uint64_t end)
{
    while (g->next < end) {
        uint64_t unfinished = group_unfinished_from(g, g->next);
        if (unfinished == g->next && !group_knows(g, g->next))
            return;
        g->next = unfinished == g->next ? g->next + 1 : unfinished;
    }
}

static void apply_lease(struct partition *p, const struct record_lease *l)
{
    struct group *g = group_find(p, l->gid);
    if (g != NULL) {
        struct bytes left = l->numbers;
        struct record_run run;
        uint64_t end = 0;
        while (record_runs_next(&left, &end, &run))
            for (uint64_t n = run.first; n < end && n < p->next_number; n++)
                if (!group_is_finished(g, n))
                    lease_one(g, n, l);
        cursor_pass(g, end < p->next_number ? end : p->next_number);
    }
    if (l->id.counter > p->lease_counter)
        p->lease_counter = l->id.counter;
    time_known(p, l->granted_ms);
}

static void apply_done(struct partition *p, const struct record_done *r)
{
    struct group *g = group_find(p, r->gid);
    if (g == NULL)
        return;
    struct bytes left = r->numbers;
    struct record_run run;
    uint64_t end = 0;
    while (record_runs_next(&left, &end, &run))
        live_finish(p, g, run.first, end < p->next_number ? end : p->next_number);
}

/* The unfinished number's group, or NULL. */
static struct group *group_of_unfinished(const struct partition *p, uint32_t gid, uint64_t number)
{
    struct group *g = group_find(p, gid);
    return g == NULL || number >= p->next_number || group_is_finished(g, number) ? NULL : g;
}

static void apply_extend(struct partition *p, const struct record_extend *r)
{
    struct group *g = group_of_unfinished(p, r->gid, r->number);
    if (g == NULL)
        return;
    struct entry *e = group_entry_make(g, r->number);
    if (!e->moving)
        group_entry_wait(g, e, r->until_ms);
}

/* ---- moves ---- */

static void apply_move(struct partition *p, const struct record_move *r)
{
    if (r->seq < p->moves.next_seq)
        return;
    struct group *g = group_of_unfinished(p, r->gid, r->number);
    struct move move = {
        .open = {r->seq, r->gid, r->number, r->target, r->receive_count},
        .generation = g == NULL ? 0 : g->generation,
    };
    moves_add(&p->moves, &move);
    if (g == NULL)
        return;
    live_move(p, g, group_entry_make(g, r->number), true);
}

static void apply_moved(struct partition *p, uint64_t seq, bool called_off)
{
    struct move *move = moves_find(&p->moves, seq);
    if (move == NULL)
        return;
    uint64_t number = move->open.number;
    struct group *g = group_of_unfinished(p, move->open.gid, number);
    /* After a seek the number belongs to another generation, to which nothing has been done. */
    if (g != NULL && g->generation == move->generation) {
        struct entry *e = group_entry(g, number);
        if (!called_off)
            live_finish(p, g, number, number + 1);
        else if (e != NULL)
            live_move(p, g, e, false);
    }
    moves_close(&p->moves, move);
}

/* ---- the rest ---- */

static void apply_purge(struct partition *p, const struct record_purge *r)
{
    struct group *g = group_find(p, r->gid);
    if (g != NULL)
        live_finish(p, g, g->floor, r->below < p->next_number ? r->below : p->next_number);
    if (r->clear_dedup)
        dedup_fini(&p->dedup);
}

static void apply_trim(struct partition *p, const struct record_trim *r)
{
    uint64_t below = r->below < p->next_number ? r->below : p->next_number;
    if (below <= p->trim_floor)
        return;
    p->trim_floor = below;
    for (size_t i = 0; i < p->groups_n; i++)
        live_finish(p, p->groups[i], p->groups[i]->floor, below);
}

static void apply_epoch(struct partition *p, const struct record_epoch *r)
{
    if (r->epoch > p->epoch)
        p->epoch = r->epoch;
    time_known(p, r->now_ms);
}

void partition_apply(struct partition *p, const struct record *r)
{
    switch (r->type) {
    case RECORD_MESSAGE:
        apply_message(p, &r->message);
        return;
    case RECORD_GROUP:
        apply_group(p, &r->group);
        return;
    case RECORD_LEASE:
        apply_lease(p, &r->lease);
        return;
    case RECORD_DONE:
        apply_done(p, &r->done);
        return;
    case RECORD_EXTEND:
        apply_extend(p, &r->extend);
        return;
    case RECORD_MOVE:
        apply_move(p, &r->move);
        return;
    case RECORD_MOVED:
    case RECORD_UNMOVE:
        apply_moved(p, r->moved.seq, r->type == RECORD_UNMOVE);
        return;
    case RECORD_PURGE:
        apply_purge(p, &r->purge);
        return;
    case RECORD_TRIM:
        apply_trim(p, &r->trim);
        return;
    case RECORD_EPOCH:
        apply_epoch(p, &r->epoch);
        return;
    case RECORD_SIZES:
        live_sizes(p, &r->sizes);
        return;
    case RECORD_EMIT:
    case RECORD_CHECK:
    case RECORD_GAP:
        break;
    }
    UNREACHABLE();
}

// SPDX-License-Identifier: Apache-2.0
/* Random commands against src/partition and against the plainest model, side by side. Every record
 * goes through its bytes; at the end the log is replayed from zero and from every snapshot taken on
 * the way, and must reach the same state.
 *
 * LEASELOG_SEEDS: how many seeds (200). LEASELOG_SEED: the first one, printed when a run fails. */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "lib/runner.h"
#include "model/partition_look_check.h"
#include "model/partition_sizes.h"

enum { STEPS = 400, RECEIPTS = 400, SNAPSHOTS = 8, EPOCH = 3, DEDUP_WINDOW_MS = 5000 };

struct logged {
    uint8_t type;
    size_t at, n;
};

struct receipt {
    struct partition_receipt r;
    int group;
};

struct run {
    struct rng rng;
    uint64_t seed;
    int step;
    const char *doing;
    struct model m;
    struct partition *p;
    struct partition_window *w[MODEL_GROUPS];
    struct partition_view view;
    struct buf log;
    struct logged *records;
    size_t records_n, records_room;
    struct buf snapshots[SNAPSHOTS];
    size_t snapshot_at[SNAPSHOTS];
    size_t snapshots_n;
    struct receipt receipts[RECEIPTS];
    size_t receipts_n;
    int64_t topic_delay_ms;
    uint64_t counter;                /* of the last lease */
    bool backlog_seen[MODEL_GROUPS]; /* it was made anew, and sees messages from before */
    uint64_t origin_seq, origin_closed;
    struct partition_grant grant;
    struct record_runs runs;
};

/* As ck_assert, without the cost of noting each place that was passed. */
#define MUST(r, e) ((e) ? (void)0 : broken(r, __LINE__, #e))

static void broken(const struct run *r, int line, const char *what)
{
    fprintf(stderr, "line %d: %s\n  seed %llu (LEASELOG_SEED=%llu LEASELOG_SEEDS=1), step %d, %s\n",
            line, what, (unsigned long long)r->seed, (unsigned long long)r->seed, r->step,
            r->doing);
    ck_abort_msg("seed %llu: %s", (unsigned long long)r->seed, what);
}

static uint64_t below(struct run *r, uint64_t limit)
{
    return rng_below(&r->rng, limit);
}

static bool one_in(struct run *r, uint64_t n)
{
    return below(r, n) == 0;
}

static uint32_t gid_of(int group)
{
    return (uint32_t)group + 7;
}

/* ---- the log ---- */

static void append_one(struct run *r, const struct record *record)
{
    if (r->records_n == r->records_room) {
        r->records_room = r->records_room == 0 ? 512 : r->records_room * 2;
        r->records = realloc(r->records, r->records_room * sizeof r->records[0]);
    }
    size_t at = r->log.n;
    record_encode(record, &r->log);
    r->records[r->records_n++] = (struct logged){(uint8_t)record->type, at, r->log.n - at};
    struct record decoded;
    MUST(r, record_decode((uint8_t)record->type, (struct bytes){r->log.at + at, r->log.n - at},
                          &decoded) == ERR_OK);
    partition_apply(r->p, &decoded);
}

/* What lets messages go has their sizes before it. */
static void append(struct run *r, const struct record *record)
{
    struct partition_sizes s;
    partition_sizes_init(&s);
    if (model_sizes_before(&r->m, r->p, record, &s)) {
        struct record sizes = partition_sizes_record(&s);
        append_one(r, &sizes);
    }
    partition_sizes_fini(&s);
    append_one(r, record);
}

static void replay(struct run *r, struct partition *p, size_t from)
{
    for (size_t i = from; i < r->records_n; i++) {
        struct record record;
        struct logged l = r->records[i];
        MUST(r, record_decode(l.type, (struct bytes){r->log.at + l.at, l.n}, &record) == ERR_OK);
        partition_apply(p, &record);
    }
}

/* ---- headers, as the room above would bring them ---- */

static struct partition_header header_of(const struct run *r, uint64_t number)
{
    const struct model_message *m = &r->m.messages[number];
    return (struct partition_header){
        .number = number,
        .group_hash = (uint64_t)m->tenant + 1,
        .due_ms = m->due_ms,
        .accepted_ms = m->accepted_ms,
        .body_bytes = m->body_bytes,
        .receive_count = m->receives_before,
    };
}

static void bring(struct run *r, int group, uint64_t need)
{
    struct partition_window *w = r->w[group];
    MUST(r, need < r->m.messages_n);
    MUST(r, !r->m.messages[need].fate[group].finished);
    uint64_t some = 1 + below(r, 30);
    for (uint64_t n = need; n < r->m.messages_n && some > 0; n++) {
        if (r->m.messages[n].fate[group].finished)
            continue;
        if (n > partition_window_end(w) && n != need)
            partition_window_skip(w, n);
        struct partition_header h = header_of(r, n);
        if (!partition_window_take(w, &h))
            return;
        some--;
    }
}

/* ---- checks after every step ---- */

/* The end of a delay that this group does not wait for. */
static bool is_early(const struct run *r, int64_t told_ms, int64_t event_ms)
{
    bool is_due_time = false;
    for (uint64_t n = 0; n < r->m.messages_n; n++)
        is_due_time |= r->m.messages[n].due_ms == told_ms;
    return is_due_time && told_ms > r->m.now_ms && told_ms < event_ms;
}

static void check_counters(struct run *r, int group)
{
    struct partition_counters want = {0}, got;
    int64_t event_ms = INT64_MAX;
    uint64_t receivable = 0;
    for (uint64_t n = 0; n < r->m.messages_n; n++) {
        enum model_state s = model_state_of(&r->m, group, n);
        const struct model_fate *f = &r->m.messages[n].fate[group];
        want.visible += s == MODEL_VISIBLE;
        want.in_flight += s == MODEL_IN_FLIGHT;
        want.delayed += s == MODEL_DELAYED;
        want.moving += s == MODEL_MOVING;
        want.unfinished += s != MODEL_GONE;
        if (s == MODEL_IN_FLIGHT && f->until_ms < event_ms)
            event_ms = f->until_ms;
        if (s == MODEL_DELAYED && r->m.messages[n].due_ms < event_ms)
            event_ms = r->m.messages[n].due_ms;
        receivable += model_is_receivable(&r->m, group, n);
    }
    uint64_t due_next, need;
    int rounds = 0;
    enum err e;
    while ((e = partition_window_due_next(r->w[group], r->p, &r->view, gid_of(group), &due_next,
                                          &need)) == ERR_NEED) {
        MUST(r, rounds++ < 1000);
        bring(r, group, need);
    }
    MUST(r, e == ERR_OK);
    MUST(r, partition_count(r->p, &r->view, gid_of(group), due_next, &got) == ERR_OK);
    MUST(r, got.visible == want.visible);
    MUST(r, got.in_flight == want.in_flight);
    MUST(r, got.delayed == want.delayed);
    MUST(r, got.moving == want.moving);
    MUST(r, got.unfinished == want.unfinished);
    int64_t told_ms = partition_next_event_ms(r->p, &r->view, r->w[group], gid_of(group));
    MUST(r, told_ms == event_ms || (want.delayed > 0 && is_early(r, told_ms, event_ms)));
    if (r->m.fifo) {
        static struct model_fifo fifo;
        model_fifo_receive(&r->m, group, r->m.committed, 10, UINT64_MAX, 0, NULL, 0, &fifo);
        receivable = fifo.picks_n;
    }
    if (one_in(r, 4)) /* not always: it moves the window's own notes on */
        MUST(r, partition_deliverable(r->p, &r->view, r->w[group], gid_of(group), 10) >=
                    (receivable < 10 ? receivable : 10));
}

static void check_leases(struct run *r, int group)
{
    static struct partition_lease_info got[MODEL_MESSAGES];
    size_t n = partition_leases(r->p, gid_of(group), r->m.now_ms, 0, got, MODEL_MESSAGES), k = 0;
    for (uint64_t i = 0; i < r->m.messages_n; i++) {
        const struct model_fate *f = &r->m.messages[i].fate[group];
        if (model_state_of(&r->m, group, i) != MODEL_IN_FLIGHT)
            continue;
        MUST(r, k < n && got[k].number == i && got[k].until_ms == f->until_ms);
        MUST(r, got[k].receive_count == f->receives);
        k++;
    }
    MUST(r, k == n);
}

static void check_looks(struct run *r, int group)
{
    const char *wrong = look_check_group(&r->m, group, r->p, &r->view, gid_of(group), &r->rng);
    if (wrong != NULL)
        broken(r, __LINE__, wrong);
}

static void check_all(struct run *r)
{
    uint64_t wanted = UINT64_MAX, closed = r->m.moves_n;
    for (int g = 0; g < MODEL_GROUPS; g++) {
        struct partition_group_info info;
        MUST(r, partition_group_find(r->p, gid_of(g), &info) == r->m.group_exists[g]);
        if (!r->m.group_exists[g])
            continue;
        check_counters(r, g);
        MUST(r, model_check_live(&r->m, r->p, g, gid_of(g), r->backlog_seen[g]));
        MUST(r, info.floor == model_floor(&r->m, g));
        if (info.floor < wanted)
            wanted = info.floor;
        if (one_in(r, 16))
            check_leases(r, g);
        if (one_in(r, 8))
            check_looks(r, g);
    }
    const char *wrong = look_check_wanted(&r->m, r->p, &r->rng);
    if (wrong != NULL)
        broken(r, __LINE__, wrong);
    if (wanted == UINT64_MAX)
        wanted = r->m.trimmed;
    for (size_t i = r->m.moves_n; i > 0; i--)
        if (r->m.moves[i - 1].open) {
            closed = i - 1;
            if (r->m.moves[i - 1].number < wanted)
                wanted = r->m.moves[i - 1].number;
        }
    MUST(r, partition_wanted_from(r->p) == wanted);
    MUST(r, partition_moves_closed(r->p) == closed);
    MUST(r, partition_next_number(r->p) == r->m.messages_n);
}

/* ---- sending ---- */

static void send_again(struct run *r, const struct record_message *m, int dedup)
{
    struct partition_duplicate d = {.number = UINT64_MAX};
    enum err e = partition_plan_send(r->p, &r->view, m, &d);
    int64_t first = m->moved || dedup < 0 ? -1 : model_duplicate_of(&r->m, dedup);
    if (first >= 0) {
        MUST(r, e == ERR_DUPLICATE && d.number == (uint64_t)first);
        return;
    }
    MUST(r, e == ERR_OK);
    struct model_message *to = &r->m.messages[r->m.messages_n++];
    *to = (struct model_message){
        .tenant = m->group_hash.at[0] - 1,
        .accepted_ms = m->accepted_ms,
        .due_ms = m->due_ms,
        .body_bytes = (uint32_t)m->body.n,
        .receives_before = m->receive_count,
    };
    if (dedup >= 0)
        r->m.dedups[r->m.dedups_n++] =
            (struct model_dedup){dedup, r->m.messages_n - 1, m->dedup_until_ms};
    append(r, &(struct record){.type = RECORD_MESSAGE, .message = *m});
    for (int g = 0; g < MODEL_GROUPS; g++) {
        struct partition_header h = header_of(r, r->m.messages_n - 1);
        if (partition_window_end(r->w[g]) == h.number && one_in(r, 2))
            partition_window_put(r->w[g], &h);
    }
    if (m->moved) {
        MUST(r, partition_plan_send(r->p, &r->view, m, &d) == ERR_DUPLICATE);
        MUST(r, d.number == r->m.messages_n - 1);
    }
}

static void do_send(struct run *r)
{
    static const char body[100] = "body";
    if (r->m.messages_n == MODEL_MESSAGES - 1)
        return;
    struct record_message m = {
        .body = {body, 1 + below(r, sizeof body)},
        .accepted_ms = r->m.now_ms,
        .due_ms = r->m.now_ms,
        .delay_is_default = true,
        .group_hash = {{(uint8_t)(1 + below(r, 5))}},
    };
    int dedup = one_in(r, 3) ? (int)below(r, 8) : -1;
    if (dedup >= 0) {
        m.dedup_hash.at[9] = (uint8_t)(dedup + 1); /* all begin with the same 8 bytes */
        m.dedup_until_ms = r->m.now_ms + DEDUP_WINDOW_MS;
    }
    if (one_in(r, 12)) {
        struct partition_duplicate d;
        m.moved = true;
        /* Whatever came from there before is known, closed at its source or not. */
        for (; m.origin.move_seq < r->origin_seq; m.origin.move_seq++)
            MUST(r, partition_plan_send(r->p, &r->view, &m, &d) == ERR_DUPLICATE);
        m.receive_count = 3;
        m.origin.move_seq = r->origin_seq++;
        if (one_in(r, 3))
            r->origin_closed = below(r, r->origin_seq);
        m.origin.moves_closed = r->origin_closed;
        if (one_in(r, 2) && r->m.now_ms > 100)
            m.accepted_ms = m.due_ms = r->m.now_ms - (int64_t)below(r, 100);
    } else if (!r->m.fifo && one_in(r, 4)) {
        m.delay_is_default = false;
        m.due_ms += one_in(r, 3) ? 0 : (int64_t)below(r, 4000);
    } else {
        m.due_ms += r->topic_delay_ms;
    }
    send_again(r, &m, dedup);
}

/* ---- receiving ---- */

static void check_standard(struct run *r, int group, size_t max, uint64_t bytes_max)
{
    const struct partition_grant *got = &r->grant;
    size_t receivable = 0, used_up = 0;
    uint64_t bytes = 0, last_again = 0, untaken = UINT64_MAX;
    bool picked[MODEL_MESSAGES] = {false};
    for (size_t i = 0; i < got->picks_n; i++) {
        uint64_t n = got->picks[i].number;
        MUST(r, !picked[n] && model_is_receivable(&r->m, group, n));
        picked[n] = true;
        bytes += r->m.messages[n].body_bytes;
        if (r->m.messages[n].fate[group].receives > 0) {
            MUST(r, i == 0 || last_again <= n);
            last_again = n;
        }
    }
    for (size_t i = 0; i < got->moves_n; i++) {
        uint64_t n = got->moves[i].move.number;
        MUST(r, !picked[n] && model_is_receivable(&r->m, group, n));
        MUST(r, r->view.receives_max > 0 &&
                    r->m.messages[n].fate[group].receives >= r->view.receives_max);
        picked[n] = true;
    }
    for (uint64_t n = 0; n < r->m.messages_n; n++) {
        if (!model_is_receivable(&r->m, group, n))
            continue;
        bool up = r->view.receives_max > 0 &&
                  r->m.messages[n].fate[group].receives >= r->view.receives_max;
        used_up += up;
        receivable += !up;
        if (!picked[n] && r->m.messages[n].fate[group].receives > 0 && n < untaken)
            untaken = n;
    }
    /* Redelivery comes first, and lowest first. */
    for (size_t i = 0; i < got->picks_n; i++)
        MUST(r, untaken == UINT64_MAX || got->picks[i].number < untaken);
    MUST(r, bytes <= bytes_max || got->picks_n == 1);
    if (bytes_max > 100000)
        MUST(r, got->picks_n == (receivable < max ? receivable : max));
    MUST(r, got->picks_n > 0 || receivable == 0);
    if (got->picks_n < max && bytes_max > 100000)
        MUST(r, got->moves_n == (used_up < 100 ? used_up : 100));
}

static void check_fifo(struct run *r, int group, size_t max, uint64_t bytes_max)
{
    const struct partition_grant *got = &r->grant;
    uint64_t end = r->m.committed;
    if ((got->picks_n > 0 || got->moves_n == PARTITION_MOVES_MAX) &&
        partition_window_end(r->w[group]) < end)
        end = partition_window_end(r->w[group]);
    MUST(r, model_fifo_agrees(&r->m, group, end, max, bytes_max, r->view.receives_max, got));
}

static void take_moves(struct run *r, int group)
{
    for (size_t i = 0; i < r->grant.moves_n; i++) {
        const struct record_move *move = &r->grant.moves[i].move;
        struct model_message *m = &r->m.messages[move->number];
        MUST(r, move->seq == r->m.moves_n && r->m.moves_n < MODEL_MOVES);
        MUST(r, move->receive_count == m->receives_before + m->fate[group].receives);
        MUST(r, !m->fate[group].moving);
        m->fate[group].moving = true;
        r->m.moves[r->m.moves_n++] =
            (struct model_move){move->seq, group, move->number, r->m.generation[group], true};
        append(r, &r->grant.moves[i]);
    }
}

static void take_picks(struct run *r, int group, bool lost)
{
    if (r->grant.picks_n == 0)
        return;
    struct lease_id id = r->grant.lease.lease.id;
    MUST(r, id.epoch == EPOCH && id.counter == r->counter + 1);
    for (size_t i = 0; i < r->grant.picks_n; i++) {
        const struct partition_pick *pick = &r->grant.picks[i];
        struct model_message *m = &r->m.messages[pick->number];
        MUST(r, pick->receive_count == m->receives_before + m->fate[group].receives + 1);
        if (!lost)
            model_receive(&r->m, group, pick->number, id.epoch, id.counter,
                          r->grant.lease.lease.until_ms, r->view.now_wall_ms);
        MUST(r, lost || pick->first_received_wall_ms == m->fate[group].first_received_wall_ms);
        size_t at = r->receipts_n < RECEIPTS ? r->receipts_n++ : below(r, RECEIPTS);
        r->receipts[at] =
            (struct receipt){{gid_of(group), r->m.generation[group], pick->number, id}, group};
    }
    if (lost)
        return;
    r->counter++;
    append(r, &r->grant.lease);
}

static void do_receive(struct run *r, int group)
{
    struct partition_receive request = {
        .gid = gid_of(group),
        .max = 1 + below(r, 10),
        .visibility_ms = one_in(r, 8) ? 0 : (int64_t)below(r, 5000),
        .holder = one_in(r, 2) ? BYTES_OF("worker") : BYTES_NONE,
        .body_bytes_max = one_in(r, 4) ? 150 : 1000000,
    };
    size_t held = 0;
    for (uint64_t n = 0; n < r->m.messages_n; n++)
        held += model_state_of(&r->m, group, n) == MODEL_IN_FLIGHT;
    uint64_t need;
    int rounds = 0;
    enum err e;
    while ((e = partition_plan_receive(r->p, &r->view, r->w[group], &request, &r->grant, &need)) ==
           ERR_NEED) {
        MUST(r, rounds++ < 1000);
        bring(r, group, need);
    }
    if (held >= r->view.in_flight_max) {
        MUST(r, e == ERR_OVER_LIMIT);
        return;
    }
    MUST(r, e == ERR_OK);
    size_t room = r->view.in_flight_max - held;
    size_t max = request.max < room ? request.max : room;
    if (r->m.fifo)
        check_fifo(r, group, max, request.body_bytes_max);
    else
        check_standard(r, group, max, request.body_bytes_max);
    take_moves(r, group);
    take_picks(r, group, !r->m.fifo && one_in(r, 15));
}

/* ---- receipts ---- */

static enum err expected(const struct run *r, const struct receipt *t, enum receipt_rule rule)
{
    if (!r->m.group_exists[t->group] || t->r.generation != r->m.generation[t->group])
        return ERR_GONE;
    if (t->r.number >= r->m.messages_n)
        return ERR_INVALID;
    const struct model_fate *f = &r->m.messages[t->r.number].fate[t->group];
    if (f->finished)
        return ERR_GONE;
    if (rule == RECEIPT_ANY)
        return ERR_OK;
    if (f->receives == 0)
        return ERR_LEASE_EXPIRED;
    if (f->lease_epoch != t->r.id.epoch || f->lease_counter != t->r.id.counter)
        return ERR_STALE_RECEIPT;
    return f->moving || r->m.now_ms >= f->until_ms ? ERR_LEASE_EXPIRED : ERR_OK;
}

static struct receipt some_receipt(struct run *r)
{
    struct receipt t = r->receipts[below(r, r->receipts_n)];
    if (one_in(r, 20))
        t.r.number = r->m.messages_n + below(r, 3);
    if (one_in(r, 20))
        t.r.generation++;
    if (one_in(r, 20))
        t.r.id.epoch--;
    return t;
}

static void do_delete(struct run *r)
{
    struct receipt t = some_receipt(r);
    enum receipt_rule rule = r->m.fifo || one_in(r, 4) ? RECEIPT_CURRENT : RECEIPT_ANY;
    struct record record;
    enum err e = partition_plan_done(r->p, &r->view, &t.r, rule, &record, &r->runs);
    MUST(r, e == expected(r, &t, rule));
    if (e != ERR_OK)
        return;
    r->m.messages[t.r.number].fate[t.group].finished = true;
    append(r, &record);
}

static void do_extend(struct run *r)
{
    struct receipt t = some_receipt(r);
    enum receipt_rule rule = r->m.fifo || one_in(r, 4) ? RECEIPT_CURRENT : RECEIPT_ANY;
    int64_t visibility_ms = one_in(r, 3) ? 0 : (int64_t)below(r, 15000);
    struct record record;
    enum err want = expected(r, &t, rule);
    if (want == ERR_OK && one_in(r, 4)) { /* the longest, or one more */
        const struct model_fate *f = &r->m.messages[t.r.number].fate[t.group];
        int64_t left_ms = r->view.visibility_total_ms - (r->m.now_ms - f->since_ms);
        if (left_ms > 0)
            visibility_ms = left_ms - (int64_t)below(r, 2);
    }
    if (want == ERR_OK) {
        const struct model_fate *f = &r->m.messages[t.r.number].fate[t.group];
        int64_t since_ms = f->receives > 0 ? f->since_ms : r->m.now_ms;
        if (f->moving)
            want = ERR_GONE;
        else if (visibility_ms > 0 &&
                 r->m.now_ms + visibility_ms >= since_ms + r->view.visibility_total_ms)
            want = ERR_FULL;
    }
    MUST(r, partition_plan_extend(r->p, &r->view, &t.r, rule, visibility_ms, &record) == want);
    if (want != ERR_OK)
        return;
    model_extend(&r->m, t.group, t.r.number, r->m.now_ms + visibility_ms);
    append(r, &record);
}

static void do_give_back(struct run *r)
{
    struct receipt t = some_receipt(r);
    struct record record;
    enum err e = partition_plan_give_back(r->p, &r->view, &t.r, &record);
    MUST(r, e == (expected(r, &t, RECEIPT_CURRENT) == ERR_OK ? ERR_OK : ERR_GONE));
    if (e != ERR_OK)
        return;
    model_extend(&r->m, t.group, t.r.number, r->m.now_ms);
    append(r, &record);
}

/* ---- the rest ---- */

static void do_moved(struct run *r)
{
    uint64_t seq = below(r, r->m.moves_n + 1);
    bool called_off = one_in(r, 3);
    struct record record;
    enum err e = partition_plan_moved(r->p, seq, called_off, &record);
    bool open = seq < r->m.moves_n && r->m.moves[seq].open;
    MUST(r, e == (open ? ERR_OK : ERR_GONE));
    if (!open)
        return;
    struct model_move *move = &r->m.moves[seq];
    struct partition_move got;
    MUST(r, partition_moves_open(r->p, seq, &got, 1) == 1);
    MUST(r, got.seq == seq && got.number == move->number && got.gid == gid_of(move->group));
    move->open = false;
    if (r->m.generation[move->group] == move->generation && r->m.group_exists[move->group]) {
        struct model_fate *f = &r->m.messages[move->number].fate[move->group];
        f->moving = false;
        f->finished = f->finished || !called_off;
    }
    append(r, &record);
}

static void do_purge(struct run *r, int group)
{
    struct record record;
    bool clear = one_in(r, 2);
    MUST(r, partition_plan_purge(r->p, gid_of(group), clear, &record) == ERR_OK);
    if (clear)
        r->m.dedups_n = 0;
    model_finish_below(&r->m, group, r->m.messages_n);
    append(r, &record);
}

static void do_trim(struct run *r)
{
    uint64_t end = 0;
    while (end < r->m.messages_n && model_is_expired(&r->m, end))
        end++;
    if (end > r->m.trimmed)
        r->m.trimmed = end;
    for (int g = 0; g < MODEL_GROUPS; g++)
        model_finish_below(&r->m, g, end);
    append(r, &(struct record){.type = RECORD_TRIM, .trim = {end}});
}

static void do_group(struct run *r, int group)
{
    bool drop = r->m.group_exists[group] && one_in(r, 3);
    uint64_t generation = r->m.generation[group] + 1, from = below(r, r->m.messages_n + 1);
    append(r, &(struct record){.type = RECORD_GROUP,
                               .group = {gid_of(group), drop, BYTES_OF("g"), generation, from}});
    if (drop)
        r->m.group_exists[group] = false;
    else
        model_start_group(&r->m, group, generation, from);
    r->backlog_seen[group] = true;
    if (drop || one_in(r, 2))
        return;
    append(r, &(struct record){.type = RECORD_SIZES,
                               .sizes = {true, gid_of(group), model_live(&r->m, group).bytes,
                                         BYTES_NONE, BYTES_NONE}});
    r->backlog_seen[group] = false;
}

/* Often to a time at which something ends, or just before it: where off-by-one mistakes live. */
static void pass_time(struct run *r)
{
    int64_t to_ms = r->m.now_ms + (int64_t)below(r, 800);
    if (r->m.messages_n > 0 && one_in(r, 2)) {
        uint64_t n = below(r, r->m.messages_n);
        const struct model_message *m = &r->m.messages[n];
        int64_t ends[] = {m->due_ms, m->fate[0].until_ms, m->accepted_ms + r->m.retention_ms,
                          m->accepted_ms + DEDUP_WINDOW_MS};
        int64_t end_ms = ends[below(r, 4)] - (int64_t)below(r, 2);
        if (end_ms > r->m.now_ms && end_ms < r->m.now_ms + 20000)
            to_ms = end_ms;
    }
    r->m.now_ms = to_ms;
    r->view.now_ms = to_ms;
    r->view.now_wall_ms = 1000000 + (int64_t)below(r, 1000); /* any: nothing depends on it */
}

static void take_snapshot(struct run *r)
{
    if (r->snapshots_n == SNAPSHOTS)
        return;
    struct buf *to = &r->snapshots[r->snapshots_n];
    partition_save(r->p, to);
    r->snapshot_at[r->snapshots_n++] = r->records_n;
    if (one_in(r, 2))
        return;
    /* A restart: go on with what the snapshot holds. */
    uint64_t hash = partition_hash(r->p);
    partition_free(r->p);
    MUST(r, partition_load(buf_bytes(to), &r->p) == ERR_OK);
    MUST(r, partition_hash(r->p) == hash);
    for (int g = 0; g < MODEL_GROUPS; g++) {
        partition_window_free(r->w[g]);
        r->w[g] = partition_window_new();
    }
}

static void do_settings(struct run *r)
{
    r->topic_delay_ms = one_in(r, 2) ? 0 : (int64_t)below(r, 3000);
    r->view.receives_max = one_in(r, 2) ? 0 : 1 + (uint32_t)below(r, 3);
    r->view.in_flight_max = one_in(r, 3) ? 5 : 1000;
    r->view.retention_ms = r->m.retention_ms = 20000 + (int64_t)below(r, 20000);
}

static void one_step(struct run *r)
{
    static const struct {
        const char *doing;
        unsigned weight;
    } commands[] = {{"send", 30},     {"receive", 25}, {"delete", 15},  {"extend", 8},
                    {"give back", 3}, {"moved", 5},    {"purge", 1},    {"trim", 2},
                    {"group", 1},     {"snapshot", 1}, {"settings", 3}, {"epoch", 1}};
    unsigned dice = (unsigned)below(r, 95);
    size_t k = 0;
    for (; dice >= commands[k].weight; k++)
        dice -= commands[k].weight;
    r->doing = commands[k].doing;
    int group = one_in(r, 4) ? 1 : 0;
    bool exists = r->m.group_exists[group];
    if (k == 0)
        do_send(r);
    else if (k == 1 && exists)
        do_receive(r, group);
    else if (k == 2 && r->receipts_n > 0)
        do_delete(r);
    else if (k == 3 && r->receipts_n > 0)
        do_extend(r);
    else if (k == 4 && r->receipts_n > 0)
        do_give_back(r);
    else if (k == 5)
        do_moved(r);
    else if (k == 6 && exists)
        do_purge(r, group);
    else if (k == 7)
        do_trim(r);
    else if (k == 8)
        do_group(r, group);
    else if (k == 9)
        take_snapshot(r);
    else if (k == 10)
        do_settings(r);
    else if (k == 11)
        append(r, &(struct record){.type = RECORD_EPOCH, .epoch = {EPOCH, r->m.now_ms}});
}

static void check_replays(struct run *r)
{
    r->doing = "replay";
    uint64_t hash = partition_hash(r->p);
    struct partition *again = partition_new();
    replay(r, again, 0);
    MUST(r, partition_hash(again) == hash);
    partition_free(again);
    for (size_t i = 0; i < r->snapshots_n; i++) {
        MUST(r, partition_load(buf_bytes(&r->snapshots[i]), &again) == ERR_OK);
        replay(r, again, r->snapshot_at[i]);
        MUST(r, partition_hash(again) == hash);
        partition_free(again);
    }
}

static void play(struct run *r, uint64_t seed, bool fifo)
{
    memset(r, 0, sizeof *r);
    r->rng = (struct rng){.state = seed * 2 + fifo};
    r->seed = seed;
    r->m.fifo = fifo;
    r->m.now_ms = 1000;
    r->view = (struct partition_view){
        .now_ms = 1000,
        .epoch = EPOCH,
        .fifo = fifo,
        .visibility_total_ms = 20000,
        .dead_letter_topic = {{9}},
    };
    r->p = partition_new();
    for (int g = 0; g < MODEL_GROUPS; g++)
        r->w[g] = partition_window_new();
    partition_grant_init(&r->grant);
    record_runs_init(&r->runs);
    do_settings(r);
    append(r, &(struct record){.type = RECORD_GROUP, .group = {.gid = gid_of(0), .generation = 1}});
    model_start_group(&r->m, 0, 1, 0);
    for (r->step = 0; r->step < STEPS; r->step++) {
        if (one_in(r, 3))
            pass_time(r);
        if (one_in(r, 2))
            r->m.committed = r->m.messages_n - below(r, r->m.messages_n - r->m.committed + 1);
        r->view.committed_number = r->m.committed;
        one_step(r);
        check_all(r);
    }
    check_replays(r);
    partition_free(r->p);
    for (int g = 0; g < MODEL_GROUPS; g++)
        partition_window_free(r->w[g]);
    for (size_t i = 0; i < r->snapshots_n; i++)
        buf_fini(&r->snapshots[i]);
    partition_grant_fini(&r->grant);
    record_runs_fini(&r->runs);
    buf_fini(&r->log);
    free(r->records);
}

static void play_seeds(bool fifo)
{
    static struct run r;
    const char *text = getenv("LEASELOG_SEEDS");
    uint64_t seeds = text == NULL ? 200 : strtoull(text, NULL, 10);
    ck_assert_uint_gt(seeds, 0);
    for (uint64_t i = 0; i < seeds; i++)
        play(&r, test_seed() + i, fifo);
}

START_TEST(a_standard_queue_does_what_the_plainest_model_does)
{
    play_seeds(false);
}
END_TEST

START_TEST(a_fifo_queue_does_what_the_plainest_model_does)
{
    play_seeds(true);
}
END_TEST

Suite *suite_new(void)
{
    Suite *suite = suite_create("partition against a model");
    TCase *all = tcase_create("model");
    tcase_set_timeout(all, 600);
    tcase_add_test(all, a_standard_queue_does_what_the_plainest_model_does);
    tcase_add_test(all, a_fifo_queue_does_what_the_plainest_model_does);
    suite_add_tcase(suite, all);
    return suite;
}

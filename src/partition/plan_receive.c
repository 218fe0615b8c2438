// SPDX-License-Identifier: Apache-2.0
/* Receiving, and its standard order: what was handed back or became due by itself, lowest number
 * first; then in order from the cursor. plan_fifo.c has the other order. */
#include "partition/plan_receive.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

/* Free messages that one receive looks at: fewer than there are singles in a window, so that asking
 * for the last header cannot push out the first. Only messages that are expired and not yet
 * trimmed, or wait for their MOVE, can use them up. */
enum {
    FREE_LOOKED_AT_MAX = PARTITION_WINDOW_SINGLES_MAX / 2,
    FREE_SKIPPED_MAX = 256, /* while those of noisy tenants are passed over */
};

void partition_grant_init(struct partition_grant *g)
{
    g->picks_n = 0;
    g->moves_n = 0;
    g->moves = NULL;
    g->move_bytes = NULL;
    record_runs_init(&g->runs);
}

void partition_grant_fini(struct partition_grant *g)
{
    record_runs_fini(&g->runs);
    mem_free(g->moves);
    mem_free(g->move_bytes);
}

/* Whether the receives that count here are used up. Those before a move do not: a message that came
 * from elsewhere is delivered as often as this group's own policy says. */
static bool is_used_up(const struct receive *r, const struct entry *e)
{
    return r->view->receives_max > 0 && e != NULL && e->receives >= r->view->receives_max;
}

static uint32_t add_receives(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void add_move(struct receive *r, const struct partition_header *h, struct uuid target,
                     uint32_t receive_count)
{
    struct partition_grant *out = r->out;
    if (out->moves == NULL) {
        out->moves = mem_resize(NULL, PARTITION_MOVES_MAX * sizeof out->moves[0]);
        out->move_bytes = mem_resize(NULL, PARTITION_MOVES_MAX * sizeof out->move_bytes[0]);
    }
    struct record *move = &out->moves[out->moves_n];
    memset(move, 0, sizeof *move);
    move->type = RECORD_MOVE;
    move->move = (struct record_move){
        .gid = r->g->gid,
        .number = h->number,
        .seq = r->p->moves.next_seq + out->moves_n,
        .target = target,
        .receive_count = receive_count,
    };
    out->move_bytes[out->moves_n++] = h->message_bytes;
}

static enum verdict offer_to_redrive(struct receive *r, const struct partition_header *h)
{
    if (r->is_full)
        return VERDICT_FULL;
    add_move(r, h, r->redrive_target, 0);
    r->is_full = r->out->moves_n == r->max;
    return VERDICT_MOVED;
}

enum verdict receive_offer(struct receive *r, const struct partition_header *h,
                           const struct entry *e)
{
    if (r->view->now_ms - h->accepted_ms >= r->view->retention_ms)
        return VERDICT_HIDDEN;
    if (r->count_only) {
        r->counted++;
        r->is_full = r->counted == r->max;
        return VERDICT_TAKEN;
    }
    if (r->redrives)
        return offer_to_redrive(r, h);
    if (is_used_up(r, e)) {
        if (r->out->moves_n == PARTITION_MOVES_MAX)
            return VERDICT_LATER;
        add_move(r, h, r->view->dead_letter_topic, add_receives(h->receive_count, e->receives));
        return VERDICT_MOVED;
    }
    struct partition_grant *out = r->out;
    if (r->is_full || out->picks_n == r->max ||
        (out->picks_n > 0 && r->body_bytes + h->body_bytes > r->body_bytes_max)) {
        r->is_full = true;
        return VERDICT_FULL;
    }
    uint32_t before = e == NULL ? 0 : e->receives;
    out->picks[out->picks_n++] = (struct partition_pick){
        .number = h->number,
        .receive_count = add_receives(h->receive_count, add_receives(before, 1)),
        .first_received_wall_ms = before == 0 ? r->view->now_wall_ms : e->first_received_wall_ms,
        .group_hash = h->group_hash,
        .message_bytes = h->message_bytes,
    };
    r->body_bytes += h->body_bytes;
    r->is_full = out->picks_n == r->max;
    return VERDICT_TAKEN;
}

bool receive_has_chosen(const struct receive *r, uint64_t number)
{
    for (size_t i = 0; i < r->out->picks_n; i++)
        if (r->out->picks[i].number == number)
            return true;
    for (size_t i = 0; i < r->out->moves_n; i++)
        if (r->out->moves[i].move.number == number)
            return true;
    return false;
}

size_t receive_taken(const struct receive *r)
{
    return r->count_only ? r->counted : r->out->picks_n + r->out->moves_n;
}

/* One that was looked at: an entry of the heap of free ones, or a delay that is due. */
struct free_number {
    uint64_t number;
    struct entry *entry; /* NULL: a delay */
};

/* The lowest number that is free, handed back or due; false: there is none. */
static bool first_free(struct group *g, struct free_number *out)
{
    struct heap_node *first = heap_first(&g->index.free);
    uint64_t due = 0;
    bool any_due = group_due_first(g, &due);
    if (first != NULL && (!any_due || first->tie < due))
        *out = (struct free_number){first->tie, CONTAINER_OF(first, struct entry, node)};
    else
        *out = (struct free_number){due, NULL};
    return first != NULL || any_due;
}

static void take_free(struct group *g, const struct free_number *first)
{
    if (first->entry != NULL)
        heap_remove(&g->index.free, &first->entry->node);
    else
        order_take(&g->index.due);
}

static void put_free_back(struct group *g, const struct free_number *taken)
{
    if (taken->entry != NULL)
        heap_put(&g->index.free, &taken->entry->node);
    else
        order_put(&g->index.due, taken->number);
}

/* A heap gives its smallest only by being taken apart; what was looked at goes back at the end. So
 * a receive costs O(log n) for each message looked at. */
enum err receive_free(struct receive *r)
{
    struct free_number *seen = NULL, first;
    size_t seen_n = 0, seen_room = 0;
    enum err e = ERR_OK;
    size_t looked_at_max = r->skip_noisy ? FREE_SKIPPED_MAX : FREE_LOOKED_AT_MAX;
    while (!r->is_full && seen_n < looked_at_max && first_free(r->g, &first)) {
        if (first.number >= r->view->committed_number)
            break;
        const struct partition_header *h = window_header(r->w, first.number);
        if (h == NULL && r->skip_noisy)
            break; /* it is asked for in its turn */
        if (h == NULL) {
            r->need = first.number;
            e = ERR_NEED;
            break;
        }
        if (seen_n == seen_room) {
            seen_room = seen_room == 0 ? 32 : seen_room * 2;
            seen = mem_resize(seen, seen_room * sizeof seen[0]);
        }
        take_free(r->g, &first);
        seen[seen_n++] = first;
        if (r->skip_noisy ? receive_is_noisy(r, h->group_hash)
                          : r->has_skipped && receive_has_chosen(r, h->number))
            continue;
        if (receive_offer(r, h, first.entry) == VERDICT_FULL)
            break;
    }
    for (size_t i = 0; i < seen_n; i++)
        put_free_back(r->g, &seen[i]);
    mem_free(seen);
    return e;
}

/* The header at the cursor is missing. Headers that follow will be asked for next, so the window
 * goes on from there. When it is full of messages that are expired and not yet trimmed, the receive
 * ends here: TRIM makes room. */
static enum err need_at_cursor(struct receive *r, uint64_t number)
{
    struct partition_window *w = r->w;
    if (number < partition_window_end(w)) {
        r->need = number;
        return ERR_NEED;
    }
    if (window_is_full(w))
        window_halve(w, r->g->next);
    if (window_is_full(w))
        return ERR_OK;
    if (number > partition_window_end(w))
        partition_window_skip(w, number);
    r->need = number;
    return ERR_NEED;
}

enum err receive_in_order(struct receive *r)
{
    uint64_t number = group_turn(r->g);
    for (; !r->is_full; number = group_unknown_from(r->g, number + 1)) {
        if (number >= r->view->committed_number)
            break;
        if (r->has_skipped && receive_has_chosen(r, number))
            continue;
        const struct partition_header *h = window_header(r->w, number);
        if (h == NULL)
            return need_at_cursor(r, number);
        if (h->due_ms > r->view->now_ms)
            break;
        if (receive_offer(r, h, NULL) == VERDICT_FULL)
            break;
    }
    return ERR_OK;
}

/* The window is moved to the cursor first: were it moved later, the headers of free messages that
 * were put at its end would be lost again. */
enum err receive_standard(struct receive *r)
{
    window_reach(r->w, r->g->next);
    if (r->w->fair.leased.n > 0)
        fair_update(r->w, r->g);
    bool fair = r->w->fair.heavy_n > 0 && !r->redrives;
    enum err e = fair ? receive_fair(r) : receive_free(r);
    return e == ERR_OK ? receive_in_order(r) : e;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void make_lease(const struct receive *r, const struct partition_receive *request)
{
    struct partition_grant *out = r->out;
    uint64_t numbers[PARTITION_RECEIVE_MAX];
    for (size_t i = 0; i < out->picks_n; i++)
        numbers[i] = out->picks[i].number;
    qsort(numbers, out->picks_n, sizeof numbers[0], by_number);
    record_runs_fini(&out->runs);
    for (size_t i = 0; i < out->picks_n; i++)
        record_runs_put(&out->runs, numbers[i]);
    memset(&out->lease, 0, sizeof out->lease);
    out->lease.type = RECORD_LEASE;
    out->lease.lease = (struct record_lease){
        .gid = request->gid,
        .id = {r->view->epoch, r->p->lease_counter + 1},
        .granted_ms = r->view->now_ms,
        .granted_wall_ms = r->view->now_wall_ms,
        .until_ms = r->view->now_ms + request->visibility_ms,
        .holder = request->holder,
        .numbers = record_runs_bytes(&out->runs),
    };
}

enum err partition_plan_receive(const struct partition *p, const struct partition_view *view,
                                struct partition_window *w, const struct partition_receive *request,
                                struct partition_grant *out, uint64_t *need)
{
    CHECK(request->max >= 1 && request->max <= PARTITION_RECEIVE_MAX);
    CHECK(request->visibility_ms >= 0 && request->holder.n <= RECORD_HOLDER_BYTES_MAX);
    CHECK(view->committed_number <= p->next_number);
    struct receive r = {
        .p = p,
        .view = view,
        .w = w,
        .g = group_find(p, request->gid),
        .max = request->max,
        .body_bytes_max = request->body_bytes_max,
        .look_ahead = request->look_ahead,
        .out = out,
    };
    out->picks_n = 0;
    out->moves_n = 0;
    if (r.g == NULL)
        return ERR_NOT_FOUND;
    group_advance(p, r.g, view->now_ms);
    size_t held = group_in_flight(r.g);
    if (held >= view->in_flight_max)
        return ERR_OVER_LIMIT;
    if (view->in_flight_max - held < r.max)
        r.max = view->in_flight_max - held;
    window_bind(w, r.g);
    enum err e = view->fifo ? receive_fifo(&r) : receive_standard(&r);
    if (e == ERR_NEED)
        *need = r.need;
    if (e != ERR_OK)
        return e;
    if (out->picks_n > 0)
        make_lease(&r, request);
    for (size_t i = 0; i < out->picks_n && !view->fifo; i++)
        if (out->picks[i].group_hash != 0)
            fair_picked(w, out->picks[i].number, out->picks[i].group_hash);
    return ERR_OK;
}

enum err partition_plan_redrive(const struct partition *p, const struct partition_view *view,
                                struct partition_window *w, uint32_t gid, size_t max,
                                struct uuid target, struct partition_grant *out, uint64_t *need)
{
    CHECK(max >= 1 && max <= PARTITION_MOVES_MAX);
    CHECK(view->committed_number <= p->next_number);
    struct receive r = {
        .p = p,
        .view = view,
        .w = w,
        .g = group_find(p, gid),
        .max = max,
        .redrives = true,
        .redrive_target = target,
        .out = out,
    };
    out->picks_n = 0;
    out->moves_n = 0;
    if (r.g == NULL)
        return ERR_NOT_FOUND;
    group_advance(p, r.g, view->now_ms);
    window_bind(w, r.g);
    enum err e = view->fifo ? receive_fifo(&r) : receive_standard(&r);
    /* A redrive takes what it finds; headers that are missing are asked for when it finds nothing.
     */
    if (e == ERR_NEED && out->moves_n > 0)
        e = ERR_OK;
    if (e == ERR_NEED)
        *need = r.need;
    return e;
}

bool partition_move_is_redrive(const struct partition_move *move)
{
    return move->receive_count == 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Receiving: leases are planned under the partition's lock, bodies are read after it is given back.
 * A leased message cannot vanish below the reader, since nothing is released that is unfinished; if
 * it expires or is purged in between, it is passed over. */
#include <string.h>

#include "base/check.h"
#include "queue/copy_inside.h"
#include "queue/spread.h"
#include "queue/state.h"

enum {
    FILLS_MAX = 1000,           /* NEEDs that one receive may answer */
    FILLS_AHEAD_MAX = 20,       /* of them, those that only look for other tenants' messages */
    BODY_READ_AHEAD = 16 << 10, /* the next receive goes on from there */
};

/* One call. */
struct receiving {
    struct queue_topic *t;
    const struct topic_config *config;
    const struct queue_receive *request;
    struct queue_waiters *ws;
    struct arena *arena;
    bool here; /* only from partitions that are led here */
    struct queue_wait *w;
    struct queue_received *out;
    size_t n;
    size_t body_bytes;
    struct attempt_message *leased; /* room for QUEUE_BATCH_MAX; what `out` holds */
    bool dead_letter;
    struct uuid dead_letter_topic;
    struct partition_grant *grant;
};

/* Without a ready target of the same kind, which gives leases, there is no dead-lettering: messages
 * are delivered on. */
static void find_dead_letter(struct receiving *r)
{
    struct queue_topic *target;
    if (r->config->receives_max == 0 || r->config->dead_letter[0] == 0 ||
        queue_topic_find(r->t->q, bytes_of_text(r->config->dead_letter), &target) != ERR_OK)
        return;
    r->dead_letter = target->fifo == r->t->fifo && !target->compact;
    r->dead_letter_topic = target->id;
    queue_topic_give_back(target);
}

static int64_t visibility_ms(const struct receiving *r)
{
    return r->request->visibility_ms < 0 ? r->config->visibility_ms : r->request->visibility_ms;
}

static enum err plan_locked(struct receiving *r, struct queue_partition *p,
                            struct partition_view *view, int fills, uint64_t *need)
{
    *view = partition_view_locked(p, r->config);
    if (r->dead_letter) {
        view->receives_max = r->config->receives_max;
        view->dead_letter_topic = r->dead_letter_topic;
    }
    struct partition_receive request = {
        .gid = r->ws->gid,
        .max = r->request->max - r->n,
        .visibility_ms = visibility_ms(r),
        .holder = r->request->holder,
        .body_bytes_max = BODIES_BYTES_MAX - r->body_bytes,
        .look_ahead = fills < FILLS_AHEAD_MAX,
    };
    enum err e = partition_plan_receive(p->state, view, window_locked(p), &request, r->grant, need);
    window_count_locked(p);
    return e;
}

static void append_locked(struct receiving *r, struct queue_partition *p, int64_t now_ms)
{
    const struct partition_grant *g = r->grant;
    struct appending a;
    append_begin_locked(&a, p, now_ms);
    account_sizes_locked(&a, g);
    if (g->picks_n > 0)
        append_put_locked(&a, &g->lease);
    for (size_t i = 0; i < g->moves_n; i++)
        append_put_locked(&a, &g->moves[i]);
    bool waited = p->topic->fifo && g->picks_n > 0;
    if (append_end_locked(&a, waited) && waited)
        wait_lease_locked(r->w, p, g->lease.lease.until_ms, visibility_ms(r));
}

/* Leases of one partition. */
static enum err lease(struct receiving *r, struct queue_partition *p,
                      struct partition_group_info *group)
{
    enum err e;
    struct partition_view view;
    uint64_t need = 0;
    int fills;
    for (fills = 0;; fills++) {
        lock_take(&p->lk);
        e = partition_check_locked(p, 0);
        if (e == ERR_OK)
            e = copy_may_receive_locked(p);
        if (e == ERR_OK)
            e = plan_locked(r, p, &view, fills, &need);
        if (e != ERR_NEED)
            break;
        lock_give(&p->lk);
        e = fills == FILLS_MAX ? ERR_BUSY : window_fill(p, need);
        if (e != ERR_OK)
            return e;
    }
    if (e == ERR_OK && (r->grant->picks_n > 0 || r->grant->moves_n > 0)) {
        append_locked(r, p, view.now_ms);
        CHECK(partition_group_find(p->state, r->ws->gid, group));
    } else if (e == ERR_OK && fills > 0) {
        partition_alarm_locked(p, &view); /* headers that were read tell due times */
    }
    lock_give(&p->lk);
    return e;
}

/* FIFO: what stands behind one of its message group that could not be read waits with it, until
 * their lease ends. */
static bool is_behind_unread(const struct receiving *r, const bool *unread, size_t i)
{
    const struct partition_pick *picks = r->grant->picks;
    for (size_t k = 0; k < i && r->t->fifo; k++)
        if (unread[k] && picks[k].group_hash == picks[i].group_hash)
            return true;
    return false;
}

/* The picked messages of one partition; what is gone meanwhile is passed over. */
static enum err read_picked(struct receiving *r, struct queue_partition *p,
                            const struct partition_group_info *group)
{
    struct reader reader;
    reader_init(&reader);
    enum err result = ERR_OK;
    bool unread[PARTITION_RECEIVE_MAX] = {false};
    for (size_t i = 0; i < r->grant->picks_n; i++) {
        const struct partition_pick *pick = &r->grant->picks[i];
        struct record_message m;
        if (is_behind_unread(r, unread, i))
            continue;
        enum err e = reader_get(&reader, p->log, pick->number, BODY_READ_AHEAD, &m);
        if (e == ERR_GONE || e == ERR_NOT_FOUND)
            continue;
        if (e == ERR_CORRUPT)
            copy_rotten(p, 0);
        if (e != ERR_OK) {
            unread[i] = true;
            result = e;
            continue;
        }
        struct queue_received *out = &r->out[r->n];
        message_copy_out(&m, r->arena, out);
        r->body_bytes += m.body.n;
        out->first_received_wall_ms = pick->first_received_wall_ms;
        out->receive_count = pick->receive_count;
        out->partition = p->index;
        out->number = pick->number;
        struct receipt receipt = {
            .topic = r->t->id,
            .partition = p->index,
            .lease = {group->gid, group->generation, pick->number, r->grant->lease.lease.id},
        };
        receipt_write(r->t->q, &receipt, out->receipt);
        if (p->q->links != NULL) {
            r->w->leased = p->topic;
            r->w->leased_partitions[p->index / 64] |= UINT64_C(1) << (p->index % 64);
        }
        r->leased[r->n++] =
            (struct attempt_message){p->index, receipt.lease, r->grant->lease.lease.until_ms};
    }
    reader_fini(&reader);
    return result;
}

/* Around all partitions, from one that changes with every call. */
static enum err receive_around(struct receiving *r)
{
    struct queue_topic *t = r->t;
    uint32_t first = __atomic_fetch_add(&t->receive_turn, 1, __ATOMIC_RELAXED) % t->partitions_n;
    enum err worst = ERR_OK;
    bool any_here = false; /* those that others lead are theirs to answer for */
    for (uint32_t i = 0; i < t->partitions_n && r->n < r->request->max; i++) {
        struct queue_partition *p = &t->partitions[(first + i) % t->partitions_n];
        /* The first message of another partition would come in whole, however little is left. */
        if (r->n > 0 && r->body_bytes > BODIES_BYTES_MAX / 4)
            break;
        if (r->here && !queue_copy_is_ours(t, p->index))
            continue;
        struct partition_group_info group = {0};
        r->grant->picks_n = r->grant->moves_n = 0;
        enum err e = lease(r, p, &group);
        if (e == ERR_OK && r->grant->picks_n > 0)
            e = read_picked(r, p, &group);
        any_here = any_here || e == ERR_OK;
        if (e != ERR_OK && (worst == ERR_OK || e != ERR_NOT_LEADER))
            worst = e;
    }
    if (worst == ERR_NOT_LEADER && any_here)
        worst = ERR_OK;
    return r->n > 0 ? ERR_OK : worst;
}

static enum err receive_fresh(struct receiving *r)
{
    struct partition_grant grant;
    r->n = 0;
    find_dead_letter(r);
    partition_grant_init(&grant);
    r->grant = &grant;
    enum err e = receive_around(r);
    partition_grant_fini(&grant);
    windows_bound(r->t->q);
    if (e == ERR_OK && r->n > 0 && r->t->fifo && r->request->attempt_id.n > 0)
        attempt_note(r->t, r->request->attempt_id, r->leased, r->n);
    return e;
}

static enum err receive(struct queue_topic *t, const struct queue_receive *request, bool here,
                        struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX], size_t *n,
                        struct queue_wait *w)
{
    CHECK(request->max >= 1 && request->max <= QUEUE_BATCH_MAX);
    struct attempt_message leased[QUEUE_BATCH_MAX];
    struct receiving r = {.t = t,
                          .config = queue_topic_config(t),
                          .request = request,
                          .ws = topic_waiters(t, request->group),
                          .arena = arena,
                          .here = here,
                          .w = w,
                          .out = out,
                          .leased = leased};
    enum err e = topic_check(t);
    if (e == ERR_OK && r.ws == NULL)
        e = topic_no_group(t);
    if (e == ERR_OK && __atomic_load_n(&t->q->space_out, __ATOMIC_RELAXED))
        e = ERR_NO_SPACE;
    if (e != ERR_OK)
        return e;
    bool fresh = true;
    if (t->fifo && request->attempt_id.n > 0)
        fresh = !attempt_again(t, request, visibility_ms(&r), arena, out, &r.n, w);
    e = fresh ? receive_fresh(&r) : ERR_OK;
    if (e != ERR_OK)
        return e;
    *n = r.n;
    if (r.n > 0)
        STAT_ADD(t->q, received, r.n);
    else
        STAT_ADD(t->q, empty_receives, 1);
    return ERR_OK;
}

enum err queue_receive(struct queue_topic *t, const struct queue_receive *request,
                       struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX], size_t *n,
                       struct queue_wait *w)
{
    return receive(t, request, false, arena, out, n, w);
}

enum err queue_receive_here(struct queue_topic *t, const struct queue_receive *request,
                            struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX],
                            size_t *n, struct queue_wait *w)
{
    bool any = false;
    for (uint32_t i = 0; i < t->partitions_n && !any; i++)
        any = queue_copy_is_ours(t, i);
    return any ? receive(t, request, true, arena, out, n, w) : ERR_NOT_LEADER;
}

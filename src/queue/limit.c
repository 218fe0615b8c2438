// SPDX-License-Identifier: Apache-2.0
/* What a topic may hold. A send reserves its place in the topic's account before it is appended, so
 * that no number of sends at a time, in any partitions, gets above a limit. Where the topic says
 * so, its oldest messages make room: they are trimmed, or moved to its dead-letter topic. Retention
 * by size trims in the same way, from the housekeeper.
 *
 * Limits bind sends. A dead letter, a redriven message and a move that is called off come in above
 * them, for nothing may be lost on its way. */
#include "base/check.h"
#include "queue/state.h"

enum {
    DROP_MAX = RECORD_SIZES_NUMBERS_MAX, /* messages under one hold of a partition's lock */
    ROOM_STEPS_MAX = 1000,               /* to make room for one message */
    RETENTION_STEPS_MAX = 64,            /* a topic and period of the housekeeper */
    MOVING_MAX = 1000,                   /* on their way to the dead-letter topic, a partition */
};

bool limit_lets_go(const struct topic_config *c)
{
    return c->retention_bytes > 0 ||
           ((c->max_bytes > 0 || c->max_messages > 0) && c->when_full != TOPIC_FULL_REJECT);
}

/* ---- what is missing ---- */

/* What must go so that something fits. */
struct lack {
    uint64_t messages, bytes;
};

static uint64_t above(uint64_t value, int64_t limit)
{
    return limit > 0 && value > (uint64_t)limit ? value - (uint64_t)limit : 0;
}

static bool is_missing(const struct lack *l)
{
    return l->messages > 0 || l->bytes > 0;
}

static struct lack lack_for(struct queue_topic *t, const struct topic_config *c, uint64_t bytes)
{
    struct queue_live live = queue_topic_live(t);
    return (struct lack){above(live.messages + 1, c->max_messages),
                         above(live.bytes + bytes, c->max_bytes)};
}

static struct lack lack_to_retain(struct queue_topic *t, const struct topic_config *c)
{
    return (struct lack){0, above(queue_topic_live(t).bytes, c->retention_bytes)};
}

static void make_up(struct lack *l, uint64_t bytes)
{
    l->messages -= l->messages > 0;
    l->bytes -= bytes < l->bytes ? bytes : l->bytes;
}

/* ---- admission ---- */

enum err limit_reserve_locked(struct appending *a, const struct topic_config *c, uint32_t bytes,
                              struct queue_live *had)
{
    struct queue_topic *t = a->p->topic;
    lock_check_held(&a->p->lk);
    CHECK(bytes > 0 && a->reserved_bytes == 0);
    if (c->max_bytes == 0 && c->max_messages == 0)
        return ERR_OK;
    lock_take(&t->limits_lk);
    *had = queue_topic_live(t);
    struct lack lack = lack_for(t, c, bytes);
    bool fits = !is_missing(&lack);
    if (fits) {
        account_change(t, 1, bytes);
        a->reserved_bytes = bytes;
    }
    lock_give(&t->limits_lk);
    if (fits)
        return ERR_OK;
    bool never = c->max_bytes > 0 && bytes > (uint64_t)c->max_bytes;
    return c->when_full == TOPIC_FULL_REJECT || never ? ERR_TOPIC_FULL : ERR_NEED;
}

/* ---- letting the oldest go ---- */

/* One way of letting go. */
struct going {
    struct queue_topic *t;
    const struct topic_config *config;
    bool moves; /* to the dead-letter topic */
    struct uuid target;
};

/* The oldest message of p that may go: any live one, or to be moved: that is not leased. ERR_NEED:
 * older ones must be read first. ERR_NOT_FOUND: there is none. */
static enum err oldest_locked(const struct going *g, struct queue_partition *p, uint64_t *number,
                              struct head *head)
{
    struct partition_group_info group;
    struct partition_view view = partition_view_locked(p, g->config);
    if (p->closed || !partition_group_find(p->state, GID_DEFAULT, &group))
        return ERR_NOT_FOUND;
    uint64_t end = partition_next_number(p->state);
    for (uint64_t n = group.floor; n < end; n++) {
        struct record unused;
        const struct head *found = heads_find_locked(p, n);
        if (found == NULL)
            return ERR_NEED;
        if (g->moves ? !partition_plan_overflow(p->state, &view, GID_DEFAULT, n, &unused)
                     : !partition_is_live(p->state, GID_DEFAULT, n))
            continue;
        *number = n;
        *head = *found;
        return ERR_OK;
    }
    return ERR_NOT_FOUND;
}

static enum err oldest_of(const struct going *g, struct queue_partition *p, struct head *head)
{
    uint64_t number;
    for (;;) {
        lock_take(&p->lk);
        enum err e = oldest_locked(g, p, &number, head);
        lock_give(&p->lk);
        /* What cannot be read yet is not committed, and younger than all that is. */
        if (e != ERR_NEED || !heads_read(p))
            return e == ERR_NEED ? ERR_NOT_FOUND : e;
    }
}

/* The partition that has the topic's oldest message; `*until_ms`: when the oldest of the others was
 * accepted. NULL: nothing may go. */
static struct queue_partition *find_oldest(const struct going *g, int64_t *until_ms)
{
    struct queue_partition *oldest = NULL;
    int64_t oldest_ms = INT64_MAX;
    *until_ms = INT64_MAX;
    for (uint32_t i = 0; i < g->t->partitions_n; i++) {
        struct queue_partition *p = &g->t->partitions[i];
        struct head head;
        if (p->closed || oldest_of(g, p, &head) != ERR_OK)
            continue;
        if (oldest == NULL || head.accepted_ms < oldest_ms) {
            *until_ms = oldest_ms;
            oldest = p;
            oldest_ms = head.accepted_ms;
        } else if (head.accepted_ms < *until_ms) {
            *until_ms = head.accepted_ms;
        }
    }
    return oldest;
}

/* TRIM of as many as are missing, but of none that is younger than `until_ms`. */
static void drop_locked(struct appending *a, struct lack *lack, int64_t until_ms)
{
    struct queue_partition *p = a->p;
    struct partition_group_info group;
    struct partition_sizes sizes;
    if (!partition_group_find(p->state, GID_DEFAULT, &group))
        return;
    uint64_t below = group.floor, end = partition_next_number(p->state), n = 0;
    partition_sizes_init(&sizes);
    for (; is_missing(lack) && below < end && n < DROP_MAX; below++, n++) {
        const struct head *head = heads_find_locked(p, below);
        if (head == NULL)
            break;
        if (!partition_is_live(p->state, GID_DEFAULT, below))
            continue;
        if (head->accepted_ms > until_ms)
            break;
        make_up(lack, head->message_bytes);
        if (head->message_bytes > 0 && partition_size_missing(p->state, below))
            partition_sizes_put(&sizes, below, head->message_bytes);
    }
    if (sizes.n > 0) {
        struct record r = partition_sizes_record(&sizes);
        append_put_locked(a, &r);
    }
    if (below > group.floor)
        append_put_locked(a, &(struct record){.type = RECORD_TRIM, .trim = {below}});
    partition_sizes_fini(&sizes);
}

/* MOVEs, one after the other. */
static enum err move_locked(const struct going *g, struct appending *a, struct lack *lack,
                            int64_t until_ms)
{
    struct queue_partition *p = a->p;
    struct partition_view view = partition_view_locked(p, g->config);
    view.dead_letter_topic = g->target;
    for (int i = 0; is_missing(lack) && i < DROP_MAX; i++) {
        struct record move;
        struct head head;
        uint64_t number;
        if (account_now_locked(p).moving >= MOVING_MAX)
            return ERR_BUSY;
        if (oldest_locked(g, p, &number, &head) != ERR_OK || head.accepted_ms > until_ms)
            break;
        CHECK(partition_plan_overflow(p->state, &view, GID_DEFAULT, number, &move));
        make_up(lack, head.message_bytes);
        account_size_locked(a, number, head.message_bytes);
        append_put_locked(a, &move);
    }
    return ERR_OK;
}

/* One step. ERR_TOPIC_FULL: nothing may go. */
static enum err let_go(const struct going *g, struct lack *lack)
{
    int64_t until_ms;
    struct queue_partition *p = find_oldest(g, &until_ms);
    if (p == NULL)
        return ERR_TOPIC_FULL;
    lock_take(&p->lk);
    enum err e = partition_check_locked(p, 0);
    if (e == ERR_OK) {
        struct appending a;
        append_begin_locked(&a, p, partition_now_ms(p));
        if (g->moves)
            e = move_locked(g, &a, lack, until_ms);
        else
            drop_locked(&a, lack, until_ms);
        append_end_locked(&a, false);
    }
    lock_give(&p->lk);
    return e;
}

/* Without a ready target of the same kind, which gives leases, nothing is moved. */
static bool find_target(struct going *g)
{
    struct queue_topic *target;
    if (g->config->dead_letter[0] == 0 ||
        queue_topic_find(g->t->q, bytes_of_text(g->config->dead_letter), &target) != ERR_OK)
        return false;
    bool fits = target->fifo == g->t->fifo && !target->compact && target != g->t;
    g->target = target->id;
    queue_topic_give_back(target);
    return fits;
}

enum err limit_make_room(struct queue_topic *t, const struct topic_config *c, uint32_t bytes)
{
    struct going g = {.t = t, .config = c, .moves = c->when_full == TOPIC_FULL_DEAD_LETTER};
    lock_check_none_held();
    if (g.moves && !find_target(&g))
        return ERR_TOPIC_FULL;
    for (int i = 0; i < ROOM_STEPS_MAX; i++) {
        struct lack lack = lack_for(t, c, bytes);
        if (!is_missing(&lack))
            return ERR_OK;
        enum err e = let_go(&g, &lack);
        if (e != ERR_OK)
            return e;
    }
    return ERR_BUSY;
}

void limit_retain(struct queue_topic *t)
{
    struct going g = {.t = t, .config = queue_topic_config(t)};
    for (int i = 0; i < RETENTION_STEPS_MAX && topic_check(t) == ERR_OK; i++) {
        struct lack lack = lack_to_retain(t, g.config);
        if (!is_missing(&lack) || let_go(&g, &lack) != ERR_OK)
            return;
    }
}

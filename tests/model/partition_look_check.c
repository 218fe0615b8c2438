// SPDX-License-Identifier: Apache-2.0
#include "model/partition_look_check.h"

#include <string.h>

/* How a look must turn out. */
static struct partition_look expected(const struct model *m, int group, uint64_t number)
{
    static const enum partition_message_state states[] = {
        [MODEL_GONE] = PARTITION_FINISHED,    [MODEL_MOVING] = PARTITION_MOVING,
        [MODEL_IN_FLIGHT] = PARTITION_LEASED, [MODEL_DELAYED] = PARTITION_DELAYED,
        [MODEL_VISIBLE] = PARTITION_READY,
    };
    const struct model_fate *f = &m->messages[number].fate[group];
    struct partition_look look = {.number = number,
                                  .state = states[model_state_of(m, group, number)]};
    if (look.state == PARTITION_LEASED)
        look.until_ms = f->until_ms;
    if (look.state == PARTITION_DELAYED)
        look.until_ms = m->messages[number].due_ms;
    if (look.state != PARTITION_FINISHED) {
        look.receive_count = f->receives;
        look.first_received_wall_ms = f->first_received_wall_ms;
    }
    return look;
}

static bool settle(const struct model *m, const struct partition_view *view,
                   struct partition_look *look)
{
    struct record_message message = {
        .due_ms = m->messages[look->number].due_ms,
        .accepted_ms = m->messages[look->number].accepted_ms,
    };
    return partition_look_settle(look, view, &message);
}

static bool is_same(const struct partition_look *a, const struct partition_look *b)
{
    return a->number == b->number && a->state == b->state && a->until_ms == b->until_ms &&
           a->receive_count == b->receive_count &&
           a->first_received_wall_ms == b->first_received_wall_ms;
}

static const char *check_each(const struct model *m, int group, const struct partition *p,
                              const struct partition_view *view, uint32_t gid)
{
    struct partition_look got;
    for (uint64_t n = 0; n < m->messages_n; n++) {
        struct partition_look want = expected(m, group, n);
        if (partition_look_one(p, view, gid, n, &got) != ERR_OK)
            return "a message is not known";
        if (settle(m, view, &got) == model_is_expired(m, n))
            return "expired and shown, or the other way round";
        if (!is_same(&got, &want))
            return "a message is in another state";
        if (got.holder_bytes > 0 &&
            (got.state != PARTITION_LEASED || memcmp(got.holder, "worker", got.holder_bytes) != 0))
            return "another holder";
    }
    return partition_look_one(p, view, gid, m->messages_n, &got) == ERR_NOT_FOUND
               ? NULL
               : "a message that was never sent is known";
}

/* The next number that a look must show; false: none. */
static bool next_shown(const struct model *m, int group, unsigned states, bool downward,
                       uint64_t *place, uint64_t *number)
{
    if (downward && *place > m->committed)
        *place = m->committed;
    while (downward ? *place > 0 : *place < m->committed) {
        *number = downward ? --*place : (*place)++;
        struct partition_look want = expected(m, group, *number);
        if ((want.state & states) && want.state != PARTITION_FINISHED &&
            !model_is_expired(m, *number))
            return true;
    }
    return false;
}

static const char *check_walk(const struct model *m, int group, const struct partition *p,
                              const struct partition_view *view, uint32_t gid, struct rng *rng)
{
    struct partition_looking l = {
        .gid = gid,
        .states = (unsigned)rng_below(rng, 32),
        .downward = rng_below(rng, 2) == 0,
    };
    l.place = l.downward ? UINT64_MAX : 0;
    if (rng_below(rng, 2) == 0)
        l.place = rng_below(rng, m->messages_n + 2);
    size_t room = 1 + rng_below(rng, 20);
    uint64_t place = l.place, number;
    struct partition_look got[20];
    for (size_t calls = 0; !l.end; calls++) {
        if (calls > 2 * m->messages_n + 2)
            return "a look does not come to its end";
        size_t n = partition_look_on(p, view, &l, got, room);
        for (size_t i = 0; i < n; i++) {
            if (!settle(m, view, &got[i]) || !(got[i].state & l.states))
                continue;
            if (!next_shown(m, group, l.states, l.downward, &place, &number))
                return "one message too many";
            struct partition_look want = expected(m, group, number);
            if (!is_same(&got[i], &want))
                return "another message, or in another state";
        }
    }
    return next_shown(m, group, l.states, l.downward, &place, &number) ? "one message too few"
                                                                       : NULL;
}

const char *look_check_group(const struct model *m, int group, const struct partition *p,
                             const struct partition_view *view, uint32_t gid, struct rng *rng)
{
    const char *wrong = check_each(m, group, p, view, gid);
    for (int i = 0; i < 4 && wrong == NULL; i++)
        wrong = check_walk(m, group, p, view, gid, rng);
    return wrong;
}

static bool is_wanted(const struct model *m, uint64_t number)
{
    bool any_group = false;
    for (int g = 0; g < MODEL_GROUPS; g++) {
        any_group = any_group || m->group_exists[g];
        if (m->group_exists[g] && !m->messages[number].fate[g].finished)
            return true;
    }
    for (size_t i = 0; i < m->moves_n; i++)
        if (m->moves[i].open && m->moves[i].number == number)
            return true;
    return !any_group && number >= m->trimmed;
}

const char *look_check_wanted(const struct model *m, const struct partition *p, struct rng *rng)
{
    uint64_t first = rng_below(rng, m->messages_n + 1), end = rng_below(rng, m->messages_n + 3);
    uint64_t want = 0;
    for (uint64_t n = first; n < end && n < m->messages_n; n++)
        want += is_wanted(m, n);
    return partition_wanted_count(p, first, end) == want ? NULL : "another count is wanted";
}

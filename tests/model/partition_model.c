// SPDX-License-Identifier: Apache-2.0
#include "model/partition_model.h"

enum model_state model_state_of(const struct model *m, int group, uint64_t number)
{
    const struct model_message *message = &m->messages[number];
    const struct model_fate *f = &message->fate[group];
    if (f->finished)
        return MODEL_GONE;
    if (f->moving)
        return MODEL_MOVING;
    if (f->touched)
        return m->now_ms < f->until_ms ? MODEL_IN_FLIGHT : MODEL_VISIBLE;
    return m->now_ms < message->due_ms ? MODEL_DELAYED : MODEL_VISIBLE;
}

bool model_is_expired(const struct model *m, uint64_t number)
{
    return m->messages[number].accepted_ms + m->retention_ms <= m->now_ms;
}

bool model_is_receivable(const struct model *m, int group, uint64_t number)
{
    return number < m->committed && !model_is_expired(m, number) &&
           model_state_of(m, group, number) == MODEL_VISIBLE;
}

uint64_t model_floor(const struct model *m, int group)
{
    uint64_t n = 0;
    while (n < m->messages_n && m->messages[n].fate[group].finished)
        n++;
    return n;
}

struct fifo_walk {
    const struct model *m;
    int group;
    uint64_t end;
    size_t max;
    uint64_t bytes_left;
    uint32_t receives_max;
    bool full;
    struct model_fifo *out;
};

static void fifo_tenant(struct fifo_walk *k, uint64_t first)
{
    for (uint64_t n = first; n < k->end && !k->full; n++) {
        const struct model_message *message = &k->m->messages[n];
        if (message->tenant != k->m->messages[first].tenant)
            continue;
        enum model_state state = model_state_of(k->m, k->group, n);
        if (state == MODEL_GONE || state == MODEL_MOVING)
            continue;
        if (state != MODEL_VISIBLE)
            return;
        if (model_is_expired(k->m, n))
            continue;
        if (k->receives_max > 0 && message->fate[k->group].receives >= k->receives_max) {
            if (k->out->moves_n == 100)
                return;
            k->out->moves[k->out->moves_n++] = n;
            continue;
        }
        if (k->out->picks_n > 0 && message->body_bytes > k->bytes_left) {
            k->full = true;
            return;
        }
        k->bytes_left -= message->body_bytes < k->bytes_left ? message->body_bytes : k->bytes_left;
        k->out->picks[k->out->picks_n++] = n;
        k->full = k->out->picks_n == k->max;
    }
}

void model_fifo_receive(const struct model *m, int group, uint64_t end, size_t max,
                        uint64_t bytes_max, uint32_t receives_max, const int *first, size_t first_n,
                        struct model_fifo *out)
{
    bool asked[64] = {false};
    out->picks_n = out->moves_n = 0;
    struct fifo_walk k = {m, group, end, max, bytes_max, receives_max, false, out};
    for (size_t i = 0; i < first_n; i++)
        for (uint64_t n = 0; n < end && !asked[first[i]]; n++)
            if (m->messages[n].tenant == first[i] && !m->messages[n].fate[group].finished) {
                asked[first[i]] = true;
                fifo_tenant(&k, n);
            }
    for (uint64_t n = 0; n < end; n++) {
        int tenant = m->messages[n].tenant;
        if (asked[tenant] || m->messages[n].fate[group].finished)
            continue;
        asked[tenant] = true;
        fifo_tenant(&k, n);
    }
}

void model_receive(struct model *m, int group, uint64_t number, uint64_t epoch, uint64_t counter,
                   int64_t until_ms, int64_t wall_ms)
{
    struct model_fate *f = &m->messages[number].fate[group];
    if (f->receives == 0)
        f->first_received_wall_ms = wall_ms;
    f->receives++;
    f->touched = true;
    f->until_ms = until_ms;
    f->since_ms = m->now_ms;
    f->lease_epoch = epoch;
    f->lease_counter = counter;
}

void model_extend(struct model *m, int group, uint64_t number, int64_t until_ms)
{
    struct model_fate *f = &m->messages[number].fate[group];
    f->touched = true;
    f->until_ms = until_ms;
}

void model_finish_below(struct model *m, int group, uint64_t below)
{
    for (uint64_t n = 0; n < below && n < m->messages_n; n++)
        m->messages[n].fate[group].finished = true;
}

void model_start_group(struct model *m, int group, uint64_t generation, uint64_t from)
{
    m->group_exists[group] = true;
    m->generation[group] = generation;
    for (uint64_t n = 0; n < m->messages_n; n++)
        m->messages[n].fate[group] = (struct model_fate){
            .finished = n < from || n < m->trimmed,
        };
}

int64_t model_duplicate_of(const struct model *m, int id)
{
    for (size_t i = m->dedups_n; i > 0; i--)
        if (m->dedups[i - 1].id == id && m->now_ms < m->dedups[i - 1].until_ms)
            return (int64_t)m->dedups[i - 1].number;
    return -1;
}

/* The tenants of whom a grant has moves but no picks; writes at most PARTITION_MOVES_MAX. */
static size_t tenants_of_moves(const struct model *m, const struct partition_grant *got, int *out)
{
    size_t n = 0;
    for (size_t i = 0; i < got->moves_n; i++) {
        int tenant = m->messages[got->moves[i].move.number].tenant;
        bool picked = false;
        for (size_t k = 0; k < got->picks_n && !picked; k++)
            picked = m->messages[got->picks[k].number].tenant == tenant;
        if (!picked)
            out[n++] = tenant;
    }
    return n;
}

/* In which order message groups were asked is the planner's affair; what they give is not. The
 * model asks them in the order of the picks, and those of which only moves came before these or
 * behind. */
static bool fifo_gives(const struct model *m, int group, uint64_t end, size_t max,
                       uint64_t bytes_max, uint32_t receives_max, const struct partition_grant *got,
                       bool before)
{
    static struct model_fifo want;
    static int first[PARTITION_MOVES_MAX + PARTITION_RECEIVE_MAX];
    size_t n = before ? tenants_of_moves(m, got, first) : 0;
    for (size_t i = 0; i < got->picks_n; i++)
        first[n++] = m->messages[got->picks[i].number].tenant;
    n += before ? 0 : tenants_of_moves(m, got, first + n);
    model_fifo_receive(m, group, end, max, bytes_max, receives_max, first, n, &want);
    /* The message that was too large for the rest may be of a group that gave nothing. */
    bool exact = bytes_max > 100000, fine = got->picks_n > 0 || want.picks_n == 0;
    fine = fine && got->picks_n <= want.picks_n && got->moves_n <= want.moves_n;
    fine = fine && (!exact || (got->picks_n == want.picks_n && got->moves_n == want.moves_n));
    for (size_t i = 0; i < got->picks_n && fine; i++)
        fine = got->picks[i].number == want.picks[i];
    for (size_t i = 0; i < got->moves_n && fine && want.moves_n < PARTITION_MOVES_MAX; i++) {
        bool found = false;
        for (size_t k = 0; k < want.moves_n; k++)
            found = found || want.moves[k] == got->moves[i].move.number;
        fine = found;
    }
    return fine;
}

bool model_fifo_agrees(const struct model *m, int group, uint64_t end, size_t max,
                       uint64_t bytes_max, uint32_t receives_max, const struct partition_grant *got)
{
    return fifo_gives(m, group, end, max, bytes_max, receives_max, got, true) ||
           fifo_gives(m, group, end, max, bytes_max, receives_max, got, false);
}

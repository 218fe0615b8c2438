// SPDX-License-Identifier: Apache-2.0
/* What clients may see (H1 to H11), judged by what they were answered alone; and, where a rule has
 * an exception, by who led when. */
#include <inttypes.h>
#include <string.h>

#include "sim/cluster/world.h"

enum { LATE_MS = 150 /* between being ready and being seen so */ };

/* A standard topic's old leader may hand out for three seconds what it does not know to be done. */
static bool is_zombie(struct world *w, const struct op *op, uint32_t partition)
{
    const struct truth *t = &w->parts[op->topic == 1 ? 2 : partition];
    uint64_t led = 0;
    if (t->key.min_isr == 1) /* check-quorum can promise nothing where one is enough */
        return t->key.leader != op->broker;
    for (uint64_t epoch = 1; epoch < EPOCHS_MAX; epoch++)
        if (t->led_by[epoch] == op->broker)
            led = epoch;
    for (uint64_t epoch = led + 1; epoch < EPOCHS_MAX; epoch++)
        if (t->ready_ms[epoch] != 0 && op->start_ms - t->ready_ms[epoch] <= FRESH_MS + LATE_MS)
            return true;
    return false;
}

static void check_deleted(struct world *w, const struct op *op, size_t i)
{
    const struct message *m = &w->messages[op->serials[i]];
    if (m->deleted == FATE_OK && op->start_ms > m->deleted_ms &&
        (op->topic == 1 || !is_zombie(w, op, op->got[i].partition)))
        world_break(w, "H3: %zu came back at broker %u, deleted at %" PRId64, op->serials[i],
                    op->broker, m->deleted_ms);
}

/* H6: what was sent before, and is there, comes before; and while it is out nothing else does. */
static void check_order(struct world *w, const struct op *op, size_t i)
{
    const struct message *m = &w->messages[op->serials[i]];
    for (size_t k = 0; k < w->messages_n; k++) {
        const struct message *other = &w->messages[k];
        bool is_here = false;
        if (k == op->serials[i] || other->topic != 1 || other->group != m->group ||
            other->sent != FATE_OK || other->sent_end_ms >= m->sent_start_ms ||
            other->deleted != FATE_NONE)
            continue;
        for (size_t j = 0; j < i; j++)
            is_here = is_here || op->serials[j] == k;
        if (is_here)
            continue;
        if (!other->is_received)
            world_break(w, "H6: %zu comes before %zu, which was sent before", op->serials[i], k);
        else if (other->lease_until_ms > op->start_ms)
            world_break(w, "H6: %zu comes while %zu is out", op->serials[i], k);
    }
}

/* A lease that holds nothing may be answered at any time, also after later ones were. */
static bool is_past(const struct world *w, const struct op *op, size_t i)
{
    return op->topic == 1 && op->visibility_ms == 0 &&
           op->start_ms < w->messages[op->serials[i]].leased_ms;
}

static void check_fifo(struct world *w, const struct op *op, size_t i)
{
    const struct message *m = &w->messages[op->serials[i]];
    const struct queue_received *r = &op->got[i];
    if (op->visibility_ms > 0 && w->now_ms >= op->start_ms + op->visibility_ms)
        world_break(w, "H5: %zu comes from broker %u when its lease is over", op->serials[i],
                    op->broker);
    if (is_past(w, op, i))
        return;
    if (m->lease_until_ms > op->start_ms)
        world_break(w, "H5: %zu is out twice, at broker %u, until %" PRId64, op->serials[i],
                    op->broker, m->lease_until_ms);
    if (m->is_received && r->receive_count <= m->count)
        world_break(w, "H10: %zu was received %u times, now %u", op->serials[i], m->count,
                    r->receive_count);
    check_order(w, op, i);
}

static void take(struct world *w, const struct op *op, size_t i)
{
    struct message *m = &w->messages[op->serials[i]];
    const struct queue_received *r = &op->got[i];
    w->counts.takes++;
    if (is_past(w, op, i))
        return;
    w->counts.double_takes += op->topic == 0 && m->lease_until_ms > op->start_ms;
    m->is_received = m->is_id_known = true;
    memcpy(m->id, r->id, sizeof m->id);
    memcpy(m->receipt, r->receipt, sizeof m->receipt);
    m->count = r->receive_count;
    m->leased_ms = op->start_ms;
    m->lease_until_ms = op->start_ms + op->visibility_ms;
}

/* Each answer to a send that may be repeated tells of one message, the one that is received. */
void answers_sent(struct world *w, struct op *op)
{
    struct message *m = &w->messages[op->message];
    if (m->topic == 0 && m->repeat.front == 0)
        return;
    if (m->is_id_known && memcmp(m->id, op->sent.id, sizeof m->id) != 0)
        world_break(w, "H9: %zu is there twice, as broker %u answers", op->message, op->broker);
    if (op->sent.duplicate && m->repeat.front != 0)
        world_break(w, "H9: %zu is called a duplicate of itself", op->message);
    m->is_id_known = true;
    memcpy(m->id, op->sent.id, sizeof m->id);
}

static void check_once(struct world *w, const struct op *op, size_t i)
{
    const struct message *m = &w->messages[op->serials[i]];
    if (m->is_id_known && memcmp(m->id, op->got[i].id, sizeof m->id) != 0)
        world_break(w, "H9: %zu is there twice", op->serials[i]);
}

void answers_received(struct world *w, struct op *op)
{
    for (size_t i = 0; i < op->got_n; i++) {
        if (op->serials[i] == MESSAGES_MAX) {
            world_break(w, "H4: broker %u hands out what nobody sent", op->broker);
            return;
        }
        world_stir(w, op->serials[i] << 8 | op->got[i].receive_count);
        if (w->messages[op->serials[i]].sent == FATE_FAILED)
            world_break(w, "H7: %zu was refused, and is there", op->serials[i]);
        check_deleted(w, op, i);
        if (op->topic == 1 || w->messages[op->serials[i]].repeat.front != 0)
            check_once(w, op, i);
        if (op->topic == 1)
            check_fifo(w, op, i);
    }
    for (size_t i = 0; i < op->got_n; i++)
        take(w, op, i);
}

/* H1, H2, after the drain: what is missing was deleted. */
void answers_end(struct world *w)
{
    for (size_t i = 0; i < w->messages_n; i++) {
        const struct message *m = &w->messages[i];
        if (m->sent == FATE_OK && m->deleted == FATE_NONE)
            world_break(w, "H1: %zu is lost, sent at %" PRId64, i, m->sent_end_ms);
    }
}

// SPDX-License-Identifier: Apache-2.0
/* Brokers that take sends for partitions which others lead, and give them to the leaders under keys
 * (queue/spread.h): some sends are made again because nobody knows what became of them, some calls
 * come late, when nobody waits for them any more, and some fronts begin new lives. Who carries a
 * call is not played: it reaches its broker at once, or not at all. */
#include "sim/cluster/world.h"

enum { REPEAT_MS = 10000, FIRST_ID = 100 };

static uint64_t pick(struct world *w, uint64_t limit)
{
    return rng_below(&w->front_rng, limit);
}

void fronts_begin(struct world *w)
{
    w->has_fronts = w->seed % 4 == 3;
    w->front_rng = (struct rng){.state = ~w->seed};
    for (int i = 0; i < FRONTS; i++)
        w->fronts[i] = (struct front){.life = 1, .next = {1, 1, 1}};
}

/* Most think that they know who leads. */
static uint32_t ask(struct world *w, uint32_t part)
{
    return pick(w, 5) == 0 ? 1 + (uint32_t)pick(w, w->brokers_n) : w->parts[part].key.leader;
}

static bool is_open(struct world *w, struct message *m)
{
    bool is_over =
        m->sent == FATE_OK || m->sent == FATE_FAILED || w->now_ms - m->sent_start_ms > REPEAT_MS;
    m->is_settled = m->is_settled || is_over;
    return m->repeat.front != 0 && !m->is_settled;
}

static void send_new(struct world *w)
{
    uint64_t which = pick(w, FRONTS);
    struct front *f = &w->fronts[which];
    uint32_t part = (uint32_t)pick(w, PARTS);
    if (w->messages_n == MESSAGES_MAX)
        return;
    struct queue_repeat key = {FIRST_ID + (uint32_t)which, f->life, f->next[part], f->next[part]};
    f->next[part]++;
    for (size_t i = 0; i < w->messages_n; i++) {
        struct message *m = &w->messages[i];
        if (is_open(w, m) && m->repeat.front == key.front && m->repeat.life == key.life &&
            m->part == part && m->repeat.sequence < key.settled_below)
            key.settled_below = m->repeat.sequence;
    }
    w->messages[w->messages_n++] = (struct message){.topic = part == 2 ? 1 : 0,
                                                    .group = (uint32_t)pick(w, GROUPS),
                                                    .repeat = key,
                                                    .part = part};
    client_send(w, ask(w, part), w->messages_n - 1);
}

/* One of the last that have a key: still repeated, or a call of it that comes late. */
static void send_again(struct world *w, bool is_late)
{
    for (size_t i = w->messages_n, left = 1 + pick(w, 30); i-- > 0;) {
        struct message *m = &w->messages[i];
        if (m->repeat.front == 0 || (is_late ? m->sent == FATE_FAILED || m->sent == FATE_NONE
                                             : !is_open(w, m) || m->sent != FATE_UNKNOWN))
            continue;
        if (is_late && --left > 0)
            continue;
        client_send(w, ask(w, m->part), i);
        return;
    }
}

static void begin_life(struct world *w)
{
    uint64_t which = pick(w, FRONTS);
    for (size_t i = 0; i < w->messages_n; i++)
        if (w->messages[i].repeat.front == FIRST_ID + which)
            w->messages[i].is_settled = true;
    w->fronts[which] = (struct front){.life = w->fronts[which].life + 1, .next = {1, 1, 1}};
}

void fronts_act(struct world *w)
{
    uint64_t what = pick(w, 20);
    if (what < 6)
        send_new(w);
    else if (what < 12)
        send_again(w, false);
    else if (what < 14)
        send_again(w, true);
    else if (what == 14 && pick(w, 5) == 0)
        begin_life(w);
}

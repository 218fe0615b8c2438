// SPDX-License-Identifier: Apache-2.0
#include "sim/beliefs.h"

#include "base/check.h"
#include "base/mem.h"

void beliefs_fini(struct beliefs *b)
{
    mem_free(b->messages);
    mem_free(b->copies);
    mem_free(b->topics);
}

struct message *beliefs_message(struct beliefs *b, uint32_t serial)
{
    CHECK(serial < 1u << 24);
    while (serial >= b->messages_n) {
        if ((b->messages_n & (b->messages_n + 1)) == 0)
            b->messages = mem_resize(b->messages, 2 * (b->messages_n + 1) * sizeof b->messages[0]);
        b->messages[b->messages_n++] = (struct message){
            .copies = HISTORY_NONE,
            .known = MAYBE_NO,
            .known_all = MAYBE_NO,
            .duplicate_op = HISTORY_NONE,
        };
    }
    return &b->messages[serial];
}

struct incarnation *beliefs_topic(struct beliefs *b, uint32_t topic)
{
    CHECK(topic < 1u << 20);
    while (topic >= b->topics_n) {
        b->topics = mem_resize(b->topics, (b->topics_n + 1) * sizeof b->topics[0]);
        b->topics[b->topics_n++] = (struct incarnation){.policy.dead_slot = HISTORY_NONE};
    }
    return &b->topics[topic];
}

struct copy *beliefs_copy(struct beliefs *b, uint32_t message, uint32_t topic)
{
    if (message >= b->messages_n)
        return NULL;
    for (uint32_t i = b->messages[message].copies; i != HISTORY_NONE; i = b->copies[i].next)
        if (b->copies[i].topic == topic)
            return &b->copies[i];
    return NULL;
}

struct copy *beliefs_copy_add(struct beliefs *b, uint32_t message, uint32_t topic)
{
    if ((b->copies_n & (b->copies_n + 1)) == 0)
        b->copies = mem_resize(b->copies, 2 * (b->copies_n + 1) * sizeof b->copies[0]);
    uint32_t *end = &b->messages[message].copies;
    while (*end != HISTORY_NONE)
        end = &b->copies[*end].next;
    *end = (uint32_t)b->copies_n;
    struct copy *c = &b->copies[b->copies_n++];
    *c = (struct copy){
        .topic = topic,
        .message = message,
        .there = MAYBE_NO,
        .there_all = MAYBE_NO,
        .left_to = HISTORY_NONE,
        .last_take = HISTORY_NONE,
        .last_op = HISTORY_NONE,
        .next = HISTORY_NONE,
    };
    return c;
}

static void copy_is_durable(struct copy *c)
{
    c->there_all = c->there;
    c->low_all_ms = c->low_ms;
    c->high_all_ms = c->high_ms;
    c->count_durable = c->count_low;
}

void beliefs_synced(struct beliefs *b)
{
    for (size_t i = 0; i < b->copies_n; i++)
        copy_is_durable(&b->copies[i]);
    for (size_t i = 0; i < b->messages_n; i++) {
        b->messages[i].known_all = b->messages[i].known;
        b->messages[i].durable = true;
    }
}

void beliefs_answered(struct beliefs *b, uint32_t op)
{
    for (size_t i = 0; i < b->copies_n; i++)
        if (b->copies[i].last_op == op && b->copies[i].answer_binds)
            copy_is_durable(&b->copies[i]);
    for (size_t i = 0; i < b->messages_n; i++) {
        struct message *m = &b->messages[i];
        if (m->last_op == op || m->duplicate_op == op)
            m->known_all = m->known;
        m->durable = m->durable || m->sent.op == op || m->duplicate_op == op;
        /* Who was told of a duplicate was promised the first one. */
        if (m->duplicate_op == op && b->copies[m->copies].last_op == m->sent.op)
            copy_is_durable(&b->copies[m->copies]);
    }
}

void beliefs_crashed(struct beliefs *b)
{
    for (size_t i = 0; i < b->copies_n; i++) {
        struct copy *c = &b->copies[i];
        c->there = c->there_all;
        c->low_ms = c->low_all_ms;
        c->high_ms = c->high_all_ms;
        c->count_low = c->count_durable;
    }
    for (size_t i = 0; i < b->messages_n; i++)
        b->messages[i].known = b->messages[i].known_all;
}

void copy_decide(struct copy *c, uint8_t there, uint32_t op)
{
    c->there = there;
    c->there_all |= there;
    c->last_op = op;
    c->answer_binds = true;
}

void copy_see(struct copy *c, uint8_t there)
{
    c->there = c->there_all = there;
}

void copy_lease(struct copy *c, int64_t until_ms, uint32_t op, bool answer_binds)
{
    c->low_ms = c->high_ms = until_ms;
    if (until_ms < c->low_all_ms)
        c->low_all_ms = until_ms;
    if (until_ms > c->high_all_ms)
        c->high_all_ms = until_ms;
    c->taken = true;
    c->last_op = op;
    c->answer_binds = answer_binds;
}

void copy_may_end(struct copy *c, int64_t now_ms)
{
    c->low_ms = now_ms;
    if (now_ms < c->low_all_ms)
        c->low_all_ms = now_ms;
}

bool copy_may_move(const struct beliefs *b, const struct copy *c)
{
    const struct policy *p = &b->topics[c->topic].policy;
    return p->dead_slot != HISTORY_NONE && p->receives_max > 0 &&
           c->count_high - c->count_before >= p->receives_max;
}

bool copy_is_sure(const struct beliefs *b, const struct copy *c)
{
    return c->there == MAYBE_YES && b->now_max_ms < c->expires_ms && !copy_may_move(b, c);
}

// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/sim.h"

enum { GROUPS = 3, DEDUP_IDS = 6, LIST_MAX = QUEUE_BATCH_MAX };

/* ---- operations under way ---- */

static void answer(struct sim_op *op)
{
    struct sim *s = op->sim;
    op->told = true;
    sim_put(s, (struct event){
                   .kind = EVENT_END, .op = op->id, .topic = HISTORY_NONE, .err = op->w.err});
    for (size_t i = 0; op->w.err == ERR_OK && i < op->receipts_n; i++)
        s->receipts[s->receipts_n++ % SIM_RECEIPTS] = op->receipts[i];
}

static void ready(struct queue_wait *w)
{
    answer(CONTAINER_OF(w, struct sim_op, w));
}

static struct sim_op *op_new(struct sim *s)
{
    struct sim_op *op = mem_new(sizeof *op);
    op->w.ready = ready;
    op->sim = s;
    op->id = s->next_op++;
    return op;
}

/* The verb has decided; its answer goes out now, or when it is durable. */
static void op_decided(struct sim *s, struct sim_op *op)
{
    op->next = s->ops;
    s->ops = op;
    if (!queue_wait_start(&op->w))
        answer(op);
}

static void op_free(struct sim_op *op)
{
    mem_free(op->w.more);
    mem_free(op->receipts);
    mem_free(op);
}

void sim_ops_drop(struct sim *s)
{
    while (s->ops != NULL) {
        struct sim_op *op = s->ops;
        s->ops = op->next;
        op_free(op);
    }
}

void sim_ops_sweep(struct sim *s)
{
    for (struct sim_op **at = &s->ops; *at != NULL;) {
        struct sim_op *op = *at;
        if (!op->told) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        op_free(op);
    }
}

static struct queue_topic *find(struct sim *s, uint32_t slot)
{
    struct queue_topic *t;
    if (queue_topic_find(s->q, bytes_of_text(s->plans[slot].name), &t) != ERR_OK)
        return NULL;
    return t;
}

static uint64_t id_of(const uint8_t id[16])
{
    uint64_t first;
    memcpy(&first, id, sizeof first);
    return first;
}

/* ---- sending ---- */

/* A send's event, but for what the broker answers. */
static struct event draw_send(struct sim *s, uint32_t slot, uint32_t op)
{
    struct event e = {.kind = EVENT_SEND, .op = op, .topic = s->slots[slot]};
    e.message = s->next_message++;
    if (!s->plans[slot].policy.fifo)
        return e;
    e.group = 1 + (uint32_t)sim_below(s, GROUPS);
    e.dedup = sim_chance(s, 30) ? 1 + (uint32_t)sim_below(s, DEDUP_IDS) : 1000 + e.message;
    return e;
}

void sim_send(struct sim *s, uint32_t slot)
{
    struct queue_topic *t = find(s, slot);
    if (t == NULL)
        return;
    struct sim_text texts[LIST_MAX];
    struct queue_message messages[LIST_MAX];
    struct event events[LIST_MAX];
    struct queue_sent sent[LIST_MAX];
    enum err errs[LIST_MAX];
    memset(sent, 0, sizeof sent);
    size_t n = sim_chance(s, 60) ? 1 : 1 + sim_below(s, LIST_MAX);
    struct sim_op *op = op_new(s);
    for (size_t i = 0; i < n; i++) {
        struct event *e = &events[i];
        *e = draw_send(s, slot, op->id);
        sim_text_init(&texts[i], e->message, e->group, e->dedup);
        messages[i] = texts[i].message;
        if (!s->plans[slot].policy.fifo && sim_chance(s, 20))
            messages[i].delay_ms = (int64_t)sim_below(s, 6000);
    }
    queue_send(t, messages, n, sent, errs, &op->w);
    for (size_t i = 0; i < n; i++) {
        int64_t delay_ms =
            messages[i].delay_ms < 0 ? s->plans[slot].delay_ms : messages[i].delay_ms;
        events[i].err = errs[i];
        events[i].flag = sent[i].duplicate;
        events[i].id = id_of(sent[i].id);
        events[i].number = sent[i].number;
        events[i].until_ms = queue_now_ms(s->q) + delay_ms;
        sim_put(s, events[i]);
        sim_text_fini(&texts[i]);
        sim_remember_time(s, events[i].dedup != 0 && sim_chance(s, 30)
                                 ? queue_now_ms(s->q) + DEDUP_MS
                                 : events[i].until_ms);
        if (s->plans[slot].policy.retention_ms < 100000 && sim_chance(s, 30))
            sim_remember_time(s, queue_now_ms(s->q) + s->plans[slot].policy.retention_ms);
    }
    op_decided(s, op);
    queue_topic_give_back(t);
}

/* ---- receiving ---- */

/* Group and deduplication id of the send that the body tells of. */
static const struct event *sent_event(const struct sim *s, uint32_t serial)
{
    for (size_t i = 0; i < s->history.n; i++)
        if (s->history.at[i].kind == EVENT_SEND && s->history.at[i].message == serial)
            return &s->history.at[i];
    return NULL;
}

static void put_take(struct sim *s, struct sim_op *op, uint32_t topic,
                     const struct queue_received *r, int64_t until_ms)
{
    uint32_t serial = sim_serial_of(r->body);
    const struct event *sent = serial == HISTORY_NONE ? NULL : sent_event(s, serial);
    sim_put(s, (struct event){
                   .kind = EVENT_TAKE,
                   .op = op->id,
                   .topic = topic,
                   .message = serial,
                   .number = r->number,
                   .id = id_of(r->id),
                   .receive_count = r->receive_count,
                   .moved = r->origin.n > 0,
                   .flag = sent != NULL && sim_is_intact(r, serial, sent->group, sent->dedup),
                   .until_ms = until_ms,
               });
    struct sim_receipt *receipt = &op->receipts[op->receipts_n++];
    *receipt = (struct sim_receipt){.topic = topic, .message = serial, .lease = op->id};
    memcpy(receipt->text, r->receipt, sizeof receipt->text);
}

/* The answer could not be written. */
static void give_back(struct sim *s, struct queue_topic *t, const struct sim_receipt *receipts,
                      size_t n)
{
    struct queue_received received[LIST_MAX];
    for (size_t i = 0; i < n; i++) {
        memcpy(received[i].receipt, receipts[i].text, sizeof receipts[i].text);
        sim_put(s, (struct event){
                       .kind = EVENT_GIVE,
                       .op = s->next_op,
                       .topic = receipts[i].topic,
                       .message = receipts[i].message,
                       .lease = receipts[i].lease,
                   });
    }
    s->next_op++;
    queue_give_back(t, received, n);
}

size_t sim_receive(struct sim *s, struct queue_topic *t, uint32_t topic, bool drain)
{
    static const int64_t visibilities_ms[] = {0, 200, 1000, 2000, 5000, 20000};
    struct queue_received received[LIST_MAX];
    struct queue_receive request = {
        .max = drain ? LIST_MAX : 1 + sim_below(s, LIST_MAX),
        .visibility_ms = drain ? 20000 : visibilities_ms[sim_below(s, 6)],
        .holder = BYTES_OF("client"),
    };
    struct sim_op *op = op_new(s);
    size_t n = 0;
    s->last_receive = op->id;
    enum err e = queue_receive(t, &request, &s->arena, received, &n, &op->w);
    s->receive_err = e;
    if (e != ERR_OK)
        n = 0;
    else if (n == 0 && !fault_disk_has_failed(s->disk)) /* see README, "starved" */
        sim_put(s, (struct event){.kind = EVENT_EMPTY, .op = op->id, .topic = topic});
    int64_t until_ms = queue_now_ms(s->q) + request.visibility_ms;
    op->receipts = mem_new_array(n + 1, sizeof op->receipts[0]);
    for (size_t i = 0; i < n; i++)
        put_take(s, op, topic, &received[i], until_ms);
    if (n > 0)
        sim_remember_time(s, until_ms);
    if (n > 0 && !drain && sim_chance(s, 8))
        give_back(s, t, op->receipts, n);
    op_decided(s, op);
    arena_fini(&s->arena);
    arena_init(&s->arena, NULL, 0);
    return n;
}

void sim_receive_slot(struct sim *s, uint32_t slot)
{
    struct queue_topic *t = find(s, slot);
    if (t == NULL)
        return;
    sim_receive(s, t, s->slots[slot], false);
    queue_topic_give_back(t);
}

/* ---- receipts ---- */

static void use(struct sim *s, const struct sim_receipt *r, bool extend, int64_t visibility_ms)
{
    struct queue_topic *t = find(s, s->topics[r->topic].slot);
    if (t == NULL)
        return;
    struct sim_op *op = op_new(s);
    struct bytes text = bytes_of_text(r->text);
    enum err e = extend ? queue_extend(t, text, visibility_ms, false, &op->w)
                        : queue_delete(t, text, false, &op->w);
    sim_put(s, (struct event){
                   .kind = extend ? EVENT_EXTEND : EVENT_DELETE,
                   .err = e,
                   .op = op->id,
                   .topic = r->topic,
                   .message = r->message,
                   .lease = r->lease,
                   .until_ms = queue_now_ms(s->q) + visibility_ms,
               });
    if (extend)
        sim_remember_time(s, queue_now_ms(s->q) + visibility_ms);
    op_decided(s, op);
    queue_topic_give_back(t);
}

/* Mostly one of the newest. NULL: nobody has one yet. */
static const struct sim_receipt *choose_receipt(struct sim *s)
{
    unsigned have = s->receipts_n < SIM_RECEIPTS ? s->receipts_n : SIM_RECEIPTS;
    if (have == 0)
        return NULL;
    unsigned back = (unsigned)sim_below(s, sim_chance(s, 70) && have > 8 ? 8 : have);
    return &s->receipts[(s->receipts_n - 1 - back) % SIM_RECEIPTS];
}

void sim_use_receipt(struct sim *s, bool extend)
{
    static const int64_t visibilities_ms[] = {0, 300, 1500, 10000};
    const struct sim_receipt *chosen = choose_receipt(s);
    if (chosen == NULL)
        return;
    struct sim_receipt r = *chosen; /* an answer may take its place */
    use(s, &r, extend, visibilities_ms[sim_below(s, 4)]);
}

void sim_give_back_late(struct sim *s)
{
    const struct sim_receipt *r = choose_receipt(s);
    struct queue_topic *t = r == NULL ? NULL : find(s, s->topics[r->topic].slot);
    if (t == NULL)
        return;
    give_back(s, t, r, 1);
    queue_topic_give_back(t);
}

void sim_delete(struct sim *s, const struct sim_receipt *r)
{
    use(s, r, false, 0);
}

/* ---- whole topics ---- */

void sim_purge(struct sim *s, uint32_t slot)
{
    struct queue_topic *t = find(s, slot);
    if (t == NULL)
        return;
    struct sim_op *op = op_new(s);
    enum err e = queue_purge(t, &op->w);
    sim_put(s,
            (struct event){.kind = EVENT_PURGE, .err = e, .op = op->id, .topic = s->slots[slot]});
    op_decided(s, op);
    queue_topic_give_back(t);
}

void sim_count(struct sim *s)
{
    for (uint32_t slot = 0; slot < SIM_SLOTS; slot++) {
        struct queue_topic *t = find(s, slot);
        struct queue_counters c;
        if (t == NULL)
            continue;
        if (queue_count(t, BYTES_NONE, &c) == ERR_OK)
            sim_put(s, (struct event){
                           .kind = EVENT_COUNT,
                           .topic = s->slots[slot],
                           .visible = c.visible,
                           .in_flight = c.in_flight,
                           .delayed = c.delayed,
                           .moving = c.moving,
                       });
        queue_topic_give_back(t);
    }
}

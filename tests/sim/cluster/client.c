// SPDX-License-Identifier: Apache-2.0
/* What clients do. They know which broker led when they last asked, and ask others now and then. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/cluster/world.h"

enum { BODY_ROOM = 640, OPS_FIFO = 45 /* percent */ };

static const char *const names[TOPICS] = {"standard", "order.fifo"};

/* ---- answers ---- */

static void tell_send(struct world *w, struct op *op)
{
    struct message *m = &w->messages[op->message];
    m->sends_open--;
    if (op->err == ERR_OK) {
        answers_sent(w, op);
        if (m->sent != FATE_OK)
            m->sent_end_ms = w->now_ms;
        m->sent = FATE_OK;
        w->counts.sends++;
    } else if (op->err == ERR_UNKNOWN || op->err == ERR_FAILED) {
        m->sent = m->sent == FATE_OK ? FATE_OK : FATE_UNKNOWN;
    } else if (m->sent == FATE_OPEN && m->sends_open == 0) {
        m->sent = FATE_FAILED; /* a send before may have gone out, and said it is UNKNOWN then */
    }
}

static void tell_delete(struct world *w, struct op *op)
{
    struct message *m = &w->messages[op->message];
    if (op->err == ERR_OK) {
        m->deleted = FATE_OK;
        m->deleted_ms = w->now_ms;
        w->counts.deletes++;
        return;
    }
    if (op->err == ERR_GONE && !m->may_be_deleted)
        world_break(w, "H2: %zu is finished, and nobody deleted it", op->message);
    m->may_be_deleted = m->may_be_deleted || op->err == ERR_UNKNOWN || op->err == ERR_FAILED;
    m->deleted = m->may_be_deleted ? FATE_UNKNOWN : FATE_NONE;
}

static void tell(struct op *op)
{
    struct world *w = op->world;
    op->is_told = true;
    if (op->err == ERR_OK)
        op->err = op->w.err;
    static const char *const verbs[] = {"send", "receive", "delete", "give back"};
    world_say(w, "client: %s %zu (topic %u, %zu) at %u since %lld: %s", verbs[op->verb],
              op->got_n > 0 ? op->serials[0] : op->message, op->topic, op->got_n, op->broker,
              (long long)op->start_ms, err_text(op->err));
    world_stir(w, (uint64_t)op->verb << 32 ^ (uint64_t)op->err << 16 ^ op->message);
    if (op->verb == VERB_SEND)
        tell_send(w, op);
    else if (op->verb == VERB_DELETE)
        tell_delete(w, op);
    else if (op->verb == VERB_RECEIVE && op->err == ERR_OK)
        answers_received(w, op);
}

static void ready(struct queue_wait *wait)
{
    tell(CONTAINER_OF(wait, struct op, w));
}

static struct op *op_new(struct world *w, enum verb verb, uint32_t broker, uint32_t topic)
{
    struct op *op = mem_new(sizeof *op);
    op->w.ready = ready;
    op->world = w;
    op->verb = verb;
    op->broker = broker;
    op->life = w->brokers[broker].life;
    op->topic = topic;
    op->start_ms = w->now_ms;
    op->next = w->ops;
    w->ops = op;
    return op;
}

static void op_wait(struct op *op)
{
    if (!queue_wait_start(&op->w))
        tell(op);
    broker_commit_soon(&op->world->brokers[op->broker]);
}

static void op_free(struct op *op)
{
    mem_free(op->w.more);
    mem_free(op->got);
    mem_free(op->serials);
    mem_free(op);
}

void client_sweep(struct world *w)
{
    for (struct op **at = &w->ops; *at != NULL;) {
        struct op *op = *at;
        if (!op->is_told) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        op_free(op);
    }
}

void client_lost(struct world *w, uint32_t broker)
{
    for (struct op *op = w->ops; op != NULL; op = op->next)
        if ((broker == 0 || op->broker == broker) && !op->is_told) {
            op->err = ERR_UNKNOWN;
            tell(op);
        }
    client_sweep(w);
}

/* ---- whom to ask ---- */

static struct queue_topic *find(struct world *w, uint32_t broker, uint32_t topic)
{
    struct broker *b = &w->brokers[broker];
    struct queue_topic *t;
    if (broker == 0 || !broker_is_up(b) || b->paused_until_ms > w->now_ms)
        return NULL;
    broker_enter(b);
    return queue_topic_find(b->queue, bytes_of_text(names[topic]), &t) == ERR_OK ? t : NULL;
}

bool client_is_served(struct world *w, size_t part)
{
    struct queue_topic *t = find(w, w->parts[part].key.leader, part == 2 ? 1 : 0);
    bool is_served = t != NULL && queue_copy_is_ours(t, part == 2 ? 0 : (uint32_t)part);
    if (t != NULL)
        queue_topic_give_back(t);
    return is_served;
}

uint32_t client_leader(struct world *w, uint32_t topic)
{
    return w->parts[topic == 1 ? 2 : draw(w, 2)].key.leader;
}

static uint32_t choose(struct world *w, uint32_t topic)
{
    if (chance(w, 10))
        return 1 + (uint32_t)draw(w, w->brokers_n);
    if (w->believed[topic] == 0 || chance(w, 20))
        w->believed[topic] = client_leader(w, topic);
    return w->believed[topic];
}

/* ---- verbs ---- */

static size_t body_write(const struct message *m, size_t serial, char body[BODY_ROOM])
{
    int n = snprintf(body, BODY_ROOM, "%u/%04zu/", m->topic, serial);
    size_t filled = 20 + (serial * 37) % (serial % 4 == 0 ? BODY_ROOM - 30 : 100);
    for (size_t i = (size_t)n; i < filled; i++)
        body[i] = (char)('a' + (serial + i) % 26);
    return filled;
}

void client_send(struct world *w, uint32_t broker, size_t serial)
{
    struct message *m = &w->messages[serial];
    char body[BODY_ROOM], group[8];
    struct queue_topic *t = find(w, broker, m->topic);
    uint32_t partition = m->topic == 1 ? 0 : m->part;
    if (t == NULL)
        return;
    struct op *op = op_new(w, VERB_SEND, broker, m->topic);
    struct queue_message q = {.body = {body, body_write(m, serial, body)}, .delay_ms = -1};
    (void)snprintf(group, sizeof group, "g%u", m->group);
    if (m->topic == 1) {
        q.group_id = bytes_of_text(group);
        q.dedup_id = (struct bytes){body, 6};
    }
    op->message = serial;
    m->sends_open++;
    if (m->sent == FATE_NONE) {
        m->sent = FATE_OPEN;
        m->sent_start_ms = w->now_ms;
    }
    if (m->repeat.front != 0) {
        q.repeat = &m->repeat;
        queue_send_to(t, &q, &partition, 1, &op->sent, &op->err, &op->w);
    } else {
        queue_send(t, &q, 1, &op->sent, &op->err, &op->w);
    }
    op_wait(op);
    queue_topic_give_back(t);
}

void client_send_new(struct world *w, uint32_t broker, uint32_t topic)
{
    if (w->messages_n == MESSAGES_MAX)
        return;
    w->messages[w->messages_n++] =
        (struct message){.topic = topic, .group = (uint32_t)draw(w, GROUPS)};
    client_send(w, broker, w->messages_n - 1);
}

/* A new one, or a FIFO one again whose answer was lost. */
static void send_any(struct world *w)
{
    uint32_t topic = chance(w, OPS_FIFO) ? 1 : 0;
    uint32_t broker = choose(w, topic);
    if (topic == 1 && chance(w, 20))
        for (size_t i = w->messages_n; i-- > 0;) {
            struct message *m = &w->messages[i];
            if (m->topic == 1 && m->repeat.front == 0 && m->sent == FATE_UNKNOWN &&
                w->now_ms - m->sent_start_ms < 60000) {
                client_send(w, broker, i);
                return;
            }
        }
    client_send_new(w, broker, topic);
}

/* What a body says that it is; MESSAGES_MAX: nothing that was ever sent. */
static size_t serial_of(struct world *w, uint32_t topic, struct bytes body)
{
    char text[16] = {0}, expected[BODY_ROOM];
    unsigned of;
    size_t serial;
    memcpy(text, body.at, body.n < 15 ? body.n : 15);
    if (sscanf(text, "%u/%zu/", &of, &serial) != 2 || serial >= w->messages_n || of != topic ||
        w->messages[serial].topic != topic)
        return MESSAGES_MAX;
    size_t n = body_write(&w->messages[serial], serial, expected);
    return n == body.n && memcmp(expected, body.at, n) == 0 ? serial : MESSAGES_MAX;
}

size_t client_receive(struct world *w, uint32_t broker, uint32_t topic, size_t max,
                      int64_t visibility_ms)
{
    struct queue_topic *t = find(w, broker, topic);
    if (t == NULL)
        return 0;
    struct queue_receive request = {.max = max, .visibility_ms = visibility_ms};
    struct op *op = op_new(w, VERB_RECEIVE, broker, topic);
    op->visibility_ms = visibility_ms;
    op->got = mem_new_array(QUEUE_BATCH_MAX, sizeof op->got[0]);
    op->serials = mem_new_array(QUEUE_BATCH_MAX, sizeof op->serials[0]);
    op->err = queue_receive(t, &request, &w->arena, op->got, &op->got_n, &op->w);
    if (op->err != ERR_OK)
        op->got_n = 0;
    size_t n = op->got_n;
    for (size_t i = 0; i < n; i++)
        op->serials[i] = serial_of(w, topic, op->got[i].body);
    op_wait(op);
    queue_topic_give_back(t);
    arena_fini(&w->arena);
    arena_init(&w->arena, NULL, 0);
    return n;
}

void client_delete(struct world *w, uint32_t broker, size_t serial)
{
    struct message *m = &w->messages[serial];
    struct queue_topic *t = find(w, broker, m->topic);
    if (t == NULL)
        return;
    struct op *op = op_new(w, VERB_DELETE, broker, m->topic);
    op->message = serial;
    m->deleted = FATE_OPEN;
    op->err = queue_delete(t, bytes_of_text(m->receipt), false, &op->w);
    op_wait(op);
    queue_topic_give_back(t);
}

static void give_back(struct world *w, uint32_t broker, size_t serial)
{
    struct message *m = &w->messages[serial];
    struct queue_topic *t = find(w, broker, m->topic);
    if (t == NULL)
        return;
    struct op *op = op_new(w, VERB_GIVE_BACK, broker, m->topic);
    m->lease_until_ms = 0;
    op->err = queue_extend(t, bytes_of_text(m->receipt), 0, false, &op->w);
    op_wait(op);
    queue_topic_give_back(t);
}

static void use_receipt(struct world *w)
{
    size_t oldest = 0;
    while (oldest < w->messages_n &&
           (w->messages[oldest].deleted == FATE_OK || w->messages[oldest].sent == FATE_FAILED))
        oldest++;
    for (int tries = 0; tries < 8 && w->messages_n > 0; tries++) {
        size_t serial = oldest + (size_t)tries;
        if (serial >= w->messages_n || chance(w, 40))
            serial = draw(w, w->messages_n);
        struct message *m = &w->messages[serial];
        if (m->receipt[0] == '\0' || m->deleted == FATE_OPEN || m->deleted == FATE_OK)
            continue;
        if (chance(w, 15))
            give_back(w, choose(w, m->topic), serial);
        else
            client_delete(w, choose(w, m->topic), serial);
        return;
    }
}

void client_act(struct world *w)
{
    static const int64_t visibilities_ms[] = {0, 500, 2000, 8000, 20000};
    uint64_t what = draw(w, w->weather.is_tidy ? 16 : 10);
    uint32_t topic = chance(w, OPS_FIFO) ? 1 : 0;
    if (what < 4)
        send_any(w);
    else if (what < 7)
        (void)client_receive(w, choose(w, topic), topic, 1 + draw(w, 5),
                             visibilities_ms[draw(w, 5)]);
    else
        use_receipt(w);
    if (w->has_fronts)
        fronts_act(w);
    client_sweep(w);
}

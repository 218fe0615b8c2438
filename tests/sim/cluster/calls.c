// SPDX-License-Identifier: Apache-2.0
/* In the place of the room peer: the controller's questions to brokers, in the forms of the wire.
 */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "peer/wire.h"
#include "sim/cluster/world.h"

struct peer {
    struct broker *broker;
};

enum err peer_start(const struct peer_options *o, struct peer **out)
{
    *out = mem_new(sizeof **out);
    (*out)->broker = broker_of_clock(o->clock);
    return ERR_OK;
}

uint16_t peer_port(const struct peer *p)
{
    return (uint16_t)p->broker->id;
}

void peer_stop(struct peer *p)
{
    calls_end(p->broker->world, p->broker->id);
    mem_free(p);
}

static void finish(struct world *w, uint64_t name, enum err e, struct bytes body)
{
    for (struct call **at = &w->calls; *at != NULL; at = &(*at)->next) {
        struct call *c = *at;
        if (c->name != name)
            continue;
        *at = c->next;
        c->done.done(c->done.self, e, 200, body);
        mem_free(c);
        return;
    }
}

void calls_end(struct world *w, uint32_t asker)
{
    for (struct call **at = &w->calls; *at != NULL;) {
        struct call *c = *at;
        if (c->asker != asker) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        c->done.done(c->done.self, ERR_STOPPING, 0, BYTES_NONE);
        mem_free(c);
    }
}

struct peer_call *peer_post(struct peer *p, uint32_t to, const char *url, const char *path,
                            struct bytes body, int64_t deadline_ms, struct peer_call_done done)
{
    struct broker *b = p->broker;
    struct world *w = b->world;
    struct call *c = mem_new(sizeof *c);
    CHECK(url != NULL && strcmp(path, "/_r/v1/state") == 0);
    *c = (struct call){w->calls, ++w->next_name, b->id, done};
    w->calls = c;
    struct item *i = item_new(ITEM_QUESTION, to);
    i->from = b->id;
    i->number = c->name;
    buf_put_bytes(&i->bytes, body);
    net_send(w, i, false);
    i = item_new(ITEM_REPLY_OVERDUE, b->id);
    i->life = b->life;
    i->number = c->name;
    world_send(w, deadline_ms, i);
    return (struct peer_call *)c;
}

static void on_question(struct world *w, const struct item *i)
{
    struct broker *b = &w->brokers[i->broker];
    struct wire_partition *of;
    size_t n;
    struct item *reply = item_new(ITEM_REPLY, i->from);
    reply->from = b->id;
    reply->number = i->number;
    reply->life = w->brokers[i->from].life;
    reply->err = ERR_REFUSED;
    if (broker_is_up(b)) {
        CHECK(wire_state_ask_decode(buf_bytes(&i->bytes), &of, &n) == ERR_OK);
        struct wire_state_part *parts = mem_new_array(n + 1, sizeof parts[0]);
        for (size_t k = 0; k < n; k++) {
            struct queue_copy_id id = {.partition = of[k].partition};
            memcpy(id.topic, of[k].topic, sizeof id.topic);
            parts[k].of = of[k];
            parts[k].is_there = queue_copy_look(b->queue, &id, &parts[k].status) == ERR_OK;
        }
        wire_state_encode(parts, n, &reply->bytes);
        reply->err = ERR_OK;
        mem_free(parts);
        mem_free(of);
    }
    net_send(w, reply, false);
}

void calls_on_item(struct world *w, struct item *i)
{
    if (i->type == ITEM_QUESTION)
        on_question(w, i);
    else if (i->type == ITEM_REPLY)
        finish(w, i->number, i->err, buf_bytes(&i->bytes));
    else
        finish(w, i->number, ERR_BUSY, BYTES_NONE);
}

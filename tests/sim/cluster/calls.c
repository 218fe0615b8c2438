// SPDX-License-Identifier: Apache-2.0
/* In the place of the room peer: the controller's questions to brokers, knocks, and what brokers
 * say of silent ones, in the forms of the wire. */
#include <errno.h>
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

/* A host without a broker refuses. */
static void call_done(struct call *c, enum err e, struct bytes body)
{
    c->done.done(c->done.self, e, e == ERR_OK ? 200 : e == ERR_REFUSED ? ECONNREFUSED : 0, body);
    mem_free(c);
}

static void finish(struct world *w, uint64_t name, enum err e, struct bytes body)
{
    for (struct call **at = &w->calls; *at != NULL; at = &(*at)->next) {
        struct call *c = *at;
        if (c->name != name)
            continue;
        *at = c->next;
        call_done(c, e, body);
        return;
    }
}

/* Those of one asker; to = 0: to whomever. None is begun meanwhile. */
static void end_all(struct world *w, uint32_t asker, uint32_t to, enum err e)
{
    for (struct call **at = &w->calls; *at != NULL;) {
        struct call *c = *at;
        if (c->asker != asker || (to != 0 && c->to != to)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        call_done(c, e, BYTES_NONE);
    }
}

void calls_end(struct world *w, uint32_t asker)
{
    end_all(w, asker, 0, ERR_STOPPING);
}

void peer_give_up(struct peer *p, uint32_t to)
{
    end_all(p->broker->world, p->broker->id, to, ERR_BUSY);
}

int64_t peer_heard_ms(struct peer *p, uint32_t from)
{
    (void)p, (void)from;
    return INT64_MIN; /* fetches are no calls here */
}

struct peer_call *peer_post(struct peer *p, uint32_t to, const char *url, const char *path,
                            struct bytes body, int64_t deadline_ms, struct peer_call_done done)
{
    struct broker *b = p->broker;
    struct world *w = b->world;
    struct call *c = mem_new(sizeof *c);
    bool is_voice = strcmp(path, "/_r/v1/silent") == 0;
    CHECK(url != NULL && (is_voice || strcmp(path, "/_r/v1/state") == 0));
    *c = (struct call){w->calls, ++w->next_name, b->id, to, done};
    w->calls = c;
    struct item *i = item_new(ITEM_QUESTION, to);
    i->from = b->id;
    i->number = c->name;
    i->is_voice = is_voice;
    w->counts.voices += is_voice;
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
    if (broker_is_up(b) && i->is_voice) {
        reply->err = cluster_voice_take(b->cluster, i->from, buf_bytes(&i->bytes));
    } else if (broker_is_up(b)) {
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

/* ---- what the listener's handlers would call: nothing listens here ---- */

struct bytes http_body(const struct http_request *r)
{
    (void)r;
    UNREACHABLE();
}

void http_reply(struct http_request *r, int status, const struct http_answer_header *headers,
                size_t n, struct buf *body)
{
    (void)r, (void)status, (void)headers, (void)n, (void)body;
    UNREACHABLE();
}

void peer_reply(struct peer *p, struct http_request *r, int status, struct buf *body)
{
    (void)p, (void)r, (void)status, (void)body;
    UNREACHABLE();
}

// SPDX-License-Identifier: Apache-2.0
/* Verbs go in rounds. A round gives each item that is not settled to the broker that leads its
 * partition: this one carries out its own at once, the others get a hop each, side by side. When
 * all have answered and what was done here is committed, the items that met no leader are open
 * again: at once if somebody has named the leader, else after a pause. */
#include "front/verbs.h"

#include <string.h>

#include "base/check.h"
#include "queue/spread.h"

enum { PAUSE_FIRST_MS = 20, PAUSE_MAX_MS = 320 };

static void play(struct front_verb *v);

static const struct front_links *links_of(const struct front_verb *v)
{
    return v->call->links;
}

/* ---- here ---- */

static void send_here(struct front_verb *v)
{
    struct arena *arena = http_arena(v->call->http);
    struct queue_message *messages = arena_get(arena, v->local_n * sizeof *messages);
    uint32_t *places = arena_get(arena, v->local_n * sizeof *places);
    struct queue_sent *sent = arena_zeros(arena, v->local_n * sizeof *sent);
    enum err *errs = arena_zeros(arena, v->local_n * sizeof *errs);
    for (size_t i = 0; i < v->local_n; i++) {
        messages[i] = *v->local[i]->message;
        if (v->local[i]->repeat.front != 0)
            messages[i].repeat = &v->local[i]->repeat;
        places[i] = v->local[i]->partition;
    }
    queue_send_to(v->topic, messages, places, v->local_n, sent, errs, v->wait);
    for (size_t i = 0; i < v->local_n; i++) {
        v->local[i]->sent = sent[i];
        v->local[i]->err = errs[i];
    }
}

/* Deletes that follow one another are given to the queue together. */
static void change_all(struct queue_topic *t, struct front_change *changes, size_t n, bool strict,
                       struct queue_wait *w)
{
    for (size_t i = 0; i < n;) {
        struct bytes receipts[QUEUE_BATCH_MAX];
        enum err errs[QUEUE_BATCH_MAX];
        size_t k = 0;
        for (; i + k < n && k < QUEUE_BATCH_MAX && changes[i + k].is_delete; k++)
            receipts[k] = changes[i + k].receipt;
        if (k == 0) {
            struct front_change *x = &changes[i++];
            x->err = queue_extend(t, x->receipt, x->visibility_ms, strict, w);
            continue;
        }
        queue_delete_many(t, receipts, k, strict, errs, w);
        for (size_t j = 0; j < k; j++)
            changes[i++].err = errs[j];
    }
}

static void change_here(struct front_verb *v)
{
    struct front_change *changes =
        arena_get(http_arena(v->call->http), v->local_n * sizeof *changes);
    for (size_t i = 0; i < v->local_n; i++)
        changes[i] = (struct front_change){
            .receipt = v->local[i]->receipt,
            .is_delete = v->local[i]->is_delete,
            .visibility_ms = v->local[i]->visibility_ms,
        };
    change_all(v->topic, changes, v->local_n, v->strict, v->wait);
    for (size_t i = 0; i < v->local_n; i++)
        v->local[i]->err = changes[i].err;
}

static void act_here(struct front_verb *v)
{
    if (v->kind == FRONT_SEND && v->local_n > 0)
        send_here(v);
    if (v->kind == FRONT_CHANGE && v->local_n > 0)
        change_here(v);
    for (size_t i = 0; i < v->local_n; i++) {
        struct front_item *item = v->local[i];
        if (v->kind == FRONT_PURGE)
            item->err =
                queue_purge_place(v->topic, v->group, item->partition, &item->finished, v->wait);
        else if (v->kind == FRONT_COUNT)
            item->err =
                queue_count_place(v->topic, v->group, item->partition, &item->counters, v->wait);
    }
    for (size_t i = 0; i < v->local_n; i++)
        if (v->local[i]->err == ERR_NOT_READY) /* nothing was done, either */
            v->local[i]->err = ERR_NOT_LEADER;
}

/* ---- who gets what ---- */

static bool may_be_placed(const struct front_item *item)
{
    return item->is_open && !item->in_doubt;
}

/* Those that may go anywhere are placed anew in each round, unless they may have been stored. */
static void place_sends(struct front_verb *v)
{
    struct arena *arena = http_arena(v->call->http);
    struct queue_message *messages = arena_get(arena, v->n * sizeof *messages);
    uint32_t *places = arena_get(arena, v->n * sizeof *places);
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        if (may_be_placed(&v->items[i]))
            messages[n++] = *v->items[i].message;
    queue_send_places(v->topic, messages, n, places);
    n = 0;
    for (size_t i = 0; i < v->n; i++) {
        struct front_item *item = &v->items[i];
        if (!may_be_placed(item))
            continue;
        if (item->partition != places[n])
            item->leader = 0; /* somebody said who leads another partition */
        item->partition = places[n++];
    }
}

static struct front_hop *hop_to(struct front_verb *v, uint32_t broker)
{
    for (size_t i = 0; i < v->hops_n; i++)
        if (v->hops[i].broker == broker)
            return &v->hops[i];
    struct front_hop *hop = &v->hops[v->hops_n++];
    int64_t deadline_boot_ms = clock_boot_ms(links_of(v)->clock) + FRONT_HOP_MS;
    *hop = (struct front_hop){
        .kind = v->kind,
        .broker = broker,
        .deadline_boot_ms =
            deadline_boot_ms < v->deadline_boot_ms ? deadline_boot_ms : v->deadline_boot_ms,
        .strict = v->strict,
        .group = v->group,
        .items = arena_get(http_arena(v->call->http), v->n * sizeof *hop->items),
    };
    memcpy(hop->topic, queue_topic_config(v->topic)->id, sizeof hop->topic);
    return hop;
}

static const uint8_t *topic_id(const struct front_verb *v)
{
    return queue_topic_config(v->topic)->id;
}

/* All that goes to one partition is one broker's in a round, or nobody's, whatever is heard between
 * two looks: so nothing overtakes what is before it. */
static uint32_t taker_of(const struct front_verb *v, const struct front_item *item)
{
    for (const struct front_item *i = v->items; i < item; i++)
        if (i->is_open && i->partition == item->partition)
            return i->taker;
    bool ours = queue_copy_is_ours(v->topic, item->partition);
    if (v->here)
        return ours ? FRONT_HERE : 0;
    uint32_t leader = item->leader, self = links_of(v)->broker;
    if (leader == 0)
        leader = ours ? self : queue_copy_leader(v->topic, item->partition);
    if (leader == self)
        return ours ? FRONT_HERE : 0;
    return leader;
}

/* A send is given to another broker under a key: the same one, if it may have been stored. */
static bool has_key(struct front_verb *v, struct front_item *item)
{
    const struct front_links *links = links_of(v);
    return v->kind != FRONT_SEND || item->repeat.front != 0 ||
           links->repeat_open(links->self, topic_id(v), item->partition, &item->repeat);
}

static void give(struct front_verb *v, struct front_item *item)
{
    item->taker = taker_of(v, item);
    item->leader = 0;
    item->err = ERR_NOT_LEADER;
    if (item->taker == FRONT_HERE) {
        v->local[v->local_n++] = item;
    } else if (v->here) {
        item->leader = queue_copy_leader(v->topic, item->partition);
    } else if (item->taker != 0 && has_key(v, item)) {
        struct front_hop *hop = hop_to(v, item->taker);
        hop->items[hop->n++] = item;
    } else {
        item->taker = 0;
    }
}

/* ---- what came of it ---- */

static bool twice_is_once(const struct front_verb *v, const struct front_item *item)
{
    return v->kind != FRONT_SEND || item->repeat.front != 0;
}

/* It may have been carried out. */
static void doubt(struct front_verb *v, struct front_item *item)
{
    item->in_doubt = true;
    item->leader = 0;
    item->err = twice_is_once(v, item) ? ERR_NOT_LEADER : ERR_UNKNOWN;
}

static void settle_local(struct front_verb *v)
{
    enum err e = v->wait->err;
    for (size_t i = 0; e != ERR_OK && i < v->local_n; i++) {
        struct front_item *item = v->local[i];
        if (e == ERR_FAILED)
            item->err = e;
        else if (item->err != ERR_NOT_LEADER)
            doubt(v, item); /* also a refusal: what it saw may never be */
    }
}

static void settle_hop(struct front_verb *v, struct front_hop *hop)
{
    for (size_t i = 0; i < hop->n; i++) {
        struct front_item *item = hop->items[i];
        if (hop->err == ERR_NOT_LEADER) {
            item->err = ERR_NOT_LEADER;
            item->leader = 0;
        } else if (hop->err != ERR_OK) {
            doubt(v, item);
        } else if (item->err == ERR_UNKNOWN) {
            doubt(v, item); /* it stopped to lead before the commit */
        } else if (item->leader == hop->broker) {
            item->leader = 0; /* it leads, but not yet */
        }
    }
}

/* A send that may have been stored is settled by an OK alone: what refuses its repeat says nothing
 * of the first. */
static void settle_repeat(struct front_verb *v, struct front_item *item)
{
    if (v->kind != FRONT_SEND || v->here || item->err == ERR_OK)
        return;
    if (item->err == ERR_GONE) /* nobody can tell any more */
        item->err = ERR_UNKNOWN;
    else if (item->in_doubt && item->err != ERR_UNKNOWN)
        item->err = ERR_NOT_LEADER;
}

/* Nobody repeats what is settled. What is open and was not stored gets another key next time. */
static void close_key(struct front_verb *v, struct front_item *item)
{
    const struct front_links *links = links_of(v);
    if (v->here || item->repeat.front == 0 || (item->is_open && item->in_doubt))
        return;
    links->repeat_close(links->self, topic_id(v), item->partition, &item->repeat);
    item->repeat.front = 0;
}

/* Nothing is stored behind a message of the same partition that may be lost. */
static void keep_order(struct front_verb *v)
{
    if (v->kind != FRONT_SEND || !queue_topic_config(v->topic)->fifo)
        return;
    for (size_t i = 0; i < v->n; i++) {
        if (v->items[i].err != ERR_UNKNOWN)
            continue;
        for (size_t k = i + 1; k < v->n; k++)
            if (v->items[k].partition == v->items[i].partition && v->items[k].err == ERR_NOT_LEADER)
                v->items[k].is_open = false;
    }
}

/* Of a change by receipt: what an earlier, successful one may have led to. */
static bool may_follow_success(enum err e)
{
    return e == ERR_LEASE_EXPIRED || e == ERR_STALE_RECEIPT || e == ERR_GONE || e == ERR_FULL;
}

/* A refusal that comes after an answer was lost does not say that nothing was done: the lease may
 * have been changed first, and be over by now, or as long as it may be, or its message finished by
 * somebody else. One that was to end has ended, as was asked for. */
static void undoubt(const struct front_verb *v, struct front_item *item)
{
    if (v->kind == FRONT_CHANGE && item->in_doubt && !item->is_delete &&
        may_follow_success(item->err))
        item->err = item->visibility_ms == 0 ? ERR_OK : ERR_UNKNOWN;
}

static void finish(struct front_verb *v)
{
    for (size_t i = 0; i < v->n; i++) {
        struct front_item *item = &v->items[i];
        item->is_open = false;
        close_key(v, item);
        if (item->err == ERR_NOT_LEADER && item->in_doubt)
            item->err = ERR_UNKNOWN;
    }
    if (v->finish != NULL)
        v->finish(v);
    v->next(v->call);
}

static bool in_vain(const struct front_verb *v)
{
    struct http_request *r = v->call->http;
    return clock_boot_ms(links_of(v)->clock) >= v->deadline_boot_ms ||
           http_stopping(http_server_of(r)) || http_peer_gone(r);
}

static void on_pause_end(void *self, struct http_request *r)
{
    struct front_verb *v = self;
    if (in_vain(v))
        finish(v);
    else if (clock_boot_ms(links_of(v)->clock) >= v->pause_end_boot_ms)
        play(v);
    else
        http_park(r, on_pause_end, v, v->pause_end_boot_ms, true);
}

/* Not twice in a row: two brokers may name each other for a while. */
static void hurry(struct front_verb *v)
{
    v->hurried = true;
    play(v);
}

static void pause(struct front_verb *v)
{
    v->hurried = false;
    v->pause_ms = v->pause_ms == 0 ? PAUSE_FIRST_MS : v->pause_ms * 2;
    if (v->pause_ms > PAUSE_MAX_MS)
        v->pause_ms = PAUSE_MAX_MS;
    v->pause_end_boot_ms = clock_boot_ms(links_of(v)->clock) + v->pause_ms;
    if (v->pause_end_boot_ms > v->deadline_boot_ms)
        v->pause_end_boot_ms = v->deadline_boot_ms;
    http_park(v->call->http, on_pause_end, v, v->pause_end_boot_ms, true);
}

static void played(struct front_call *c)
{
    struct front_verb *v = c->verb;
    size_t open = 0, named = 0;
    settle_local(v);
    for (size_t i = 0; i < v->hops_n; i++)
        settle_hop(v, &v->hops[i]);
    for (size_t i = 0; i < v->n; i++) {
        settle_repeat(v, &v->items[i]);
        v->items[i].is_open = v->items[i].is_open && v->items[i].err == ERR_NOT_LEADER;
    }
    keep_order(v);
    for (size_t i = 0; i < v->n; i++) {
        close_key(v, &v->items[i]);
        undoubt(v, &v->items[i]);
        open += v->items[i].is_open;
        named += v->items[i].is_open && v->items[i].leader != 0;
    }
    if (open == 0 || v->here || in_vain(v))
        finish(v);
    else if (named == open && !v->hurried)
        hurry(v);
    else
        pause(v);
}

static void on_hop(struct front_hop *hop)
{
    front_call_told(hop->self);
}

static void on_committed(struct queue_wait *w)
{
    front_call_told(w->self);
}

/* All hops are on their way before the own part is begun. */
static void play(struct front_verb *v)
{
    struct front_call *c = v->call;
    v->hops_n = v->local_n = 0;
    if (v->kind == FRONT_SEND && !v->here)
        place_sends(v);
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].is_open)
            give(v, &v->items[i]);
    *v->wait = (struct queue_wait){.err = ERR_OK, .ready = on_committed, .self = c};
    front_call_begin(c, played);
    for (size_t i = 0; i < v->hops_n; i++) {
        struct front_hop *hop = &v->hops[i];
        hop->done = on_hop;
        hop->self = c;
        front_call_expect(c);
        links_of(v)->start(links_of(v)->self, hop);
    }
    act_here(v);
    front_call_expect(c);
    if (!queue_wait_start(v->wait))
        front_call_told(c);
    front_call_park(c);
}

void front_verb_run(struct front_verb *v)
{
    struct arena *arena = http_arena(v->call->http);
    v->call->verb = v;
    v->local = arena_get(arena, v->n * sizeof(struct front_item *));
    if (!v->here) {
        v->hops = arena_get(arena, v->n * sizeof *v->hops);
        v->deadline_boot_ms = http_arrived_boot_ms(v->call->http) + FRONT_VERB_MS;
    }
    for (size_t i = 0; i < v->n; i++)
        v->items[i].is_open = v->items[i].err == ERR_OK;
    play(v);
}

/* ---- the verbs ---- */

static struct front_verb *verb_new(struct front_call *c, struct queue_topic *t,
                                   struct queue_wait *w, enum front_verb_kind kind, size_t n,
                                   front_step *next)
{
    struct arena *arena = http_arena(c->http);
    struct front_verb *v = arena_zeros(arena, sizeof *v);
    v->call = c;
    v->topic = t;
    v->wait = w;
    v->kind = kind;
    v->n = n;
    v->items = arena_zeros(arena, n * sizeof *v->items);
    v->next = next;
    return v;
}

struct send_result {
    struct queue_sent *sent;
    enum err *errs;
};

static void send_finish(struct front_verb *v)
{
    const struct send_result *result = v->result;
    for (size_t i = 0; i < v->n; i++) {
        result->sent[i] = v->items[i].sent;
        result->errs[i] = v->items[i].err;
    }
}

void front_send(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                const struct queue_message *messages, size_t n, struct queue_sent *sent,
                enum err *errs, front_step *next)
{
    if (c->links == NULL || n == 0) {
        if (n > 0)
            queue_send(t, messages, n, sent, errs, w);
        front_call_commit(c, w, next);
        return;
    }
    struct front_verb *v = verb_new(c, t, w, FRONT_SEND, n, next);
    struct send_result *result = arena_get(http_arena(c->http), sizeof *result);
    *result = (struct send_result){sent, errs};
    v->result = result;
    v->finish = send_finish;
    for (size_t i = 0; i < n; i++)
        v->items[i].message = &messages[i];
    front_verb_run(v);
}

static void change_finish(struct front_verb *v)
{
    struct front_change *changes = v->result;
    for (size_t i = 0; i < v->n; i++)
        changes[i].err = v->items[i].err;
}

/* A receipt that is none is settled before anybody is asked. */
void front_change(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                  struct front_change *changes, size_t n, bool strict, front_step *next)
{
    if (c->links == NULL || n == 0) {
        change_all(t, changes, n, strict, w);
        front_call_commit(c, w, next);
        return;
    }
    struct front_verb *v = verb_new(c, t, w, FRONT_CHANGE, n, next);
    v->strict = strict;
    v->result = changes;
    v->finish = change_finish;
    for (size_t i = 0; i < n; i++) {
        struct front_item *item = &v->items[i];
        item->receipt = changes[i].receipt;
        item->is_delete = changes[i].is_delete;
        item->visibility_ms = changes[i].visibility_ms;
        item->err = queue_receipt_place(t, item->receipt, strict, &item->partition);
    }
    front_verb_run(v);
}

static void sum_finish(struct front_verb *v)
{
    struct front_sum *sum = v->result;
    for (size_t i = 0; i < v->n; i++) {
        const struct front_item *item = &v->items[i];
        if (item->err != ERR_OK)
            sum->err = item->err;
        sum->finished += item->finished;
        sum->counters.visible += item->counters.visible;
        sum->counters.in_flight += item->counters.in_flight;
        sum->counters.delayed += item->counters.delayed;
        sum->counters.moving += item->counters.moving;
    }
}

static void sum_run(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                    enum front_verb_kind kind, struct bytes group, struct front_sum *sum,
                    front_step *next)
{
    struct front_verb *v = verb_new(c, t, w, kind, queue_partitions(t), next);
    *sum = (struct front_sum){.err = ERR_OK};
    v->group = group;
    v->result = sum;
    v->finish = sum_finish;
    for (size_t i = 0; i < v->n; i++)
        v->items[i].partition = (uint32_t)i;
    front_verb_run(v);
}

void front_purge(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                 struct bytes group, struct front_sum *sum, front_step *next)
{
    if (c->links != NULL) {
        sum_run(c, t, w, FRONT_PURGE, group, sum, next);
        return;
    }
    sum->err = queue_purge_group(t, group, &sum->finished, w);
    front_call_commit(c, w, next);
}

void front_count(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                 struct bytes group, struct front_sum *sum, front_step *next)
{
    if (c->links != NULL) {
        sum_run(c, t, w, FRONT_COUNT, group, sum, next);
        return;
    }
    sum->err = queue_count(t, group, &sum->counters);
    queue_wait_topic(t, w);
    front_call_commit(c, w, next);
}

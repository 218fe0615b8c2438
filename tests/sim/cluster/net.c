// SPDX-License-Identifier: Apache-2.0
/* The network, and in the place of the data side of the room cluster: fetches, which leaders park,
 * and snapshots. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/cluster/world.h"

enum { PARK_MS = 500, SNAPSHOT_MAX_MS = 5000, ANSWER_BYTES = 16 << 10 };

/* Who goes and comes while the first topics are made would be no copy of them. */
static bool is_rough(const struct world *w)
{
    return !w->is_healed && !w->is_beginning;
}

bool net_is_cut(const struct world *w, uint32_t from, uint32_t to)
{
    return w->brokers[from].cut_to[to];
}

int64_t net_delay_ms(struct world *w)
{
    bool is_slow = is_rough(w) && chance(w, w->weather.slow_percent);
    return 1 + (int64_t)draw(w, is_slow ? (uint64_t)w->weather.slow_ms : 3);
}

static struct item *copy(const struct item *i)
{
    struct item *c = item_new(i->type, i->broker);
    c->from = i->from;
    c->life = i->life;
    c->of = i->of;
    c->fetch = i->fetch;
    c->answer = i->answer;
    c->number = i->number;
    c->err = i->err;
    buf_put_bytes(&c->bytes, buf_bytes(&i->bytes));
    return c;
}

void net_send(struct world *w, struct item *i, bool may_double)
{
    if (i->type == ITEM_FETCH && w->held_from != 0 && i->from == w->held_from &&
        i->broker == w->held_to && i->fetch.offset >= w->held_offset) {
        i->next = w->held;
        w->held = i;
        return;
    }
    if (net_is_cut(w, i->from, i->broker) || (is_rough(w) && chance(w, w->weather.drop_percent))) {
        item_free(i);
        return;
    }
    if (may_double && is_rough(w) && chance(w, w->weather.double_percent))
        world_send(w, net_delay_ms(w), copy(i));
    world_send(w, net_delay_ms(w), i);
}

/* ---- what the links of a broker's queue ask for ---- */

void cluster_data_init(struct cluster_data *d, const struct clock *clock, void *self,
                       bool (*url)(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1]),
                       bool (*is_in_sync)(void *self, const struct queue_copy_id *of),
                       void (*lost)(void *self, uint32_t broker, enum err e))
{
    struct broker *b = broker_of_clock(clock);
    (void)self, (void)url, (void)is_in_sync, (void)lost;
    *d = (struct cluster_data){.fetcher = (struct cluster_fetcher *)b,
                               .serve = (struct cluster_serve *)b,
                               .snapshots = (struct cluster_snapshots *)b};
}

enum err cluster_data_join(struct cluster_data *d, struct peer *p, struct queue *q)
{
    (void)d, (void)p, (void)q;
    return ERR_OK;
}

void cluster_data_stop(struct cluster_data *d)
{
    (void)d;
}

void cluster_data_fini(struct cluster_data *d)
{
    (void)d;
}

void cluster_fetcher_note(struct cluster_fetcher *f, const struct queue_copy_id *of,
                          uint32_t leader, const struct replica_fetch *request)
{
    struct broker *b = (struct broker *)f;
    struct item *i = item_new(ITEM_FETCH, leader);
    i->from = b->id;
    i->life = b->world->brokers[leader].life;
    i->of = *of;
    i->fetch = *request;
    net_send(b->world, i, true);
}

void cluster_snapshots_note(struct cluster_snapshots *s, const struct queue_copy_id *of,
                            uint32_t leader, uint64_t epoch)
{
    struct broker *b = (struct broker *)s;
    struct world *w = b->world;
    struct item *failed = item_new(ITEM_SNAPSHOT, b->id);
    failed->life = b->life;
    failed->of = *of;
    failed->number = epoch;
    world_send(w, leader == 0 ? 100 : SNAPSHOT_MAX_MS, failed);
    if (leader == 0)
        return;
    struct item *i = item_new(ITEM_SNAPSHOT_ASK, leader);
    i->from = b->id;
    i->life = w->brokers[leader].life;
    i->of = *of;
    i->number = epoch;
    net_send(w, i, false);
}

/* Parked fetches of the partition play again. */
void net_moved(struct broker *b, const struct queue_copy_id *of)
{
    b->moved++;
    for (struct item **at = &b->parked; *at != NULL;) {
        struct item *i = *at;
        if (memcmp(i->of.topic, of->topic, sizeof of->topic) != 0 ||
            i->of.partition != of->partition) {
            at = &i->next;
            continue;
        }
        *at = i->next;
        i->next = NULL;
        world_send(b->world, 0, i);
    }
}

void cluster_serve_moved(struct cluster_serve *s, const struct queue_copy_id *of)
{
    net_moved((struct broker *)s, of);
}

void net_forget(struct broker *b)
{
    while (b->parked != NULL) {
        struct item *i = b->parked;
        b->parked = i->next;
        item_free(i);
    }
}

/* ---- letters ---- */

static void park(struct broker *b, const struct item *i)
{
    struct item *kept = copy(i), *end = item_new(ITEM_PARK_END, b->id);
    kept->number = end->number = ++b->world->next_name;
    kept->next = b->parked;
    b->parked = kept;
    end->life = b->life;
    world_send(b->world, PARK_MS, end);
}

static void on_park_end(struct broker *b, uint64_t number)
{
    for (struct item **at = &b->parked; *at != NULL; at = &(*at)->next) {
        struct item *i = *at;
        if (i->number != number)
            continue;
        *at = i->next;
        i->next = NULL;
        i->is_last = true;
        world_send(b->world, 0, i);
        return;
    }
}

static void on_fetch(struct world *w, struct item *i)
{
    struct broker *b = &w->brokers[i->broker];
    bool has_batches = false, may_park = false;
    uint64_t from = 0;
    unsigned moved;
    struct item *a = item_new(ITEM_ANSWER, i->from);
    enum err e;
    do { /* what moves while it is looked at has moved for it too */
        moved = b->moved;
        e = queue_copy_fetch(b->queue, &i->of, &i->fetch, &a->answer, &from, &has_batches,
                             &may_park);
    } while (e == ERR_OK && may_park && moved != b->moved);
    if (e != ERR_OK || (may_park && !i->is_last)) {
        if (e == ERR_OK)
            park(b, i);
        item_free(a);
        return;
    }
    if (has_batches && queue_copy_read(b->queue, &i->of, a->answer.epoch, from,
                                       chance(w, 30) ? 1 : ANSWER_BYTES, &a->bytes) != ERR_OK)
        world_say(w, "%u cannot read what %u asks for", b->id, i->from);
    a->from = b->id;
    a->life = w->brokers[i->from].life;
    a->of = i->of;
    net_send(w, a, true);
}

static void on_snapshot_ask(struct world *w, const struct item *i)
{
    struct broker *b = &w->brokers[i->broker];
    struct item *a = item_new(ITEM_SNAPSHOT, i->from);
    a->from = b->id;
    a->life = w->brokers[i->from].life;
    a->of = i->of;
    a->number = i->number;
    if (queue_copy_snapshot_read(b->queue, &i->of, i->number, &a->bytes) != ERR_OK)
        buf_clear(&a->bytes);
    net_send(w, a, false);
}

void net_on_item(struct world *w, struct item *i)
{
    struct broker *b = &w->brokers[i->broker];
    switch ((int)i->type) { /* its own only */
    case ITEM_FETCH:
        on_fetch(w, i);
        break;
    case ITEM_ANSWER:
        queue_copy_answer(b->queue, &i->of, i->from, &i->answer, buf_bytes(&i->bytes));
        broker_commit_soon(b);
        break;
    case ITEM_PARK_END:
        on_park_end(b, i->number);
        break;
    case ITEM_SNAPSHOT_ASK:
        on_snapshot_ask(w, i);
        break;
    default:
        w->counts.snapshots += i->bytes.n > 0;
        queue_copy_snapshot_put(b->queue, &i->of, i->number,
                                i->bytes.n > 0 ? buf_bytes(&i->bytes) : BYTES_NONE);
        broker_commit_soon(b);
        break;
    }
}

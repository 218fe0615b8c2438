// SPDX-License-Identifier: Apache-2.0
/* The catalogue: one key with compare-and-swap, and sessions that expire early or late. What it
 * answers is linearizable; what it says by itself may be old. */
#include <inttypes.h>

#include "sim/replica/world.h"

enum { ANSWER_MAX_MS = 1500 };

static int64_t trip_ms(struct world *w)
{
    return 1 + (int64_t)draw(w, !w->is_healed && chance(w, w->weather.slow_percent) ? 800 : 15);
}

static size_t place(const struct world *w, const struct node *n)
{
    return (size_t)(n - w->nodes);
}

void catalogue_begin(struct world *w)
{
    struct replica_key k = {.version = 1 + (int64_t)draw(w, 5), .members_n = w->nodes_n};
    if (w->nodes_n > 3 && chance(w, 50))
        k.members_n--; /* a broker to be had */
    k.min_isr = 1 + (uint32_t)draw(w, (k.members_n + 1) / 2);
    if (chance(w, 75))
        k.min_isr = 2;
    for (size_t i = 0; i < k.members_n; i++)
        k.members[i].broker = (uint32_t)i + 1;
    w->versions[w->versions_n++] = k;
}

bool catalogue_apply(struct world *w, const struct replica_key *value)
{
    struct replica_key old = *world_key(w);
    if (value->version != old.version)
        return false;
    if (w->versions_n == VERSIONS_ROOM) {
        w->ended = "the key has no more versions";
        return false;
    }
    struct replica_key *new = &w->versions[w->versions_n++];
    *new = *value;
    new->version += 1 + (int64_t)draw(w, 3);
    if (w->is_verbose) {
        char isr[64] = "";
        for (size_t i = 0, at = 0; i < new->members_n; i++)
            if (new->members[i].in_isr)
                at += (size_t)snprintf(isr + at, sizeof isr - at, " %u", new->members[i].broker);
        world_say(w, "key %" PRId64 ": epoch %" PRIu64 ", leader %u, isr%s, state %d", new->version,
                  new->epoch, new->leader, isr, (int)new->state);
    }
    ghost_key(w, &old, new);
    for (size_t i = 0; i < w->nodes_n; i++)
        if (!w->nodes[i].cut_from_catalogue && !chance(w, w->weather.deaf_percent))
            catalogue_hint(w, &w->nodes[i], false);
    return true;
}

void catalogue_hint(struct world *w, struct node *n, bool may_be_old)
{
    struct item item = {.type = ITEM_KEY, .node = place(w, n)};
    size_t at = may_be_old ? draw(w, w->versions_n) : w->versions_n - 1;
    item.key.value = w->versions[at];
    world_send(w, w->is_healed ? trip_ms(w) : 1 + (int64_t)draw(w, (uint64_t)w->weather.news_ms),
               &item);
}

void catalogue_swap_sent(struct world *w, struct node *n, const struct replica_key *value)
{
    struct item item = {.type = ITEM_SWAP, .node = place(w, n), .life = n->life};
    item.swap.value = *value;
    item.swap.op = value->op;
    item.swap.is_answered = true;
    if (w->is_healed || (!n->cut_from_catalogue && !chance(w, w->weather.lost_swap_percent))) {
        world_send(w, trip_ms(w), &item);
        return;
    }
    /* No answer: it did not arrive, or arrived and the answer was lost, or arrives far later, when
     * its sender may have died. */
    item.swap.is_answered = false;
    w->seen.unknown++;
    if (chance(w, 30))
        world_send(w, trip_ms(w), &item);
    else if (chance(w, 50))
        world_send(w, (int64_t)draw(w, 9000), &item);
    item.type = ITEM_SWAP_DONE;
    item.swap.outcome = REPLICA_SWAP_UNKNOWN;
    world_send(w, 200 + (int64_t)draw(w, ANSWER_MAX_MS), &item);
}

void catalogue_read_sent(struct world *w, struct node *n, uint64_t serial)
{
    struct item item = {.type = ITEM_READ, .node = place(w, n), .life = n->life};
    item.key.serial = serial;
    if (w->is_healed || (!n->cut_from_catalogue && !chance(w, w->weather.lost_swap_percent)))
        world_send(w, trip_ms(w), &item);
}

void catalogue_on_item(struct world *w, struct item *item)
{
    struct item back = *item;
    if (item->type == ITEM_READ) {
        back.type = ITEM_KEY;
        back.key.value = *world_key(w);
        world_send(w, trip_ms(w), &back);
        return;
    }
    bool has_won = catalogue_apply(w, &item->swap.value);
    if (!item->swap.is_answered)
        return;
    back.type = ITEM_SWAP_DONE;
    back.swap.outcome = has_won ? REPLICA_SWAP_WON : REPLICA_SWAP_LOST;
    back.swap.version = world_key(w)->version;
    world_send(w, trip_ms(w), &back);
}

void catalogue_tell_sessions(struct world *w, struct node *n)
{
    for (size_t i = 0; i < w->nodes_n; i++) {
        struct item item = {.type = ITEM_SESSION, .node = place(w, n)};
        item.session.of = i;
        item.session.is_live = w->nodes[i].is_live;
        world_send(w, trip_ms(w), &item);
    }
}

void catalogue_session_set(struct world *w, struct node *n, bool is_live)
{
    if (is_live)
        n->session++;
    n->is_live = is_live;
    world_say(w, "session of %u: %s", n->broker, is_live ? "new" : "gone");
    for (size_t i = 0; i < w->nodes_n; i++)
        if (!w->nodes[i].cut_from_catalogue)
            catalogue_tell_sessions(w, &w->nodes[i]);
    if (is_live || n->replica == NULL)
        return;
    struct item item = {.type = ITEM_REGISTER, .node = place(w, n), .life = n->life};
    world_send(w, 200 + (int64_t)draw(w, 2000), &item); /* expired early: it asks for another */
}

// SPDX-License-Identifier: Apache-2.0
/* The key comes in, from reads that may be old; changes to it go out, by compare-and-swap whose
 * outcome may stay unknown. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "replica/state.h"

/* Peers follow their members to new places; what was known of another incarnation is forgotten, so
 * that an acknowledgement of a lost disk does not stand for the new one. */
static void move_peers(struct replica *r, const struct replica_key *from,
                       const struct replica_key *to)
{
    struct peer *moved = mem_new_array(to->members_n, sizeof *moved);
    for (size_t i = 0; i < to->members_n; i++)
        for (size_t j = 0; j < from->members_n; j++) {
            if (to->members[i].broker != from->members[j].broker)
                continue;
            moved[i] = r->peers[j];
            if (to->members[i].incarnation != from->members[j].incarnation) {
                moved[i].has_fetched = false;
                moved[i].acked = 0;
                moved[i].known_ms = 0;
            }
        }
    mem_free(r->peers);
    r->peers = moved;
}

static void learn(struct replica *r, const struct replica_key *k)
{
    if (k->version <= r->key.version)
        return; /* late news */
    move_peers(r, &r->key, k);
    r->key = *k;
    /* The version has moved, so none of our attempts can win any more, nor has to be counted. */
    r->proposal.is_open = false;
    const struct replica_member *self = replica_key_find(k, r->config.broker);
    if (self != NULL && self->incarnation == r->incarnation)
        r->may_register = false;
}

static void on_read(struct replica *r, const struct replica_key *k, struct replica_effects *out)
{
    r->read.is_open = false;
    /* A linearizable read cannot answer with less than was known when it was asked. If it does, an
     * older backup of the catalogue was restored, and its epochs would be used a second time. */
    if (k->version < r->read.version || k->epoch < r->read.epoch) {
        quarantine(r, REPLICA_QUARANTINE_CATALOGUE_BACK, 0, out);
        return;
    }
    if (r->key.version == 0)
        r->led_before = k->epoch;
    if (r->read.serial >= r->read_before_giving_up)
        r->read_before_giving_up = 0;
    learn(r, k);
    /* Unmoved: our attempt may have been lost. The same compare-and-swap can win only once. */
    if (r->proposal.is_open && r->proposal.value.version == k->version)
        r->proposal.is_to_repeat = true;
}

void catalogue_on_key(struct replica *r, const struct replica_event *e, struct replica_effects *out)
{
    const struct replica_key *k = &e->key.value;
    if (!replica_key_is_valid(k) || k->version <= 0)
        return;
    if (e->key.serial != 0 && r->read.is_open && e->key.serial == r->read.serial)
        on_read(r, k, out);
    else if (r->key.version != 0) /* the first must be a read: a hint may be older than our death */
        learn(r, k);
}

void catalogue_on_swap(struct replica *r, const struct replica_event *e)
{
    if (!r->proposal.is_open || e->swap.op != r->proposal.value.op)
        return; /* the version moved before the answer came */
    r->proposal.is_in_flight = false;
    if (e->swap.outcome == REPLICA_SWAP_WON) {
        struct replica_key won = r->proposal.value;
        won.version = e->swap.version;
        learn(r, &won);
        return;
    }
    /* Lost: somebody was faster, and the key tells who. Unknown: it stays counted until a read
     * tells that the version moved. */
    catalogue_want_read(r, e->swap.outcome == REPLICA_SWAP_LOST ? 0 : r->config.retry_ms);
}

void catalogue_want_read(struct replica *r, int64_t delay_ms)
{
    int64_t wanted_ms = r->now_ms + delay_ms;
    if (r->read.is_wanted && r->read.wanted_ms <= wanted_ms)
        return;
    r->read.is_wanted = true;
    r->read.wanted_ms = wanted_ms;
}

static void swap(struct replica *r, struct replica_effects *out)
{
    r->proposal.is_in_flight = true;
    r->proposal.is_to_repeat = false;
    effect_add(out, REPLICA_EFFECT_SWAP)->swap.value = r->proposal.value;
}

void catalogue_propose(struct replica *r, const struct replica_key *value,
                       struct replica_effects *out)
{
    CHECK(!r->proposal.is_open);
    CHECK(value->version == r->key.version && replica_key_is_valid(value));
    r->proposal = (struct proposal){.is_open = true, .value = *value};
    r->proposal.value.op = r->random;
    swap(r, out);
}

static void ask(struct replica *r, struct replica_effects *out)
{
    uint64_t last_epoch = epochs_before(&r->epochs, r->durable_end);
    r->read = (struct key_read){
        .is_open = true,
        .asked_ms = r->now_ms,
        .serial = r->read.serial + 1,
        .version = r->key.version,
        /* Before the first key, the log tells which epochs there were. */
        .epoch = r->trust == LOG_BELIEVED && last_epoch > r->key.epoch ? last_epoch : r->key.epoch,
    };
    effect_add(out, REPLICA_EFFECT_READ_KEY)->read_key.serial = r->read.serial;
}

void catalogue_settle(struct replica *r, struct replica_effects *out)
{
    if (r->proposal.is_open && !r->proposal.is_in_flight) {
        if (r->proposal.is_to_repeat)
            swap(r, out);
        else if (!r->read.is_open)
            catalogue_want_read(r, r->config.retry_ms);
    }
    if (r->read.is_open && r->now_ms - r->read.asked_ms >= r->config.fetch_max_ms) {
        r->read.is_open = false; /* lost; a later answer will count as a hint */
        catalogue_want_read(r, 0);
    }
    if (r->read.is_wanted && !r->read.is_open && r->now_ms >= r->read.wanted_ms)
        ask(r, out);
}

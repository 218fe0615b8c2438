// SPDX-License-Identifier: Apache-2.0
/* What must hold inside, whatever happens, judged by one who sees all brokers and the catalogue
 * after each step (I1 to I9). */
#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "catalog/partition_key.h"
#include "sim/cluster/world.h"

/* ---- what is known ---- */

static void make_room(struct truth *t, uint64_t end)
{
    if (end < t->room)
        return;
    uint64_t room = t->room == 0 ? 1024 : t->room;
    while (room <= end)
        room *= 2;
    t->records = mem_resize(t->records, room * sizeof t->records[0]);
    t->states = mem_resize(t->states, room * sizeof t->states[0]);
    memset(t->records + t->room, 0, (room - t->room) * sizeof t->records[0]);
    memset(t->states + t->room, 0, (room - t->room) * sizeof t->states[0]);
    t->room = room;
}

bool judge_is_good(const struct broker *b, size_t part)
{
    struct queue_copy_id of = world_part_id(b->world, part);
    const struct replica_member *m = replica_key_find(&b->world->parts[part].key, b->id);
    struct replica_status s;
    return m != NULL && m->in_isr && broker_is_up(b) && !b->is_excused &&
           queue_copy_look(b->queue, &of, &s) == ERR_OK && s.health == REPLICA_HEALTH_OK &&
           s.incarnation == m->incarnation;
}

/* I5: whoever may be elected has all that is committed. */
static void check_members(struct world *w, size_t part)
{
    struct queue_copy_id of = world_part_id(w, part);
    for (uint32_t id = 1; id <= w->brokers_n; id++) {
        struct replica_status s;
        if (!judge_is_good(&w->brokers[id], part) ||
            queue_copy_look(w->brokers[id].queue, &of, &s) != ERR_OK ||
            s.durable_end >= w->parts[part].end)
            continue;
        world_break(w,
                    "I5: broker %u is in sync in partition %zu and ends at %" PRIu64
                    ", committed is %" PRIu64,
                    id, part, s.durable_end, w->parts[part].end);
    }
}

/* ---- the log ---- */

static uint64_t digest(const struct plog_entry *e)
{
    uint64_t crc = crc32c(e->type, e->payload.at, e->payload.n);
    return (e->epoch << 33 ^ crc) | UINT64_C(1) << 32;
}

/* I4: what two replicas hold committed at one offset is the same. */
static void check_records(struct broker *b, size_t part, struct queue_partition *p, uint64_t from,
                          uint64_t to)
{
    struct truth *t = &b->world->parts[part];
    struct plog_cursor cursor;
    struct plog_entry e;
    uint64_t start = plog_start_offset(p->log);
    make_room(t, to);
    if (plog_cursor_at_offset(p->log, from > start ? from : start, 4096, &cursor) != ERR_OK)
        return;
    while (plog_cursor_next(&cursor, &e) == ERR_OK && e.offset < to) {
        uint64_t is = digest(&e);
        if (t->records[e.offset] == 0)
            t->records[e.offset] = is;
        else if (t->records[e.offset] != is)
            world_break(b->world,
                        "I4: broker %u holds another record at %" PRIu64 " of partition %zu", b->id,
                        e.offset, part);
    }
    plog_cursor_close(&cursor);
}

/* I7: equal offsets, equal states. */
static void check_state(struct broker *b, size_t part, struct queue_partition *p,
                        const struct replica_status *s)
{
    struct truth *t = &b->world->parts[part];
    const struct queue_copy *c = p->copy;
    uint64_t offset = c->serves ? plog_end(p->log) : c->folded;
    if (c->fold_fresh || c->log_is_busy || offset > s->high_water || offset == 0 ||
        offset == b->seen[part].hashed)
        return;
    b->seen[part].hashed = offset;
    make_room(t, offset);
    uint64_t is = partition_hash(p->state) | 1;
    b->world->counts.states++;
    if (t->states[offset] == 0)
        t->states[offset] = is;
    else if (t->states[offset] != is)
        world_break(b->world, "I7: broker %u's state at %" PRIu64 " of partition %zu is another",
                    b->id, offset, part);
}

/* ---- one copy ---- */

static void check_mark(struct broker *b, size_t part, struct queue_partition *p,
                       const struct replica_status *s)
{
    struct world *w = b->world;
    struct truth *t = &w->parts[part];
    struct seen *seen = &b->seen[part];
    if (s->high_water < seen->high_water)
        world_break(
            w, "I3: the mark of broker %u in partition %zu goes back from %" PRIu64 " to %" PRIu64,
            b->id, part, seen->high_water, s->high_water);
    if (s->high_water > s->durable_end)
        world_break(w, "I3: broker %u commits in partition %zu what is not durable", b->id, part);
    if (s->high_water == seen->high_water)
        return;
    if (s->is_leading && s->isr_size < s->min_isr)
        world_break(w, "I9: broker %u commits with %u in sync", b->id, s->isr_size);
    check_records(b, part, p, seen->high_water, s->high_water);
    seen->high_water = s->high_water;
    if (s->high_water > t->end) {
        w->counts.commits += s->high_water - t->end;
        t->end = s->high_water;
        t->is_new = true;
    }
}

static void check_epoch(struct broker *b, size_t part, const struct replica_status *s)
{
    struct world *w = b->world;
    struct truth *t = &w->parts[part];
    struct seen *seen = &b->seen[part];
    CHECK(s->epoch < EPOCHS_MAX);
    if (s->epoch < seen->epoch)
        world_break(w, "I1: broker %u's epoch in partition %zu goes back", b->id, part);
    seen->epoch = s->epoch;
    if (!s->is_leading)
        return;
    if (t->led_by[s->epoch] != 0 && t->led_by[s->epoch] != b->id)
        world_break(w, "I2: brokers %u and %u lead partition %zu in epoch %" PRIu64,
                    t->led_by[s->epoch], b->id, part, s->epoch);
    t->led_by[s->epoch] = b->id;
    if (s->is_ready && t->ready_ms[s->epoch] == 0)
        t->ready_ms[s->epoch] = w->now_ms;
}

/* I8: nobody is told to cut what is committed. */
static void alarm_look(struct broker *b, enum replica_quarantine reason)
{
    world_say(b->world, "%u is quarantined, reason %d", b->id, (int)reason);
    if (reason != REPLICA_QUARANTINE_DISK && b->world->counts.damages == 0)
        world_break(b->world, "I8: broker %u sees proof of loss (reason %d)", b->id, (int)reason);
}

static void look(struct broker *b, size_t part, struct queue_partition *p)
{
    struct seen *seen = &b->seen[part];
    struct replica_status s;
    if (p->copy == NULL || p->closed)
        return;
    replica_look(p->copy->replica, &s);
    if (s.incarnation != seen->incarnation)
        *seen = (struct seen){.incarnation = s.incarnation, .epoch = seen->epoch};
    check_epoch(b, part, &s);
    if (s.quarantine != seen->quarantine)
        alarm_look(b, s.quarantine);
    seen->quarantine = s.quarantine;
    if (s.health == REPLICA_HEALTH_OK && !p->copy->log_is_busy) {
        check_mark(b, part, p, &s);
        check_state(b, part, p, &s);
    }
}

/* The topic's partitions, of which `first` is the first. */
static void look_at_topic(struct broker *b, size_t first)
{
    struct queue_copy_id of = world_part_id(b->world, first);
    struct queue_partition *p = copy_lend(b->queue, &of);
    if (p == NULL)
        return;
    struct queue_topic *t = p->topic;
    for (uint32_t i = 0; i < t->partitions_n; i++)
        look(b, first + i, &t->partitions[i]);
    queue_topic_give_back(t);
}

void judge_look(struct broker *b)
{
    struct world *w = b->world;
    if (broker_is_up(b)) {
        look_at_topic(b, 0);
        look_at_topic(b, 2);
    }
    for (size_t part = 0; part < PARTS; part++)
        if (w->parts[part].is_new) {
            w->parts[part].is_new = false;
            check_members(w, part);
        }
}

/* ---- the catalogue ---- */

static bool is_renewed(const struct replica_key *old, const struct replica_key *new)
{
    for (size_t i = 0; i < new->members_n; i++) {
        const struct replica_member *m = replica_key_find(old, new->members[i].broker);
        if (m != NULL && m->incarnation != new->members[i].incarnation)
            return true;
    }
    return false;
}

void judge_key(struct world *w, const char *name, struct bytes value, int64_t rev)
{
    struct cluster_key_name n = cluster_key_read(name);
    struct queue_copy_id of = {.partition = n.partition};
    struct replica_key new;
    if (n.kind != CLUSTER_KEY_PARTITION)
        return;
    memcpy(of.topic, n.topic, sizeof of.topic);
    size_t part = world_part(w, &of);
    CHECK(catalog_partition_decode(value, rev, &new) == ERR_OK);
    if (part == PARTS)
        return; /* it is being made */
    struct truth *t = &w->parts[part];
    struct replica_key old = t->key;
    uint32_t was = replica_key_isr_size(&old), is = replica_key_isr_size(&new);
    t->key = new;
    if (old.version == 0)
        return;
    world_say(w, "partition %zu: epoch %" PRIu64 ", leader %u, %u in sync", part, new.epoch,
              new.leader, is);
    if (new.epoch < old.epoch || new.epoch > old.epoch + 1)
        world_break(w, "I1: the epoch of partition %zu goes from %" PRIu64 " to %" PRIu64, part,
                    old.epoch, new.epoch);
    if (is < was && is < new.min_isr && !is_renewed(&old, &new))
        world_break(w, "I6: partition %zu shrinks below min_isr", part);
    if (new.state == REPLICA_KEY_LOST || (new.state != REPLICA_KEY_OK && w->counts.damages == 0))
        world_break(w, "I5: partition %zu is said to have lost something", part);
    w->counts.elections += new.epoch > old.epoch;
    w->counts.shrinks += is < was;
    w->counts.expands += is > was;
    t->is_new = true; /* looked at once no lock is held */
}

/* ---- the end ---- */

void judge_excuse(struct world *w)
{
    for (uint32_t id = 1; id <= w->brokers_n; id++) {
        struct broker *b = &w->brokers[id];
        bool is_whole = b->is_lossy && broker_is_up(b);
        for (size_t part = 0; part < PARTS && is_whole; part++)
            if (replica_key_find(&w->parts[part].key, id) != NULL)
                is_whole = judge_is_good(b, part);
        if (is_whole)
            b->is_lossy = false;
    }
}

void judge_rest(struct world *w)
{
    for (size_t part = 0; part < PARTS; part++) {
        const struct truth *t = &w->parts[part];
        struct queue_copy_id of = world_part_id(w, part);
        if (replica_key_isr_size(&t->key) != t->key.members_n)
            world_break(w, "H11: all is well, and partition %zu has %u in sync", part,
                        replica_key_isr_size(&t->key));
        for (size_t i = 0; i < t->key.members_n; i++) {
            struct broker *b = &w->brokers[t->key.members[i].broker];
            struct replica_status s;
            if (!broker_is_up(b) || queue_copy_look(b->queue, &of, &s) != ERR_OK)
                world_break(w, "H11: all is well, and broker %u has no copy of partition %zu",
                            b->id, part);
            else if (s.high_water != t->end || s.durable_end != t->end)
                world_break(w,
                            "H11: all is well, and broker %u is at %" PRIu64 " of %" PRIu64
                            " in partition %zu",
                            b->id, s.high_water, t->end, part);
        }
    }
}

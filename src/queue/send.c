// SPDX-License-Identifier: Apache-2.0
/* Sending. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "queue/spread.h"
#include "queue/state.h"

enum {
    RECORD_EXTRA_BYTES = 512, /* what a record adds to its body, attributes and ids, at most */
    PARCELS_FEW = 10,         /* an SQS batch: its parcels lie on the stack */
    ROOM_TRIES_MAX = 100,     /* to make room for one message */
};
_Static_assert((int)QUEUE_REPEAT_WINDOW == (int)RECORD_REPEAT_WINDOW, "the front's window");
_Static_assert((int)QUEUE_FRONT_MAX == (int)RECORD_FRONT_MAX, "the front's id");

/* One message on its way. */
struct parcel {
    uint32_t partition;
    struct record record;
    struct buf attributes;
};

/* One call's messages. */
struct sending {
    struct queue_topic *t;
    const struct topic_config *config;
    const struct queue_message *messages;
    struct queue_sent *sent;
    enum err *errs;
    size_t n;
    const uint32_t *places; /* the partition of each, given; or NULL */
    struct parcel *parcels;
    bool full; /* FIFO: the topic was, for one of them */
};

static void attributes_encode(const struct queue_message *m, struct buf *out)
{
    for (size_t i = 0; i < m->attributes_n; i++) {
        const struct queue_attribute *a = &m->attributes[i];
        struct record_attribute r = {
            .name = a->name,
            .data_type = a->data_type,
            .kind = a->binary ? ATTRIBUTE_BINARY : ATTRIBUTE_TEXT,
            .value = a->value,
        };
        record_attribute_put(out, &r);
    }
}

/* A message with a key goes to its key's partition, whatever its dedup id: so that id can only be
 * compared with those of the same key. */
static struct bytes dedup_scope(const struct sending *s, const struct queue_message *m)
{
    if (!s->t->fifo && m->key.n > 0)
        return m->key;
    return s->config->dedup_per_group ? m->group_id : BYTES_NONE;
}

/* Everything that does not depend on the partition's state or time, before any lock. */
static void prepare(struct sending *s, size_t i)
{
    const struct queue_message *m = &s->messages[i];
    struct parcel *parcel = &s->parcels[i];
    struct record *r = &parcel->record;
    memset(parcel, 0, sizeof *parcel);
    attributes_encode(m, &parcel->attributes);
    r->type = RECORD_MESSAGE;
    r->message = (struct record_message){
        .body = m->body,
        .attributes = buf_bytes(&parcel->attributes),
        .trace = m->trace,
        .group_id = m->group_id,
        .dedup_id = m->dedup_id,
        .key = m->key,
        .tombstone = m->tombstone,
    };
    memcpy(r->message.body_md5, m->body_md5, sizeof m->body_md5);
    if (m->repeat != NULL)
        r->message.repeat = (struct record_repeat){m->repeat->front, m->repeat->life,
                                                   m->repeat->sequence, m->repeat->settled_below};
    if (m->group_id.n > 0)
        r->message.group_hash = secret_id_hash(s->t->q, BYTES_NONE, m->group_id);
    if (m->dedup_id.n > 0)
        r->message.dedup_hash = secret_id_hash(s->t->q, dedup_scope(s, m), m->dedup_id);
}

/* RFC 9562, version 4. */
struct uuid message_id_new_locked(struct queue_partition *p)
{
    struct uuid id;
    lock_check_held(&p->lk);
    rng_fill(&p->rng, id.at, sizeof id.at);
    id.at[6] = (uint8_t)((id.at[6] & 0x0f) | 0x40);
    id.at[8] = (uint8_t)((id.at[8] & 0x3f) | 0x80);
    return id;
}

/* ERR_DUPLICATE: answered with the first one. */
static enum err send_one_locked(struct sending *s, size_t i, struct appending *a,
                                const struct partition_view *view)
{
    struct queue_partition *p = a->p;
    struct record_message *m = &s->parcels[i].record.message;
    int64_t delay_ms = s->messages[i].delay_ms;
    if (s->t->compact && m->key.n == 0)
        return ERR_NEEDS_KEY;
    m->delay_is_default = delay_ms < 0 || s->t->compact;
    if (s->t->compact)
        delay_ms = 0; /* nothing waits in a log */
    else if (delay_ms < 0)
        delay_ms = s->config->delay_ms;
    m->accepted_ms = view->now_ms;
    m->sent_wall_ms = view->now_wall_ms;
    m->due_ms = view->now_ms + delay_ms;
    m->dedup_until_ms = m->dedup_id.n > 0 ? view->now_ms + DEDUP_MS : 0;
    struct queue_sent *sent = &s->sent[i];
    struct partition_duplicate first;
    enum err e = partition_plan_send(p->state, view, m, &first);
    if (e == ERR_DUPLICATE) {
        *sent = (struct queue_sent){
            .partition = p->index, .number = first.number, .duplicate = !first.is_repeat};
        memcpy(sent->id, first.id.at, sizeof sent->id);
        return ERR_DUPLICATE;
    }
    if (e == ERR_OK)
        e = limit_reserve_locked(a, s->config, record_message_bytes(m), &sent->had);
    if (e != ERR_OK)
        return e;
    m->id = message_id_new_locked(p);
    *sent = (struct queue_sent){.partition = p->index, .number = partition_next_number(p->state)};
    memcpy(sent->id, m->id.at, sizeof sent->id);
    append_put_locked(a, &s->parcels[i].record);
    return ERR_OK;
}

static size_t bytes_to(const struct sending *s, uint32_t partition)
{
    size_t bytes = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->parcels[i].partition == partition)
            bytes += s->messages[i].body.n + s->messages[i].key.n + s->parcels[i].attributes.n +
                     RECORD_EXTRA_BYTES;
    return bytes;
}

/* What the batch of those from `next` on will need: asked for once, and not more than it gets, for
 * it stays in the tail cache. */
static size_t records_bytes_hint(const struct sending *s, uint32_t partition, size_t next)
{
    size_t bytes = 0;
    for (size_t i = next; i < s->n; i++)
        if (s->parcels[i].partition == partition)
            bytes += PLOG_RECORD_FRAME_BYTES + record_bytes_hint(&s->parcels[i].record);
    return bytes;
}

/* The messages for one partition from s->messages[*next] on, in order, as one batch, up to one for
 * which room must be made first (ERR_NEED). Refusals wait for commit as well: what they saw may not
 * be committed yet. */
static enum err send_some(struct sending *s, uint32_t partition, size_t *next, struct queue_wait *w)
{
    struct queue_partition *p = &s->t->partitions[partition];
    lock_take(&p->lk);
    enum err e = partition_check_locked(p, bytes_to(s, partition));
    if (e != ERR_OK) {
        lock_give(&p->lk);
        for (; *next < s->n; ++*next)
            if (s->parcels[*next].partition == partition)
                s->errs[*next] = e;
        return ERR_OK;
    }
    struct partition_view view = partition_view_locked(p, s->config);
    struct appending a;
    append_begin_locked(&a, p, view.now_ms);
    a.bytes_hint = records_bytes_hint(s, partition, *next);
    size_t sent_n = 0;
    for (; *next < s->n && e != ERR_NEED; *next += e != ERR_NEED) {
        size_t i = *next;
        e = ERR_OK;
        if (s->parcels[i].partition != partition)
            continue;
        e = s->full ? ERR_TOPIC_FULL : send_one_locked(s, i, &a, &view);
        sent_n += e == ERR_OK;
        if (e == ERR_DUPLICATE)
            e = ERR_OK;
        if (e == ERR_TOPIC_FULL && s->full)
            s->sent[i].had = queue_topic_live(s->t);
        s->errs[i] = e;
        s->full = s->full || (e == ERR_TOPIC_FULL && s->t->fifo);
    }
    append_end_locked(&a, true);
    wait_mark_locked(w, p);
    lock_give(&p->lk);
    STAT_ADD(s->t->q, sent, sent_n);
    return e == ERR_NEED ? ERR_NEED : ERR_OK;
}

/* Others may take the room that was made, so it is made a bounded number of times. */
static void send_to(struct sending *s, uint32_t partition, struct queue_wait *w)
{
    size_t next = 0, at = 0;
    int tries = 0;
    if (limit_lets_go(s->config))
        heads_begin(&s->t->partitions[partition]);
    while (send_some(s, partition, &next, w) == ERR_NEED) {
        tries = next == at ? tries + 1 : 0;
        at = next;
        enum err e = ERR_BUSY;
        if (tries < ROOM_TRIES_MAX)
            e = limit_make_room(s->t, s->config,
                                record_message_bytes(&s->parcels[next].record.message));
        if (e == ERR_OK)
            continue;
        s->errs[next] = e;
        s->sent[next].had = queue_topic_live(s->t);
        s->full = s->full || s->t->fifo;
        next++;
    }
}

/* A whole call goes to one partition, so that it is one batch; the next call to the next. */
static uint32_t partition_in_turn(struct queue_topic *t)
{
    /* In a cluster first among those that are led here. */
    for (uint32_t tries = 0; t->q->links != NULL && tries < t->partitions_n; tries++) {
        uint32_t i = __atomic_fetch_add(&t->send_turn, 1, __ATOMIC_RELAXED) % t->partitions_n;
        if (__atomic_load_n(&t->partitions[i].ours, __ATOMIC_ACQUIRE))
            return i;
    }
    for (uint32_t tries = 0; tries < t->partitions_n; tries++) {
        uint32_t i = __atomic_fetch_add(&t->send_turn, 1, __ATOMIC_RELAXED) % t->partitions_n;
        if (!t->partitions[i].closed)
            return i;
    }
    return 0;
}

static uint32_t partition_of(const struct queue_topic *t, struct id_hash hash)
{
    return (uint32_t)(le_load_u64(hash.at + 8) % t->partitions_n);
}

/* `turn` is for those that may go anywhere. */
static void choose(struct sending *s, uint32_t turn)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct record_message *m = &s->parcels[i].record.message;
        if (s->t->fifo)
            s->parcels[i].partition = partition_of(s->t, m->group_hash);
        else if (m->key.n > 0)
            s->parcels[i].partition =
                partition_of(s->t, secret_id_hash(s->t->q, BYTES_NONE, m->key));
        else if (m->dedup_id.n > 0)
            s->parcels[i].partition = partition_of(s->t, m->dedup_hash);
        else
            s->parcels[i].partition = turn;
    }
}

static enum err may_send(struct queue_topic *t)
{
    enum err e = topic_check(t);
    space_look_if_due(t->q);
    if (e == ERR_OK && __atomic_load_n(&t->q->space_low, __ATOMIC_RELAXED))
        e = ERR_NO_SPACE;
    return e;
}

/* Partition by partition, in the order in which they first occur. */
static void send_all(struct sending *s, struct queue_wait *w)
{
    for (size_t i = 0; i < s->n; i++)
        prepare(s, i);
    for (size_t i = 0; s->places != NULL && i < s->n; i++)
        s->parcels[i].partition = s->places[i];
    if (s->places == NULL)
        choose(s, s->t->fifo ? 0 : partition_in_turn(s->t));
    for (size_t i = 0; i < s->n; i++) {
        bool done = false;
        for (size_t k = 0; k < i && !done; k++)
            done = s->parcels[k].partition == s->parcels[i].partition;
        if (!done)
            send_to(s, s->parcels[i].partition, w);
    }
    for (size_t i = 0; i < s->n; i++)
        buf_fini(&s->parcels[i].attributes);
}

static void send_or_refuse(struct queue_topic *t, const struct queue_message *messages,
                           const uint32_t *places, size_t n, struct queue_sent *sent,
                           enum err *errs, struct queue_wait *w)
{
    struct parcel few[PARCELS_FEW];
    CHECK(n >= 1 && n <= QUEUE_SEND_MAX);
    for (size_t i = 0; i < n; i++)
        CHECK(messages[i].key.n <= QUEUE_KEY_BYTES_MAX && (!messages[i].tombstone || t->compact));
    enum err e = may_send(t);
    if (e != ERR_OK) {
        for (size_t i = 0; i < n; i++)
            errs[i] = e;
        return;
    }
    struct sending s = {.t = t,
                        .config = queue_topic_config(t),
                        .messages = messages,
                        .sent = sent,
                        .errs = errs,
                        .n = n,
                        .places = places,
                        .parcels = n <= PARCELS_FEW ? few : mem_new_array(n, sizeof few[0])};
    send_all(&s, w);
    if (s.parcels != few)
        mem_free(s.parcels);
}

void queue_send(struct queue_topic *t, const struct queue_message *messages, size_t n,
                struct queue_sent *sent, enum err *errs, struct queue_wait *w)
{
    send_or_refuse(t, messages, NULL, n, sent, errs, w);
}

void queue_send_to(struct queue_topic *t, const struct queue_message *messages,
                   const uint32_t *partitions, size_t n, struct queue_sent *sent, enum err *errs,
                   struct queue_wait *w)
{
    for (size_t i = 0; i < n; i++)
        CHECK(partitions[i] < t->partitions_n);
    send_or_refuse(t, messages, partitions, n, sent, errs, w);
}

/* As partition_in_turn, where others lead too. */
static uint32_t turn_among_leaders(struct queue_topic *t)
{
    uint32_t first = __atomic_fetch_add(&t->send_turn, 1, __ATOMIC_RELAXED) % t->partitions_n;
    for (uint32_t i = 0; i < t->partitions_n; i++)
        if (queue_copy_is_ours(t, (first + i) % t->partitions_n))
            return (first + i) % t->partitions_n;
    for (uint32_t i = 0; i < t->partitions_n; i++)
        if (queue_copy_leader(t, (first + i) % t->partitions_n) != 0)
            return (first + i) % t->partitions_n;
    return first;
}

void queue_send_places(struct queue_topic *t, const struct queue_message *messages, size_t n,
                       uint32_t *partitions)
{
    struct sending s = {.t = t,
                        .config = queue_topic_config(t),
                        .messages = messages,
                        .n = n,
                        .parcels = mem_new_array(n, sizeof *s.parcels)};
    for (size_t i = 0; i < n; i++)
        prepare(&s, i);
    choose(&s, turn_among_leaders(t));
    for (size_t i = 0; i < n; i++) {
        partitions[i] = s.parcels[i].partition;
        buf_fini(&s.parcels[i].attributes);
    }
    mem_free(s.parcels);
}

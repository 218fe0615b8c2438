// SPDX-License-Identifier: Apache-2.0
/* The target's side of a move: the message arrives once, whoever brings it and how often. Its key
 * is (source topic, source partition, seq); which keys have arrived is part of the folded state, so
 * the next leader knows them too. */
#include <string.h>

#include "base/codec.h"
#include "queue/copies.h"
#include "queue/state.h"

static void id_text(const struct uuid *id, char out[37])
{
    char hex[33];
    codec_hex_text((struct bytes){id->at, sizeof id->at}, hex);
    static const uint8_t cut[] = {0, 8, 12, 16, 20, 32};
    for (size_t i = 0; i + 1 < sizeof cut; i++) {
        memcpy(out, hex + cut[i], (size_t)(cut[i + 1] - cut[i]));
        out += cut[i + 1] - cut[i];
        *out++ = i + 2 < sizeof cut ? '-' : 0;
    }
}

/* A redrive makes a new message of it (SQS developer guide, "dead-letter queue redrive"): with its
 * own id and time, no receives, and no word of where it was. */
static void make_new_locked(struct queue_partition *to, const struct partition_view *view,
                            struct record_message *m)
{
    m->id = message_id_new_locked(to);
    m->sent_wall_ms = view->now_wall_ms;
    m->accepted_ms = view->now_ms;
    m->origin.name = BYTES_NONE;
}

static void append_locked(struct queue_partition *to, const struct partition_view *view,
                          struct record *r)
{
    char dedup[37];
    if (to->topic->fifo) {
        r->message.accepted_ms = view->now_ms;
        id_text(&r->message.id, dedup);
        r->message.dedup_id = bytes_of_text(dedup);
    }
    struct appending a;
    append_begin_locked(&a, to, view->now_ms);
    append_put_locked(&a, r);
    append_end_locked(&a, true);
}

enum err move_arrive_locked(struct queue_partition *to, int64_t age_ms, struct record *r,
                            bool *committed)
{
    struct partition_duplicate there;
    enum err e = partition_check_locked(to, r->message.body.n + 1024);
    if (e != ERR_OK)
        return e;
    struct partition_view view = partition_view_locked(to, queue_topic_config(to->topic));
    r->message.due_ms = view.now_ms;
    r->message.accepted_ms = view.now_ms - age_ms; /* partitions have times of their own */
    e = partition_plan_send(to->state, &view, &r->message, &there);
    if (e == ERR_OK) {
        if (r->message.receive_count == 0)
            make_new_locked(to, &view, &r->message);
        append_locked(to, &view, r);
        *committed = false;
    } else if (e == ERR_DUPLICATE) {
        *committed = there.number == UINT64_MAX || there.number < view.committed_number;
        e = ERR_OK;
    }
    return e;
}

enum err queue_move_take(struct queue_topic *t, const struct queue_move *m, struct queue_wait *w)
{
    struct record r;
    bool committed;
    if (m->partition >= t->partitions_n || m->age_ms < 0 || m->age_ms > QUEUE_MOVE_AGE_MS_MAX)
        return ERR_CORRUPT;
    enum err e = record_decode(RECORD_MESSAGE, m->message, &r);
    if (e != ERR_OK)
        return e;
    if (!r.message.moved || r.message.body.n > QUEUE_BODY_BYTES_MAX || r.message.tombstone ||
        (t->fifo && id_hash_is_none(&r.message.group_hash)))
        return ERR_CORRUPT;
    if (t->compact)
        return ERR_LOG_ONLY;
    struct queue_partition *to = &t->partitions[m->partition];
    lock_take(&to->lk);
    e = move_arrive_locked(to, m->age_ms, &r, &committed);
    if (e == ERR_OK && !committed)
        wait_mark_locked(w, to);
    lock_give(&to->lk);
    return e;
}

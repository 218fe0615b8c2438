// SPDX-License-Identifier: Apache-2.0
/* Looking: counters, partitions, leases, figures of the process. */
#include <stdio.h>
#include <string.h>

#include "queue/spread.h"
#include "queue/state.h"

enum {
    LOOK_FILLS_MAX = 1000,
    LOOK_TRIMS_MAX = 100,
    LEASES_AT_A_TIME = 64,
    SEGMENTS_AT_A_TIME = 64,
    OLDEST_READ_AHEAD = 4096,
};

bool queue_failed(const struct queue *q)
{
    return plog_failed(q->plog) || catalog_failed(q->catalog);
}

bool queue_space_low(const struct queue *q)
{
    return __atomic_load_n(&q->space_low, __ATOMIC_RELAXED);
}

uint32_t queue_partitions(struct queue_topic *t)
{
    return t->partitions_n;
}

/* The first number that the topic's delay still holds back is found through headers. */
static enum err count_locked(struct queue_partition *p, const struct topic_config *config,
                             uint32_t gid, struct partition_counters *out, uint64_t *need)
{
    struct partition_view view = partition_view_locked(p, config);
    uint64_t due_next = partition_next_number(p->state);
    if (partition_default_delay_pending(p->state, view.now_ms)) {
        enum err e =
            partition_window_due_next(window_locked(p), p->state, &view, gid, &due_next, need);
        window_count_locked(p);
        if (e != ERR_OK)
            return e;
    }
    return partition_count(p->state, &view, gid, due_next, out);
}

enum err look_count(struct queue_partition *p, const struct topic_config *config, uint32_t gid,
                    struct partition_counters *out)
{
    enum err e;
    uint64_t need = 0;
    if (p->closed)
        return ERR_CLOSED;
    /* What has expired at the head is not there any more, although no one has said so yet. */
    for (int i = 0; i < LOOK_TRIMS_MAX && retention_trim(p); i++)
        continue;
    for (int fills = 0; fills < LOOK_FILLS_MAX; fills++) {
        lock_take(&p->lk);
        e = count_locked(p, config, gid, out, &need);
        lock_give(&p->lk);
        if (e != ERR_NEED)
            return e;
        e = window_fill(p, need);
        if (e != ERR_OK)
            return e;
    }
    return ERR_BUSY;
}

enum err queue_count(struct queue_topic *t, struct bytes group, struct queue_counters *out)
{
    const struct queue_waiters *ws = topic_waiters(t, group);
    const struct topic_config *config = queue_topic_config(t);
    struct queue_counters sum = {0};
    enum err e = topic_check(t);
    if (e == ERR_OK && ws == NULL && !t->compact)
        e = ERR_NOT_FOUND;
    for (uint32_t i = 0; e == ERR_OK && ws != NULL && i < t->partitions_n; i++) {
        struct partition_counters c;
        e = look_count(&t->partitions[i], config, ws->gid, &c);
        if (e == ERR_CLOSED) { /* the others are counted */
            e = ERR_OK;
            continue;
        }
        if (e != ERR_OK)
            break;
        sum.visible += c.visible;
        sum.in_flight += c.in_flight;
        sum.delayed += c.delayed;
        sum.moving += c.moving;
    }
    if (e == ERR_OK)
        *out = sum;
    return e;
}

enum err queue_count_place(struct queue_topic *t, struct bytes group, uint32_t partition,
                           struct queue_counters *out, struct queue_wait *w)
{
    const struct queue_waiters *ws = topic_waiters(t, group);
    struct queue_partition *p = &t->partitions[partition];
    struct partition_counters c = {0};
    enum err e = topic_check(t);
    if (e == ERR_OK && ws == NULL && !t->compact)
        e = ERR_NOT_FOUND;
    if (e == ERR_OK && !queue_copy_is_ours(t, partition))
        e = ERR_NOT_LEADER;
    if (e == ERR_OK && ws != NULL)
        e = look_count(p, queue_topic_config(t), ws->gid, &c);
    if (e != ERR_OK)
        return e;
    lock_take(&p->lk);
    wait_mark_locked(w, p);
    lock_give(&p->lk);
    *out = (struct queue_counters){c.visible, c.in_flight, c.delayed, c.moving};
    return ERR_OK;
}

void queue_partition_look(struct queue_topic *t, uint32_t partition,
                          struct queue_partition_info *out)
{
    struct queue_partition *p = &t->partitions[partition];
    memset(out, 0, sizeof *out);
    out->partition = partition;
    out->closed = p->closed;
    if (p->closed) {
        snprintf(out->where, sizeof out->where, "%s", p->where);
        return;
    }
    struct partition_counters c;
    if (look_count(p, queue_topic_config(t), GID_DEFAULT, &c) == ERR_OK)
        out->counters = (struct queue_counters){c.visible, c.in_flight, c.delayed, c.moving};
    out->start_offset = plog_start_offset(p->log);
    out->start_number = plog_start_number(p->log);
    struct plog_size size = plog_log_size(p->log);
    out->segments = size.segments;
    out->bytes = size.bytes;
    lock_take(&p->lk);
    out->durable_offset = plog_committed(p->log);
    out->end_offset = plog_end(p->log);
    out->next_number = partition_next_number(p->state);
    struct partition_live live = account_now_locked(p);
    out->live = (struct queue_live){live.messages, live.bytes};
    struct partition_group_info group;
    if (partition_group_find(p->state, GID_DEFAULT, &group))
        out->floor = group.floor;
    lock_give(&p->lk);
}

uint64_t queue_topic_disk_bytes(struct queue_topic *t)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < t->partitions_n; i++)
        if (!t->partitions[i].closed)
            bytes += plog_log_size(t->partitions[i].log).bytes;
    return bytes;
}

/* When the group's oldest message was sent; 0: there is none, or it cannot be read. */
static int64_t oldest_sent_wall_ms(struct queue_partition *p, uint32_t gid)
{
    struct partition_group_info group;
    struct reader reader;
    struct record_message m;
    int64_t sent_wall_ms = 0;
    lock_take(&p->lk);
    bool known = partition_group_find(p->state, gid, &group);
    lock_give(&p->lk);
    if (!known)
        return 0;
    reader_init(&reader);
    if (reader_get(&reader, p->log, group.floor, OLDEST_READ_AHEAD, &m) == ERR_OK)
        sent_wall_ms = m.sent_wall_ms;
    reader_fini(&reader);
    return sent_wall_ms;
}

enum err queue_group_look(struct queue_topic *t, struct bytes group, struct queue_group_info *out)
{
    struct queue_waiters *ws = topic_waiters(t, group);
    struct queue_group_info info = {0};
    enum err e = queue_count(t, group, &info.counters);
    if (e == ERR_OK && ws == NULL)
        e = topic_no_group(t);
    if (e != ERR_OK)
        return e;
    info.waiting = __atomic_load_n(&ws->n, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        int64_t sent_ms = p->closed ? 0 : oldest_sent_wall_ms(p, ws->gid);
        if (sent_ms != 0 && (info.oldest_sent_wall_ms == 0 || sent_ms < info.oldest_sent_wall_ms))
            info.oldest_sent_wall_ms = sent_ms;
    }
    *out = info;
    return ERR_OK;
}

/* ---- the log ---- */

static uint64_t live_bytes(const struct plog_segment *s, uint64_t unfinished)
{
    uint64_t messages = s->stored;
    if (unfinished >= messages)
        return messages == 0 ? 0 : s->bytes;
    return s->bytes / messages * unfinished + s->bytes % messages * unfinished / messages;
}

enum err queue_segments(struct queue_topic *t, uint32_t partition, uint64_t from_offset,
                        struct queue_segment_info *out, size_t room, size_t *n)
{
    struct plog_segment segments[SEGMENTS_AT_A_TIME];
    enum err e = topic_check(t);
    if (e == ERR_OK && partition >= t->partitions_n)
        e = ERR_NOT_FOUND;
    if (e == ERR_OK && t->partitions[partition].closed)
        e = ERR_CLOSED;
    size_t count = 0, got = SEGMENTS_AT_A_TIME;
    while (e == ERR_OK && count < room && got == SEGMENTS_AT_A_TIME) {
        struct queue_partition *p = &t->partitions[partition];
        size_t left = room - count < SEGMENTS_AT_A_TIME ? room - count : SEGMENTS_AT_A_TIME;
        e = plog_segments(p->log, from_offset, segments, left, &got);
        if (e != ERR_OK)
            break;
        lock_take(&p->lk);
        for (size_t i = 0; i < got; i++) {
            const struct plog_segment *s = &segments[i];
            uint64_t wanted = partition_wanted_count(p->state, s->first_number, s->end_number);
            out[count++] = (struct queue_segment_info){
                s->base_offset, s->first_number,       s->end_number, s->bytes,
                wanted,         live_bytes(s, wanted), s->sealed};
            from_offset = s->base_offset + 1;
        }
        lock_give(&p->lk);
    }
    if (e == ERR_OK)
        *n = count;
    return e;
}

enum err queue_partition_bytes(struct queue_topic *t, uint32_t partition, struct queue_bytes *out)
{
    struct queue_segment_info segments[SEGMENTS_AT_A_TIME];
    struct queue_bytes sum = {0};
    uint64_t from_offset = 0;
    size_t n = 0;
    do {
        enum err e = queue_segments(t, partition, from_offset, segments, SEGMENTS_AT_A_TIME, &n);
        if (e != ERR_OK)
            return e;
        for (size_t i = 0; i < n; i++) {
            sum.segments++;
            sum.bytes += segments[i].bytes;
            sum.bytes_live += segments[i].bytes_live;
            from_offset = segments[i].base_offset + 1;
        }
    } while (n > 0);
    *out = sum;
    return ERR_OK;
}

/* ---- leases ---- */

static size_t leases_of(struct queue_partition *p, uint32_t gid, uint64_t from,
                        struct queue_lease_info *out, size_t room)
{
    struct partition_lease_info held[LEASES_AT_A_TIME];
    lock_take(&p->lk);
    int64_t now_ms = partition_now_ms(p);
    size_t n = partition_leases(p->state, gid, now_ms, from, held,
                                room < LEASES_AT_A_TIME ? room : LEASES_AT_A_TIME);
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct queue_lease_info){
            .partition = p->index,
            .number = held[i].number,
            .receive_count = held[i].receive_count,
            .left_ms = held[i].until_ms - now_ms,
            /* A lease that a crash has lost may have been extended since: it began at no known
               time. */
            .leased_ms = held[i].receive_count > 0 ? now_ms - held[i].leased_since_ms : 0,
        };
        size_t holder = held[i].holder.n < sizeof out[i].holder - 1 ? held[i].holder.n
                                                                    : sizeof out[i].holder - 1;
        if (holder > 0)
            memcpy(out[i].holder, held[i].holder.at, holder);
    }
    lock_give(&p->lk);
    return n;
}

size_t queue_leases(struct queue_topic *t, struct bytes group, uint32_t partition, uint64_t number,
                    struct queue_lease_info *out, size_t room)
{
    const struct queue_waiters *ws = topic_waiters(t, group);
    size_t n = 0;
    if (ws == NULL)
        return 0;
    for (uint32_t i = partition; i < t->partitions_n && n < room; i++) {
        struct queue_partition *p = &t->partitions[i];
        uint64_t from = i == partition ? number : 0;
        while (!p->closed && n < room) {
            size_t got = leases_of(p, ws->gid, from, out + n, room - n);
            if (got == 0)
                break;
            n += got;
            from = out[n - 1].number + 1;
        }
    }
    return n;
}

void queue_stats_read(struct queue *q, struct queue_stats *out)
{
#define READ(field) out->field = __atomic_load_n(&q->stats.field, __ATOMIC_RELAXED)
    READ(sent);
    READ(received);
    READ(deleted);
    READ(empty_receives);
    READ(rounds);
    READ(moves);
    READ(polls);
    READ(kept);
#undef READ
    out->sync_average_us = plog_sync_average_us(q->plog);
}

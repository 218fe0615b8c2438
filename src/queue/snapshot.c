// SPDX-License-Identifier: Apache-2.0
/* Snapshots and recovery: the state is a fold of the log, so it is found again as the newest
 * snapshot and what follows it. While serving, a snapshot is folded a second time from the one
 * before, in bounded memory and without the partition's lock; a clean stop saves the live state.
 * Equal states give equal bytes, so both are the same. */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

enum {
    FOLD_READ_AHEAD_BYTES = 1 << 20,
    FOLD_RECORDS_AT_A_TIME = 2000, /* between two looks at the alarms */
    SNAPSHOT_LOG_RATIO = 8,
    STOP_LOG_SHARE = 4096, /* by default 16 KiB */
    REPLAY_RATIO = 4,      /* of all logs together; by default 256 MiB */
    TOGETHER_MAX = 1000,   /* snapshots synced together while serving */
    RECORD_HEAD_BYTES = 4, /* what a record takes beside its payload, roughly */
};

/* Folds [offset, end) of p's log. */
static enum err fold(struct queue_partition *p, struct partition *state, uint64_t offset,
                     uint64_t end, bool serving, uint64_t *bytes)
{
    struct plog_cursor cursor;
    *bytes = 0;
    if (offset == end)
        return ERR_OK;
    enum err e = plog_cursor_at_offset(p->log, offset, FOLD_READ_AHEAD_BYTES, &cursor);
    if (e != ERR_OK)
        return e == ERR_GONE || e == ERR_NOT_FOUND ? ERR_CORRUPT : e;
    for (uint64_t i = 0; e == ERR_OK && offset < end; i++) {
        struct plog_entry entry;
        struct record record;
        e = plog_cursor_next(&cursor, &entry);
        if (e == ERR_OK && entry.offset != offset)
            e = ERR_CORRUPT;
        if (e == ERR_OK)
            e = record_decode(entry.type, entry.payload, &record);
        if (e != ERR_OK)
            break;
        partition_apply(state, &record);
        *bytes += entry.payload.n + RECORD_HEAD_BYTES;
        offset++;
        if (serving && i % FOLD_RECORDS_AT_A_TIME == 0)
            house_ring(p->q);
    }
    plog_cursor_close(&cursor);
    return e == ERR_NOT_FOUND ? ERR_CORRUPT : e;
}

/* The state of the newest snapshot below an offset, or an empty one. */
static enum err load_below(struct queue_partition *p, uint64_t below, struct partition **state,
                           uint64_t *offset, uint64_t *bytes)
{
    struct buf saved = BUF_EMPTY;
    *offset = *bytes = 0;
    enum err e = plog_snapshot_read_below(p->log, below, &saved, offset);
    if (e == ERR_OK) {
        *bytes = saved.n;
        e = partition_load(buf_bytes(&saved), state);
    } else if (e == ERR_NOT_FOUND) {
        *state = partition_new();
        e = ERR_OK;
    }
    buf_fini(&saved);
    return e;
}

/* The state as of the offset `end`. */
static enum err fold_to(struct queue_partition *p, uint64_t end, struct buf *out)
{
    struct partition *state = NULL;
    uint64_t from, bytes;
    enum err e = load_below(p, end + 1, &state, &from, &bytes);
    if (e == ERR_OK && from > end)
        e = ERR_CORRUPT;
    if (e == ERR_OK)
        e = fold(p, state, from, end, true, &bytes);
    if (e == ERR_OK)
        partition_save(state, out);
    partition_free(state);
    return e;
}

enum err snapshot_fold(struct queue_partition *p, struct buf *out, uint64_t *offset)
{
    uint64_t end = plog_committed(p->log);
    enum err e = fold_to(p, end, out);
    if (e == ERR_OK)
        *offset = end;
    return e;
}

static void note_failure(const struct queue_partition *p, enum err e)
{
    note(NOTE_WARNING, "queue", "topic %s, partition %u: no snapshot: %s", p->topic->name,
         (unsigned)p->index, err_text(e));
}

static bool is_due_locked(const struct queue_partition *p)
{
    uint64_t enough = SNAPSHOT_LOG_RATIO * p->snapshot_bytes;
    if (enough < p->q->snapshot_log_bytes)
        enough = p->q->snapshot_log_bytes;
    return p->log_bytes >= enough;
}

/* At the durable end. */
static void make(struct queue_partition *p)
{
    lock_take(&p->lk);
    uint64_t log_bytes = p->log_bytes;
    lock_give(&p->lk);
    struct buf state = BUF_EMPTY;
    uint64_t offset;
    enum err e = snapshot_fold(p, &state, &offset);
    if (e == ERR_OK)
        e = plog_snapshot_write(p->log, offset, buf_bytes(&state));
    lock_take(&p->lk);
    /* After a failure the next attempt waits for as much log again. */
    p->log_bytes -= log_bytes;
    if (e == ERR_OK)
        p->snapshot_bytes = state.n;
    lock_give(&p->lk);
    snapshot_count(p->q, -(int64_t)log_bytes);
    if (e != ERR_OK)
        note_failure(p, e);
    buf_fini(&state);
}

static void make_at(struct queue_partition *p, uint64_t offset)
{
    struct buf state = BUF_EMPTY;
    enum err e = fold_to(p, offset, &state);
    if (e == ERR_OK)
        e = plog_snapshot_write(p->log, offset, buf_bytes(&state));
    if (e != ERR_OK)
        note_failure(p, e);
    buf_fini(&state);
}

void snapshot_raise_older(struct queue_partition *p, uint64_t offset)
{
    uint64_t newest = plog_snapshot_newest(p->log);
    if (newest != offset && plog_snapshot_older(p->log) < offset)
        make_at(p, offset); /* above or below the newest */
    if (newest <= offset && plog_snapshot_newest(p->log) < plog_committed(p->log))
        make(p);
}

void snapshot_if_due(struct queue_partition *p)
{
    lock_take(&p->lk);
    bool due = is_due_locked(p);
    lock_give(&p->lk);
    if (due)
        make(p);
}

/* ---- many at once ---- */

void snapshot_count(struct queue *q, int64_t log_bytes)
{
    __atomic_fetch_add(&q->replay_bytes, (uint64_t)log_bytes, __ATOMIC_RELAXED);
}

struct grown {
    struct queue_partition *p;
    uint64_t log_bytes;
    uint64_t state_bytes;
};

static int largest_first(const void *a, const void *b)
{
    const struct grown *x = a, *y = b;
    return (x->log_bytes < y->log_bytes) - (x->log_bytes > y->log_bytes);
}

/* The partitions with the most to replay, until half of it all is with them. */
static size_t find_grown(const struct queue *q, struct queue_topic **topics, size_t topics_n,
                         struct grown **out)
{
    size_t n = 0, partitions = 0, taken = 0;
    uint64_t all = 0, sum = 0;
    for (size_t i = 0; i < topics_n; i++)
        partitions += topics[i]->partitions_n;
    struct grown *grown = mem_new_array(partitions + 1, sizeof grown[0]);
    for (size_t i = 0; i < topics_n; i++)
        for (uint32_t k = 0; k < topics[i]->partitions_n; k++) {
            struct queue_partition *p = &topics[i]->partitions[k];
            if (p->closed)
                continue;
            lock_take(&p->lk);
            grown[n] = (struct grown){p, p->log_bytes, p->snapshot_bytes};
            lock_give(&p->lk);
            all += grown[n++].log_bytes;
        }
    qsort(grown, n, sizeof grown[0], largest_first);
    while (taken < n && taken < TOGETHER_MAX && sum < all / 2)
        sum += grown[taken++].log_bytes;
    *out = grown;
    return all >= REPLAY_RATIO * q->snapshot_log_bytes ? taken : 0;
}

static bool put_grown(struct plog_snapshots *all, struct grown *g)
{
    struct buf state = BUF_EMPTY;
    uint64_t offset;
    enum err e = snapshot_fold(g->p, &state, &offset);
    if (e == ERR_OK)
        e = plog_snapshots_put(all, g->p->log, offset, buf_bytes(&state));
    g->state_bytes = state.n;
    buf_fini(&state);
    if (e != ERR_OK)
        note_failure(g->p, e);
    return e == ERR_OK;
}

void snapshots_bound(struct queue *q)
{
    uint64_t bytes = __atomic_load_n(&q->replay_bytes, __ATOMIC_RELAXED);
    size_t topics_n;
    struct grown *grown;
    if (bytes < REPLAY_RATIO * q->snapshot_log_bytes || plog_failed(q->plog))
        return;
    struct queue_topic **topics = topics_lend(q, &topics_n);
    size_t n = find_grown(q, topics, topics_n, &grown);
    struct plog_snapshots *all = plog_snapshots_begin(q->plog);
    for (size_t i = 0; i < n; i++)
        if (!put_grown(all, &grown[i]))
            grown[i].state_bytes = 0;
    enum err e = plog_snapshots_end(all);
    if (e != ERR_OK)
        note(NOTE_WARNING, "queue", "%zu snapshots: %s", n, err_text(e));
    for (size_t i = 0; i < n; i++) {
        struct queue_partition *p = grown[i].p;
        lock_take(&p->lk);
        /* After a failure the next attempt waits for as much log again. */
        p->log_bytes -= grown[i].log_bytes;
        if (e == ERR_OK && grown[i].state_bytes > 0)
            p->snapshot_bytes = grown[i].state_bytes;
        lock_give(&p->lk);
        snapshot_count(q, -(int64_t)grown[i].log_bytes);
        house_touch(p);
    }
    mem_free(grown);
    topics_give_back(topics, topics_n);
}

/* A few records are replayed faster than a snapshot is synced. What is skipped counts on over the
 * next start, so a log gets its snapshot once there is something in it. */
static bool is_wanted_at_stop(const struct queue_partition *p)
{
    if (p->closed)
        return false;
    if (p->q->links != NULL && !p->copy->serves) {
        if (p->copy->fold_fresh || p->copy->folded == 0)
            return false;
    } else if (plog_committed(p->log) != plog_end(p->log)) {
        return false;
    }
    return p->log_bytes > p->q->snapshot_log_bytes / STOP_LOG_SHARE;
}

void snapshots_at_stop(struct queue *q, struct queue_topic **topics, size_t n)
{
    if (plog_failed(q->plog))
        return;
    struct plog_snapshots *all = plog_snapshots_begin(q->plog);
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < topics[i]->partitions_n; k++) {
            struct queue_partition *p = &topics[i]->partitions[k];
            if (!is_wanted_at_stop(p))
                continue;
            bool follows = q->links != NULL && !p->copy->serves;
            uint64_t offset = follows ? p->copy->folded : plog_committed(p->log);
            CHECK(offset <= plog_committed(p->log) && (follows || offset == plog_end(p->log)));
            struct buf state = BUF_EMPTY;
            partition_save(p->state, &state);
            enum err e = plog_snapshots_put(all, p->log, offset, buf_bytes(&state));
            if (e != ERR_OK)
                note_failure(p, e);
            buf_fini(&state);
        }
    enum err e = plog_snapshots_end(all);
    if (e != ERR_OK)
        note(NOTE_WARNING, "queue", "snapshots of the stop: %s", err_text(e));
}

void snapshot_recover(struct queue_partition *p)
{
    struct partition *state = NULL;
    uint64_t from, end = plog_committed(p->log);
    enum err e = load_below(p, UINT64_MAX, &state, &from, &p->snapshot_bytes);
    if (e == ERR_OK)
        e = from <= end ? fold(p, state, from, end, false, &p->log_bytes) : ERR_CORRUPT;
    snapshot_count(p->q, (int64_t)p->log_bytes);
    if (e == ERR_OK && partition_next_number(state) != plog_end_number(p->log))
        e = ERR_CORRUPT;
    if (e != ERR_OK) {
        partition_free(state);
        const char *where;
        partition_close(p, plog_log_damaged(p->log, &where) ? where : err_text(e));
        return;
    }
    partition_free(p->state);
    p->state = state;
    account_open(p);
    move_recover(p);
}

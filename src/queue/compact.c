// SPDX-License-Identifier: Apache-2.0
/* Compaction: of a compact topic the last message of each key stays. It is cleaning (clean.c,
 * plog.h) with another predicate, made in passes, one at a time, as Kafka's log cleaner does it
 * (Kafka's documentation, "Log Compaction").
 *
 * A pass has two stages. It reads the keys of what may be cleaned and is new since the last pass
 * ended (the dirty range), and remembers of each key the number of its last message, until the map
 * is full or the range ends. Then all segments up to there are cleaned in the order of the log:
 * a message goes when a later one of its key is known. So memory is bounded by the map; more keys
 * than it holds take more passes. Nothing of this is on disk: a start begins with everything dirty.
 *
 * The last value of a key is safe at any moment: a message goes only for a later one that is
 * stored, below the older snapshot, and that no pass drops while there is none later still. What
 * lies above (the active segment is always there) is not looked at.
 *
 * A tombstone goes when its time is over, delete_retention after it was accepted. It must not go
 * before the values that it ends: they would be there again. Therefore segments are cleaned from
 * the oldest on, each swap is durable before the next begins, no message that is to go stays for
 * being small (plog_wanted.keep), and a pass that fails anywhere ends there. When a pass comes to a
 * tombstone, older values of its key lie neither in segments before (this pass has dropped them, or
 * an earlier one that ended well) nor, after the swap, in its own. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "queue/state.h"

enum {
    LOOK_MS = 10000, /* between two looks at a partition */
    NO_SPACE_WAIT_MS = 60000,
    LAG_MS = 3600 * 1000, /* what is dirty waits for no longer, however little it is */
    SCAN_BYTES = 256 << 10,
    STEP_MS = 20, /* between two steps */
};

/* ---- when ---- */

/* The segments that may be cleaned are the first ones; how many of all. */
static size_t cleanable(const struct plog_segment *s, size_t n)
{
    size_t i = 0;
    while (i < n && s[i].cleanable)
        i++;
    return i;
}

static bool is_due(const struct queue_partition *p, const struct plog_segment *s, size_t n)
{
    uint64_t dirty = 0, clean = 0;
    int64_t now_ms = partition_now_ms(p);
    for (size_t i = 0; i < n; i++)
        *(s[i].end_offset > p->compacted_offset ? &dirty : &clean) += s[i].bytes;
    if (n > 0 && p->tombstone_ms != INT64_MAX &&
        now_ms >= p->tombstone_ms + queue_topic_config(p->topic)->delete_retention_ms)
        return true;
    bool in_need = __atomic_load_n(&p->q->space_low, __ATOMIC_RELAXED);
    return dirty > 0 && (dirty >= clean || in_need || now_ms >= p->compact_late_ms);
}

/* In a log that is idle, or late, the sealed segments are brought below snapshots and mark, which
 * else come there by themselves. */
static void unblock(struct queue_partition *p, const struct plog_segment *s, size_t n,
                    size_t cleanable_n)
{
    uint64_t end = plog_committed(p->log);
    bool idle = p->clean_seen_end == end;
    p->clean_seen_end = end;
    bool late = partition_now_ms(p) >= p->compact_late_ms;
    /* While a round is being written, its segment may begin behind what is durable. */
    if (!(idle || late) || cleanable_n + 1 >= n || s[n - 1].base_offset > end)
        return;
    if (s[n - 2].end_offset > plog_snapshot_older(p->log))
        snapshot_raise_older(p, s[n - 1].base_offset);
    plog_checkpoint_ask(p->q->plog);
}

/* ---- a pass ---- */

static void begin(struct queue_partition *p, const struct plog_segment *s, size_t n)
{
    struct queue_compaction *c = &p->q->compaction;
    uint64_t messages = 0;
    for (size_t i = 0; i < n; i++)
        if (s[i].end_offset > p->compacted_offset)
            messages += s[i].stored;
    size_t keys_max = p->q->compact_keys_max;
    *c = (struct queue_compaction){
        .active = true,
        .topic = p->topic->id,
        .partition = p->index,
        .now_ms = partition_now_ms(p),
        .delete_retention_ms = queue_topic_config(p->topic)->delete_retention_ms,
        .tombstone_ms = INT64_MAX,
        .scan_offset = p->compacted_offset,
        .scan_end = s[n - 1].end_offset,
        .end_offset = s[n - 1].end_offset,
        .end_number = s[n - 1].end_number,
    };
    if (c->scan_offset > c->scan_end) /* nothing is dirty: it is for tombstones */
        c->scan_end = c->scan_offset;
    /* At least one, so that a pass gets on. */
    key_map_init(&c->keys, messages < keys_max ? (size_t)messages + 1 : keys_max);
}

void compact_stop(struct queue *q)
{
    key_map_fini(&q->compaction.keys);
    q->compaction.active = false;
}

static void give_up(struct queue_partition *p, enum err e)
{
    bool released = e == ERR_GONE || e == ERR_INVALID; /* the next look sees that */
    int64_t wait_ms = released ? LOOK_MS : e == ERR_NO_SPACE ? NO_SPACE_WAIT_MS : LAG_MS;
    p->clean_look_ms = queue_now_ms(p->q) + wait_ms;
    if (!released)
        note(NOTE_WARNING, "queue", "topic %s, partition %u: it could not be compacted: %s",
             p->topic->name, (unsigned)p->index, err_text(e));
    compact_stop(p->q);
}

static void end_pass(struct queue_partition *p)
{
    struct queue_compaction *c = &p->q->compaction;
    int64_t now_ms = partition_now_ms(p);
    p->compacted_offset = c->end_offset;
    p->tombstone_ms = c->tombstone_ms;
    p->compact_late_ms = c->full ? now_ms : now_ms + LAG_MS;
    p->clean_look_ms = queue_now_ms(p->q) + (c->full ? 0 : LOOK_MS);
    note(NOTE_DEBUG, "queue", "topic %s, partition %u: compacted up to offset %llu", p->topic->name,
         (unsigned)p->index, (unsigned long long)c->end_offset);
    compact_stop(p->q);
}

void compact_look(struct queue_partition *p)
{
    struct queue *q = p->q;
    size_t n, room = plog_log_size(p->log).segments + 8;
    if (q->cleaning.job != NULL || q->compaction.active || queue_now_ms(q) < p->clean_look_ms)
        return;
    p->clean_look_ms = queue_now_ms(q) + LOOK_MS;
    struct plog_segment *s = mem_new_array(room, sizeof s[0]);
    if (plog_segments(p->log, 0, s, room, &n) == ERR_OK) {
        size_t cleanable_n = cleanable(s, n);
        unblock(p, s, n, cleanable_n);
        if (is_due(p, s, cleanable_n))
            begin(p, s, cleanable_n);
    }
    mem_free(s);
}

/* ---- reading keys ---- */

/* Takes one message's key. False: the map is full, and the pass goes only as far as here. */
static bool take_key(struct queue_compaction *c, const struct queue *q,
                     const struct plog_entry *entry, const struct record_message *m)
{
    struct id_hash hash = secret_id_hash(q, BYTES_NONE, m->key);
    if (m->key.n == 0 || key_map_put(&c->keys, &hash, entry->number))
        return true;
    c->full = true;
    c->scan_end = c->end_offset = entry->offset;
    c->end_number = entry->number;
    return false;
}

static enum err scan(struct queue_partition *p, struct queue_compaction *c)
{
    struct plog_cursor cursor;
    size_t bytes = 0;
    if (c->scan_offset >= c->scan_end)
        return ERR_OK;
    uint64_t start = plog_start_offset(p->log);
    if (c->scan_offset < start)
        c->scan_offset = start;
    enum err e = plog_cursor_at_offset(p->log, c->scan_offset, SCAN_BYTES, &cursor);
    if (e == ERR_NOT_FOUND)
        c->scan_offset = c->scan_end;
    if (e != ERR_OK)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    while (bytes < SCAN_BYTES && c->scan_offset < c->scan_end) {
        struct plog_entry entry;
        struct record record;
        e = plog_cursor_next(&cursor, &entry);
        if (e != ERR_OK)
            break;
        c->scan_offset = entry.offset + 1;
        bytes += entry.payload.n;
        if (entry.type != RECORD_MESSAGE || entry.offset >= c->scan_end)
            continue;
        e = record_decode(entry.type, entry.payload, &record);
        if (e != ERR_OK || !take_key(c, p->q, &entry, &record.message))
            break;
    }
    plog_cursor_close(&cursor);
    if (e != ERR_NOT_FOUND)
        return e;
    c->scan_offset = c->scan_end; /* the log's end: all that is stored was read */
    return ERR_OK;
}

/* ---- cleaning ---- */

static bool keep(void *cleaning, uint64_t number, struct bytes payload)
{
    const struct queue *q = ((struct queue_cleaning *)cleaning)->p->q;
    struct queue_compaction *c = &((struct queue_cleaning *)cleaning)->p->q->compaction;
    struct record record;
    /* What cannot be read is nobody's to drop: the job ends at its bad bytes by itself, and what a
     * newer version wrote this one leaves alone. */
    if (record_decode(RECORD_MESSAGE, payload, &record) != ERR_OK || record.message.key.n == 0)
        return true;
    struct id_hash hash = secret_id_hash(q, BYTES_NONE, record.message.key);
    if (key_map_find(&c->keys, &hash) > number + 1)
        return false;
    /* Behind the end of the pass there may be later values, and older ones that it did not see. */
    if (!record.message.tombstone || number >= c->end_number)
        return true;
    int64_t accepted_ms = record.message.accepted_ms;
    if (c->now_ms >= accepted_ms + c->delete_retention_ms)
        return false;
    if (accepted_ms < c->tombstone_ms)
        c->tombstone_ms = accepted_ms;
    return true;
}

/* The next segments: one, or as many as were small enough to become one. */
static size_t choose(const struct queue *q, const struct plog_segment *s, size_t n)
{
    uint64_t bytes = s[0].bytes;
    size_t k = 1;
    while (k < n && k < PLOG_CLEAN_SEGMENTS_MAX && s[k].cleanable &&
           bytes + s[k].bytes <= q->segment_bytes &&
           s[k].end_offset - s[0].base_offset <= UINT32_MAX)
        bytes += s[k++].bytes;
    return k;
}

static enum err clean_next(struct queue_partition *p, struct queue_compaction *c)
{
    struct queue_cleaning *job = &p->q->cleaning;
    struct plog_segment s[PLOG_CLEAN_SEGMENTS_MAX];
    size_t n;
    enum err e = plog_segments(p->log, c->clean_offset, s, PLOG_CLEAN_SEGMENTS_MAX, &n);
    if (e != ERR_OK)
        return e;
    if (n == 0 || s[0].base_offset >= c->end_offset) {
        end_pass(p);
        return ERR_OK;
    }
    if (!s[0].cleanable)
        return ERR_GONE;
    size_t k = choose(p->q, s, n);
    *job = (struct queue_cleaning){
        .topic = c->topic,
        .partition = c->partition,
        .p = p,
        .compacts = true,
        .offset = s[0].base_offset,
        .end_offset = s[k - 1].end_offset,
        .next_ms = queue_now_ms(p->q),
    };
    struct plog_wanted wanted = {job, clean_ask, keep};
    return plog_clean_begin(p->log, job->offset, job->end_offset, UINT64_MAX, wanted, &job->job);
}

void compact_cleaned(struct queue_partition *p, enum err e)
{
    struct queue_compaction *c = &p->q->compaction;
    uint64_t end_offset = p->q->cleaning.end_offset;
    clean_stop(p->q);
    if (!c->active)
        return;
    if (e != ERR_OK)
        give_up(p, e);
    else
        c->clean_offset = end_offset;
}

/* ---- steps ---- */

static void step(struct queue_partition *p)
{
    struct queue_compaction *c = &p->q->compaction;
    enum err e;
    if (c->scan_offset < c->scan_end)
        e = scan(p, c);
    else
        e = clean_next(p, c);
    if (e != ERR_OK)
        give_up(p, e);
}

void compact_step(struct queue *q)
{
    struct queue_compaction *c = &q->compaction;
    struct queue_topic *t;
    if (!c->active || q->cleaning.job != NULL || queue_now_ms(q) < c->next_ms)
        return;
    c->next_ms = queue_now_ms(q) + STEP_MS;
    if (plog_failed(q->plog) || topic_find_by_id(q, &c->topic, &t) != ERR_OK) {
        compact_stop(q);
        return;
    }
    step(&t->partitions[c->partition]);
    queue_topic_give_back(t);
}

int64_t compact_next_ms(const struct queue *q)
{
    return q->compaction.active ? q->compaction.next_ms : INT64_MAX;
}

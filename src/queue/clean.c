// SPDX-License-Identifier: Apache-2.0
/* Which segments are cleaned, and when: so that one old message never pins the disk. The
 * partition's state tells how much of a segment is still wanted; plog does the work (plog.h,
 * "cleaning"), in steps of the housekeeper, one cleaning at a time. */
#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "queue/state.h"

enum {
    LOOK_MS = 10000, /* between two looks at a partition */
    NO_SPACE_WAIT_MS = 60000,
    STEP_IO_BYTES = 256 << 10,
    STEP_MS = 20, /* between two steps: 13 MB of reading and writing a second */
    SMALL_PART = 8,
    COUNT_AT_A_TIME = 8192, /* numbers, under the partition's lock */
};

/* A segment as a look sees it. */
struct candidate {
    struct plog_segment s;
    uint64_t wanted;
    bool half_dead; /* by count of messages */
    bool dirty;     /* worth measuring, and its count does not fall by itself just now */
};

/* ---- what is remembered of segments between looks ---- */

static struct clean_look *find_look(struct queue_partition *p, uint64_t offset)
{
    for (size_t i = 0; i < p->looks_n; i++)
        if (p->looks[i].offset == offset)
            return &p->looks[i];
    return NULL;
}

/* [offset, end_offset) was cleaned, or found not to be worth it: with so many wanted. */
static void remember(struct queue_partition *p, uint64_t offset, uint64_t end_offset,
                     uint64_t *sum_of_wanted)
{
    *sum_of_wanted = 0;
    for (size_t i = 0; i < p->looks_n; i++) {
        struct clean_look *k = &p->looks[i];
        if (k->offset >= offset && k->offset < end_offset) {
            k->tried = k->seen;
            *sum_of_wanted += k->seen;
        }
    }
}

/* ---- looking ---- */

/* What a copy's state has not come to yet is wanted. */
static uint64_t count_wanted(struct queue_partition *p, const struct plog_segment *s)
{
    uint64_t wanted = 0;
    for (uint64_t from = s->first_number; from < s->end_number; from += COUNT_AT_A_TIME) {
        bool last = s->end_number - from <= COUNT_AT_A_TIME;
        uint64_t end = last ? s->end_number : from + COUNT_AT_A_TIME;
        lock_take(&p->lk);
        uint64_t known = partition_next_number(p->state);
        known = known > end ? end : known < from ? from : known;
        if (known > from)
            wanted += partition_wanted_count(p->state, from, known);
        wanted += end - known;
        lock_give(&p->lk);
    }
    return wanted;
}

/* A segment is measured when a quarter of what it had has gone since the last time, because only
 * measuring tells bytes; and not while it is just being used up, when it will soon go as a whole.
 */
static void judge(struct candidate *c, const struct clean_look *before, bool in_need)
{
    uint64_t had = c->s.stored;
    bool changed = true, steady = in_need;
    if (before != NULL) {
        steady = steady || c->wanted >= before->seen - before->seen / 4;
        if (before->tried != UINT64_MAX) {
            had = before->tried;
            changed = c->wanted < had;
        }
    }
    c->half_dead = c->wanted < c->s.stored - c->s.stored / 2 || c->wanted == 0;
    c->dirty = c->s.cleanable && changed && steady && c->wanted <= had - had / 4;
}

/* All segments with how much of them is wanted; what was known before is carried over. */
static struct candidate *take_look(struct queue_partition *p, size_t *n)
{
    size_t room = plog_log_size(p->log).segments + 8;
    struct plog_segment *segments = mem_new_array(room, sizeof segments[0]);
    struct candidate *all = NULL;
    bool in_need = __atomic_load_n(&p->q->space_low, __ATOMIC_RELAXED);
    if (plog_segments(p->log, 0, segments, room, n) == ERR_OK) {
        struct clean_look *looks = mem_new_array(*n + 1, sizeof looks[0]);
        all = mem_new_array(*n + 1, sizeof all[0]);
        for (size_t i = 0; i < *n; i++) {
            struct clean_look *before = find_look(p, segments[i].base_offset);
            all[i] = (struct candidate){.s = segments[i]};
            all[i].wanted = count_wanted(p, &segments[i]);
            judge(&all[i], before, in_need);
            looks[i] = (struct clean_look){
                .offset = segments[i].base_offset,
                .seen = all[i].wanted,
                .tried = before == NULL ? UINT64_MAX : before->tried,
            };
        }
        mem_free(p->looks);
        p->looks = looks;
        p->looks_n = *n;
    }
    mem_free(segments);
    return all;
}

/* ---- choosing ---- */

struct choice {
    size_t first, end; /* of the candidates */
    uint64_t bytes_max;
};

static bool is_small(const struct queue *q, const struct candidate *c)
{
    return c->s.bytes <= q->segment_bytes / SMALL_PART;
}

/* What it may still take when it is done: half, or all of it when it is only taken along. */
static uint64_t allowance(const struct queue *q, const struct candidate *neighbour)
{
    return is_small(q, neighbour) ? neighbour->s.bytes : neighbour->s.bytes / 2;
}

static bool may_come_along(const struct queue *q, const struct choice *c,
                           const struct candidate *neighbour)
{
    return neighbour->s.cleanable &&
           (is_small(q, neighbour) || (neighbour->dirty && neighbour->half_dead)) &&
           c->end - c->first < PLOG_CLEAN_SEGMENTS_MAX &&
           c->bytes_max + allowance(q, neighbour) <= q->segment_bytes;
}

/* The first dirty one, with the neighbours that are dirty too or small, so that what is left of
 * many becomes one. */
static bool choose(const struct queue *q, const struct candidate *all, size_t n, struct choice *out)
{
    size_t first = 0;
    while (first < n && !all[first].dirty)
        first++;
    if (first == n)
        return false;
    struct choice c = {first, first + 1, all[first].s.bytes / 2};
    while (c.end < n && may_come_along(q, &c, &all[c.end]))
        c.bytes_max += allowance(q, &all[c.end++]);
    while (c.first > 0 && may_come_along(q, &c, &all[c.first - 1]))
        c.bytes_max += allowance(q, &all[--c.first]);
    *out = c;
    return true;
}

/* ---- what stands in the way of cleaning ---- */

/* Sealed segments that are mostly dead, but not yet below the older snapshot or the mark. In a log
 * that is being written to, both move by themselves; in one that is idle they are moved, once for
 * each segment that was filled. */
static void unblock(struct queue_partition *p, const struct candidate *all, size_t n)
{
    uint64_t end = plog_committed(p->log), older = plog_snapshot_older(p->log);
    bool idle = p->clean_seen_end == end, snapshot = false, checkpoint = false;
    p->clean_seen_end = end;
    for (size_t i = 0; i < n; i++) {
        const struct candidate *c = &all[i];
        if (!c->s.sealed || c->s.cleanable || !c->half_dead)
            continue;
        snapshot = snapshot || c->s.end_offset > older;
        checkpoint = checkpoint || c->s.end_offset <= older;
    }
    if (idle && snapshot)
        snapshot_raise_older(p, all[n - 1].s.base_offset);
    if (checkpoint)
        plog_checkpoint_ask(p->q->plog);
}

/* ---- the work ---- */

uint64_t clean_ask(void *cleaning, uint64_t first, size_t n, bool *wanted)
{
    struct queue_partition *p = ((struct queue_cleaning *)cleaning)->p;
    lock_take(&p->lk);
    uint64_t known = partition_next_number(p->state);
    size_t known_n = known <= first ? 0 : known - first < n ? (size_t)(known - first) : n;
    if (known_n > 0)
        partition_wanted(p->state, first, known_n, wanted);
    for (size_t i = known_n; i < n; i++) /* a copy's state has not come to it yet */
        wanted[i] = true;
    uint64_t end = plog_end(p->log);
    lock_give(&p->lk);
    return end;
}

static void begin(struct queue_partition *p, const struct candidate *all, const struct choice *c)
{
    struct queue_cleaning *k = &p->q->cleaning;
    *k = (struct queue_cleaning){
        .topic = p->topic->id,
        .partition = p->index,
        .offset = all[c->first].s.base_offset,
        .end_offset = all[c->end - 1].s.end_offset,
        .next_ms = queue_now_ms(p->q),
    };
    for (size_t i = c->first; i < c->end; i++)
        k->bytes += all[i].s.bytes;
    struct plog_wanted wanted = {k, clean_ask, NULL};
    /* Refused only when a segment was released meanwhile: the next look sees that. */
    if (plog_clean_begin(p->log, k->offset, k->end_offset, c->bytes_max, wanted, &k->job) != ERR_OK)
        k->job = NULL;
}

void clean_look(struct queue_partition *p)
{
    struct queue *q = p->q;
    int64_t now_ms = queue_now_ms(q);
    bool in_need = __atomic_load_n(&q->space_low, __ATOMIC_RELAXED);
    CHECK(!p->topic->compact);
    if (q->cleaning.job != NULL || (now_ms < p->clean_look_ms && !in_need) ||
        plog_log_size(p->log).segments < 2)
        return;
    p->clean_look_ms = now_ms + LOOK_MS;
    size_t n;
    struct candidate *all = take_look(p, &n);
    if (all == NULL)
        return;
    struct choice c;
    unblock(p, all, n);
    if (choose(q, all, n, &c))
        begin(p, all, &c);
    mem_free(all);
}

int64_t clean_look_next_ms(struct queue_partition *p)
{
    if (plog_log_size(p->log).segments < 2)
        return INT64_MAX;
    return __atomic_load_n(&p->q->space_low, __ATOMIC_RELAXED) ? INT64_MIN : p->clean_look_ms;
}

void clean_stop(struct queue *q)
{
    plog_clean_free(q->cleaning.job);
    q->cleaning.job = NULL;
}

static void finish(struct queue_partition *p, bool cleaned)
{
    struct queue *q = p->q;
    struct queue_cleaning *k = &q->cleaning;
    uint64_t wanted;
    remember(p, k->offset, k->end_offset, &wanted);
    if (cleaned) {
        /* The first one's name is that of all now. */
        struct clean_look *look = find_look(p, k->offset);
        if (look != NULL)
            look->seen = look->tried = wanted;
        p->clean_look_ms = queue_now_ms(q); /* there may be more */
        house_touch(p);
        note(NOTE_DEBUG, "queue", "topic %s, partition %u: %llu bytes of log were cleaned",
             p->topic->name, (unsigned)p->index, (unsigned long long)k->bytes);
    }
    clean_stop(q);
}

static void fail(struct queue_partition *p, enum err e)
{
    uint64_t wanted;
    if (e == ERR_NO_SPACE)
        p->clean_look_ms = queue_now_ms(p->q) + NO_SPACE_WAIT_MS;
    else if (e != ERR_GONE)
        remember(p, p->q->cleaning.offset, p->q->cleaning.end_offset, &wanted);
    if (e != ERR_GONE)
        note(NOTE_WARNING, "queue", "topic %s, partition %u: segments could not be cleaned: %s",
             p->topic->name, (unsigned)p->index, err_text(e));
    clean_stop(p->q);
}

void clean_step(struct queue *q)
{
    struct queue_cleaning *k = &q->cleaning;
    struct queue_topic *t;
    if (k->job == NULL || queue_now_ms(q) < k->next_ms)
        return;
    k->next_ms = queue_now_ms(q) + STEP_MS;
    if (plog_failed(q->plog) || topic_find_by_id(q, &k->topic, &t) != ERR_OK) {
        clean_stop(q);
        return;
    }
    k->p = &t->partitions[k->partition];
    enum plog_clean_state state = PLOG_CLEAN_MORE;
    enum err e = plog_clean_step(k->job, STEP_IO_BYTES, &state);
    bool ended = state == PLOG_CLEAN_DONE || state == PLOG_CLEAN_USELESS;
    if (k->compacts && (e != ERR_OK || ended))
        compact_cleaned(k->p, e);
    else if (e != ERR_OK)
        fail(k->p, e);
    else if (ended)
        finish(k->p, state == PLOG_CLEAN_DONE);
    queue_topic_give_back(t);
}

int64_t clean_next_ms(const struct queue *q)
{
    return q->cleaning.job == NULL ? INT64_MAX : q->cleaning.next_ms;
}

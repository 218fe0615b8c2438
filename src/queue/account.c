// SPDX-License-Identifier: Apache-2.0
/* Accounts: how many messages and bytes of a topic are live. Each partition's state counts its own
 * (partition.h, "live messages"); here they are summed up for the topic with every record that is
 * folded in, and the sizes are told that the state needs for it. */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "queue/state.h"

enum { SIZE_READ_AHEAD = 4096, RECOUNT_READ_AHEAD_BYTES = 1 << 20 };

struct partition_live account_now_locked(const struct queue_partition *p)
{
    struct partition_live live = {.exact = true};
    (void)partition_live(p->state, GID_DEFAULT, &live);
    return live;
}

/* Differences wrap around, and so do their sums. */
void account_change(struct queue_topic *t, uint64_t messages, uint64_t bytes)
{
    if (messages != 0)
        __atomic_fetch_add(&t->live_messages, messages, __ATOMIC_RELAXED);
    if (bytes != 0)
        __atomic_fetch_add(&t->live_bytes, bytes, __ATOMIC_RELAXED);
}

struct queue_live queue_topic_live(struct queue_topic *t)
{
    return (struct queue_live){
        .messages = __atomic_load_n(&t->live_messages, __ATOMIC_RELAXED),
        .bytes = __atomic_load_n(&t->live_bytes, __ATOMIC_RELAXED),
    };
}

/* ---- sizes ---- */

struct size {
    uint64_t number;
    uint32_t bytes;
};

static int by_number(const void *a, const void *b)
{
    const struct size *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static void put_sizes(struct appending *a, struct size *sizes, size_t n)
{
    struct partition_sizes s;
    partition_sizes_init(&s);
    if (n > 1)
        qsort(sizes, n, sizeof sizes[0], by_number);
    for (size_t i = 0; i < n; i++)
        if (sizes[i].bytes > 0 && (i == 0 || sizes[i].number != sizes[i - 1].number) &&
            partition_size_missing(a->p->state, sizes[i].number))
            partition_sizes_put(&s, sizes[i].number, sizes[i].bytes);
    if (s.n > 0) {
        struct record r = partition_sizes_record(&s);
        append_put_locked(a, &r);
    }
    partition_sizes_fini(&s);
}

void account_sizes_locked(struct appending *a, const struct partition_grant *g)
{
    struct size sizes[PARTITION_RECEIVE_MAX + PARTITION_MOVES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < g->picks_n; i++)
        sizes[n++] = (struct size){g->picks[i].number, g->picks[i].message_bytes};
    for (size_t i = 0; i < g->moves_n; i++)
        sizes[n++] = (struct size){g->moves[i].move.number, g->move_bytes[i]};
    if (n > 0)
        put_sizes(a, sizes, n);
}

void account_size_locked(struct appending *a, uint64_t number, uint32_t bytes)
{
    struct size size = {number, bytes};
    put_sizes(a, &size, 1);
}

void account_run_locked(struct appending *a, uint64_t first, const uint32_t *bytes, size_t n)
{
    CHECK(n <= RECORD_SIZES_NUMBERS_MAX);
    struct size *sizes = mem_new_array(n + 1, sizeof sizes[0]);
    for (size_t i = 0; i < n; i++)
        sizes[i] = (struct size){first + i, bytes[i]};
    if (n > 0)
        put_sizes(a, sizes, n);
    mem_free(sizes);
}

uint32_t account_size_read(struct queue_partition *p, uint64_t number)
{
    struct reader reader;
    struct record_message m;
    uint32_t bytes = 0;
    lock_check_none_held();
    reader_init(&reader);
    if (reader_get(&reader, p->log, number, SIZE_READ_AHEAD, &m) == ERR_OK)
        bytes = record_message_bytes(&m);
    reader_fini(&reader);
    return bytes;
}

/* ---- at a start ---- */

/* What cannot be read is told once, and counts nothing. */
static uint64_t sum_up(struct queue_partition *p, uint64_t number)
{
    struct reader reader;
    uint64_t bytes = 0, bad = 0;
    reader_init(&reader);
    for (; number < partition_next_number(p->state); number++) {
        struct record_message m;
        if (!partition_is_live(p->state, GID_DEFAULT, number))
            continue;
        if (reader_get(&reader, p->log, number, RECOUNT_READ_AHEAD_BYTES, &m) == ERR_OK)
            bytes += record_message_bytes(&m);
        else
            bad++;
    }
    reader_fini(&reader);
    if (bad > 0)
        note(NOTE_WARNING, "queue",
             "topic %s, partition %u: %llu messages cannot be read, and count no bytes",
             p->topic->name, (unsigned)p->index, (unsigned long long)bad);
    return bytes;
}

/* An account that is an estimate is made exact by reading all that is live: at the first start
 * after an upgrade, or when a size was missing. Nobody else runs yet. */
static void recount(struct queue_partition *p)
{
    struct partition_group_info group;
    if (!partition_group_find(p->state, GID_DEFAULT, &group))
        return;
    uint64_t bytes = sum_up(p, group.floor);
    lock_take(&p->lk);
    if (partition_check_locked(p, 0) == ERR_OK) {
        struct appending a;
        append_begin_locked(&a, p, partition_now_ms(p));
        append_put_locked(
            &a,
            &(struct record){.type = RECORD_SIZES,
                             .sizes = {.total = true, .gid = GID_DEFAULT, .live_bytes = bytes}});
        append_end_locked(&a, false);
    }
    lock_give(&p->lk);
}

void account_open(struct queue_partition *p)
{
    struct partition_live live = account_now_locked(p);
    account_change(p->topic, live.messages, live.bytes);
    if (!live.exact)
        recount(p);
}

// SPDX-License-Identifier: Apache-2.0
/* Windows of headers: read through the log when a planner asks, given up when all of them together
 * grow beyond their bound. */
#include "base/check.h"
#include "base/mem.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

enum {
    WINDOWS_BYTES_MAX = 16 << 20,
    FILL_HEADERS = 1000, /* read at a time */
    FILL_READ_AHEAD_BYTES = 256 << 10,
};

struct partition_window *window_locked(struct queue_partition *p)
{
    lock_check_held(&p->lk);
    if (p->window == NULL)
        p->window = partition_window_new();
    uint64_t tick = __atomic_add_fetch(&p->q->windows_tick, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->window_used, tick, __ATOMIC_RELAXED);
    return p->window;
}

void window_count_locked(struct queue_partition *p)
{
    lock_check_held(&p->lk);
    size_t bytes = p->window == NULL ? 0 : partition_window_bytes(p->window);
    if (bytes == p->window_bytes)
        return;
    __atomic_fetch_add(&p->q->windows_bytes, bytes - p->window_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&p->window_bytes, bytes, __ATOMIC_RELAXED);
}

void window_drop_locked(struct queue_partition *p)
{
    partition_window_free(p->window);
    p->window = NULL;
    window_count_locked(p);
}

/* Up to FILL_HEADERS headers from `number` on; reading needs no lock. */
static enum err read_headers(struct queue_partition *p, uint64_t number,
                             struct partition_header *headers, size_t *n)
{
    struct plog_cursor cursor;
    struct plog_entry entry;
    struct record record;
    size_t count = 0;
    enum err e = plog_cursor_at_number(p->log, number, FILL_READ_AHEAD_BYTES, &cursor);
    if (e != ERR_OK)
        return e;
    while (count < FILL_HEADERS && (e = plog_cursor_next(&cursor, &entry)) == ERR_OK) {
        if (entry.type != RECORD_MESSAGE || entry.number < number)
            continue;
        e = record_decode(entry.type, entry.payload, &record);
        if (e != ERR_OK)
            break;
        headers[count++] = partition_header_of(entry.number, &record.message);
    }
    plog_cursor_close(&cursor);
    *n = count;
    return count > 0 ? ERR_OK : e;
}

/* Between the plan and now the lock was free: the window may have moved, been given up, or been
 * filled by somebody else. What no longer fits is passed over, and the planner asks again. */
static void take_headers_locked(struct queue_partition *p, const struct partition_header *headers,
                                size_t n)
{
    struct partition_window *w = window_locked(p);
    if (partition_window_take_ahead(w, headers, n))
        return;
    if (partition_window_end(w) < headers[0].number ||
        partition_window_first(w) > headers[0].number) {
        partition_window_take(w, &headers[0]);
        return;
    }
    bool in_order = partition_window_end(w) == headers[0].number;
    for (size_t i = 0; i < n; i++) {
        const struct partition_header *h = &headers[i];
        uint64_t end = partition_window_end(w);
        if (partition_is_finished(p->state, GID_DEFAULT, h->number))
            continue;
        if (in_order && h->number < end)
            continue;
        if (in_order && h->number > end)
            partition_window_skip(w, h->number);
        if (!partition_window_take(w, h))
            break;
    }
}

enum err window_fill(struct queue_partition *p, uint64_t number)
{
    lock_check_none_held();
    struct partition_header *headers = mem_resize(NULL, FILL_HEADERS * sizeof headers[0]);
    size_t n = 0;
    enum err e = read_headers(p, number, headers, &n);
    if (e == ERR_OK) {
        lock_take(&p->lk);
        take_headers_locked(p, headers, n);
        window_count_locked(p);
        lock_give(&p->lk);
    }
    mem_free(headers);
    if (e == ERR_CORRUPT)
        copy_rotten(p, 0);
    return e;
}

struct used_window {
    struct queue_partition *p;
    uint64_t used;
};

static int oldest_first(const void *a, const void *b)
{
    const struct used_window *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

static size_t find_windows(struct queue_topic **topics, size_t topics_n, struct used_window **out)
{
    size_t n = 0, partitions = 0;
    for (size_t i = 0; i < topics_n; i++)
        partitions += topics[i]->partitions_n;
    struct used_window *all = mem_new_array(partitions + 1, sizeof all[0]);
    for (size_t i = 0; i < topics_n; i++)
        for (uint32_t k = 0; k < topics[i]->partitions_n; k++) {
            struct queue_partition *p = &topics[i]->partitions[k];
            if (__atomic_load_n(&p->window_bytes, __ATOMIC_RELAXED) > 0)
                all[n++] =
                    (struct used_window){p, __atomic_load_n(&p->window_used, __ATOMIC_RELAXED)};
        }
    qsort(all, n, sizeof all[0], oldest_first);
    *out = all;
    return n;
}

/* All are looked at once, however many must go. */
void windows_bound(struct queue *q)
{
    size_t topics_n;
    struct used_window *all;
    if (__atomic_load_n(&q->windows_bytes, __ATOMIC_RELAXED) <= WINDOWS_BYTES_MAX)
        return;
    struct queue_topic **topics = topics_lend(q, &topics_n);
    size_t n = find_windows(topics, topics_n, &all);
    for (size_t i = 0;
         i < n && __atomic_load_n(&q->windows_bytes, __ATOMIC_RELAXED) > WINDOWS_BYTES_MAX; i++) {
        struct queue_partition *p = all[i].p;
        lock_take(&p->lk);
        window_drop_locked(p);
        lock_give(&p->lk);
    }
    mem_free(all);
    topics_give_back(topics, topics_n);
}

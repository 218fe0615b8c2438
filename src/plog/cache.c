// SPDX-License-Identifier: Apache-2.0
#include "plog/cache.h"

#include "base/mem.h"
#include "plog/inside.h"

void cache_init(struct cache *c, size_t bytes_max)
{
    lock_init(&c->lk, LOCK_RANK_CACHE);
    TAILQ_INIT(&c->all);
    c->bytes = 0;
    c->unwritten = 0; /* clang 14 refuses to chain an assignment to an atomic */
    c->bytes_max = bytes_max;
}

void cache_fini(struct cache *c)
{
    CHECK(TAILQ_EMPTY(&c->all));
    lock_fini(&c->lk);
}

static size_t cost(const struct plog_batch *b)
{
    return sizeof *b + b->bytes.room;
}

static struct plog_batch *ring_at(const struct cache_ring *r, size_t place)
{
    return r->at[(r->first + place) & (r->room - 1)];
}

static void ring_push(struct cache_ring *r, struct plog_batch *b)
{
    if (r->n == r->room) {
        size_t room = r->room == 0 ? 4 : 2 * r->room;
        struct plog_batch **at = mem_new_array(room, sizeof at[0]);
        for (size_t i = 0; i < r->n; i++)
            at[i] = ring_at(r, i);
        mem_free(r->at);
        *r = (struct cache_ring){at, 0, r->n, room};
    }
    r->n++;
    r->at[(r->first + r->n - 1) & (r->room - 1)] = b;
}

static void unref_locked(struct cache *c, struct plog_batch *b)
{
    lock_check_held(&c->lk);
    if (--b->refs == 0)
        plog_batch_free(b);
}

/* A batch leaves, which was the ring's first or last. An empty ring gives its array back: thousands
 * of logs are idle most of the time. */
static void leave_locked(struct cache *c, struct cache_ring *r, struct plog_batch *b)
{
    lock_check_held(&c->lk);
    r->n--;
    if (r->n == 0) {
        mem_free(r->at);
        *r = (struct cache_ring){0};
    }
    TAILQ_REMOVE(&c->all, b, cache_link);
    c->bytes -= cost(b);
    if (!b->written)
        c->unwritten -= cost(b);
    unref_locked(c, b);
}

static void pop_locked(struct cache *c, struct cache_ring *r)
{
    struct plog_batch *oldest = ring_at(r, 0);
    r->first = (r->first + 1) & (r->room - 1);
    leave_locked(c, r, oldest);
}

void cache_cut(struct cache *c, struct cache_ring *r, uint64_t offset)
{
    lock_take(&c->lk);
    while (r->n > 0 && ring_at(r, r->n - 1)->h.base_offset >= offset)
        leave_locked(c, r, ring_at(r, r->n - 1));
    lock_give(&c->lk);
}

void cache_put(struct cache *c, struct cache_ring *r, struct plog_batch *b)
{
    lock_take(&c->lk);
    b->refs = 1;
    ring_push(r, b);
    TAILQ_INSERT_TAIL(&c->all, b, cache_link);
    c->bytes += cost(b);
    c->unwritten += cost(b);
    lock_give(&c->lk);
}

/* The place in the ring of the first batch that ends behind the offset. */
static size_t place_of_offset(const struct cache_ring *r, uint64_t offset)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (batch_end(&ring_at(r, middle)->h) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct plog_batch *cache_lend_offset(struct cache *c, struct cache_ring *r, uint64_t offset)
{
    struct plog_batch *found = NULL;
    lock_take(&c->lk);
    size_t place = place_of_offset(r, offset);
    if (place < r->n && ring_at(r, place)->h.base_offset <= offset) {
        found = ring_at(r, place);
        found->refs++;
    }
    lock_give(&c->lk);
    return found;
}

struct plog_batch *cache_lend_number(struct cache *c, struct cache_ring *r, uint64_t number)
{
    struct plog_batch *found = NULL;
    lock_take(&c->lk);
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (batch_end_number(&ring_at(r, middle)->h) <= number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < r->n && ring_at(r, low)->h.first_number <= number) {
        found = ring_at(r, low);
        found->refs++;
    }
    lock_give(&c->lk);
    return found;
}

void cache_give_back(struct cache *c, struct plog_batch *b)
{
    lock_take(&c->lk);
    unref_locked(c, b);
    lock_give(&c->lk);
}

size_t cache_lend_run(struct cache *c, struct cache_ring *r, uint64_t offset,
                      struct plog_batch **out, size_t room)
{
    size_t n = 0;
    lock_take(&c->lk);
    for (size_t place = place_of_offset(r, offset); place < r->n && n < room; place++) {
        struct plog_batch *b = ring_at(r, place);
        if (b->h.base_offset != offset)
            break;
        b->refs++;
        out[n++] = b;
        offset = batch_end(&b->h);
    }
    lock_give(&c->lk);
    return n;
}

void cache_written(struct cache *c, struct plog_batch *const *batches, size_t n)
{
    lock_take(&c->lk);
    for (size_t i = 0; i < n; i++) {
        CHECK(!batches[i]->written);
        batches[i]->written = true;
        c->unwritten -= cost(batches[i]);
        unref_locked(c, batches[i]);
    }
    lock_give(&c->lk);
}

void cache_trim(struct cache *c)
{
    lock_take(&c->lk);
    while (c->bytes > c->bytes_max) {
        struct plog_batch *oldest = TAILQ_FIRST(&c->all);
        if (oldest == NULL || !oldest->written)
            break;
        /* Within a log the cache's order is the ring's order, so this is its ring's first. */
        CHECK(ring_at(&oldest->log->ring, 0) == oldest);
        pop_locked(c, &oldest->log->ring);
    }
    lock_give(&c->lk);
}

size_t cache_unwritten(const struct cache *c)
{
    return atomic_load_explicit(&c->unwritten, memory_order_relaxed);
}

void cache_drop_ring(struct cache *c, struct cache_ring *r)
{
    lock_take(&c->lk);
    while (r->n > 0)
        pop_locked(c, r);
    lock_give(&c->lk);
}

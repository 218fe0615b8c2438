// SPDX-License-Identifier: Apache-2.0
#include "partition/delays.h"

#include "base/check.h"
#include "base/mem.h"

static bool is_due_before(const void *of, uint64_t a, uint64_t b)
{
    const struct delays *d = of;
    const struct delay *x = &d->at[a], *y = &d->at[b];
    return x->due_ms != y->due_ms ? x->due_ms < y->due_ms : a < b;
}

static bool is_released_before(const void *of, uint64_t a, uint64_t b)
{
    const struct delays *d = of;
    const struct delay *x = &d->at[a], *y = &d->at[b];
    return x->release_ms != y->release_ms ? x->release_ms < y->release_ms : a < b;
}

void delays_init(struct delays *d)
{
    *d = (struct delays){.advanced_ms = INT64_MIN};
    order_init(&d->waiting, is_due_before, d);
    order_init(&d->due, is_released_before, d);
}

void delays_fini(struct delays *d)
{
    mem_free(d->at);
    order_fini(&d->waiting);
    order_fini(&d->due);
    delays_init(d);
}

static void fit(struct delays *d, size_t n)
{
    size_t room = order_room_for(n, d->room);
    if (room == d->room)
        return;
    d->room = room;
    d->at = mem_resize(d->at, room * sizeof d->at[0]);
}

/* In which order the delay belongs; NULL: in none. */
static struct order *order_of(struct delays *d, const struct delay *delay)
{
    if (!delays_are_due(d, delay))
        return &d->waiting;
    return delay_is_released(delay) ? NULL : &d->due;
}

const struct delay *delays_put(struct delays *d, uint64_t number, int64_t due_ms,
                               int64_t release_ms)
{
    CHECK(d->n == 0 || d->at[d->n - 1].number < number);
    fit(d, d->n + 1);
    struct delay *delay = &d->at[d->n];
    *delay = (struct delay){number, due_ms, release_ms};
    d->released_n += delay_is_released(delay);
    struct order *order = order_of(d, delay);
    if (order != NULL)
        order_put(order, d->n);
    d->n++;
    return delay;
}

size_t delays_from(const struct delays *d, uint64_t number)
{
    size_t low = 0, high = d->n;
    if (high > 0 && d->at[high - 1].number < number)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->at[middle].number >= number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct delay *delays_find(const struct delays *d, uint64_t number)
{
    size_t i = delays_from(d, number);
    return i < d->n && d->at[i].number == number ? &d->at[i] : NULL;
}

const struct delay *delays_next_due(struct delays *d, int64_t now_ms)
{
    if (now_ms > d->advanced_ms)
        d->advanced_ms = now_ms;
    if (d->waiting.n == 0)
        return NULL;
    uint64_t place = order_first(&d->waiting);
    const struct delay *delay = &d->at[place];
    if (!delays_are_due(d, delay))
        return NULL;
    order_take(&d->waiting);
    if (!delay_is_released(delay))
        order_put(&d->due, place);
    return delay;
}

int64_t delays_next_due_ms(const struct delays *d)
{
    return d->waiting.n == 0 ? INT64_MAX : d->at[order_first(&d->waiting)].due_ms;
}

const struct delay *delays_releasable(const struct delays *d, int64_t known_ms)
{
    const struct delay *first = d->due.n == 0 ? NULL : &d->at[order_first(&d->due)];
    return first != NULL && first->release_ms <= known_ms ? first : NULL;
}

void delays_release(struct delays *d)
{
    uint64_t place = order_first(&d->due);
    order_take(&d->due);
    d->at[place].release_ms = DELAY_RELEASED;
    d->released_n++;
}

int64_t delays_release_after_ms(const struct delays *d)
{
    int64_t due_ms = delays_next_due_ms(d);
    int64_t release_ms = d->due.n == 0 ? INT64_MAX : d->at[order_first(&d->due)].release_ms;
    return due_ms < release_ms ? due_ms : release_ms;
}

/* Places change, so both orders are made anew. */
void delays_sweep(struct delays *d, bool (*is_needed)(const void *of, const struct delay *delay),
                  const void *of)
{
    size_t kept = 0;
    d->released_n = 0;
    d->waiting.n = d->due.n = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct delay *delay = &d->at[i];
        if (delay_is_released(delay) && !is_needed(of, delay))
            continue;
        d->released_n += delay_is_released(delay);
        struct order *order = order_of(d, delay);
        if (order != NULL)
            order_append(order, kept);
        d->at[kept++] = *delay;
    }
    d->n = kept;
    fit(d, kept);
    order_settle(&d->waiting);
    order_settle(&d->due);
}

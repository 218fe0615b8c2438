// SPDX-License-Identifier: Apache-2.0
#include "partition/runs.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"

void runs_init(struct runs *r)
{
    *r = (struct runs){NULL, 0, 0, 0};
}

void runs_fini(struct runs *r)
{
    mem_free(r->at);
    runs_init(r);
}

/* The first run whose end lies above `number`. */
static size_t first_ending_above(const struct runs *r, uint64_t number)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->at[middle].end > number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct run *runs_find(const struct runs *r, uint64_t number)
{
    size_t i = first_ending_above(r, number);
    return i < r->n && r->at[i].first <= number ? &r->at[i] : NULL;
}

const struct run *runs_find_from(const struct runs *r, uint64_t number)
{
    size_t i = first_ending_above(r, number);
    return i < r->n ? &r->at[i] : NULL;
}

/* Runs [from, to) make room for `with` (0 or 1) new ones at `from`. */
static void replace(struct runs *r, size_t from, size_t to, size_t with)
{
    size_t n = r->n - (to - from) + with;
    if (n > r->room) {
        r->room = r->room == 0 ? 8 : r->room * 2;
        r->at = mem_resize(r->at, r->room * sizeof r->at[0]);
    }
    if (r->n > to)
        memmove(&r->at[from + with], &r->at[to], (r->n - to) * sizeof r->at[0]);
    r->n = n;
    if (r->room > 64 && r->n < r->room / 8) {
        r->room /= 2;
        r->at = mem_resize(r->at, r->room * sizeof r->at[0]);
    }
}

void runs_put(struct runs *r, uint64_t first, uint64_t end)
{
    CHECK(first < end);
    /* Runs that overlap or touch [first, end) melt into it. */
    size_t from = first == 0 ? 0 : first_ending_above(r, first - 1), to = from;
    for (; to < r->n && r->at[to].first <= end; to++) {
        r->sum -= r->at[to].end - r->at[to].first;
        if (r->at[to].first < first)
            first = r->at[to].first;
        if (r->at[to].end > end)
            end = r->at[to].end;
    }
    replace(r, from, to, 1);
    r->at[from] = (struct run){first, end};
    r->sum += end - first;
}

void runs_drop_below(struct runs *r, uint64_t number)
{
    size_t keep = first_ending_above(r, number);
    for (size_t i = 0; i < keep; i++)
        r->sum -= r->at[i].end - r->at[i].first;
    if (keep > 0)
        replace(r, 0, keep, 0);
    if (r->n > 0 && r->at[0].first < number) {
        r->sum -= number - r->at[0].first;
        r->at[0].first = number;
    }
}

uint64_t runs_count_from(const struct runs *r, uint64_t number)
{
    uint64_t count = 0;
    for (size_t i = first_ending_above(r, number); i < r->n; i++) {
        uint64_t first = r->at[i].first > number ? r->at[i].first : number;
        count += r->at[i].end - first;
    }
    return count;
}

// SPDX-License-Identifier: Apache-2.0
/* What of the log is still wanted: by a group for which it is unfinished, or by an open move. */
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "partition/look.h"
#include "partition/state.h"

uint64_t partition_wanted_from(const struct partition *p)
{
    uint64_t from = p->groups_n == 0 ? p->trim_floor : UINT64_MAX;
    for (size_t i = 0; i < p->groups_n; i++)
        if (p->groups[i]->floor < from)
            from = p->groups[i]->floor;
    for (size_t i = 0; i < p->moves.n; i++)
        if (!p->moves.at[i].closed && p->moves.at[i].open.number < from)
            from = p->moves.at[i].open.number;
    return from;
}

/* The first number >= `number` that is finished for the group; UINT64_MAX: none. */
static uint64_t finished_from(const struct group *g, uint64_t number)
{
    if (number < g->floor)
        return number;
    const struct run *run = runs_find_from(&g->finished, number);
    if (run == NULL)
        return UINT64_MAX;
    return run->first > number ? run->first : number;
}

/* The first number >= `number` that some group wants. */
static uint64_t wanted_by_groups_from(const struct partition *p, uint64_t number)
{
    if (p->groups_n == 0)
        return number < p->trim_floor ? p->trim_floor : number;
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < p->groups_n; i++) {
        uint64_t wanted = group_unfinished_from(p->groups[i], number);
        first = wanted < first ? wanted : first;
    }
    return first;
}

/* The first number >= `number` that no group wants; UINT64_MAX: none. */
static uint64_t unwanted_by_groups_from(const struct partition *p, uint64_t number)
{
    if (p->groups_n == 0)
        return number < p->trim_floor ? number : UINT64_MAX;
    for (;;) {
        uint64_t before = number;
        for (size_t i = 0; i < p->groups_n; i++)
            number = finished_from(p->groups[i], number);
        if (number == before) /* they all agree */
            return number;
    }
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Numbers that only open moves want: each counts once, however many groups move it. */
static uint64_t wanted_by_moves_alone(const struct partition *p, uint64_t first, uint64_t end)
{
    uint64_t *numbers = mem_new_array(p->moves.n + 1, sizeof numbers[0]), count = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->moves.n; i++) {
        uint64_t number = p->moves.at[i].open.number;
        if (!p->moves.at[i].closed && number >= first && number < end &&
            wanted_by_groups_from(p, number) != number)
            numbers[n++] = number;
    }
    qsort(numbers, n, sizeof numbers[0], by_number);
    for (size_t i = 0; i < n; i++)
        count += i == 0 || numbers[i] != numbers[i - 1];
    mem_free(numbers);
    return count;
}

uint64_t partition_wanted_count(const struct partition *p, uint64_t first, uint64_t end)
{
    if (end > p->next_number)
        end = p->next_number;
    uint64_t count = 0;
    for (uint64_t number = first; number < end;) {
        uint64_t from = wanted_by_groups_from(p, number);
        if (from >= end)
            break;
        uint64_t to = unwanted_by_groups_from(p, from);
        count += (to < end ? to : end) - from;
        number = to;
    }
    return count + wanted_by_moves_alone(p, first, end);
}

void partition_wanted(const struct partition *p, uint64_t first, size_t n, bool *wanted)
{
    uint64_t end = first + n;
    CHECK(end <= p->next_number);
    for (uint64_t number = wanted_by_groups_from(p, first); number < end;) {
        uint64_t to = unwanted_by_groups_from(p, number);
        to = to < end ? to : end;
        for (uint64_t i = number; i < to; i++)
            wanted[i - first] = true;
        number = wanted_by_groups_from(p, to);
    }
    for (size_t i = 0; i < p->moves.n; i++) {
        uint64_t number = p->moves.at[i].open.number;
        if (!p->moves.at[i].closed && number >= first && number < end)
            wanted[number - first] = true;
    }
}

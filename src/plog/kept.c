// SPDX-License-Identifier: Apache-2.0
#include "plog/kept.h"

#include "base/check.h"
#include "plog/inside.h"

void kept_init(struct kept *k, uint32_t files_max)
{
    lock_init(&k->lk, LOCK_RANK_CACHE);
    k->max = files_max < 1 ? 1 : files_max > KEPT_MAX ? KEPT_MAX : files_max;
    k->n = 0;
    k->turn = 0;
}

void kept_fini(struct kept *k)
{
    CHECK(k->n == 0);
    lock_fini(&k->lk);
}

static struct reading *take_out_locked(struct kept *k, size_t place)
{
    struct reading *r = k->at[place].reading;
    lock_check_held(&k->lk);
    k->at[place] = k->at[--k->n];
    return r;
}

struct reading *kept_take(struct kept *k, const struct plog_log *l, uint64_t number)
{
    struct reading *found = NULL;
    lock_take(&k->lk);
    for (size_t i = 0; i < k->n && found == NULL; i++)
        if (k->at[i].log == l && k->at[i].number == number)
            found = take_out_locked(k, i);
    lock_give(&k->lk);
    return found;
}

static size_t oldest_locked(const struct kept *k)
{
    size_t oldest = 0;
    for (size_t i = 1; i < k->n; i++)
        if (k->at[i].turn < k->at[oldest].turn)
            oldest = i;
    return oldest;
}

struct reading *kept_put(struct kept *k, struct plog_log *l, uint64_t number, struct reading *r)
{
    struct reading *out = NULL;
    lock_take(&k->lk);
    if (k->n == k->max)
        out = take_out_locked(k, oldest_locked(k));
    k->at[k->n++] = (struct kept_place){l, number, ++k->turn, r};
    lock_give(&k->lk);
    return out;
}

void kept_drop(struct plog_log *l)
{
    struct kept *k = &l->plog->kept;
    struct reading *out[KEPT_MAX];
    size_t n = 0;
    lock_take(&k->lk);
    for (size_t i = k->n; i > 0; i--)
        if (k->at[i - 1].log == l)
            out[n++] = take_out_locked(k, i - 1);
    lock_give(&k->lk);
    for (size_t i = 0; i < n; i++)
        reading_free(l->plog, out[i]);
}

// SPDX-License-Identifier: Apache-2.0
#include "replica/epochs.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"

void epochs_fini(struct epochs *t)
{
    mem_free(t->at);
    *t = (struct epochs){0};
}

void epochs_append(struct epochs *t, uint64_t epoch, uint64_t start)
{
    if (t->n > 0) {
        const struct replica_epoch *last = &t->at[t->n - 1];
        CHECK(epoch >= last->epoch && start >= last->start);
        if (epoch == last->epoch)
            return;
        CHECK(start > last->start);
    }
    if (t->n == t->room) {
        t->room = t->room == 0 ? 8 : t->room * 2;
        t->at = mem_resize(t->at, t->room * sizeof *t->at);
    }
    t->at[t->n++] = (struct replica_epoch){.epoch = epoch, .start = start};
}

void epochs_reset(struct epochs *t, uint64_t start, uint64_t epoch)
{
    t->n = 0;
    if (start > 0)
        epochs_append(t, epoch, start - 1);
}

void epochs_truncate(struct epochs *t, uint64_t end)
{
    while (t->n > 0 && t->at[t->n - 1].start >= end)
        t->n--;
}

void epochs_release(struct epochs *t, uint64_t start)
{
    size_t gone = 0;
    while (gone + 1 < t->n && t->at[gone + 1].start < start)
        gone++;
    t->n -= gone;
    if (gone > 0)
        memmove(t->at, t->at + gone, t->n * sizeof *t->at);
}

uint64_t epochs_before(const struct epochs *t, uint64_t offset)
{
    for (size_t i = t->n; i-- > 0;)
        if (t->at[i].start < offset)
            return t->at[i].epoch;
    return 0;
}

uint64_t epochs_floor(const struct epochs *t, uint64_t epoch, uint64_t end, uint64_t *epoch_end)
{
    uint64_t next = end;
    for (size_t i = t->n; i-- > 0;) {
        if (t->at[i].epoch <= epoch && t->at[i].start < next) {
            *epoch_end = next;
            return t->at[i].epoch;
        }
        next = t->at[i].start < next ? t->at[i].start : next;
    }
    *epoch_end = next < end && t->n > 0 ? next : 0;
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* What the segments of a log hold. */
#include "base/mem.h"
#include "plog/clean.h"

/* All but the numbers of each segment from `from_offset` on, and the name of the one behind the
 * last. */
static size_t list_segments(struct plog_log *l, uint64_t from_offset, struct plog_segment *out,
                            size_t room, uint64_t *behind)
{
    size_t n = 0, i = 0;
    uint64_t below = clean_offset_max(l);
    *behind = UINT64_MAX;
    lock_take(&l->lk);
    while (i < l->segments.n && l->segments.at[i].name < from_offset)
        i++;
    for (; i < l->segments.n && n < room; i++) {
        bool sealed = i + 1 < l->segments.n;
        uint64_t end = sealed ? l->segments.at[i + 1].name : plog_durable(l);
        out[n++] = (struct plog_segment){
            .base_offset = l->segments.at[i].name,
            .end_offset = end,
            .bytes = l->segments.at[i].bytes,
            .stored = l->segments.at[i].stored,
            .sealed = sealed,
            .cleanable = sealed && end <= below,
        };
    }
    if (n > 0 && i == l->segments.n)
        out[n - 1].bytes += atomic_load_explicit(&l->late_bytes, memory_order_relaxed);
    if (i < l->segments.n)
        *behind = l->segments.at[i].name;
    lock_give(&l->lk);
    return n;
}

/* A segment's numbers end where the next one's begin. Going from the last to the first, `end` is
 * what the one behind said. */
static enum err number_segment(struct plog_log *l, struct plog_segment *s, uint64_t end)
{
    enum err e = segment_number(l, s->base_offset, &s->first_number);
    if (e != ERR_OK)
        return e;
    s->end_number = end < s->first_number ? s->first_number : end;
    if (s->stored == STORED_ALL)
        s->stored = s->end_number - s->first_number;
    return ERR_OK;
}

/* A log whose batches are all in the journal and the cache yet is shown with the segment that it
 * will have. */
static bool unwritten_segment(struct plog_log *l, uint64_t from_offset, struct plog_segment *out)
{
    lock_take(&l->lk);
    uint64_t offset = l->start_offset, number = l->start_number;
    bool none = l->segments.n == 0;
    lock_give(&l->lk);
    uint64_t end = plog_durable(l), end_number = plog_durable_number(l);
    if (!none || end == offset || from_offset > offset)
        return false;
    *out = (struct plog_segment){
        .base_offset = offset,
        .end_offset = end,
        .first_number = number,
        .end_number = end_number,
        .stored = end_number - number,
        .bytes = atomic_load_explicit(&l->late_bytes, memory_order_relaxed),
    };
    return true;
}

static enum err look(struct plog_log *l, uint64_t from_offset, struct plog_segment *out,
                     size_t room, size_t *n)
{
    uint64_t behind, end;
    if (room > 0 && unwritten_segment(l, from_offset, out)) {
        *n = 1;
        return ERR_OK;
    }
    size_t found = list_segments(l, from_offset, out, room, &behind), gone = 0;
    plog_durable(l); /* a number is read after it */
    end = plog_durable_number(l);
    if (behind != UINT64_MAX) {
        enum err e = segment_number(l, behind, &end);
        if (e != ERR_OK && e != ERR_GONE)
            return e;
    }
    for (size_t i = found; i > 0; i--) {
        enum err e = number_segment(l, &out[i - 1], end);
        if (e == ERR_GONE) { /* released in between, and so are all before it */
            gone = i;
            break;
        }
        if (e != ERR_OK)
            return e;
        end = out[i - 1].first_number;
    }
    memmove(out, out + gone, (found - gone) * sizeof out[0]);
    *n = found - gone;
    return ERR_OK;
}

enum err plog_segments(struct plog_log *l, uint64_t from_offset, struct plog_segment *out,
                       size_t room, size_t *n)
{
    lock_check_none_held();
    if (l->damage != NULL)
        return ERR_CORRUPT;
    for (;;) {
        /* A segment may be gone because the cleaner has made one of it and its neighbour. */
        uint64_t swaps = log_swaps(l);
        enum err e = look(l, from_offset, out, room, n);
        if (e != ERR_OK || log_swaps(l) == swaps)
            return e;
    }
}

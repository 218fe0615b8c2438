// SPDX-License-Identifier: Apache-2.0
/* Where the default delays that have not ended begin. */
#include "partition/state.h"
#include "partition/window_state.h"

/* Messages of which the group knows nothing become due in order, so this is a binary search, which
 * reads a few headers wherever it looks and needs no window that reaches so far. */
enum err window_due_search(const struct partition_window *w, const struct partition *p,
                           const struct group *g, int64_t now_ms, uint64_t *out, uint64_t *need)
{
    uint64_t low = g->floor, high = p->next_number, found = p->next_number;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2, number = group_unknown_from(g, middle);
        if (number >= high) {
            high = middle;
            continue;
        }
        const struct partition_header *h = window_header(w, number);
        if (h == NULL) {
            *need = number;
            return ERR_NEED;
        }
        if (h->due_ms > now_ms) {
            found = number;
            high = middle;
        } else {
            low = number + 1;
        }
    }
    *out = found;
    return ERR_OK;
}

enum err partition_window_due_next(struct partition_window *w, const struct partition *p,
                                   const struct partition_view *view, uint32_t gid, uint64_t *out,
                                   uint64_t *need)
{
    const struct group *g = group_find(p, gid);
    if (g == NULL)
        return ERR_NOT_FOUND;
    if (!partition_default_delay_pending(p, view->now_ms)) {
        *out = p->next_number;
        return ERR_OK;
    }
    window_bind(w, g);
    return window_due_search(w, p, g, view->now_ms, out, need);
}

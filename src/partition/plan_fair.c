// SPDX-License-Identifier: Apache-2.0
/* Fair receives of standard groups (SQS developer guide, "Amazon SQS fair queues"). A tenant, which
 * is a message-group id, is noisy while it has PARTITION_NOISY_MIN messages in flight and more than
 * a tenth of all in flight; so at most nine are. While there are noisy tenants, messages of the
 * others come first. Nothing is held back: what is left of a receive goes to the noisy ones.
 *
 * All of this is a cache, like the window it lies in. Leases from before a start, or from before
 * the window was given up, are not counted, and a tenant is found noisy a little later. Without
 * message groups nothing here is ever asked. */
#include "partition/plan_receive.h"

#include "base/check.h"
#include "base/mem.h"

enum { NOISY_SHARE = 10, ASIDE_ROOM_MIN = 16 };

/* ---- who has how much in flight ---- */

void fair_forget(struct partition_window *w)
{
    map_fini(&w->fair.leased);
    map_fini(&w->fair.tenants);
    mem_free(w->fair.others);
    memset(&w->fair, 0, sizeof w->fair);
}

size_t fair_bytes(const struct partition_window *w)
{
    const struct window_fair *f = &w->fair;
    size_t others = f->others == NULL ? 0 : PARTITION_WINDOW_OTHERS_MAX * sizeof f->others[0];
    return others + (f->leased.room + f->tenants.room) * sizeof(struct map_slot);
}

static uint64_t in_flight(const struct partition_window *w, uint64_t tenant)
{
    return map_find(&w->fair.tenants, tenant);
}

static void lease_ended(struct partition_window *w, uint64_t number)
{
    struct window_fair *f = &w->fair;
    uint64_t tenant = map_find(&f->leased, number);
    if (tenant == 0)
        return;
    map_remove(&f->leased, number);
    uint64_t n = map_find(&f->tenants, tenant);
    f->heavy_n -= n == PARTITION_NOISY_MIN;
    if (n > 1)
        map_put(&f->tenants, tenant, n - 1);
    else
        map_remove(&f->tenants, tenant);
}

void fair_picked(struct partition_window *w, uint64_t number, uint64_t tenant)
{
    struct window_fair *f = &w->fair;
    lease_ended(w, number); /* an earlier one, of which no end was seen */
    uint64_t n = map_find(&f->tenants, tenant) + 1;
    map_put(&f->leased, number, tenant);
    map_put(&f->tenants, tenant, n);
    f->heavy_n += n == PARTITION_NOISY_MIN;
}

static void look_at_lease(struct partition_window *w, const struct group *g, uint64_t number)
{
    const struct entry *e = group_entry(g, number);
    if (group_is_finished(g, number) || e == NULL || e->is_free || e->moving)
        lease_ended(w, number);
}

/* Costs what has changed since the last receive; all leases when that is not known. */
void fair_update(struct partition_window *w, struct group *g)
{
    const struct map *leased = &w->fair.leased;
    if (g->index.changed != NULL && g->index.changed_n <= GROUP_CHANGED_MAX) {
        for (size_t i = 0; i < g->index.changed_n; i++)
            look_at_lease(w, g, g->index.changed[i]);
    } else {
        uint64_t *numbers = mem_new_array(leased->n + 1, sizeof numbers[0]);
        size_t n = 0;
        for (size_t i = 0; i < leased->room; i++)
            if (leased->at[i].value != 0)
                numbers[n++] = leased->at[i].key;
        for (size_t i = 0; i < n; i++)
            look_at_lease(w, g, numbers[i]);
        mem_free(numbers);
    }
    group_changes_seen(g);
}

bool receive_is_noisy(const struct receive *r, uint64_t tenant)
{
    uint64_t n = tenant == 0 ? 0 : in_flight(r->w, tenant);
    return n >= PARTITION_NOISY_MIN && n * NOISY_SHARE > group_in_flight(r->g);
}

/* ---- messages in the window ---- */

/* Message groups that were taken out of the window's heap, to be put back at the end. */
struct aside {
    struct window_group **at;
    size_t n, room;
};

static void put_aside(struct aside *a, struct window_group *group)
{
    if (a->n == a->room) {
        a->room = a->room == 0 ? ASIDE_ROOM_MIN : a->room * 2;
        a->at = mem_resize(a->at, a->room * sizeof(struct window_group *));
    }
    a->at[a->n++] = group;
}

static bool is_untouched(const struct receive *r, uint64_t number)
{
    return !group_is_finished(r->g, number) && !group_knows(r->g, number) &&
           !receive_has_chosen(r, number);
}

/* The group's oldest message that was never handed out; 0: it has none. What was handed out once
 * never comes back here, so the head only moves on. */
static uint64_t head_of(const struct receive *r, struct window_group *group)
{
    while (group->head != 0 && !is_untouched(r, window_slot(r->w, group->head)->header.number))
        group->head = window_slot(r->w, group->head)->next;
    return group->head;
}

/* The group whose head is the oldest of all; or NULL. */
static struct window_group *oldest(const struct receive *r)
{
    struct heap *ready = &r->w->ready;
    struct heap_node *first;
    while ((first = heap_first(ready)) != NULL) {
        struct window_group *group = CONTAINER_OF(first, struct window_group, node);
        uint64_t head = head_of(r, group);
        if (head == 0)
            heap_remove(ready, first);
        else if (first->tie == head)
            return group;
        else
            window_group_moved(r->w, group);
    }
    return NULL;
}

static bool may_be_handed_out(const struct receive *r, const struct partition_header *h)
{
    return h->number < r->view->committed_number && h->due_ms <= r->view->now_ms;
}

/* Messages of quiet tenants, oldest first. Noisy tenants are put aside. */
static void take_quiet(struct receive *r, struct aside *waiting, struct aside *noisy)
{
    struct window_group *group;
    while (!r->is_full && (group = oldest(r)) != NULL) {
        const struct partition_header *h = &window_slot(r->w, group->head)->header;
        bool is_noisy = receive_is_noisy(r, group->hash);
        if (is_noisy || !may_be_handed_out(r, h)) {
            heap_remove(&r->w->ready, &group->node);
            put_aside(is_noisy ? noisy : waiting, group);
            continue;
        }
        enum verdict verdict = receive_offer(r, h, NULL);
        if (verdict == VERDICT_FULL)
            return;
        if (verdict == VERDICT_HIDDEN) /* until it is trimmed */
            group->head = window_slot(r->w, group->head)->next;
    }
}

static uint64_t in_flight_soon(const struct receive *r, uint64_t tenant)
{
    uint64_t n = in_flight(r->w, tenant);
    for (size_t i = 0; i < r->out->picks_n; i++)
        n += r->out->picks[i].group_hash == tenant;
    return n;
}

/* Of the noisy tenants the one with the fewest in flight, again and again. */
static void take_noisy(struct receive *r, const struct aside *noisy)
{
    while (!r->is_full) {
        struct window_group *least = NULL;
        for (size_t i = 0; i < noisy->n; i++) {
            struct window_group *group = noisy->at[i];
            if (head_of(r, group) == 0 ||
                !may_be_handed_out(r, &window_slot(r->w, group->head)->header))
                continue;
            if (least == NULL || in_flight_soon(r, group->hash) < in_flight_soon(r, least->hash))
                least = group;
        }
        if (least == NULL)
            return;
        enum verdict verdict = receive_offer(r, &window_slot(r->w, least->head)->header, NULL);
        if (verdict == VERDICT_FULL)
            return;
        if (verdict == VERDICT_HIDDEN)
            least->head = window_slot(r->w, least->head)->next;
    }
}

static void put_back(struct receive *r, struct aside *a)
{
    for (size_t i = 0; i < a->n; i++)
        window_group_ready(r->w, a->at[i]);
    mem_free(a->at);
}

/* ---- messages behind a full window ---- */

/* What the window has come to hold itself, or was handed out, is dropped. */
static void take_others(struct receive *r)
{
    struct window_fair *f = &r->w->fair;
    for (size_t left = f->others_n; left > 0 && !r->is_full; left--) {
        struct partition_header h = f->others[f->others_first];
        f->others_first = (f->others_first + 1) % PARTITION_WINDOW_OTHERS_MAX;
        f->others_n--;
        if (h.number < r->w->end || !is_untouched(r, h.number))
            continue;
        if (!may_be_handed_out(r, &h) || receive_is_noisy(r, h.group_hash) ||
            receive_offer(r, &h, NULL) != VERDICT_TAKEN) {
            f->others[(f->others_first + f->others_n++) % PARTITION_WINDOW_OTHERS_MAX] = h;
        }
    }
}

/* Tenants that are only now found noisy, or are not noisy any more, matter little: whatever is
 * passed over here comes in its turn. */
bool partition_window_take_ahead(struct partition_window *w, const struct partition_header *headers,
                                 size_t n)
{
    struct window_fair *f = &w->fair;
    if (!f->ahead_asked || n == 0 || headers[0].number < f->ahead || headers[0].number < w->end)
        return false;
    f->ahead_asked = false;
    if (f->others == NULL)
        f->others = mem_new_array(PARTITION_WINDOW_OTHERS_MAX, sizeof f->others[0]);
    for (size_t i = 0; i < n; i++) {
        uint64_t tenant = headers[i].group_hash;
        bool heavy = tenant != 0 && in_flight(w, tenant) >= PARTITION_NOISY_MIN;
        if (!heavy && f->others_n == PARTITION_WINDOW_OTHERS_MAX)
            return true; /* the rest is looked at when there is room */
        f->ahead = headers[i].number + 1;
        if (!heavy)
            f->others[(f->others_first + f->others_n++) % PARTITION_WINDOW_OTHERS_MAX] = headers[i];
    }
    return true;
}

/* The window grows while it can; then the log is looked through behind it. */
static enum err look_ahead(struct receive *r)
{
    struct partition_window *w = r->w;
    struct window_fair *f = &w->fair;
    bool full = window_is_full(w);
    uint64_t from = full && f->ahead > w->end ? f->ahead : w->end;
    from = group_unfinished_from(r->g, from);
    if (from >= r->view->committed_number || (full && f->others_n == PARTITION_WINDOW_OTHERS_MAX))
        return ERR_OK;
    if (full) {
        f->ahead = from;
        f->ahead_asked = true;
    } else if (from > w->end) {
        partition_window_skip(w, from);
    }
    r->need = from;
    return ERR_NEED;
}

/* ---- all together ---- */

enum err receive_fair(struct receive *r)
{
    struct aside waiting = {NULL, 0, 0}, noisy = {NULL, 0, 0};
    if (window_is_full(r->w))
        window_sweep(r->w, r->g);
    r->skip_noisy = r->has_skipped = true;
    enum err e = receive_free(r);
    r->skip_noisy = false;
    if (e == ERR_OK && !r->is_full)
        take_quiet(r, &waiting, &noisy);
    if (e == ERR_OK && !r->is_full)
        take_others(r);
    if (e == ERR_OK && r->out->picks_n == 0 && r->look_ahead)
        e = look_ahead(r);
    if (e == ERR_OK && !r->is_full)
        e = receive_free(r);
    if (e == ERR_OK && !r->is_full)
        take_noisy(r, &noisy);
    put_back(r, &waiting);
    put_back(r, &noisy);
    return e;
}

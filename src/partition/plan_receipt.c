// SPDX-License-Identifier: Apache-2.0
/* What a receipt may still do: delete, change visibility, give back. */
#include "partition/state.h"

/* The group in which the receipt's number is unfinished; else why not. */
static enum err find_unfinished(const struct partition *p, const struct partition_receipt *receipt,
                                struct group **out)
{
    struct group *g = group_find(p, receipt->gid);
    if (g == NULL || g->generation != receipt->generation)
        return ERR_GONE;
    if (receipt->number >= p->next_number)
        return ERR_INVALID;
    if (group_is_finished(g, receipt->number))
        return ERR_GONE;
    *out = g;
    return ERR_OK;
}

static bool is_lease_of(const struct entry *e, struct lease_id id)
{
    return e->lease.epoch == id.epoch && e->lease.counter == id.counter;
}

/* A number without entry, or with one that was never leased, had its lease lost in a crash. */
static enum err check_current(const struct entry *e, struct lease_id id, int64_t now_ms)
{
    if (e == NULL || e->receives == 0)
        return ERR_LEASE_EXPIRED;
    if (!is_lease_of(e, id))
        return ERR_STALE_RECEIPT;
    return e->moving || now_ms >= e->until_ms ? ERR_LEASE_EXPIRED : ERR_OK;
}

enum err partition_plan_done(const struct partition *p, const struct partition_view *view,
                             const struct partition_receipt *receipt, enum receipt_rule rule,
                             struct record *out, struct record_runs *runs)
{
    struct group *g;
    enum err e = find_unfinished(p, receipt, &g);
    if (e == ERR_OK && rule == RECEIPT_CURRENT)
        e = check_current(group_entry(g, receipt->number), receipt->id, view->now_ms);
    if (e != ERR_OK)
        return e;
    record_runs_fini(runs);
    record_runs_put(runs, receipt->number);
    memset(out, 0, sizeof *out);
    out->type = RECORD_DONE;
    out->done = (struct record_done){receipt->gid, record_runs_bytes(runs)};
    return ERR_OK;
}

static void extend_to(const struct partition_receipt *receipt, int64_t until_ms, struct record *out)
{
    memset(out, 0, sizeof *out);
    out->type = RECORD_EXTEND;
    out->extend = (struct record_extend){receipt->gid, receipt->number, until_ms};
}

enum err partition_plan_extend(const struct partition *p, const struct partition_view *view,
                               const struct partition_receipt *receipt, enum receipt_rule rule,
                               int64_t visibility_ms, struct record *out)
{
    CHECK(visibility_ms >= 0);
    struct group *g;
    enum err e = find_unfinished(p, receipt, &g);
    if (e != ERR_OK)
        return e;
    const struct entry *entry = group_entry(g, receipt->number);
    if (rule == RECEIPT_CURRENT)
        e = check_current(entry, receipt->id, view->now_ms);
    if (e != ERR_OK)
        return e;
    if (entry != NULL && entry->moving)
        return ERR_GONE;
    int64_t since_ms = entry != NULL && entry->receives > 0 ? entry->leased_since_ms : view->now_ms;
    if (visibility_ms > 0 && view->now_ms - since_ms + visibility_ms >= view->visibility_total_ms)
        return ERR_FULL;
    extend_to(receipt, view->now_ms + visibility_ms, out);
    return ERR_OK;
}

enum err partition_plan_give_back(const struct partition *p, const struct partition_view *view,
                                  const struct partition_receipt *receipt, struct record *out)
{
    struct group *g;
    if (find_unfinished(p, receipt, &g) != ERR_OK ||
        check_current(group_entry(g, receipt->number), receipt->id, view->now_ms) != ERR_OK)
        return ERR_GONE;
    extend_to(receipt, view->now_ms, out);
    return ERR_OK;
}

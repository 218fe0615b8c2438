// SPDX-License-Identifier: Apache-2.0
#include "partition/partition.h"

#include "base/check.h"
#include "base/mem.h"
#include "partition/state.h"

struct partition *partition_new(void)
{
    struct partition *p = mem_new(sizeof *p);
    p->known_ms = STATE_TIME_NONE;
    p->due_tail_ms = STATE_TIME_NONE;
    p->delays = mem_new(sizeof *p->delays);
    delays_init(p->delays);
    dedup_init(&p->dedup);
    return p;
}

void partition_free(struct partition *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->groups_n; i++)
        group_free(p->groups[i]);
    mem_free(p->groups);
    delays_fini(p->delays);
    mem_free(p->delays);
    mem_free(p->moves.at);
    dedup_fini(&p->dedup);
    origins_fini(&p->origins);
    fronts_fini(&p->fronts);
    map_fini(&p->sizes);
    mem_free(p);
}

static enum err plan_repeat(const struct partition *p, const struct record_message *m,
                            struct partition_duplicate *duplicate)
{
    const struct front_send *first;
    switch (fronts_find(&p->fronts, &m->repeat, &first)) {
    case FRONT_NEW:
        return ERR_OK;
    case FRONT_KNOWN:
        *duplicate = (struct partition_duplicate){first->id, first->number, true};
        return ERR_DUPLICATE;
    case FRONT_FORGOTTEN:
        return ERR_GONE;
    }
    UNREACHABLE();
}

/* A moved message is known by the key of its move and by nothing else: its dedup id is there for
 * those who send it again by themselves, and must not stop a second move of the same message. */
enum err partition_plan_send(const struct partition *p, const struct partition_view *view,
                             const struct record_message *m, struct partition_duplicate *duplicate)
{
    if (m->moved) {
        uint64_t number;
        if (!origins_find(&p->origins, &m->origin, &number))
            return ERR_OK;
        *duplicate = (struct partition_duplicate){m->id, number, false};
        return ERR_DUPLICATE;
    }
    /* Before its dedup id, which the first one entered. */
    enum err e = m->repeat.front == 0 ? ERR_OK : plan_repeat(p, m, duplicate);
    if (e != ERR_OK)
        return e;
    if (id_hash_is_none(&m->dedup_hash))
        return ERR_OK;
    const struct dedup_item *item = dedup_find(&p->dedup, &m->dedup_hash, view->now_ms);
    if (item != NULL) {
        *duplicate = (struct partition_duplicate){item->id, item->number, false};
        return ERR_DUPLICATE;
    }
    /* The oldest leaves when the message is folded, if it has ended by then. */
    if (dedup_count(&p->dedup) >= PARTITION_DEDUP_MAX &&
        view->now_ms < dedup_at(&p->dedup, 0)->until_ms)
        return ERR_FULL;
    return ERR_OK;
}

int64_t partition_time_wanted_ms(const struct partition *p)
{
    enum { KEPT_MIN = 1024, ENDED_MS = 10000 };
    int64_t ends_ms = INT64_MAX;
    if (p->delays->n - p->delays->released_n >= KEPT_MIN)
        ends_ms = delays_release_after_ms(p->delays);
    if (dedup_count(&p->dedup) >= KEPT_MIN && dedup_at(&p->dedup, 0)->until_ms < ends_ms)
        ends_ms = dedup_at(&p->dedup, 0)->until_ms;
    return ends_ms > INT64_MAX - ENDED_MS ? INT64_MAX : ends_ms + ENDED_MS;
}

bool partition_group_find(const struct partition *p, uint32_t gid, struct partition_group_info *out)
{
    const struct group *g = group_find(p, gid);
    if (g == NULL)
        return false;
    *out = (struct partition_group_info){g->gid, g->generation, g->floor};
    return true;
}

bool partition_is_finished(const struct partition *p, uint32_t gid, uint64_t number)
{
    const struct group *g = group_find(p, gid);
    return g == NULL || group_is_finished(g, number);
}

enum err partition_plan_purge(const struct partition *p, uint32_t gid, bool clear_dedup,
                              struct record *out)
{
    if (group_find(p, gid) == NULL)
        return ERR_NOT_FOUND;
    memset(out, 0, sizeof *out);
    out->type = RECORD_PURGE;
    out->purge = (struct record_purge){gid, p->next_number, clear_dedup};
    return ERR_OK;
}

uint64_t partition_next_number(const struct partition *p)
{
    return p->next_number;
}

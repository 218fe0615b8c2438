// SPDX-License-Identifier: Apache-2.0
#include "cluster/suspect.h"

#include "base/mem.h"

enum {
    KNOCKS = 2,
    BETWEEN_MS = 50,
    QUIET_MS = 500, /* after a knock that told nothing */
    PAUSE_MS_MIN = 5000,
    PAUSE_MS_MAX = 300000,
};

void cluster_suspects_init(struct cluster_suspects *s)
{
    *s = (struct cluster_suspects){.due_ms = INT64_MAX};
}

void cluster_suspects_fini(struct cluster_suspects *s)
{
    mem_free(s->at);
    cluster_suspects_init(s);
}

static struct cluster_suspect *find(struct cluster_suspects *s, uint32_t broker)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].broker == broker)
            return &s->at[i];
    return NULL;
}

static struct cluster_suspect *make(struct cluster_suspects *s, uint32_t broker)
{
    struct cluster_suspect *one = find(s, broker);
    if (one != NULL)
        return one;
    if (s->n == s->room) {
        s->room = s->room == 0 ? 8 : 2 * s->room;
        s->at = mem_resize(s->at, s->room * sizeof s->at[0]);
    }
    one = &s->at[s->n++];
    *one = (struct cluster_suspect){
        .broker = broker, .again_ms = INT64_MAX, .quiet_ms = INT64_MIN / 2};
    return one;
}

static void due_set(struct cluster_suspects *s)
{
    s->due_ms = INT64_MAX;
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].again_ms < s->due_ms)
            s->due_ms = s->at[i].again_ms;
}

/* One whose lease is not known cannot be revoked. */
static const struct cluster_member *revocable(const struct cluster_view *v, uint32_t broker)
{
    const struct cluster_member *m = cluster_view_member(v, broker);
    return m != NULL && m->is_live && m->session.lease != 0 ? m : NULL;
}

bool cluster_suspects_hint(struct cluster_suspects *s, const struct cluster_view *v,
                           uint32_t broker, int64_t now_ms)
{
    const struct cluster_member *m = revocable(v, broker);
    if (m == NULL)
        return false;
    struct cluster_suspect *one = make(s, broker);
    if (one->is_out || one->again_ms != INT64_MAX || now_ms < one->quiet_ms)
        return false;
    one->is_out = true;
    one->refusals = 0;
    one->session = m->session.session;
    one->lease = m->session.lease;
    return true;
}

static int64_t pause_next_ms(const struct cluster_suspect *one, int64_t now_ms)
{
    /* Long after the last pause has ended it is another trouble. */
    if (one->pause_ms == 0 || now_ms - one->quiet_ms > PAUSE_MS_MAX)
        return PAUSE_MS_MIN;
    return one->pause_ms > PAUSE_MS_MAX / 2 ? PAUSE_MS_MAX : 2 * one->pause_ms;
}

int64_t cluster_suspects_knocked(struct cluster_suspects *s, const struct cluster_view *v,
                                 uint32_t broker, bool is_refused, int64_t now_ms)
{
    struct cluster_suspect *one = find(s, broker);
    const struct cluster_member *m = revocable(v, broker);
    if (one == NULL || !one->is_out)
        return 0;
    one->is_out = false;
    if (!is_refused) {
        one->quiet_ms = now_ms + QUIET_MS;
        return 0;
    }
    /* Another session than the one we knocked for: its process may be one that listens. */
    if (m == NULL || m->session.session != one->session || m->session.lease != one->lease)
        return 0;
    if (++one->refusals < KNOCKS) {
        one->again_ms = now_ms + BETWEEN_MS;
        due_set(s);
        return 0;
    }
    one->pause_ms = pause_next_ms(one, now_ms);
    one->quiet_ms = now_ms + one->pause_ms;
    return one->lease;
}

uint32_t cluster_suspects_due(struct cluster_suspects *s, int64_t now_ms)
{
    for (size_t i = 0; i < s->n; i++) {
        struct cluster_suspect *one = &s->at[i];
        if (one->again_ms > now_ms)
            continue;
        one->again_ms = INT64_MAX;
        one->is_out = true;
        due_set(s);
        return one->broker;
    }
    return 0;
}

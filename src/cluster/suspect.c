// SPDX-License-Identifier: Apache-2.0
#include "cluster/suspect.h"

#include "base/mem.h"

enum {
    REFUSALS = 2,
    KNOCKS_MAX = 10,
    BETWEEN_MS = 50,
    QUIET_MS = 500,    /* after knocks that told nothing */
    REVIVAL_MS = 1000, /* between two looks whether a revoked one is back */
    REACHED_MS = 2000, /* between two revocations of one that was reached */
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

static void again(struct cluster_suspects *s, struct cluster_suspect *one, int64_t at_ms)
{
    one->again_ms = at_ms;
    due_set(s);
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
    if (one->is_out || one->again_ms <= now_ms + BETWEEN_MS || now_ms < one->quiet_ms)
        return false;
    again(s, one, INT64_MAX);
    one->is_out = true;
    one->knocks = one->refusals = 0;
    one->session = m->session.session;
    one->lease = m->session.lease;
    return true;
}

static int64_t revoke(struct cluster_suspects *s, struct cluster_suspect *one, int64_t now_ms)
{
    if (!one->is_revoked)
        one->pause_ms = PAUSE_MS_MIN;
    else
        one->pause_ms = one->pause_ms > PAUSE_MS_MAX / 2 ? PAUSE_MS_MAX : 2 * one->pause_ms;
    one->is_revoked = true;
    one->revoked_ms = now_ms;
    one->quiet_ms = now_ms + one->pause_ms;
    again(s, one, now_ms + REVIVAL_MS);
    return one->lease;
}

int64_t cluster_suspects_knocked(struct cluster_suspects *s, const struct cluster_view *v,
                                 uint32_t broker, enum cluster_knock knock, int64_t now_ms)
{
    struct cluster_suspect *one = find(s, broker);
    const struct cluster_member *m = revocable(v, broker);
    if (one == NULL || !one->is_out)
        return 0;
    one->is_out = false;
    if (knock == CLUSTER_KNOCK_ANSWERED) {
        one->quiet_ms = now_ms + QUIET_MS;
        if (one->is_revoked && one->quiet_ms < one->revoked_ms + REACHED_MS)
            one->quiet_ms = one->revoked_ms + REACHED_MS;
        one->is_revoked = false;
        return 0;
    }
    if (now_ms < one->quiet_ms) { /* it is not back yet */
        again(s, one, now_ms + REVIVAL_MS);
        return 0;
    }
    /* Another session than the one we knocked for: its process may be one that listens. */
    if (m == NULL || m->session.session != one->session || m->session.lease != one->lease)
        return 0;
    one->refusals = knock == CLUSTER_KNOCK_REFUSED ? one->refusals + 1 : 0;
    if (one->refusals == REFUSALS)
        return revoke(s, one, now_ms);
    if (++one->knocks < KNOCKS_MAX)
        again(s, one, now_ms + BETWEEN_MS);
    else
        one->quiet_ms = now_ms + QUIET_MS;
    return 0;
}

uint32_t cluster_suspects_due(struct cluster_suspects *s, const struct cluster_view *v,
                              int64_t now_ms)
{
    for (size_t i = 0; i < s->n; i++) {
        struct cluster_suspect *one = &s->at[i];
        if (one->again_ms > now_ms)
            continue;
        if (revocable(v, one->broker) == NULL) { /* nothing is to be ended, or not yet again */
            again(s, one, one->is_revoked ? now_ms + REVIVAL_MS : INT64_MAX);
            continue;
        }
        again(s, one, INT64_MAX);
        one->is_out = true;
        return one->broker;
    }
    return 0;
}

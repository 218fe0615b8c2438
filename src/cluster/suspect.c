// SPDX-License-Identifier: Apache-2.0
#include "cluster/suspect.h"

#include "base/mem.h"

enum {
    REFUSALS = 2,
    SILENCES = 2,
    SILENCE_MS = SILENCES * CLUSTER_KNOCK_MS,
    KNOCKS_MAX = 10, /* in a row without a pause */
    BETWEEN_MS = 50,
    PERIOD_MS = 500,     /* between two knocks at one who answers ... */
    PERIOD_BROKERS = 10, /* ... of so many; of more, so much longer: 20 knocks a second at most */
    QUIET_MS = 500,      /* after a knock for a hint's sake that was answered, or ten in vain */
    VOICE_MS = 2000,     /* a voice counts; it is raised again with each knock in vain */
    SILENT_MS = 5000,    /* one found silent counts as that, without a further knock in vain */
    REVIVAL_MS = 1000,   /* between two looks whether a revoked one is back */
    REACHED_MS = 2000,   /* between two revocations of one that was reached */
    PAUSE_MS_MIN = 5000,
    PAUSE_MS_MAX = 300000,
};

void cluster_suspects_init(struct cluster_suspects *s, uint32_t self)
{
    *s = (struct cluster_suspects){.self = self, .due_ms = INT64_MAX};
}

void cluster_suspects_fini(struct cluster_suspects *s)
{
    mem_free(s->at);
    mem_free(s->voices);
    cluster_suspects_init(s, s->self);
}

static struct cluster_suspect *find(const struct cluster_suspects *s, uint32_t broker)
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
    *one = (struct cluster_suspect){.broker = broker,
                                    .again_ms = INT64_MAX,
                                    .silent_ms = INT64_MIN / 2,
                                    .quiet_ms = INT64_MIN / 2,
                                    .spared_ms = INT64_MIN / 2};
    return one;
}

static bool is_silent(const struct cluster_suspect *one, int64_t now_ms)
{
    return now_ms - one->silent_ms <= SILENT_MS;
}

bool cluster_suspects_is_silent(const struct cluster_suspects *s, uint32_t broker, int64_t now_ms)
{
    const struct cluster_suspect *one = find(s, broker);
    return one != NULL && is_silent(one, now_ms);
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

/* One whose lease is not known cannot be revoked, so there is no sense in knocking. */
static const struct cluster_member *revocable(const struct cluster_suspects *s,
                                              const struct cluster_view *v, uint32_t broker)
{
    const struct cluster_member *m = broker == s->self ? NULL : cluster_view_member(v, broker);
    return m != NULL && m->is_live && m->session.lease != 0 ? m : NULL;
}

static int64_t period_ms(const struct cluster_view *v)
{
    int64_t live = 0;
    for (size_t i = 0; i < v->members_n; i++)
        live += v->members[i].is_live;
    return PERIOD_MS * (live > PERIOD_BROKERS ? live : PERIOD_BROKERS) / PERIOD_BROKERS;
}

/* ---- voices ---- */

static void voice_put(struct cluster_suspects *s, const struct cluster_voice *voice)
{
    for (size_t i = 0; i < s->voices_n; i++)
        if (s->voices[i].from == voice->from && s->voices[i].broker == voice->broker) {
            s->voices[i] = *voice;
            return;
        }
    if (s->voices_n == s->voices_room) {
        s->voices_room = s->voices_room == 0 ? 8 : 2 * s->voices_room;
        s->voices = mem_resize(s->voices, s->voices_room * sizeof s->voices[0]);
    }
    s->voices[s->voices_n++] = *voice;
}

/* Our own no longer counts. */
static void voice_drop(struct cluster_suspects *s, uint32_t broker)
{
    for (size_t i = 0; i < s->voices_n; i++)
        if (s->voices[i].from == s->self && s->voices[i].broker == broker) {
            s->voices[i] = s->voices[--s->voices_n];
            return;
        }
}

static bool has_voice(const struct cluster_member *m)
{
    return m != NULL && m->is_known && m->key.state != CLUSTER_BROKER_REMOVED;
}

/* Of all that are registered, whether they live or not: those that are cut off from here may be
 * the majority, and see it otherwise. Our own voice has to be among them, and no voice counts of
 * one whom we find silent too: it is he who may be cut off. */
static bool has_majority(const struct cluster_suspects *s, const struct cluster_view *v,
                         const struct cluster_member *m, int64_t now_ms)
{
    size_t registered = 0, voices = 0;
    bool is_ours = false;
    for (size_t i = 0; i < v->members_n; i++)
        registered += has_voice(&v->members[i]);
    for (size_t i = 0; i < s->voices_n; i++) {
        const struct cluster_voice *voice = &s->voices[i];
        const struct cluster_member *from = cluster_view_member(v, voice->from);
        if (voice->broker != m->broker || voice->session != m->session.session ||
            now_ms - voice->heard_ms > VOICE_MS || !has_voice(from))
            continue;
        is_ours = is_ours || voice->from == s->self;
        voices += voice->from == s->self ||
                  (from->is_live && !cluster_suspects_is_silent(s, voice->from, now_ms));
    }
    return is_ours && 2 * voices > registered;
}

/* ---- knocks ---- */

static void row_end(struct cluster_suspects *s, struct cluster_suspect *one)
{
    one->knocks = one->refusals = 0;
    one->is_voiced = false;
    voice_drop(s, one->broker);
}

static void begin(struct cluster_suspects *s, struct cluster_suspect *one,
                  const struct cluster_member *m, bool is_hinted, int64_t now_ms)
{
    again(s, one, INT64_MAX);
    one->is_out = true;
    one->is_hinted = is_hinted;
    if (one->knocks > 0)
        return;
    one->session = m->session.session;
    one->lease = m->session.lease;
    one->first_ms = now_ms;
}

bool cluster_suspects_hint(struct cluster_suspects *s, const struct cluster_view *v,
                           uint32_t broker, int64_t now_ms)
{
    const struct cluster_member *m = revocable(s, v, broker);
    if (m == NULL)
        return false;
    struct cluster_suspect *one = make(s, broker);
    if (one->is_out || one->again_ms <= now_ms + BETWEEN_MS || now_ms < one->quiet_ms ||
        now_ms < one->spared_ms)
        return false;
    begin(s, one, m, true, now_ms);
    return true;
}

/* Its session is ended, or was with our voice. */
static void revoked(struct cluster_suspects *s, struct cluster_suspect *one, int64_t now_ms)
{
    if (!one->is_revoked)
        one->pause_ms = PAUSE_MS_MIN;
    else
        one->pause_ms = one->pause_ms > PAUSE_MS_MAX / 2 ? PAUSE_MS_MAX : 2 * one->pause_ms;
    one->is_revoked = true;
    one->revoked_ms = now_ms;
    one->spared_ms = now_ms + one->pause_ms;
    row_end(s, one);
    again(s, one, one->is_out ? INT64_MAX : now_ms + REVIVAL_MS);
}

/* The session of the row is no more. If others were quicker, it is spared by all that have found it
 * silent. */
static void session_over(struct cluster_suspects *s, struct cluster_suspect *one, int64_t now_ms)
{
    if (one->is_voiced)
        revoked(s, one, now_ms);
    else
        row_end(s, one);
}

static bool is_session_over(const struct cluster_suspect *one, const struct cluster_member *m)
{
    return m == NULL || m->session.session != one->session || m->session.lease != one->lease;
}

static void answered(struct cluster_suspects *s, const struct cluster_view *v,
                     struct cluster_suspect *one, int64_t now_ms)
{
    if (one->is_hinted)
        one->quiet_ms = now_ms + QUIET_MS;
    if (one->is_revoked)
        one->spared_ms = one->revoked_ms + REACHED_MS;
    one->is_revoked = false;
    one->silent_ms = INT64_MIN / 2;
    row_end(s, one);
    again(s, one, now_ms + period_ms(v));
}

/* The lease, if there are voices enough. */
static int64_t judge(struct cluster_suspects *s, const struct cluster_view *v,
                     struct cluster_suspect *one, const struct cluster_member *m, int64_t now_ms)
{
    if (!has_majority(s, v, m, now_ms))
        return 0;
    revoked(s, one, now_ms);
    return m->session.lease;
}

struct cluster_suspicion cluster_suspects_knocked(struct cluster_suspects *s,
                                                  const struct cluster_view *v, uint32_t broker,
                                                  enum cluster_knock knock, int64_t now_ms)
{
    struct cluster_suspicion nothing = {0}, found = {.session = 0};
    struct cluster_suspect *one = find(s, broker);
    const struct cluster_member *m = revocable(s, v, broker);
    if (one == NULL || !one->is_out)
        return nothing;
    one->is_out = false;
    if (knock == CLUSTER_KNOCK_ANSWERED) {
        answered(s, v, one, now_ms);
        return nothing;
    }
    if (knock == CLUSTER_KNOCK_LATE) {
        again(s, one, now_ms + BETWEEN_MS);
        return nothing;
    }
    if (now_ms < one->spared_ms) { /* it is not back yet */
        if (knock == CLUSTER_KNOCK_SILENT && is_silent(one, now_ms))
            one->silent_ms = now_ms;
        again(s, one, now_ms + REVIVAL_MS);
        return nothing;
    }
    /* Another session than at the first knock: its process may be one that listens. */
    if (is_session_over(one, m)) {
        again(s, one, now_ms + PERIOD_MS);
        session_over(s, one, now_ms);
        return nothing;
    }
    one->refusals = knock == CLUSTER_KNOCK_REFUSED ? one->refusals + 1 : 0;
    one->knocks++;
    if (one->refusals == REFUSALS) {
        revoked(s, one, now_ms);
        return (struct cluster_suspicion){.lease = m->session.lease, .is_refused = true};
    }
    if (one->knocks % KNOCKS_MAX == 0)
        one->quiet_ms = now_ms + QUIET_MS;
    bool is_soon = one->knocks < KNOCKS_MAX || one->refusals > 0;
    again(s, one, now_ms + (is_soon ? BETWEEN_MS : PERIOD_MS));
    if (one->knocks < SILENCES || now_ms - one->first_ms < SILENCE_MS)
        return nothing;
    one->is_voiced = found.is_silent = true;
    one->silent_ms = now_ms;
    found.session = one->session;
    voice_put(s, &(struct cluster_voice){s->self, broker, one->session, now_ms});
    found.lease = judge(s, v, one, m, now_ms);
    return found;
}

struct cluster_suspicion cluster_suspects_told(struct cluster_suspects *s,
                                               const struct cluster_view *v, uint32_t from,
                                               uint32_t broker, int64_t session, int64_t heard_ms,
                                               int64_t now_ms)
{
    struct cluster_suspicion found = {0};
    const struct cluster_member *m = revocable(s, v, broker);
    if (m == NULL || from == broker || from == s->self || m->session.session != session)
        return found;
    struct cluster_suspect *one = make(s, broker);
    voice_put(s, &(struct cluster_voice){from, broker, session, heard_ms});
    found.lease = judge(s, v, one, m, now_ms);
    if (found.lease == 0 && !one->is_out && one->knocks == 0 && now_ms >= one->quiet_ms &&
        now_ms >= one->spared_ms)
        again(s, one, now_ms);
    return found;
}

uint32_t cluster_suspects_due(struct cluster_suspects *s, const struct cluster_view *v,
                              int64_t now_ms)
{
    for (size_t i = 0; i < v->members_n; i++)
        if (revocable(s, v, v->members[i].broker) != NULL)
            (void)make(s, v->members[i].broker);
    for (size_t i = 0; i < s->n; i++) {
        struct cluster_suspect *one = &s->at[i];
        const struct cluster_member *m = revocable(s, v, one->broker);
        if (one->is_voiced && !one->is_out && is_session_over(one, m)) {
            session_over(s, one, now_ms);
            one->again_ms = now_ms; /* is it back? */
        }
        if (m == NULL)
            one->again_ms = INT64_MAX;
        else if (one->again_ms == INT64_MAX && !one->is_out)
            one->again_ms = now_ms; /* it is there, or there again */
        if (one->again_ms > now_ms)
            continue;
        begin(s, one, m, false, now_ms);
        return one->broker;
    }
    due_set(s);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* The thread's part of suspicion (suspect.h): it knocks, raises its voice, and revokes. */
#include <errno.h>

#include "base/mem.h"
#include "base/note.h"
#include "cluster/inside.h"

void cluster_suspect_add(struct cluster *c, enum cluster_work_kind kind, uint32_t broker,
                         enum cluster_knock knock)
{
    struct cluster_work *w = mem_new(sizeof *w);
    w->kind = kind;
    w->broker = broker;
    w->knock = knock;
    cluster_work_add(c, w);
}

/* ---- knocks ---- */

struct knock {
    struct cluster *c;
    uint32_t broker;
    int64_t begun_ms;
};

/* Our own threads were not run in time. */
enum { LATE_MS = 100 };

/* Whoever has answered another call meanwhile is there too: his listener has several loops, and the
 * knock's may be held up. */
static enum cluster_knock outcome(const struct knock *k, enum err e, int status)
{
    struct cluster *c = k->c;
    if (e == ERR_REFUSED && status == ECONNREFUSED)
        return CLUSTER_KNOCK_REFUSED;
    if (e == ERR_OK || e == ERR_PERMISSION || (e == ERR_BUSY && status == 503) ||
        peer_heard_ms(atomic_load(&c->peer), k->broker) >= k->begun_ms)
        return CLUSTER_KNOCK_ANSWERED;
    bool is_late = clock_boot_ms(c->clock) > k->begun_ms + CLUSTER_KNOCK_MS + LATE_MS;
    return is_late ? CLUSTER_KNOCK_LATE : CLUSTER_KNOCK_SILENT;
}

/* On the peer's thread. */
static void knock_done(void *self, enum err e, int status, struct bytes body)
{
    struct knock *k = self;
    (void)body;
    cluster_suspect_add(k->c, CLUSTER_WORK_KNOCK, k->broker, outcome(k, e, status));
    mem_free(k);
}

/* A question about nothing. */
static void knock(struct cluster *c, uint32_t broker, int64_t now_ms)
{
    const struct cluster_member *m = cluster_view_member(&c->view, broker);
    struct buf body = BUF_EMPTY;
    if (m == NULL || !m->is_known) {
        lock_take(&c->lk);
        (void)cluster_suspects_knocked(&c->suspects, &c->view, broker, CLUSTER_KNOCK_SILENT,
                                       now_ms);
        lock_give(&c->lk);
        return;
    }
    struct knock *k = mem_new(sizeof *k);
    *k = (struct knock){c, broker, clock_boot_ms(c->clock)};
    wire_state_ask_encode(NULL, 0, &body);
    (void)peer_post(atomic_load(&c->peer), broker, m->key.url, "/_r/v1/state", buf_bytes(&body),
                    CLUSTER_KNOCK_MS, (struct peer_call_done){knock_done, k});
    buf_fini(&body);
}

void cluster_knock_lost(struct cluster *c, uint32_t broker, int64_t now_ms)
{
    /* Who has no session of its own may be the one that is cut off. */
    if (broker == c->broker || c->self.session == NULL)
        return;
    lock_take(&c->lk);
    bool is_due = cluster_suspects_hint(&c->suspects, &c->view, broker, now_ms);
    lock_give(&c->lk);
    if (is_due)
        knock(c, broker, now_ms);
}

void cluster_knock_step(struct cluster *c, int64_t now_ms)
{
    uint32_t broker;
    while (c->self.session != NULL) {
        lock_take(&c->lk);
        broker = cluster_suspects_due(&c->suspects, &c->view, now_ms);
        lock_give(&c->lk);
        if (broker == 0)
            return;
        knock(c, broker, now_ms);
    }
}

/* ---- voices ---- */

/* Lost, it is raised again with the next knock in vain. */
static void voice_done(void *self, enum err e, int status, struct bytes body)
{
    (void)self, (void)e, (void)status, (void)body;
}

static void voice_raise(struct cluster *c, uint32_t broker, int64_t session)
{
    struct buf body = BUF_EMPTY;
    wire_silent_encode(broker, session, &body);
    for (size_t i = 0; i < c->view.members_n; i++) {
        const struct cluster_member *m = &c->view.members[i];
        if (m->broker == broker || m->broker == c->broker || !m->is_live || !m->is_known)
            continue;
        (void)peer_post(atomic_load(&c->peer), m->broker, m->key.url, "/_r/v1/silent",
                        buf_bytes(&body), CLUSTER_KNOCK_MS,
                        (struct peer_call_done){voice_done, NULL});
    }
    buf_fini(&body);
}

enum err cluster_voice_take(struct cluster *c, uint32_t from, struct bytes body)
{
    uint32_t broker;
    int64_t session;
    if (wire_silent_decode(body, &broker, &session) != ERR_OK)
        return ERR_CORRUPT;
    struct cluster_work *w = mem_new(sizeof *w);
    w->kind = CLUSTER_WORK_VOICE;
    w->from = from;
    w->broker = broker;
    w->session = session;
    w->heard_ms = clock_boot_ms(c->clock);
    cluster_work_add(c, w);
    return ERR_OK;
}

static void on_voice(void *self, struct http_request *r, uint32_t from)
{
    struct cluster *c = self;
    struct peer *p = atomic_load(&c->peer);
    struct buf out = BUF_EMPTY;
    if (p == NULL || atomic_load(&c->queue) == NULL) /* it has not joined */
        http_reply(r, 503, NULL, 0, NULL);
    else if (cluster_voice_take(c, from, http_body(r)) == ERR_OK)
        peer_reply(p, r, 200, &out);
    else
        peer_reply(p, r, 400, &out);
}

struct peer_route cluster_voice_route(struct cluster *c)
{
    return (struct peer_route){"/_r/v1/silent", on_voice, c};
}

/* ---- what follows ---- */

static void session_end(struct cluster *c, uint32_t broker, const struct cluster_suspicion *found)
{
    note(NOTE_WARNING, "cluster",
         found->is_refused
             ? "nobody listens where broker %lu should: its session is ended for it"
             : "broker %lu answers no majority of the brokers: its session is ended for it",
         (unsigned long)broker);
    enum err e = catalog_lease_revoke(c->catalog, found->lease);
    if (e != ERR_OK)
        note(NOTE_WARNING, "cluster", "the session of broker %lu could not be ended: %s",
             (unsigned long)broker, err_text(e));
    lock_take(&c->lk);
    /* What has vanished with it is seen at once, also when the watch is late. */
    c->wants_list = true;
    lock_give(&c->lk);
}

void cluster_knock_done(struct cluster *c, const struct cluster_work *w, int64_t now_ms)
{
    lock_take(&c->lk);
    struct cluster_suspicion found =
        cluster_suspects_knocked(&c->suspects, &c->view, w->broker, w->knock, now_ms);
    lock_give(&c->lk);
    if (found.is_silent)
        peer_give_up(atomic_load(&c->peer), w->broker);
    if (c->self.session == NULL)
        return;
    if (found.is_silent)
        voice_raise(c, w->broker, found.session);
    if (found.lease != 0)
        session_end(c, w->broker, &found);
}

void cluster_voice_heard(struct cluster *c, const struct cluster_work *w, int64_t now_ms)
{
    lock_take(&c->lk);
    struct cluster_suspicion found = cluster_suspects_told(
        &c->suspects, &c->view, w->from, w->broker, w->session, w->heard_ms, now_ms);
    lock_give(&c->lk);
    if (found.lease != 0 && c->self.session != NULL)
        session_end(c, w->broker, &found);
}

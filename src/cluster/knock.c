// SPDX-License-Identifier: Apache-2.0
/* The thread's part of suspicion (suspect.h): it knocks, and revokes. */
#include <errno.h>

#include "base/mem.h"
#include "base/note.h"
#include "cluster/inside.h"

enum {
    KNOCK_MS = 100,       /* a knock's answer is waited for */
    CONTROLLER_MS = 1000, /* between two knocks at the controller's, which perhaps leads nothing */
};

void cluster_suspect_add(struct cluster *c, enum cluster_work_kind kind, uint32_t broker,
                         enum cluster_knock knock)
{
    struct cluster_work *w = mem_new(sizeof *w);
    w->kind = kind;
    w->broker = broker;
    w->knock = knock;
    cluster_work_add(c, w);
}

struct knock {
    struct cluster *c;
    uint32_t broker;
};

/* On the peer's thread. */
static void knock_done(void *self, enum err e, int status, struct bytes body)
{
    struct knock *k = self;
    (void)body;
    cluster_suspect_add(k->c, CLUSTER_WORK_KNOCK, k->broker,
                        e == ERR_REFUSED && status == ECONNREFUSED ? CLUSTER_KNOCK_REFUSED
                        : e == ERR_OK || e == ERR_PERMISSION       ? CLUSTER_KNOCK_ANSWERED
                                                                   : CLUSTER_KNOCK_SILENT);
    mem_free(k);
}

/* A question about nothing: only whether a connection comes about matters. */
static void knock(struct cluster *c, uint32_t broker, int64_t now_ms)
{
    const struct cluster_member *m = cluster_view_member(&c->view, broker);
    struct buf body = BUF_EMPTY;
    if (m == NULL || !m->is_known) {
        (void)cluster_suspects_knocked(&c->suspects, &c->view, broker, CLUSTER_KNOCK_SILENT,
                                       now_ms);
        return;
    }
    struct knock *k = mem_new(sizeof *k);
    *k = (struct knock){c, broker};
    wire_state_ask_encode(NULL, 0, &body);
    (void)peer_post(atomic_load(&c->peer), broker, m->key.url, "/_r/v1/state", buf_bytes(&body),
                    KNOCK_MS, (struct peer_call_done){knock_done, k});
    buf_fini(&body);
}

void cluster_knock_lost(struct cluster *c, uint32_t broker, int64_t now_ms)
{
    /* Who has no session of its own may be the one that is cut off. */
    if (broker == c->broker || c->self.session == NULL)
        return;
    if (cluster_suspects_hint(&c->suspects, &c->view, broker, now_ms))
        knock(c, broker, now_ms);
}

void cluster_knock_done(struct cluster *c, const struct cluster_work *w, int64_t now_ms)
{
    int64_t lease = cluster_suspects_knocked(&c->suspects, &c->view, w->broker, w->knock, now_ms);
    if (lease == 0 || c->self.session == NULL)
        return;
    note(NOTE_WARNING, "cluster",
         "nobody listens where broker %lu should: its session is ended for it",
         (unsigned long)w->broker);
    enum err e = catalog_lease_revoke(c->catalog, lease);
    if (e != ERR_OK)
        note(NOTE_WARNING, "cluster", "the session of broker %lu could not be ended: %s",
             (unsigned long)w->broker, err_text(e));
    lock_take(&c->lk);
    c->wants_list =
        true; /* what has vanished with it is seen at once, also when the watch is late */
    lock_give(&c->lk);
}

void cluster_knock_step(struct cluster *c, int64_t now_ms)
{
    uint32_t broker;
    while ((broker = cluster_suspects_due(&c->suspects, &c->view, now_ms)) != 0)
        knock(c, broker, now_ms);
    if (now_ms < c->knock_ms)
        return;
    c->knock_ms = now_ms + CONTROLLER_MS;
    if (c->view.is_ctl_known)
        cluster_knock_lost(c, c->view.ctl.broker, now_ms);
}

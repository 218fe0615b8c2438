// SPDX-License-Identifier: Apache-2.0
/* A thread, since installing a snapshot blocks. It posts the calls and never waits for one: so it
 * can be stopped at any time. */
#include "cluster/snapshots.h"

#include <sys/queue.h>

#include "base/mem.h"
#include "cluster/worker.h"
#include "peer/wire.h"

enum {
    CALLS_MAX = 2, /* under way: a broker that joins needs a thousand, and they are not small */
    ANSWER_MS = 60000,
    /* A failure is told so much later: the replica asks again soon after, for as long as it takes.
     */
    FAILED_MS = 200,
};

struct snapshot_want {
    struct cluster_snapshots *snapshots;
    struct queue_copy_id of;
    uint32_t leader;
    uint64_t epoch;
    enum err e;
    struct buf came; /* ERR_OK */
    int64_t due_ms;  /* boot time; when the queue is told */
    TAILQ_ENTRY(snapshot_want) link;
};
TAILQ_HEAD(snapshot_wants, snapshot_want);

struct cluster_snapshots {
    struct cluster_fetcher_options options;
    struct cluster_fetcher *charge;
    struct peer *peer;
    struct queue *queue;
    struct cluster_worker worker;
    /* guarded by its lock */
    struct snapshot_wants wanted, came;
    size_t under_way; /* from the question until the queue was told */
};

void cluster_snapshots_note(struct cluster_snapshots *s, const struct queue_copy_id *of,
                            uint32_t leader, uint64_t epoch)
{
    struct snapshot_want *w = mem_new(sizeof *w);
    *w = (struct snapshot_want){.snapshots = s, .of = *of, .leader = leader, .epoch = epoch};
    lock_take(&s->worker.lock);
    TAILQ_INSERT_TAIL(&s->wanted, w, link);
    lock_signal_all(&s->worker.changed);
    lock_give(&s->worker.lock);
}

static void want_free(struct snapshot_want *w)
{
    buf_fini(&w->came);
    mem_free(w);
}

/* On the client's thread. */
static void on_done(void *self, enum err e, int status, struct bytes body)
{
    struct snapshot_want *w = self;
    struct cluster_snapshots *s = w->snapshots;
    w->e = e == ERR_OK && status != 200 ? ERR_NOT_FOUND : e;
    if (w->e == ERR_OK)
        buf_put_bytes(&w->came, body);
    w->due_ms = clock_boot_ms(s->options.clock) + (w->e == ERR_OK ? 0 : FAILED_MS);
    lock_take(&s->worker.lock);
    TAILQ_INSERT_TAIL(&s->came, w, link);
    lock_signal_all(&s->worker.changed);
    lock_give(&s->worker.lock);
}

static void came_put(struct cluster_snapshots *s, struct snapshot_want *w)
{
    if (s->charge != NULL)
        cluster_fetcher_charge(s->charge, w->came.n);
    queue_copy_snapshot_put(s->queue, &w->of, w->epoch,
                            w->e == ERR_OK ? buf_bytes(&w->came) : BYTES_NONE);
    want_free(w);
    lock_take(&s->worker.lock);
    s->under_way--;
    lock_give(&s->worker.lock);
}

static void want_ask(struct cluster_snapshots *s, struct snapshot_want *w)
{
    char url[PEER_URL_BYTES_MAX + 1];
    struct wire_partition of = {.partition = w->of.partition};
    struct buf body = BUF_EMPTY;
    memcpy(of.topic, w->of.topic, sizeof of.topic);
    if (!s->options.url(s->options.self, w->leader, url)) {
        on_done(w, ERR_NOT_FOUND, 0, BYTES_NONE);
        return;
    }
    wire_snapshot_ask_encode(&of, w->epoch, &body);
    peer_post(s->peer, w->leader, url, "/_r/v1/snapshot", buf_bytes(&body), ANSWER_MS,
              (struct peer_call_done){on_done, w});
    buf_fini(&body);
}

/* One that came and is due, or NULL and *left_ms until one is: -1, none has come. */
static struct snapshot_want *came_due_locked(struct cluster_snapshots *s, int64_t *left_ms)
{
    int64_t now_ms = clock_boot_ms(s->options.clock);
    struct snapshot_want *w;
    *left_ms = -1;
    TAILQ_FOREACH(w, &s->came, link)
    {
        if (w->due_ms <= now_ms)
            return w;
        if (*left_ms < 0 || w->due_ms - now_ms < *left_ms)
            *left_ms = w->due_ms - now_ms;
    }
    return NULL;
}

/* What is to be done next: one that came, or one to ask for (then *asks). NULL: it is time to stop.
 */
static struct snapshot_want *work_next(struct cluster_snapshots *s, bool *asks)
{
    struct snapshot_want *w = NULL;
    int64_t left_ms;
    lock_take(&s->worker.lock);
    while (!s->worker.is_stopping && w == NULL) {
        if ((w = came_due_locked(s, &left_ms)) != NULL) {
            TAILQ_REMOVE(&s->came, w, link);
            *asks = false;
        } else if (s->under_way < CALLS_MAX && (w = TAILQ_FIRST(&s->wanted)) != NULL) {
            TAILQ_REMOVE(&s->wanted, w, link);
            s->under_way++;
            *asks = true;
        } else {
            lock_signal_wait(&s->worker.changed, &s->worker.lock, left_ms);
        }
    }
    lock_give(&s->worker.lock);
    return w;
}

static void *run(void *self)
{
    struct cluster_snapshots *s = self;
    struct snapshot_want *w;
    bool asks;
    while ((w = work_next(s, &asks)) != NULL) {
        if (asks)
            want_ask(s, w);
        else
            came_put(s, w);
    }
    return NULL;
}

struct cluster_snapshots *cluster_snapshots_new(const struct cluster_fetcher_options *o,
                                                struct cluster_fetcher *charge)
{
    struct cluster_snapshots *s = mem_new(sizeof *s);
    s->options = *o;
    s->charge = charge;
    cluster_worker_init(&s->worker, LOCK_RANK_FETCHES);
    TAILQ_INIT(&s->wanted);
    TAILQ_INIT(&s->came);
    return s;
}

enum err cluster_snapshots_join(struct cluster_snapshots *s, struct peer *p, struct queue *q)
{
    s->peer = p;
    s->queue = q;
    return cluster_worker_join(&s->worker, run, s, "fetching snapshots");
}

void cluster_snapshots_stop(struct cluster_snapshots *s)
{
    cluster_worker_stop(&s->worker);
}

static size_t wants_free(struct snapshot_wants *wants)
{
    struct snapshot_want *w;
    size_t n = 0;
    for (; (w = TAILQ_FIRST(wants)) != NULL; n++) {
        TAILQ_REMOVE(wants, w, link);
        want_free(w);
    }
    return n;
}

void cluster_snapshots_free(struct cluster_snapshots *s)
{
    wants_free(&s->wanted);
    CHECK(wants_free(&s->came) == s->under_way); /* peer_stop came before */
    cluster_worker_fini(&s->worker);
    mem_free(s);
}

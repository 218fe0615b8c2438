// SPDX-License-Identifier: Apache-2.0
/* One thread puts the requests together (DATA.md); it owns the conversations and never does I/O.
 * Notes come to it from any thread, the ends of calls from the client's thread, which has given the
 * answers to the queue before. */
#include "cluster/fetcher.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/note.h"
#include "cluster/conversation.h"
#include "cluster/worker.h"

enum {
    WAIT_MS = 500,
    ANSWER_MS = 1500, /* beyond the wait; then the replica asks anew by itself */
    CATCHUP_BYTES_PER_S = 20 << 20,
    IDLE_MS = 60000,
};

struct fetch_note {
    struct queue_copy_id of;
    uint32_t leader;
    struct replica_fetch request;
};

struct notes {
    struct fetch_note *at; /* owned */
    size_t n, room;
};

/* A request that is under way. */
struct fetch_call {
    struct cluster_fetcher *fetcher;
    struct conversation *conversation; /* the fetcher's thread's */
    uint32_t leader;
    struct wire_fetch fetch; /* owned */
    int64_t begun_ms;
    /* written by the client's thread before it is put into `ended` */
    enum err e;
    size_t bytes; /* of batches */
    TAILQ_ENTRY(fetch_call) link;
};
TAILQ_HEAD(fetch_calls, fetch_call);

struct cluster_fetcher {
    struct cluster_fetcher_options options;
    struct peer *peer;
    struct queue *queue;
    struct cluster_worker worker;
    /* guarded by its lock */
    struct notes fresh;
    struct fetch_calls ended;
    uint64_t charged;
    bool is_idle; /* the thread sleeps */
    bool is_held; /* an answer is being given to the queue: what it brings about goes together */
    struct cluster_fetcher_counts counts;
    /* the thread's */
    struct notes taken;
    struct conversations conversations;
    struct conversation_bucket bucket;
};

/* ---- from other threads ---- */

static void wake_locked(struct cluster_fetcher *f)
{
    lock_check_held(&f->worker.lock);
    if (f->is_idle && !f->is_held) {
        f->is_idle = false;
        lock_signal_all(&f->worker.changed);
    }
}

static void note_put(struct notes *notes, const struct fetch_note *one)
{
    if (notes->n == notes->room) {
        notes->room = notes->room == 0 ? 64 : notes->room * 2;
        notes->at = mem_resize(notes->at, notes->room * sizeof *notes->at);
    }
    notes->at[notes->n++] = *one;
}

void cluster_fetcher_note(struct cluster_fetcher *f, const struct queue_copy_id *of,
                          uint32_t leader, const struct replica_fetch *request)
{
    const struct fetch_note one = {*of, leader, *request};
    lock_take(&f->worker.lock);
    if (!f->worker.is_stopping) {
        note_put(&f->fresh, &one);
        wake_locked(f);
    }
    lock_give(&f->worker.lock);
}

void cluster_fetcher_charge(struct cluster_fetcher *f, uint64_t bytes)
{
    lock_take(&f->worker.lock);
    f->charged += bytes;
    lock_give(&f->worker.lock);
}

/* ---- answers, on the client's thread ---- */

static void hold(struct cluster_fetcher *f, bool is_held)
{
    lock_take(&f->worker.lock);
    f->is_held = is_held;
    lock_give(&f->worker.lock);
}

static enum err answer_give(struct fetch_call *c, struct bytes body)
{
    struct cluster_fetcher *f = c->fetcher;
    struct wire_answer_part part;
    uint64_t parts = 0;
    bool head = false;
    enum err e;
    hold(f, true);
    while ((e = wire_answer_next(&body, &head, &part)) == ERR_OK) {
        struct queue_copy_id id;
        memcpy(id.topic, part.of.topic, sizeof id.topic);
        id.partition = part.of.partition;
        queue_copy_answer(f->queue, &id, c->leader, &part.answer, part.batches);
        c->bytes += part.batches.n;
        parts++;
    }
    lock_take(&f->worker.lock);
    f->is_held = false;
    f->counts.parts += parts;
    f->counts.bytes += c->bytes;
    lock_give(&f->worker.lock);
    if (e != ERR_NOT_FOUND)
        note(NOTE_WARNING, "cluster", "broker %" PRIu32 " has answered a fetch in no known form",
             c->leader);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static void on_done(void *self, enum err e, int status, struct bytes body)
{
    struct fetch_call *c = self;
    struct cluster_fetcher *f = c->fetcher;
    if (e == ERR_OK)
        e = status == 200 ? answer_give(c, body) : ERR_BUSY;
    c->e = e;
    lock_take(&f->worker.lock);
    TAILQ_INSERT_TAIL(&f->ended, c, link);
    wake_locked(f);
    lock_give(&f->worker.lock);
}

/* ---- the thread ---- */

/* What has happened goes to `taken` and *ended. Sleeps until there is something, or due_ms. False:
 * it is time to stop. */
static bool wait_for_work(struct cluster_fetcher *f, int64_t due_ms, struct fetch_calls *ended)
{
    const struct clock *clock = f->options.clock;
    lock_take(&f->worker.lock);
    while (!f->worker.is_stopping && (f->is_held || (f->fresh.n == 0 && TAILQ_EMPTY(&f->ended)))) {
        int64_t left_ms = due_ms - clock_boot_ms(clock);
        if (left_ms <= 0)
            break;
        f->is_idle = true;
        lock_signal_wait(&f->worker.changed, &f->worker.lock, left_ms);
    }
    struct notes fresh = f->fresh;
    f->is_idle = false;
    f->fresh = f->taken;
    f->fresh.n = 0;
    f->taken = fresh;
    TAILQ_CONCAT(ended, &f->ended, link);
    f->bucket.bytes -= (int64_t)f->charged;
    f->charged = 0;
    bool goes_on = !f->worker.is_stopping;
    lock_give(&f->worker.lock);
    return goes_on;
}

static void take_notes(struct cluster_fetcher *f)
{
    const struct cluster_fetcher_options *o = &f->options;
    for (size_t i = 0; i < f->taken.n; i++) {
        const struct fetch_note *one = &f->taken.at[i];
        bool is_catchup = o->is_in_sync != NULL && !o->is_in_sync(o->self, &one->of);
        conversations_want(&f->conversations, &one->of, one->leader, is_catchup, &one->request);
    }
}

static void call_free(struct fetch_call *c)
{
    wire_fetch_fini(&c->fetch);
    mem_free(c);
}

/* What broke at once, such as a kept connection to a leader's last life, is asked for again at
 * once; a replica would notice only after fetch_max_ms. */
static void call_lost(struct cluster_fetcher *f, struct fetch_call *c, int64_t now_ms)
{
    struct conversation *k = c->conversation;
    bool is_slow = c->e == ERR_BUSY && now_ms - c->begun_ms >= ANSWER_MS;
    bool repeats = !is_slow && conversation_repeats(k);
    conversation_lost(k, &f->bucket, c->fetch.parts_n, c->fetch.bytes_max, is_slow, now_ms);
    for (size_t i = 0; i < c->fetch.parts_n && repeats; i++)
        conversation_want_again(&f->conversations, k, &c->fetch.parts[i]);
    if (f->options.lost != NULL)
        f->options.lost(f->options.self, c->leader, c->e);
}

static void take_ended(struct cluster_fetcher *f, struct fetch_calls *ended, int64_t now_ms)
{
    struct fetch_call *c;
    size_t n = 0, lost = 0;
    while ((c = TAILQ_FIRST(ended)) != NULL) {
        TAILQ_REMOVE(ended, c, link);
        if (c->e == ERR_OK)
            conversation_answered(c->conversation, &f->bucket, c->fetch.parts_n, c->fetch.bytes_max,
                                  c->bytes);
        else
            call_lost(f, c, now_ms);
        lost += c->e != ERR_OK;
        n++;
        call_free(c);
    }
    lock_take(&f->worker.lock);
    f->counts.under_way -= n;
    f->counts.lost += lost;
    lock_give(&f->worker.lock);
}

static void call_begin(struct cluster_fetcher *f, struct conversation *k, int64_t now_ms)
{
    struct wire_fetch fetch;
    struct buf body = BUF_EMPTY;
    char url[PEER_URL_BYTES_MAX + 1];
    conversation_call(&f->conversations, k, &f->bucket, f->options.wait_ms, &fetch);
    if (!f->options.url(f->options.self, k->leader, url)) {
        conversation_lost(k, &f->bucket, fetch.parts_n, fetch.bytes_max, false, now_ms);
        wire_fetch_fini(&fetch);
        return;
    }
    struct fetch_call *c = mem_new(sizeof *c);
    *c = (struct fetch_call){
        .fetcher = f, .conversation = k, .leader = k->leader, .fetch = fetch, .begun_ms = now_ms};
    lock_take(&f->worker.lock);
    f->counts.calls++;
    f->counts.under_way++;
    lock_give(&f->worker.lock);
    wire_fetch_encode(&fetch, &body);
    peer_post(f->peer, k->leader, url, "/_r/v1/fetch", buf_bytes(&body), fetch.wait_ms + ANSWER_MS,
              (struct peer_call_done){on_done, c});
    buf_fini(&body);
}

static void *run(void *self)
{
    struct cluster_fetcher *f = self;
    struct fetch_calls ended = TAILQ_HEAD_INITIALIZER(ended);
    int64_t now_ms = clock_boot_ms(f->options.clock), due_ms = now_ms;
    while (wait_for_work(f, due_ms, &ended)) {
        struct conversation *k;
        now_ms = clock_boot_ms(f->options.clock);
        due_ms = now_ms + IDLE_MS;
        conversation_bucket_fill(&f->bucket, now_ms);
        take_notes(f);
        take_ended(f, &ended, now_ms);
        LIST_FOREACH(k, &f->conversations.all, link)
        while (conversation_is_due(k, &f->bucket, now_ms, &due_ms))
            call_begin(f, k, now_ms);
    }
    take_ended(f, &ended, now_ms);
    return NULL;
}

/* ---- life ---- */

struct cluster_fetcher *cluster_fetcher_new(const struct cluster_fetcher_options *o)
{
    struct cluster_fetcher *f = mem_new(sizeof *f);
    f->options = *o;
    if (f->options.catchup_bytes_per_s == 0)
        f->options.catchup_bytes_per_s = CATCHUP_BYTES_PER_S;
    if (f->options.wait_ms == 0)
        f->options.wait_ms = WAIT_MS;
    cluster_worker_init(&f->worker, LOCK_RANK_FETCHES);
    TAILQ_INIT(&f->ended);
    conversations_init(&f->conversations);
    f->bucket.bytes_per_s = f->options.catchup_bytes_per_s;
    f->bucket.filled_ms = clock_boot_ms(o->clock);
    return f;
}

enum err cluster_fetcher_join(struct cluster_fetcher *f, struct peer *p, struct queue *q)
{
    f->peer = p;
    f->queue = q;
    return cluster_worker_join(&f->worker, run, f, "fetching from other brokers");
}

void cluster_fetcher_stop(struct cluster_fetcher *f)
{
    cluster_worker_stop(&f->worker);
}

void cluster_fetcher_free(struct cluster_fetcher *f)
{
    struct fetch_call *c;
    while ((c = TAILQ_FIRST(&f->ended)) != NULL) {
        TAILQ_REMOVE(&f->ended, c, link);
        f->counts.under_way--;
        call_free(c);
    }
    CHECK(f->counts.under_way == 0); /* peer_stop came before */
    conversations_fini(&f->conversations);
    mem_free(f->taken.at);
    mem_free(f->fresh.at);
    cluster_worker_fini(&f->worker);
    mem_free(f);
}

struct cluster_fetcher_counts cluster_fetcher_counts(struct cluster_fetcher *f)
{
    lock_take(&f->worker.lock);
    struct cluster_fetcher_counts c = f->counts;
    lock_give(&f->worker.lock);
    return c;
}

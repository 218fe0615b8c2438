// SPDX-License-Identifier: Apache-2.0
#include "cluster/serve.h"

#include <stdatomic.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "cluster/parked.h"
#include "cluster/worker.h"

enum {
    WAIT_MS_MAX = 5000,
    /* Of batches in an answer; what a follower asks for beyond is not given. */
    BYTES_MAX = 4 << 20,
    /* No share is cut below this while there is as much left: tiny reads cost more than they bring.
     */
    SHARE_BYTES_MIN = 64 << 10,
};

/* A snapshot that is asked for. */
struct snapshot_job {
    struct cluster_serve *serve;
    struct http_request *request;
    struct queue_copy_id of;
    uint64_t epoch;
    /* the job thread's until is_done, then the request's loop's */
    enum err e;
    struct buf snapshot;
    TAILQ_ENTRY(snapshot_job) link;
};

struct cluster_serve {
    const struct clock *clock;
    atomic_bool is_joined; /* guards the two below */
    struct peer *peer;
    struct queue *queue;
    atomic_uint turn; /* whose batches come first */
    struct parked parked;
    /* snapshots */
    struct cluster_worker worker;
    TAILQ_HEAD(, snapshot_job) jobs; /* guarded by its lock */
};

static struct queue_copy_id copy_id(const struct wire_partition *of)
{
    struct queue_copy_id id;
    memcpy(id.topic, of->topic, sizeof id.topic);
    id.partition = of->partition;
    return id;
}

/* False: it was answered. */
static bool is_open(struct cluster_serve *s, struct http_request *r)
{
    if (atomic_load_explicit(&s->is_joined, memory_order_acquire))
        return true;
    http_reply(r, 503, NULL, 0, NULL); /* unsigned: there may be no peer to sign with yet */
    return false;
}

static void reply_text(struct cluster_serve *s, struct http_request *r, int status,
                       const char *text)
{
    struct buf body = BUF_EMPTY;
    buf_put_text(&body, text);
    peer_reply(s->peer, r, status, &body);
}

/* ---- fetch ---- */

/* What the queue says of one part. A partition that is not here is answered as one that is led
 * elsewhere: the asker reads its key again. */
static void part_look(struct cluster_serve *s, struct parked_fetch *f, size_t i)
{
    struct parked_part *part = &f->parts[i];
    const struct replica_fetch *request = &f->fetch.parts[i].request;
    struct queue_copy_id id = copy_id(&f->fetch.parts[i].of);
    enum err e = queue_copy_fetch(s->queue, &id, request, &part->answer, &part->from,
                                  &part->has_batches, &part->may_park);
    if (e == ERR_OK)
        return;
    part->answer = (struct replica_answer){
        .status = REPLICA_FETCH_NOT_LEADER, .serial = request->serial, .epoch = request->epoch};
    part->has_batches = part->may_park = false;
}

/* Batches of one part, at most `share` bytes or one. False: they cannot be had, and nothing is said
 * of the part: its follower asks again when it has waited in vain, not at once. */
static bool part_put(struct cluster_serve *s, struct parked_fetch *f, size_t i, size_t share,
                     struct buf *out, size_t *bytes)
{
    struct parked_part *part = &f->parts[i];
    struct queue_copy_id id = copy_id(&f->fetch.parts[i].of);
    size_t before = out->n;
    size_t begin = wire_answer_part_begin(out, &f->fetch.parts[i].of, &part->answer);
    if (part->has_batches && share > 0 &&
        queue_copy_read(s->queue, &id, part->answer.epoch, part->from, share, out) != ERR_OK) {
        out->n = before;
        return false;
    }
    *bytes = out->n - begin;
    wire_answer_part_end(out, begin);
    return true;
}

/* The room is shared among those that have something, beginning at another one each time: so a
 * part that finds nothing left is the first one some time. */
static void answer_make(struct cluster_serve *s, struct parked_fetch *f, struct buf *out)
{
    size_t n = f->fetch.parts_n, sharers = 0;
    size_t left = f->fetch.bytes_max < BYTES_MAX ? f->fetch.bytes_max : BYTES_MAX;
    size_t first = n == 0 ? 0 : atomic_fetch_add(&s->turn, 1) % n;
    left = left == 0 ? 1 : left;
    for (size_t i = 0; i < n; i++)
        sharers += f->parts[i].has_batches;
    wire_answer_begin(out);
    for (size_t k = 0; k < n; k++) {
        size_t i = (first + k) % n, share = 0, bytes = 0;
        if (f->parts[i].has_batches) {
            share = left / sharers--;
            share = share < SHARE_BYTES_MIN ? SHARE_BYTES_MIN : share;
            share = share > left ? left : share;
        }
        if (part_put(s, f, i, share, out, &bytes))
            left -= bytes < left ? bytes : left;
    }
}

static void fetch_answer(struct cluster_serve *s, struct parked_fetch *f)
{
    struct buf out = BUF_EMPTY;
    parked_unregister(&s->parked, f);
    answer_make(s, f, &out);
    peer_reply(s->peer, f->request, 200, &out);
}

static void on_fetch_wake(void *self, struct http_request *r);

/* The parts were looked at: is anything new? */
static void fetch_settle(struct cluster_serve *s, struct parked_fetch *f)
{
    bool is_new = f->fetch.parts_n == 0;
    for (size_t i = 0; i < f->fetch.parts_n && !is_new; i++)
        is_new = !f->parts[i].may_park;
    if (is_new || clock_boot_ms(s->clock) >= f->until_boot_ms) {
        fetch_answer(s, f);
        return;
    }
    http_park(f->request, on_fetch_wake, f, f->until_boot_ms, true);
}

/* Parts that have not moved are answered as the last look said: nothing of it has changed but the
 * time. */
static void on_fetch_wake(void *self, struct http_request *r)
{
    struct parked_fetch *f = self;
    struct cluster_serve *s = f->owner;
    parked_take_moved(&s->parked, f);
    for (size_t i = 0; i < f->fetch.parts_n; i++)
        if (f->parts[i].needs_look)
            part_look(s, f, i);
    if (http_stopping(http_server_of(r)) || http_peer_gone(r))
        fetch_answer(s, f);
    else
        fetch_settle(s, f);
}

static void on_fetch_finish(void *self, bool written)
{
    struct parked_fetch *f = self;
    struct cluster_serve *s = f->owner;
    (void)written;
    parked_unregister(&s->parked, f);
    wire_fetch_fini(&f->fetch);
    mem_free(f->parts);
    mem_free(f);
}

/* A broker speaks for its own copies only: a position that another one is said to have reached
 * would commit what that one does not hold. */
static bool is_own(const struct wire_fetch *f, uint32_t from)
{
    for (size_t i = 0; i < f->parts_n; i++)
        if (f->parts[i].request.broker != from)
            return false;
    return true;
}

static void on_fetch(void *self, struct http_request *r, uint32_t from)
{
    struct cluster_serve *s = self;
    struct wire_fetch fetch;
    if (!is_open(s, r))
        return;
    if (wire_fetch_decode(http_body(r), &fetch) != ERR_OK) {
        reply_text(s, r, 400, "the fetch is malformed\n");
        return;
    }
    if (!is_own(&fetch, from)) {
        wire_fetch_fini(&fetch);
        reply_text(s, r, 403, "a part is another broker's\n");
        return;
    }
    struct parked_fetch *f = mem_new(sizeof *f);
    f->owner = s;
    f->request = r;
    f->from = from;
    f->fetch = fetch;
    f->parts = mem_new_array(fetch.parts_n, sizeof *f->parts);
    uint32_t wait_ms = fetch.wait_ms < WAIT_MS_MAX ? fetch.wait_ms : WAIT_MS_MAX;
    f->until_boot_ms = clock_boot_ms(s->clock) + wait_ms;
    http_on_finish(r, on_fetch_finish, f);
    for (size_t i = 0; i < fetch.parts_n; i++)
        f->parts[i].fetch = f;
    parked_register(&s->parked, f);
    for (size_t i = 0; i < fetch.parts_n; i++)
        part_look(s, f, i);
    fetch_settle(s, f);
}

void cluster_serve_moved(struct cluster_serve *s, const struct queue_copy_id *of)
{
    parked_moved(&s->parked, of);
}

/* ---- state ---- */

static void on_state(void *self, struct http_request *r, uint32_t from)
{
    struct cluster_serve *s = self;
    struct wire_partition *of;
    struct buf out = BUF_EMPTY;
    size_t n;
    (void)from;
    if (!is_open(s, r))
        return;
    if (wire_state_ask_decode(http_body(r), &of, &n) != ERR_OK) {
        reply_text(s, r, 400, "the question is malformed\n");
        return;
    }
    struct wire_state_part *parts = mem_new_array(n, sizeof *parts);
    for (size_t i = 0; i < n; i++) {
        struct queue_copy_id id = copy_id(&of[i]);
        parts[i].of = of[i];
        parts[i].is_there = queue_copy_look(s->queue, &id, &parts[i].status) == ERR_OK;
    }
    wire_state_encode(parts, n, &out);
    mem_free(parts);
    mem_free(of);
    peer_reply(s->peer, r, 200, &out);
}

/* ---- snapshots ---- */

static void on_snapshot_wake(void *self, struct http_request *r)
{
    struct snapshot_job *j = self;
    if (j->e == ERR_OK)
        peer_reply(j->serve->peer, r, 200, &j->snapshot);
    else
        reply_text(j->serve, r, j->e == ERR_STOPPING ? 503 : 404, "there is none\n");
}

static void on_snapshot_finish(void *self, bool written)
{
    struct snapshot_job *j = self;
    (void)written;
    buf_fini(&j->snapshot);
    mem_free(j);
}

/* False: no more are taken. */
static bool job_post(struct cluster_serve *s, struct snapshot_job *j)
{
    lock_take(&s->worker.lock);
    bool ok = !s->worker.is_stopping;
    if (ok) {
        TAILQ_INSERT_TAIL(&s->jobs, j, link);
        lock_signal_all(&s->worker.changed);
    }
    lock_give(&s->worker.lock);
    return ok;
}

static void on_snapshot(void *self, struct http_request *r, uint32_t from)
{
    struct cluster_serve *s = self;
    struct wire_partition of;
    uint64_t epoch;
    (void)from;
    if (!is_open(s, r))
        return;
    if (wire_snapshot_ask_decode(http_body(r), &of, &epoch) != ERR_OK) {
        reply_text(s, r, 400, "the question is malformed\n");
        return;
    }
    struct snapshot_job *j = mem_new(sizeof *j);
    *j = (struct snapshot_job){.serve = s, .request = r, .of = copy_id(&of), .epoch = epoch};
    http_on_finish(r, on_snapshot_finish, j);
    if (job_post(s, j))
        http_park(r, on_snapshot_wake, j, 0, false); /* a wake that was earlier is not lost */
    else
        reply_text(s, r, 503, "the broker is stopping\n");
}

/* The next job, or NULL: it is time to stop, and none is left. */
static struct snapshot_job *job_next(struct cluster_serve *s, bool *is_stopping)
{
    lock_take(&s->worker.lock);
    while (TAILQ_EMPTY(&s->jobs) && !s->worker.is_stopping)
        lock_signal_wait(&s->worker.changed, &s->worker.lock, -1);
    struct snapshot_job *j = TAILQ_FIRST(&s->jobs);
    if (j != NULL)
        TAILQ_REMOVE(&s->jobs, j, link);
    *is_stopping = s->worker.is_stopping;
    lock_give(&s->worker.lock);
    return j;
}

static void *snapshots_run(void *self)
{
    struct cluster_serve *s = self;
    struct snapshot_job *j;
    bool is_stopping;
    while ((j = job_next(s, &is_stopping)) != NULL) {
        j->e = is_stopping ? ERR_STOPPING
                           : queue_copy_snapshot_read(s->queue, &j->of, j->epoch, &j->snapshot);
        http_wake(j->request); /* the mailbox's lock hands j over to the loop */
    }
    return NULL;
}

/* ---- life ---- */

struct cluster_serve *cluster_serve_new(const struct clock *clock)
{
    struct cluster_serve *s = mem_new(sizeof *s);
    s->clock = clock;
    parked_init(&s->parked);
    cluster_worker_init(&s->worker, LOCK_RANK_PARKED);
    TAILQ_INIT(&s->jobs);
    return s;
}

void cluster_serve_routes(struct cluster_serve *s, struct peer_route out[CLUSTER_SERVE_ROUTES])
{
    out[0] = (struct peer_route){"/_r/v1/fetch", on_fetch, s};
    out[1] = (struct peer_route){"/_r/v1/state", on_state, s};
    out[2] = (struct peer_route){"/_r/v1/snapshot", on_snapshot, s};
}

enum err cluster_serve_join(struct cluster_serve *s, struct peer *p, struct queue *q)
{
    s->peer = p;
    s->queue = q;
    enum err e = cluster_worker_join(&s->worker, snapshots_run, s, "reading snapshots");
    if (e == ERR_OK)
        atomic_store_explicit(&s->is_joined, true, memory_order_release);
    return e;
}

/* What is parked by then is answered as the listener stops (peer_stop). */
void cluster_serve_stop(struct cluster_serve *s)
{
    if (atomic_exchange(&s->is_joined, false))
        cluster_worker_stop(&s->worker);
}

void cluster_serve_free(struct cluster_serve *s)
{
    parked_fini(&s->parked);
    CHECK(TAILQ_EMPTY(&s->jobs));
    cluster_worker_fini(&s->worker);
    mem_free(s);
}

struct cluster_serve_counts cluster_serve_counts(struct cluster_serve *s)
{
    return parked_counts(&s->parked);
}

// SPDX-License-Identifier: Apache-2.0
#include "cluster_double.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "peer/wire.h"

enum { BATCH_HEAD = 16, EPOCH = 4 };

struct double_world double_world;

void double_world_reset(void)
{
    double_world.clock = clock_system();
    for (int i = 0; i < DOUBLE_BROKERS_MAX; i++)
        double_world.ports[i] = 0;
    double_world.is_in_sync = NULL;
    double_world.catchup_bytes_per_s = 0;
    double_world.wait_ms = 0;
}

int64_t double_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

struct queue_copy_id double_id(uint32_t part)
{
    struct queue_copy_id id = {.partition = part};
    memset(id.topic, 7, sizeof id.topic);
    return id;
}

static struct double_part *part_of(struct queue *q, const struct queue_copy_id *of)
{
    return of->topic[0] == 7 && of->partition < q->parts_n ? &q->parts[of->partition] : NULL;
}

/* ---- the queue's side: leaders ---- */

enum err queue_copy_fetch(struct queue *q, const struct queue_copy_id *of,
                          const struct replica_fetch *request, struct replica_answer *answer,
                          uint64_t *from, bool *has_batches, bool *may_park)
{
    struct double_part *p = part_of(q, of);
    void (*on_nothing)(struct queue * q, uint32_t part) = q->on_nothing;
    bool is_new = false, is_here;
    q->looks++;
    pthread_mutex_lock(&q->lock);
    is_here = p != NULL && p->leader == q->broker;
    if (is_here) {
        p->acked[request->broker] = request->offset;
        is_new = request->offset < p->end;
        *answer = (struct replica_answer){.status = REPLICA_FETCH_OK,
                                          .serial = request->serial,
                                          .epoch = EPOCH,
                                          .high_water = p->end};
        *from = request->offset;
        *has_batches = is_new;
        *may_park = !is_new;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    if (is_here && !is_new && on_nothing != NULL)
        on_nothing(q, of->partition);
    return is_here ? ERR_OK : ERR_NOT_FOUND;
}

enum err queue_copy_read(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                         uint64_t from, size_t bytes_max, struct buf *out)
{
    struct double_part *p = part_of(q, of);
    size_t before = out->n;
    CHECK(p != NULL && epoch == EPOCH && bytes_max > 0);
    if (q->fail_reads > 0)
        return ERR_IO;
    pthread_mutex_lock(&q->lock);
    for (uint64_t at = from; at < p->end; at++) {
        if (out->n > before && out->n - before + q->batch_bytes > bytes_max)
            break;
        buf_reserve(out, q->batch_bytes);
        memset(out->at + out->n, 'b', q->batch_bytes);
        le_store_u64(out->at + out->n, at);
        le_store_u64(out->at + out->n + 8, q->batch_bytes);
        out->n += q->batch_bytes;
    }
    pthread_mutex_unlock(&q->lock);
    return out->n > before ? ERR_OK : ERR_NOT_FOUND;
}

enum err queue_copy_look(struct queue *q, const struct queue_copy_id *of,
                         struct replica_status *out)
{
    struct double_part *p = part_of(q, of);
    if (p == NULL || p->leader == 0)
        return ERR_NOT_FOUND;
    *out = (struct replica_status){.epoch = EPOCH, .leader = p->leader, .durable_end = p->end};
    return ERR_OK;
}

enum err queue_copy_snapshot_read(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                                  struct buf *out)
{
    CHECK(part_of(q, of) != NULL && epoch == EPOCH);
    if (q->snapshot_bytes == 0)
        return ERR_NOT_FOUND;
    buf_reserve(out, q->snapshot_bytes);
    memset(out->at, 's', q->snapshot_bytes);
    out->n = q->snapshot_bytes;
    return ERR_OK;
}

/* ---- followers ---- */

void queue_copy_snapshot_put(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                             struct bytes snapshot)
{
    CHECK(part_of(q, of) != NULL && epoch == EPOCH);
    pthread_mutex_lock(&q->lock);
    q->puts += snapshot.n > 0;
    q->failed_puts += snapshot.n == 0;
    q->put_bytes += snapshot.n;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static void note_next_locked(struct queue *q, const struct queue_copy_id *of)
{
    struct double_part *p = part_of(q, of);
    struct replica_fetch request = {.broker = q->broker,
                                    .serial = ++p->serial,
                                    .epoch = EPOCH,
                                    .offset = p->end,
                                    .last_epoch = p->end == 0 ? 0 : EPOCH};
    cluster_fetcher_note(q->owner->fetcher, of, p->leader, &request);
}

static void store_locked(struct queue *q, struct double_part *p, struct bytes batches)
{
    const char *at = batches.at;
    q->bytes += batches.n;
    for (size_t n = 0; n < batches.n;) {
        CHECK(batches.n - n >= BATCH_HEAD);
        CHECK(le_load_u64(at + n) == p->end);
        n += le_load_u64(at + n + 8);
        CHECK(n <= batches.n && at[n - 1] == 'b');
        p->end++;
    }
}

void queue_copy_answer(struct queue *q, const struct queue_copy_id *of, uint32_t leader,
                       const struct replica_answer *answer, struct bytes batches)
{
    struct double_part *p = part_of(q, of);
    pthread_mutex_lock(&q->lock);
    CHECK(p != NULL && leader == p->leader);
    if (answer->serial != p->serial) {
        p->stale++;
    } else {
        p->answers++;
        p->status = answer->status;
        store_locked(q, p, batches);
        if (p->asks_on && answer->status == REPLICA_FETCH_OK)
            note_next_locked(q, of);
    }
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

/* ---- brokers ---- */

static bool url_of(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1])
{
    int port = double_world.ports[broker];
    (void)self;
    snprintf(out, PEER_URL_BYTES_MAX + 1, "http://127.0.0.1:%d", port);
    return port != 0;
}

static void on_lost(void *self, uint32_t broker, enum err e)
{
    struct broker *b = self;
    (void)broker;
    b->loss = e;
    b->losses++;
    pthread_mutex_lock(&b->queue.lock);
    pthread_cond_broadcast(&b->queue.changed);
    pthread_mutex_unlock(&b->queue.lock);
}

static void queue_init(struct broker *b, size_t parts_n, size_t batch_bytes)
{
    struct queue *q = &b->queue;
    CHECK(batch_bytes > BATCH_HEAD);
    q->broker = b->id;
    q->owner = b;
    q->parts_n = parts_n;
    q->parts = mem_new_array(parts_n, sizeof *q->parts);
    q->batch_bytes = batch_bytes;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
}

void double_start(struct broker *b, uint32_t id, size_t parts_n, size_t batch_bytes)
{
    memset(b, 0, sizeof *b);
    b->id = id;
    queue_init(b, parts_n, batch_bytes);
    const struct cluster_fetcher_options fetching = {
        .clock = &double_world.clock,
        .self = b,
        .url = url_of,
        .is_in_sync = double_world.is_in_sync,
        .lost = on_lost,
        .catchup_bytes_per_s = double_world.catchup_bytes_per_s,
        .wait_ms = double_world.wait_ms,
    };
    b->serve = cluster_serve_new(&double_world.clock);
    b->fetcher = cluster_fetcher_new(&fetching);
    b->snapshots = cluster_snapshots_new(&fetching, b->fetcher);
    cluster_serve_routes(b->serve, b->routes);
    const struct peer_options o = {.address = "127.0.0.1",
                                   .broker = id,
                                   .cluster = "test",
                                   .key = BYTES_OF("a key of the tests"),
                                   .clock = &double_world.clock,
                                   .rng = {id},
                                   .routes = b->routes,
                                   .routes_n = CLUSTER_SERVE_ROUTES};
    CHECK(peer_start(&o, &b->peer) == ERR_OK);
    double_world.ports[id] = peer_port(b->peer);
    CHECK(cluster_serve_join(b->serve, b->peer, &b->queue) == ERR_OK);
    CHECK(cluster_fetcher_join(b->fetcher, b->peer, &b->queue) == ERR_OK);
    CHECK(cluster_snapshots_join(b->snapshots, b->peer, &b->queue) == ERR_OK);
}

void double_stop(struct broker *b)
{
    if (b->peer == NULL)
        return;
    cluster_fetcher_stop(b->fetcher);
    cluster_snapshots_stop(b->snapshots);
    cluster_serve_stop(b->serve);
    peer_stop(b->peer);
    cluster_fetcher_free(b->fetcher);
    cluster_snapshots_free(b->snapshots);
    cluster_serve_free(b->serve);
    mem_free(b->queue.parts);
    b->peer = NULL;
}

void double_lead(struct broker *b, uint32_t leader)
{
    pthread_mutex_lock(&b->queue.lock);
    for (size_t i = 0; i < b->queue.parts_n; i++)
        b->queue.parts[i].leader = leader;
    pthread_mutex_unlock(&b->queue.lock);
}

/* With the lock held, as a queue does it. */
void double_append(struct broker *b, uint32_t part, uint64_t n)
{
    const struct queue_copy_id of = double_id(part);
    pthread_mutex_lock(&b->queue.lock);
    b->queue.parts[part].end += n;
    cluster_serve_moved(b->serve, &of);
    pthread_mutex_unlock(&b->queue.lock);
}

void double_ask(struct broker *b, uint32_t part)
{
    const struct queue_copy_id of = double_id(part);
    pthread_mutex_lock(&b->queue.lock);
    b->queue.parts[part].asks_on = true;
    note_next_locked(&b->queue, &of);
    pthread_mutex_unlock(&b->queue.lock);
}

static bool wait_locked(struct broker *b)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20 * 1000000; /* what nobody tells of is looked at again */
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return pthread_cond_timedwait(&b->queue.changed, &b->queue.lock, &until) != EINVAL;
}

bool double_wait_end(struct broker *b, uint32_t part, uint64_t end)
{
    int64_t until_us = double_now_us() + DOUBLE_WAIT_MS * 1000LL;
    pthread_mutex_lock(&b->queue.lock);
    while (b->queue.parts[part].end < end && double_now_us() < until_us)
        wait_locked(b);
    bool ok = b->queue.parts[part].end >= end;
    pthread_mutex_unlock(&b->queue.lock);
    return ok;
}

bool double_wait(struct broker *b, bool (*is_so)(struct broker *b))
{
    int64_t until_us = double_now_us() + DOUBLE_WAIT_MS * 1000LL;
    pthread_mutex_lock(&b->queue.lock);
    while (!is_so(b) && double_now_us() < until_us)
        wait_locked(b);
    bool ok = is_so(b);
    pthread_mutex_unlock(&b->queue.lock);
    return ok;
}

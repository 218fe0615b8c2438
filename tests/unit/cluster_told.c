// SPDX-License-Identifier: Apache-2.0
#include "cluster_told.h"

#include <check.h>
#include <string.h>

#include "catalog/topic.h"

pthread_mutex_t told_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t told_changed = PTHREAD_COND_INITIALIZER;
const uint8_t told_topic[16] = {0xcd, 9};

static void told(void)
{
    pthread_cond_broadcast(&told_changed);
    pthread_mutex_unlock(&told_mutex);
}

const char *queue_store_uuid(const struct queue *q)
{
    return q->uuid;
}

enum err queue_copy_topic(struct queue *q, const struct topic_config *config, int64_t rev,
                          const struct replica_key *keys)
{
    enum err e = ERR_OK;
    pthread_mutex_lock(&told_mutex);
    ck_assert(config->partitions <= TOLD_PARTITIONS_MAX && rev > 0);
    if (q->refusals > 0) {
        q->refusals--;
        e = ERR_BUSY;
    } else {
        q->has_topic = true;
        q->partitions = config->partitions;
        memcpy(q->keys, keys, config->partitions * sizeof keys[0]);
    }
    told();
    return e;
}

void queue_copy_topic_gone(struct queue *q, const uint8_t id[16])
{
    pthread_mutex_lock(&told_mutex);
    q->is_gone = memcmp(id, told_topic, sizeof told_topic) == 0;
    told();
}

void queue_copy_redrives(struct queue *q, const uint8_t id[16], struct bytes value, int64_t rev)
{
    (void)id;
    pthread_mutex_lock(&told_mutex);
    ck_assert(q->has_topic && rev > 0 && bytes_equal(value, BYTES_OF("redrives")));
    q->redrives_told++;
    told();
}

void queue_copy_key(struct queue *q, const struct queue_copy_id *of, const struct replica_key *key,
                    uint64_t serial)
{
    pthread_mutex_lock(&told_mutex);
    if (key->version >= q->keys[of->partition].version)
        q->keys[of->partition] = *key;
    if (serial != 0) {
        q->serial = serial;
        q->read_version = key->version;
    }
    told();
}

void queue_copy_swapped(struct queue *q, const struct queue_copy_id *of, uint64_t op,
                        enum replica_swap_outcome outcome, int64_t version)
{
    pthread_mutex_lock(&told_mutex);
    (void)of;
    q->swapped_op = op;
    q->outcome = outcome;
    q->swapped_version = version;
    told();
}

void queue_copy_session(struct queue *q, uint32_t broker, bool is_live, bool is_draining)
{
    pthread_mutex_lock(&told_mutex);
    q->sessions[broker] = !is_live ? 1 : is_draining ? 3 : 2;
    told();
}

void queue_pass_end(struct queue *q)
{
    (void)q; /* nothing is ever appended */
}

void queue_copy_tick(struct queue *q)
{
    pthread_mutex_lock(&told_mutex);
    q->ticks++;
    told();
}

/* It leads whatever the last key said it leads. */
enum err queue_copy_look(struct queue *q, const struct queue_copy_id *of,
                         struct replica_status *out)
{
    pthread_mutex_lock(&told_mutex);
    const struct replica_key *k = &q->keys[of->partition];
    *out = (struct replica_status){.health = REPLICA_HEALTH_OK,
                                   .incarnation = q->incarnation,
                                   .epoch = k->epoch,
                                   .is_leading = k->leader == q->incarnation,
                                   .durable_end = 10,
                                   .last_epoch = q->last_epoch};
    enum err e = q->has_topic ? ERR_OK : ERR_NOT_FOUND;
    pthread_mutex_unlock(&told_mutex);
    return e;
}

/* No batches are carried here: test_cluster_data.c has those. */
enum err queue_copy_fetch(struct queue *q, const struct queue_copy_id *of,
                          const struct replica_fetch *request, struct replica_answer *answer,
                          uint64_t *from, bool *has_batches, bool *may_park)
{
    (void)q, (void)of, (void)request, (void)answer, (void)from, (void)has_batches, (void)may_park;
    return ERR_NOT_FOUND;
}

enum err queue_copy_read(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                         uint64_t from, size_t bytes_max, struct buf *out)
{
    (void)q, (void)of, (void)epoch, (void)from, (void)bytes_max, (void)out;
    return ERR_NOT_FOUND;
}

enum err queue_copy_snapshot_read(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                                  struct buf *out)
{
    (void)q, (void)of, (void)epoch, (void)out;
    return ERR_NOT_FOUND;
}

void queue_copy_snapshot_put(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                             struct bytes snapshot)
{
    (void)q, (void)of, (void)epoch, (void)snapshot;
}

void queue_copy_answer(struct queue *q, const struct queue_copy_id *of, uint32_t leader,
                       const struct replica_answer *answer, struct bytes batches)
{
    (void)q, (void)of, (void)leader, (void)answer, (void)batches;
}

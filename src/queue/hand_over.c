// SPDX-License-Identifier: Apache-2.0
#include "queue/hand_over.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "catalog/partition_key.h"
#include "catalog/topic.h"
#include "queue/state.h"

enum { OPS_MAX = 120, KEY_ROOM = CATALOG_KEY_BYTES_MAX + 1 };

/* ---- may it be? ---- */

/* Half-made and half-deleted topics were finished when the queue was opened, if they could be. */
static enum err topics_check(struct queue *q)
{
    struct catalog_kvs kvs = {0};
    enum err e = catalog_list(q->catalog, "t/", &kvs);
    for (size_t i = 0; i < kvs.n && e == ERR_OK; i++) {
        struct topic_config config;
        e = topic_config_decode(kvs.at[i].value, &config);
        if (e != ERR_OK)
            break;
        if (config.state != TOPIC_READY) {
            note(NOTE_ERROR, "queue", "topic %s is half made or half deleted: start without --etcd",
                 config.name);
            e = ERR_CLOSED;
        }
        topic_config_fini(&config);
    }
    catalog_kvs_fini(&kvs);
    return e;
}

static enum err partitions_check(struct queue_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        const struct queue_partition *p = &t->partitions[i];
        if (!p->closed)
            continue;
        note(NOTE_ERROR, "queue",
             "topic %s, partition %u is closed (%s): repair it, or delete the topic, before the "
             "data go into a cluster",
             t->name, (unsigned)i, p->where);
        return ERR_CLOSED;
    }
    return ERR_OK;
}

enum err queue_hand_over_check(struct queue *q, struct catalog *to)
{
    CHECK(q->links == NULL && !q->threads);
    size_t n;
    enum err e = catalog_copy_judge(q->catalog, to);
    if (e == ERR_CONFLICT)
        note(NOTE_ERROR, "queue",
             "this data directory is a single node's, and its messages cannot be added to the "
             "cluster that etcd holds already: join that with an empty directory, or name an "
             "empty --cluster for this one");
    if (e != ERR_OK)
        return e;
    e = topics_check(q);
    struct queue_topic **topics = topics_lend(q, &n);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = partitions_check(topics[i]);
    topics_give_back(topics, n);
    return e;
}

/* ---- keys ---- */

struct keys {
    struct queue *q;
    uint32_t broker;
    struct catalog_op ops[OPS_MAX];
    char names[OPS_MAX][KEY_ROOM];
    struct buf values[OPS_MAX];
    size_t n;
};

static enum err keys_put(struct keys *k)
{
    for (size_t i = 0; i < k->n; i++) {
        k->ops[i].key = k->names[i];
        k->ops[i].value = buf_bytes(&k->values[i]);
    }
    enum err e = k->n == 0 ? ERR_OK : catalog_txn(k->q->catalog, NULL, 0, k->ops, k->n, NULL);
    for (size_t i = 0; i < k->n; i++)
        buf_fini(&k->values[i]);
    k->n = 0;
    return e;
}

/* The count of starts is above the epoch of everything that earlier lives have written, and of what
 * this one may have; whoever is elected gets the next one. */
static void key_make(const struct keys *k, const struct queue_partition *p, struct buf *json)
{
    struct replica_key key = {
        .epoch = k->q->epoch,
        .min_isr = 1,
        .members_n = 1,
        .members = {{.broker = k->broker, .in_isr = true, .incarnation = plog_incarnation(p->log)}},
    };
    catalog_partition_encode(&key, json);
}

static enum err keys_of_topic(struct keys *k, const struct queue_topic *t)
{
    enum err e = ERR_OK;
    for (uint32_t i = 0; i < t->partitions_n && e == ERR_OK; i++) {
        catalog_key_partition(k->names[k->n], t->id.at, i);
        key_make(k, &t->partitions[i], &k->values[k->n]);
        if (++k->n == OPS_MAX)
            e = keys_put(k);
    }
    return e;
}

/* Into the node's own catalogue, from where all is copied. A node that is alone never reads them.
 */
static enum err keys_make(struct keys *k, struct bytes meta)
{
    size_t n;
    enum err e = ERR_OK;
    struct queue_topic **topics = topics_lend(k->q, &n);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = keys_of_topic(k, topics[i]);
    topics_give_back(topics, n);
    if (e == ERR_OK)
        e = keys_put(k);
    struct catalog_op op = {.key = "meta", .value = meta};
    return e == ERR_OK ? catalog_txn(k->q->catalog, NULL, 0, &op, 1, NULL) : e;
}

/* A crash after the copy, and this is another start: its epoch was counted again, and the keys that
 * were copied have the one before. Nobody but this broker can have led, and it has not yet joined,
 * so they are as they were copied. */
static enum err key_raise(struct queue *q, struct catalog *to, const struct catalog_kv *kv)
{
    struct replica_key key;
    enum err e = catalog_partition_decode(kv->value, kv->mod_rev, &key);
    if (e != ERR_OK || key.epoch >= q->epoch)
        return e;
    struct buf json = BUF_EMPTY;
    key.epoch = q->epoch;
    catalog_partition_encode(&key, &json);
    struct catalog_cmp same = {kv->key, CATALOG_MOD, kv->mod_rev};
    struct catalog_op op = {.key = kv->key, .value = buf_bytes(&json)};
    e = catalog_txn(to, &same, 1, &op, 1, NULL);
    buf_fini(&json);
    return e;
}

static enum err keys_raise(struct queue *q, struct catalog *to)
{
    struct catalog_kvs kvs = {0};
    enum err e = catalog_list(to, "p/", &kvs);
    for (size_t i = 0; i < kvs.n && e == ERR_OK; i++) {
        /* Topics that others have made since then are not ours to touch. */
        struct catalog_kv own = {.key = NULL};
        e = catalog_get(q->catalog, kvs.at[i].key, &own);
        if (e == ERR_OK)
            e = key_raise(q, to, &kvs.at[i]);
        else if (e == ERR_NOT_FOUND)
            e = ERR_OK;
        catalog_kv_fini(&own);
    }
    catalog_kvs_fini(&kvs);
    return e;
}

enum err queue_hand_over(struct queue *q, uint32_t broker, struct bytes meta, struct catalog *to)
{
    CHECK(q->links == NULL && !q->threads);
    struct keys *k = mem_new(sizeof *k);
    k->q = q;
    k->broker = broker;
    enum err e = keys_make(k, meta);
    mem_free(k);
    if (e == ERR_OK)
        e = catalog_copy(q->catalog, to);
    return e == ERR_OK ? keys_raise(q, to) : e;
}

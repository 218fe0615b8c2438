// SPDX-License-Identifier: Apache-2.0
/* Topics are made, changed and dropped: always the catalogue first, so that a start finds out what
 * was under way.
 *
 *   create: n/, t/ (creating), g/, p/ in one transaction -> logs -> GROUP committed -> t/ is ready
 *   drop:   n/ away and t/ is deleting, in one transaction -> logs -> t/, g/, p/ away */
#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/mem.h"
#include "base/note.h"
#include "catalog/partition_key.h"
#include "catalog/topic.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

enum { KEY_ROOM = CATALOG_KEY_BYTES_MAX + 1, OPS_MAX = TOPIC_PARTITIONS_MAX + 4, BROKER = 1 };
_Static_assert((int)OPS_MAX <= (int)CATALOG_TXN_MAX, "a topic is made in one transaction");

/* Operations of one transaction with their keys and values. */
struct change {
    struct catalog_op ops[OPS_MAX];
    char keys[OPS_MAX][KEY_ROOM];
    struct buf values[OPS_MAX];
    size_t n;
};

static char *next_key(struct change *c)
{
    CHECK(c->n < OPS_MAX);
    return c->keys[c->n];
}

static struct buf *put_value(struct change *c)
{
    struct catalog_op *op = &c->ops[c->n];
    op->key = c->keys[c->n];
    return &c->values[c->n++];
}

static void drop_key(struct change *c)
{
    c->ops[c->n] = (struct catalog_op){.key = c->keys[c->n], .drop = 1};
    c->n++;
}

static enum err run(struct queue *q, struct change *c, const struct catalog_cmp *cmp, int64_t *rev)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->ops[i].drop)
            c->ops[i].value = buf_bytes(&c->values[i]);
    enum err e = catalog_txn(q->catalog, cmp, cmp == NULL ? 0 : 1, c->ops, c->n, rev);
    for (size_t i = 0; i < c->n; i++)
        buf_fini(&c->values[i]);
    c->n = 0;
    return e;
}

static void drop_keys(struct change *c, const struct topic_config *config, bool with_name)
{
    if (with_name) {
        catalog_key_name(next_key(c), config->name);
        drop_key(c);
    }
    catalog_key_topic(next_key(c), config->id);
    drop_key(c);
    catalog_key_group(next_key(c), config->id, "default");
    drop_key(c);
    catalog_key_redrives(next_key(c), config->id);
    drop_key(c);
    for (uint32_t i = 0; i < config->partitions; i++) {
        catalog_key_partition(next_key(c), config->id, i);
        drop_key(c);
    }
}

enum err topic_keys_drop(struct queue *q, const struct topic_config *config)
{
    struct change *c = mem_new(sizeof *c);
    drop_keys(c, config, false);
    enum err e = run(q, c, NULL, NULL);
    mem_free(c);
    return e;
}

/* Settings that a start would refuse to read must never be stored. */
static enum err check_sound(const struct topic_config *config)
{
    struct buf json = BUF_EMPTY;
    struct topic_config copy;
    topic_config_encode(config, &json);
    enum err e = topic_config_decode(buf_bytes(&json), &copy);
    if (e == ERR_OK)
        topic_config_fini(&copy);
    buf_fini(&json);
    return e == ERR_OK ? ERR_OK : ERR_INVALID;
}

/* ---- create ---- */

/* `members`: of each partition, in a cluster; NULL: this broker is alone. */
static enum err keys_create(struct queue *q, const struct topic_config *config,
                            const struct replica_key *members, int64_t *rev)
{
    struct change *c = mem_new(sizeof *c);
    char name_key[KEY_ROOM];
    catalog_key_name(next_key(c), config->name);
    memcpy(name_key, next_key(c), sizeof name_key);
    codec_hex_put(put_value(c), (struct bytes){config->id, sizeof config->id});
    catalog_key_topic(next_key(c), config->id);
    topic_config_encode(config, put_value(c));
    catalog_key_group(next_key(c), config->id, "default");
    struct group_config group = {.gid = GID_DEFAULT, .generation = GENERATION_FIRST};
    group_config_encode(&group, put_value(c));
    for (uint32_t i = 0; i < config->partitions; i++) {
        catalog_key_partition(next_key(c), config->id, i);
        if (members != NULL)
            catalog_partition_encode(&members[i], put_value(c));
        else
            partition_config_encode(BROKER, q->epoch, put_value(c));
    }
    struct catalog_cmp absent = {name_key, CATALOG_MOD, 0};
    enum err e = run(q, c, &absent, rev);
    mem_free(c);
    return e == ERR_CONFLICT ? ERR_EXISTS : e;
}

static enum err store(struct queue *q, const struct topic_config *config, int64_t old_rev,
                      int64_t *rev)
{
    char key[KEY_ROOM];
    struct buf value = BUF_EMPTY;
    catalog_key_topic(key, config->id);
    topic_config_encode(config, &value);
    struct catalog_cmp same = {key, CATALOG_MOD, old_rev};
    struct catalog_op put = {.key = key, .value = buf_bytes(&value)};
    enum err e = catalog_txn(q->catalog, &same, 1, &put, 1, rev);
    buf_fini(&value);
    return e;
}

static enum err logs_create(struct queue_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        struct plog_id id = {.partition = i};
        struct plog_log *log;
        if (p->log != NULL)
            continue;
        memcpy(id.topic, t->id.at, sizeof id.topic);
        enum err e = plog_create(t->q->plog, id, &log);
        if (e != ERR_OK)
            return e;
        partition_attach(p, log);
    }
    return ERR_OK;
}

static void group_create(struct queue_partition *p)
{
    struct partition_group_info group;
    if (p->topic->compact)
        return;
    lock_take(&p->lk);
    if (!p->closed && !partition_group_find(p->state, GID_DEFAULT, &group)) {
        struct record r = {.type = RECORD_GROUP};
        r.group = (struct record_group){
            .gid = GID_DEFAULT,
            .name = BYTES_OF("default"),
            .generation = GENERATION_FIRST,
        };
        struct appending a;
        append_begin_locked(&a, p, partition_now_ms(p));
        append_put_locked(&a, &r);
        append_end_locked(&a, true);
    }
    lock_give(&p->lk);
}

enum err topic_create_finish(struct queue_topic *t)
{
    enum err e = logs_create(t);
    if (e != ERR_OK)
        return e;
    for (uint32_t i = 0; i < t->partitions_n; i++)
        group_create(&t->partitions[i]);
    e = wait_for_topic(t);
    if (e != ERR_OK)
        return e;
    struct topic_config ready;
    int64_t rev = 0;
    topic_config_copy(&ready, queue_topic_config(t));
    ready.state = TOPIC_READY;
    e = store(t->q, &ready, topic_settings_now(t)->rev, &rev);
    if (e == ERR_OK)
        topic_settings_swap(t, &ready, rev);
    else
        topic_config_fini(&ready);
    return e;
}

static void logs_remove(struct queue_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        if (p->log == NULL)
            continue;
        enum err e = plog_remove(t->q->plog, p->log);
        if (e != ERR_OK)
            note(NOTE_WARNING, "queue", "topic %s, partition %u: its files stay until a start: %s",
                 t->name, (unsigned)i, err_text(e));
        lock_take(&p->lk);
        p->closed = true;
        p->log = NULL;
        lock_give(&p->lk);
    }
}

/* What cannot be taken back is taken back at the next start, or finished. Once the catalogue has
 * failed it may hold the topic as ready, which must not be without its logs then. */
static void create_undo(struct queue_topic *t)
{
    struct queue *q = t->q;
    if (catalog_failed(q->catalog))
        return;
    logs_remove(t);
    if (plog_failed(q->plog)) /* files may be left, and the keys say whose they are */
        return;
    struct change *c = mem_new(sizeof *c);
    drop_keys(c, queue_topic_config(t), true);
    if (run(q, c, NULL, NULL) != ERR_OK)
        note(NOTE_WARNING, "queue", "topic %s stays half made until a start", t->name);
    mem_free(c);
}

static enum err may_create(struct queue *q, const struct topic_config *want)
{
    struct queue_topic *there;
    CHECK(want->partitions >= 1 && want->partitions <= TOPIC_PARTITIONS_MAX);
    if (plog_failed(q->plog))
        return ERR_FAILED;
    if (q->links == NULL && (want->copies > 1 || want->min_isr > 1))
        return ERR_ALONE;
    if (__atomic_load_n(&q->space_low, __ATOMIC_RELAXED))
        return ERR_NO_SPACE;
    if (queue_topic_find(q, bytes_of_text(want->name), &there) == ERR_OK) {
        queue_topic_give_back(there);
        return ERR_EXISTS;
    }
    lock_take(&q->topics_lk);
    bool full = HASH_CNT(by_name, q->topics_by_name) >= TOPICS_MAX;
    lock_give(&q->topics_lk);
    return full ? ERR_FULL : ERR_OK;
}

/* In a cluster the topic is there once it is in the catalogue; its brokers make their logs and
 * elect leaders, and the first leader of each partition makes its group. */
static enum err create_among_others(struct queue *q, struct topic_config *config,
                                    struct queue_topic **out)
{
    struct replica_key *keys = NULL;
    struct uuid id;
    int64_t rev = 0;
    config->state = TOPIC_READY;
    enum err e = copy_place(q, config, &keys);
    if (e == ERR_OK)
        e = check_sound(config);
    if (e == ERR_OK)
        e = keys_create(q, config, keys, &rev);
    for (uint32_t i = 0; e == ERR_OK && i < config->partitions; i++)
        keys[i].version = rev;
    if (e == ERR_OK)
        e = queue_copy_topic(q, config, rev, keys);
    mem_free(keys);
    memcpy(id.at, config->id, sizeof id.at);
    topic_config_fini(config);
    if (e == ERR_OK)
        e = topic_find_by_id(q, &id, out);
    if (e == ERR_OK)
        copy_wait_for_leaders(*out);
    return e;
}

enum err queue_topic_create(struct queue *q, const struct topic_config *want,
                            struct queue_topic **out)
{
    struct topic_config config;
    int64_t rev = 0;
    enum err e = may_create(q, want);
    if (e != ERR_OK)
        return e;
    topic_config_copy(&config, want);
    lock_take(&q->topics_lk);
    rng_fill(&q->rng, config.id, sizeof config.id);
    lock_give(&q->topics_lk);
    config.state = TOPIC_CREATING;
    config.created_wall_ms = config.modified_wall_ms = clock_wall_ms(q->clock);
    if (q->links != NULL)
        return create_among_others(q, &config, out);
    config.copies = config.min_isr = 0; /* there is nothing to choose */
    e = check_sound(&config);
    if (e == ERR_OK)
        e = keys_create(q, &config, NULL, &rev);
    if (e != ERR_OK) {
        topic_config_fini(&config);
        return e;
    }
    struct queue_topic *t = topic_new(q, &config, rev);
    e = topic_create_finish(t);
    if (e != ERR_OK) {
        create_undo(t);
        bool logs_know_it = catalog_failed(q->catalog);
        lock_take(&q->topics_lk);
        t->freed_at_ms = logs_know_it ? INT64_MAX : queue_now_ms(q);
        t->dropped_next = q->freed;
        q->freed = t;
        lock_give(&q->topics_lk);
        return e;
    }
    topic_lend(t);
    topic_register(t);
    advice_after_change(t, 0, INT64_MIN);
    *out = t;
    return ERR_OK;
}

/* ---- change ---- */

static enum err check_version(const struct catalog_kv *kv, int64_t version)
{
    return version == 0 || version == kv->mod_rev ? ERR_OK : ERR_CONFLICT;
}

static enum err change_once(struct queue_topic *t, int64_t version,
                            enum err (*change)(void *arg, struct topic_config *settings), void *arg)
{
    char key[KEY_ROOM];
    struct catalog_kv kv = {0};
    struct topic_config config;
    int64_t rev = 0;
    catalog_key_topic(key, t->id.at);
    enum err e = catalog_get(t->q->catalog, key, &kv);
    if (e != ERR_OK)
        return e;
    e = check_version(&kv, version);
    if (e == ERR_OK)
        e = topic_config_decode(kv.value, &config);
    if (e == ERR_OK) {
        e = config.state == TOPIC_READY ? change(arg, &config) : ERR_NOT_FOUND;
        if (e == ERR_OK && config.compact != t->compact)
            e = ERR_INVALID;
        if (e == ERR_OK)
            e = check_sound(&config);
        config.modified_wall_ms = clock_wall_ms(t->q->clock);
        if (e == ERR_OK)
            e = store(t->q, &config, kv.mod_rev, &rev);
        if (e == ERR_OK)
            topic_settings_swap(t, &config, rev);
        else
            topic_config_fini(&config);
    }
    catalog_kv_fini(&kv);
    return e;
}

enum err queue_topic_change_if(struct queue_topic *t, int64_t version,
                               enum err (*change)(void *arg, struct topic_config *settings),
                               void *arg)
{
    enum err e = topic_check(t);
    if (e != ERR_OK)
        return e;
    unsigned warnings = queue_topic_warnings(t);
    int64_t retention_ms = queue_topic_config(t)->retention_ms;
    do {
        e = change_once(t, version, change, arg);
    } while (e == ERR_CONFLICT && version == 0);
    if (e == ERR_OK)
        advice_after_change(t, warnings, retention_ms);
    /* A shorter retention or another limit may matter to those who poll. */
    if (e == ERR_OK)
        waiters_kick(&t->waiters);
    return e;
}

enum err queue_topic_change(struct queue_topic *t,
                            enum err (*change)(void *arg, struct topic_config *settings), void *arg)
{
    return queue_topic_change_if(t, 0, change, arg);
}

/* ---- delete ---- */

static enum err mark_deleting(struct queue_topic *t, int64_t version)
{
    struct queue *q = t->q;
    struct topic_config config;
    char key[KEY_ROOM], name_key[KEY_ROOM];
    struct catalog_kv kv = {0};
    catalog_key_topic(key, t->id.at);
    enum err e = catalog_get(q->catalog, key, &kv);
    if (e != ERR_OK)
        return e;
    e = check_version(&kv, version);
    if (e == ERR_OK)
        e = topic_config_decode(kv.value, &config);
    if (e == ERR_OK) {
        struct buf value = BUF_EMPTY;
        config.state = TOPIC_DELETING;
        topic_config_encode(&config, &value);
        catalog_key_name(name_key, t->name);
        struct catalog_cmp same = {key, CATALOG_MOD, kv.mod_rev};
        struct catalog_op ops[] = {{.key = name_key, .drop = 1},
                                   {.key = key, .value = buf_bytes(&value)}};
        e = catalog_txn(q->catalog, &same, 1, ops, 2, NULL);
        buf_fini(&value);
        topic_config_fini(&config);
    }
    catalog_kv_fini(&kv);
    return e;
}

enum err queue_topic_delete_if(struct queue_topic *t, int64_t version)
{
    enum err e;
    if (__atomic_load_n(&t->dropped, __ATOMIC_ACQUIRE))
        return ERR_NOT_FOUND;
    do {
        e = mark_deleting(t, version);
    } while (e == ERR_CONFLICT && version == 0);
    if (e == ERR_OK) {
        topic_unregister(t);
        advice_after_delete(t);
    }
    /* The catalogue may hold it as deleted: a start would take along what is accepted from now on.
     */
    if (e == ERR_IO) {
        __atomic_store_n(&t->in_doubt, true, __ATOMIC_RELEASE);
        waiters_wake_all(&t->waiters);
    }
    return e;
}

enum err queue_topic_delete(struct queue_topic *t)
{
    return queue_topic_delete_if(t, 0);
}

void topic_remove_rest(struct queue_topic *t)
{
    /* What was sent just before the delete is still answered: a log that goes takes its uncommitted
     * batches along. When this fails, so has the data directory; if that was not in a round, those
     * who wait do not know it yet. */
    if (t->q->links != NULL)
        copies_stop(&t, 1);
    else if (wait_for_topic(t) != ERR_OK)
        for (uint32_t i = 0; i < t->partitions_n; i++)
            wait_on_durable(t->q, &t->partitions[i]);
    logs_remove(t);
    if (plog_failed(t->q->plog))
        return;
    enum err e = topic_keys_drop(t->q, queue_topic_config(t));
    if (e != ERR_OK)
        note(NOTE_WARNING, "queue", "topic %s: its keys stay until a start: %s", t->name,
             err_text(e));
}

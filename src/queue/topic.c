// SPDX-License-Identifier: Apache-2.0
/* The registry of topics: references, settings, the group's name. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "queue/state.h"

static struct topic_settings *settings_new(struct topic_config *config, int64_t rev)
{
    struct topic_settings *s = mem_new(sizeof *s);
    s->rev = rev;
    s->config = *config;
    topic_config_init(config);
    return s;
}

static void settings_free(struct topic_settings *s)
{
    while (s != NULL) {
        struct topic_settings *next = s->retired_next;
        topic_config_fini(&s->config);
        mem_free(s);
        s = next;
    }
}

struct queue_topic *topic_new(struct queue *q, struct topic_config *config, int64_t rev)
{
    struct queue_topic *t = mem_new(sizeof *t);
    t->q = q;
    memcpy(t->id.at, config->id, sizeof t->id.at);
    memcpy(t->name, config->name, sizeof t->name);
    t->fifo = config->fifo;
    t->compact = config->compact;
    t->partitions_n = config->partitions;
    t->refs = 1;
    t->settings = settings_new(config, rev);
    lock_init(&t->limits_lk, LOCK_RANK_LIMITS);
    waiters_init(&t->waiters, t, GID_DEFAULT);
    t->partitions = mem_new_array(t->partitions_n, sizeof t->partitions[0]);
    lock_take(&q->topics_lk);
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        t->partitions[i].rng.state = rng_next(&q->rng);
        t->partitions[i].keep.tie = q->partitions_made++;
    }
    lock_give(&q->topics_lk);
    for (uint32_t i = 0; i < t->partitions_n; i++)
        partition_init(&t->partitions[i], t, i);
    return t;
}

void topic_free(struct queue_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++)
        partition_fini(&t->partitions[i]);
    mem_free(t->partitions);
    waiters_fini(&t->waiters);
    lock_fini(&t->limits_lk);
    settings_free(t->settings);
    settings_free(t->retired);
    redrive_free(t);
    mem_free(t);
}

void topic_register(struct queue_topic *t)
{
    struct queue *q = t->q;
    lock_take(&q->topics_lk);
    HASH_ADD_KEYPTR(by_name, q->topics_by_name, t->name, strlen(t->name), t);
    HASH_ADD_KEYPTR(by_id, q->topics_by_id, t->id.at, sizeof t->id.at, t);
    lock_give(&q->topics_lk);
    __atomic_store_n(&t->registered, true, __ATOMIC_RELEASE);
    house_touch_all(t);
}

void topic_unregister(struct queue_topic *t)
{
    struct queue *q = t->q;
    lock_take(&q->topics_lk);
    bool is_there = !__atomic_load_n(&t->dropped, __ATOMIC_ACQUIRE);
    if (is_there) {
        HASH_DELETE(by_name, q->topics_by_name, t);
        HASH_DELETE(by_id, q->topics_by_id, t);
        __atomic_store_n(&t->dropped, true, __ATOMIC_RELEASE);
    }
    lock_give(&q->topics_lk);
    if (!is_there) /* the catalogue tells of what was dropped here as well */
        return;
    waiters_wake_all(&t->waiters);
    queue_topic_give_back(t);
}

void topic_lend(struct queue_topic *t)
{
    CHECK(__atomic_fetch_add(&t->refs, 1, __ATOMIC_RELAXED) > 0);
}

bool topic_try_lend(struct queue_topic *t)
{
    unsigned refs = __atomic_load_n(&t->refs, __ATOMIC_RELAXED);
    while (refs > 0)
        if (__atomic_compare_exchange_n(&t->refs, &refs, refs + 1, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

enum err queue_topic_find(struct queue *q, struct bytes name, struct queue_topic **out)
{
    struct queue_topic *t = NULL;
    if (name.n == 0)
        return ERR_NOT_FOUND;
    lock_take(&q->topics_lk);
    HASH_FIND(by_name, q->topics_by_name, name.at, name.n, t);
    if (t != NULL)
        topic_lend(t);
    lock_give(&q->topics_lk);
    if (t == NULL)
        return ERR_NOT_FOUND;
    *out = t;
    return ERR_OK;
}

enum err topic_find_by_id(struct queue *q, const struct uuid *id, struct queue_topic **out)
{
    struct queue_topic *t = NULL;
    lock_take(&q->topics_lk);
    HASH_FIND(by_id, q->topics_by_id, id->at, sizeof id->at, t);
    if (t != NULL)
        topic_lend(t);
    lock_give(&q->topics_lk);
    if (t == NULL)
        return ERR_NOT_FOUND;
    *out = t;
    return ERR_OK;
}

/* With one reference left, which is the registry's, nobody looks at replaced settings. Whoever
 * takes a reference from now on sees the newest ones, which cannot be replaced while we hold the
 * lock. */
static void free_retired(struct queue_topic *t)
{
    struct queue *q = t->q;
    struct topic_settings *retired = NULL;
    lock_take(&q->topics_lk);
    if (__atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) == 1) {
        retired = t->retired;
        __atomic_store_n(&t->retired, NULL, __ATOMIC_RELAXED);
    }
    lock_give(&q->topics_lk);
    settings_free(retired);
}

void queue_topic_give_back(struct queue_topic *t)
{
    struct queue *q = t->q;
    /* Our own reference is what keeps t, so retired settings are looked for before it is gone. */
    if (__atomic_load_n(&t->retired, __ATOMIC_RELAXED) != NULL) {
        lock_take(&q->topics_lk);
        unsigned left = __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL);
        if (left == 0) {
            t->dropped_next = q->dropped;
            q->dropped = t;
        }
        lock_give(&q->topics_lk);
        if (left == 1 && !__atomic_load_n(&t->dropped, __ATOMIC_ACQUIRE))
            free_retired(t);
        else if (left == 0)
            house_call(q);
        return;
    }
    if (__atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    lock_take(&q->topics_lk);
    t->dropped_next = q->dropped;
    q->dropped = t;
    lock_give(&q->topics_lk);
    house_call(q);
}

const struct topic_settings *topic_settings_now(const struct queue_topic *t)
{
    return __atomic_load_n(&t->settings, __ATOMIC_ACQUIRE);
}

const struct topic_config *queue_topic_config(struct queue_topic *t)
{
    return &topic_settings_now(t)->config;
}

const struct topic_config *queue_topic_config_version(struct queue_topic *t, int64_t *version)
{
    const struct topic_settings *s = topic_settings_now(t);
    *version = s->rev;
    return &s->config;
}

void topic_settings_swap(struct queue_topic *t, struct topic_config *config, int64_t rev)
{
    struct topic_settings *s = settings_new(config, rev);
    lock_take(&t->q->topics_lk);
    struct topic_settings *old = t->settings;
    __atomic_store_n(&t->settings, s, __ATOMIC_RELEASE);
    old->retired_next = t->retired;
    __atomic_store_n(&t->retired, old, __ATOMIC_RELAXED);
    lock_give(&t->q->topics_lk);
    house_touch_all(t); /* messages may expire earlier */
}

struct queue_topic **topics_lend(struct queue *q, size_t *n)
{
    lock_take(&q->topics_lk);
    size_t room = HASH_CNT(by_name, q->topics_by_name);
    struct queue_topic **topics = mem_new_array(room + 1, sizeof topics[0]), *t, *next;
    size_t i = 0;
    HASH_ITER(by_name, q->topics_by_name, t, next)
    {
        topic_lend(t);
        topics[i++] = t;
    }
    lock_give(&q->topics_lk);
    *n = i;
    return topics;
}

void topics_give_back(struct queue_topic **topics, size_t n)
{
    for (size_t i = 0; i < n; i++)
        queue_topic_give_back(topics[i]);
    mem_free(topics);
}

static int by_topic_name(const void *a, const void *b)
{
    struct queue_topic *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

void queue_topics_each(struct queue *q, struct bytes prefix, struct bytes from,
                       bool (*each)(void *arg, struct queue_topic *t), void *arg)
{
    size_t n;
    struct queue_topic **topics = topics_lend(q, &n);
    qsort(topics, n, sizeof topics[0], by_topic_name);
    for (size_t i = 0; i < n; i++) {
        struct bytes name = bytes_of_text(topics[i]->name);
        if (!bytes_start_with(name, prefix) || bytes_compare(name, from) < 0)
            continue;
        if (!each(arg, topics[i]))
            break;
    }
    topics_give_back(topics, n);
}

struct queue_waiters *topic_waiters(struct queue_topic *t, struct bytes group)
{
    bool known = group.n == 0 || bytes_equal(group, BYTES_OF("default"));
    return known && !t->compact ? &t->waiters : NULL;
}

enum err topic_no_group(const struct queue_topic *t)
{
    return t->compact ? ERR_LOG_ONLY : ERR_NOT_FOUND;
}

enum err topic_check(const struct queue_topic *t)
{
    if (__atomic_load_n(&t->dropped, __ATOMIC_ACQUIRE))
        return ERR_NOT_FOUND;
    return plog_failed(t->q->plog) ? ERR_FAILED : ERR_OK;
}

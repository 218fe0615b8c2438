// SPDX-License-Identifier: Apache-2.0
/* Topics of a cluster, which come out of the catalogue: those that the other brokers have made, and
 * this one's own. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "catalog/topic.h"
#include "queue/copy_inside.h"

enum { LEADERS_MAX_MS = 5000, LEADERS_LOOK_MS = 500 };

/* One topic comes or goes at a time. */
static void enter(struct queue *q)
{
    struct queue_copies *all = &q->copies;
    lock_check_none_held();
    lock_take(&all->lk);
    while (all->makes_topic)
        lock_signal_wait(&all->roles_changed, &all->lk, -1);
    all->makes_topic = true;
    lock_give(&all->lk);
}

static void leave(struct queue *q)
{
    struct queue_copies *all = &q->copies;
    lock_take(&all->lk);
    all->makes_topic = false;
    lock_signal_all(&all->roles_changed);
    lock_give(&all->lk);
}

/* ---- logs ---- */

struct search {
    struct plog_id id;
    struct plog_log *log;
};

static void search_log(void *arg, struct plog_log *log)
{
    struct search *s = arg;
    struct plog_id id = plog_log_id(log);
    if (plog_log_owner(log) == NULL && id.partition == s->id.partition &&
        memcmp(id.topic, s->id.topic, sizeof id.topic) == 0)
        s->log = log;
}

/* One that no partition of this life has had: a topic that was deleted here removes its logs
 * itself, once nobody holds it any more. */
static struct plog_log *find_log(struct queue *q, const uint8_t topic[16], uint32_t partition)
{
    struct search s = {.id = {.partition = partition}};
    memcpy(s.id.topic, topic, sizeof s.id.topic);
    plog_each(q->plog, search_log, &s);
    return s.log;
}

static bool lacks_log(struct queue_partition *p, const struct replica_key *key)
{
    lock_take(&p->lk);
    bool lacks = p->log == NULL && p->closed && p->away;
    lock_give(&p->lk);
    return lacks && replica_key_find(key, p->q->links->broker) != NULL;
}

/* Between enter and leave. */
static enum err attach(struct queue_partition *p, const struct replica_key *key)
{
    struct queue *q = p->q;
    if (!lacks_log(p, key))
        return ERR_OK;
    struct plog_id id = {.partition = p->index};
    memcpy(id.topic, p->topic->id.at, sizeof id.topic);
    struct plog_log *log = find_log(q, id.topic, id.partition);
    bool is_new = log == NULL;
    enum err e = is_new ? plog_create(q->plog, id, &log) : ERR_OK;
    if (e != ERR_OK) {
        note(NOTE_ERROR, "queue", "topic %s, partition %u: its copy cannot be made: %s",
             p->topic->name, (unsigned)p->index, err_text(e));
        return e;
    }
    lock_take(&p->lk);
    p->log = log;
    lock_give(&p->lk);
    copy_begin(p, is_new);
    plog_log_own(log, p);
    lock_take(&p->lk);
    p->closed = p->away = false;
    p->where[0] = '\0';
    lock_give(&p->lk);
    copy_tell_sessions(p);
    house_touch(p);
    return ERR_OK;
}

void copy_attach(struct queue_partition *p, const struct replica_key *key)
{
    if (!lacks_log(p, key))
        return;
    enter(p->q);
    (void)!attach(p, key); /* a failure is noted, and the next key tries again */
    leave(p->q);
}

static void put_away(struct queue_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        p->closed = p->away = true;
        snprintf(p->where, sizeof p->where, "this broker has no copy of it");
    }
}

/* ---- topics ---- */

static struct queue_topic *lend(struct queue *q, const uint8_t id[16])
{
    struct queue_topic *t;
    struct uuid uuid;
    memcpy(uuid.at, id, sizeof uuid.at);
    return topic_find_by_id(q, &uuid, &t) == ERR_OK ? t : NULL;
}

static struct queue_topic *make(struct queue *q, const struct topic_config *config, int64_t rev)
{
    struct topic_config copy;
    struct queue_topic *t, *namesake;
    topic_config_copy(&copy, config);
    t = topic_new(q, &copy, rev);
    put_away(t);
    /* A name belongs to the newest topic that has it. */
    if (queue_topic_find(q, bytes_of_text(t->name), &namesake) == ERR_OK) {
        topic_unregister(namesake);
        queue_topic_give_back(namesake);
    }
    topic_lend(t);
    topic_register(t);
    return t;
}

/* Its logs, if there are any: the broker did not run while it was deleted. */
static void remove_unknown(struct queue *q, const struct topic_config *config)
{
    for (uint32_t i = 0; i < config->partitions; i++) {
        struct plog_log *log = find_log(q, config->id, i);
        if (log != NULL && plog_remove(q->plog, log) != ERR_OK)
            note(NOTE_WARNING, "queue", "files of the deleted topic %s stay", config->name);
    }
}

static enum err take_in(struct queue *q, const struct topic_config *config, int64_t rev,
                        const struct replica_key *keys)
{
    struct queue_topic *t = lend(q, config->id);
    enum err e = ERR_OK;
    if (config->state == TOPIC_DELETING) {
        if (t == NULL) {
            remove_unknown(q, config);
            return topic_keys_drop(q, config);
        }
        topic_unregister(t);
        queue_topic_give_back(t);
        return ERR_OK;
    }
    if (t != NULL && config->partitions != t->partitions_n) { /* it never changes */
        queue_topic_give_back(t);
        return ERR_CORRUPT;
    }
    if (t == NULL) {
        t = make(q, config, rev);
    } else if (rev > topic_settings_now(t)->rev) {
        struct topic_config copy;
        topic_config_copy(&copy, config);
        topic_settings_swap(t, &copy, rev);
        waiters_kick(&t->waiters);
    }
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        enum err attached = attach(&t->partitions[i], &keys[i]);
        e = attached == ERR_OK ? e : attached;
        copy_key(&t->partitions[i], &keys[i], 0);
    }
    queue_topic_give_back(t);
    return e;
}

enum err queue_copy_topic(struct queue *q, const struct topic_config *config, int64_t rev,
                          const struct replica_key *keys)
{
    CHECK(q->links != NULL);
    enter(q);
    enum err e = plog_failed(q->plog) ? ERR_FAILED : take_in(q, config, rev, keys);
    leave(q);
    return e;
}

void queue_copy_topic_gone(struct queue *q, const uint8_t topic[16])
{
    enter(q);
    struct queue_topic *t = lend(q, topic);
    if (t != NULL) {
        topic_unregister(t);
        queue_topic_give_back(t);
    }
    leave(q);
}

/* ---- a topic that is made here ---- */

/* How many copies a new topic gets, and how few of them will do. Too few brokers never mean fewer
 * copies than were asked for, or than are usual, unless whoever makes it says that one is enough.
 */
static void copies_wanted(const struct topic_config *config, uint32_t *most, uint32_t *least)
{
    *most = config->copies == 0 ? TOPIC_COPIES_DEFAULT : config->copies;
    *least = *most;
    if (config->copies == 0 && config->allow_single_copy)
        *least = config->min_isr == 0 ? 1 : config->min_isr;
}

enum err copy_place(struct queue *q, struct topic_config *config, struct replica_key **out)
{
    const struct queue_links *links = q->links;
    uint32_t n = config->partitions, copies, least;
    copies_wanted(config, &copies, &least);
    if ((copies == 1 || config->min_isr == 1) && !config->allow_single_copy)
        return ERR_SINGLE_COPY;
    uint32_t *members = mem_new_array((size_t)n * TOPIC_COPIES_MAX, sizeof members[0]);
    enum err e = links->place(links->self, n, copies, members);
    while (e == ERR_NEED && copies > least) {
        copies--;
        e = links->place(links->self, n, copies, members);
    }
    if (e != ERR_OK) {
        mem_free(members);
        return e == ERR_NEED ? ERR_TOO_FEW_BROKERS : e;
    }
    config->copies = copies;
    if (config->min_isr == 0)
        config->min_isr = copies == 1 ? 1 : 2;
    struct replica_key *keys = mem_new_array(n, sizeof keys[0]);
    for (uint32_t i = 0; i < n; i++) {
        keys[i].min_isr = config->min_isr;
        keys[i].members_n = copies;
        for (uint32_t k = 0; k < copies; k++)
            keys[i].members[k].broker = members[(size_t)i * copies + k];
    }
    mem_free(members);
    *out = keys;
    return ERR_OK;
}

static bool is_led(struct queue_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        uint32_t leader = queue_copy_leader(t, i);
        if (leader == 0 ||
            (leader == t->q->links->broker && !queue_copy_is_ours(t, i) && !p->closed))
            return false;
    }
    return true;
}

void copy_wait_for_leaders(struct queue_topic *t)
{
    struct queue *q = t->q;
    struct queue_copies *all = &q->copies;
    int64_t until_ms = clock_boot_ms(q->clock) + LEADERS_MAX_MS;
    if (!__atomic_load_n(&q->threads, __ATOMIC_ACQUIRE))
        return;
    while (!__atomic_load_n(&q->stop, __ATOMIC_ACQUIRE) && clock_boot_ms(q->clock) < until_ms) {
        lock_take(&all->lk);
        uint64_t roles = all->roles;
        lock_give(&all->lk);
        if (is_led(t))
            return;
        lock_take(&all->lk);
        if (all->roles == roles)
            lock_signal_wait(&all->roles_changed, &all->lk, LEADERS_LOOK_MS);
        lock_give(&all->lk);
    }
}

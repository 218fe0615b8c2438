// SPDX-License-Identifier: Apache-2.0
#include "cluster/view.h"

#include <string.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/partition_key.h"

void cluster_view_init(struct cluster_view *v)
{
    *v = (struct cluster_view){.rev = 0};
}

static void topic_free(struct cluster_topic *t)
{
    if (t->is_known)
        topic_config_fini(&t->config);
    buf_fini(&t->redrives);
    mem_free(t->partitions);
    mem_free(t);
}

void cluster_view_fini(struct cluster_view *v)
{
    struct cluster_topic *next;
    for (struct cluster_topic *t = v->topics; t != NULL; t = next) {
        next = t->next;
        topic_free(t);
    }
    mem_free(v->members);
    mem_free(v->changes);
    *v = (struct cluster_view){.rev = 0};
}

static struct cluster_change *change_add(struct cluster_view *v, enum cluster_change_kind kind)
{
    if (v->changes_n == v->changes_room) {
        v->changes_room = v->changes_room == 0 ? 16 : 2 * v->changes_room;
        v->changes = mem_resize(v->changes, v->changes_room * sizeof v->changes[0]);
    }
    struct cluster_change *c = &v->changes[v->changes_n++];
    *c = (struct cluster_change){.kind = kind};
    return c;
}

void cluster_view_changes_clear(struct cluster_view *v)
{
    v->changes_n = 0;
}

static void topic_changed(struct cluster_view *v, const struct cluster_topic *t)
{
    memcpy(change_add(v, CLUSTER_CHANGE_TOPIC)->topic, t->id, sizeof t->id);
}

static void partition_changed(struct cluster_view *v, const struct cluster_topic *t, uint32_t n)
{
    struct cluster_change *c = change_add(v, CLUSTER_CHANGE_PARTITION);
    memcpy(c->topic, t->id, sizeof t->id);
    c->partition = n;
}

/* ---- topics ---- */

/* Ids are random, so any of their bits are as good as a hash. */
static size_t slot_of(const uint8_t topic[16])
{
    return le_load_u32(topic) % CLUSTER_VIEW_SLOTS;
}

struct cluster_topic *cluster_view_topic(const struct cluster_view *v, const uint8_t topic[16])
{
    struct cluster_topic *t = v->slots[slot_of(topic)];
    while (t != NULL && memcmp(t->id, topic, sizeof t->id) != 0)
        t = t->next_in_slot;
    return t;
}

static struct cluster_topic *topic_make(struct cluster_view *v, const uint8_t topic[16])
{
    struct cluster_topic *t = cluster_view_topic(v, topic);
    if (t != NULL)
        return t;
    t = mem_new(sizeof *t);
    memcpy(t->id, topic, sizeof t->id);
    t->redrives = BUF_EMPTY;
    struct cluster_topic **slot = &v->slots[slot_of(topic)];
    t->next_in_slot = *slot;
    *slot = t;
    t->next = v->topics;
    v->topics = t;
    return t;
}

static void topic_forget(struct cluster_view *v, struct cluster_topic *t)
{
    struct cluster_topic **at = &v->slots[slot_of(t->id)];
    while (*at != t)
        at = &(*at)->next_in_slot;
    *at = t->next_in_slot;
    for (at = &v->topics; *at != t;)
        at = &(*at)->next;
    *at = t->next;
    topic_free(t);
}

static void topic_put(struct cluster_view *v, struct cluster_topic *t, const char *key,
                      struct bytes value, int64_t mod_rev)
{
    t->stamp = v->stamp;
    if (mod_rev <= t->mod_rev)
        return;
    struct topic_config config;
    enum err e = topic_config_decode(value, &config);
    t->mod_rev = mod_rev;
    if (e != ERR_OK) { /* what was known before goes on to count */
        note(NOTE_ERROR, "cluster", "%s cannot be read: %s", key, err_text(e));
        return;
    }
    if (t->is_known)
        topic_config_fini(&t->config);
    t->config = config;
    t->is_known = true;
    topic_changed(v, t);
}

static void partition_put(struct cluster_view *v, struct cluster_topic *t, uint32_t n,
                          const char *key, struct bytes value, int64_t mod_rev)
{
    if (n >= t->partitions_n) {
        t->partitions = mem_resize(t->partitions, (n + 1) * sizeof t->partitions[0]);
        memset(&t->partitions[t->partitions_n], 0,
               (n + 1 - t->partitions_n) * sizeof t->partitions[0]);
        t->partitions_n = n + 1;
    }
    struct cluster_partition *p = &t->partitions[n];
    p->stamp = v->stamp;
    if (mod_rev <= p->mod_rev)
        return;
    enum err e = catalog_partition_decode(value, mod_rev, &p->key);
    p->mod_rev = mod_rev;
    p->is_known = e == ERR_OK;
    if (e != ERR_OK)
        note(NOTE_ERROR, "cluster", "%s cannot be read: %s", key, err_text(e));
    else
        partition_changed(v, t, n);
}

/* Of a topic that is known: in a list its partitions come before. */
static void redrives_put(struct cluster_view *v, struct cluster_topic *t, struct bytes value,
                         int64_t mod_rev)
{
    if (t == NULL || mod_rev <= t->redrives_rev)
        return;
    t->redrives_rev = mod_rev;
    buf_clear(&t->redrives);
    buf_put_bytes(&t->redrives, value);
    memcpy(change_add(v, CLUSTER_CHANGE_REDRIVES)->topic, t->id, sizeof t->id);
}

static bool has_partitions(const struct cluster_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++)
        if (t->partitions[i].mod_rev != 0)
            return true;
    return false;
}

static void topic_drop(struct cluster_view *v, struct cluster_topic *t)
{
    if (t->is_known)
        topic_config_fini(&t->config);
    t->is_known = false;
    t->mod_rev = 0;
    topic_changed(v, t);
    if (!has_partitions(t))
        topic_forget(v, t);
}

static void partition_drop(struct cluster_view *v, struct cluster_topic *t, uint32_t n)
{
    t->partitions[n] = (struct cluster_partition){.mod_rev = 0};
    partition_changed(v, t, n);
    if (t->mod_rev == 0 && !has_partitions(t))
        topic_forget(v, t);
}

struct cluster_partition *cluster_view_partition(const struct cluster_view *v,
                                                 const uint8_t topic[16], uint32_t partition)
{
    const struct cluster_topic *t = cluster_view_topic(v, topic);
    if (t == NULL || partition >= t->partitions_n || !t->partitions[partition].is_known)
        return NULL;
    return &t->partitions[partition];
}

bool cluster_view_is_whole(const struct cluster_topic *t)
{
    if (!t->is_known || t->config.state == TOPIC_CREATING || t->partitions_n < t->config.partitions)
        return false;
    for (uint32_t i = 0; i < t->config.partitions; i++)
        if (!t->partitions[i].is_known)
            return false;
    return true;
}

/* ---- brokers ---- */

struct cluster_member *cluster_view_member(const struct cluster_view *v, uint32_t broker)
{
    for (size_t i = 0; i < v->members_n; i++)
        if (v->members[i].broker == broker)
            return &v->members[i];
    return NULL;
}

static struct cluster_member *member_make(struct cluster_view *v, uint32_t broker)
{
    struct cluster_member *found = cluster_view_member(v, broker);
    if (found != NULL)
        return found;
    if (v->members_n == v->members_room) {
        v->members_room = v->members_room == 0 ? 8 : 2 * v->members_room;
        v->members = mem_resize(v->members, v->members_room * sizeof v->members[0]);
    }
    size_t i = v->members_n++;
    for (; i > 0 && v->members[i - 1].broker > broker; i--)
        v->members[i] = v->members[i - 1];
    v->members[i] = (struct cluster_member){.broker = broker};
    return &v->members[i];
}

bool cluster_view_is_live(const struct cluster_view *v, uint32_t broker)
{
    const struct cluster_member *m = cluster_view_member(v, broker);
    return m != NULL && m->is_live;
}

bool cluster_view_is_draining(const struct cluster_view *v, uint32_t broker)
{
    const struct cluster_member *m = cluster_view_member(v, broker);
    return m != NULL && ((m->is_known && m->key.state != CLUSTER_BROKER_ACTIVE) ||
                         (m->is_live && m->session.is_leaving));
}

static void broker_put(struct cluster_view *v, struct cluster_member *m, const char *key,
                       struct bytes value, int64_t mod_rev)
{
    m->stamp = v->stamp;
    if (mod_rev <= m->mod_rev)
        return;
    enum err e = cluster_broker_key_decode(value, &m->key);
    m->mod_rev = mod_rev;
    m->is_known = e == ERR_OK;
    if (e != ERR_OK)
        note(NOTE_ERROR, "cluster", "%s cannot be read: %s", key, err_text(e));
    change_add(v, CLUSTER_CHANGE_BROKER)->broker = m->broker;
}

static void session_put(struct cluster_view *v, struct cluster_member *m, const char *key,
                        struct bytes value, int64_t mod_rev)
{
    m->session_stamp = v->stamp;
    if (mod_rev <= m->session_rev)
        return;
    enum err e = cluster_session_key_decode(value, &m->session);
    m->session_rev = mod_rev;
    m->is_live = e == ERR_OK;
    if (e != ERR_OK)
        note(NOTE_ERROR, "cluster", "%s cannot be read: %s", key, err_text(e));
    change_add(v, CLUSTER_CHANGE_BROKER)->broker = m->broker;
}

static void broker_drop(struct cluster_view *v, struct cluster_member *m)
{
    m->mod_rev = 0;
    m->is_known = false;
    change_add(v, CLUSTER_CHANGE_BROKER)->broker = m->broker;
}

static void session_drop(struct cluster_view *v, struct cluster_member *m)
{
    m->session_rev = 0;
    m->is_live = false;
    change_add(v, CLUSTER_CHANGE_BROKER)->broker = m->broker;
}

/* ---- ctl ---- */

static void ctl_put(struct cluster_view *v, struct bytes value, int64_t create_rev, int64_t mod_rev)
{
    v->ctl_stamp = v->stamp;
    if (mod_rev <= v->ctl_rev)
        return;
    v->ctl_rev = mod_rev;
    v->ctl_create_rev = create_rev;
    enum err e = cluster_ctl_key_decode(value, &v->ctl);
    v->is_ctl_known = e == ERR_OK;
    if (e != ERR_OK)
        note(NOTE_ERROR, "cluster", "ctl cannot be read: %s", err_text(e));
    (void)change_add(v, CLUSTER_CHANGE_CONTROLLER);
}

static void ctl_drop(struct cluster_view *v)
{
    v->ctl_rev = v->ctl_create_rev = 0;
    v->is_ctl_known = false;
    (void)change_add(v, CLUSTER_CHANGE_CONTROLLER);
}

/* ---- all keys ---- */

static void put(struct cluster_view *v, const char *key, struct bytes value, int64_t create_rev,
                int64_t mod_rev)
{
    struct cluster_key_name name = cluster_key_read(key);
    switch (name.kind) {
    case CLUSTER_KEY_CTL:
        ctl_put(v, value, create_rev, mod_rev);
        break;
    case CLUSTER_KEY_BROKER:
        broker_put(v, member_make(v, name.broker), key, value, mod_rev);
        break;
    case CLUSTER_KEY_SESSION:
        session_put(v, member_make(v, name.broker), key, value, mod_rev);
        break;
    case CLUSTER_KEY_TOPIC:
        topic_put(v, topic_make(v, name.topic), key, value, mod_rev);
        break;
    case CLUSTER_KEY_PARTITION:
        partition_put(v, topic_make(v, name.topic), name.partition, key, value, mod_rev);
        break;
    case CLUSTER_KEY_REDRIVES:
        redrives_put(v, cluster_view_topic(v, name.topic), value, mod_rev);
        break;
    case CLUSTER_KEY_OTHER:
        break;
    }
    if (mod_rev > v->rev)
        v->rev = mod_rev;
}

void cluster_view_put(struct cluster_view *v, const char *key, struct bytes value,
                      int64_t create_rev, int64_t mod_rev)
{
    if (mod_rev > v->list_rev)
        put(v, key, value, create_rev, mod_rev);
}

void cluster_view_drop(struct cluster_view *v, const char *key, int64_t rev)
{
    struct cluster_key_name name = cluster_key_read(key);
    struct cluster_member *m = cluster_view_member(v, name.broker);
    struct cluster_topic *t = cluster_view_topic(v, name.topic);
    if (rev <= v->list_rev)
        return;
    if (name.kind == CLUSTER_KEY_CTL && v->ctl_rev != 0 && rev > v->ctl_rev)
        ctl_drop(v);
    else if (name.kind == CLUSTER_KEY_BROKER && m != NULL && m->mod_rev != 0 && rev > m->mod_rev)
        broker_drop(v, m);
    else if (name.kind == CLUSTER_KEY_SESSION && m != NULL && m->session_rev != 0 &&
             rev > m->session_rev)
        session_drop(v, m);
    else if (name.kind == CLUSTER_KEY_TOPIC && t != NULL && t->mod_rev != 0 && rev > t->mod_rev)
        topic_drop(v, t);
    else if (name.kind == CLUSTER_KEY_PARTITION && t != NULL && name.partition < t->partitions_n &&
             t->partitions[name.partition].mod_rev != 0 &&
             rev > t->partitions[name.partition].mod_rev)
        partition_drop(v, t, name.partition);
    if (rev > v->rev)
        v->rev = rev;
}

/* What the list had not is gone. */
static void sweep(struct cluster_view *v)
{
    struct cluster_topic *next;
    if (v->ctl_rev != 0 && v->ctl_stamp != v->stamp)
        ctl_drop(v);
    for (size_t i = 0; i < v->members_n; i++) {
        struct cluster_member *m = &v->members[i];
        if (m->mod_rev != 0 && m->stamp != v->stamp)
            broker_drop(v, m);
        if (m->session_rev != 0 && m->session_stamp != v->stamp)
            session_drop(v, m);
    }
    for (struct cluster_topic *t = v->topics; t != NULL; t = next) {
        next = t->next;
        bool is_gone = t->mod_rev != 0 && t->stamp != v->stamp;
        for (uint32_t i = 0; i < t->partitions_n; i++) {
            struct cluster_partition *p = &t->partitions[i];
            if (p->mod_rev == 0 || p->stamp == v->stamp)
                continue;
            *p = (struct cluster_partition){.mod_rev = 0};
            partition_changed(v, t, i);
        }
        if (is_gone)
            topic_drop(v, t);
        else if (t->mod_rev == 0 && !has_partitions(t))
            topic_forget(v, t);
    }
}

bool cluster_view_list(struct cluster_view *v, const struct catalog_kvs *kvs, int64_t rev)
{
    if (rev < v->rev)
        return false;
    v->stamp++;
    for (size_t i = 0; i < kvs->n; i++)
        put(v, kvs->at[i].key, kvs->at[i].value, kvs->at[i].create_rev, kvs->at[i].mod_rev);
    sweep(v);
    v->rev = v->list_rev = rev;
    return true;
}

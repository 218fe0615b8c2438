// SPDX-License-Identifier: Apache-2.0
/* The thread that does what blocks, and the one that ticks. */
#include "base/mem.h"
#include "base/note.h"
#include "catalog/partition_key.h"
#include "cluster/inside.h"

enum {
    LIST_MS = 30000,    /* the watch is a hint */
    AGAIN_MS = 1000,    /* until what failed is tried again */
    TICK_MS = 100,      /* of the replicas' steps */
    READS_TOGETHER = 8, /* from so many keys on, one list answers them all */
};

/* ---- what the queue is told ---- */

static struct queue_copy_id id_of(const uint8_t topic[16], uint32_t partition)
{
    struct queue_copy_id of = {.partition = partition};
    memcpy(of.topic, topic, sizeof of.topic);
    return of;
}

static void redrives_tell(struct cluster *c, struct cluster_topic *t)
{
    if (t != NULL && t->is_told && t->redrives_rev != 0)
        queue_copy_redrives(c->queue, t->id, buf_bytes(&t->redrives), t->redrives_rev);
}

static void topic_tell(struct cluster *c, struct cluster_topic *t)
{
    if (!cluster_view_is_whole(t))
        return;
    uint32_t n = t->config.partitions;
    struct replica_key *keys = mem_new_array(n, sizeof keys[0]);
    for (uint32_t i = 0; i < n; i++)
        keys[i] = t->partitions[i].key;
    enum err e = queue_copy_topic(c->queue, &t->config, t->mod_rev, keys);
    mem_free(keys);
    t->is_told = e == ERR_OK;
    if (e == ERR_OK) {
        redrives_tell(c, t);
        return;
    }
    note(NOTE_WARNING, "cluster", "the topic %s cannot be taken up yet: %s", t->config.name,
         err_text(e));
    c->has_untold = true;
}

static void broker_tell(struct cluster *c, uint32_t broker)
{
    queue_copy_session(c->queue, broker, cluster_view_is_live(&c->view, broker),
                       cluster_view_is_draining(&c->view, broker));
}

static void change_tell(struct cluster *c, const struct cluster_change *change)
{
    struct cluster_topic *t = cluster_view_topic(&c->view, change->topic);
    switch (change->kind) {
    case CLUSTER_CHANGE_TOPIC:
        if (t == NULL || t->mod_rev == 0)
            queue_copy_topic_gone(c->queue, change->topic);
        else
            topic_tell(c, t);
        break;
    case CLUSTER_CHANGE_PARTITION:
        if (t != NULL && t->is_told && change->partition < t->partitions_n &&
            t->partitions[change->partition].is_known) {
            struct queue_copy_id of = id_of(change->topic, change->partition);
            queue_copy_key(c->queue, &of, &t->partitions[change->partition].key, 0);
        } else if (t != NULL && !t->is_told) {
            topic_tell(c, t);
        }
        break;
    case CLUSTER_CHANGE_REDRIVES:
        redrives_tell(c, t);
        break;
    case CLUSTER_CHANGE_BROKER:
        broker_tell(c, change->broker);
        break;
    case CLUSTER_CHANGE_CONTROLLER:
        break;
    }
}

void cluster_tell(struct cluster *c)
{
    /* Brokers first: a replica that hears of its key should know who lives. */
    for (size_t i = 0; i < c->view.changes_n; i++)
        if (c->view.changes[i].kind == CLUSTER_CHANGE_BROKER)
            change_tell(c, &c->view.changes[i]);
    for (size_t i = 0; i < c->view.changes_n; i++)
        if (c->view.changes[i].kind != CLUSTER_CHANGE_BROKER)
            change_tell(c, &c->view.changes[i]);
    cluster_view_changes_clear(&c->view);
}

static void untold_tell(struct cluster *c)
{
    c->has_untold = false;
    for (struct cluster_topic *t = c->view.topics; t != NULL; t = t->next)
        if (!t->is_told)
            topic_tell(c, t);
}

/* ---- lists ---- */

/* A catalogue that has lost its keys, or is another one, must not make this broker delete its logs.
 */
static bool is_our_cluster(const struct cluster *c, const struct catalog_kvs *kvs)
{
    struct cluster_meta_key meta;
    for (size_t i = 0; i < kvs->n; i++)
        if (strcmp(kvs->at[i].key, "meta") == 0)
            return cluster_meta_key_decode(kvs->at[i].value, &meta) == ERR_OK &&
                   strcmp(meta.cluster_id, c->self.cluster_id) == 0;
    return false;
}

enum err cluster_list(struct cluster *c)
{
    struct catalog_kvs kvs = {.at = NULL};
    int64_t rev;
    enum err e = catalog_list_at(c->catalog, "", &kvs, &rev);
    if (e != ERR_OK)
        return e;
    if (!is_our_cluster(c, &kvs)) {
        note(NOTE_ERROR, "cluster",
             "the catalogue is not that of cluster %s any more: nothing of it is believed",
             c->self.cluster_id);
        e = ERR_CONFLICT;
    } else {
        lock_take(&c->lk);
        bool is_news = cluster_view_list(&c->view, &kvs, rev);
        lock_give(&c->lk);
        if (!is_news)
            note(NOTE_WARNING, "cluster", "the catalogue went back to revision %lld: not believed",
                 (long long)rev);
        e = is_news ? ERR_OK : ERR_BUSY;
    }
    catalog_kvs_fini(&kvs);
    return e;
}

/* After a list the watch goes on from there. */
static void list_and_go(struct cluster *c, int64_t now_ms)
{
    lock_take(&c->lk);
    bool watch_waits = c->watch_waits;
    c->wants_list = false;
    lock_give(&c->lk);
    bool is_done = cluster_list(c) == ERR_OK;
    c->list_ms = now_ms + (is_done ? LIST_MS : AGAIN_MS);
    lock_take(&c->lk);
    c->wants_list = c->wants_list || !is_done;
    c->lists_from_ms = is_done ? now_ms : c->list_ms;
    if (watch_waits && is_done)
        c->watch_waits = false; /* if it asked again meanwhile, it will do so once more */
    lock_give(&c->lk);
    if (watch_waits && is_done && c->watch != NULL)
        catalog_watch_go(c->watch, c->view.list_rev);
}

/* ---- work ---- */

static void events_run(struct cluster *c, const struct cluster_work *w)
{
    lock_take(&c->lk);
    for (size_t i = 0; i < w->events_n; i++) {
        const struct catalog_kv *kv = &w->events[i];
        if (kv->value.at == NULL)
            cluster_view_drop(&c->view, kv->key, kv->mod_rev);
        else
            cluster_view_put(&c->view, kv->key, kv->value, kv->create_rev, kv->mod_rev);
    }
    lock_give(&c->lk);
}

struct swaps {
    struct cluster_swap *at; /* room for CLUSTER_SWAPS_MAX; NULL before the first: most turns have
                              * none, and there are many turns */
    size_t n;
};

static void swaps_flush(struct cluster *c, struct swaps *swaps)
{
    cluster_swaps_run(c->catalog, NULL, swaps->at, swaps->n);
    for (size_t i = 0; i < swaps->n; i++) {
        const struct cluster_swap *s = &swaps->at[i];
        struct queue_copy_id of = id_of(s->topic, s->partition);
        queue_copy_swapped(c->queue, &of, s->value.op, s->outcome, s->version);
    }
    swaps->n = 0;
}

static void swap_add(struct cluster *c, struct swaps *swaps, const struct cluster_work *w)
{
    bool is_there = swaps->n == CLUSTER_SWAPS_MAX;
    for (size_t i = 0; i < swaps->n && !is_there; i++)
        is_there = swaps->at[i].partition == w->of.partition &&
                   memcmp(swaps->at[i].topic, w->of.topic, sizeof w->of.topic) == 0;
    if (is_there)
        swaps_flush(c, swaps);
    if (swaps->at == NULL)
        swaps->at = mem_new_array(CLUSTER_SWAPS_MAX, sizeof swaps->at[0]);
    struct cluster_swap *s = &swaps->at[swaps->n++];
    *s = (struct cluster_swap){.partition = w->of.partition, .value = w->key};
    memcpy(s->topic, w->of.topic, sizeof s->topic);
}

static void read_one(struct cluster *c, const struct cluster_work *w)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    struct catalog_kv kv = {.key = NULL};
    struct replica_key value;
    catalog_key_partition(key, w->of.topic, w->of.partition);
    enum err e = catalog_get(c->catalog, key, &kv);
    if (e == ERR_OK)
        e = catalog_partition_decode(kv.value, kv.mod_rev, &value);
    if (e == ERR_OK) {
        lock_take(&c->lk);
        cluster_view_put(&c->view, key, kv.value, kv.create_rev, kv.mod_rev);
        lock_give(&c->lk);
        queue_copy_key(c->queue, &w->of, &value, w->serial);
    }
    catalog_kv_fini(&kv);
}

/* Linearizable: the list begins after all of them were asked for. */
static void reads_run(struct cluster *c, const struct cluster_work *first)
{
    size_t n = 0;
    for (const struct cluster_work *w = first; w != NULL; w = w->next)
        n += w->kind == CLUSTER_WORK_READ;
    bool is_listed = n > READS_TOGETHER && cluster_list(c) == ERR_OK;
    for (const struct cluster_work *w = first; w != NULL; w = w->next) {
        if (w->kind != CLUSTER_WORK_READ)
            continue;
        const struct cluster_partition *p =
            cluster_view_partition(&c->view, w->of.topic, w->of.partition);
        if (!is_listed)
            read_one(c, w);
        else if (p != NULL)
            queue_copy_key(c->queue, &w->of, &p->key, w->serial);
    }
}

/* Changes first: whoever reads wants to see what became of its own. */
static void work_run(struct cluster *c, struct cluster_work *first, int64_t now_ms)
{
    struct swaps swaps = {.at = NULL};
    for (struct cluster_work *w = first; w != NULL; w = w->next) {
        if (w->kind == CLUSTER_WORK_EVENTS)
            events_run(c, w);
        else if (w->kind == CLUSTER_WORK_ANSWER)
            cluster_reign_answer(c, w, now_ms);
        else if (w->kind == CLUSTER_WORK_LOST)
            cluster_knock_lost(c, w->broker, now_ms);
        else if (w->kind == CLUSTER_WORK_KNOCK)
            cluster_knock_done(c, w, now_ms);
        else if (w->kind == CLUSTER_WORK_VOICE)
            cluster_voice_heard(c, w, now_ms);
        else if (w->kind == CLUSTER_WORK_SWAP)
            swap_add(c, &swaps, w);
    }
    swaps_flush(c, &swaps);
    mem_free(swaps.at);
    reads_run(c, first);
    while (first != NULL) {
        struct cluster_work *next = first->next;
        cluster_work_free(first);
        first = next;
    }
}

/* ---- the session ---- */

/* Somebody who found nobody here, or an operator, has revoked it: the view has shown it, and does
 * so no more. The session's own thread would find out with its next renewal only. */
static bool is_revoked(struct cluster *c)
{
    const struct cluster_member *m = cluster_view_member(&c->view, c->broker);
    if (c->self.session == NULL || m == NULL)
        return false;
    if (m->is_live && m->session.session == c->self.number) {
        c->is_session_seen = true;
        c->session_number = c->self.number;
        return false;
    }
    return c->is_session_seen && c->session_number == c->self.number && m->session_rev == 0;
}

static void session_look(struct cluster *c, bool is_lost, int64_t now_ms)
{
    is_lost = is_revoked(c) || is_lost;
    if (is_lost && c->self.session != NULL) {
        note(NOTE_WARNING, "cluster", "the session is lost: this broker counts as gone");
        cluster_self_forget(&c->self);
        c->register_ms = now_ms;
    }
    if (c->self.session != NULL || c->is_expelled || c->leave_ms != 0 || now_ms < c->register_ms)
        return;
    /* Without waiting: the old lease may still stand, and others' changes wait behind us. */
    if (cluster_self_register(&c->self, false) == ERR_CONFLICT)
        c->is_expelled = true; /* a line tells; nothing is elected here any more */
    c->register_ms = clock_boot_ms(c->clock) + AGAIN_MS;
}

/* ---- leaving ---- */

/* Does this broker lead what another one could? */
static bool is_needed(const struct cluster *c)
{
    const struct cluster_view *v = &c->view;
    for (const struct cluster_topic *t = v->topics; t != NULL; t = t->next)
        for (uint32_t i = 0; i < t->partitions_n; i++) {
            const struct replica_key *k = &t->partitions[i].key;
            if (!t->partitions[i].is_known || k->leader != c->broker)
                continue;
            for (size_t m = 0; m < k->members_n; m++)
                if (k->members[m].in_isr && cluster_view_is_live(v, k->members[m].broker) &&
                    !cluster_view_is_draining(v, k->members[m].broker))
                    return true;
        }
    return false;
}

/* True: it is time to go. */
static bool leave(struct cluster *c, int64_t now_ms)
{
    enum { LEAVE_MS = 5000 };
    if (c->leave_ms == 0) {
        c->leave_ms = now_ms + LEAVE_MS;
        if (cluster_self_resign(&c->self) != ERR_OK)
            return true;
        lock_take(&c->lk);
        c->wants_list = true; /* to see ourselves leaving */
        lock_give(&c->lk);
        return false;
    }
    return now_ms >= c->leave_ms ||
           (cluster_view_is_draining(&c->view, c->broker) && !is_needed(c));
}

static void left(struct cluster *c)
{
    lock_take(&c->lk);
    c->has_left = true;
    lock_signal_all(&c->tick_wake);
    lock_give(&c->lk);
}

/* ---- the threads ---- */

static int64_t pause_of(const struct cluster *c, int64_t now_ms)
{
    int64_t next_ms = c->list_ms;
    if (c->reigns && c->step_ms < next_ms)
        next_ms = c->step_ms;
    if (c->self.session != NULL && c->suspects.due_ms < next_ms)
        next_ms = c->suspects.due_ms;
    if ((c->has_untold || c->self.session == NULL || c->view.ctl_rev == 0 || c->leave_ms != 0) &&
        next_ms > now_ms + TICK_MS)
        next_ms = now_ms + TICK_MS;
    return next_ms > now_ms ? next_ms - now_ms : 0;
}

struct news {
    struct cluster_work *first;
    bool wants_list, is_lost, is_leaving, is_stopping;
};

/* `waits`: until there is some, or it is time to look. */
static void news_take(struct cluster *c, bool waits, struct news *news)
{
    int64_t now_ms = clock_boot_ms(c->clock);
    int64_t pause_ms = pause_of(c, now_ms);
    lock_take(&c->lk);
    bool wants_list = c->wants_list || c->watch_waits;
    if (wants_list && c->lists_from_ms - now_ms < pause_ms)
        pause_ms = c->lists_from_ms - now_ms;
    bool has_news =
        c->first != NULL || c->is_lost || c->is_stopping || (c->is_leaving && c->leave_ms == 0);
    if (waits && !has_news && pause_ms > 0)
        lock_signal_wait(&c->wake, &c->lk, pause_ms);
    *news = (struct news){.first = c->first,
                          .wants_list = c->wants_list || c->watch_waits,
                          .is_lost = c->is_lost,
                          .is_leaving = c->is_leaving,
                          .is_stopping = c->is_stopping};
    c->first = NULL;
    c->last = &c->first;
    c->is_lost = false;
    lock_give(&c->lk);
}

bool cluster_turn(struct cluster *c, bool waits)
{
    struct news news;
    news_take(c, waits, &news);
    int64_t now_ms = clock_boot_ms(c->clock);
    work_run(c, news.first, now_ms);
    if (news.is_stopping)
        return false;
    session_look(c, news.is_lost, now_ms);
    if ((news.wants_list && now_ms >= c->lists_from_ms) || now_ms >= c->list_ms)
        list_and_go(c, now_ms);
    cluster_knock_step(c, now_ms);
    cluster_reign(c, clock_boot_ms(c->clock));
    cluster_tell(c);
    if (c->has_untold && now_ms >= c->again_ms) {
        c->again_ms = now_ms + AGAIN_MS;
        untold_tell(c);
    }
    if (news.is_leaving && leave(c, now_ms))
        left(c);
    return true;
}

void *cluster_thread(void *self)
{
    while (cluster_turn(self, true))
        continue;
    return NULL;
}

void *cluster_ticker(void *self)
{
    struct cluster *c = self;
    for (;;) {
        lock_take(&c->lk);
        if (!c->is_stopping)
            lock_signal_wait(&c->tick_wake, &c->lk, TICK_MS);
        bool is_stopping = c->is_stopping;
        lock_give(&c->lk);
        if (is_stopping)
            return NULL;
        queue_copy_tick(c->queue);
    }
}

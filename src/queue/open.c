// SPDX-License-Identifier: Apache-2.0
/* A start: logs and catalogue are opened and matched, states are folded, what was under way is
 * finished. And the ways to stop. */
#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/mem.h"
#include "base/note.h"
#include "catalog/topic.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

static const uint64_t snapshot_log_bytes_default = 64u << 20;
static const uint64_t in_flight_max_default = 120000;

static struct queue *queue_new(const struct queue_options *o)
{
    struct queue *q = mem_new(sizeof *q);
    q->disk = o->disk;
    q->clock = o->clock;
    q->links = o->links;
    q->mover = o->mover;
    q->rng = o->rng;
    q->snapshot_log_bytes = o->snapshot_log_bytes == 0 ? space_share(q, snapshot_log_bytes_default)
                                                       : o->snapshot_log_bytes;
    q->in_flight_max = o->in_flight_max == 0 ? in_flight_max_default : o->in_flight_max;
    q->compact_keys_max = o->compact_keys_max == 0 ? COMPACT_KEYS_MAX : o->compact_keys_max;
    q->unlooked_bytes = UINT64_MAX / 2; /* the first send looks */
    q->house_sleeps_until_ms = INT64_MIN;
    q->house_next_ms = INT64_MIN;
    q->redrive_next_ms = INT64_MAX;
    lock_init(&q->topics_lk, LOCK_RANK_TOPICS);
    house_init(q);
    commit_init(q);
    jobs_init(q);
    copies_init(q);
    return q;
}

static void free_list(struct queue_topic *t)
{
    while (t != NULL) {
        struct queue_topic *next = t->dropped_next;
        house_alarm_drop(t->q, &t->waiters);
        topic_free(t);
        t = next;
    }
}

static void queue_free(struct queue *q)
{
    struct queue_topic *t, *next;
    HASH_ITER(by_name, q->topics_by_name, t, next)
    {
        HASH_DELETE(by_name, q->topics_by_name, t);
        HASH_DELETE(by_id, q->topics_by_id, t);
        house_alarm_drop(q, &t->waiters);
        topic_free(t);
    }
    free_list(q->dropped);
    free_list(q->freed);
    attempts_fini(q);
    digest_hmac_fini(&q->receipt_key);
    digest_hmac_fini(&q->receipt_key_previous);
    digest_hmac_fini(&q->id_key);
    jobs_fini(q);
    commit_fini(q);
    copies_fini(q);
    house_fini(q);
    lock_fini(&q->topics_lk);
    mem_free(q);
}

static void count_log(void *arg, struct plog_log *log)
{
    (void)log;
    ++*(size_t *)arg;
}

/* Each start raises the epoch before any log is made. So a catalogue without one beside logs was
 * lost and made anew, and would give away all that is stored. */
static enum err check_not_lost(struct queue *q, const char *path)
{
    struct catalog_kv kv = {0};
    size_t logs = 0;
    enum err e = catalog_get(q->catalog, "k/epoch", &kv);
    catalog_kv_fini(&kv);
    if (e != ERR_NOT_FOUND)
        return e;
    plog_each(q->plog, count_log, &logs);
    if (logs == 0)
        return ERR_OK;
    note(NOTE_ERROR, "queue",
         "%s was missing or empty, but the folder t holds %zu logs: put back their catalogue", path,
         logs);
    return ERR_CORRUPT;
}

static enum err read_keys(struct queue *q, const struct queue_options *o)
{
    const char *key = "k/epoch";
    enum err e = q->links != NULL ? ERR_OK : catalog_epoch_raise(q->catalog, &q->epoch);
    if (e == ERR_OK) {
        key = "k/receipt or k/ids";
        e = secret_start(q, o->fresh_secret);
    }
    if (e != ERR_OK)
        note(NOTE_ERROR, "queue", "%s, key %s: %s",
             q->links != NULL ? "the cluster's catalogue" : o->catalog_path, key, err_text(e));
    return e;
}

static enum err open_stores(struct queue *q, const struct queue_options *o)
{
    struct plog_options p;
    plog_options_default(&p);
    p.disk = o->disk;
    if (o->segment_bytes != 0)
        p.segment_bytes = o->segment_bytes;
    p.segment_bytes = (uint32_t)space_share(q, p.segment_bytes);
    q->segment_bytes = p.segment_bytes;
    if (o->cache_bytes != 0)
        p.cache_bytes = o->cache_bytes;
    p.journal_bytes = (uint32_t)space_share(q, p.journal_bytes);
    if (o->journal_bytes != 0)
        p.journal_first_bytes = p.journal_bytes = o->journal_bytes;
    p.self = q;
    p.stamp = time_stamp;
    p.on_durable = wait_on_durable;
    p.on_full = house_on_full;
    enum err e = plog_open(&p, &q->plog);
    if (e != ERR_OK)
        return e;
    struct plog_stamp last = plog_last_stamp(q->plog);
    time_start(q, &last);
    q->stamp_ms = last.partition_ms;
    if (q->links != NULL) {
        q->catalog = o->catalog;
        return read_keys(q, o);
    }
    e = catalog_open(o->catalog_path, &q->catalog);
    if (e == ERR_OK)
        e = check_not_lost(q, o->catalog_path);
    return e == ERR_OK ? read_keys(q, o) : e;
}

/* ---- topics of the catalogue ---- */

/* What the start finds: topics by id, whatever their state, before any is registered. */
struct found {
    struct queue *q;
    struct queue_topic *topics; /* a hash by id */
    struct plog_log **doomed;   /* logs of topics that are being deleted */
    size_t doomed_n;
    bool doomed_stay; /* not all of them could be removed */
};

static enum err find_topics(struct found *f)
{
    struct catalog_kvs kvs = {0};
    enum err e = catalog_list(f->q->catalog, "t/", &kvs);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < kvs.n && e == ERR_OK; i++) {
        struct topic_config config;
        e = topic_config_decode(kvs.at[i].value, &config);
        if (e != ERR_OK) {
            note(NOTE_ERROR, "queue", "catalogue key %s: %s", kvs.at[i].key, err_text(e));
            break;
        }
        struct queue_topic *t = topic_new(f->q, &config, kvs.at[i].mod_rev);
        HASH_ADD_KEYPTR(by_id, f->topics, t->id.at, sizeof t->id.at, t);
    }
    catalog_kvs_fini(&kvs);
    return e;
}

static void match_log(void *arg, struct plog_log *log)
{
    struct found *f = arg;
    struct plog_id id = plog_log_id(log);
    struct queue_topic *t = NULL;
    HASH_FIND(by_id, f->topics, id.topic, sizeof id.topic, t);
    if (t != NULL && queue_topic_config(t)->state == TOPIC_DELETING) {
        f->doomed = mem_resize(f->doomed, (f->doomed_n + 1) * sizeof f->doomed[0]);
        f->doomed[f->doomed_n++] = log;
    } else if (t != NULL && id.partition < t->partitions_n) {
        partition_attach(&t->partitions[id.partition], log);
    } else {
        /* No way of ours leads here: keys outlive logs. The catalogue is older than the logs, or
         * another's; what it does not know may still be wanted. */
        char hex[2 * sizeof id.topic + 1];
        codec_hex_text((struct bytes){id.topic, sizeof id.topic}, hex);
        note(NOTE_WARNING, "queue", "t/%s/%u belongs to no topic of the catalogue; it is kept", hex,
             (unsigned)id.partition);
    }
}

static void remove_doomed(struct found *f)
{
    for (size_t i = 0; i < f->doomed_n; i++) {
        enum err e = plog_remove(f->q->plog, f->doomed[i]);
        if (e == ERR_OK)
            continue;
        note(NOTE_WARNING, "queue", "files of a deleted topic stay: %s", err_text(e));
        f->doomed_stay = true;
    }
    mem_free(f->doomed);
}

static void recover(struct queue_topic *t)
{
    bool ready = queue_topic_config(t)->state == TOPIC_READY;
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        if (p->log != NULL && !p->closed)
            snapshot_recover(p);
        else if (p->log == NULL && ready)
            partition_close(p, "its directory is missing");
    }
}

/* Takes t out of `found` and puts it where it belongs. */
static enum err settle(struct queue *q, struct queue_topic *t, bool doomed_stay)
{
    enum topic_state state = queue_topic_config(t)->state;
    enum err e = ERR_OK;
    if (state == TOPIC_DELETING) {
        if (!doomed_stay) /* else the next start would not know whose they are */
            e = topic_keys_drop(q, queue_topic_config(t));
        topic_free(t);
        return e;
    }
    recover(t);
    if (state == TOPIC_CREATING)
        e = topic_create_finish(t);
    if (e == ERR_OK) {
        topic_register(t);
        return redrive_recover(t);
    }
    /* The next start tries again; its logs know it until then. */
    note(NOTE_ERROR, "queue", "topic %s cannot be finished: %s", t->name, err_text(e));
    t->freed_at_ms = INT64_MAX;
    t->dropped_next = q->freed;
    q->freed = t;
    return ERR_OK;
}

static enum err open_topics(struct queue *q)
{
    struct found f = {.q = q};
    struct queue_topic *t, *next;
    enum err e = find_topics(&f);
    if (e == ERR_OK) {
        plog_each(q->plog, match_log, &f);
        remove_doomed(&f);
    }
    HASH_ITER(by_id, f.topics, t, next)
    {
        HASH_DELETE(by_id, f.topics, t);
        if (e == ERR_OK)
            e = settle(q, t, f.doomed_stay);
        else
            topic_free(t);
    }
    return e;
}

enum err queue_open(const struct queue_options *o, struct queue **out)
{
    struct queue *q = queue_new(o);
    enum err e = open_stores(q, o);
    if (e == ERR_OK && q->links == NULL)
        e = open_topics(q);
    if (e != ERR_OK) {
        queue_abandon(q);
        return e;
    }
    *out = q;
    return ERR_OK;
}

/* ---- stopping ---- */

void queue_close(struct queue *q)
{
    CHECK(!q->threads);
    queue_commit_all(q);
    size_t n;
    struct queue_topic **topics = topics_lend(q, &n);
    copies_stop(topics, n);
    snapshots_at_stop(q, topics, n);
    topics_give_back(topics, n);
    clean_stop(q);
    compact_stop(q);
    plog_close(q->plog);
    if (q->links == NULL)
        catalog_close(q->catalog);
    queue_free(q);
}

static void forget_marks(struct queue_topic *t)
{
    for (uint32_t i = 0; i < t->partitions_n; i++)
        t->partitions[i].marks_first = t->partitions[i].marks_last = NULL;
}

void queue_abandon(struct queue *q)
{
    struct queue_topic *t, *next;
    clean_stop(q);
    compact_stop(q);
    if (q->plog != NULL)
        plog_abandon(q->plog);
    if (q->catalog != NULL && q->links == NULL)
        catalog_close(q->catalog);
    HASH_ITER(by_name, q->topics_by_name, t, next)
    {
        forget_marks(t);
    }
    for (t = q->dropped; t != NULL; t = t->dropped_next)
        forget_marks(t);
    queue_free(q);
}

const char *queue_store_uuid(const struct queue *q)
{
    return plog_store_uuid(q->plog);
}

/* ---- threads ---- */

static void *house_thread(void *arg)
{
    house_run(arg);
    return NULL;
}

static void *committer_thread(void *arg)
{
    commit_run(arg);
    return NULL;
}

static void *jobs_thread(void *arg)
{
    jobs_run(arg, false);
    return NULL;
}

static void *copies_thread(void *arg)
{
    copy_work_run(arg);
    return NULL;
}

static void *helper_thread(void *arg)
{
    jobs_run(arg, true);
    return NULL;
}

void queue_threads_start(struct queue *q)
{
    CHECK(!q->threads);
    __atomic_store_n(&q->stop, false, __ATOMIC_RELEASE);
    __atomic_store_n(&q->threads, true, __ATOMIC_RELEASE);
    CHECK(pthread_create(&q->thread_house, NULL, house_thread, q) == 0);
    CHECK(pthread_create(&q->thread_committer, NULL, committer_thread, q) == 0);
    if (q->links != NULL)
        CHECK(pthread_create(&q->thread_copies, NULL, copies_thread, q) == 0);
    for (int i = 0; i < JOB_THREADS; i++)
        CHECK(pthread_create(&q->thread_jobs[i], NULL, i == 0 ? jobs_thread : helper_thread, q) ==
              0);
}

static void call(struct lock *lk, struct lock_signal *changed)
{
    lock_take(lk);
    lock_signal_all(changed);
    lock_give(lk);
}

void queue_threads_stop(struct queue *q)
{
    if (!__atomic_load_n(&q->threads, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&q->stop, true, __ATOMIC_RELEASE);
    call(&q->copies.lk, &q->copies.roles_changed);
    call(&q->jobs.lk, &q->jobs.changed);
    call(&q->jobs.lk, &q->jobs.helpers_changed);
    for (int i = 0; i < JOB_THREADS; i++)
        CHECK(pthread_join(q->thread_jobs[i], NULL) == 0);
    house_call(q);
    CHECK(pthread_join(q->thread_house, NULL) == 0);
    call(&q->copies.lk, &q->copies.changed);
    if (q->links != NULL)
        CHECK(pthread_join(q->thread_copies, NULL) == 0);
    call(&q->committer.lk, &q->committer.changed);
    CHECK(pthread_join(q->thread_committer, NULL) == 0);
    __atomic_store_n(&q->threads, false, __ATOMIC_RELEASE);
}

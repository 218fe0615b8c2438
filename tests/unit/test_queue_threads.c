// SPDX-License-Identifier: Apache-2.0
/* The room queue with its threads, the real clock, senders and receivers side by side: everything
 * that was answered is received, nothing twice without cause, and nobody sleeps through a wake. Run
 * it under TSan: it is what its rules on locks and atomics are tested by. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "lib/folder.h"
#include "lib/runner.h"
#include "queue/queue.h"

enum { SENDERS = 2, MESSAGES = 1500, PARTITIONS = 3, FIFO_GROUPS = 5 };

static char dir[FOLDER_PATH_ROOM], catalog_path[96];
static struct disk disk;
static struct clock real_clock;
static struct queue *q;
static struct queue_topic *topic;
static unsigned char seen[SENDERS * MESSAGES];
static unsigned received_n, waits_failed, doubles, disordered;

/* A request of a test thread: blocks until ready or woken. */
struct request {
    struct queue_wait w;
    struct queue_poll poll;
    struct lock lk;
    struct lock_signal signal;
    bool ready, woken;
};

static void request_init(struct request *r)
{
    memset(r, 0, sizeof *r);
    lock_init(&r->lk, LOCK_RANK_MAILBOX);
    lock_signal_init(&r->signal);
}

static void request_fini(struct request *r)
{
    lock_signal_fini(&r->signal);
    lock_fini(&r->lk);
}

static void set(struct request *r, bool *flag)
{
    lock_take(&r->lk);
    *flag = true;
    lock_signal_all(&r->signal);
    lock_give(&r->lk);
}

static void on_ready(struct queue_wait *w)
{
    struct request *r = CONTAINER_OF(w, struct request, w);
    set(r, &r->ready);
}

static void on_wake(struct queue_poll *p)
{
    struct request *r = CONTAINER_OF(p, struct request, poll);
    set(r, &r->woken);
}

static bool wait_for(struct request *r, bool *flag, int64_t ms)
{
    lock_take(&r->lk);
    for (int64_t slept = 0; !*flag && slept < ms; slept += 100)
        lock_signal_wait(&r->signal, &r->lk, 100);
    bool is_set = *flag;
    *flag = false;
    lock_give(&r->lk);
    return is_set;
}

/* As a front does at the end of a request: waits for commit. */
static void settle(struct request *r)
{
    bool waits = queue_wait_start(&r->w);
    queue_pass_end(q);
    if ((waits && !wait_for(r, &r->ready, 20000)) || r->w.err != ERR_OK)
        __atomic_fetch_add(&waits_failed, 1, __ATOMIC_RELAXED);
    memset(&r->w, 0, sizeof r->w);
    r->w.ready = on_ready;
}

static void *sender(void *arg)
{
    int first = *(int *)arg * MESSAGES;
    struct request r;
    request_init(&r);
    r.w.ready = on_ready;
    for (int i = first; i < first + MESSAGES; i++) {
        char text[16], group[16];
        snprintf(text, sizeof text, "%d", i);
        snprintf(group, sizeof group, "%d.%d", first, i % FIFO_GROUPS);
        struct queue_message m = {.body = bytes_of_text(text), .delay_ms = -1};
        if (queue_topic_config(topic)->fifo) {
            m.group_id = bytes_of_text(group);
            m.dedup_id = bytes_of_text(text);
        }
        struct queue_sent sent;
        enum err e;
        queue_send(topic, &m, 1, &sent, &e, &r.w);
        settle(&r);
        if (e != ERR_OK)
            __atomic_fetch_add(&waits_failed, 1, __ATOMIC_RELAXED);
    }
    request_fini(&r);
    return NULL;
}

static void note_received(const struct queue_received *m, int *last)
{
    int i = atoi(m->body.at), group = i / MESSAGES * FIFO_GROUPS + i % FIFO_GROUPS;
    if (__atomic_exchange_n(&seen[i], 1, __ATOMIC_RELAXED) != 0)
        __atomic_fetch_add(&doubles, 1, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&last[group], i, __ATOMIC_RELAXED) > i)
        __atomic_fetch_add(&disordered, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&received_n, 1, __ATOMIC_RELAXED);
}

static int last_of_group[SENDERS * FIFO_GROUPS];

static size_t receive_some(struct request *r)
{
    struct queue_received out[QUEUE_BATCH_MAX];
    struct queue_receive request = {.max = 3, .visibility_ms = 60000};
    struct arena arena;
    size_t n = 0;
    arena_init(&arena, NULL, 0);
    if (queue_receive(topic, &request, &arena, out, &n, &r->w) != ERR_OK)
        __atomic_fetch_add(&waits_failed, 1, __ATOMIC_RELAXED);
    settle(r);
    for (size_t i = 0; i < n; i++) {
        note_received(&out[i], last_of_group);
        if (queue_delete(topic, bytes_of_text(out[i].receipt), false, &r->w) != ERR_OK)
            __atomic_fetch_add(&waits_failed, 1, __ATOMIC_RELAXED);
    }
    settle(r);
    arena_fini(&arena);
    return n;
}

static bool all_received(void)
{
    return __atomic_load_n(&received_n, __ATOMIC_RELAXED) >= SENDERS * MESSAGES;
}

static bool wait_for_wake(struct request *r)
{
    for (int i = 0; i < 20 && !all_received(); i++)
        if (wait_for(r, &r->woken, 100))
            return true;
    return false;
}

/* Long polls until all is received; a poll that sleeps for two seconds although there is something
 * to receive has missed a wake. */
static void *receiver(void *arg)
{
    struct request r;
    request_init(&r);
    r.w.ready = on_ready;
    (void)arg;
    while (!all_received()) {
        memset(&r.poll, 0, sizeof r.poll);
        ck_assert_int_eq(queue_poll_start(topic, BYTES_NONE, &r.poll, on_wake), ERR_OK);
        size_t n = receive_some(&r);
        while (n == 0 && (queue_poll_again(&r.poll) || wait_for_wake(&r)))
            n = receive_some(&r);
        queue_poll_end(&r.poll, n == 0);
        r.woken = false;
        if (n == 0 && receive_some(&r) > 0)
            __atomic_fetch_add(&waits_failed, 1, __ATOMIC_RELAXED);
    }
    request_fini(&r);
    return NULL;
}

static void open_queue(void)
{
    folder_make(dir);
    ck_assert_int_eq(disk_posix_open(dir, true, &disk), ERR_OK);
    snprintf(catalog_path, sizeof catalog_path, "%s/catalog.sqlite", dir);
    real_clock = clock_system();
    struct queue_options o = {.disk = &disk,
                              .catalog_path = catalog_path,
                              .clock = &real_clock,
                              .rng = {.state = test_seed()},
                              .snapshot_log_bytes = 10000};
    ck_assert_int_eq(queue_open(&o, &q), ERR_OK);
    queue_threads_start(q);
}

struct making {
    struct queue_job job;
    struct topic_config config;
    struct request r;
    enum err err;
};

static void make_topic(struct queue_job *job)
{
    struct making *m = CONTAINER_OF(job, struct making, job);
    m->err = queue_topic_create(q, &m->config, &topic);
    set(&m->r, &m->r.ready);
}

/* Meanwhile settings change, and another topic comes and goes. */
struct churn {
    struct queue_job job;
    struct request r;
};

static enum err set_visibility(void *arg, struct topic_config *c)
{
    c->visibility_ms = 30000 + *(uint32_t *)arg;
    return ERR_OK;
}

/* Everything is looked at while it changes. */
static bool look_around(void)
{
    static struct queue_seen found[QUEUE_PEEK_MAX];
    struct queue_peek request = {.states = QUEUE_UNFINISHED,
                                 .max = QUEUE_PEEK_MAX,
                                 .bytes_max = 1 << 20,
                                 .scan_max = QUEUE_PEEK_SCAN_MAX};
    struct queue_group_info group;
    struct queue_place next;
    struct queue_bytes bytes;
    struct arena arena;
    size_t n;
    bool more;
    arena_init(&arena, NULL, 0);
    bool good = queue_peek(topic, &request, &arena, found, &n, &next, &more) == ERR_OK &&
                queue_group_look(topic, BYTES_NONE, &group) == ERR_OK &&
                queue_partition_bytes(topic, 0, &bytes) == ERR_OK &&
                bytes.bytes_live <= bytes.bytes;
    arena_fini(&arena);
    return good;
}

static void churn_once(struct queue_job *job)
{
    static uint32_t turn;
    struct churn *c = CONTAINER_OF(job, struct churn, job);
    struct topic_config config;
    struct queue_topic *t;
    turn++;
    if (queue_topic_change(topic, set_visibility, &turn) != ERR_OK || !look_around())
        __atomic_fetch_add(&waits_failed, 1, __ATOMIC_RELAXED);
    topic_config_init(&config);
    snprintf(config.name, sizeof config.name, "comes-and-goes");
    config.partitions = 2;
    if (queue_topic_create(q, &config, &t) == ERR_OK) {
        struct queue_message m = {.body = BYTES_OF("x"), .delay_ms = -1};
        struct queue_sent sent;
        enum err e;
        queue_send(t, &m, 1, &sent, &e, &c->r.w);
        if (e != ERR_OK || queue_topic_delete(t) != ERR_OK)
            __atomic_fetch_add(&waits_failed, 1, __ATOMIC_RELAXED);
        queue_topic_give_back(t);
    }
    topic_config_fini(&config);
    set(&c->r, &c->r.woken);
}

static void *churner(void *arg)
{
    struct churn c = {.job.run = churn_once};
    (void)arg;
    request_init(&c.r);
    c.r.w.ready = on_ready;
    while (!all_received()) {
        if (queue_run(q, &c.job) != ERR_OK || !wait_for(&c.r, &c.r.woken, 20000))
            __atomic_fetch_add(&waits_failed, 1, __ATOMIC_RELAXED);
        settle(&c.r);
    }
    request_fini(&c.r);
    return NULL;
}

static void *(*const roles[])(void *) = {sender, sender, receiver, receiver, receiver, churner};
enum { THREADS = sizeof roles / sizeof roles[0] };

START_TEST(nothing_is_lost_or_missed_among_threads)
{
    bool fifo = _i == 1;
    received_n = waits_failed = doubles = disordered = 0;
    memset(seen, 0, sizeof seen);
    memset(last_of_group, 0, sizeof last_of_group);
    open_queue();
    struct making m = {.job.run = make_topic};
    request_init(&m.r);
    topic_config_init(&m.config);
    snprintf(m.config.name, sizeof m.config.name, fifo ? "q.fifo" : "q");
    m.config.fifo = fifo;
    m.config.partitions = PARTITIONS;
    ck_assert_int_eq(queue_run(q, &m.job), ERR_OK);
    ck_assert(wait_for(&m.r, &m.r.ready, 20000));
    ck_assert_int_eq(m.err, ERR_OK);
    request_fini(&m.r);
    topic_config_fini(&m.config);
    pthread_t threads[THREADS];
    int which[THREADS];
    for (int i = 0; i < THREADS; i++) {
        which[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, roles[i], &which[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct queue_counters c;
    ck_assert_int_eq(queue_count(topic, BYTES_NONE, &c), ERR_OK);
    ck_assert_uint_eq(c.visible + c.in_flight + c.delayed + c.moving, 0);
    ck_assert_uint_eq(received_n, SENDERS * MESSAGES);
    ck_assert_uint_eq(doubles, 0);
    ck_assert_uint_eq(waits_failed, 0);
    if (fifo)
        ck_assert_uint_eq(disordered, 0);
    queue_topic_give_back(topic);
    queue_threads_stop(q);
    queue_close(q);
    disk_posix_close(&disk);
    folder_remove(dir);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("queue with threads");
    TCase *t = tcase_create("threads");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, nothing_is_lost_or_missed_among_threads, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

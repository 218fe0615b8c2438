// SPDX-License-Identifier: Apache-2.0
/* Three whole brokers but for their fronts, in one process: queues with their threads, the cluster
 * with both its sides, one catalogue. What was answered survives the loss of brokers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/note.h"
#include "cluster/inside.h"
#include "lib/fault_disk.h"
#include "lib/folder.h"
#include "lib/runner.h"
#include "queue/copies.h"

enum { BROKERS = 3, MESSAGES = 30, PARTITIONS = 3, AWAIT_MS = 15000, LOOK_MS = 5 };

struct broker {
    struct fault_disk *disk;
    struct cluster *cluster; /* NULL: it is down */
    struct queue *q;
};

static char folder[FOLDER_PATH_ROOM];
static struct catalog *catalog;
static struct clock sys;
static struct broker brokers[BROKERS + 1];
static struct arena arena;

/* ---- waiting ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Brokers do not tell when they have come to something, so they are looked at. */
static bool look_again(int64_t end_ms)
{
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += LOOK_MS * 1000000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&changed, &mutex, &soon);
    pthread_mutex_unlock(&mutex);
    return clock_boot_ms(&sys) < end_ms;
}

#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        int64_t end_ms = clock_boot_ms(&sys) + AWAIT_MS;                                           \
        while (!(condition))                                                                       \
            ck_assert_msg(look_again(end_ms), "not in time: %s", #condition);                      \
    } while (0)

struct request {
    struct queue_wait w;
    bool is_told; /* guarded by mutex */
};

static void told(struct queue_wait *w)
{
    struct request *r = w->self;
    pthread_mutex_lock(&mutex);
    r->is_told = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void request_begin(struct request *r)
{
    memset(r, 0, sizeof *r);
    r->w.ready = told;
    r->w.self = r;
}

/* The end of a pass, and the answer's commit. */
static enum err request_end(struct request *r, struct queue *q)
{
    if (!queue_wait_start(&r->w))
        return r->w.err;
    queue_pass_end(q);
    pthread_mutex_lock(&mutex);
    while (!r->is_told)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    return r->w.err;
}

/* ---- brokers ---- */

static void broker_start(uint32_t b)
{
    static uint64_t starts; /* a process that draws what one before it drew is taken for that one */
    starts++;
    struct cluster_options o = {.catalog = catalog,
                                .clock = &sys,
                                .rng = {test_seed() + 1000 * starts},
                                .broker = b,
                                .disk = fault_disk_of(brokers[b].disk),
                                .session_ttl_s = 2,
                                .peer_address = "127.0.0.1",
                                .key = BYTES_OF("0123456789abcdef")};
    struct queue_options q = {.disk = o.disk,
                              .catalog = catalog,
                              .clock = &sys,
                              .rng = {test_seed() + 1000 * starts + 1},
                              .fresh_secret = "a secret of thirty-two bytes....",
                              .journal_bytes = 1 << 20};
    ck_assert_int_eq(cluster_start(&o, &brokers[b].cluster), ERR_OK);
    q.links = cluster_links(brokers[b].cluster);
    ck_assert_int_eq(queue_open(&q, &brokers[b].q), ERR_OK);
    queue_threads_start(brokers[b].q);
    ck_assert_int_eq(cluster_join(brokers[b].cluster, brokers[b].q), ERR_OK);
}

static void broker_die(uint32_t b)
{
    cluster_abandon(brokers[b].cluster);
    queue_threads_stop(brokers[b].q);
    queue_abandon(brokers[b].q);
    cluster_free(brokers[b].cluster);
    fault_disk_power_cut(brokers[b].disk);
    brokers[b].cluster = NULL;
}

static void broker_stop(uint32_t b)
{
    cluster_leave(brokers[b].cluster);
    queue_threads_stop(brokers[b].q);
    queue_close(brokers[b].q);
    cluster_free(brokers[b].cluster);
    fault_disk_kill(brokers[b].disk);
    brokers[b].cluster = NULL;
}

static void setup(void)
{
    char path[FOLDER_PATH_ROOM + 20];
    note_init(NOTE_ERROR, false);
    folder_make(folder);
    snprintf(path, sizeof path, "%s/catalog.sqlite", folder);
    ck_assert_int_eq(catalog_open(path, &catalog), ERR_OK);
    sys = clock_system();
    arena_init(&arena, NULL, 0);
    for (uint32_t b = 1; b <= BROKERS; b++) {
        brokers[b].disk = fault_disk_new(test_seed() + b);
        broker_start(b);
    }
}

static void teardown(void)
{
    for (uint32_t b = 1; b <= BROKERS; b++) {
        if (brokers[b].cluster != NULL)
            broker_stop(b);
        fault_disk_free(brokers[b].disk);
    }
    arena_fini(&arena);
    catalog_close(catalog);
    folder_remove(folder);
}

/* ---- the topic ---- */

static struct queue_topic *topic_at(uint32_t b)
{
    struct queue_topic *t;
    return queue_topic_find(brokers[b].q, BYTES_OF("orders"), &t) == ERR_OK ? t : NULL;
}

static void topic_make(uint32_t by)
{
    struct topic_config config;
    struct queue_topic *t;
    topic_config_init(&config);
    snprintf(config.name, sizeof config.name, "orders");
    config.partitions = PARTITIONS;
    config.copies = BROKERS; /* refused until all are seen to live */
    config.visibility_ms = 0;
    AWAIT(queue_topic_create(brokers[by].q, &config, &t) == ERR_OK);
    queue_topic_give_back(t);
    topic_config_fini(&config);
}

/* The broker that serves this partition; 0: none, or not yet. */
static uint32_t server_of(uint32_t partition)
{
    uint32_t found = 0;
    for (uint32_t b = 1; b <= BROKERS; b++) {
        struct queue_topic *t = brokers[b].cluster == NULL ? NULL : topic_at(b);
        if (t == NULL)
            continue;
        if (queue_copy_is_ours(t, partition))
            found = b;
        queue_topic_give_back(t);
    }
    return found;
}

static bool all_served(void)
{
    for (uint32_t p = 0; p < PARTITIONS; p++)
        if (server_of(p) == 0)
            return false;
    return true;
}

static bool all_in_sync(uint32_t size)
{
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        struct queue_copy_id of = {.partition = p};
        struct replica_status status;
        uint32_t b = server_of(p);
        struct queue_topic *t = b == 0 ? NULL : topic_at(b);
        if (t == NULL)
            return false;
        memcpy(of.topic, queue_topic_config(t)->id, sizeof of.topic);
        enum err e = queue_copy_look(brokers[b].q, &of, &status);
        queue_topic_give_back(t);
        if (e != ERR_OK || status.isr_size != size)
            return false;
    }
    return true;
}

/* Any broker that leads one of the partitions takes it, as a client would find it. */
static enum err send_once(const char *body)
{
    struct queue_message m = {.body = bytes_of_text(body), .delay_ms = -1};
    enum err e = ERR_NOT_LEADER;
    for (uint32_t b = 1; b <= BROKERS && e == ERR_NOT_LEADER; b++) {
        struct queue_topic *t = brokers[b].cluster == NULL ? NULL : topic_at(b);
        struct queue_sent sent;
        struct request r;
        if (t == NULL)
            continue;
        request_begin(&r);
        queue_send(t, &m, 1, &sent, &e, &r.w);
        enum err late = request_end(&r, brokers[b].q);
        if (e == ERR_OK)
            e = late;
        queue_topic_give_back(t);
    }
    return e;
}

static void send_all(int from, int to)
{
    for (int i = from; i < to; i++) {
        char body[16];
        snprintf(body, sizeof body, "m%03d", i);
        AWAIT(send_once(body) == ERR_OK);
    }
}

/* Marks what one receive at b brings, and deletes it. */
static size_t receive_at(uint32_t b, bool seen[MESSAGES])
{
    struct queue_receive request = {.max = QUEUE_BATCH_MAX, .visibility_ms = 30000};
    struct queue_received got[QUEUE_BATCH_MAX];
    struct queue_topic *t = topic_at(b);
    struct request r;
    size_t n = 0;
    if (t == NULL)
        return 0;
    request_begin(&r);
    enum err e = queue_receive(t, &request, &arena, got, &n, &r.w);
    if (request_end(&r, brokers[b].q) != ERR_OK || e != ERR_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        const char *text = got[i].body.at;
        int number = (text[1] - '0') * 100 + (text[2] - '0') * 10 + text[3] - '0';
        ck_assert(number >= 0 && number < MESSAGES);
        seen[number] = true;
        request_begin(&r);
        e = queue_delete(t, bytes_of_text(got[i].receipt), false, &r.w);
        ck_assert_int_eq(request_end(&r, brokers[b].q), ERR_OK);
        ck_assert_int_eq(e, ERR_OK);
    }
    queue_topic_give_back(t);
    return n;
}

static bool all_seen(bool seen[MESSAGES])
{
    for (uint32_t b = 1; b <= BROKERS; b++)
        if (brokers[b].cluster != NULL)
            (void)receive_at(b, seen);
    for (size_t i = 0; i < MESSAGES; i++)
        if (!seen[i])
            return false;
    return true;
}

/* ---- tests ---- */

START_TEST(what_was_answered_survives_its_leader_and_the_next_one)
{
    bool seen[MESSAGES] = {false};
    topic_make(1);
    AWAIT(all_served());
    send_all(0, 10);
    broker_die(1);
    AWAIT(all_served());
    send_all(10, 20);
    broker_start(1);
    AWAIT(all_in_sync(3));
    broker_die(2);
    AWAIT(all_served());
    send_all(20, MESSAGES);
    AWAIT(all_seen(seen));
}
END_TEST

START_TEST(who_leaves_in_peace_is_not_missed)
{
    bool seen[MESSAGES] = {false};
    topic_make(2);
    AWAIT(all_served());
    send_all(0, 15);
    broker_stop(1);
    AWAIT(all_served());
    send_all(15, MESSAGES);
    AWAIT(all_seen(seen));
    broker_start(1);
    AWAIT(all_in_sync(3));
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("cluster and queue");
    TCase *tc = tcase_create("whole brokers");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_was_answered_survives_its_leader_and_the_next_one);
    tcase_add_test(tc, who_leaves_in_peace_is_not_missed);
    suite_add_tcase(s, tc);
    return s;
}

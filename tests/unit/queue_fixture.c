// SPDX-License-Identifier: Apache-2.0
#include "queue_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/folder.h"

struct bench bench;
static struct arena arena;

void bench_start(void)
{
    ck_assert_int_eq(queue_open(&bench.options, &bench.q), ERR_OK);
}

void bench_setup(void)
{
    static char catalog_path[96];
    memset(&bench, 0, sizeof bench);
    folder_make(bench.dir);
    ck_assert_int_eq(disk_posix_open(bench.dir, true, &bench.disk), ERR_OK);
    fake_clock_init(&bench.clock);
    snprintf(catalog_path, sizeof catalog_path, "%s/catalog.sqlite", bench.dir);
    bench.options = (struct queue_options){
        .disk = &bench.disk,
        .catalog_path = catalog_path,
        .clock = &bench.clock.clock,
        .rng = {.state = test_seed()},
        .fresh_secret = "a secret of thirty-two bytes....",
    };
    arena_init(&arena, NULL, 0);
    bench_start();
}

void bench_teardown(void)
{
    if (bench.q != NULL)
        bench_stop();
    arena_fini(&arena);
    disk_posix_close(&bench.disk);
    folder_remove(bench.dir);
}

void bench_stop(void)
{
    queue_close(bench.q);
    bench.q = NULL;
}

void bench_die(void)
{
    queue_abandon(bench.q);
    bench.q = NULL;
}

void bench_restart(void)
{
    bench_die();
    bench_start();
}

void bench_pass(int64_t ms)
{
    fake_clock_pass(&bench.clock, ms);
    queue_housekeep(bench.q);
    queue_commit_all(bench.q);
}

void bench_settle(void)
{
    for (int i = 0; i < 5; i++) {
        queue_commit_all(bench.q);
        queue_housekeep(bench.q);
    }
}

/* ---- topics ---- */

struct queue_topic *topic_with(const char *name, void (*set)(struct topic_config *))
{
    struct queue_topic *t;
    if (queue_topic_find(bench.q, bytes_of_text(name), &t) == ERR_OK)
        return t;
    struct topic_config config;
    topic_config_init(&config);
    snprintf(config.name, sizeof config.name, "%s", name);
    size_t n = strlen(name);
    config.fifo = n > 5 && strcmp(name + n - 5, ".fifo") == 0;
    config.partitions = 1;
    if (set != NULL)
        set(&config);
    ck_assert_int_eq(queue_topic_create(bench.q, &config, &t), ERR_OK);
    topic_config_fini(&config);
    return t;
}

struct queue_topic *topic_of(const char *name)
{
    return topic_with(name, NULL);
}

void topic_drop(const char *name)
{
    struct queue_topic *t = topic_of(name);
    ck_assert_int_eq(queue_topic_delete(t), ERR_OK);
    queue_topic_give_back(t);
}

void topic_set(const char *name, enum err (*change)(void *arg, struct topic_config *), void *arg)
{
    struct queue_topic *t = topic_of(name);
    ck_assert_int_eq(queue_topic_change(t, change, arg), ERR_OK);
    queue_topic_give_back(t);
}

/* ---- verbs ---- */

static void told(struct queue_wait *w)
{
    struct waiting *waiting = CONTAINER_OF(w, struct waiting, w);
    ck_assert(!waiting->told);
    waiting->told = true;
}

void waiting_init(struct waiting *w)
{
    memset(w, 0, sizeof *w);
    w->w.ready = told;
}

void waiting_finish(struct waiting *w)
{
    bool waits = queue_wait_start(&w->w);
    ck_assert(!w->told);
    queue_pass_end(bench.q);
    ck_assert_int_eq(w->told, waits);
    ck_assert_int_eq(w->w.err, ERR_OK);
}

static struct queue_sent send_message(const char *topic, const struct queue_message *m)
{
    struct queue_topic *t = topic_of(topic);
    struct queue_sent sent;
    enum err e;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, m, 1, &sent, &e, &w.w);
    ck_assert_int_eq(e, ERR_OK);
    waiting_finish(&w);
    queue_topic_give_back(t);
    return sent;
}

struct queue_sent send_delayed(const char *topic, const char *body, int64_t delay_ms)
{
    struct queue_message m = {.body = bytes_of_text(body), .delay_ms = delay_ms};
    return send_message(topic, &m);
}

struct queue_sent send_text(const char *topic, const char *body)
{
    return send_delayed(topic, body, -1);
}

struct queue_sent send_grouped(const char *topic, const char *body, const char *group,
                               const char *dedup)
{
    struct queue_message m = {
        .body = bytes_of_text(body),
        .delay_ms = -1,
        .group_id = bytes_of_text(group),
        .dedup_id = bytes_of_text(dedup),
    };
    return send_message(topic, &m);
}

struct got receive_for(const char *topic, size_t max, int64_t visibility_ms)
{
    struct queue_topic *t = topic_of(topic);
    struct got g = {0};
    struct waiting w;
    struct queue_receive r = {
        .max = max, .visibility_ms = visibility_ms, .holder = BYTES_OF("worker")};
    waiting_init(&w);
    g.err = queue_receive(t, &r, &arena, g.at, &g.n, &w.w);
    waiting_finish(&w);
    queue_topic_give_back(t);
    return g;
}

struct got receive(const char *topic, size_t max)
{
    struct got g = receive_for(topic, max, -1);
    ck_assert_int_eq(g.err, ERR_OK);
    return g;
}

const char *bodies(const struct got *g)
{
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; i < g->n; i++) {
        if (i > 0)
            buf_put_text(&text, " ");
        buf_put_bytes(&text, g->at[i].body);
    }
    struct bytes copy = arena_copy(&arena, buf_bytes(&text));
    buf_fini(&text);
    return copy.at;
}

enum err delete_receipt(const char *topic, const char *receipt)
{
    struct queue_topic *t = topic_of(topic);
    struct waiting w;
    waiting_init(&w);
    enum err e = queue_delete(t, bytes_of_text(receipt), false, &w.w);
    waiting_finish(&w);
    queue_topic_give_back(t);
    return e;
}

enum err extend_receipt(const char *topic, const char *receipt, int64_t visibility_ms)
{
    struct queue_topic *t = topic_of(topic);
    struct waiting w;
    waiting_init(&w);
    enum err e = queue_extend(t, bytes_of_text(receipt), visibility_ms, false, &w.w);
    waiting_finish(&w);
    queue_topic_give_back(t);
    return e;
}

struct queue_counters count(const char *topic)
{
    struct queue_topic *t = topic_of(topic);
    struct queue_counters c = {0};
    ck_assert_int_eq(queue_count(t, BYTES_NONE, &c), ERR_OK);
    queue_topic_give_back(t);
    return c;
}

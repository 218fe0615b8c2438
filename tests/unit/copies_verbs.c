// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copies_fixture.h"
#include "queue/spread.h"

static void told(struct queue_wait *w)
{
    struct request *r = CONTAINER_OF(w, struct request, w);
    ck_assert(!r->told);
    if (r->err == ERR_OK)
        r->err = w->err;
    __atomic_store_n(&r->told, true, __ATOMIC_RELEASE);
}

static void request_begin(struct request *r)
{
    memset(r, 0, sizeof *r);
    r->w.ready = told;
}

static void request_wait(struct request *r)
{
    if (!queue_wait_start(&r->w))
        told(&r->w);
}

void request_repeat(struct request *r, uint32_t broker, const char *topic, const char *body,
                    const struct queue_repeat *key)
{
    struct queue_topic *t = topic_at(broker, topic);
    struct queue_message m = {.body = bytes_of_text(body), .delay_ms = -1, .repeat = key};
    const uint32_t first = 0;
    request_begin(r);
    if (t->fifo) {
        m.group_id = BYTES_OF("g");
        m.dedup_id = m.body;
    }
    if (key == NULL)
        queue_send(t, &m, 1, &r->sent, &r->err, &r->w);
    else
        queue_send_to(t, &m, &first, 1, &r->sent, &r->err, &r->w);
    request_wait(r);
    queue_topic_give_back(t);
}

void request_send(struct request *r, uint32_t broker, const char *topic, const char *body)
{
    request_repeat(r, broker, topic, body, NULL);
}

void request_delete(struct request *r, uint32_t broker, const char *topic, const char *receipt)
{
    struct queue_topic *t = topic_at(broker, topic);
    request_begin(r);
    r->err = queue_delete(t, bytes_of_text(receipt), false, &r->w);
    request_wait(r);
    queue_topic_give_back(t);
}

enum err send_to(uint32_t broker, const char *topic, const char *body)
{
    struct request r;
    request_send(&r, broker, topic, body);
    world_settle();
    ck_assert(r.told);
    return r.err;
}

enum err delete_at(uint32_t broker, const char *topic, const char *receipt)
{
    struct request r;
    request_delete(&r, broker, topic, receipt);
    world_settle();
    ck_assert(r.told);
    return r.err;
}

struct got receive_at(uint32_t broker, const char *topic, size_t max, int64_t visibility_ms)
{
    struct queue_topic *t = topic_at(broker, topic);
    struct got got = {0};
    struct request r;
    struct queue_receive request = {.max = max, .visibility_ms = visibility_ms};
    request_begin(&r);
    got.err = queue_receive(t, &request, &world.arena, got.at, &got.n, &r.w);
    request_wait(&r);
    world_settle();
    ck_assert(r.told);
    if (got.err == ERR_OK)
        got.err = r.err;
    if (got.err != ERR_OK)
        got.n = 0;
    queue_topic_give_back(t);
    return got;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *drain(uint32_t broker, const char *topic)
{
    static char text[8192];
    char *all[512];
    size_t n = 0, at = 0;
    for (;;) {
        struct got g = receive_at(broker, topic, 10, 30000);
        ck_assert_int_eq(g.err, ERR_OK);
        if (g.n == 0)
            break;
        for (size_t i = 0; i < g.n; i++) {
            ck_assert_uint_lt(n, 512);
            all[n] = arena_get(&world.arena, g.at[i].body.n + 1);
            memcpy(all[n], g.at[i].body.at, g.at[i].body.n);
            all[n++][g.at[i].body.n] = '\0';
            ck_assert_int_eq(delete_at(broker, topic, g.at[i].receipt), ERR_OK);
        }
    }
    qsort(all, n, sizeof all[0], by_text);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i > 0 ? " " : "", all[i]);
    return text;
}

void send_long(uint32_t broker, int n)
{
    char body[2048];
    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(send_to(broker, "q", body), ERR_OK);
}

void drain_long(uint32_t broker, int n)
{
    for (int left = n; left > 0;) {
        struct got g = receive_at(broker, "q", 10, 600000);
        ck_assert_uint_gt(g.n, 0);
        for (size_t i = 0; i < g.n; i++)
            ck_assert_int_eq(delete_at(broker, "q", g.at[i].receipt), ERR_OK);
        left -= (int)g.n;
    }
}

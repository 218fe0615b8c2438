// SPDX-License-Identifier: Apache-2.0
/* Random histories over a few partitions with small segments and restarts: what looks say of every
 * message and segment is compared with plain notes of what was done. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "queue_fixture.h"

enum { PARTITIONS = 3, MESSAGES = 400, STEPS = 300, DEFAULT_DELAY_MS = 3000 };

struct fact {
    int64_t due_ms, until_ms; /* until_ms: of the last lease; 0: never leased */
    uint32_t receives;
    bool finished;
    char body[24];
    char receipt[QUEUE_RECEIPT_TEXT_MAX + 1];
};

static struct history {
    struct rng rng;
    struct fact facts[PARTITIONS][MESSAGES];
    size_t n[PARTITIONS];
    unsigned sent;
    struct arena arena;
} h;

static uint64_t below(uint64_t limit)
{
    return rng_below(&h.rng, limit);
}

static void set_history(struct topic_config *c)
{
    c->partitions = PARTITIONS;
    c->delay_ms = DEFAULT_DELAY_MS;
}

static enum queue_message_state state_of(const struct fact *f)
{
    int64_t now_ms = queue_now_ms(bench.q);
    if (f->finished)
        return QUEUE_FINISHED;
    if (f->receives > 0)
        return now_ms < f->until_ms ? QUEUE_LEASED : QUEUE_READY;
    return now_ms < f->due_ms ? QUEUE_DELAYED : QUEUE_READY;
}

/* ---- what is done ---- */

static void do_send(void)
{
    char body[QUEUE_BATCH_MAX][400];
    struct queue_message m[QUEUE_BATCH_MAX];
    struct queue_sent sent[QUEUE_BATCH_MAX];
    enum err errs[QUEUE_BATCH_MAX];
    size_t n = 1 + below(QUEUE_BATCH_MAX);
    struct queue_topic *t = topic_of("h");
    struct waiting w;
    int64_t now_ms = queue_now_ms(bench.q);
    for (size_t i = 0; i < n; i++) {
        snprintf(body[i], sizeof body[i], "%05u.%0*d", h.sent++, 1 + (int)below(300), 0);
        m[i] = (struct queue_message){.body = bytes_of_text(body[i]), .delay_ms = -1};
        if (below(3) == 0)
            m[i].delay_ms = (int64_t)below(6000);
    }
    waiting_init(&w);
    queue_send(t, m, n, sent, errs, &w.w);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(errs[i], ERR_OK);
        struct fact *f = &h.facts[sent[i].partition][h.n[sent[i].partition]];
        ck_assert_uint_eq(sent[i].number, h.n[sent[i].partition]++);
        *f = (struct fact){
            .due_ms = now_ms + (m[i].delay_ms < 0 ? DEFAULT_DELAY_MS : m[i].delay_ms),
        };
        memcpy(f->body, body[i], 6);
    }
    waiting_finish(&w);
    queue_topic_give_back(t);
}

static void do_receive(void)
{
    int64_t visibility_ms = below(5) == 0 ? 0 : (int64_t)below(8000);
    struct got g = receive_for("h", 1 + below(QUEUE_BATCH_MAX), visibility_ms);
    ck_assert_int_eq(g.err, ERR_OK);
    for (size_t i = 0; i < g.n; i++) {
        struct fact *f = &h.facts[g.at[i].partition][g.at[i].number];
        ck_assert_int_eq(state_of(f), QUEUE_READY);
        ck_assert_uint_eq(g.at[i].receive_count, ++f->receives);
        f->until_ms = queue_now_ms(bench.q) + visibility_ms;
        memcpy(f->receipt, g.at[i].receipt, sizeof f->receipt);
    }
}

static struct fact *any_received(void)
{
    for (int tries = 0; tries < 50; tries++) {
        size_t p = below(PARTITIONS);
        struct fact *f = h.n[p] == 0 ? NULL : &h.facts[p][below(h.n[p])];
        if (f != NULL && f->receives > 0 && !f->finished)
            return f;
    }
    return NULL;
}

static void do_receipt(void)
{
    struct fact *f = any_received();
    if (f == NULL)
        return;
    if (below(4) > 0) {
        ck_assert_int_eq(delete_receipt("h", f->receipt), ERR_OK);
        f->finished = true;
        return;
    }
    int64_t visibility_ms = (int64_t)below(4000);
    ck_assert_int_eq(extend_receipt("h", f->receipt, visibility_ms), ERR_OK);
    f->until_ms = queue_now_ms(bench.q) + visibility_ms;
}

/* ---- what must be seen ---- */

static void check_seen(const struct queue_seen *s)
{
    const struct fact *f = &h.facts[s->message.partition][s->message.number];
    int64_t now_ms = queue_now_ms(bench.q);
    int64_t end_ms = s->state == QUEUE_LEASED    ? f->until_ms
                     : s->state == QUEUE_DELAYED ? f->due_ms
                                                 : now_ms;
    ck_assert_int_eq(s->state, state_of(f));
    ck_assert_int_eq(s->left_ms, end_ms - now_ms);
    ck_assert_uint_eq(s->message.receive_count, f->receives);
    ck_assert_mem_eq(s->message.body.at, f->body, 6);
    ck_assert_str_eq(s->holder, s->state == QUEUE_LEASED ? "worker" : "");
}

/* The next place at which something must be seen, in the order of the peek. */
static bool next_fact(const struct queue_peek *request, struct queue_place *at,
                      struct queue_place *found)
{
    while (at->partition < PARTITIONS) {
        uint32_t p = at->partition;
        if (at->number > h.n[p])
            at->number = h.n[p];
        while (request->newest ? at->number > 0 : at->number < h.n[p]) {
            uint64_t number = request->newest ? --at->number : at->number++;
            enum queue_message_state state = state_of(&h.facts[p][number]);
            if (state != QUEUE_FINISHED && (request->states & state)) {
                *found = (struct queue_place){p, number};
                return true;
            }
        }
        *at = (struct queue_place){p + 1, request->newest ? UINT64_MAX : 0};
    }
    return false;
}

static void check_peek(struct queue_topic *t)
{
    static struct queue_seen seen[40];
    struct queue_peek request = {
        .newest = below(2) == 0,
        .states = (unsigned)below(16),
        .max = 1 + below(40),
        .bytes_max = 200 + below(4000),
        .scan_max = 1 + below(100),
    };
    request.from.number = request.newest ? UINT64_MAX : 0;
    struct queue_place at = request.from, want;
    bool more = true;
    while (more) {
        size_t n;
        ck_assert_int_eq(queue_peek(t, &request, &h.arena, seen, &n, &request.from, &more), ERR_OK);
        for (size_t i = 0; i < n; i++) {
            ck_assert(next_fact(&request, &at, &want));
            ck_assert_uint_eq(seen[i].message.partition, want.partition);
            ck_assert_uint_eq(seen[i].message.number, want.number);
            check_seen(&seen[i]);
        }
    }
    ck_assert(!next_fact(&request, &at, &want));
}

static void check_log(struct queue_topic *t, uint32_t partition)
{
    struct queue_segment_info s[MESSAGES];
    struct plog_size size = plog_log_size(t->partitions[partition].log);
    size_t n;
    uint64_t bytes = 0;
    ck_assert_int_eq(queue_segments(t, partition, 0, s, MESSAGES, &n), ERR_OK);
    ck_assert_uint_eq(n, size.segments);
    for (size_t i = 0; i < n; i++) {
        uint64_t unfinished = 0, messages = s[i].end_number - s[i].first_number;
        for (uint64_t k = s[i].first_number; k < s[i].end_number; k++)
            unfinished += !h.facts[partition][k].finished;
        ck_assert_uint_eq(s[i].unfinished, unfinished);
        ck_assert_uint_eq(s[i].bytes_live, messages == 0 ? 0 : s[i].bytes * unfinished / messages);
        ck_assert_uint_eq(s[i].end_number, i + 1 < n ? s[i + 1].first_number : h.n[partition]);
        ck_assert(s[i].sealed == (i + 1 < n));
        bytes += s[i].bytes;
    }
    ck_assert_uint_eq(bytes, size.bytes);
}

static void check(void)
{
    struct queue_topic *t = topic_of("h");
    struct queue_counters want = {0}, got = count("h");
    for (size_t p = 0; p < PARTITIONS; p++)
        for (size_t i = 0; i < h.n[p]; i++) {
            enum queue_message_state state = state_of(&h.facts[p][i]);
            want.visible += state == QUEUE_READY;
            want.in_flight += state == QUEUE_LEASED;
            want.delayed += state == QUEUE_DELAYED;
        }
    ck_assert_mem_eq(&want, &got, sizeof want);
    check_peek(t);
    check_log(t, (uint32_t)below(PARTITIONS));
    queue_topic_give_back(t);
}

static void step(void)
{
    switch (below(12)) {
    case 0:
    case 1:
        if (h.n[0] + h.n[1] + h.n[2] + QUEUE_BATCH_MAX < MESSAGES)
            do_send();
        break;
    case 2:
    case 3:
    case 4:
        do_receive();
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        do_receipt();
        break;
    case 9:
        fake_clock_pass(&bench.clock, (int64_t)below(1500));
        break;
    case 10:
        bench_pass((int64_t)below(1500));
        break;
    default:
        if (below(5) > 0)
            break;
        queue_commit_all(bench.q);
        bench_restart();
    }
    queue_commit_all(bench.q);
}

START_TEST(looks_agree_with_what_was_done)
{
    memset(&h, 0, sizeof h);
    h.rng.state = test_seed() + (uint64_t)_i;
    arena_init(&h.arena, NULL, 0);
    bench.options.segment_bytes = 4096;
    bench.options.snapshot_log_bytes = 8192; /* so that segments are released */
    bench_restart();
    queue_topic_give_back(topic_with("h", set_history));
    for (int i = 0; i < STEPS; i++) {
        step();
        if (i % 3 == 0)
            check();
    }
    check();
    arena_fini(&h.arena);
}
END_TEST

TCase *tcase_history(void)
{
    TCase *t = tcase_create("history");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_loop_test(t, looks_agree_with_what_was_done, 0, 4);
    return t;
}

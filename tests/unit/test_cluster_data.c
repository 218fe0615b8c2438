// SPDX-License-Identifier: Apache-2.0
/* What carries batches between brokers: leaders that serve, followers that fetch, over loopback
 * (cluster_double.h). */
#include <stdio.h>

#include "base/mem.h"
#include "base/note.h"
#include "cluster/conversation.h"
#include "cluster_double.h"
#include "lib/runner.h"
#include "peer/wire.h"

enum { EPOCH = 4, BATCH = 100, PARTS = 8, ASK_MS = 3000 };

static struct broker leader, one, two;

static void setup(void)
{
    note_init(NOTE_ERROR, false);
    double_world_reset();
}

static void teardown(void)
{
    double_stop(&one);
    double_stop(&two);
    double_stop(&leader);
}

static void start_leader(size_t parts_n, size_t batch_bytes)
{
    double_start(&leader, 1, parts_n, batch_bytes);
    double_lead(&leader, 1);
}

static void start_follower(struct broker *b, uint32_t id)
{
    double_start(b, id, leader.queue.parts_n, leader.queue.batch_bytes);
    double_lead(b, 1);
}

/* ---- the leader's end, asked by hand ---- */

struct asked {
    uint32_t part;
    uint64_t offset;
};

static void fetch_make(const struct asked *parts, size_t n, uint32_t broker, uint32_t wait_ms,
                       uint32_t bytes_max, struct buf *out)
{
    struct wire_fetch f = {.wait_ms = wait_ms, .bytes_max = bytes_max, .parts_n = n};
    f.parts = mem_new_array(n, sizeof *f.parts);
    for (size_t i = 0; i < n; i++) {
        struct queue_copy_id id = double_id(parts[i].part);
        memcpy(f.parts[i].of.topic, id.topic, 16);
        f.parts[i].of.partition = id.partition;
        f.parts[i].request = (struct replica_fetch){
            .broker = broker, .serial = 90 + i, .epoch = EPOCH, .offset = parts[i].offset};
    }
    wire_fetch_encode(&f, out);
    wire_fetch_fini(&f);
}

static enum err post(const char *path, const struct buf *body, int *status, struct buf *out)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", (int)double_world.ports[1]);
    buf_clear(out);
    return peer_ask(one.peer, 1, url, path, buf_bytes(body), ASK_MS, status, out);
}

/* Batches that came for each part, by its number; -1: no answer. */
static size_t ask(const struct asked *parts, size_t n, uint32_t wait_ms, uint32_t bytes_max,
                  int batches[PARTS])
{
    struct buf body = BUF_EMPTY, out = BUF_EMPTY;
    struct wire_answer_part part;
    bool head = false;
    int status;
    fetch_make(parts, n, 2, wait_ms, bytes_max, &body);
    ck_assert_int_eq(post("/_r/v1/fetch", &body, &status, &out), ERR_OK);
    ck_assert_int_eq(status, 200);
    size_t bytes = out.n;
    struct bytes rest = buf_bytes(&out);
    for (int i = 0; i < PARTS; i++)
        batches[i] = -1;
    enum err e;
    while ((e = wire_answer_next(&rest, &head, &part)) == ERR_OK)
        batches[part.of.partition] = (int)(part.batches.n / leader.queue.batch_bytes);
    ck_assert_int_eq(e, ERR_NOT_FOUND);
    buf_fini(&body);
    buf_fini(&out);
    return bytes;
}

START_TEST(a_fetch_brings_what_is_there)
{
    const struct asked parts[] = {{0, 0}, {1, 3}, {2, 0}};
    int batches[PARTS];
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    double_append(&leader, 0, 5);
    double_append(&leader, 1, 5);
    ask(parts, 3, ASK_MS, 1 << 20, batches);
    ck_assert_int_eq(batches[0], 5);
    ck_assert_int_eq(batches[1], 2);
    ck_assert_int_eq(batches[2], 0);
    ck_assert_int_eq(leader.queue.parts[1].acked[2], 3);
    ck_assert_uint_eq(cluster_serve_counts(leader.serve).requests, 0);
}
END_TEST

START_TEST(where_nothing_is_new_the_answer_comes_when_the_wait_is_over)
{
    const struct asked parts[] = {{0, 5}, {1, 0}};
    int batches[PARTS];
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    double_append(&leader, 0, 5);
    int64_t began_us = double_now_us();
    ask(parts, 2, 40, 1 << 20, batches);
    ck_assert_int_ge(double_now_us() - began_us, 39000);
    ck_assert(batches[0] == 0 && batches[1] == 0);
    ck_assert_int_eq(leader.queue.looks, 2);
}
END_TEST

static void append_once(struct queue *q, uint32_t part)
{
    q->on_nothing = NULL;
    double_append(q->owner, part, 1);
}

START_TEST(what_comes_between_the_look_and_the_wait_is_not_lost)
{
    const struct asked parts[] = {{0, 0}, {1, 0}};
    int batches[PARTS];
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    for (uint64_t i = 0; i < 20; i++) {
        const struct asked next[] = {{0, i}, {1, 0}};
        leader.queue.on_nothing = append_once;
        ask(i == 0 ? parts : next, 2, 2 * ASK_MS, 1 << 20,
            batches); /* or the call's time is over */
        ck_assert_int_eq(batches[0], 1);
    }
}
END_TEST

static bool leader_has_parked(struct broker *b)
{
    return cluster_serve_counts(b->serve).requests > 0 && b->queue.looks >= 2;
}

static void *append_when_parked(void *self)
{
    (void)self;
    ck_assert(double_wait(&leader, leader_has_parked));
    double_append(&leader, 3, 1); /* nobody waits for this one */
    double_append(&leader, 1, 1);
    return NULL;
}

START_TEST(only_what_has_moved_is_looked_at_again)
{
    const struct asked parts[] = {{0, 0}, {1, 0}};
    int batches[PARTS];
    pthread_t thread;
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    pthread_create(&thread, NULL, append_when_parked, NULL);
    ask(parts, 2, 2 * ASK_MS, 1 << 20, batches);
    pthread_join(thread, NULL);
    ck_assert_int_eq(batches[0], 0);
    ck_assert_int_eq(batches[1], 1);
    ck_assert_int_eq(leader.queue.looks, 3);
}
END_TEST

START_TEST(the_room_of_an_answer_is_shared)
{
    enum { BIG = 100 << 10 };
    const struct asked parts[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}};
    int batches[PARTS], sum[4] = {0};
    start_leader(PARTS, BIG);
    start_follower(&one, 2);
    for (uint32_t i = 0; i < 4; i++)
        double_append(&leader, i, 50);
    ask(parts, 4, 0, 8 * BIG, batches); /* two each */
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(batches[i], 2);
    for (int k = 0; k < 8; k++) {
        size_t bytes = ask(parts, 4, 0, BIG, batches);
        ck_assert_uint_le(bytes, 3 * BIG);
        for (int i = 0; i < 4; i++)
            sum[i] += batches[i];
    }
    for (int i = 0; i < 4; i++)
        ck_assert_int_ge(sum[i], 2); /* each was among the first some time */
}
END_TEST

START_TEST(a_batch_above_the_room_is_sent_all_the_same)
{
    enum { BIG = 1 << 20 };
    const struct asked parts[] = {{0, 0}};
    int batches[PARTS];
    start_leader(PARTS, BIG);
    start_follower(&one, 2);
    double_append(&leader, 0, 3);
    ask(parts, 1, 0, 1000, batches);
    ck_assert_int_eq(batches[0], 1);
    ask(parts, 1, 0, 0, batches);
    ck_assert_int_eq(batches[0], 1);
}
END_TEST

START_TEST(batches_that_cannot_be_read_are_not_spoken_of)
{
    const struct asked parts[] = {{0, 0}, {1, 0}};
    int batches[PARTS];
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    double_append(&leader, 0, 1);
    leader.queue.fail_reads = 1;
    ask(parts, 2, 0, 1 << 20, batches);
    ck_assert_int_eq(batches[0], -1);
    ck_assert_int_eq(batches[1], 0);
}
END_TEST

START_TEST(a_broker_cannot_speak_for_another_one)
{
    const struct asked parts[] = {{0, 0}};
    struct buf body = BUF_EMPTY, out = BUF_EMPTY;
    int status;
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    fetch_make(parts, 1, 3, 0, 1 << 20, &body);
    ck_assert_int_eq(post("/_r/v1/fetch", &body, &status, &out), ERR_OK);
    ck_assert_int_eq(status, 403);
    ck_assert_int_eq(leader.queue.looks, 0);
    static const char *const paths[] = {"/_r/v1/fetch", "/_r/v1/state", "/_r/v1/snapshot"};
    for (int i = 0; i < 3; i++) {
        buf_clear(&body);
        buf_put_text(&body, "nonsense");
        ck_assert_int_eq(post(paths[i], &body, &status, &out), ERR_OK);
        ck_assert_int_eq(status, 400);
    }
    buf_fini(&body);
    buf_fini(&out);
}
END_TEST

START_TEST(a_partition_that_is_not_here_is_led_elsewhere)
{
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    double_lead(&leader, 0);
    double_ask(&one, 0);
    double_append(&leader, 0, 1);
    pthread_mutex_lock(&one.queue.lock);
    while (one.queue.parts[0].answers == 0)
        pthread_cond_wait(&one.queue.changed, &one.queue.lock);
    ck_assert_int_eq(one.queue.parts[0].status, REPLICA_FETCH_NOT_LEADER);
    pthread_mutex_unlock(&one.queue.lock);
}
END_TEST

START_TEST(the_state_of_copies_is_told)
{
    struct buf body = BUF_EMPTY, out = BUF_EMPTY;
    struct wire_partition of[2] = {{.partition = 3}, {.partition = 3000}};
    struct wire_state_part *parts;
    size_t n;
    int status;
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    double_append(&leader, 3, 17);
    memset(of[0].topic, 7, 16);
    memset(of[1].topic, 7, 16);
    wire_state_ask_encode(of, 2, &body);
    ck_assert_int_eq(post("/_r/v1/state", &body, &status, &out), ERR_OK);
    ck_assert_int_eq(status, 200);
    ck_assert_int_eq(wire_state_decode(buf_bytes(&out), &parts, &n), ERR_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert(parts[0].is_there && parts[0].status.durable_end == 17);
    ck_assert(!parts[1].is_there && parts[1].of.partition == 3000);
    mem_free(parts);
    buf_fini(&body);
    buf_fini(&out);
}
END_TEST

/* ---- both ends ---- */

START_TEST(two_followers_have_what_the_leader_has)
{
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    start_follower(&two, 3);
    for (uint32_t i = 0; i < PARTS; i++) {
        double_ask(&one, i);
        double_ask(&two, i);
    }
    for (int round = 0; round < 50; round++)
        for (uint32_t i = 0; i < PARTS; i++)
            double_append(&leader, i, 1 + (uint64_t)round % 7);
    uint64_t end = leader.queue.parts[0].end;
    for (uint32_t i = 0; i < PARTS; i++) {
        ck_assert(double_wait_end(&one, i, end));
        ck_assert(double_wait_end(&two, i, end));
    }
}
END_TEST

static bool leader_knows_all(struct broker *b)
{
    for (size_t i = 0; i < b->queue.parts_n; i++)
        if (b->queue.parts[i].acked[2] < b->queue.parts[i].end)
            return false;
    return true;
}

static bool leader_waits_for_all(struct broker *b)
{
    return cluster_serve_counts(b->serve).partitions == b->queue.parts_n;
}

START_TEST(a_thousand_partitions_are_followed)
{
    enum { MANY = 1000 };
    double_world.wait_ms = 1000; /* what had to wait for the end of a wait would be seen below */
    start_leader(MANY, BATCH);
    start_follower(&one, 2);
    for (uint32_t i = 0; i < MANY; i++) {
        double_append(&leader, i, 3);
        double_ask(&one, i);
    }
    ck_assert(double_wait(&leader, leader_knows_all));
    ck_assert(double_wait(&leader, leader_waits_for_all));
    /* All wait now. Each that moves comes through at once, and is asked for again. */
    int64_t began_us = double_now_us();
    for (uint32_t i = 0; i < 100; i++) {
        double_append(&leader, i * 7 % MANY, 1);
        ck_assert(double_wait_end(&one, i * 7 % MANY, leader.queue.parts[i * 7 % MANY].end));
    }
    ck_assert_int_lt(double_now_us() - began_us, 15000000); /* a hundred waits would be 100 s */
    ck_assert(double_wait(&leader, leader_knows_all));
    ck_assert_uint_eq(cluster_fetcher_counts(one.fetcher).lost, 0);
}
END_TEST

static size_t wanted_n;

static bool leader_waits_for_wanted(struct broker *b)
{
    return cluster_serve_counts(b->serve).partitions == wanted_n;
}

START_TEST(partitions_that_begin_one_by_one_are_soon_asked_for_together)
{
    enum { N = 60 };
    double_world.wait_ms = 2000;
    start_leader(N, BATCH);
    start_follower(&one, 2);
    int64_t began_us = double_now_us();
    for (uint32_t i = 0; i < N; i++) {
        wanted_n = i + 1;
        double_ask(&one, i);
        bool ok = double_wait(&leader, leader_waits_for_wanted);
        struct cluster_fetcher_counts c = cluster_fetcher_counts(one.fetcher);
        ck_assert_msg(ok, "%zu of %zu wait; %llu calls, %llu lost, %zu under way",
                      cluster_serve_counts(leader.serve).partitions, wanted_n,
                      (unsigned long long)c.calls, (unsigned long long)c.lost, c.under_way);
        ck_assert_uint_le(c.under_way, 16);
    }
    ck_assert_int_lt(double_now_us() - began_us, 8000000); /* a wait's end for each would be 80 s */
}
END_TEST

static bool nothing_is_parked(struct broker *b)
{
    struct cluster_serve_counts c = cluster_serve_counts(b->serve);
    return c.requests == 0 && c.parts == 0 && c.partitions == 0;
}

START_TEST(a_follower_that_vanishes_leaves_nothing_behind)
{
    double_world.wait_ms = 5000;
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    start_follower(&two, 3);
    for (uint32_t i = 0; i < PARTS; i++)
        double_ask(&one, i);
    ck_assert(double_wait(&leader, leader_waits_for_all));
    int64_t began_us = double_now_us();
    double_stop(&one);
    ck_assert(double_wait(&leader, nothing_is_parked));
    ck_assert_int_lt(double_now_us() - began_us, 4000000); /* not for the end of the wait */
    double_ask(&two, 0);
    double_append(&leader, 0, 1);
    ck_assert(double_wait_end(&two, 0, 1));
}
END_TEST

START_TEST(batches_above_the_room_of_an_answer_come_through)
{
    start_leader(PARTS, 5 << 20);
    start_follower(&one, 2);
    double_append(&leader, 0, 2);
    double_append(&leader, 1, 1);
    double_ask(&one, 0);
    double_ask(&one, 1);
    ck_assert(double_wait_end(&one, 0, 2));
    ck_assert(double_wait_end(&one, 1, 1));
}
END_TEST

static bool three_are_lost(struct broker *b)
{
    return b->losses >= 3;
}

START_TEST(a_leader_that_is_gone_is_asked_ever_more_slowly_and_found_when_it_is_back)
{
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    double_stop(&leader);
    int64_t began_us = double_now_us();
    double_ask(&one, 0); /* once */
    ck_assert(double_wait(&one, three_are_lost));
    ck_assert_int_ge(double_now_us() - began_us, 149000); /* 50 and 100 ms between them */
    ck_assert_int_eq(one.loss, ERR_REFUSED);
    start_leader(PARTS, BATCH);
    double_append(&leader, 0, 1);
    ck_assert(double_wait_end(&one, 0, 1));
}
END_TEST

static bool only_part_zero(void *self, const struct queue_copy_id *of)
{
    (void)self;
    return of->partition == 0;
}

START_TEST(catching_up_is_throttled_and_holds_nobody_up)
{
    enum { BIG = 256 << 10, RATE = 4 << 20, N = 10 };
    double_world.is_in_sync = only_part_zero;
    double_world.catchup_bytes_per_s = RATE;
    start_leader(PARTS, BIG);
    start_follower(&one, 2);
    double_append(&leader, 0, N);
    double_append(&leader, 1, N);
    int64_t began_us = double_now_us();
    double_ask(&one, 1);
    double_ask(&one, 0);
    ck_assert(double_wait_end(&one, 0, N));
    int64_t in_sync_us = double_now_us() - began_us;
    ck_assert(double_wait_end(&one, 1, N));
    int64_t catchup_us = double_now_us() - began_us;
    /* Of 2.5 MiB a tenth of a second's worth may come at once, and one call of 1 MiB unpaid. */
    ck_assert_int_ge(catchup_us, 250000);
    ck_assert_int_lt(in_sync_us, catchup_us);
}
END_TEST

static bool a_snapshot_was_put(struct broker *b)
{
    return b->queue.puts > 0;
}

static bool a_put_has_failed(struct broker *b)
{
    return b->queue.failed_puts > 0;
}

START_TEST(a_snapshot_is_fetched_or_known_not_to_be_had)
{
    const struct queue_copy_id of = double_id(2);
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    leader.queue.snapshot_bytes = 17 << 20; /* more than a request's body may be */
    cluster_snapshots_note(one.snapshots, &of, 1, EPOCH);
    ck_assert(double_wait(&one, a_snapshot_was_put));
    ck_assert_uint_eq(one.queue.put_bytes, 17 << 20);
    leader.queue.snapshot_bytes = 0;
    cluster_snapshots_note(one.snapshots, &of, 1, EPOCH);
    ck_assert(double_wait(&one, a_put_has_failed));
    one.queue.failed_puts = 0;
    cluster_snapshots_note(one.snapshots, &of, 3, EPOCH); /* its address is not known */
    ck_assert(double_wait(&one, a_put_has_failed));
}
END_TEST

START_TEST(a_stop_in_the_midst_of_all_ends_all)
{
    start_leader(PARTS, BATCH);
    start_follower(&one, 2);
    leader.queue.snapshot_bytes = 1 << 20;
    for (uint32_t i = 0; i < PARTS; i++) {
        const struct queue_copy_id of = double_id(i);
        double_ask(&one, i);
        cluster_snapshots_note(one.snapshots, &of, 1, EPOCH);
        double_append(&leader, i, 10);
    }
    double_stop(&leader);
    double_ask(&one, 0);
    double_stop(&one);
    ck_assert(one.peer == NULL && leader.peer == NULL);
}
END_TEST

/* ---- conversations ---- */

static struct conversation_bucket bucket = {.bytes_per_s = 1 << 20};

START_TEST(the_newest_request_of_a_partition_is_sent)
{
    struct conversations c;
    struct wire_fetch f;
    struct queue_copy_id a = double_id(1), b = double_id(2);
    conversations_init(&c);
    for (uint64_t i = 1; i <= 3; i++) {
        conversations_want(&c, &a, 9, false, &(struct replica_fetch){.serial = i});
        conversations_want(&c, &b, i == 3 ? 8 : 9, false, &(struct replica_fetch){.serial = i});
    }
    struct conversation *k = LIST_FIRST(&c.all);
    ck_assert_uint_eq(k->leader, 8);
    ck_assert_uint_eq(k->wants_n, 1);
    k = LIST_NEXT(k, link);
    ck_assert_uint_eq(k->wants_n, 1); /* the other one is asked for elsewhere now */
    conversation_call(&c, k, &bucket, 500, &f);
    ck_assert_uint_eq(f.parts_n, 1);
    ck_assert_uint_eq(f.parts[0].of.partition, 1);
    ck_assert_uint_eq(f.parts[0].request.serial, 3);
    /* The call breaks: it is sent again, unless the replica has asked anew. */
    conversation_want_again(&c, k, &f.parts[0]);
    ck_assert_uint_eq(k->wants_n, 1);
    conversations_want(&c, &a, 8, false, &(struct replica_fetch){.serial = 4});
    conversation_want_again(&c, k, &f.parts[0]);
    ck_assert_uint_eq(k->wants_n, 0);
    wire_fetch_fini(&f);
    conversations_fini(&c);
}
END_TEST

START_TEST(many_partitions_make_a_few_calls)
{
    static const size_t all[] = {1, 256, 257, 1000, 4000, 40000};
    static const size_t most[] = {1, 256, 256, 256, 1000, WIRE_PARTS_MAX};
    for (size_t i = 0; i < 6; i++) {
        struct conversations c;
        struct wire_fetch f;
        conversations_init(&c);
        for (uint32_t k = 0; k < all[i]; k++) {
            struct queue_copy_id id = double_id(k);
            conversations_want(&c, &id, 9, false, &(struct replica_fetch){.serial = 1});
        }
        conversation_call(&c, LIST_FIRST(&c.all), &bucket, 500, &f);
        ck_assert_uint_eq(f.parts_n, most[i]);
        wire_fetch_fini(&f);
        conversations_fini(&c);
    }
}
END_TEST

START_TEST(the_more_calls_are_under_way_the_shorter_a_new_one_waits)
{
    static const uint32_t waits_ms[] = {500, 500, 500, 500, 500, 500, 500, 500,
                                        250, 125, 62,  31,  15,  7,   4,   4};
    struct conversations c;
    struct wire_fetch f;
    int64_t due_ms = 100;
    conversations_init(&c);
    for (uint32_t i = 0; i <= 16; i++) {
        struct queue_copy_id id = double_id(i);
        conversations_want(&c, &id, 9, false, &(struct replica_fetch){.serial = 1});
        bool is_due = conversation_is_due(LIST_FIRST(&c.all), &bucket, 0, &due_ms);
        ck_assert_int_eq(is_due, i < 16);
        if (is_due) {
            conversation_call(&c, LIST_FIRST(&c.all), &bucket, 500, &f);
            ck_assert_uint_eq(f.wait_ms, waits_ms[i]);
            wire_fetch_fini(&f);
        }
    }
    conversation_answered(LIST_FIRST(&c.all), &bucket, 1, f.bytes_max, 0);
    ck_assert(conversation_is_due(LIST_FIRST(&c.all), &bucket, 0, &due_ms));
    conversations_fini(&c);
}
END_TEST

START_TEST(losses_at_one_time_count_once_and_slow_ones_ask_for_less)
{
    struct conversation k = {.calls_n = 9, .parts_n = 9, .bytes_max = 4 << 20};
    conversation_lost(&k, &bucket, 1, k.bytes_max, true, 1000);
    ck_assert_int_eq(k.not_before_ms, 1050);
    ck_assert_uint_eq(k.bytes_max, 2 << 20);
    conversation_lost(&k, &bucket, 1, 4 << 20, true, 1001);
    ck_assert_int_eq(k.not_before_ms, 1050);
    ck_assert_uint_eq(k.bytes_max, 2 << 20);
    conversation_lost(&k, &bucket, 1, k.bytes_max, false, 1050);
    ck_assert_int_eq(k.not_before_ms, 1150);
    ck_assert_uint_eq(k.bytes_max, 2 << 20);
    ck_assert(conversation_repeats(&k));
    for (int i = 0; i < 5; i++)
        conversation_lost(&k, &bucket, 1, k.bytes_max, true, k.not_before_ms);
    ck_assert_int_eq(k.backoff_ms, 1000);
    ck_assert(!conversation_repeats(&k));
    ck_assert_uint_eq(k.bytes_max, 64 << 10);
    conversation_answered(&k, &bucket, 1, k.bytes_max, 1);
    ck_assert_int_eq(k.not_before_ms, 0);
    ck_assert_uint_eq(k.bytes_max, 128 << 10);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("cluster data");
    TCase *t = tcase_create("leader");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_fetch_brings_what_is_there);
    tcase_add_test(t, where_nothing_is_new_the_answer_comes_when_the_wait_is_over);
    tcase_add_test(t, what_comes_between_the_look_and_the_wait_is_not_lost);
    tcase_add_test(t, only_what_has_moved_is_looked_at_again);
    tcase_add_test(t, the_room_of_an_answer_is_shared);
    tcase_add_test(t, a_batch_above_the_room_is_sent_all_the_same);
    tcase_add_test(t, batches_that_cannot_be_read_are_not_spoken_of);
    tcase_add_test(t, a_broker_cannot_speak_for_another_one);
    tcase_add_test(t, a_partition_that_is_not_here_is_led_elsewhere);
    tcase_add_test(t, the_state_of_copies_is_told);
    suite_add_tcase(s, t);
    t = tcase_create("both");
    tcase_set_timeout(t, 40);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, two_followers_have_what_the_leader_has);
    tcase_add_test(t, a_thousand_partitions_are_followed);
    tcase_add_test(t, partitions_that_begin_one_by_one_are_soon_asked_for_together);
    tcase_add_test(t, a_follower_that_vanishes_leaves_nothing_behind);
    tcase_add_test(t, batches_above_the_room_of_an_answer_come_through);
    tcase_add_test(t, a_leader_that_is_gone_is_asked_ever_more_slowly_and_found_when_it_is_back);
    tcase_add_test(t, catching_up_is_throttled_and_holds_nobody_up);
    tcase_add_test(t, a_snapshot_is_fetched_or_known_not_to_be_had);
    tcase_add_test(t, a_stop_in_the_midst_of_all_ends_all);
    suite_add_tcase(s, t);
    t = tcase_create("conversations");
    tcase_add_test(t, the_newest_request_of_a_partition_is_sent);
    tcase_add_test(t, many_partitions_make_a_few_calls);
    tcase_add_test(t, the_more_calls_are_under_way_the_shorter_a_new_one_waits);
    tcase_add_test(t, losses_at_one_time_count_once_and_slow_ones_ask_for_less);
    suite_add_tcase(s, t);
    return s;
}

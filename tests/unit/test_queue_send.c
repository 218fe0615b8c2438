// SPDX-License-Identifier: Apache-2.0
/* Large sends, sends that are known again, purges that count, and requests with many marks. */
#include <stdio.h>
#include <string.h>

#include "queue_fixture.h"

static void set_wide(struct topic_config *c)
{
    c->partitions = 24;
}

/* n messages "000", "001" ... in one send, committed. groups: message groups "0" to "groups - 1" in
 * turn; 0: none. */
static void send_many(const char *topic, size_t n, unsigned groups, struct queue_sent *sent)
{
    static char body[QUEUE_SEND_MAX][4], group[QUEUE_SEND_MAX][4], dedup[QUEUE_SEND_MAX][4];
    struct queue_message m[QUEUE_SEND_MAX];
    enum err errs[QUEUE_SEND_MAX];
    struct waiting w;
    for (size_t i = 0; i < n; i++) {
        snprintf(body[i], sizeof body[i], "%03u", (unsigned)i % 1000);
        m[i] = (struct queue_message){.body = bytes_of_text(body[i]), .delay_ms = -1};
        if (groups == 0)
            continue;
        snprintf(group[i], sizeof group[i], "%u", (unsigned)i % groups % 1000);
        snprintf(dedup[i], sizeof dedup[i], "%u", (unsigned)i % 1000);
        m[i].group_id = bytes_of_text(group[i]);
        m[i].dedup_id = bytes_of_text(dedup[i]);
    }
    struct queue_topic *t = topic_of(topic);
    waiting_init(&w);
    queue_send(t, m, n, sent, errs, &w.w);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(errs[i], ERR_OK);
    waiting_finish(&w);
    queue_topic_give_back(t);
}

START_TEST(a_send_of_a_hundred_keeps_its_order_and_is_durable)
{
    struct queue_sent sent[QUEUE_SEND_MAX];
    send_many("q", QUEUE_SEND_MAX, 0, sent);
    bench_restart();
    ck_assert_counts("q", QUEUE_SEND_MAX, 0, 0);
    for (unsigned i = 0; i < QUEUE_SEND_MAX;) {
        struct got g = receive("q", 10);
        ck_assert_uint_eq(g.n, 10);
        for (size_t k = 0; k < g.n; k++, i++) {
            char body[8];
            snprintf(body, sizeof body, "%03u", i);
            ck_assert(bytes_equal(g.at[k].body, bytes_of_text(body)));
            ck_assert_uint_eq(g.at[k].number, sent[i].number);
            ck_assert_mem_eq(g.at[k].id, sent[i].id, sizeof sent[i].id);
        }
    }
}
END_TEST

START_TEST(a_send_of_a_hundred_to_many_partitions_waits_for_all_of_them)
{
    struct queue_sent sent[QUEUE_SEND_MAX];
    unsigned partitions = 0;
    uint64_t next[24] = {0};
    queue_topic_give_back(topic_with("wide.fifo", set_wide));
    send_many("wide.fifo", QUEUE_SEND_MAX, 50, sent);
    for (size_t i = 0; i < QUEUE_SEND_MAX; i++) {
        ck_assert_uint_eq(sent[i].partition, sent[i % 50].partition);
        ck_assert_uint_eq(sent[i].number, next[sent[i].partition]++); /* in order */
    }
    for (size_t i = 0; i < 24; i++)
        partitions += next[i] > 0;
    ck_assert_uint_gt(partitions, QUEUE_BATCH_MAX);
    bench_restart();
    ck_assert_counts("wide.fifo", QUEUE_SEND_MAX, 0, 0);
}
END_TEST

START_TEST(one_request_may_wait_for_any_number_of_marks)
{
    struct queue_topic *t[40];
    struct queue_message m = {.body = BYTES_OF("a"), .delay_ms = -1};
    struct waiting w;
    for (unsigned i = 0; i < 40; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", i % 40);
        t[i] = topic_of(name);
    }
    waiting_init(&w);
    for (size_t i = 0; i < 200; i++) {
        struct queue_sent sent;
        enum err e;
        queue_send(t[i % 40], &m, 1, &sent, &e, &w.w);
        ck_assert_int_eq(e, ERR_OK);
    }
    ck_assert_uint_eq(w.w.marks_n, 40);
    ck_assert(queue_wait_start(&w.w));
    ck_assert(!w.told);
    queue_commit_all(bench.q);
    ck_assert(w.told);
    ck_assert_ptr_null(w.w.more);
    for (size_t i = 0; i < 40; i++)
        queue_topic_give_back(t[i]);
}
END_TEST

/* Two requests in turn: each has to wait for its own newest record. */
START_TEST(a_mark_is_reached_only_with_the_last_record_it_stands_for)
{
    struct queue_topic *t = topic_of("q");
    struct queue_message m = {.body = BYTES_OF("a"), .delay_ms = -1};
    struct waiting w[2];
    waiting_init(&w[0]);
    waiting_init(&w[1]);
    for (size_t i = 0; i < 40; i++) {
        struct queue_sent sent;
        enum err e;
        queue_send(t, &m, 1, &sent, &e, &w[i % 3 == 1].w);
        ck_assert_int_eq(e, ERR_OK);
    }
    uint64_t end = plog_end(t->partitions[0].log);
    ck_assert_uint_gt(w[0].w.marks_n, QUEUE_BATCH_MAX);
    ck_assert_uint_lt(w[0].w.marks_n, 20);
    ck_assert_uint_eq(t->partitions[0].marks_last->offset, end);
    ck_assert_ptr_eq(t->partitions[0].marks_last->wait, &w[0].w);
    waiting_finish(&w[0]);
    ck_assert_uint_eq(plog_durable(t->partitions[0].log), end);
    waiting_finish(&w[1]);
    queue_topic_give_back(t);
}
END_TEST

/* ---- sends that are known again ---- */

static struct queue_sent send_keyed(const char *topic, const char *key)
{
    return send_grouped(topic, "body", "", key);
}

START_TEST(a_standard_topic_knows_a_key_again_for_five_minutes)
{
    queue_topic_give_back(topic_with("wide", set_wide));
    struct queue_sent first = send_keyed("wide", "key");
    ck_assert(!first.duplicate);
    send_text("wide", "another"); /* the turn moves on, the key stays where it was */
    ck_assert(send_keyed("wide", "key").duplicate);
    fake_clock_pass(&bench.clock, 299999);
    bench_restart();
    struct queue_sent again = send_keyed("wide", "key");
    ck_assert(again.duplicate);
    ck_assert_uint_eq(again.partition, first.partition);
    ck_assert_uint_eq(again.number, first.number);
    ck_assert_mem_eq(again.id, first.id, sizeof first.id);
    ck_assert_counts("wide", 2, 0, 0);
    fake_clock_pass(&bench.clock, 1);
    ck_assert(!send_keyed("wide", "key").duplicate);
    ck_assert_counts("wide", 3, 0, 0);
}
END_TEST

START_TEST(keys_spread_over_partitions_and_do_not_meet)
{
    bool used[24] = {false};
    unsigned partitions = 0;
    queue_topic_give_back(topic_with("wide", set_wide));
    for (int i = 0; i < 100; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%d", i);
        struct queue_sent sent = send_keyed("wide", key);
        ck_assert(!sent.duplicate);
        partitions += !used[sent.partition];
        used[sent.partition] = true;
    }
    ck_assert_uint_gt(partitions, 12);
    ck_assert_counts("wide", 100, 0, 0);
}
END_TEST

START_TEST(the_same_key_twice_in_one_send_is_one_message)
{
    struct queue_topic *t = topic_of("q");
    struct queue_message m[2];
    struct queue_sent sent[2];
    enum err errs[2];
    struct waiting w;
    for (size_t i = 0; i < 2; i++)
        m[i] = (struct queue_message){
            .body = BYTES_OF("a"), .delay_ms = -1, .dedup_id = BYTES_OF("key")};
    waiting_init(&w);
    queue_send(t, m, 2, sent, errs, &w.w);
    waiting_finish(&w);
    ck_assert(!sent[0].duplicate && sent[1].duplicate);
    ck_assert_mem_eq(sent[0].id, sent[1].id, sizeof sent[0].id);
    ck_assert_counts("q", 1, 0, 0);
    queue_topic_give_back(t);
}
END_TEST

/* ---- purge ---- */

START_TEST(a_purge_says_how_many_messages_it_finished)
{
    queue_topic_give_back(topic_with("wide", set_wide));
    struct queue_topic *t = topic_of("wide");
    uint64_t finished = 7;
    struct waiting w;
    for (int i = 0; i < 30; i++)
        send_delayed("wide", "x", i < 10 ? 5000 : 0);
    struct got g = receive("wide", 8);
    ck_assert_uint_eq(g.n, 8);
    ck_assert_int_eq(delete_receipt("wide", g.at[3].receipt), ERR_OK);
    waiting_init(&w);
    ck_assert_int_eq(queue_purge_group(t, BYTES_OF("none"), &finished, &w.w), ERR_NOT_FOUND);
    ck_assert_uint_eq(finished, 0);
    ck_assert_counts("wide", 12, 7, 10);
    ck_assert_int_eq(queue_purge_group(t, BYTES_OF("default"), &finished, &w.w), ERR_OK);
    ck_assert_uint_eq(finished, 29);
    waiting_finish(&w);
    ck_assert_counts("wide", 0, 0, 0);
    waiting_init(&w);
    ck_assert_int_eq(queue_purge_group(t, BYTES_NONE, &finished, &w.w), ERR_OK);
    ck_assert_uint_eq(finished, 0);
    waiting_finish(&w);
    queue_topic_give_back(t);
}
END_TEST

TCase *tcase_send(void)
{
    TCase *t = tcase_create("send");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_test(t, a_send_of_a_hundred_keeps_its_order_and_is_durable);
    tcase_add_test(t, a_send_of_a_hundred_to_many_partitions_waits_for_all_of_them);
    tcase_add_test(t, one_request_may_wait_for_any_number_of_marks);
    tcase_add_test(t, a_mark_is_reached_only_with_the_last_record_it_stands_for);
    tcase_add_test(t, a_standard_topic_knows_a_key_again_for_five_minutes);
    tcase_add_test(t, keys_spread_over_partitions_and_do_not_meet);
    tcase_add_test(t, the_same_key_twice_in_one_send_is_one_message);
    tcase_add_test(t, a_purge_says_how_many_messages_it_finished);
    return t;
}

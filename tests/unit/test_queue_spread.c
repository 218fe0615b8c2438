// SPDX-License-Identifier: Apache-2.0
/* Verbs for single partitions. */
#include <stdio.h>

#include "queue/spread.h"
#include "queue_fixture.h"

enum { PARTITIONS = 4 };

static void four(struct topic_config *c)
{
    c->partitions = PARTITIONS;
}

static struct queue_message message(const char *body, const char *key)
{
    return (struct queue_message){
        .body = bytes_of_text(body), .key = bytes_of_text(key), .delay_ms = -1};
}

START_TEST(a_message_goes_where_a_send_to_all_would_put_it)
{
    struct queue_topic *t = topic_with("t", four);
    char keys[20][8];
    for (int i = 0; i < 20; i++) {
        struct queue_sent sent;
        struct waiting w;
        enum err e;
        uint32_t place = 99;
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        struct queue_message m = message("b", keys[i]);
        queue_send_places(t, &m, 1, &place);
        waiting_init(&w);
        queue_send(t, &m, 1, &sent, &e, &w.w);
        waiting_finish(&w);
        ck_assert_int_eq(e, ERR_OK);
        ck_assert_uint_eq(sent.partition, place);
    }
    queue_topic_give_back(t);
}
END_TEST

START_TEST(messages_that_may_go_anywhere_go_together_and_not_to_a_closed_partition)
{
    struct queue_topic *t = topic_with("t", four);
    struct queue_message m[3] = {message("a", ""), message("b", ""), message("c", "")};
    uint32_t at[3];
    t->partitions[1].closed = t->partitions[2].closed = true;
    for (int i = 0; i < 8; i++) {
        queue_send_places(t, m, 3, at);
        ck_assert(at[0] == at[1] && at[1] == at[2]);
        ck_assert(at[0] == 0 || at[0] == 3);
    }
    t->partitions[1].closed = t->partitions[2].closed = false;
    queue_topic_give_back(t);
}
END_TEST

START_TEST(each_message_is_stored_at_the_place_that_was_given)
{
    struct queue_topic *t = topic_with("t", four);
    struct queue_message m[3] = {message("a", ""), message("b", ""), message("c", "")};
    const uint32_t at[3] = {3, 1, 3};
    struct queue_sent sent[3];
    enum err errs[3];
    struct waiting w;
    waiting_init(&w);
    queue_send_to(t, m, at, 3, sent, errs, &w.w);
    waiting_finish(&w);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(errs[i], ERR_OK);
        ck_assert_uint_eq(sent[i].partition, at[i]);
    }
    struct queue_counters c;
    waiting_init(&w);
    ck_assert_int_eq(queue_count_place(t, BYTES_NONE, 3, &c, &w.w), ERR_OK);
    ck_assert_uint_eq(c.visible, 2);
    ck_assert_int_eq(queue_count_place(t, BYTES_NONE, 0, &c, &w.w), ERR_OK);
    ck_assert_uint_eq(c.visible, 0);
    waiting_finish(&w);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_place_is_purged_alone)
{
    struct queue_topic *t = topic_with("t", four);
    struct queue_message m[2] = {message("a", ""), message("b", "")};
    const uint32_t at[2] = {0, 2};
    struct queue_sent sent[2];
    enum err errs[2];
    uint64_t finished = 99;
    struct waiting w;
    waiting_init(&w);
    queue_send_to(t, m, at, 2, sent, errs, &w.w);
    ck_assert_int_eq(queue_purge_place(t, BYTES_NONE, 2, &finished, &w.w), ERR_OK);
    waiting_finish(&w);
    ck_assert_uint_eq(finished, 1);
    struct got got = receive("t", 10);
    ck_assert_str_eq(bodies(&got), "a");
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_receipt_tells_its_partition_and_garbage_does_not)
{
    struct queue_topic *t = topic_with("t", four);
    struct queue_sent sent = send_text("t", "a");
    uint32_t at = 99;
    struct got got = receive("t", 1);
    ck_assert_int_eq(queue_receipt_place(t, bytes_of_text(got.at[0].receipt), false, &at), ERR_OK);
    ck_assert_uint_eq(at, sent.partition);
    ck_assert_int_eq(queue_receipt_place(t, BYTES_OF("x"), false, &at), ERR_INVALID);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(what_is_not_led_here_is_neither_received_nor_counted_nor_purged)
{
    struct queue_topic *t = topic_with("t", four);
    struct queue_message m[2] = {message("a", ""), message("b", "")};
    const uint32_t at[2] = {0, 2};
    struct queue_sent sent[2];
    enum err errs[2];
    struct waiting w;
    struct arena arena = {0};
    struct queue_received out[QUEUE_BATCH_MAX];
    struct queue_receive request = {.max = 10, .visibility_ms = -1};
    struct queue_counters c;
    uint64_t finished;
    size_t n = 0;
    waiting_init(&w);
    queue_send_to(t, m, at, 2, sent, errs, &w.w);
    waiting_finish(&w);
    ck_assert_uint_ge(queue_deliverable_here(t, BYTES_NONE, 10), 2);
    t->partitions[0].closed = true;
    waiting_init(&w);
    ck_assert_int_eq(queue_receive_here(t, &request, &arena, out, &n, &w.w), ERR_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(out[0].partition, 2);
    ck_assert_uint_eq(queue_deliverable_here(t, BYTES_NONE, 10), 0);
    ck_assert_int_eq(queue_count_place(t, BYTES_NONE, 0, &c, &w.w), ERR_NOT_LEADER);
    ck_assert_int_eq(queue_purge_place(t, BYTES_NONE, 0, &finished, &w.w), ERR_NOT_LEADER);
    for (int i = 0; i < PARTITIONS; i++)
        t->partitions[i].closed = true;
    ck_assert_int_eq(queue_receive_here(t, &request, &arena, out, &n, &w.w), ERR_NOT_LEADER);
    for (int i = 0; i < PARTITIONS; i++)
        t->partitions[i].closed = false;
    waiting_finish(&w);
    arena_fini(&arena);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(of_several_deletes_those_of_a_closed_partition_fail_alone)
{
    struct queue_topic *t = topic_with("t", four);
    struct queue_message m[4] = {message("a", ""), message("b", ""), message("c", ""),
                                 message("d", "")};
    const uint32_t at[4] = {3, 1, 3, 0};
    struct queue_sent sent[4];
    struct bytes receipts[4];
    enum err errs[4];
    struct waiting w;
    waiting_init(&w);
    queue_send_to(t, m, at, 4, sent, errs, &w.w);
    waiting_finish(&w);
    struct got g = receive("t", 10);
    ck_assert_uint_eq(g.n, 4);
    for (int i = 0; i < 4; i++)
        receipts[i] = bytes_of_text(g.at[i].receipt);
    t->partitions[1].closed = true;
    waiting_init(&w);
    queue_delete_many(t, receipts, 4, false, errs, &w.w);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(errs[i], g.at[i].partition == 1 ? ERR_CLOSED : ERR_OK);
    t->partitions[1].closed = false;
    waiting_finish(&w);
    ck_assert_counts("t", 0, 1, 0);
    queue_topic_give_back(t);
}
END_TEST

TCase *tcase_spread(void)
{
    TCase *t = tcase_create("spread");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_test(t, a_message_goes_where_a_send_to_all_would_put_it);
    tcase_add_test(t, messages_that_may_go_anywhere_go_together_and_not_to_a_closed_partition);
    tcase_add_test(t, each_message_is_stored_at_the_place_that_was_given);
    tcase_add_test(t, a_place_is_purged_alone);
    tcase_add_test(t, a_receipt_tells_its_partition_and_garbage_does_not);
    tcase_add_test(t, of_several_deletes_those_of_a_closed_partition_fail_alone);
    tcase_add_test(t, what_is_not_led_here_is_neither_received_nor_counted_nor_purged);
    return t;
}

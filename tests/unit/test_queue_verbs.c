// SPDX-License-Identifier: Apache-2.0
/* Send, receive, delete, change visibility, purge, give back. */
#include <string.h>

#include "queue_fixture.h"

START_TEST(what_was_sent_is_received_with_all_that_belongs_to_it)
{
    struct queue_topic *t = topic_of("q");
    struct queue_attribute attributes[] = {
        {BYTES_OF("color"), BYTES_OF("String.x"), false, BYTES_OF("red")},
        {BYTES_OF("raw"), BYTES_OF("Binary"), true, {"\0\1\2", 3}},
    };
    struct queue_message m = {
        .body = BYTES_OF("hello"),
        .body_md5 = {1, 2, 3},
        .attributes = attributes,
        .attributes_n = 2,
        .trace = BYTES_OF("Root=1"),
        .delay_ms = -1,
        .group_id = BYTES_OF("tenant"),
    };
    struct queue_sent sent;
    enum err e;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    ck_assert_int_eq(e, ERR_OK);
    waiting_finish(&w);
    struct got g = receive("q", 10);
    ck_assert_uint_eq(g.n, 1);
    const struct queue_received *r = &g.at[0];
    ck_assert(bytes_equal(r->body, m.body));
    ck_assert_mem_eq(r->id, sent.id, 16);
    ck_assert_mem_eq(r->body_md5, m.body_md5, 16);
    ck_assert(bytes_equal(r->trace, m.trace));
    ck_assert(bytes_equal(r->group_id, m.group_id));
    ck_assert_uint_eq(r->attributes_n, 2);
    ck_assert(bytes_equal(r->attributes[0].name, attributes[0].name));
    ck_assert(bytes_equal(r->attributes[0].data_type, attributes[0].data_type));
    ck_assert(!r->attributes[0].binary && r->attributes[1].binary);
    ck_assert(bytes_equal(r->attributes[1].value, attributes[1].value));
    ck_assert_uint_eq(r->receive_count, 1);
    ck_assert_int_eq(r->sent_wall_ms, bench.clock.wall_ms);
    ck_assert_int_eq(r->first_received_wall_ms, bench.clock.wall_ms);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(nothing_is_received_before_it_is_committed)
{
    struct queue_topic *t = topic_of("q");
    struct queue_message m = {.body = BYTES_OF("a"), .delay_ms = -1};
    struct queue_sent sent;
    enum err e;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    struct queue_received out[QUEUE_BATCH_MAX];
    struct queue_receive r = {.max = 1, .visibility_ms = -1};
    struct waiting none;
    size_t n;
    struct arena arena;
    arena_init(&arena, NULL, 0);
    waiting_init(&none);
    ck_assert_int_eq(queue_receive(t, &r, &arena, out, &n, &none.w), ERR_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert(queue_wait_start(&w.w));
    ck_assert(!w.told);
    queue_pass_end(bench.q);
    ck_assert(w.told);
    ck_assert_str_eq(bodies(&(struct got){0}), "");
    struct got g = receive("q", 1);
    ck_assert_str_eq(bodies(&g), "a");
    arena_fini(&arena);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_batch_comes_back_in_order)
{
    struct queue_topic *t = topic_of("q");
    struct queue_message m[QUEUE_BATCH_MAX];
    struct queue_sent sent[QUEUE_BATCH_MAX];
    enum err errs[QUEUE_BATCH_MAX];
    memset(m, 0, sizeof m);
    for (int i = 0; i < QUEUE_BATCH_MAX; i++) {
        m[i].body = (struct bytes){&"0123456789"[i], 1};
        m[i].delay_ms = -1;
    }
    struct waiting w;
    waiting_init(&w);
    queue_send(t, m, QUEUE_BATCH_MAX, sent, errs, &w.w);
    waiting_finish(&w);
    struct got g = receive("q", 10);
    ck_assert_str_eq(bodies(&g), "0 1 2 3 4 5 6 7 8 9");
    ck_assert_uint_eq(g.at[9].number, sent[9].number);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_lease_is_exclusive_until_its_deadline_and_free_at_it)
{
    send_text("q", "a");
    ck_assert_uint_eq(receive_for("q", 1, 1000).n, 1);
    bench_pass(999);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    ck_assert_counts("q", 0, 1, 0);
    bench_pass(1);
    ck_assert_counts("q", 1, 0, 0);
    struct got g = receive("q", 1);
    ck_assert_uint_eq(g.n, 1);
    ck_assert_uint_eq(g.at[0].receive_count, 2);
}
END_TEST

START_TEST(a_deleted_message_is_gone_and_a_second_delete_says_so)
{
    send_text("q", "a");
    struct got g = receive("q", 1);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_GONE);
    ck_assert_int_eq(extend_receipt("q", g.at[0].receipt, 1000), ERR_GONE);
    ck_assert_counts("q", 0, 0, 0);
}
END_TEST

START_TEST(a_late_delete_works_on_standard_topics_unless_it_is_strict)
{
    send_text("q", "a");
    struct got first = receive_for("q", 1, 1000);
    bench_pass(1000);
    struct got second = receive_for("q", 1, 1000);
    ck_assert_uint_eq(second.n, 1);
    struct queue_topic *t = topic_of("q");
    struct waiting w;
    waiting_init(&w);
    ck_assert_int_eq(queue_delete(t, bytes_of_text(first.at[0].receipt), true, &w.w),
                     ERR_STALE_RECEIPT);
    waiting_finish(&w);
    ck_assert_int_eq(delete_receipt("q", first.at[0].receipt), ERR_OK);
    bench_pass(1000);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(extend_counts_from_now_and_zero_frees_at_once)
{
    send_text("q", "a");
    struct got g = receive_for("q", 1, 1000);
    bench_pass(500);
    ck_assert_int_eq(extend_receipt("q", g.at[0].receipt, 1000), ERR_OK);
    bench_pass(999);
    ck_assert_uint_eq(receive("q", 1).n, 0);
    ck_assert_int_eq(extend_receipt("q", g.at[0].receipt, 0), ERR_OK);
    ck_assert_uint_eq(receive("q", 1).n, 1);
}
END_TEST

/* SQS: 43,200 s right after a receive is refused already. */
START_TEST(no_lease_lasts_twelve_hours_from_its_receive)
{
    send_text("q", "a");
    struct got g = receive_for("q", 1, 30000);
    ck_assert_int_eq(extend_receipt("q", g.at[0].receipt, 43200000), ERR_FULL);
    ck_assert_int_eq(extend_receipt("q", g.at[0].receipt, 43199999), ERR_OK);
    bench_pass(3600000);
    ck_assert_int_eq(extend_receipt("q", g.at[0].receipt, 39600000), ERR_FULL);
}
END_TEST

static void delete_many(const char *topic, const char *const *receipts, size_t n, enum err *errs)
{
    struct queue_topic *t = topic_of(topic);
    struct bytes texts[QUEUE_BATCH_MAX];
    struct waiting w;
    waiting_init(&w);
    for (size_t i = 0; i < n; i++)
        texts[i] = bytes_of_text(receipts[i]);
    queue_delete_many(t, texts, n, false, errs, &w.w);
    waiting_finish(&w);
    queue_topic_give_back(t);
}

static uint64_t log_bytes(const char *topic)
{
    struct queue_topic *t = topic_of(topic);
    uint64_t bytes = t->partitions[0].log_bytes;
    queue_topic_give_back(t);
    return bytes;
}

START_TEST(of_several_deletes_each_has_its_own_result)
{
    for (int i = 0; i < 4; i++)
        send_text("q", "a");
    send_text("other", "b");
    struct got g = receive("q", 4), other = receive("other", 1);
    ck_assert_int_eq(delete_receipt("q", g.at[3].receipt), ERR_OK);
    const char *receipts[] = {g.at[2].receipt,     "garbage",       g.at[3].receipt,
                              other.at[0].receipt, g.at[0].receipt, g.at[2].receipt,
                              g.at[1].receipt};
    enum err errs[7];
    delete_many("q", receipts, 7, errs);
    ck_assert_int_eq(errs[0], ERR_OK);
    ck_assert_int_eq(errs[1], ERR_INVALID);
    ck_assert_int_eq(errs[2], ERR_GONE);
    ck_assert_int_eq(errs[3], ERR_INVALID);
    ck_assert_int_eq(errs[4], ERR_OK);
    ck_assert_int_eq(errs[5], ERR_GONE); /* by the first */
    ck_assert_int_eq(errs[6], ERR_OK);
    struct queue_stats stats;
    queue_stats_read(bench.q, &stats);
    ck_assert_uint_eq(stats.deleted, 4);
    bench_restart();
    ck_assert_counts("q", 0, 0, 0);
    ck_assert_counts("other", 0, 1, 0);
}
END_TEST

START_TEST(deletes_of_one_partition_are_one_batch_in_its_log)
{
    const char *receipts[QUEUE_BATCH_MAX];
    enum err errs[QUEUE_BATCH_MAX];
    for (int i = 0; i < QUEUE_BATCH_MAX + 1; i++)
        send_text("q", "a");
    struct got one = receive("q", 1), ten = receive("q", QUEUE_BATCH_MAX);
    ck_assert_uint_eq(ten.n, QUEUE_BATCH_MAX);
    uint64_t before = log_bytes("q");
    ck_assert_int_eq(delete_receipt("q", one.at[0].receipt), ERR_OK);
    uint64_t between = log_bytes("q");
    for (size_t i = 0; i < ten.n; i++)
        receipts[i] = ten.at[i].receipt;
    delete_many("q", receipts, ten.n, errs);
    for (size_t i = 0; i < ten.n; i++)
        ck_assert_int_eq(errs[i], ERR_OK);
    ck_assert_uint_lt(log_bytes("q") - between, 2 * (between - before));
    ck_assert_counts("q", 0, 0, 0);
}
END_TEST

/* In a FIFO topic a lease that is over finishes nothing, whatever stands beside it. */
START_TEST(of_several_deletes_of_a_fifo_topic_only_those_with_a_lease_are_done)
{
    static const char *const groups[] = {"a", "b", "c", "d", "e"};
    enum err errs[8];
    for (int i = 0; i < 5; i++)
        send_grouped("q.fifo", groups[i], groups[i], groups[i]);
    struct got old = receive_for("q.fifo", 5, 1000);
    ck_assert_str_eq(bodies(&old), "a b c d e");
    fake_clock_pass(&bench.clock, 1000);
    struct got g = receive_for("q.fifo", 4, 60000);
    ck_assert_str_eq(bodies(&g), "a b c d");
    const char *receipts[] = {old.at[0].receipt, g.at[0].receipt, g.at[0].receipt,
                              old.at[0].receipt, g.at[1].receipt, old.at[4].receipt,
                              old.at[2].receipt, g.at[3].receipt};
    delete_many("q.fifo", receipts, 8, errs);
    static const enum err wanted[] = {ERR_STALE_RECEIPT, ERR_OK, ERR_GONE,
                                      ERR_GONE,          ERR_OK, ERR_LEASE_EXPIRED,
                                      ERR_STALE_RECEIPT, ERR_OK};
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(errs[i], wanted[i]);
    ck_assert_counts("q.fifo", 1, 1, 0);
    bench_restart();
    ck_assert_counts("q.fifo", 1, 1, 0);
}
END_TEST

/* What a receive tells of sizes is lost with its lease. */
START_TEST(several_deletes_of_messages_whose_leases_a_crash_lost_keep_the_account_exact)
{
    const char *receipts[3];
    enum err errs[3];
    static const char *const sizes[] = {"a", "12345678901234567890", "a body", "last"};
    for (int i = 0; i < 4; i++) /* so that their mean tells none */
        send_text("q", sizes[i]);
    struct queue_topic *t = topic_of("q");
    struct queue_received got[QUEUE_BATCH_MAX];
    struct queue_receive request = {.max = 3, .visibility_ms = -1};
    struct arena arena = {0};
    struct waiting w;
    size_t n = 0;
    waiting_init(&w);
    ck_assert_int_eq(queue_receive(t, &request, &arena, got, &n, &w.w), ERR_OK);
    ck_assert_uint_eq(n, 3);
    queue_topic_give_back(t);
    bench_restart();
    for (size_t i = 0; i < 3; i++)
        receipts[i] = got[i].receipt;
    delete_many("q", receipts, 3, errs);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(errs[i], ERR_OK);
    t = topic_of("q");
    ck_assert_uint_eq(queue_topic_live(t).messages, 1);
    ck_assert_uint_eq(queue_topic_live(t).bytes, 4);
    queue_topic_give_back(t);
    arena_fini(&arena);
}
END_TEST

START_TEST(garbage_is_no_receipt)
{
    send_text("q", "a");
    send_text("other", "b");
    struct got g = receive("q", 1), other = receive("other", 1);
    char text[QUEUE_RECEIPT_TEXT_MAX + 1];
    ck_assert_int_eq(delete_receipt("q", "garbage"), ERR_INVALID);
    ck_assert_int_eq(delete_receipt("q", ""), ERR_INVALID);
    ck_assert_int_eq(delete_receipt("q", other.at[0].receipt), ERR_INVALID);
    for (size_t i = 0; i < strlen(g.at[0].receipt); i++) {
        memcpy(text, g.at[0].receipt, sizeof text);
        text[i] = text[i] == 'A' ? 'B' : 'A';
        ck_assert_int_eq(delete_receipt("q", text), ERR_INVALID);
    }
    memcpy(text, g.at[0].receipt, sizeof text);
    char *last = &text[strlen(text) - 1];
    for (*last = '-'; *last <= 'z'; (*last)++) /* bits that no byte needs must be zero */
        if (*last != g.at[0].receipt[last - text])
            ck_assert_int_eq(delete_receipt("q", text), ERR_INVALID);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
}
END_TEST

/* What follows was made from the head of receipt.c with another HMAC and another base64. */
static const struct receipt known_receipt = {
    .topic = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
    .partition = 7,
    .lease = {.gid = 1, .generation = 2, .number = 345, .id = {6, 789}},
};

static void known_keys(struct queue *q)
{
    digest_hmac_init(&q->receipt_key, BYTES_OF("the key"));
    digest_hmac_init(&q->receipt_key_previous, BYTES_OF("the key before"));
}

static void ck_assert_known_receipt(const struct queue *q, const char *text)
{
    struct receipt got = {.partition = 0};
    ck_assert_int_eq(receipt_read(q, bytes_of_text(text), &got), ERR_OK);
    ck_assert_mem_eq(got.topic.at, known_receipt.topic.at, sizeof got.topic.at);
    ck_assert_uint_eq(got.partition, 7);
    ck_assert_uint_eq(got.lease.gid, 1);
    ck_assert_uint_eq(got.lease.generation, 2);
    ck_assert_uint_eq(got.lease.number, 345);
    ck_assert_uint_eq(got.lease.id.epoch, 6);
    ck_assert_uint_eq(got.lease.id.counter, 789);
}

START_TEST(a_receipt_is_written_as_its_format_says)
{
    static struct queue q;
    char text[QUEUE_RECEIPT_TEXT_MAX + 1];
    known_keys(&q);
    receipt_write(&q, &known_receipt, text);
    ck_assert_str_eq(text, "AgECAwQFBgcICQoLDA0ODxAHAAEAAAACAAAAAAAAAFkBAAAAAAAABgAAAAAAAAAVAwAA"
                           "AAAAAAfyGOtUFUJIUByR6vnGp5E");
    ck_assert_known_receipt(&q, text);
    ck_assert_known_receipt(&q, /* under the key before */
                            "AgECAwQFBgcICQoLDA0ODxAHAAEAAAACAAAAAAAAAFkBAAAAAAAABgAAAAAAAAAVAwAA"
                            "AAAAABv0asSsulWu_tBKynbu038");
}
END_TEST

START_TEST(a_receipt_of_the_format_before_is_still_taken)
{
    static struct queue q;
    static const char old[] = "AQECAwQFBgcICQoLDA0ODxAHAAAAAQAAAAIAAAAAAAAAWQEAAAAAAAAGAAAAAAAAAB"
                              "UDAAAAAAAAL1Zittl3hHp7nBZQUJ6pxg";
    char text[sizeof old];
    struct receipt got;
    known_keys(&q);
    ck_assert_known_receipt(&q, old);
    ck_assert_known_receipt(&q, "AQECAwQFBgcICQoLDA0ODxAHAAAAAQAAAAIAAAAAAAAAWQEAAAAAAAAGAAAAAAAAAB"
                                "UDAAAAAAAAGKt6H2hvWTLNgML5AgGTTQ");
    for (size_t i = 0; i + 1 < sizeof old; i++) {
        memcpy(text, old, sizeof text);
        text[i] = text[i] == 'B' ? 'C' : 'B';
        ck_assert_int_eq(receipt_read(&q, bytes_of_text(text), &got), ERR_INVALID);
    }
    for (size_t n = 0; n + 1 < sizeof old; n++)
        ck_assert_int_eq(receipt_read(&q, (struct bytes){old, n}, &got), ERR_INVALID);
}
END_TEST

START_TEST(an_answer_that_could_not_be_written_gives_its_messages_back)
{
    send_text("q", "a");
    send_text("q", "b");
    struct got g = receive("q", 2);
    ck_assert_uint_eq(g.n, 2);
    struct queue_topic *t = topic_of("q");
    queue_give_back(t, g.at, g.n);
    ck_assert_counts("q", 2, 0, 0);
    struct got again = receive("q", 2);
    ck_assert_str_eq(bodies(&again), "a b");
    ck_assert_uint_eq(again.at[0].receive_count, 2);
    queue_give_back(t, g.at, g.n); /* those leases are not the current ones any more */
    ck_assert_counts("q", 0, 2, 0);
    queue_topic_give_back(t);
}
END_TEST

static void delay_a_second(struct topic_config *c)
{
    c->delay_ms = 1000;
}

START_TEST(delays_end_when_they_are_due_whoever_set_them)
{
    queue_topic_give_back(topic_with("q", delay_a_second));
    send_text("q", "default");
    send_delayed("q", "own", 2000);
    send_delayed("q", "now", 0);
    ck_assert_counts("q", 1, 0, 2);
    struct got g = receive("q", 10);
    ck_assert_str_eq(bodies(&g), "now");
    bench_pass(999);
    ck_assert_counts("q", 0, 1, 2);
    ck_assert_uint_eq(receive("q", 10).n, 0);
    bench_pass(1);
    ck_assert_counts("q", 1, 1, 1);
    g = receive("q", 10);
    ck_assert_str_eq(bodies(&g), "default");
    bench_pass(1000);
    g = receive("q", 10);
    ck_assert_str_eq(bodies(&g), "own");
}
END_TEST

START_TEST(purge_takes_all_that_was_sent_before_and_nothing_after)
{
    send_text("q", "a");
    send_delayed("q", "later", 5000);
    send_text("q", "b");
    struct got g = receive("q", 1);
    struct queue_topic *t = topic_of("q");
    struct waiting w;
    waiting_init(&w);
    ck_assert_int_eq(queue_purge(t, &w.w), ERR_OK);
    waiting_finish(&w);
    send_text("q", "after");
    ck_assert_counts("q", 1, 0, 0);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_GONE);
    bench_pass(60000);
    struct got left = receive("q", 10);
    ck_assert_str_eq(bodies(&left), "after");
    queue_topic_give_back(t);
}
END_TEST

static void many_partitions(struct topic_config *c)
{
    c->partitions = 24;
}

START_TEST(a_purge_waits_for_every_partition)
{
    struct queue_topic *t = topic_with("wide", many_partitions);
    for (int i = 0; i < 48; i++)
        send_text("wide", "x");
    ck_assert_counts("wide", 48, 0, 0);
    struct waiting w;
    waiting_init(&w);
    ck_assert_int_eq(queue_purge(t, &w.w), ERR_OK);
    ck_assert_uint_eq(w.w.marks_n, 24);
    waiting_finish(&w);
    ck_assert_counts("wide", 0, 0, 0);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_receive_goes_around_all_partitions)
{
    queue_topic_give_back(topic_with("wide", many_partitions));
    for (int i = 0; i < 10; i++)
        send_text("wide", "x");
    struct got g = receive("wide", 10);
    ck_assert_uint_eq(g.n, 10);
    for (size_t i = 1; i < g.n; i++)
        ck_assert_uint_ne(g.at[i].partition, g.at[0].partition);
}
END_TEST

static enum err shorter(void *arg, struct topic_config *c)
{
    (void)arg;
    c->retention_ms = 60000;
    return ERR_OK;
}

START_TEST(an_expired_message_is_neither_received_nor_counted)
{
    send_text("q", "old");
    topic_set("q", shorter, NULL);
    bench_pass(30000);
    send_text("q", "young");
    bench_pass(29999);
    ck_assert_counts("q", 2, 0, 0);
    fake_clock_pass(&bench.clock, 1);
    ck_assert_counts("q", 1, 0, 0);
    struct got g = receive("q", 10);
    ck_assert_str_eq(bodies(&g), "young");
    fake_clock_pass(&bench.clock, 30000);
    ck_assert_counts("q", 0, 0, 0);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_GONE);
}
END_TEST

START_TEST(no_more_than_the_limit_is_in_flight)
{
    bench_stop();
    bench.options.in_flight_max = 2;
    bench_start();
    for (int i = 0; i < 3; i++)
        send_text("q", "x");
    struct got g = receive("q", 10);
    ck_assert_uint_eq(g.n, 2);
    ck_assert_int_eq(receive_for("q", 1, -1).err, ERR_OVER_LIMIT);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    ck_assert_uint_eq(receive("q", 10).n, 1);
}
END_TEST

START_TEST(leases_are_shown_with_their_holder)
{
    send_text("q", "a");
    send_text("q", "b");
    receive_for("q", 2, 5000);
    fake_clock_pass(&bench.clock, 1000);
    struct queue_topic *t = topic_of("q");
    struct queue_lease_info leases[4];
    ck_assert_uint_eq(queue_leases(t, BYTES_NONE, 0, 0, leases, 4), 2);
    ck_assert_str_eq(leases[0].holder, "worker");
    ck_assert_int_eq(leases[0].left_ms, 4000);
    ck_assert_uint_eq(queue_leases(t, BYTES_NONE, 0, 1, leases, 4), 1);
    ck_assert_uint_eq(leases[0].number, 1);
    struct queue_partition_info info;
    queue_partition_look(t, 0, &info);
    ck_assert_uint_eq(info.next_number, 2);
    ck_assert_uint_eq(info.counters.in_flight, 2);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_group_that_is_not_there_is_not_found)
{
    struct queue_topic *t = topic_of("q");
    struct queue_counters c;
    ck_assert_int_eq(queue_count(t, BYTES_OF("default"), &c), ERR_OK);
    ck_assert_int_eq(queue_count(t, BYTES_OF("billing"), &c), ERR_NOT_FOUND);
    queue_topic_give_back(t);
}
END_TEST

TCase *tcase_verbs(void)
{
    TCase *t = tcase_create("verbs");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_test(t, what_was_sent_is_received_with_all_that_belongs_to_it);
    tcase_add_test(t, nothing_is_received_before_it_is_committed);
    tcase_add_test(t, a_batch_comes_back_in_order);
    tcase_add_test(t, a_lease_is_exclusive_until_its_deadline_and_free_at_it);
    tcase_add_test(t, a_deleted_message_is_gone_and_a_second_delete_says_so);
    tcase_add_test(t, a_late_delete_works_on_standard_topics_unless_it_is_strict);
    tcase_add_test(t, extend_counts_from_now_and_zero_frees_at_once);
    tcase_add_test(t, no_lease_lasts_twelve_hours_from_its_receive);
    tcase_add_test(t, of_several_deletes_each_has_its_own_result);
    tcase_add_test(t, of_several_deletes_of_a_fifo_topic_only_those_with_a_lease_are_done);
    tcase_add_test(t, deletes_of_one_partition_are_one_batch_in_its_log);
    tcase_add_test(t, several_deletes_of_messages_whose_leases_a_crash_lost_keep_the_account_exact);
    tcase_add_test(t, garbage_is_no_receipt);
    tcase_add_test(t, a_receipt_is_written_as_its_format_says);
    tcase_add_test(t, a_receipt_of_the_format_before_is_still_taken);
    tcase_add_test(t, an_answer_that_could_not_be_written_gives_its_messages_back);
    tcase_add_test(t, delays_end_when_they_are_due_whoever_set_them);
    tcase_add_test(t, purge_takes_all_that_was_sent_before_and_nothing_after);
    tcase_add_test(t, a_purge_waits_for_every_partition);
    tcase_add_test(t, a_receive_goes_around_all_partitions);
    tcase_add_test(t, an_expired_message_is_neither_received_nor_counted);
    tcase_add_test(t, no_more_than_the_limit_is_in_flight);
    tcase_add_test(t, leases_are_shown_with_their_holder);
    tcase_add_test(t, a_group_that_is_not_there_is_not_found);
    return t;
}

// SPDX-License-Identifier: Apache-2.0
/* Accounts of live messages, limits, and what happens when a topic is full. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "queue_fixture.h"

static void set_three(struct topic_config *c)
{
    c->max_messages = 3;
}

static void set_hundred_bytes(struct topic_config *c)
{
    c->max_bytes = 100;
}

static void set_drop(struct topic_config *c)
{
    c->max_messages = 3;
    c->when_full = TOPIC_FULL_DROP_OLDEST;
}

static void set_drop_bytes(struct topic_config *c)
{
    c->max_bytes = 100;
    c->when_full = TOPIC_FULL_DROP_OLDEST;
}

static void set_drop_two(struct topic_config *c)
{
    set_drop(c);
    c->partitions = 2;
}

static void set_dead_letter(struct topic_config *c)
{
    c->max_messages = 3;
    c->when_full = TOPIC_FULL_DEAD_LETTER;
    c->receives_max = 5;
    snprintf(c->dead_letter, sizeof c->dead_letter, c->fifo ? "dead.fifo" : "dead");
}

static void set_compact(struct topic_config *c)
{
    c->compact = true;
}

static void set_retained(struct topic_config *c)
{
    c->retention_bytes = 100;
}

static void set_retained_two(struct topic_config *c)
{
    c->retention_bytes = 100;
    c->partitions = 2;
}

static enum err try_send(const char *topic, const char *body, struct queue_sent *sent)
{
    struct queue_topic *t = topic_of(topic);
    struct queue_message m = {.body = bytes_of_text(body), .delay_ms = -1};
    struct waiting w;
    enum err e;
    if (t->fifo) {
        m.group_id = BYTES_OF("g");
        m.dedup_id = bytes_of_text(body);
    }
    waiting_init(&w);
    queue_send(t, &m, 1, sent, &e, &w.w);
    waiting_finish(&w);
    queue_topic_give_back(t);
    return e;
}

static void send_all(const char *topic, const char *letters)
{
    struct queue_sent sent;
    for (; *letters != 0; letters++) {
        char body[2] = {*letters, 0};
        ck_assert_int_eq(try_send(topic, body, &sent), ERR_OK);
        fake_clock_pass(&bench.clock, 1);
    }
}

static void send_bytes(const char *topic, size_t n)
{
    char body[200];
    struct queue_sent sent;
    memset(body, 'x', n);
    body[n] = 0;
    ck_assert_int_eq(try_send(topic, body, &sent), ERR_OK);
    fake_clock_pass(&bench.clock, 1);
}

static const char *received(const char *topic)
{
    static struct got g;
    g = receive_for(topic, 10, 0);
    return bodies(&g);
}

static void assert_live(const char *topic, uint64_t messages, uint64_t bytes)
{
    struct queue_topic *t = topic_of(topic);
    struct queue_live live = queue_topic_live(t), sum = {0};
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        lock_take(&t->partitions[i].lk);
        struct partition_live one = account_now_locked(&t->partitions[i]);
        lock_give(&t->partitions[i].lk);
        ck_assert(one.exact);
        sum.messages += one.messages;
        sum.bytes += one.bytes;
    }
    ck_assert_uint_eq(live.messages, messages);
    ck_assert_uint_eq(live.bytes, bytes);
    ck_assert_uint_eq(sum.messages, messages);
    ck_assert_uint_eq(sum.bytes, bytes);
    queue_topic_give_back(t);
}

/* ---- accounts ---- */

START_TEST(what_is_live_is_counted_exactly_through_every_way_out)
{
    send_all("q", "abc");
    send_bytes("q", 100);
    assert_live("q", 4, 103);
    struct got g = receive_for("q", 2, 1000);
    struct queue_topic *t = topic_of("q");
    ck_assert_uint_eq(partition_size(t->partitions[0].state, 0), 1); /* so deletes need not read */
    assert_live("q", 4, 103);
    ck_assert_int_eq(delete_receipt("q", g.at[1].receipt), ERR_OK);
    assert_live("q", 3, 102);
    queue_topic_give_back(t);
    bench_restart();
    assert_live("q", 3, 102);
    bench_stop();
    bench_start();
    assert_live("q", 3, 102);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    assert_live("q", 2, 101);
    bench_pass((int64_t)345600 * 1000 + 1); /* all have expired */
    assert_live("q", 0, 0);
    send_bytes("q", 7);
    t = topic_of("q");
    struct waiting w;
    waiting_init(&w);
    ck_assert_int_eq(queue_purge(t, &w.w), ERR_OK);
    waiting_finish(&w);
    queue_topic_give_back(t);
    assert_live("q", 0, 0);
}
END_TEST

START_TEST(attributes_count_with_their_names_and_types)
{
    struct queue_topic *t = topic_of("q");
    struct queue_attribute a = {BYTES_OF("kind"), BYTES_OF("String"), false, BYTES_OF("x")};
    struct queue_message m = {
        .body = BYTES_OF("12345"), .attributes = &a, .attributes_n = 1, .delay_ms = -1};
    struct queue_sent sent;
    struct waiting w;
    enum err e;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    waiting_finish(&w);
    queue_topic_give_back(t);
    assert_live("q", 1, 5 + 4 + 6 + 1);
}
END_TEST

/* Leases of standard topics are not waited for: a crash may lose one, and with it what it told of
 * sizes. */
START_TEST(a_delete_whose_lease_a_crash_has_lost_is_counted_exactly)
{
    send_bytes("q", 10);
    send_bytes("q", 30);
    struct queue_topic *t = topic_of("q");
    struct queue_received out[QUEUE_BATCH_MAX];
    struct queue_receive request = {.max = 1, .visibility_ms = 60000};
    struct arena arena;
    struct queue_wait w = {0};
    size_t n;
    arena_init(&arena, NULL, 0);
    ck_assert_int_eq(queue_receive(t, &request, &arena, out, &n, &w), ERR_OK);
    ck_assert_uint_eq(n, 1);
    queue_topic_give_back(t);
    bench_restart();
    ck_assert_counts("q", 2, 0, 0);
    ck_assert_int_eq(delete_receipt("q", out[0].receipt), ERR_OK);
    assert_live("q", 1, 30);
    arena_fini(&arena);
}
END_TEST

START_TEST(what_moves_out_is_counted_where_it_arrives)
{
    queue_topic_give_back(topic_with("q", set_dead_letter));
    queue_topic_give_back(topic_of("dead"));
    send_bytes("q", 50);
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(receive_for("q", 1, 0).n, 1);
    ck_assert_uint_eq(receive_for("q", 1, 0).n, 0);
    assert_live("q", 0, 0);
    bench_settle();
    assert_live("dead", 1, 50);
}
END_TEST

/* ---- reject ---- */

START_TEST(a_full_topic_refuses_and_names_what_it_holds)
{
    struct queue_sent sent;
    queue_topic_give_back(topic_with("q", set_three));
    send_all("q", "abc");
    ck_assert_int_eq(try_send("q", "d", &sent), ERR_TOPIC_FULL);
    ck_assert_uint_eq(sent.had.messages, 3);
    ck_assert_uint_eq(sent.had.bytes, 3);
    assert_live("q", 3, 3);
    bench_restart();
    ck_assert_int_eq(try_send("q", "d", &sent), ERR_TOPIC_FULL);
    struct got g = receive_for("q", 1, 1000);
    ck_assert_int_eq(try_send("q", "d", &sent), ERR_TOPIC_FULL); /* in flight, it still counts */
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    send_all("q", "d");
    ck_assert_int_eq(try_send("q", "e", &sent), ERR_TOPIC_FULL);
    ck_assert_str_eq(received("q"), "b c d");
}
END_TEST

START_TEST(the_last_byte_fits_and_one_more_does_not)
{
    struct queue_sent sent;
    queue_topic_give_back(topic_with("q", set_hundred_bytes));
    send_bytes("q", 60);
    send_bytes("q", 39);
    ck_assert_int_eq(try_send("q", "ab", &sent), ERR_TOPIC_FULL);
    send_all("q", "a");
    assert_live("q", 3, 100);
}
END_TEST

START_TEST(of_a_batch_those_that_fit_are_taken)
{
    struct queue_topic *t = topic_with("q", set_three);
    struct queue_message m[5];
    struct queue_sent sent[5];
    enum err errs[5];
    struct waiting w;
    static const char *const bodies_of[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++)
        m[i] = (struct queue_message){.body = bytes_of_text(bodies_of[i]), .delay_ms = -1};
    waiting_init(&w);
    queue_send(t, m, 5, sent, errs, &w.w);
    waiting_finish(&w);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(errs[i], i < 3 ? ERR_OK : ERR_TOPIC_FULL);
    queue_topic_give_back(t);
    assert_live("q", 3, 3);
}
END_TEST

START_TEST(a_duplicate_is_answered_though_the_topic_is_full)
{
    queue_topic_give_back(topic_with("q.fifo", set_three));
    send_all("q.fifo", "abc");
    struct queue_sent sent;
    ck_assert_int_eq(try_send("q.fifo", "a", &sent), ERR_OK);
    ck_assert(sent.duplicate);
    ck_assert_int_eq(try_send("q.fifo", "d", &sent), ERR_TOPIC_FULL);
}
END_TEST

/* ---- drop the oldest ---- */

START_TEST(the_oldest_are_dropped_so_that_the_new_one_fits)
{
    queue_topic_give_back(topic_with("q", set_drop));
    send_all("q", "abcde");
    assert_live("q", 3, 3);
    ck_assert_str_eq(received("q"), "c d e");
    bench_restart();
    assert_live("q", 3, 3);
    send_all("q", "fg");
    ck_assert_str_eq(received("q"), "e f g");
    bench_restart();
    assert_live("q", 3, 3);
    ck_assert_str_eq(received("q"), "e f g");
}
END_TEST

START_TEST(what_is_not_committed_yet_can_be_dropped)
{
    struct queue_topic *t = topic_with("q", set_drop);
    struct queue_message m[8];
    struct queue_sent sent[8];
    enum err errs[8];
    struct waiting w;
    char text[8][2];
    for (int i = 0; i < 8; i++) {
        snprintf(text[i], sizeof text[i], "%c", 'a' + i);
        m[i] = (struct queue_message){.body = bytes_of_text(text[i]), .delay_ms = -1};
    }
    waiting_init(&w);
    queue_send(t, m, 8, sent, errs, &w.w);
    waiting_finish(&w);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(errs[i], ERR_OK);
    queue_topic_give_back(t);
    assert_live("q", 3, 3);
    ck_assert_str_eq(received("q"), "f g h");
}
END_TEST

START_TEST(as_many_are_dropped_as_the_bytes_ask_for)
{
    queue_topic_give_back(topic_with("q", set_drop_bytes));
    send_bytes("q", 40);
    send_bytes("q", 30);
    send_bytes("q", 30);
    send_bytes("q", 50);
    assert_live("q", 2, 80);
    char big[102];
    struct queue_sent sent;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    ck_assert_int_eq(try_send("q", big, &sent), ERR_TOPIC_FULL); /* it would never fit */
    assert_live("q", 2, 80);
}
END_TEST

START_TEST(the_oldest_of_all_partitions_goes_first)
{
    queue_topic_give_back(topic_with("q", set_drop_two));
    send_all("q", "abcdefg"); /* in turn to both */
    assert_live("q", 3, 3);
    struct got g = receive_for("q", 10, 0);
    ck_assert_uint_eq(g.n, 3);
    const char *all = bodies(&g);
    ck_assert(strchr(all, 'e') != NULL && strchr(all, 'f') != NULL && strchr(all, 'g') != NULL);
}
END_TEST

static void put(struct queue_partition *p, const struct record *r)
{
    struct appending a;
    lock_take(&p->lk);
    append_begin_locked(&a, p, queue_now_ms(bench.q));
    if (r->type == RECORD_MOVE)
        account_size_locked(&a, r->move.number, 1);
    append_put_locked(&a, r);
    append_end_locked(&a, true);
    lock_give(&p->lk);
    queue_commit_all(bench.q);
}

static void put_aged(struct queue_partition *p, int64_t age_ms)
{
    struct record r = {.type = RECORD_MESSAGE};
    r.message = (struct record_message){.body = BYTES_OF("x"),
                                        .accepted_ms = queue_now_ms(bench.q) - age_ms,
                                        .due_ms = queue_now_ms(bench.q)};
    put(p, &r);
}

/* As in a dead-letter topic, where ages are not in order. */
START_TEST(the_oldest_goes_though_a_younger_one_before_it_is_on_its_way_elsewhere)
{
    struct queue_sent sent;
    struct queue_topic *t = topic_with("q", set_drop_two);
    fake_clock_pass(&bench.clock, 1000);
    put_aged(&t->partitions[0], 0);
    put_aged(&t->partitions[0], 100);
    put_aged(&t->partitions[1], 50);
    put_aged(&t->partitions[1], 0);
    put(&t->partitions[0],
        &(struct record){.type = RECORD_MOVE, .move = {GID_DEFAULT, 0, 0, {{1}}, 1}});
    assert_live("q", 3, 3);
    ck_assert_int_eq(try_send("q", "y", &sent), ERR_OK);
    assert_live("q", 3, 3);
    ck_assert(!partition_is_live(t->partitions[0].state, GID_DEFAULT, 1));
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_dropped_message_can_no_longer_be_deleted)
{
    queue_topic_give_back(topic_with("q", set_drop));
    send_all("q", "a");
    struct got g = receive_for("q", 1, 60000);
    send_all("q", "bcd");
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_GONE);
    assert_live("q", 3, 3);
}
END_TEST

START_TEST(a_fifo_topic_drops_from_its_head_and_keeps_its_order)
{
    queue_topic_give_back(topic_with("q.fifo", set_drop));
    send_all("q.fifo", "abcde");
    ck_assert_str_eq(received("q.fifo"), "c d e");
}
END_TEST

/* ---- to the dead-letter topic ---- */

START_TEST(the_oldest_go_to_the_dead_letter_topic)
{
    queue_topic_give_back(topic_with("q", set_dead_letter));
    queue_topic_give_back(topic_of("dead"));
    send_all("q", "abcde");
    assert_live("q", 3, 3);
    bench_settle();
    ck_assert_str_eq(received("q"), "c d e");
    ck_assert_str_eq(received("dead"), "a b");
    ck_assert_uint_eq(count("q").moving, 0);
    bench_restart();
    assert_live("q", 3, 3);
    assert_live("dead", 2, 2);
}
END_TEST

START_TEST(a_leased_message_is_not_moved_from_under_its_consumer)
{
    queue_topic_give_back(topic_with("q", set_dead_letter));
    queue_topic_give_back(topic_of("dead"));
    send_all("q", "a");
    struct got g = receive_for("q", 1, 60000);
    send_all("q", "bcd");
    bench_settle();
    ck_assert_str_eq(received("dead"), "b");
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    assert_live("q", 2, 2);
}
END_TEST

START_TEST(without_a_dead_letter_topic_sends_are_refused)
{
    struct queue_sent sent;
    queue_topic_give_back(topic_with("q", set_dead_letter));
    send_all("q", "abc");
    ck_assert_int_eq(try_send("q", "d", &sent), ERR_TOPIC_FULL);
    queue_topic_give_back(topic_of("dead"));
    send_all("q", "d");
    assert_live("q", 3, 3);
}
END_TEST

/* The name was free, and is a log's now. What came there would have no key, and no consumer. */
START_TEST(nothing_is_moved_to_a_compact_topic)
{
    struct queue_sent sent;
    queue_topic_give_back(topic_with("q", set_dead_letter));
    queue_topic_give_back(topic_with("dead", set_compact));
    send_all("q", "abc");
    ck_assert_int_eq(try_send("q", "d", &sent), ERR_TOPIC_FULL);
    assert_live("q", 3, 3);
}
END_TEST

/* ---- crashes ---- */

START_TEST(a_crash_forgets_what_was_dropped_with_what_it_was_dropped_for)
{
    struct queue_topic *t = topic_with("q", set_drop_two);
    send_all("q", "abc");
    struct queue_message m = {.body = BYTES_OF("d"), .delay_ms = -1};
    struct queue_sent sent;
    struct queue_wait w = {0};
    enum err e;
    queue_send(t, &m, 1, &sent, &e, &w);
    ck_assert_int_eq(e, ERR_OK);
    assert_live("q", 3, 3);
    queue_topic_give_back(t);
    bench_restart();
    assert_live("q", 3, 3);
    struct got g = receive_for("q", 10, 0);
    ck_assert_ptr_nonnull(strchr(bodies(&g), 'a'));
    send_all("q", "d");
    assert_live("q", 3, 3);
    g = receive_for("q", 10, 0);
    ck_assert_ptr_null(strchr(bodies(&g), 'a'));
}
END_TEST

/* ---- the oldest message ---- */

static struct queue_oldest oldest(const char *topic)
{
    struct queue_topic *t = topic_of(topic);
    struct queue_oldest o;
    queue_topic_oldest(t, &o);
    queue_topic_give_back(t);
    return o;
}

START_TEST(the_oldest_message_and_why_it_is_there_are_shown)
{
    queue_topic_give_back(topic_with("q", set_drop_two));
    ck_assert(!oldest("q").there);
    send_all("q", "a");
    struct queue_sent b;
    ck_assert_int_eq(try_send("q", "b", &b), ERR_OK);
    fake_clock_pass(&bench.clock, 5000);
    ck_assert(oldest("q").state == QUEUE_READY && oldest("q").age_ms == 5001);
    struct got g = receive_for("q", 2, 30000);
    struct queue_oldest o = oldest("q");
    ck_assert(o.state == QUEUE_LEASED && o.left_ms == 30000);
    int a = bytes_equal(g.at[0].body, BYTES_OF("a")) ? 0 : 1;
    ck_assert_int_eq(delete_receipt("q", g.at[a].receipt), ERR_OK);
    o = oldest("q");
    ck_assert_mem_eq(o.id, b.id, 16);
    ck_assert_uint_eq(o.partition, b.partition);
    ck_assert_int_eq(delete_receipt("q", g.at[1 - a].receipt), ERR_OK);
    ck_assert(!oldest("q").there);
    send_delayed("later", "x", 60000);
    ck_assert(oldest("later").state == QUEUE_DELAYED && oldest("later").left_ms == 60000);
}
END_TEST

START_TEST(behind_a_leased_message_of_its_group_is_told)
{
    send_grouped("q.fifo", "a1", "a", "1");
    send_grouped("q.fifo", "a2", "a", "2");
    struct got g = receive_for("q.fifo", 2, 30000);
    ck_assert_uint_eq(g.n, 2);
    ck_assert(oldest("q.fifo").state == QUEUE_LEASED && !oldest("q.fifo").behind_leased);
    ck_assert_int_eq(extend_receipt("q.fifo", g.at[0].receipt, 0), ERR_OK);
    ck_assert(oldest("q.fifo").state == QUEUE_READY && oldest("q.fifo").behind_leased);
    ck_assert_int_eq(extend_receipt("q.fifo", g.at[1].receipt, 0), ERR_OK);
    ck_assert(oldest("q.fifo").state == QUEUE_READY && !oldest("q.fifo").behind_leased);
}
END_TEST

/* ---- retention by size ---- */

START_TEST(retention_by_size_trims_the_oldest)
{
    queue_topic_give_back(topic_with("q", set_retained));
    for (int i = 0; i < 7; i++)
        send_bytes("q", 20);
    assert_live("q", 7, 140);
    bench_pass(1000);
    assert_live("q", 5, 100);
    bench_restart();
    assert_live("q", 5, 100);
}
END_TEST

START_TEST(retention_by_size_counts_all_partitions)
{
    queue_topic_give_back(topic_with("q", set_retained_two));
    for (int i = 0; i < 12; i++)
        send_bytes("q", 20);
    bench_restart(); /* what is known of the heads is read again */
    bench_pass(1000);
    assert_live("q", 5, 100);
}
END_TEST

/* ---- many at a time ---- */

enum { THREADS = 4, TRIES = 400 };

static void set_four_partitions(struct topic_config *c)
{
    c->partitions = 4;
    c->max_messages = 1;
    c->max_bytes = 10;
}

static struct queue_topic *crowded;
static unsigned taken_n, above_n, refused_n;

static void crowd_ready(struct queue_wait *w)
{
    __atomic_store_n(&w->self, (void *)w, __ATOMIC_RELEASE);
}

/* The wait lies in the caller's frame: it must be over before that is left. */
static void crowd_wait(struct queue_wait *w)
{
    if (!queue_wait_start(w))
        return;
    queue_commit_all(bench.q);
    while (__atomic_load_n(&w->self, __ATOMIC_ACQUIRE) == NULL)
        sched_yield();
}

static void look_at_crowded(void)
{
    struct queue_live live = queue_topic_live(crowded);
    if (live.messages > 1 || live.bytes > 10)
        __atomic_fetch_add(&above_n, 1, __ATOMIC_RELAXED);
}

/* All run for the one place that there is; who has got it, gives it back. */
static void *crowd(void *arg)
{
    (void)arg;
    for (int i = 0; i < TRIES; i++) {
        struct queue_message m = {.body = BYTES_OF("12345"), .delay_ms = -1};
        struct queue_sent sent;
        struct queue_wait w = {.ready = crowd_ready}, purged = {.ready = crowd_ready};
        enum err e;
        queue_send(crowded, &m, 1, &sent, &e, &w);
        look_at_crowded();
        crowd_wait(&w);
        look_at_crowded();
        if (e != ERR_OK) {
            __atomic_fetch_add(&refused_n, e == ERR_TOPIC_FULL, __ATOMIC_RELAXED);
            continue;
        }
        __atomic_fetch_add(&taken_n, 1, __ATOMIC_RELAXED);
        (void)!queue_purge(crowded, &purged);
        crowd_wait(&purged);
    }
    return NULL;
}

START_TEST(threads_that_send_at_once_never_exceed_a_limit)
{
    pthread_t threads[THREADS];
    crowded = topic_with("q", set_four_partitions);
    taken_n = above_n = refused_n = 0;
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, crowd, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(above_n, 0);
    ck_assert_uint_gt(taken_n, 0);
    ck_assert_uint_eq(taken_n + refused_n, THREADS * TRIES);
    queue_topic_give_back(crowded);
    assert_live("q", 0, 0);
    bench_restart();
    assert_live("q", 0, 0);
}
END_TEST

TCase *tcase_limit(void)
{
    TCase *t = tcase_create("limit");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_test(t, what_is_live_is_counted_exactly_through_every_way_out);
    tcase_add_test(t, attributes_count_with_their_names_and_types);
    tcase_add_test(t, a_delete_whose_lease_a_crash_has_lost_is_counted_exactly);
    tcase_add_test(t, what_moves_out_is_counted_where_it_arrives);
    tcase_add_test(t, a_full_topic_refuses_and_names_what_it_holds);
    tcase_add_test(t, the_last_byte_fits_and_one_more_does_not);
    tcase_add_test(t, of_a_batch_those_that_fit_are_taken);
    tcase_add_test(t, a_duplicate_is_answered_though_the_topic_is_full);
    tcase_add_test(t, the_oldest_are_dropped_so_that_the_new_one_fits);
    tcase_add_test(t, what_is_not_committed_yet_can_be_dropped);
    tcase_add_test(t, as_many_are_dropped_as_the_bytes_ask_for);
    tcase_add_test(t, the_oldest_of_all_partitions_goes_first);
    tcase_add_test(t, the_oldest_goes_though_a_younger_one_before_it_is_on_its_way_elsewhere);
    tcase_add_test(t, a_dropped_message_can_no_longer_be_deleted);
    tcase_add_test(t, a_fifo_topic_drops_from_its_head_and_keeps_its_order);
    tcase_add_test(t, the_oldest_go_to_the_dead_letter_topic);
    tcase_add_test(t, a_leased_message_is_not_moved_from_under_its_consumer);
    tcase_add_test(t, without_a_dead_letter_topic_sends_are_refused);
    tcase_add_test(t, nothing_is_moved_to_a_compact_topic);
    tcase_add_test(t, a_crash_forgets_what_was_dropped_with_what_it_was_dropped_for);
    tcase_add_test(t, the_oldest_message_and_why_it_is_there_are_shown);
    tcase_add_test(t, behind_a_leased_message_of_its_group_is_told);
    tcase_add_test(t, retention_by_size_trims_the_oldest);
    tcase_add_test(t, retention_by_size_counts_all_partitions);
    tcase_add_test(t, threads_that_send_at_once_never_exceed_a_limit);
    return t;
}

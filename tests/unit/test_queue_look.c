// SPDX-License-Identifier: Apache-2.0
/* Looking without leasing: messages one by one, groups, segments. */
#include <stdio.h>
#include <string.h>

#include "queue_fixture.h"

static struct arena arena;

static void setup(void)
{
    bench_setup();
    arena_init(&arena, NULL, 0);
}

static void teardown(void)
{
    arena_fini(&arena);
    bench_teardown();
}

static const struct queue_peek everything = {
    .states = QUEUE_UNFINISHED,
    .max = QUEUE_PEEK_MAX,
    .bytes_max = 1 << 20,
    .scan_max = QUEUE_PEEK_SCAN_MAX,
};

static const char *state_text(enum queue_message_state state)
{
    switch (state) {
    case QUEUE_READY:
        return "ready";
    case QUEUE_LEASED:
        return "leased";
    case QUEUE_DELAYED:
        return "delayed";
    case QUEUE_MOVING:
        return "moving";
    case QUEUE_FINISHED:
        return "finished";
    case QUEUE_UNFINISHED:
        break;
    }
    ck_abort_msg("state %d", (int)state);
}

/* All pages of a peek as "body state, body state"; checks that each is within its bounds. */
static const char *peek_with(const char *topic, struct queue_peek request)
{
    static struct queue_seen seen[QUEUE_PEEK_MAX];
    struct queue_topic *t = topic_of(topic);
    struct buf text = BUF_EMPTY;
    bool more = true;
    for (int pages = 0; more; pages++) {
        size_t n, bytes = 0;
        ck_assert_int_lt(pages, 1000);
        ck_assert_int_eq(queue_peek(t, &request, &arena, seen, &n, &request.from, &more), ERR_OK);
        ck_assert_uint_le(n, request.max);
        for (size_t i = 0; i < n; i++) {
            buf_put_text(&text, text.n > 0 ? ", " : "");
            buf_put_bytes(&text, seen[i].message.body);
            buf_put_text(&text, " ");
            buf_put_text(&text, state_text(seen[i].state));
            bytes += seen[i].message.body.n;
        }
        ck_assert(n < 2 || bytes <= request.bytes_max);
    }
    buf_put_u8(&text, 0);
    const char *copy = arena_copy(&arena, buf_bytes(&text)).at;
    buf_fini(&text);
    queue_topic_give_back(t);
    return copy;
}

static const char *peek(const char *topic)
{
    return peek_with(topic, everything);
}

static enum err look(const char *topic, uint64_t number, struct queue_seen *out)
{
    struct queue_topic *t = topic_of(topic);
    enum err e = queue_message_look(t, BYTES_NONE, 0, number, &arena, out);
    queue_topic_give_back(t);
    return e;
}

/* ---- a topic as a whole ---- */

static void set_policy(struct topic_config *c)
{
    c->receives_max = 2;
    snprintf(c->dead_letter, sizeof c->dead_letter, "dead");
}

static void check_log(const char *topic, uint64_t messages, uint64_t unfinished)
{
    struct queue_topic *t = topic_of(topic);
    struct queue_segment_info s[2];
    struct queue_bytes sum;
    size_t n;
    ck_assert_int_eq(queue_segments(t, 0, 0, s, 2, &n), ERR_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(s[0].base_offset, 0);
    ck_assert_uint_eq(s[0].first_number, 0);
    ck_assert_uint_eq(s[0].end_number, messages);
    ck_assert_uint_eq(s[0].unfinished, unfinished);
    ck_assert_uint_gt(s[0].bytes, 0);
    ck_assert_uint_eq(s[0].bytes_live, s[0].bytes * unfinished / messages);
    ck_assert(!s[0].sealed);
    ck_assert_int_eq(queue_partition_bytes(t, 0, &sum), ERR_OK);
    ck_assert_uint_eq(sum.segments, 1);
    ck_assert_uint_eq(sum.bytes, s[0].bytes);
    ck_assert_uint_eq(sum.bytes_live, s[0].bytes_live);
    queue_topic_give_back(t);
}

static void check_leases(void)
{
    struct queue_topic *t = topic_of("q");
    struct queue_lease_info leases[4];
    ck_assert_uint_eq(queue_leases(t, BYTES_NONE, 0, 0, leases, 4), 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(leases[i].number, 1 + i);
        ck_assert_uint_eq(leases[i].receive_count, 1);
        ck_assert_int_eq(leases[i].left_ms, 50000);
        ck_assert_int_eq(leases[i].leased_ms, 10000);
        ck_assert_str_eq(leases[i].holder, "worker");
    }
    queue_topic_give_back(t);
}

/* Three are ready, two leased, one is delayed, one is dead. */
static void fill(void)
{
    queue_topic_give_back(topic_with("q", set_policy));
    queue_topic_give_back(topic_of("dead"));
    send_text("q", "poison");
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(receive_for("q", 1, 1000).n, 1);
        fake_clock_pass(&bench.clock, 1000);
    }
    send_text("q", "a");
    send_text("q", "b");
    ck_assert_uint_eq(receive_for("q", 10, 60000).n, 2);
    send_text("q", "c");
    send_text("q", "d");
    send_text("q", "e");
    send_delayed("q", "f", 30000);
}

static void check_filled(void)
{
    struct queue_seen seen;
    struct queue_counters counters = count("q");
    ck_assert_counts("q", 3, 2, 1);
    ck_assert_uint_eq(counters.moving, 0);
    ck_assert_counts("dead", 1, 0, 0);
    ck_assert_str_eq(peek("q"), "a leased, b leased, c ready, d ready, e ready, f delayed");
    ck_assert_str_eq(peek("dead"), "poison ready");
    check_leases();
    check_log("q", 7, 6);
    check_log("dead", 1, 1);
    ck_assert_int_eq(look("q", 0, &seen), ERR_OK);
    ck_assert_int_eq(seen.state, QUEUE_FINISHED);
    ck_assert(bytes_equal(seen.message.body, BYTES_OF("poison")));
    ck_assert_int_eq(look("q", 1, &seen), ERR_OK);
    ck_assert_int_eq(seen.left_ms, 50000);
    ck_assert_str_eq(seen.holder, "worker");
    ck_assert_uint_eq(seen.message.receive_count, 1);
    ck_assert_int_eq(look("q", 6, &seen), ERR_OK);
    ck_assert_int_eq(seen.left_ms, 20000);
    ck_assert_str_eq(seen.message.receipt, "");
    ck_assert_int_eq(look("dead", 0, &seen), ERR_OK);
    ck_assert(bytes_equal(seen.message.origin, BYTES_OF("q")));
    ck_assert_uint_eq(seen.message.receive_count, 2);
}

START_TEST(a_topic_is_shown_exactly_as_it_is_also_after_a_restart)
{
    fill();
    ck_assert_str_eq(peek("q"),
                     "poison moving, a leased, b leased, c ready, d ready, e ready, f delayed");
    bench_settle();
    bench_pass(10000);
    check_filled();
    if (_i == 0)
        bench_restart();
    if (_i == 1) {
        bench_stop();
        bench_start();
    }
    check_filled();
}
END_TEST

START_TEST(a_look_changes_nothing)
{
    send_text("q", "a");
    uint64_t end = plog_end(topic_of("q")->partitions[0].log);
    ck_assert_str_eq(peek("q"), "a ready");
    ck_assert_str_eq(peek("q"), "a ready");
    struct queue_topic *t = topic_of("q");
    ck_assert_uint_eq(plog_end(t->partitions[0].log), end);
    queue_topic_give_back(t);
    queue_topic_give_back(t);
    struct got g = receive("q", 1);
    ck_assert_uint_eq(g.at[0].receive_count, 1);
}
END_TEST

/* ---- single states ---- */

static void set_delay(struct topic_config *c)
{
    c->delay_ms = 10000;
}

START_TEST(a_message_that_the_topic_delays_is_ready_at_its_due_time)
{
    struct queue_seen seen;
    queue_topic_give_back(topic_with("slow", set_delay));
    send_text("slow", "a");
    fake_clock_pass(&bench.clock, 9999);
    ck_assert_str_eq(peek("slow"), "a delayed");
    ck_assert_int_eq(look("slow", 0, &seen), ERR_OK);
    ck_assert_int_eq(seen.left_ms, 1);
    fake_clock_pass(&bench.clock, 1);
    ck_assert_str_eq(peek("slow"), "a ready");
    ck_assert_int_eq(look("slow", 0, &seen), ERR_OK);
    ck_assert_int_eq(seen.left_ms, 0);
}
END_TEST

START_TEST(a_message_is_ready_again_at_the_end_of_its_lease_and_keeps_its_count)
{
    struct queue_seen seen;
    send_text("q", "a");
    int64_t received_wall_ms = bench.clock.wall_ms;
    receive_for("q", 1, 5000);
    fake_clock_pass(&bench.clock, 4999);
    ck_assert_str_eq(peek("q"), "a leased");
    fake_clock_pass(&bench.clock, 1);
    ck_assert_str_eq(peek("q"), "a ready");
    ck_assert_int_eq(look("q", 0, &seen), ERR_OK);
    ck_assert_uint_eq(seen.message.receive_count, 1);
    ck_assert_int_eq(seen.message.first_received_wall_ms, received_wall_ms);
    ck_assert_str_eq(seen.holder, "");
}
END_TEST

static void set_retention(struct topic_config *c)
{
    c->retention_ms = 60000;
}

START_TEST(what_has_expired_is_not_shown)
{
    struct queue_seen seen;
    queue_topic_give_back(topic_with("short", set_retention));
    send_text("short", "a");
    receive_for("short", 1, 3600000);
    fake_clock_pass(&bench.clock, 59999);
    send_text("short", "b");
    ck_assert_str_eq(peek("short"), "a leased, b ready");
    fake_clock_pass(&bench.clock, 1);
    ck_assert_str_eq(peek("short"), "b ready");
    ck_assert_int_eq(look("short", 0, &seen), ERR_NOT_FOUND);
    bench_settle(); /* trims */
    ck_assert_str_eq(peek("short"), "b ready");
    ck_assert_int_eq(look("short", 0, &seen), ERR_NOT_FOUND);
}
END_TEST

START_TEST(a_finished_message_is_shown_by_name_alone)
{
    struct queue_seen seen;
    struct queue_topic *t = topic_of("q");
    send_text("q", "a");
    send_text("q", "b");
    struct got g = receive("q", 1);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    struct queue_peek request = everything;
    request.states |= QUEUE_FINISHED;
    ck_assert_str_eq(peek_with("q", request), "b ready");
    ck_assert_int_eq(look("q", 0, &seen), ERR_OK);
    ck_assert_int_eq(seen.state, QUEUE_FINISHED);
    ck_assert_mem_eq(seen.message.id, g.at[0].id, 16);
    ck_assert_int_eq(look("q", 2, &seen), ERR_NOT_FOUND);
    ck_assert_int_eq(queue_message_look(t, BYTES_NONE, 1, 0, &arena, &seen), ERR_NOT_FOUND);
    ck_assert_int_eq(queue_message_look(t, BYTES_OF("none"), 0, 0, &arena, &seen), ERR_NOT_FOUND);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(what_is_not_committed_is_not_shown)
{
    struct queue_topic *t = topic_of("q");
    struct queue_message m = {.body = BYTES_OF("a"), .delay_ms = -1};
    struct queue_sent sent;
    struct queue_seen seen;
    struct waiting w;
    enum err e;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    ck_assert_str_eq(peek("q"), "");
    ck_assert_int_eq(look("q", 0, &seen), ERR_NOT_FOUND);
    waiting_finish(&w);
    ck_assert_str_eq(peek("q"), "a ready");
    queue_topic_give_back(t);
}
END_TEST

/* ---- filters and pages ---- */

/* Else an answer tells of messages that the receive after it is not given. */
START_TEST(an_answer_about_a_topic_waits_for_all_that_it_counted)
{
    struct queue_topic *t = topic_of("orders");
    struct queue_message m = {.body = BYTES_OF("a"), .delay_ms = -1};
    struct queue_sent sent;
    enum err e = ERR_IO;
    struct waiting send, counted, idle;
    waiting_init(&send);
    waiting_init(&counted);
    queue_send(t, &m, 1, &sent, &e, &send.w);
    ck_assert_int_eq(e, ERR_OK);
    ck_assert_uint_eq(count("orders").visible, 1);
    queue_wait_topic(t, &counted.w);
    ck_assert(queue_wait_start(&counted.w));
    ck_assert(!counted.told);
    waiting_finish(&send);
    ck_assert(counted.told);
    waiting_init(&idle);
    queue_wait_topic(t, &idle.w);
    ck_assert(!queue_wait_start(&idle.w));
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_peek_shows_what_was_asked_for)
{
    fill();
    bench_settle();
    struct queue_peek request = everything;
    request.states = QUEUE_LEASED;
    ck_assert_str_eq(peek_with("q", request), "a leased, b leased");
    request.states = QUEUE_DELAYED | QUEUE_MOVING;
    ck_assert_str_eq(peek_with("q", request), "f delayed");
    request.states = QUEUE_READY;
    request.newest = true;
    request.from.number = UINT64_MAX;
    ck_assert_str_eq(peek_with("q", request), "e ready, d ready, c ready");
    request = everything;
    request.match = BYTES_OF("iso");
    ck_assert_str_eq(peek_with("q", request), "");
    ck_assert_str_eq(peek_with("dead", request), "poison ready");
    request = everything;
    request.from.number = 5;
    ck_assert_str_eq(peek_with("q", request), "e ready, f delayed");
    request.newest = true;
    ck_assert_str_eq(peek_with("q", request), "d ready, c ready, b leased, a leased");
}
END_TEST

START_TEST(pages_of_any_size_show_the_same)
{
    static const char up[] = "a leased, b leased, c ready, d ready, e ready, f delayed";
    static const char down[] = "f delayed, e ready, d ready, c ready, b leased, a leased";
    fill();
    bench_settle();
    struct queue_peek request = everything;
    request.newest = _i % 2 == 1;
    request.from.number = request.newest ? UINT64_MAX : 0;
    request.max = 1 + (size_t)_i / 2;
    ck_assert_str_eq(peek_with("q", request), request.newest ? down : up);
    request.max = QUEUE_PEEK_MAX;
    request.bytes_max = 1 + (size_t)_i / 2;
    ck_assert_str_eq(peek_with("q", request), request.newest ? down : up);
    request.bytes_max = 0; /* one comes all the same */
    ck_assert_str_eq(peek_with("q", request), request.newest ? down : up);
    request.bytes_max = 1 << 20;
    request.scan_max = 1 + (size_t)_i / 2;
    ck_assert_str_eq(peek_with("q", request), request.newest ? down : up);
    request.match = BYTES_OF("e");
    ck_assert_str_eq(peek_with("q", request), "e ready");
}
END_TEST

START_TEST(a_full_page_that_is_the_last_says_so)
{
    struct queue_topic *t = topic_of("q");
    struct queue_seen seen[3];
    struct queue_place next;
    size_t n;
    bool more;
    send_text("q", "a");
    send_text("q", "b");
    struct queue_peek request = everything;
    request.max = 1;
    ck_assert_int_eq(queue_peek(t, &request, &arena, seen, &n, &next, &more), ERR_OK);
    ck_assert(more && n == 1 && next.number == 1);
    request.max = 2;
    ck_assert_int_eq(queue_peek(t, &request, &arena, seen, &n, &next, &more), ERR_OK);
    ck_assert(!more && n == 2);
    request.from.partition = 1;
    ck_assert_int_eq(queue_peek(t, &request, &arena, seen, &n, &next, &more), ERR_NOT_FOUND);
    request.from.partition = 0;
    request.group = BYTES_OF("none");
    ck_assert_int_eq(queue_peek(t, &request, &arena, seen, &n, &next, &more), ERR_NOT_FOUND);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(what_one_peek_scans_is_bounded)
{
    struct queue_topic *t = topic_of("q");
    struct queue_seen seen[3];
    struct queue_place next;
    size_t n;
    bool more;
    for (int i = 0; i < 10; i++)
        send_text("q", "x");
    struct queue_peek request = everything;
    request.match = BYTES_OF("y");
    request.scan_max = 3;
    ck_assert_int_eq(queue_peek(t, &request, &arena, seen, &n, &next, &more), ERR_OK);
    ck_assert(more && n == 0 && next.number == 3);
    request.newest = true;
    request.from.number = UINT64_MAX;
    ck_assert_int_eq(queue_peek(t, &request, &arena, seen, &n, &next, &more), ERR_OK);
    ck_assert(more && n == 0 && next.number == 7);
    queue_topic_give_back(t);
}
END_TEST

/* Delayed by themselves, so that the state knows of each that it is not ready. */
static void send_delayed_many(struct queue_topic *t, int hundreds)
{
    struct queue_message m[QUEUE_SEND_MAX];
    struct queue_sent sent[QUEUE_SEND_MAX];
    enum err errs[QUEUE_SEND_MAX];
    for (size_t i = 0; i < QUEUE_SEND_MAX; i++)
        m[i] = (struct queue_message){.body = BYTES_OF("x"), .delay_ms = 60000};
    for (int i = 0; i < hundreds; i++) {
        struct waiting w;
        waiting_init(&w);
        queue_send(t, m, QUEUE_SEND_MAX, sent, errs, &w.w);
        waiting_finish(&w);
    }
}

START_TEST(what_one_peek_walks_over_is_bounded)
{
    struct queue_topic *t = topic_of("q");
    struct queue_seen seen[1];
    struct queue_place next;
    size_t n;
    bool more;
    send_delayed_many(t, PARTITION_LOOK_WALK_MAX / QUEUE_SEND_MAX + 1);
    send_text("q", "ready");
    struct queue_peek request = everything;
    request.states = QUEUE_READY;
    request.max = 1;
    request.scan_max = 1;
    ck_assert_int_eq(queue_peek(t, &request, &arena, seen, &n, &next, &more), ERR_OK);
    ck_assert(more && n == 0 && next.number == PARTITION_LOOK_WALK_MAX);
    ck_assert_str_eq(peek_with("q", request), "ready ready");
    queue_topic_give_back(t);
}
END_TEST

static void set_three(struct topic_config *c)
{
    c->partitions = 3;
}

START_TEST(partitions_follow_one_another)
{
    queue_topic_give_back(topic_with("wide", set_three));
    static const char *const sent[] = {"a", "b", "c", "d", "e", "f"}; /* in turn */
    for (size_t i = 0; i < 6; i++)
        send_text("wide", sent[i]);
    struct queue_peek request = everything;
    ck_assert_str_eq(peek_with("wide", request),
                     "a ready, d ready, b ready, e ready, c ready, f ready");
    request.max = 1;
    request.newest = true;
    request.from.number = UINT64_MAX;
    ck_assert_str_eq(peek_with("wide", request),
                     "d ready, a ready, e ready, b ready, f ready, c ready");
    request.from.partition = 1;
    request.one_partition = true;
    ck_assert_str_eq(peek_with("wide", request), "e ready, b ready");
}
END_TEST

/* ---- groups ---- */

static void wake(struct queue_poll *p)
{
    (void)p;
}

START_TEST(a_group_tells_its_polls_and_its_oldest_message)
{
    queue_topic_give_back(topic_with("wide", set_three));
    struct queue_topic *t = topic_of("wide");
    struct queue_group_info info;
    struct queue_poll poll = {0};
    ck_assert_int_eq(queue_group_look(t, BYTES_OF("none"), &info), ERR_NOT_FOUND);
    ck_assert_int_eq(queue_group_look(t, BYTES_NONE, &info), ERR_OK);
    ck_assert(info.oldest_sent_wall_ms == 0 && info.waiting == 0);
    ck_assert_int_eq(queue_poll_start(t, BYTES_NONE, &poll, wake), ERR_OK);
    int64_t first_ms = bench.clock.wall_ms;
    send_text("wide", "a");
    fake_clock_pass(&bench.clock, 1000);
    send_text("wide", "b");
    ck_assert_int_eq(queue_group_look(t, BYTES_NONE, &info), ERR_OK);
    ck_assert_uint_eq(info.waiting, 1);
    ck_assert_uint_eq(info.counters.visible, 2);
    ck_assert_int_eq(info.oldest_sent_wall_ms, first_ms);
    queue_poll_end(&poll, false);
    struct got g = receive("wide", 10);
    ck_assert_uint_eq(g.n, 2);
    for (size_t i = 0; i < g.n; i++)
        if (bytes_equal(g.at[i].body, BYTES_OF("a")))
            ck_assert_int_eq(delete_receipt("wide", g.at[i].receipt), ERR_OK);
    ck_assert_int_eq(queue_group_look(t, BYTES_NONE, &info), ERR_OK);
    ck_assert_int_eq(info.oldest_sent_wall_ms, first_ms + 1000);
    ck_assert_uint_eq(info.waiting, 0);
    queue_topic_give_back(t);
}
END_TEST

TCase *tcase_look(void)
{
    TCase *t = tcase_create("look");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_topic_is_shown_exactly_as_it_is_also_after_a_restart, 0, 2);
    tcase_add_test(t, a_look_changes_nothing);
    tcase_add_test(t, a_message_that_the_topic_delays_is_ready_at_its_due_time);
    tcase_add_test(t, a_message_is_ready_again_at_the_end_of_its_lease_and_keeps_its_count);
    tcase_add_test(t, what_has_expired_is_not_shown);
    tcase_add_test(t, a_finished_message_is_shown_by_name_alone);
    tcase_add_test(t, an_answer_about_a_topic_waits_for_all_that_it_counted);
    tcase_add_test(t, what_is_not_committed_is_not_shown);
    tcase_add_test(t, a_peek_shows_what_was_asked_for);
    tcase_add_loop_test(t, pages_of_any_size_show_the_same, 0, 14);
    tcase_add_test(t, a_full_page_that_is_the_last_says_so);
    tcase_add_test(t, what_one_peek_scans_is_bounded);
    tcase_add_test(t, what_one_peek_walks_over_is_bounded);
    tcase_add_test(t, partitions_follow_one_another);
    tcase_add_test(t, a_group_tells_its_polls_and_its_oldest_message);
    return t;
}

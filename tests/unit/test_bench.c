// SPDX-License-Identifier: Apache-2.0
/* The load generator's parts: percentiles, the HTTP answer, requests and replies, addresses. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "bench/address.h"
#include "bench/answer.h"
#include "bench/histogram.h"
#include "bench/load.h"
#include "bench/reply.h"
#include "bench/request.h"
#include "lib/runner.h"

/* ---- percentiles ---- */

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Against the same values, sorted. */
static void compare(const uint64_t *values, size_t n, const char *what)
{
    static const unsigned wanted[] = {1, 1000, 50000, 90000, 99000, 99900, 99999, 100000};
    struct bench_histogram *h = mem_new(sizeof *h);
    uint64_t *sorted = mem_new_array(n, sizeof *sorted);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    for (size_t i = 0; i < n; i++)
        bench_histogram_add(h, values[i]);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t rank = (size_t)(((unsigned __int128)n * wanted[i] + 99999) / 100000);
        uint64_t exact = sorted[rank - 1], got = bench_histogram_percentile(h, wanted[i]);
        ck_assert_msg(got >= exact && got - exact <= exact / 64,
                      "%s: %zu values, %u of 100000: %llu instead of %llu (LEASELOG_SEED=%llu)",
                      what, n, wanted[i], (unsigned long long)got, (unsigned long long)exact,
                      (unsigned long long)test_seed());
    }
    ck_assert(h->n == n && h->max == sorted[n - 1]);
    mem_free(sorted);
    mem_free(h);
}

START_TEST(percentiles_are_within_two_percent_of_sorted_values)
{
    enum { VALUES = 5000 };
    static uint64_t values[VALUES];
    struct rng rng = {test_seed()};
    for (int round = 0; round < 30; round++) {
        size_t n = 1 + (size_t)rng_below(&rng, VALUES);
        for (size_t i = 0; i < n; i++) /* all magnitudes, as many of each */
            values[i] = rng_next(&rng) >> rng_below(&rng, 64);
        compare(values, n, "all magnitudes");
        for (size_t i = 0; i < n; i++)
            values[i] = 100000 + rng_below(&rng, 1000000);
        compare(values, n, "near each other");
        for (size_t i = 0; i < n; i++)
            values[i] = rng_below(&rng, 64);
        compare(values, n, "small");
    }
}
END_TEST

START_TEST(percentiles_at_the_edges_of_buckets_are_right)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t power = UINT64_C(1) << bit, three[] = {power - 1, power, power + 1};
        compare(three, 3, "around a power of two");
    }
    uint64_t largest[] = {UINT64_MAX, UINT64_MAX, 0};
    compare(largest, 3, "the largest");
    struct bench_histogram *empty = mem_new(sizeof *empty);
    ck_assert(bench_histogram_percentile(empty, 50000) == 0);
    mem_free(empty);
}
END_TEST

START_TEST(values_below_64_are_exact)
{
    struct bench_histogram *h = mem_new(sizeof *h);
    for (uint64_t i = 0; i < 64; i++)
        bench_histogram_add(h, i);
    bench_histogram_add(h, 1000000);
    for (uint64_t i = 0; i < 64; i++)
        ck_assert(bench_histogram_percentile(h, (unsigned)((i + 1) * 100000 / 65)) == i);
    mem_free(h);
}
END_TEST

/* ---- the HTTP answer ---- */

enum { BODY_MAX = 1000 };

static enum err read_answer(const char *text, struct bench_answer *out, const char **why)
{
    size_t n = strlen(text);
    char *exact = malloc(n); /* so that a sanitizer sees any step beyond */
    memcpy(exact, text, n);
    enum err e = bench_answer_read((struct bytes){exact, n}, BODY_MAX, out, why);
    free(exact);
    return e;
}

START_TEST(an_answer_says_status_length_and_whether_it_closes)
{
    static const struct {
        const char *text;
        int status;
        size_t body_bytes;
        bool closes;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, 2, false},
        {"HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", 200, 0, false},
        {"HTTP/1.1 200 \r\nContent-Length: \t12 \r\nX:\r\n\r\n", 200, 12, false},
        {"HTTP/1.1 503 Busy\r\nCONNECTION: Close\r\nContent-Length: 0\r\n\r\n", 503, 0, true},
        {"HTTP/1.1 200 OK\r\nConnection: a, close ,b\r\nContent-Length: 0\r\n\r\n", 200, 0, true},
        {"HTTP/1.1 200 OK\r\nConnection: closed\r\nContent-Length: 0\r\n\r\n", 200, 0, false},
        {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", 200, 1, true},
        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", 200, 1, false},
        {"HTTP/1.1 204 No Content\r\n\r\n", 204, 0, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", 200, 1000, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench_answer a;
        const char *why = "";
        enum err e = read_answer(rows[i].text, &a, &why);
        ck_assert_msg(e == ERR_OK, "%s: %s", rows[i].text, why);
        ck_assert_msg(a.status == rows[i].status && a.body_bytes == rows[i].body_bytes &&
                          a.closes == rows[i].closes &&
                          a.head_bytes ==
                              (size_t)(strstr(rows[i].text, "\r\n\r\n") - rows[i].text) + 4,
                      "%s", rows[i].text);
    }
}
END_TEST

START_TEST(an_answer_that_this_client_does_not_take_is_refused_with_a_sentence)
{
    static const struct {
        const char *text;
        enum err e;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", ERR_TOO_BIG},
        {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\n", ERR_TOO_BIG},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 2000\r\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1\r\n\r\n", ERR_CORRUPT},
        {"\r\n\r\n", ERR_CORRUPT},
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n folded\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\n: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nA: b\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
        {"HTTP/1.1 200 OK\r\nA: b\rC: d\r\nContent-Length: 2\r\n\r\n", ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench_answer a;
        const char *why = NULL;
        enum err e = read_answer(rows[i].text, &a, &why);
        ck_assert_msg(e == rows[i].e && why != NULL, "%s: %s", rows[i].text, err_text(e));
    }
}
END_TEST

START_TEST(an_answer_is_asked_for_more_until_its_head_is_whole)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    struct bench_answer a;
    const char *why;
    for (size_t n = 0; n < sizeof text - 1; n++) {
        enum err e = bench_answer_read((struct bytes){text, n}, BODY_MAX, &a, &why);
        ck_assert_msg(e == (n < sizeof text - 3 ? ERR_NEED : ERR_OK), "%zu bytes", n);
    }
}
END_TEST

START_TEST(a_head_without_end_is_given_up_at_its_limit)
{
    size_t n = BENCH_ANSWER_HEAD_MAX;
    char *text = malloc(n + 4);
    struct bench_answer a;
    const char *why;
    memset(text, 'a', n + 4);
    ck_assert(bench_answer_read((struct bytes){text, n - 1}, BODY_MAX, &a, &why) == ERR_NEED);
    ck_assert(bench_answer_read((struct bytes){text, n}, BODY_MAX, &a, &why) == ERR_TOO_BIG);
    memcpy(text + n, "\r\n\r\n", 4); /* an end behind the limit is none */
    ck_assert(bench_answer_read((struct bytes){text, n + 4}, BODY_MAX, &a, &why) == ERR_TOO_BIG);
    free(text);
}
END_TEST

/* ---- requests and replies ---- */

static const struct bench_target target = {"127.0.0.1:9324", "http://h/0/\"q\""};

/* The body of a request whose Content-Length is right. */
static struct bytes body_of(struct bytes request)
{
    const char *at = request.at, *end = memmem(at, request.n, "\r\n\r\n", 4);
    const char *length = memmem(at, request.n, "Content-Length: ", 16);
    ck_assert(end != NULL && length != NULL && length < end);
    size_t n = request.n - (size_t)(end + 4 - at);
    ck_assert_uint_eq(strtoul(length + 16, NULL, 10), n);
    return (struct bytes){end + 4, n};
}

static bool holds(struct bytes text, const char *part)
{
    return memmem(text.at, text.n, part, strlen(part)) != NULL;
}

START_TEST(a_send_is_filled_anew_each_time)
{
    struct bench_send_text s;
    struct bench_sends what = {.batch = 2, .body_bytes = 24, .stamped = true, .groups = 3};
    bench_send_text_init(&s, &target, what, 0xabc);
    struct bytes first = body_of(bench_send_text_next(&s, 42));
    ck_assert(holds(first, "{\"QueueUrl\":\"http://h/0/\\\"q\\\"\",\"Entries\":[{\"Id\":\"0\","
                           "\"MessageBody\":\"00000000000000000042xxxx\","
                           "\"MessageDeduplicationId\":\"0000000000000abc-00000000000000000000\","
                           "\"MessageGroupId\":\"g000000\"},{\"Id\":\"1\","));
    ck_assert(holds(first, "-00000000000000000001\",\"MessageGroupId\":\"g000001\"}]}"));
    struct bytes second = body_of(bench_send_text_next(&s, UINT64_MAX));
    ck_assert(holds(second, "\"18446744073709551615xxxx\""));
    ck_assert(holds(second, "-00000000000000000002\",\"MessageGroupId\":\"g000002\""));
    ck_assert(holds(second, "-00000000000000000003\",\"MessageGroupId\":\"g000000\""));
    ck_assert_uint_eq(s.sent, 4);
    bench_send_text_fini(&s);
}
END_TEST

START_TEST(requests_say_their_length_and_escape_what_they_carry)
{
    struct bytes receipts[] = {BYTES_OF("a\\b"), BYTES_OF("c")};
    struct buf out = BUF_EMPTY;
    bench_request_receive(&out, &target, 10, 20);
    ck_assert(
        holds(body_of(buf_bytes(&out)), "\"MaxNumberOfMessages\":10,\"WaitTimeSeconds\":20}"));
    bench_request_delete(&out, &target, receipts, 1);
    ck_assert(holds(buf_bytes(&out), "AmazonSQS.DeleteMessage\r\n"));
    ck_assert(holds(body_of(buf_bytes(&out)), "\"ReceiptHandle\":\"a\\\\b\"}"));
    bench_request_delete(&out, &target, receipts, 2);
    ck_assert(holds(buf_bytes(&out), "AmazonSQS.DeleteMessageBatch\r\n"));
    ck_assert(holds(body_of(buf_bytes(&out)), "{\"Id\":\"1\",\"ReceiptHandle\":\"c\"}]}"));
    buf_fini(&out);
}
END_TEST

static enum err read_received(const char *text, struct bench_received *out)
{
    struct arena arena;
    arena_init(&arena, NULL, 0);
    enum err e = bench_reply_received(bytes_of_text(text), &arena, out);
    arena_fini(&arena);
    return e;
}

START_TEST(received_messages_give_their_receipts_and_times)
{
    struct bench_received got;
    ck_assert(read_received("{\"Messages\":[{\"MessageId\":\"i\",\"ReceiptHandle\":\"r1\","
                            "\"Body\":\"00000000000000000042xxxx\",\"Attributes\":{\"a\":\"b\"}},"
                            "{\"Body\":\"0000000000000000004x\",\"ReceiptHandle\":\"r2\"}]}",
                            &got) == ERR_OK);
    ck_assert(got.n == 2 && bytes_equal(got.receipts[0], BYTES_OF("r1")) &&
              bytes_equal(got.receipts[1], BYTES_OF("r2")));
    ck_assert(got.stamps_ns[0] == 42 && got.stamps_ns[1] == 0);
    ck_assert(read_received("{}", &got) == ERR_OK && got.n == 0);
    ck_assert(read_received("{\"Messages\":null}", &got) == ERR_OK && got.n == 0);
    ck_assert(read_received("{\"Messages\":[{\"Body\":\"no receipt\"}]}", &got) != ERR_OK);
    ck_assert(read_received("{\"Messages\":[1]}", &got) != ERR_OK);
    ck_assert(read_received("{\"Messages\":[{\"ReceiptHandle\":1}]}", &got) != ERR_OK);
    ck_assert(read_received("<html>", &got) != ERR_OK);
    ck_assert(read_received("", &got) != ERR_OK);
}
END_TEST

START_TEST(more_messages_than_were_asked_for_are_refused)
{
    struct buf text = BUF_EMPTY;
    struct bench_received got;
    buf_put_text(&text, "{\"Messages\":[");
    for (int i = 0; i < BENCH_BATCH_MAX + 1; i++)
        buf_put_format(&text, "%s{\"ReceiptHandle\":\"r\"}", i > 0 ? "," : "");
    buf_put_text(&text, "]}");
    buf_put_u8(&text, 0);
    ck_assert(read_received(text.at, &got) == ERR_INVALID);
    buf_fini(&text);
}
END_TEST

START_TEST(faults_are_named_as_sqs_names_them)
{
    struct arena arena;
    struct bench_fault fault;
    size_t failed;
    arena_init(&arena, NULL, 0);
    struct bytes text = BYTES_OF("{\"__type\":\"com.amazonaws.sqs#OverLimit\",\"message\":\"m\"}");
    ck_assert(bench_reply_fault(text, &arena, &fault) == ERR_OK);
    ck_assert(bytes_equal(fault.code, BYTES_OF("OverLimit")) &&
              bytes_equal(fault.text, BYTES_OF("m")));
    text = BYTES_OF("{\"Successful\":[{\"Id\":\"0\"}],\"Failed\":[{\"Id\":\"1\",\"Code\":\"A\"},"
                    "{\"Id\":\"2\",\"Code\":\"B\",\"Message\":\"m\",\"SenderFault\":true}]}");
    ck_assert(bench_reply_failed(text, &arena, &failed, &fault) == ERR_OK);
    ck_assert(failed == 2 && bytes_equal(fault.code, BYTES_OF("B")));
    ck_assert(bench_reply_failed(BYTES_OF("{}"), &arena, &failed, &fault) == ERR_OK && failed == 0);
    ck_assert(bench_reply_failed(BYTES_OF("[]"), &arena, &failed, &fault) != ERR_OK);
    arena_fini(&arena);
}
END_TEST

START_TEST(failures_are_counted_by_kind_and_never_outgrow_their_room)
{
    struct bench_result *r = mem_new(sizeof *r);
    char code[100];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < BENCH_FAILURES_MAX + 4; i++) {
            /* Longer than there is room for, and different where they are not cut. */
            (void)snprintf(code, sizeof code, "%02d-%090d", i, 0);
            bench_result_failed(r, bytes_of_text(code), BYTES_NONE);
        }
    ck_assert(r->failures_n == BENCH_FAILURES_MAX && r->failures[3].n == 2);
    ck_assert_uint_eq(r->failures_other, 8);
    ck_assert_uint_eq(bench_result_failures(r), 2 * (BENCH_FAILURES_MAX + 4));
    ck_assert_int_eq(strncmp(r->newest.code, "19-", 3), 0);
    bench_result_failed(r, BYTES_OF("first kind again"), BYTES_NONE);
    ck_assert_str_eq(r->newest.code, "first kind again");
    mem_free(r);
}
END_TEST

START_TEST(no_text_of_a_failure_can_command_a_terminal)
{
    struct bench_result *r = mem_new(sizeof *r);
    bench_result_failed(r, BYTES_OF("\x1b[2J\x7f\0c"), BYTES_OF("a\r\n\xc2\x9b b"));
    ck_assert_str_eq(r->failures[0].code, "?[2J??c");
    ck_assert_str_eq(r->failures[0].text, "a???? b");
    mem_free(r);
}
END_TEST

/* ---- addresses and loads ---- */

START_TEST(an_address_is_a_plain_http_url)
{
    static const struct {
        const char *url, *host; /* NULL: refused */
        bool loopback;
    } rows[] = {
        {"http://127.0.0.1:9324", "127.0.0.1:9324", true},
        {"http://127.9.9.9:9324/", "127.9.9.9:9324", true},
        {"HTTP://[::1]:9324", "[::1]:9324", true},
        {"http://[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]:80", true},
        {"http://192.0.2.1", "192.0.2.1:80", false},
        {"http://[2001:db8::1]:1", "[2001:db8::1]:1", false},
        {"http://126.255.255.255:1", "126.255.255.255:1", false},
        {"http://0.0.0.0:1", "0.0.0.0:1", false},
        {"https://127.0.0.1:9324", NULL, false},
        {"127.0.0.1:9324", NULL, false},
        {"http://", NULL, false},
        {"http:///", NULL, false},
        {"http://:80", NULL, false},
        {"http://127.0.0.1:", NULL, false},
        {"http://127.0.0.1:123456", NULL, false},
        {"http://127.0.0.1:8x", NULL, false},
        {"http://127.0.0.1:80/v1", NULL, false},
        {"http://user@127.0.0.1:80", NULL, false},
        {"http://[::1", NULL, false},
        {"http://[::1]x", NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench_address a;
        const char *why = NULL;
        enum err e = bench_address_of(rows[i].url, &a, &why);
        ck_assert_msg((e == ERR_OK) == (rows[i].host != NULL), "%s: %s", rows[i].url, err_text(e));
        if (e == ERR_OK)
            ck_assert_msg(strcmp(a.host, rows[i].host) == 0 && a.loopback == rows[i].loopback,
                          "%s: %s, loopback %d", rows[i].url, a.host, a.loopback);
        else
            ck_assert(why != NULL);
    }
}
END_TEST

START_TEST(a_load_that_would_not_fit_is_refused)
{
    struct bench_load load = {
        .mode = BENCH_SEND, .connections = 4, .batch = 10, .body_bytes = 1000};
    ck_assert(bench_load_fault(&load) == NULL);
    load.body_bytes = BENCH_BODY_BYTES_MAX / 10 + 1;
    ck_assert(strstr(bench_load_fault(&load), "--batch") != NULL);
    load.batch = 1;
    ck_assert(bench_load_fault(&load) == NULL);
    load.body_bytes = BENCH_BODY_BYTES_MAX;
    load.connections = 1025;
    ck_assert(strstr(bench_load_fault(&load), "1 GiB") != NULL);
    load = (struct bench_load){
        .mode = BENCH_LATENCY, .connections = 1, .batch = 1, .body_bytes = BENCH_STAMP_DIGITS - 1};
    ck_assert(strstr(bench_load_fault(&load), "--body-bytes") != NULL);
    load.body_bytes++;
    ck_assert(bench_load_fault(&load) == NULL);
    /* A sender and a consumer for each. */
    load.connections = 512;
    load.body_bytes = BENCH_BODY_BYTES_MAX;
    ck_assert(bench_load_fault(&load) == NULL);
    load.connections++;
    ck_assert(strstr(bench_load_fault(&load), "1 GiB") != NULL);
}
END_TEST

START_TEST(filling_takes_large_batches_and_no_more_memory_than_the_load_may)
{
    static const struct {
        unsigned connections;
        size_t body_bytes;
        unsigned batch;
    } rows[] = {{16, 1024, 10},
                {4096, 1, 10},
                {1, BENCH_BODY_BYTES_MAX, 1},
                {1, 200000, 5},
                {4096, 100000, 2},
                {4096, 262144, 1},
                {1024, 104857, 10},
                {1024, BENCH_BODY_BYTES_MAX, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench_load load = {.mode = BENCH_RECEIVE,
                                  .connections = rows[i].connections,
                                  .batch = 1,
                                  .body_bytes = rows[i].body_bytes};
        unsigned batch = bench_load_fill_batch(&load);
        ck_assert_msg(batch == rows[i].batch, "%u connections, bodies of %zu: %u", load.connections,
                      load.body_bytes, batch);
        ck_assert(bench_load_fault(&load) == NULL);
    }
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("bench");
    TCase *t = tcase_create("parts");
    tcase_add_test(t, percentiles_are_within_two_percent_of_sorted_values);
    tcase_add_test(t, percentiles_at_the_edges_of_buckets_are_right);
    tcase_add_test(t, values_below_64_are_exact);
    tcase_add_test(t, an_answer_says_status_length_and_whether_it_closes);
    tcase_add_test(t, an_answer_that_this_client_does_not_take_is_refused_with_a_sentence);
    tcase_add_test(t, an_answer_is_asked_for_more_until_its_head_is_whole);
    tcase_add_test(t, a_head_without_end_is_given_up_at_its_limit);
    tcase_add_test(t, a_send_is_filled_anew_each_time);
    tcase_add_test(t, requests_say_their_length_and_escape_what_they_carry);
    tcase_add_test(t, received_messages_give_their_receipts_and_times);
    tcase_add_test(t, more_messages_than_were_asked_for_are_refused);
    tcase_add_test(t, faults_are_named_as_sqs_names_them);
    tcase_add_test(t, failures_are_counted_by_kind_and_never_outgrow_their_room);
    tcase_add_test(t, no_text_of_a_failure_can_command_a_terminal);
    tcase_add_test(t, an_address_is_a_plain_http_url);
    tcase_add_test(t, a_load_that_would_not_fit_is_refused);
    tcase_add_test(t, filling_takes_large_batches_and_no_more_memory_than_the_load_may);
    suite_add_tcase(s, t);
    return s;
}

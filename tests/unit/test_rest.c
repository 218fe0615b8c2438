// SPDX-License-Identifier: Apache-2.0
/* The pure parts of the REST front: durations, query parameters, routes, conditions, Accept, places
 * in bodies, attributes, the indenting of answers. */
#include <stdio.h>

#include "base/rng.h"
#include "lib/runner.h"
#include "rest/answer.h"
#include "rest/duration.h"
#include "rest/etag.h"
#include "rest/lease.h"
#include "rest/message.h"
#include "rest/route.h"

static struct arena arena;
static struct rest_fault fault;

static void setup(void)
{
    arena_init(&arena, NULL, 0);
    fault = (struct rest_fault){.arena = &arena};
}

static void teardown(void)
{
    arena_fini(&arena);
}

/* ---- durations and times ---- */

START_TEST(durations_have_units_or_are_seconds)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"30s", 30000},  {"5m", 300000},
                {"2h", 7200000}, {"1d", 86400000},
                {"500ms", 500},  {"30", 30000},
                {"0", 0},        {"0ms", 0},
                {"007s", 7000},  {"999999999999", 999999999999000}};
    static const char *const bad[] = {"",    "s",   "-1",  "+1",   "1.5s",
                                      "1 s", "1S",  "1w",  "1sx",  "ms",
                                      " 1",  "1e3", "0x1", "1s2m", "1000000000000"};
    int64_t ms = -7;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_msg(rest_duration_read(bytes_of_text(good[i].text), &ms), "%s", good[i].text);
        ck_assert_int_eq(ms, good[i].ms);
    }
    ms = -7;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!rest_duration_read(bytes_of_text(bad[i]), &ms) && ms == -7, "%s", bad[i]);
    /* The largest that can be written is no overflow. */
    ck_assert(!rest_duration_read(BYTES_OF("999999999999d"), &ms) || ms > 0);
}
END_TEST

START_TEST(times_are_shown_in_utc_with_milliseconds)
{
    char text[REST_TIME_ROOM];
    rest_time_text(0, text);
    ck_assert_str_eq(text, "1970-01-01T00:00:00.000Z");
    rest_time_text(1700000000007, text);
    ck_assert_str_eq(text, "2023-11-14T22:13:20.007Z");
    rest_time_text(-1, text);
    ck_assert_str_eq(text, "1969-12-31T23:59:59.999Z");
}
END_TEST

START_TEST(seconds_are_shown_with_a_fraction_only_where_there_is_one)
{
    struct buf out = BUF_EMPTY;
    struct json_writer w = json_writer_to(&out);
    json_begin_object(&w);
    rest_put_seconds(&w, "a", 30000);
    rest_put_seconds(&w, "b", 500);
    rest_put_seconds(&w, "c", 1007);
    json_end_object(&w);
    json_writer_done(&w);
    ck_assert(bytes_equal(buf_bytes(&out), BYTES_OF("{\"a\":30,\"b\":0.500,\"c\":1.007}")));
    buf_fini(&out);
}
END_TEST

/* ---- the query ---- */

static const struct rest_param params[] = {
    {"limit", REST_NUMBER, 1, 1000, "100", ""}, {"wait", REST_DURATION, 0, 60, "", ""},
    {"name", REST_TEXT, 1, 8, "", ""},          {"dry", REST_FLAG, 0, 1, "0", ""},
    {"state", REST_CHOICE, 0, 0, "", "ab|c"},
};

static bool query(const char *raw, struct rest_query *q)
{
    fault.problem = REST_PROBLEM_NONE;
    bool fine = rest_query_read(bytes_of_text(raw), params, 5, &arena, q, &fault);
    ck_assert_int_eq(fine, fault.problem == REST_PROBLEM_NONE);
    return fine;
}

START_TEST(a_query_is_read_with_its_defaults)
{
    struct rest_query q;
    ck_assert(query("", &q));
    ck_assert_int_eq(rest_query_get(&q, "limit")->number, 100);
    ck_assert(!rest_query_get(&q, "limit")->given && rest_query_get(&q, "limit")->there);
    ck_assert(!rest_query_get(&q, "wait")->there);
    ck_assert(query("limit=7&wait=2m0&x", &q) == false);
    ck_assert(query("limit=7&wait=1m&name=a%2Bb+c&dry&state=ab&pretty", &q));
    ck_assert_int_eq(rest_query_get(&q, "limit")->number, 7);
    ck_assert_int_eq(rest_query_get(&q, "wait")->number, 60000);
    ck_assert_str_eq(rest_query_get(&q, "name")->text.at, "a+b c");
    ck_assert_int_eq(rest_query_get(&q, "dry")->number, 1);
}
END_TEST

START_TEST(a_parameter_is_refused_by_its_name)
{
    static const struct {
        const char *raw, *name;
    } bad[] = {
        {"limit=0", "limit"},
        {"limit=1001", "limit"},
        {"limit", "limit"},
        {"limit=1&limit=1", "limit"},
        {"wait=61s", "wait"},
        {"wait=60001ms", "wait"},
        {"name=", "name"},
        {"name=123456789", "name"},
        {"name=%zz", "name"},
        {"name=%ff", "name"},
        {"dry=yes", "dry"},
        {"state=a", "state"},
        {"state=ab%7Cc", "state"},
        {"state=", "state"},
        {"Limit=1", "Limit"},
        {"pretty=2", "pretty"},
        {"pretty&pretty", "pretty"},
        {"%6cimit=0", "limit"},
        {"&", ""},
        {"=1", ""},
    };
    struct rest_query q;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!query(bad[i].raw, &q), "%s", bad[i].raw);
        ck_assert_int_eq(fault.problem, REST_PROBLEM_INVALID_PARAMETER);
        ck_assert_str_eq(fault.kind, "parameter");
        ck_assert_str_eq(fault.place, bad[i].name);
    }
}
END_TEST

START_TEST(random_queries_are_taken_or_refused_and_nothing_else)
{
    struct rng rng = {.state = test_seed()};
    static const char parts[] = "limtwae=&%+09sfd\xff;#?";
    for (int i = 0; i < 20000; i++) {
        char raw[24];
        struct rest_query q;
        size_t n = rng_below(&rng, sizeof raw);
        for (size_t k = 0; k < n; k++)
            raw[k] = parts[rng_below(&rng, sizeof parts - 1)];
        bool fine = rest_query_read((struct bytes){raw, n}, params, 5, &arena, &q, &fault);
        if (fine)
            ck_assert_int_le(rest_query_get(&q, "limit")->number, 1000);
        (void)rest_query_pretty((struct bytes){raw, n});
    }
}
END_TEST

START_TEST(percent_coding_reads_back)
{
    char all[256];
    struct buf coded = BUF_EMPTY;
    struct bytes back;
    for (unsigned i = 0; i < sizeof all; i++)
        all[i] = (char)i;
    rest_percent_put(&coded, (struct bytes){all, sizeof all});
    ck_assert(rest_percent_decode(buf_bytes(&coded), true, &arena, &back));
    ck_assert(bytes_equal(back, (struct bytes){all, sizeof all}));
    ck_assert(memchr(coded.at, '/', coded.n) == NULL && memchr(coded.at, '+', coded.n) == NULL);
    buf_fini(&coded);
}
END_TEST

/* ---- routes ---- */

static enum rest_found find(enum http_method method, const char *raw, struct rest_match *m)
{
    struct rest_path path;
    fault.problem = REST_PROBLEM_NONE;
    ck_assert_msg(rest_path_read(bytes_of_text(raw), &arena, &path, &fault), "%s", raw);
    return rest_route_find(method, &path, m);
}

START_TEST(a_path_leads_to_its_operation)
{
    struct rest_match m;
    ck_assert_int_eq(find(HTTP_GET, "/v1/topics", &m), REST_FOUND);
    ck_assert_int_eq(m.operation, REST_list_topics);
    ck_assert_int_eq(find(HTTP_HEAD, "/v1/topics/q", &m), REST_FOUND);
    ck_assert_int_eq(m.operation, REST_get_topic);
    ck_assert_int_eq(find(HTTP_POST, "/v1/topics/messages/messages", &m), REST_FOUND);
    ck_assert_int_eq(m.operation, REST_send_message);
    ck_assert_str_eq(m.topic.at, "messages");
    ck_assert_int_eq(find(HTTP_POST, "/v1/topics/q/messages%3Abatch", &m), REST_FOUND);
    ck_assert_int_eq(m.operation, REST_send_messages);
    ck_assert_int_eq(find(HTTP_DELETE, "/v1/topics/q/groups/g%20h/leases/r", &m), REST_FOUND);
    ck_assert_int_eq(m.operation, REST_finish_lease);
    ck_assert_str_eq(m.group.at, "g h");
    ck_assert_str_eq(m.last.at, "r");
    ck_assert_int_eq(find(HTTP_POST, "/v1/topics/q/groups/g/leases:batch", &m), REST_FOUND);
    ck_assert_int_eq(m.operation, REST_change_leases);
    ck_assert_int_eq(find(HTTP_GET, "/v1/topics/q/purge/x", &m), REST_NO_PATH);
    ck_assert_int_eq(find(HTTP_GET, "/v1", &m), REST_NO_PATH);
    ck_assert_int_eq(find(HTTP_POST, "/v1/topics/q", &m), REST_NO_METHOD);
    ck_assert_str_eq(m.allow, "GET, HEAD, PUT, PATCH, DELETE, OPTIONS");
    ck_assert_int_eq(find(HTTP_OTHER, "/v1/topics/q/purge", &m), REST_NO_METHOD);
    ck_assert_str_eq(m.allow, "POST, OPTIONS");
}
END_TEST

START_TEST(a_path_is_cut_before_it_is_decoded)
{
    struct rest_path path;
    static const struct {
        const char *raw;
        enum rest_problem problem;
    } bad[] = {
        {"/v1/topics/", REST_PROBLEM_NOT_FOUND},  {"//", REST_PROBLEM_NOT_FOUND},
        {"/v1/..", REST_PROBLEM_NOT_FOUND},       {"/v1/%2e%2E", REST_PROBLEM_NOT_FOUND},
        {"/v1/.", REST_PROBLEM_NOT_FOUND},        {"/a/b/c/d/e/f/g/h/i", REST_PROBLEM_NOT_FOUND},
        {"/v1/a%2fb", REST_PROBLEM_INVALID_PATH}, {"/v1/a%2", REST_PROBLEM_INVALID_PATH},
        {"/v1/a%00", REST_PROBLEM_INVALID_PATH},  {"/v1/a%0a", REST_PROBLEM_INVALID_PATH},
        {"/v1/%ff", REST_PROBLEM_INVALID_PATH},   {"/v1/%c0%af", REST_PROBLEM_INVALID_PATH},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fault.problem = REST_PROBLEM_NONE;
        ck_assert_msg(!rest_path_read(bytes_of_text(bad[i].raw), &arena, &path, &fault), "%s",
                      bad[i].raw);
        ck_assert_int_eq(fault.problem, bad[i].problem);
    }
    ck_assert(rest_path_read(BYTES_OF("/a/b/c/d/e/f/g/..."), &arena, &path, &fault));
    ck_assert_uint_eq(path.n, 8);
}
END_TEST

START_TEST(every_operation_has_its_own_parameters)
{
    for (unsigned o = 0; o < REST_OPERATIONS_N; o++) {
        size_t n;
        struct rest_query q;
        const struct rest_param *p = rest_route_params((enum rest_operation)o, &n);
        ck_assert(rest_query_read(BYTES_NONE, p, n, &arena, &q, &fault)); /* defaults are sound */
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++)
                ck_assert_str_ne(p[i].name, p[k].name);
    }
}
END_TEST

/* ---- headers ---- */

START_TEST(a_condition_names_versions_in_a_list)
{
    ck_assert(rest_etag_matches(BYTES_OF("\"12\""), 12));
    ck_assert(rest_etag_matches(BYTES_OF("12"), 12));
    ck_assert(rest_etag_matches(BYTES_OF("*"), 12));
    ck_assert(rest_etag_matches(BYTES_OF("\"1\", W/\"12\" ,\"x\""), 12));
    ck_assert(!rest_etag_matches(BYTES_OF("\"1\", \"2\""), 12));
    ck_assert(!rest_etag_matches(BYTES_OF("\"12"), 12));
    ck_assert(!rest_etag_matches(BYTES_OF(""), 12));
    ck_assert(!rest_etag_matches(BYTES_OF(",,\"\""), 12));
}
END_TEST

START_TEST(accept_asks_for_a_raw_answer_by_naming_bytes_and_not_json)
{
    ck_assert(rest_accept_raw(BYTES_OF("application/octet-stream")));
    ck_assert(rest_accept_raw(BYTES_OF("*/*;q=0.1, application/octet-stream")));
    ck_assert(rest_accept_raw(BYTES_OF("Application/Octet-Stream;q=0.5")));
    ck_assert(!rest_accept_raw(BYTES_OF("")));
    /* What stands behind the header's end does not count. */
    struct bytes longer = BYTES_OF("application/octet-stream;q=0.7");
    ck_assert(!rest_accept_raw((struct bytes){longer.at, longer.n - 1}));
    ck_assert(!rest_accept_raw(BYTES_OF("*/*")));
    ck_assert(!rest_accept_raw(BYTES_OF("application/json")));
    ck_assert(!rest_accept_raw(BYTES_OF("application/octet-stream, application/json;q=0.1")));
    ck_assert(!rest_accept_raw(BYTES_OF("application/octet-stream;q=0")));
    ck_assert(!rest_accept_raw(BYTES_OF("application/octet-stream; x=1; q=0.000")));
    ck_assert(rest_accept_raw(BYTES_OF("application/octet-stream;q=0.001")));
    ck_assert(!rest_accept_raw(BYTES_OF("application/octet-streams")));
}
END_TEST

/* ---- bodies ---- */

START_TEST(a_place_is_shown_as_a_json_pointer)
{
    const struct rest_place top = {NULL, BYTES_OF("messages"), 0}, at = {&top, BYTES_NONE, 12};
    const struct rest_place name = {&at, BYTES_OF("a/b~c"), 0};
    ck_assert(!rest_body_fault(&fault, REST_PROBLEM_INVALID_BODY, &name, "x %d", 1));
    ck_assert_str_eq(fault.kind, "pointer");
    ck_assert_str_eq(fault.place, "/messages/12/a~1b~0c");
    ck_assert_str_eq(fault.detail, "x 1");
    rest_body_fault(&fault, REST_PROBLEM_INVALID_BODY, NULL, "x");
    ck_assert_str_eq(fault.place, "");
}
END_TEST

START_TEST(a_fault_can_show_any_bytes)
{
    struct buf out = BUF_EMPTY;
    struct json_writer w = json_writer_to(&out);
    rest_fault_at(&fault, REST_PROBLEM_INVALID_HEADER, "header", "\xff\"\x01", "%s",
                  "\xc3(\xe2\x82");
    rest_problem_put(&w, &fault, "id");
    json_writer_done(&w);
    for (size_t i = 0; i < out.n; i++)
        ck_assert((unsigned char)out.at[i] < 0x80);
    ck_assert(memmem(out.at, out.n, "\"header\":\"?\\\"\\u0001\"", 20) != NULL);
    buf_fini(&out);
}
END_TEST

static bool attributes(const char *text, struct rest_attributes *out)
{
    struct json j;
    memset(out, 0, sizeof *out);
    json_init(&j, bytes_of_text(text), &arena);
    fault.problem = REST_PROBLEM_NONE;
    bool fine = rest_attributes_read(&j, NULL, &arena, out, &fault);
    return rest_body_finish(&j, fine, &fault);
}

START_TEST(attributes_are_shown_as_they_are_read)
{
    static const char text[] =
        "{\"a\":\"t\",\"n\":-12,\"z\":0,\"x\":{\"type\":\"Number\",\"value\":\"1e5\"},"
        "\"b\":{\"type\":\"Binary.png\",\"value_base64\":\"AAE=\"},"
        "\"l\":{\"type\":\"String.kind\",\"value\":\"v\"}}";
    struct rest_attributes a;
    struct buf out = BUF_EMPTY;
    struct json_writer w = json_writer_to(&out);
    ck_assert(attributes(text, &a));
    ck_assert_uint_eq(a.n, 6);
    json_begin_object(&w);
    rest_attributes_put(&w, a.at, a.n);
    json_end_object(&w);
    json_writer_done(&w);
    ck_assert_uint_eq(out.n, sizeof text - 1 + 15);
    ck_assert(memmem(out.at, out.n, text, sizeof text - 1) != NULL);
    buf_fini(&out);
}
END_TEST

START_TEST(numbers_that_some_readers_of_json_would_round_are_shown_as_text)
{
    struct rest_attributes a;
    struct buf out = BUF_EMPTY;
    struct json_writer w = json_writer_to(&out);
    ck_assert(attributes("{\"n\":1234567890123456,\"f\":1.50,\"m\":999999999999999,\"z\":-0}", &a));
    json_begin_object(&w);
    rest_attributes_put(&w, a.at, a.n);
    json_end_object(&w);
    static const char wanted[] =
        "{\"attributes\":{\"n\":{\"type\":\"Number\",\"value\":\"1234567890123456\"},"
        "\"f\":{\"type\":\"Number\",\"value\":\"1.50\"},\"m\":999999999999999,"
        "\"z\":{\"type\":\"Number\",\"value\":\"-0\"}}}";
    ck_assert(bytes_equal(buf_bytes(&out), bytes_of_text(wanted)));
    buf_fini(&out);
}
END_TEST

START_TEST(attributes_obey_the_rules_of_sqs)
{
    static const char *const bad[] = {
        "{\"\":\"x\"}",
        "{\".a\":\"x\"}",
        "{\"a.\":\"x\"}",
        "{\"a..b\":\"x\"}",
        "{\"a b\":\"x\"}",
        "{\"AWS.a\":\"x\"}",
        "{\"amazon.a\":\"x\"}",
        "{\"a\":\"\"}",
        "{\"a\":true}",
        "{\"a\":null}",
        "{\"a\":[]}",
        "{\"a\":{}}",
        "{\"a\":1e127}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":{\"type\":\"Text\",\"value\":\"x\"}}",
        "{\"a\":{\"type\":\"Stringx\",\"value\":\"x\"}}",
        "{\"a\":{\"type\":\"Binary\",\"value\":\"x\"}}",
        "{\"a\":{\"value\":\"x\"}}",
        "{\"a\":{\"type\":\"String\",\"value_base64\":\"AA==\"}}",
        "[]",
        "{\"a\":\"x\"",
    };
    struct rest_attributes a;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!attributes(bad[i], &a), "%s", bad[i]);
        ck_assert_int_eq(fault.problem, REST_PROBLEM_INVALID_BODY);
    }
    ck_assert(attributes("{\"leaselog-encoding\":\"base64\"}", &a) && a.n == 0);
}
END_TEST

/* ---- answers ---- */

START_TEST(indenting_keeps_every_byte_of_the_values)
{
    struct buf out = BUF_EMPTY;
    rest_json_indent(&out,
                     BYTES_OF("{\"a\":[],\"b\":{},\"c\":[1,{\"d\":\"\\\"{[,:\\\\\"}],\"e\":\"\"}"));
    ck_assert(bytes_equal(
        buf_bytes(&out), BYTES_OF("{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      "
                                  "\"d\": \"\\\"{[,:\\\\\"\n    }\n  ],\n  \"e\": \"\"\n}")));
    buf_fini(&out);
}
END_TEST

START_TEST(every_problem_has_a_name_of_its_own_and_a_page)
{
    for (unsigned p = REST_PROBLEM_NONE + 1; p < REST_PROBLEMS_N; p++) {
        const struct rest_problem_row *row = rest_problem_row((enum rest_problem)p);
        ck_assert_int_eq(rest_problem_named(bytes_of_text(row->name)), p);
        ck_assert(row->status >= 400 && row->status < 600 && row->advice[0] != 0);
    }
    ck_assert_int_eq(rest_problem_named(BYTES_OF("nonesuch")), REST_PROBLEM_NONE);
    /* Whatever the core answers, a client gets a problem. */
#define ERR(name, text)                                                                            \
    ck_assert(!rest_fault_of_err(&fault, ERR_##name) && fault.problem != REST_PROBLEM_NONE);
#include "errors.def"
#undef ERR
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("rest");
    TCase *t = tcase_create("pure");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, durations_have_units_or_are_seconds);
    tcase_add_test(t, times_are_shown_in_utc_with_milliseconds);
    tcase_add_test(t, seconds_are_shown_with_a_fraction_only_where_there_is_one);
    tcase_add_test(t, a_query_is_read_with_its_defaults);
    tcase_add_test(t, a_parameter_is_refused_by_its_name);
    tcase_add_test(t, random_queries_are_taken_or_refused_and_nothing_else);
    tcase_add_test(t, percent_coding_reads_back);
    tcase_add_test(t, a_path_leads_to_its_operation);
    tcase_add_test(t, a_path_is_cut_before_it_is_decoded);
    tcase_add_test(t, every_operation_has_its_own_parameters);
    tcase_add_test(t, a_condition_names_versions_in_a_list);
    tcase_add_test(t, accept_asks_for_a_raw_answer_by_naming_bytes_and_not_json);
    tcase_add_test(t, a_place_is_shown_as_a_json_pointer);
    tcase_add_test(t, a_fault_can_show_any_bytes);
    tcase_add_test(t, attributes_are_shown_as_they_are_read);
    tcase_add_test(t, numbers_that_some_readers_of_json_would_round_are_shown_as_text);
    tcase_add_test(t, attributes_obey_the_rules_of_sqs);
    tcase_add_test(t, indenting_keeps_every_byte_of_the_values);
    tcase_add_test(t, every_problem_has_a_name_of_its_own_and_a_page);
    suite_add_tcase(s, t);
    return s;
}

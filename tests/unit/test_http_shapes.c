// SPDX-License-Identifier: Apache-2.0
/* Heads that two readers could take for different requests: each is answered 400 (or closed), and
 * nothing behind it on its connection is ever handled. */
#include <stdio.h>
#include <string.h>

#include "http_fixture.h"
#include "lib/runner.h"

#define NEXT "GET /hello HTTP/1.1\r\nHost: smuggled\r\n\r\n"

static struct fixture *f;

static void setup(void)
{
    f = fixture_start(NULL);
}

static void teardown(void)
{
    fixture_stop(f, 1000);
}

/* Sends the bytes in one piece, or one byte at a time. The status, or 0 when the connection was
 * closed without an answer; it is closed in any case and no handler has run. */
static int refused(const char *at, size_t n, bool by_bytes)
{
    struct http_client c = http_client_open(f->port);
    struct http_answer a = {0};
    for (size_t i = 0; i < n; i += by_bytes ? 1 : n)
        if (!http_client_send(&c, at + i, by_bytes ? 1 : n))
            break;
    int status = http_client_answer(&c, false, &a) ? a.status : 0;
    /* libmicrohttpd's own answer to a bad Content-Length has its head twice: bytes may follow. */
    ck_assert(http_client_ends(&c));
    if (status != 0)
        http_answer_free(&a);
    http_client_close(&c);
    ck_assert_int_eq(atomic_load(&f->handled), 0);
    return status;
}

static void check_refused(const char *at, size_t n, int status)
{
    ck_assert_int_eq(refused(at, n, false), status);
    ck_assert_int_eq(refused(at, n, true), status);
}

#define REFUSED_AS(status, text) check_refused(text, sizeof(text) - 1, status)
#define REFUSED(text) REFUSED_AS(400, text)

START_TEST(a_plain_head_is_handled)
{
    static const char *heads[] = {
        NEXT,
        ("\r\n" NEXT),
        "GET /hello?a=/b?c&d HTTP/1.1\r\nHost:h\r\nX:\r\nY:  \t\r\nZ: a:b \r\n\r\n",
        "GET /hello HTTP/1.0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: h\r\nCookie: a=b; c=\"d\"; e\r\n\r\n",
    };
    enum { N = sizeof heads / sizeof heads[0] };
    for (int by_bytes = 0; by_bytes < 2; by_bytes++)
        for (int i = 0; i < N; i++) {
            struct http_client c = http_client_open(f->port);
            size_t n = strlen(heads[i]);
            for (size_t at = 0; at < n; at += by_bytes ? 1 : n)
                ck_assert(http_client_send(&c, heads[i] + at, by_bytes ? 1 : n));
            ck_assert_int_eq(http_client_ask(&c, ""), 200);
            http_client_close(&c);
        }
    ck_assert_int_eq(atomic_load(&f->handled), 2 * N);
}
END_TEST

/* A long head grows the buffer while it is parsed; the addresses must still fit. */
START_TEST(a_plain_head_of_any_length_is_handled)
{
    static char text[20000];
    struct http_client c = http_client_open(f->port);
    for (int n = 1; n < 5600; n += 51) {
        snprintf(text, sizeof text,
                 "GET /hello?%0*d HTTP/1.1\r\nHost: h\r\nX: %0*d\r\nY: z\r\n\r\n", n / 2, 0, n / 2,
                 0);
        ck_assert_int_eq(http_client_ask(&c, text), 200);
    }
    http_client_close(&c);
}
END_TEST

START_TEST(a_bare_lf_after_a_header_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\nX: y\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\nX: y\r\n\r\nabc" NEXT);
}
END_TEST

START_TEST(a_bare_lf_after_the_request_line_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\n\0Host: h\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_bare_lf_as_the_empty_line_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\n\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\nHost: h\n\n" NEXT);
}
END_TEST

START_TEST(a_bare_cr_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX\r: a\r\n\r\n" NEXT);
    REFUSED("GET /hel\rlo HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\n\rX: y\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_nul_in_a_header_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\0\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: \0a\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_nul_in_a_header_name_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX\0: a\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX\0Y: a\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_line_that_begins_with_a_nul_does_not_end_the_head)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\n\0Content-Length: 5\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\n\0\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\n\0X: y\r\nHost: h\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_nul_in_the_request_line_is_refused)
{
    REFUSED("GET /hello\0 HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GE\0T /hello HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello?\0a HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET \0/hello HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_folded_header_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX:\r\n b\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\n Host: h\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\r\n \r\n\r\n" NEXT);
    REFUSED(
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" NEXT);
}
END_TEST

START_TEST(white_space_before_the_colon_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX : a\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX\t: a\r\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabc" NEXT);
}
END_TEST

START_TEST(a_header_name_that_is_no_token_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX(: a\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX\x80: a\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_header_without_a_colon_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_control_character_in_a_value_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\x01\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nX: a\x7f\r\n\r\n" NEXT);
}
END_TEST

START_TEST(content_length_with_transfer_encoding_is_refused)
{
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: "
            "chunked\r\n\r\n0\r\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: "
            "0\r\n\r\n0\r\n\r\n" NEXT);
}
END_TEST

START_TEST(two_content_lengths_are_refused_even_if_equal)
{
    REFUSED(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc" NEXT);
    REFUSED(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\ncontent-length: 0\r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\nabc" NEXT);
}
END_TEST

START_TEST(two_transfer_encodings_are_refused)
{
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
            "chunked\r\n\r\n0\r\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
            "identity\r\n\r\n0\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_content_length_that_is_no_pure_number_is_refused)
{
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3 \r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0x3\r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: \r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: three\r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3;\r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3.0\r\n\r\nabc" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: \x0b"
            "3\r\n\r\nabc" NEXT);
}
END_TEST

START_TEST(a_content_length_that_overflows_is_refused)
{
    REFUSED_AS(
        413,
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551619\r\n\r\nabc" NEXT);
    REFUSED_AS(413, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: "
                    "99999999999999999999999\r\n\r\nabc" NEXT);
    REFUSED(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\nabc" NEXT);
    REFUSED(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 0000000000000000000003\r\n\r\nabc" NEXT);
}
END_TEST

START_TEST(a_transfer_encoding_other_than_chunked_is_refused)
{
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" NEXT);
    REFUSED(
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, "
            "chunked\r\n\r\n0\r\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked \r\n\r\n0\r\n\r\n" NEXT);
    REFUSED(
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \r\n\r\n0\r\n\r\n" NEXT);
    REFUSED(
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \x0b"
            "chunked\r\n\r\n0\r\n\r\n" NEXT);
}
END_TEST

START_TEST(transfer_encoding_in_http_1_0_is_refused)
{
    REFUSED("POST /echo HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_missing_host_is_refused_in_http_1_1)
{
    REFUSED("GET /hello HTTP/1.1\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nX: y\r\n\r\n" NEXT);
}
END_TEST

START_TEST(two_hosts_are_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\nhOST: other\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_control_character_or_space_in_the_target_is_refused)
{
    REFUSED("GET /he\x01llo HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello?\x7f HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /he\tllo HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /he llo HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello  HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET  /hello HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_target_that_is_no_path_is_refused)
{
    REFUSED("GET hello HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET ftp://h/hello HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET h:80 HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET ** HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_method_that_is_no_token_is_refused)
{
    REFUSED("G(T /hello HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("\tGET /hello HTTP/1.1\r\nHost: h\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_version_other_than_1_0_and_1_1_is_refused)
{
    REFUSED("GET /hello HTTP/1.2\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1 \r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello HTTP/1.1\0\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello http/1.1\r\nHost: h\r\n\r\n" NEXT);
    REFUSED_AS(505, "GET /hello HTTP/2.0\r\nHost: h\r\n\r\n" NEXT);
    REFUSED("GET /hello\r\nHost: h\r\n\r\n" NEXT);
}
END_TEST

/* How chunks are cut is libmicrohttpd's affair and not strict; so what follows is never handled. */
START_TEST(nothing_behind_a_chunked_body_is_handled)
{
    static const char *bodies[] = {
        "3\r\nabc\r\n0\r\n\r\n",
        "3\nabc\n0\n\n",
        "3;x=\ny\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n0\r\nX: y\nContent-Length: 5\r\n\r\n",
        "3\r\nabc\r\n00000000000000000\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n%s" NEXT,
                 bodies[i]);
        int before = atomic_load(&f->handled);
        struct http_client c = http_client_open(f->port);
        int status = http_client_ask(&c, text);
        ck_assert(status == 200 || status == 400 || status == 0);
        ck_assert(http_client_at_end(&c));
        ck_assert_int_le(atomic_load(&f->handled), before + 1);
        http_client_close(&c);
    }
    ck_assert_int_ge(atomic_load(&f->handled), 1);
}
END_TEST

START_TEST(a_malformed_chunk_size_ends_the_connection)
{
    static const char *sizes[] = {"+3", "0x3", " 3", "3 ", "", "g", "-1", "10000000000000003"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "%s\r\nabc\r\n0\r\n\r\n" NEXT,
                 sizes[i]);
        struct http_client c = http_client_open(f->port);
        int status = http_client_ask(&c, text);
        ck_assert(status == 400 || status == 413);
        ck_assert(http_client_at_end(&c));
        http_client_close(&c);
    }
    ck_assert_int_eq(atomic_load(&f->handled), 0);
}
END_TEST

START_TEST(a_refused_head_takes_its_body_with_it)
{
    REFUSED("POST /echo HTTP/1.1\r\nHost: h\r\nX : y\r\nContent-Length: 0\r\n\r\n" NEXT NEXT);
    REFUSED("POST /echo HTTP/1.1\r\nX: y\r\nContent-Length: 100000\r\n\r\n" NEXT NEXT);
}
END_TEST

/* The one shape that the addresses do not show: see head.c. The line ends where LF ends it. */
START_TEST(a_nul_before_a_bare_lf_ends_a_line_like_crlf)
{
    struct http_client c = http_client_open(f->port);
    static const char text[] = "GET /tell HTTP/1.1\r\nHost: h\r\nX-Tell: a\0\n\r\n";
    struct http_answer a;
    ck_assert(http_client_send(&c, text, sizeof text - 1));
    ck_assert(http_client_answer(&c, false, &a));
    ck_assert_int_eq(a.status, 200);
    ck_assert_ptr_nonnull(strstr(a.body, "|a|"));
    http_answer_free(&a);
    http_client_close(&c);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("http shapes");
    TCase *t = tcase_create("shapes");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_plain_head_is_handled);
    tcase_add_test(t, a_plain_head_of_any_length_is_handled);
    tcase_add_test(t, a_bare_lf_after_a_header_is_refused);
    tcase_add_test(t, a_bare_lf_after_the_request_line_is_refused);
    tcase_add_test(t, a_bare_lf_as_the_empty_line_is_refused);
    tcase_add_test(t, a_bare_cr_is_refused);
    tcase_add_test(t, a_nul_in_a_header_is_refused);
    tcase_add_test(t, a_nul_in_a_header_name_is_refused);
    tcase_add_test(t, a_line_that_begins_with_a_nul_does_not_end_the_head);
    tcase_add_test(t, a_nul_in_the_request_line_is_refused);
    tcase_add_test(t, a_folded_header_is_refused);
    tcase_add_test(t, white_space_before_the_colon_is_refused);
    tcase_add_test(t, a_header_name_that_is_no_token_is_refused);
    tcase_add_test(t, a_header_without_a_colon_is_refused);
    tcase_add_test(t, a_control_character_in_a_value_is_refused);
    tcase_add_test(t, content_length_with_transfer_encoding_is_refused);
    tcase_add_test(t, two_content_lengths_are_refused_even_if_equal);
    tcase_add_test(t, two_transfer_encodings_are_refused);
    tcase_add_test(t, a_content_length_that_is_no_pure_number_is_refused);
    tcase_add_test(t, a_content_length_that_overflows_is_refused);
    tcase_add_test(t, a_transfer_encoding_other_than_chunked_is_refused);
    tcase_add_test(t, transfer_encoding_in_http_1_0_is_refused);
    tcase_add_test(t, a_missing_host_is_refused_in_http_1_1);
    tcase_add_test(t, two_hosts_are_refused);
    tcase_add_test(t, a_control_character_or_space_in_the_target_is_refused);
    tcase_add_test(t, a_target_that_is_no_path_is_refused);
    tcase_add_test(t, a_method_that_is_no_token_is_refused);
    tcase_add_test(t, a_version_other_than_1_0_and_1_1_is_refused);
    tcase_add_test(t, nothing_behind_a_chunked_body_is_handled);
    tcase_add_test(t, a_malformed_chunk_size_ends_the_connection);
    tcase_add_test(t, a_refused_head_takes_its_body_with_it);
    tcase_add_test(t, a_nul_before_a_bare_lf_ends_a_line_like_crlf);
    suite_add_tcase(s, t);
    return s;
}

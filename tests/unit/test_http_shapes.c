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
    ck_assert(http_client_at_end(&c));
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

START_TEST(a_bare_lf_after_a_header_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\nX: y\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_bare_lf_after_the_request_line_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\nHost: h\r\n\r\n" NEXT);
}
END_TEST

START_TEST(a_bare_lf_as_the_empty_line_is_refused)
{
    REFUSED("GET /hello HTTP/1.1\r\nHost: h\r\n\n" NEXT);
}
END_TEST

START_TEST(a_plain_head_is_handled)
{
    struct http_client c = http_client_open(f->port);
    ck_assert_int_eq(http_client_ask(&c, NEXT), 200);
    ck_assert_int_eq(atomic_load(&f->handled), 1);
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
    tcase_add_test(t, a_bare_lf_after_a_header_is_refused);
    tcase_add_test(t, a_bare_lf_after_the_request_line_is_refused);
    tcase_add_test(t, a_bare_lf_as_the_empty_line_is_refused);
    suite_add_tcase(s, t);
    return s;
}

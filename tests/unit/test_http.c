// SPDX-License-Identifier: Apache-2.0
/* The HTTP adapter over real sockets: requests, parking, bodies and budgets, limits, the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http_fixture.h"
#include "lib/runner.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static struct http_answer ask(struct http_client *c, const char *text)
{
    struct http_answer a;
    ck_assert(http_client_text(c, text));
    ck_assert(http_client_answer(c, strncmp(text, "HEAD ", 5) == 0, &a));
    return a;
}

/* ---- requests and answers ---- */

START_TEST(a_get_is_answered_and_the_connection_goes_on)
{
    struct fixture *f = fixture_start(NULL);
    struct http_client c = http_client_open(f->port);
    char text[64];
    for (int i = 0; i < 3; i++) {
        struct http_answer a = ask(&c, GET("/hello"));
        ck_assert_int_eq(a.status, 200);
        ck_assert_str_eq(a.body, "hello");
        ck_assert_str_eq(http_answer_header(&a, "Content-Type", text, sizeof text), "text/plain");
        ck_assert(*http_answer_header(&a, "Date", text, sizeof text) != '\0');
        ck_assert_str_eq(http_answer_header(&a, "Server", text, sizeof text), "");
        ck_assert_str_eq(http_answer_header(&a, "Connection", text, sizeof text), "");
        http_answer_free(&a);
    }
    ck_assert_uint_eq(http_server_counts(f->server).requests, 3);
    ck_assert_uint_eq(http_server_counts(f->server).connections, 1);
    http_client_close(&c);
    fixture_stop(f, 1000);
}
END_TEST

START_TEST(a_parked_request_is_answered_when_another_thread_wakes_it)
{
    struct fixture *f = fixture_start(NULL);
    struct http_client c = http_client_open(f->port);
    ck_assert(http_client_text(&c, GET("/park")));
    ck_assert(fixture_wait_parks(f, 1));
    struct http_request *r = fixture_take_park(f);
    http_wake(r);
    struct http_answer a;
    ck_assert(http_client_answer(&c, false, &a));
    ck_assert_str_eq(a.body, "woken");
    http_answer_free(&a);
    ck_assert(fixture_wait(f, &f->written, 1));
    http_wake(r); /* after the finish: nothing */
    http_let_go(r);
    ck_assert_int_eq(http_client_ask(&c, GET("/hello")), 200);
    ck_assert_int_eq(atomic_load(&f->wakes), 1);
    http_client_close(&c);
    fixture_stop(f, 1000);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("http");
    TCase *t = tcase_create("http");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_get_is_answered_and_the_connection_goes_on);
    tcase_add_test(t, a_parked_request_is_answered_when_another_thread_wakes_it);
    suite_add_tcase(s, t);
    return s;
}

// SPDX-License-Identifier: Apache-2.0
/* Parking and waking, many connections at once, slow peers, and the end of a server. */
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "http/inside.h"
#include "http_fixture.h"
#include "lib/runner.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static struct fixture *f;

static void setup(void)
{
    f = fixture_start(NULL);
}

static void teardown(void)
{
    fixture_stop(f, 1000);
}

static void check_answer(struct http_client *c, const char *body)
{
    struct http_answer a;
    ck_assert(http_client_answer(c, false, &a));
    ck_assert_int_eq(a.status, 200);
    ck_assert_str_eq(a.body, body);
    http_answer_free(&a);
}

static void wake_and_let_go(struct http_request *r)
{
    http_wake(r);
    http_let_go(r);
}

/* ---- parking ---- */

START_TEST(a_parked_request_is_answered_when_another_thread_wakes_it)
{
    struct http_client c = http_client_open(f->port);
    ck_assert(http_client_text(&c, GET("/park")));
    ck_assert(fixture_wait_parks(f, 1));
    struct http_request *r = fixture_take_park(f);
    http_wake(r);
    check_answer(&c, "woken");
    ck_assert(fixture_wait(f, &f->finished, 1));
    ck_assert_int_eq(atomic_load(&f->written), 1);
    http_wake(r); /* after the finish: nothing */
    http_wake(r);
    http_let_go(r);
    ck_assert_int_eq(http_client_ask(&c, GET("/hello")), 200);
    ck_assert_int_eq(atomic_load(&f->wakes), 1);
    ck_assert_int_eq(atomic_load(&f->finished), 1);
    ck_assert_uint_eq(http_server_counts(f->server).parked, 0);
    http_client_close(&c);
}
END_TEST

struct waker {
    pthread_t thread;
    int n;
};

static void *waker_run(void *at)
{
    struct waker *w = at;
    for (int i = 0; i < w->n; i++) {
        if (!fixture_wait_parks(f, 1))
            return w; /* none was parked in time */
        struct http_request *r = fixture_take_park(f);
        http_wake(r);
        wake_and_let_go(r);
    }
    return NULL;
}

START_TEST(ten_thousand_parks_and_wakes_from_another_thread_lose_none)
{
    enum { CONNS = 20, ROUNDS = 500 };
    struct http_client c[CONNS];
    struct waker w = {.n = CONNS * ROUNDS};
    ck_assert_int_eq(pthread_create(&w.thread, NULL, waker_run, &w), 0);
    for (int i = 0; i < CONNS; i++)
        c[i] = http_client_open(f->port);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CONNS; i++)
            ck_assert(http_client_text(&c[i], GET("/park")));
        for (int i = 0; i < CONNS; i++)
            check_answer(&c[i], "woken");
    }
    void *failed;
    ck_assert_int_eq(pthread_join(w.thread, &failed), 0);
    ck_assert_ptr_null(failed);
    ck_assert(fixture_wait(f, &f->written, CONNS * ROUNDS));
    ck_assert_int_eq(atomic_load(&f->wakes), CONNS * ROUNDS);
    for (int i = 0; i < CONNS; i++)
        http_client_close(&c[i]);
}
END_TEST

START_TEST(a_wake_before_the_park_is_not_lost_and_three_are_one)
{
    struct http_client c = http_client_open(f->port);
    for (int i = 0; i < 3; i++) {
        ck_assert(http_client_text(&c, GET("/early")));
        check_answer(&c, "woken");
    }
    ck_assert_int_eq(http_client_ask(&c, GET("/hello")), 200);
    ck_assert_int_eq(atomic_load(&f->wakes), 3);
    http_client_close(&c);
}
END_TEST

START_TEST(a_park_with_a_time_wakes_at_that_time)
{
    struct http_client c = http_client_open(f->port);
    int64_t before_ms = clock_boot_ms(&f->clock);
    ck_assert(http_client_text(&c, GET("/timer")));
    check_answer(&c, "woken");
    ck_assert_int_ge(clock_boot_ms(&f->clock) - before_ms, 19);
    http_client_close(&c);
}
END_TEST

START_TEST(what_the_end_of_the_pass_wakes_is_answered_at_once)
{
    struct http_client c = http_client_open(f->port);
    for (int i = 0; i < 100; i++) {
        ck_assert(http_client_text(&c, GET("/wake-now")));
        check_answer(&c, "woken");
    }
    ck_assert_int_eq(atomic_load(&f->wakes), 100);
    http_client_close(&c);
}
END_TEST

START_TEST(a_parked_request_sees_that_its_peer_has_gone)
{
    for (int i = 0; i < 2; i++) {
        struct http_client c = http_client_open(f->port);
        ck_assert(http_client_text(&c, GET("/park")));
        ck_assert(fixture_wait_parks(f, 1));
        if (i == 0)
            http_client_close(&c);
        else
            http_client_reset(&c);
        wake_and_let_go(fixture_take_park(f));
        ck_assert(fixture_wait(f, &f->wakes, i + 1));
        ck_assert_int_eq(atomic_load(&f->gone), i + 1);
        ck_assert(fixture_wait(f, &f->finished, i + 1));
    }
}
END_TEST

START_TEST(a_peer_that_stays_is_not_gone)
{
    struct http_client c = http_client_open(f->port);
    ck_assert(http_client_text(&c, GET("/park") GET("/hello"))); /* bytes behind it are no end */
    ck_assert(fixture_wait_parks(f, 1));
    wake_and_let_go(fixture_take_park(f));
    check_answer(&c, "woken");
    check_answer(&c, "hello");
    ck_assert_int_eq(atomic_load(&f->gone), 0);
    http_client_close(&c);
}
END_TEST

START_TEST(an_answer_that_nobody_reads_was_not_written)
{
    struct http_client c = http_client_open(f->port);
    ck_assert(http_client_text(&c, GET("/big")));
    struct pollfd p = {.fd = c.fd, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, 10000), 1); /* its first bytes are there */
    http_client_close(&c);
    ck_assert(fixture_wait(f, &f->finished, 1));
    ck_assert_int_eq(atomic_load(&f->written), 0);
    c = http_client_open(f->port);
    ck_assert_int_eq(http_client_ask(&c, GET("/big")), 200);
    ck_assert(fixture_wait(f, &f->written, 1));
    http_client_close(&c);
}
END_TEST

/* Bytes and end stand in one edge of epoll, since the loop stands still when they come. */
static void check_end_with(const char *text, int answers)
{
    struct http_client g = http_client_open(f->port), c = http_client_open(f->port);
    int handled = atomic_load(&f->handled);
    ck_assert_int_eq(http_client_ask(&c, GET("/hello")), 200);
    pthread_mutex_lock(&f->gate);
    ck_assert(http_client_text(&g, GET("/gate")));
    ck_assert(fixture_wait(f, &f->handled, handled + 2));
    ck_assert(http_client_text(&c, text));
    shutdown(c.fd, SHUT_WR);
    pthread_mutex_unlock(&f->gate);
    for (int i = 0; i < answers; i++)
        check_answer(&c, "hello");
    ck_assert(http_client_at_end(&c)); /* the idle timeout is far longer than this waits */
    check_answer(&g, "gate");
    http_client_close(&c);
    http_client_close(&g);
}

START_TEST(an_end_that_comes_with_the_last_bytes_ends_the_connection)
{
    check_end_with(GET("/hello"), 1);
    check_end_with(GET("/hello") GET("/hello") GET("/hello"), 3);
    check_end_with(GET("/hello") "GET /hel", 1);
    check_end_with("GET /hello HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n", 1);
    check_end_with("GET /hello HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\nabc", 1);
    check_end_with("GET /hello HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n" GET("/hello"),
                   2);
    check_end_with("GET /hello HTTP/1.1\r\nHost", 0);
    check_end_with("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhal", 0);
}
END_TEST

START_TEST(a_poller_whose_peer_leaves_is_woken_at_once_and_another_request_is_not)
{
    struct http_client c[2] = {http_client_open(f->port), http_client_open(f->port)};
    struct http_client other = http_client_open(f->port);
    ck_assert(http_client_text(&other, GET("/park")));
    ck_assert(http_client_text(&c[0], GET("/poll")));
    ck_assert(http_client_text(&c[1], GET("/poll")));
    ck_assert(fixture_wait_parks(f, 3));
    shutdown(other.fd, SHUT_WR);
    http_client_reset(&c[0]);
    shutdown(c[1].fd, SHUT_WR);
    ck_assert(fixture_wait(f, &f->finished, 2));
    ck_assert_int_eq(atomic_load(&f->wakes), 2);
    ck_assert_int_eq(atomic_load(&f->gone), 2);
    for (int i = 0; i < 3; i++)
        wake_and_let_go(fixture_take_park(f));
    check_answer(&other, "woken");
    ck_assert(http_client_at_end(&other));
    http_client_close(&other);
    http_client_close(&c[1]);
}
END_TEST

/* ---- many ---- */

/* libmicrohttpd's own wait sleeps on when exactly 128 connections, or a multiple, are ready. */
static void check_all_answered(int n)
{
    static struct http_client c[300];
    struct http_client g = http_client_open(f->port);
    int handled = atomic_load(&f->handled);
    for (int i = 0; i < n; i++) {
        c[i] = http_client_open(f->port);
        ck_assert_int_eq(http_client_ask(&c[i], GET("/hello")), 200);
    }
    pthread_mutex_lock(&f->gate);
    ck_assert(http_client_text(&g, GET("/gate")));
    ck_assert(fixture_wait(f, &f->handled, handled + n + 1)); /* the loop stands still */
    for (int i = 0; i < n; i++)
        ck_assert(http_client_text(&c[i], GET("/hello")));
    pthread_mutex_unlock(&f->gate);
    for (int i = 0; i < n; i++)
        check_answer(&c[i], "hello");
    check_answer(&g, "gate");
    for (int i = 0; i < n; i++)
        http_client_close(&c[i]);
    http_client_close(&g);
}

START_TEST(any_number_of_ready_connections_is_answered_at_once)
{
    static const int numbers[] = {127, 128, 129, 256, 300};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        check_all_answered(numbers[i]);
}
END_TEST

START_TEST(three_hundred_requests_park_and_wake_together)
{
    enum { N = 300 };
    static struct http_client c[N];
    for (int i = 0; i < N; i++) {
        c[i] = http_client_open(f->port);
        ck_assert(http_client_text(&c[i], GET("/park")));
    }
    ck_assert(fixture_wait_parks(f, N));
    ck_assert_uint_eq(http_server_counts(f->server).parked, N);
    for (int i = 0; i < N; i++)
        wake_and_let_go(fixture_take_park(f));
    for (int i = 0; i < N; i++) {
        check_answer(&c[i], "woken");
        http_client_close(&c[i]);
    }
    ck_assert_uint_eq(http_server_counts(f->server).parked, 0);
}
END_TEST

/* ---- slow peers ---- */

static void with_one_second(struct http_options *o)
{
    o->idle_timeout_s = 1;
}

/* Sends a byte each 100 ms until the server closes; false when it has not after ten seconds. */
static bool is_cut_while_trickling(struct http_client *c)
{
    for (int i = 0; i < 100; i++) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        if (poll(&p, 1, 100) == 1)
            return http_client_at_end(c);
        if (!http_client_text(c, "a"))
            return true;
    }
    return false;
}

START_TEST(idle_trickling_and_stuck_connections_are_cut_off)
{
    struct fixture *g = fixture_start(with_one_second);
    struct http_client c[4];
    for (int i = 0; i < 4; i++)
        c[i] = http_client_open(g->port);
    ck_assert(http_client_text(&c[1], "GET /hello HTTP/1.1\r\nHost: h\r\nX: "));
    ck_assert(
        http_client_text(&c[2], "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n"));
    ck_assert_int_eq(http_client_ask(&c[3], GET("/hello")), 200);
    ck_assert(is_cut_while_trickling(&c[1]));
    for (int i = 0; i < 4; i++) {
        if (i != 1)
            ck_assert(http_client_at_end(&c[i]));
        http_client_close(&c[i]);
    }
    fixture_stop(g, 1000);
}
END_TEST

START_TEST(a_parked_request_is_not_idle)
{
    struct fixture *g = fixture_start(with_one_second);
    struct http_client c = http_client_open(g->port);
    ck_assert(http_client_text(&c, GET("/park")));
    ck_assert(fixture_wait_parks(g, 1));
    struct pollfd p = {.fd = c.fd, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, 1500), 0);
    wake_and_let_go(fixture_take_park(g));
    check_answer(&c, "woken");
    http_client_close(&c);
    fixture_stop(g, 1000);
}
END_TEST

/* ---- start and end ---- */

START_TEST(a_drain_wakes_pollers_and_takes_no_connection)
{
    char text[32];
    struct fixture *g = fixture_start(NULL);
    struct http_client poller = http_client_open(g->port), other = http_client_open(g->port);
    ck_assert(http_client_text(&poller, GET("/poll")));
    ck_assert(http_client_text(&other, GET("/park")));
    ck_assert(fixture_wait_parks(g, 2));
    http_server_drain(g->server);
    ck_assert(http_stopping(g->server));
    struct http_answer a;
    ck_assert(http_client_answer(&poller, false, &a));
    ck_assert_str_eq(http_answer_header(&a, "Connection", text, sizeof text), "close");
    http_answer_free(&a);
    ck_assert(http_client_at_end(&poller));
    ck_assert_int_eq(atomic_load(&g->wakes), 1);
    for (int i = 0; i < 2; i++)
        http_wake(g->parks[i]);
    check_answer(&other, "woken");
    uint16_t port = g->port;
    fixture_stop(g, 5000);
    http_client_close(&poller);
    http_client_close(&other);
    struct clock clock = clock_system();
    struct http_options o;
    http_options_default(&o);
    o.port = port; /* free again */
    o.clock = &clock;
    struct http_server *s;
    ck_assert_int_eq(http_server_start(&o, &s), ERR_OK);
    http_server_stop(s, 0);
}
END_TEST

START_TEST(a_stop_that_waits_in_vain_tells_who_was_parked)
{
    struct fixture *g = fixture_start(NULL);
    struct http_client c = http_client_open(g->port), d = http_client_open(g->port);
    ck_assert(http_client_text(&c, GET("/park")));
    ck_assert(
        http_client_text(&d, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\nx"));
    ck_assert(fixture_wait_parks(g, 1));
    struct http_request *r = fixture_take_park(g);
    http_server_drain(g->server);
    http_server_stop(g->server, 20);
    ck_assert_int_eq(atomic_load(&g->finished), 1);
    ck_assert_int_eq(atomic_load(&g->written), 0);
    ck_assert_int_eq(atomic_load(&g->wakes), 0);
    wake_and_let_go(r); /* late, but held */
    ck_assert(http_client_at_end(&c));
    ck_assert(http_client_at_end(&d));
    http_client_close(&c);
    http_client_close(&d);
    fixture_free(g);
}
END_TEST

static void with_two_loops(struct http_options *o)
{
    o->loops = 2;
}

static int entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static struct http_client *_Atomic late;

/* Speaks up at the end of the pass in which the loop finds that nothing is left to do. */
static void ask_late(void *self)
{
    struct fixture *g = self;
    const struct http_server *s = g->server;
    bool last = s != NULL && atomic_load(&s->phase) == SERVER_STOPPING && s->loops[0].drained;
    struct http_client *c = last ? atomic_exchange(&late, NULL) : NULL;
    if (c != NULL)
        ck_assert(http_client_text(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
}

static void with_late(struct http_options *o)
{
    o->loops = 1;
    o->pass_end = ask_late;
}

START_TEST(a_request_that_comes_after_the_last_answer_is_not_handled)
{
    struct fixture *g = fixture_start(with_late);
    struct http_client c = http_client_open(g->port);
    ck_assert_int_eq(http_client_ask(&c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
    int handled = atomic_load(&g->handled);
    atomic_store(&late, &c);
    http_server_stop(g->server, 1000);
    ck_assert_ptr_null(atomic_load(&late));
    ck_assert_int_eq(atomic_load(&g->handled), handled);
    struct http_answer a;
    if (http_client_answer(&c, false, &a)) {
        ck_assert_int_eq(a.status, 503);
        http_answer_free(&a);
    }
    http_client_close(&c);
    fixture_free(g);
}
END_TEST

START_TEST(a_stopped_server_leaves_no_descriptor_and_no_thread)
{
    int fds = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    struct fixture *g = fixture_start(with_two_loops);
    struct http_client c = http_client_open(g->port), d = http_client_open(g->port);
    ck_assert_int_eq(http_client_ask(&c, GET("/hello")), 200);
    ck_assert_int_eq(http_client_ask(&c, "GET /hello HTTP/1.1\r\n\r\n"), 400); /* lingers */
    ck_assert_int_eq(http_client_ask(&d, GET("/hello")), 200);
    fixture_stop(g, 1000);
    http_client_close(&c);
    http_client_close(&d);
    ck_assert_int_eq(entries("/proc/self/fd"), fds);
    ck_assert_int_eq(entries("/proc/self/task"), threads);
}
END_TEST

static struct http_server *_Atomic watched_server;
static atomic_size_t lingering;

static void count_lingering(void *self)
{
    (void)self;
    struct http_server *s = atomic_load(&watched_server);
    if (s != NULL)
        atomic_store(&lingering, s->loops[0].lingering.n);
}

static void with_lingering_counted(struct http_options *o)
{
    o->loops = 1;
    o->pass_end = count_lingering;
}

static uint16_t port_of(int fd, int (*name)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in a = {.sin_port = 0};
    socklen_t n = sizeof a;
    return name(fd, (struct sockaddr *)&a, &n) == 0 && a.sin_family == AF_INET ? a.sin_port : 0;
}

/* The descriptor of this process at the other end of a connection of this process, or -1. */
static int other_end(int fd)
{
    for (int i = 0; i < 1024; i++)
        if (i != fd && port_of(i, getpeername) == port_of(fd, getsockname))
            return i;
    return -1;
}

/* Whether an epoll of this process watches what was added to it under this number. */
static bool is_watched(int fd)
{
    bool found = false;
    char path[64], line[256];
    for (int i = 0; i < 1024; i++) {
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", i);
        FILE *file = fopen(path, "re");
        int tfd = -1;
        while (file != NULL && fgets(line, sizeof line, file) != NULL)
            found = found || (sscanf(line, "tfd: %d", &tfd) == 1 && tfd == fd);
        if (file != NULL)
            fclose(file);
    }
    return found;
}

static void await_lingering(size_t n)
{
    int64_t until_ms = clock_boot_ms(&f->clock) + 10000;
    while (atomic_load(&lingering) != n && clock_boot_ms(&f->clock) < until_ms)
        poll(NULL, 0, 1);
    ck_assert_uint_eq(atomic_load(&lingering), n);
}

START_TEST(a_lingering_socket_that_somebody_else_holds_is_not_watched_any_more)
{
    struct fixture *g = fixture_start(with_lingering_counted);
    atomic_store(&watched_server, g->server);
    struct http_client c = http_client_open(g->port);
    ck_assert_int_eq(http_client_ask(&c, "GET /hello HTTP/1.1\r\n\r\n"), 400);
    await_lingering(1);
    int fd = other_end(c.fd);
    ck_assert_int_ge(fd, 0);
    ck_assert(is_watched(fd));
    /* Not dup: the thread sanitizer would call it a race with the close that it is to outlive. */
    int held = (int)syscall(SYS_dup, fd);
    ck_assert_int_ge(held, 0);
    http_client_close(&c);
    await_lingering(0);
    ck_assert(!is_watched(fd));
    close(held);
    atomic_store(&watched_server, NULL);
    fixture_stop(g, 1000);
}
END_TEST

START_TEST(bad_addresses_and_taken_ports_are_told_apart)
{
    struct http_options o;
    struct http_server *s = NULL;
    http_options_default(&o);
    o.clock = &f->clock;
    for (o.loops = 1; o.loops <= 2; o.loops++) {
        o.address = "127.0.0.1";
        o.port = f->port;
        ck_assert_int_eq(http_server_start(&o, &s), ERR_IN_USE);
        o.port = 0;
        static const char *bad[] = {"", "localhost", "1.2.3", "[127.0.0.1]", "[::1", "192.0.2.1"};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            o.address = bad[i];
            ck_assert_int_eq(http_server_start(&o, &s), ERR_INVALID);
        }
    }
    ck_assert_ptr_null(s);
}
END_TEST

static void with_ipv6(struct http_options *o)
{
    o->address = "[::1]";
}

START_TEST(ipv6_is_served)
{
    struct fixture *g = fixture_start(with_ipv6);
    struct http_client c = http_client_open_v6(g->port);
    ck_assert_int_eq(http_client_ask(&c, GET("/hello")), 200);
    http_client_close(&c);
    fixture_stop(g, 1000);
}
END_TEST

START_TEST(two_loops_share_a_port_and_nobody_else_gets_it)
{
    enum { N = 40 };
    struct http_client c[N];
    struct fixture *g = fixture_start(with_two_loops);
    for (int i = 0; i < N; i++) {
        c[i] = http_client_open(g->port);
        ck_assert(http_client_text(&c[i], GET("/park")));
    }
    ck_assert(fixture_wait_parks(g, N));
    for (int i = 0; i < N; i++)
        wake_and_let_go(fixture_take_park(g));
    for (int i = 0; i < N; i++) {
        check_answer(&c[i], "woken");
        http_client_close(&c[i]);
    }
    struct http_options o;
    struct http_server *s;
    http_options_default(&o);
    o.clock = &g->clock;
    o.port = g->port;
    o.loops = 2;
    ck_assert_int_eq(http_server_start(&o, &s), ERR_IN_USE);
    fixture_stop(g, 1000);
}
END_TEST

static TCase *case_new(Suite *s, const char *name)
{
    TCase *t = tcase_create(name);
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    suite_add_tcase(s, t);
    return t;
}

Suite *suite_new(void)
{
    Suite *s = suite_create("http park");
    TCase *t = case_new(s, "park");
    tcase_add_test(t, a_parked_request_is_answered_when_another_thread_wakes_it);
    tcase_add_test(t, ten_thousand_parks_and_wakes_from_another_thread_lose_none);
    tcase_add_test(t, a_wake_before_the_park_is_not_lost_and_three_are_one);
    tcase_add_test(t, a_park_with_a_time_wakes_at_that_time);
    tcase_add_test(t, what_the_end_of_the_pass_wakes_is_answered_at_once);
    tcase_add_test(t, a_parked_request_sees_that_its_peer_has_gone);
    tcase_add_test(t, a_peer_that_stays_is_not_gone);
    tcase_add_test(t, an_answer_that_nobody_reads_was_not_written);
    tcase_add_test(t, an_end_that_comes_with_the_last_bytes_ends_the_connection);
    tcase_add_test(t, a_poller_whose_peer_leaves_is_woken_at_once_and_another_request_is_not);
    t = case_new(s, "many and slow");
    tcase_add_test(t, any_number_of_ready_connections_is_answered_at_once);
    tcase_add_test(t, three_hundred_requests_park_and_wake_together);
    tcase_add_test(t, idle_trickling_and_stuck_connections_are_cut_off);
    tcase_add_test(t, a_parked_request_is_not_idle);
    t = case_new(s, "start and end");
    tcase_add_test(t, a_drain_wakes_pollers_and_takes_no_connection);
    tcase_add_test(t, a_stop_that_waits_in_vain_tells_who_was_parked);
    tcase_add_test(t, a_request_that_comes_after_the_last_answer_is_not_handled);
    tcase_add_test(t, a_lingering_socket_that_somebody_else_holds_is_not_watched_any_more);
    tcase_add_test(t, a_stopped_server_leaves_no_descriptor_and_no_thread);
    tcase_add_test(t, bad_addresses_and_taken_ports_are_told_apart);
    tcase_add_test(t, ipv6_is_served);
    tcase_add_test(t, two_loops_share_a_port_and_nobody_else_gets_it);
    return s;
}

// SPDX-License-Identifier: Apache-2.0
#include "http_fixture.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/mem.h"

enum { BIG_BYTES = 4 * 1024 * 1024 };

static void changed(struct fixture *f)
{
    pthread_mutex_lock(&f->mutex);
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
}

static void answer(struct http_request *r, int status, const void *at, size_t n)
{
    struct buf body = BUF_EMPTY;
    buf_put(&body, at, n);
    const struct http_answer_header h = {"Content-Type", "text/plain"};
    http_reply(r, status, &h, 1, &body);
    CHECK(body.at == NULL);
}

static void hello(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    answer(r, 200, "hello", 5);
}

static void gate(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    changed(f);
    pthread_mutex_lock(&f->gate);
    pthread_mutex_unlock(&f->gate);
    answer(r, 200, "gate", 4);
}

static void echo(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    struct bytes b = http_body(r);
    answer(r, 200, b.at, b.n);
}

static void tell_header(void *arg, struct bytes name, struct bytes value)
{
    struct buf *body = arg;
    buf_put_format(body, "|%.*s=%.*s", (int)name.n, (const char *)name.at, (int)value.n,
                   (const char *)value.at);
}

static void tell(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    struct buf body = BUF_EMPTY;
    buf_put_format(&body, "%d|", (int)http_method_of(r));
    buf_put_bytes(&body, http_path(r));
    buf_put_text(&body, "|");
    buf_put_bytes(&body, http_query(r));
    buf_put_text(&body, "|");
    buf_put_bytes(&body, http_header(r, "x-tell"));
    http_headers_each(r, "x-each-", tell_header, &body);
    char peer[HTTP_ADDRESS_TEXT_MAX + 1];
    http_peer_address(r, peer);
    char own[HTTP_ADDRESS_TEXT_MAX + 1];
    uint16_t port;
    http_own_address(r, own, &port);
    buf_put_format(&body, "|%s|%s:%u|%s", peer, own, port, http_request_id(r));
    http_reply(r, 200, NULL, 0, &body);
}

static void file(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    struct bytes p = http_path(r);
    answer(r, 200, p.at, p.n);
}

static void on_finish(void *self, bool written)
{
    struct fixture *f = self;
    if (written)
        atomic_fetch_add(&f->written, 1);
    atomic_fetch_add(&f->finished, 1);
    changed(f);
}

static void big(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    http_on_finish(r, on_finish, f);
    struct buf body = BUF_EMPTY;
    buf_reserve(&body, BIG_BYTES);
    memset(body.at, 'b', BIG_BYTES);
    body.n = BIG_BYTES;
    http_reply(r, 200, NULL, 0, &body);
}

/* More headers than an answer has room for. */
static void wide(void *self, struct http_request *r)
{
    struct fixture *f = self;
    struct http_answer_header headers[WIDE_HEADERS];
    char value[WIDE_HEADER_BYTES - 8 + 1]; /* beside its name, and 4 bytes as http.h counts */
    atomic_fetch_add(&f->handled, 1);
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    for (size_t i = 0; i < WIDE_HEADERS; i++)
        headers[i] = (struct http_answer_header){"Wide", value};
    http_reply(r, 200, headers, WIDE_HEADERS, NULL);
}

static void woken(void *self, struct http_request *r)
{
    struct fixture *f = self;
    if (http_peer_gone(r))
        atomic_fetch_add(&f->gone, 1);
    answer(r, 200, "woken", 5);
    atomic_fetch_add(&f->wakes, 1);
    changed(f);
}

static void park_as(struct fixture *f, struct http_request *r, bool poll)
{
    atomic_fetch_add(&f->handled, 1);
    http_on_finish(r, on_finish, f);
    http_hold(r);
    http_park(r, woken, f, 0, poll);
    pthread_mutex_lock(&f->mutex);
    CHECK(f->parks_n < PARKS_MAX);
    f->parks[f->parks_n++] = r;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
}

static void park(void *self, struct http_request *r)
{
    park_as(self, r, false);
}

static void park_poll(void *self, struct http_request *r)
{
    park_as(self, r, true);
}

static void timer(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    http_park(r, woken, f, clock_boot_ms(&f->clock) + 20, false);
}

static void early(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    http_wake(r);
    http_wake(r);
    http_park(r, woken, f, 0, false);
    http_wake(r);
}

static void wake_now(void *self, struct http_request *r)
{
    struct fixture *f = self;
    atomic_fetch_add(&f->handled, 1);
    http_park(r, woken, f, 0, false);
    http_hold(r);
    atomic_store(&f->for_pass_end, r);
}

static void pass_end(void *self)
{
    struct fixture *f = self;
    struct http_request *r = atomic_exchange(&f->for_pass_end, NULL);
    atomic_fetch_add(&f->passes, 1);
    if (r == NULL)
        return;
    http_wake(r);
    http_let_go(r);
}

struct fixture *fixture_start(void (*change)(struct http_options *o))
{
    struct fixture *f = mem_new(sizeof *f);
    const struct http_route wanted[] = {
        {HTTP_GET, "/hello", hello, f},       {HTTP_POST, "/echo", echo, f},
        {HTTP_GET, "/tell", tell, f},         {HTTP_GET, "/big", big, f},
        {HTTP_GET, "/park", park, f},         {HTTP_GET, "/poll", park_poll, f},
        {HTTP_GET, "/timer", timer, f},       {HTTP_GET, "/early", early, f},
        {HTTP_GET, "/file/*", file, f},       {HTTP_PUT, "/file/x", hello, f},
        {HTTP_GET, "/wake-now", wake_now, f}, {HTTP_OTHER, "/any", hello, f},
        {HTTP_GET, "/gate", gate, f},         {HTTP_GET, "/wide", wide, f},
    };
    CHECK(sizeof wanted <= sizeof f->routes);
    memcpy(f->routes, wanted, sizeof wanted);
    pthread_mutex_init(&f->gate, NULL);
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->clock = clock_system();
    struct http_options o;
    http_options_default(&o);
    o.port = 0;
    o.loops = 1;
    o.clock = &f->clock;
    o.routes = f->routes;
    o.routes_n = sizeof wanted / sizeof wanted[0];
    o.self = f;
    o.pass_end = pass_end;
    if (change != NULL)
        change(&o);
    CHECK(http_server_start(&o, &f->server) == ERR_OK);
    f->port = http_server_port(f->server);
    return f;
}

void fixture_stop(struct fixture *f, int64_t timeout_ms)
{
    http_server_drain(f->server);
    http_server_stop(f->server, timeout_ms);
    fixture_free(f);
}

void fixture_free(struct fixture *f)
{
    while (f->parks_n > 0)
        http_let_go(f->parks[--f->parks_n]);
    pthread_mutex_destroy(&f->gate);
    pthread_mutex_destroy(&f->mutex);
    pthread_cond_destroy(&f->changed);
    mem_free(f);
}

static struct timespec ten_seconds_on(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 10;
    return t;
}

bool fixture_wait(struct fixture *f, const atomic_int *counter, int n)
{
    struct timespec until = ten_seconds_on();
    int late = 0;
    pthread_mutex_lock(&f->mutex);
    while (atomic_load(counter) < n && late == 0)
        late = pthread_cond_timedwait(&f->changed, &f->mutex, &until);
    pthread_mutex_unlock(&f->mutex);
    return atomic_load(counter) >= n;
}

bool fixture_wait_parks(struct fixture *f, int n)
{
    struct timespec until = ten_seconds_on();
    int late = 0;
    pthread_mutex_lock(&f->mutex);
    while (f->parks_n < n && late == 0)
        late = pthread_cond_timedwait(&f->changed, &f->mutex, &until);
    bool ok = f->parks_n >= n;
    pthread_mutex_unlock(&f->mutex);
    return ok;
}

struct http_request *fixture_take_park(struct fixture *f)
{
    pthread_mutex_lock(&f->mutex);
    struct http_request *r = f->parks_n == 0 ? NULL : f->parks[--f->parks_n];
    pthread_mutex_unlock(&f->mutex);
    return r;
}

/* Counters of the server have no signal: asked again each millisecond, for ten seconds. */
bool fixture_wait_counts(struct fixture *f, bool (*ok)(struct http_counts c))
{
    for (int i = 0; i < 10000; i++) {
        if (ok(http_server_counts(f->server)))
            return true;
        poll(NULL, 0, 1);
    }
    return false;
}

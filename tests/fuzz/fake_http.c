// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fake_http.h"

#include <stdio.h>
#include <strings.h>

#include "base/check.h"
#include "base/mem.h"

enum { PARKS_MAX = 10000 };

struct http_request {
    const struct fake_request *ask;
    struct fake_answer *answer;
    struct arena arena;
    int64_t arrived_boot_ms;
    unsigned holds;
    bool parked, woken, replied;
    http_handler *on_wake;
    void *on_wake_self;
    int64_t wake_boot_ms;
    void (*on_finish)(void *self, bool written);
    void *on_finish_self;
};

enum http_method http_method_of(const struct http_request *r)
{
    return r->ask->method;
}

struct bytes http_path(const struct http_request *r)
{
    return r->ask->path;
}

struct bytes http_query(const struct http_request *r)
{
    return r->ask->query;
}

struct bytes http_body(const struct http_request *r)
{
    return r->ask->body;
}

struct bytes http_header(const struct http_request *r, const char *name)
{
    for (size_t i = 0; i < r->ask->headers_n; i++) {
        const struct fake_header *h = &r->ask->headers[i];
        if (h->name.n == strlen(name) && strncasecmp(h->name.at, name, h->name.n) == 0)
            return h->value;
    }
    return BYTES_NONE;
}

void http_headers_each(const struct http_request *r, const char *prefix,
                       void (*each)(void *arg, struct bytes name, struct bytes value), void *arg)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < r->ask->headers_n; i++) {
        const struct fake_header *h = &r->ask->headers[i];
        if (h->name.n >= n && strncasecmp(h->name.at, prefix, n) == 0)
            each(arg, h->name, h->value);
    }
}

void http_peer_address(const struct http_request *r, char out[HTTP_ADDRESS_TEXT_MAX + 1])
{
    (void)r;
    snprintf(out, HTTP_ADDRESS_TEXT_MAX + 1, "192.0.2.1");
}

void http_own_address(const struct http_request *r, char out[HTTP_ADDRESS_TEXT_MAX + 1],
                      uint16_t *port)
{
    http_peer_address(r, out);
    *port = 9324;
}

size_t http_answer_room(const struct http_request *r)
{
    (void)r;
    return HTTP_ANSWER_HEADERS_BYTES_MAX;
}

struct arena *http_arena(struct http_request *r)
{
    return &r->arena;
}

const char *http_request_id(struct http_request *r)
{
    (void)r;
    return "00000000-0000-4000-8000-000000000000";
}

struct http_server *http_server_of(struct http_request *r)
{
    (void)r;
    return NULL;
}

bool http_stopping(const struct http_server *s)
{
    (void)s;
    return false;
}

int64_t http_arrived_boot_ms(const struct http_request *r)
{
    return r->arrived_boot_ms;
}

bool http_peer_gone(struct http_request *r)
{
    return r->ask->gone;
}

void http_on_finish(struct http_request *r, void (*f)(void *self, bool written), void *self)
{
    r->on_finish = f;
    r->on_finish_self = self;
}

void http_reply(struct http_request *r, int status, const struct http_answer_header *headers,
                size_t headers_n, struct buf *body)
{
    CHECK(!r->replied && !r->parked);
    CHECK(status >= 200 && status <= 599);
    r->replied = true;
    r->answer->status = status;
    for (size_t i = 0; i < headers_n; i++) {
        for (const char *at = headers[i].value; *at != '\0'; at++)
            CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
        if (strcasecmp(headers[i].name, "Content-Type") == 0)
            snprintf(r->answer->type, sizeof r->answer->type, "%s", headers[i].value);
    }
    if (body != NULL) {
        r->answer->body = *body;
        *body = BUF_EMPTY;
    }
}

void http_park(struct http_request *r, http_handler *on_wake, void *self, int64_t wake_boot_ms,
               bool poll)
{
    (void)poll;
    CHECK(!r->replied && !r->parked);
    r->parked = true;
    r->on_wake = on_wake;
    r->on_wake_self = self;
    r->wake_boot_ms = wake_boot_ms;
}

void http_wake(struct http_request *r)
{
    r->woken = true;
}

void http_hold(struct http_request *r)
{
    r->holds++;
}

void http_let_go(struct http_request *r)
{
    CHECK(r->holds > 0);
    r->holds--;
}

/* Until it is woken, by somebody or by its time. */
static void wait(struct http_request *r, const struct fake_world *world)
{
    world->pass_end(world->self);
    if (!r->woken) {
        CHECK(r->wake_boot_ms > 0); /* else it would wait for good */
        world->sleep_until(world->self, r->wake_boot_ms);
        CHECK(r->woken || world->boot_ms(world->self) >= r->wake_boot_ms);
    }
    r->parked = r->woken = false;
    r->on_wake(r->on_wake_self, r);
}

static const struct http_route *find(const struct http_route *routes, size_t n,
                                     const struct fake_request *ask)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(routes[i].path);
        bool prefix = routes[i].path[length - 1] == '*';
        struct bytes path = {routes[i].path, prefix ? length - 1 : length};
        bool fits = prefix ? bytes_start_with(ask->path, path) : bytes_equal(ask->path, path);
        if (fits && (routes[i].method == HTTP_OTHER || routes[i].method == ask->method))
            return &routes[i];
    }
    return NULL;
}

void fake_http_ask(const struct http_route *routes, size_t routes_n, const struct fake_world *world,
                   const struct fake_request *ask, struct fake_answer *out)
{
    const struct http_route *route = find(routes, routes_n, ask);
    *out = (struct fake_answer){.status = 404};
    if (route == NULL)
        return;
    struct http_request r = {
        .ask = ask, .answer = out, .arrived_boot_ms = world->boot_ms(world->self)};
    arena_init(&r.arena, NULL, 0);
    route->handler(route->self, &r);
    for (int i = 0; !r.replied; i++) {
        CHECK(r.parked && i < PARKS_MAX);
        wait(&r, world);
    }
    if (r.on_finish != NULL)
        r.on_finish(r.on_finish_self, !ask->gone);
    world->pass_end(world->self);
    CHECK(r.holds == 0);
    arena_fini(&r.arena);
}

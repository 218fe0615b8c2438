// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "http/inside.h"

enum { LOOPS_MAX = 64, EXCESS_MAX = 64, LINGERS_MAX = 256 };

void http_options_default(struct http_options *o)
{
    *o = (struct http_options){
        .address = "127.0.0.1",
        .port = 9324,
        .connections_max = 10000,
        .head_bytes_max = HEAD_BYTES_MAX,
        .body_bytes_max = 8 * 1024 * 1024,
        .body_budget_bytes = 64 * 1024 * 1024,
        .idle_timeout_s = 60,
    };
}

static unsigned loops_wanted(unsigned loops)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = loops != 0 ? loops : processors < 4 ? 1 : (unsigned)processors / 2;
    return n > LOOPS_MAX ? LOOPS_MAX : n;
}

/* Both are small where there are few connections, since descriptors are few there too. */
static unsigned excess_max(unsigned connections_max)
{
    return connections_max / 4 < EXCESS_MAX ? connections_max / 4 + 1 : EXCESS_MAX;
}

static unsigned lingers_max(unsigned connections_max)
{
    return connections_max < LINGERS_MAX ? connections_max : LINGERS_MAX;
}

unsigned http_sockets_max(unsigned connections_max, unsigned loops)
{
    return connections_max +
           loops_wanted(loops) * (excess_max(connections_max) + lingers_max(connections_max));
}

/* Ends the loops that run, which are the first `running`, and frees all. */
static void server_free(struct http_server *s, unsigned running)
{
    atomic_store(&s->stop_boot_ms, 0);
    for (unsigned i = 0; i < running; i++)
        loop_join(&s->loops[i]);
    for (unsigned i = 0; i < s->loops_n; i++)
        loop_close(&s->loops[i]);
    CHECK(atomic_load(&s->connections) == 0 && atomic_load(&s->body_bytes) == 0);
    mem_free(s->loops);
    mem_free(s);
}

static void phase_set(struct http_server *s, enum server_phase phase)
{
    atomic_store(&s->phase, (int)phase);
    for (unsigned i = 0; i < s->loops_n; i++)
        mailbox_poke(s->loops[i].mail);
}

static enum err loops_open(struct http_server *s, const int *fds)
{
    enum err e = ERR_OK;
    for (unsigned i = 0; i < s->loops_n; i++) {
        if (e == ERR_OK)
            e = loop_open(&s->loops[i], s, fds[i]);
        else
            close(fds[i]);
    }
    return e;
}

enum err http_server_start(const struct http_options *o, struct http_server **out)
{
    int fds[LOOPS_MAX];
    uint16_t port;
    CHECK(o->clock != NULL);
    unsigned n = loops_wanted(o->loops);
    enum err e = listen_open(o->address, o->port, fds, n, &port);
    if (e != ERR_OK)
        return e;
    struct http_server *s = mem_new(sizeof *s);
    s->options = *o;
    s->port = port;
    s->loops_n = n;
    s->excess_max = excess_max(o->connections_max);
    s->lingers_max = lingers_max(o->connections_max);
    s->loops = mem_new_array(n, sizeof *s->loops);
    for (unsigned i = 0; i < n; i++)
        s->loops[i].epoll_fd = -1;
    e = loops_open(s, fds);
    unsigned running = 0;
    while (e == ERR_OK && running < n) {
        e = loop_start(&s->loops[running]);
        if (e == ERR_OK)
            running++;
    }
    if (e != ERR_OK) {
        note(NOTE_ERROR, "http", "no thread, memory or descriptor for the HTTP loops");
        if (running > 0)
            phase_set(s, SERVER_STOPPING);
        server_free(s, running);
        return e;
    }
    *out = s;
    return ERR_OK;
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

void http_server_drain(struct http_server *s)
{
    int running = SERVER_RUNNING;
    if (atomic_compare_exchange_strong(&s->phase, &running, SERVER_DRAINING))
        phase_set(s, SERVER_DRAINING);
}

void http_server_stop(struct http_server *s, int64_t timeout_ms)
{
    int64_t now_ms = clock_boot_ms(s->options.clock);
    atomic_store(&s->stop_boot_ms, now_ms + timeout_ms);
    phase_set(s, SERVER_STOPPING);
    for (unsigned i = 0; i < s->loops_n; i++)
        loop_join(&s->loops[i]);
    server_free(s, 0);
}

bool http_stopping(const struct http_server *s)
{
    return atomic_load_explicit(&s->phase, memory_order_acquire) != SERVER_RUNNING;
}

struct http_counts http_server_counts(const struct http_server *s)
{
    struct http_counts c = {
        .connections = atomic_load_explicit(&s->connections, memory_order_relaxed),
        .body_bytes = atomic_load_explicit(&s->body_bytes, memory_order_relaxed),
    };
    for (unsigned i = 0; i < s->loops_n; i++) {
        c.parked += atomic_load_explicit(&s->loops[i].parked_n, memory_order_relaxed);
        c.requests += atomic_load_explicit(&s->loops[i].requests, memory_order_relaxed);
    }
    return c;
}

// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench/connection.h"
#include "bench/machine.h"
#include "bench/reply.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

enum {
    EVENTS_MAX = 256,
    TICK_MS = 50, /* between looks at what waits too long, and before one tries again */
    POLL_S = 20,  /* SQS's longest */
    DELIVERY_DRAIN_MS = 5000,
    INTERRUPTED_DRAIN_MS = 5000,
    FILL_FACTOR = 2,      /* deletes are smaller than sends, so they may be faster */
    PATIENCE_MS = 10000,  /* without one success */
    MESSAGE_BYTES = 4096, /* of an answer, what stands around a body */
    ANSWER_BYTES = 64 << 10,
    ARENA_BYTES = 16 << 10
};

enum phase { FILL, WARM_UP, MEASURE, DRAIN, DONE };
enum role { SENDER, CONSUMER, CYCLER };

struct worker {
    struct bench_connection connection;
    enum role role;
    enum bench_operation operation; /* in flight, or the last */
    uint64_t begun_ns;              /* of it, or of connecting */
    uint64_t due_ns;                /* of a send: what its messages tell */
    uint64_t resume_ns;             /* after a failure: not before */
    size_t messages;                /* of a send or delete: how many it carries */
    bool listed;                    /* among the idle senders */
};

struct run {
    const struct bench_load *load;
    struct bench_result *result;
    int epoll;
    struct worker *workers;
    size_t workers_n;
    enum phase phase;
    uint64_t phase_end_ns, measure_ns, measure_end_ns; /* the latter two 0: not yet */
    uint64_t next_due_ns, interval_ns;                 /* of the schedule, in requests */
    size_t *idle;                                      /* senders that wait for it */
    size_t idle_n;
    uint64_t window_sent, window_received; /* messages that were due in the measured time */
    uint64_t success_ns;                   /* the last one; 0: none yet */
    uint64_t failed_in_a_row;              /* since then */
    struct bench_send_text fill, sends;
    struct buf receive, scratch;
    size_t body_bytes_max;
    struct bench_usage own_before;
    uint64_t broker_before_ns;
    char arena[ARENA_BYTES];
};

static bool is_delivery(const struct bench_load *load)
{
    return load->mode == BENCH_LATENCY || load->mode == BENCH_FANOUT;
}

static size_t workers_of(const struct bench_load *load)
{
    return load->mode == BENCH_FANOUT    ? 1 + (size_t)load->connections
           : load->mode == BENCH_LATENCY ? 2 * (size_t)load->connections
                                         : load->connections;
}

/* Whether so many sockets may be open, once the limit is as high as this process may set it. */
static bool files_allow(size_t sockets)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= sockets + 32;
}

const char *bench_load_fault(const struct bench_load *load)
{
    if ((uint64_t)load->batch * load->body_bytes > BENCH_BODY_BYTES_MAX)
        return "a batch carries at most 1 MiB: a smaller --batch, or smaller --body-bytes";
    if ((uint64_t)workers_of(load) * load->batch * load->body_bytes > BENCH_FLIGHT_BYTES_MAX)
        return "that would be more than 1 GiB in flight: fewer --connections, or smaller bodies";
    if (is_delivery(load) && load->body_bytes < BENCH_STAMP_DIGITS)
        return "its bodies carry a time: --body-bytes of 20 or more";
    if (!files_allow(workers_of(load)))
        return "more sockets than this process may open: fewer --connections, or a higher ulimit "
               "-n";
    return NULL;
}

unsigned bench_load_fill_batch(const struct bench_load *load)
{
    uint64_t request = BENCH_BODY_BYTES_MAX / load->body_bytes;
    uint64_t flight = BENCH_FLIGHT_BYTES_MAX / (load->connections * load->body_bytes);
    uint64_t most = request < flight ? request : flight;
    return most < BENCH_BATCH_MAX ? (unsigned)most : BENCH_BATCH_MAX;
}

/* ---- what goes wrong ---- */

static void give_up(struct run *r)
{
    r->result->gave_up = true;
    r->phase = DONE;
}

static void failed(struct run *r, struct worker *w, struct bytes code, struct bytes text)
{
    bench_result_failed(r->result, code, text);
    w->resume_ns = bench_now_ns() + TICK_MS * NS_PER_MS;
    r->failed_in_a_row++;
    /* A broker that restarts is waited for; one that never took a request will not. */
    if (r->success_ns == 0 ? r->failed_in_a_row >= 10 + 2 * r->workers_n
                           : bench_now_ns() >= r->success_ns + PATIENCE_MS * NS_PER_MS)
        give_up(r);
}

static void failed_for(struct run *r, struct worker *w, const char *why)
{
    failed(r, w, bytes_of_text(why), BYTES_NONE);
}

/* An answer that is no success. */
static void refused(struct run *r, struct worker *w, struct arena *arena)
{
    struct bench_fault fault = {BYTES_NONE, BYTES_NONE};
    char status[32];
    enum err e = bench_reply_fault(bench_connection_body(&w->connection), arena, &fault);
    if (e != ERR_OK || fault.code.n == 0) {
        (void)snprintf(status, sizeof status, "HTTP status %d", w->connection.answer.status);
        fault.code = bytes_of_text(status);
    }
    failed(r, w, fault.code, fault.text);
}

/* ---- requests ---- */

static void worker_send(struct run *r, struct worker *w, enum bench_operation operation,
                        struct bytes request)
{
    w->operation = operation;
    w->begun_ns = bench_now_ns();
    bench_connection_send(&w->connection, r->epoll, w, request);
}

static void worker_send_messages(struct run *r, struct worker *w, struct bench_send_text *text,
                                 uint64_t due_ns)
{
    w->due_ns = due_ns;
    w->messages = text->what.batch;
    worker_send(r, w, BENCH_OP_SEND, bench_send_text_next(text, due_ns));
}

/* Hands out what is due by the schedule, as far as there are senders for it. */
static void schedule(struct run *r, uint64_t now_ns)
{
    while (r->idle_n > 0 && r->next_due_ns <= now_ns &&
           (r->phase == WARM_UP || r->phase == MEASURE)) {
        struct worker *w = &r->workers[r->idle[--r->idle_n]];
        w->listed = false;
        if (w->connection.state != BENCH_CONNECTION_IDLE)
            continue; /* lost meanwhile: it comes back when it is open again */
        worker_send_messages(r, w, &r->sends, r->next_due_ns);
        r->next_due_ns += r->interval_ns;
    }
}

static bool is_filled(const struct run *r, uint64_t now_ns)
{
    uint64_t next = r->fill.sent + r->fill.what.batch;
    return now_ns >= r->phase_end_ns || next > BENCH_BACKLOG_MAX ||
           next * r->load->body_bytes > BENCH_BACKLOG_BYTES_MAX;
}

/* A worker that is free: its next request, if the phase has one for it. */
static void worker_next(struct run *r, struct worker *w, uint64_t now_ns)
{
    bool loads = r->phase == WARM_UP || r->phase == MEASURE;
    if (w->connection.state != BENCH_CONNECTION_IDLE || now_ns < w->resume_ns || w->listed)
        return;
    if (r->phase == FILL) {
        if (!is_filled(r, now_ns))
            worker_send_messages(r, w, &r->fill, 0);
    } else if (w->role == CONSUMER) {
        if (loads || (r->phase == DRAIN && is_delivery(r->load)))
            worker_send(r, w, BENCH_OP_RECEIVE, buf_bytes(&r->receive));
    } else if (loads && w->role == CYCLER && w->operation == BENCH_OP_SEND) {
        worker_send(r, w, BENCH_OP_RECEIVE, buf_bytes(&r->receive));
    } else if (loads && is_delivery(r->load)) {
        w->listed = true;
        r->idle[r->idle_n++] = (size_t)(w - r->workers);
        schedule(r, now_ns);
    } else if (loads) {
        worker_send_messages(r, w, &r->sends, 0);
    }
}

/* ---- answers ---- */

/* A long poll, which may well wait. */
static bool is_polling(const struct run *r, const struct worker *w)
{
    return w->operation == BENCH_OP_RECEIVE && is_delivery(r->load);
}

/* Whether a time lies in the measured time, which may go on still. */
static bool in_window(const struct run *r, uint64_t at_ns)
{
    return r->measure_ns != 0 && at_ns >= r->measure_ns &&
           (r->phase == MEASURE || at_ns < r->measure_end_ns);
}

static void count(struct run *r, const struct worker *w, size_t messages, uint64_t now_ns)
{
    struct bench_result *out = r->result;
    out->in_all[w->operation].requests++;
    out->in_all[w->operation].messages += messages;
    r->failed_in_a_row = 0;
    r->success_ns = now_ns;
    if (in_window(r, w->begun_ns) && !is_polling(r, w)) /* a poll's time is what nobody sent */
        bench_histogram_add(&out->latency_ns[w->operation], now_ns - w->begun_ns);
    if (w->operation == BENCH_OP_SEND && is_delivery(r->load) && in_window(r, w->due_ns))
        r->window_sent += messages;
    if (r->phase != MEASURE)
        return;
    out->measured[w->operation].requests++;
    out->measured[w->operation].messages += messages;
    out->empty_receives += w->operation == BENCH_OP_RECEIVE && messages == 0;
}

/* Messages have come: their times are taken, and they are deleted. */
static void received(struct run *r, struct worker *w, const struct bench_received *got,
                     uint64_t now_ns)
{
    struct bench_target to = {r->load->address->host, r->load->queue_url};
    for (size_t i = 0; i < got->n && is_delivery(r->load); i++)
        if (got->stamps_ns[i] <= now_ns && in_window(r, got->stamps_ns[i])) {
            bench_histogram_add(&r->result->delivery_ns, now_ns - got->stamps_ns[i]);
            r->window_received++;
        }
    w->messages = got->n;
    if (got->n == 0 || w->connection.answer.closes)
        return;
    bench_request_delete(&r->scratch, &to, got->receipts, got->n);
    worker_send(r, w, BENCH_OP_DELETE, buf_bytes(&r->scratch));
}

/* False: the answer says success, and what it holds is not what SQS would give. */
static bool succeeded(struct run *r, struct worker *w, struct arena *arena, uint64_t now_ns)
{
    struct bytes body = bench_connection_body(&w->connection);
    struct bench_fault fault;
    struct bench_received got;
    size_t bad = 0;
    if (w->operation == BENCH_OP_RECEIVE) {
        if (bench_reply_received(body, arena, &got) != ERR_OK)
            return false;
        count(r, w, got.n, now_ns);
        received(r, w, &got, now_ns);
        return true;
    }
    if (w->messages > 1 && bench_reply_failed(body, arena, &bad, &fault) != ERR_OK)
        return false;
    bad = bad < w->messages ? bad : w->messages;
    count(r, w, w->messages - bad, now_ns);
    if (bad > 0)
        failed(r, w, fault.code, fault.text);
    /* Nothing is left to receive, so the rest would measure empty answers. */
    if (r->load->mode == BENCH_RECEIVE && w->operation == BENCH_OP_DELETE &&
        (r->phase == WARM_UP || r->phase == MEASURE) &&
        r->result->in_all[BENCH_OP_DELETE].messages >= r->result->backlog) {
        r->result->used_up = true;
        r->phase_end_ns = now_ns;
    }
    return true;
}

static void answered(struct run *r, struct worker *w, uint64_t now_ns)
{
    struct arena arena;
    arena_init(&arena, r->arena, sizeof r->arena);
    bool closes = w->connection.answer.closes;
    if (w->connection.answer.status != 200)
        refused(r, w, &arena);
    else if (!succeeded(r, w, &arena, now_ns))
        failed_for(r, w, "an answer that is not SQS's JSON");
    arena_fini(&arena);
    if (closes)
        bench_connection_close(&w->connection); /* the next tick opens it again */
    worker_next(r, w, now_ns);
}

/* ---- connections ---- */

static void worker_open(struct run *r, struct worker *w, uint64_t now_ns)
{
    const char *why;
    w->begun_ns = now_ns;
    if (bench_connection_open(&w->connection, r->load->address, r->epoll, w, &why) != ERR_OK)
        failed_for(r, w, why);
}

static void event_take(struct run *r, struct worker *w)
{
    const char *why;
    enum bench_connection_event got =
        bench_connection_ready(&w->connection, r->epoll, w, r->body_bytes_max, &why);
    if (got == BENCH_CONNECTION_BROKEN || got == BENCH_CONNECTION_UNREADABLE)
        failed_for(r, w, why);
    if (got == BENCH_CONNECTION_UNREADABLE)
        give_up(r); /* the next would be no other */
    else if (got == BENCH_CONNECTION_OPENED)
        worker_next(r, w, bench_now_ns());
    else if (got == BENCH_CONNECTION_ANSWERED)
        answered(r, w, bench_now_ns());
}

/* What waits too long is given up; what may go on again goes on. */
static void tick(struct run *r, uint64_t now_ns)
{
    for (size_t i = 0; i < r->workers_n && r->phase != DONE; i++) {
        struct worker *w = &r->workers[i];
        uint64_t limit_ns = (uint64_t)r->load->timeout_ms * NS_PER_MS;
        switch (w->connection.state) {
        case BENCH_CONNECTION_CLOSED:
            if (now_ns < w->resume_ns || r->phase == DRAIN)
                break;
            r->result->reconnects++;
            worker_open(r, w, now_ns);
            break;
        case BENCH_CONNECTION_IDLE:
            worker_next(r, w, now_ns);
            break;
        case BENCH_CONNECTION_WAITING:
        case BENCH_CONNECTION_OPENING:
            if (w->connection.state == BENCH_CONNECTION_WAITING && is_polling(r, w))
                limit_ns += POLL_S * NS_PER_S;
            /* It may have begun behind `now`, which was read at the loop's last wait. */
            if (now_ns < w->begun_ns + limit_ns)
                break;
            bench_connection_close(&w->connection);
            failed_for(r, w, "no answer in time");
            break;
        }
    }
}

/* ---- phases ---- */

static size_t waiting(const struct run *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->workers_n; i++)
        n += r->workers[i].connection.state == BENCH_CONNECTION_WAITING &&
             !is_polling(r, &r->workers[i]);
    return n;
}

static void begin_warm_up(struct run *r, uint64_t now_ns)
{
    r->phase = WARM_UP;
    r->phase_end_ns = now_ns + (uint64_t)r->load->warm_up_ms * NS_PER_MS;
    r->next_due_ns = now_ns;
    r->result->backlog = r->result->in_all[BENCH_OP_SEND].messages;
    for (size_t i = 0; i < r->workers_n; i++) {
        if (r->load->mode == BENCH_RECEIVE)
            r->workers[i].role = CONSUMER;
        worker_next(r, &r->workers[i], now_ns);
    }
}

static void begin_measure(struct run *r)
{
    struct bench_result *out = r->result;
    for (size_t i = 0; i < r->workers_n && out->broker_pid == 0 && r->load->address->loopback; i++)
        if (r->workers[i].connection.state >= BENCH_CONNECTION_IDLE) {
            out->broker_pid = bench_process_of_peer(r->workers[i].connection.fd);
            break;
        }
    if (out->broker_pid == getpid() ||
        !bench_process_read((pid_t)out->broker_pid, out->broker_process, &r->broker_before_ns))
        out->broker_pid = 0;
    r->own_before = bench_usage_own();
    r->measure_ns = bench_now_ns();
    r->next_due_ns = r->measure_ns; /* the search for the process is no stall of the broker's */
    r->phase = MEASURE;
    r->phase_end_ns = r->measure_ns + (uint64_t)r->load->measure_ms * NS_PER_MS;
}

static void end_measure(struct run *r, uint64_t drain_ms)
{
    struct bench_result *out = r->result;
    uint64_t now_ns = bench_now_ns();
    if (r->measure_ns != 0 && r->measure_end_ns == 0) {
        struct bench_usage own = bench_usage_own();
        uint64_t broker_ns;
        char name[32];
        r->measure_end_ns = now_ns;
        out->measured_ns = now_ns - r->measure_ns;
        out->own_cpu_ns = own.cpu_ns - r->own_before.cpu_ns;
        out->own_waited_ns = own.waited_ns - r->own_before.waited_ns;
        if (out->broker_pid != 0 && bench_process_read((pid_t)out->broker_pid, name, &broker_ns) &&
            strcmp(name, out->broker_process) == 0)
            out->broker_cpu_ns = broker_ns - r->broker_before_ns;
        else
            out->broker_pid = 0;
        if (is_delivery(r->load) && r->next_due_ns < now_ns)
            out->unsent = (now_ns - r->next_due_ns) / r->interval_ns * r->load->batch;
    }
    r->phase = DRAIN;
    r->phase_end_ns = now_ns + drain_ms * NS_PER_MS;
}

static void phase_step(struct run *r, uint64_t now_ns)
{
    uint64_t drain_ms = is_delivery(r->load) ? DELIVERY_DRAIN_MS : (uint64_t)r->load->timeout_ms;
    bool over = now_ns >= r->phase_end_ns;
    if (r->phase == FILL && waiting(r) == 0 && is_filled(r, now_ns))
        begin_warm_up(r, now_ns);
    else if (r->phase == WARM_UP && over && !r->result->used_up)
        begin_measure(r);
    else if ((r->phase == WARM_UP || r->phase == MEASURE) && over)
        end_measure(r, drain_ms);
    else if (r->phase == DRAIN &&
             (over || (waiting(r) == 0 && r->window_received >= r->window_sent)))
        r->phase = DONE;
}

static void stopped(struct run *r)
{
    char event[256]; /* one read takes one signal */
    if (read(r->load->stop_fd, event, sizeof event) <= 0)
        return;
    if (r->result->interrupted)
        r->phase = DONE;
    else
        end_measure(r, INTERRUPTED_DRAIN_MS);
    r->result->interrupted = true;
}

static void loop(struct run *r)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t tick_ns = 0, now_ns = bench_now_ns();
    while (r->phase != DONE) {
        uint64_t until = now_ns + TICK_MS * NS_PER_MS;
        if (r->phase_end_ns > now_ns && r->phase_end_ns < until)
            until = r->phase_end_ns;
        if (r->idle_n > 0 && r->next_due_ns < until)
            until = r->next_due_ns;
        uint64_t wait_ns = until > now_ns ? until - now_ns : 0;
        struct timespec wait = {.tv_nsec = (long)wait_ns}; /* below a second: a tick at most */
        int n = epoll_pwait2(r->epoll, events, EVENTS_MAX, &wait, NULL);
        CHECK(n >= 0 || errno == EINTR); /* Linux has it since 5.11 */
        now_ns = bench_now_ns();
        schedule(r, now_ns); /* first: what is due must not wait for the answers of others */
        for (int i = 0; i < n && r->phase != DONE; i++)
            if (events[i].data.ptr == NULL)
                stopped(r);
            else
                event_take(r, events[i].data.ptr);
        phase_step(r, now_ns);
        if (r->phase != DONE && now_ns >= tick_ns) {
            tick(r, now_ns);
            tick_ns = now_ns + TICK_MS * NS_PER_MS;
        }
    }
}

static void run_init(struct run *r, const struct bench_load *load, struct bench_result *out)
{
    struct bench_target to = {load->address->host, load->queue_url};
    unsigned consumers = is_delivery(load) ? load->connections : 0;
    *r = (struct run){.load = load, .result = out};
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(r->epoll >= 0);
    r->workers_n = workers_of(load);
    r->workers = mem_new_array(r->workers_n, sizeof *r->workers);
    r->idle = mem_new_array(r->workers_n, sizeof *r->idle);
    for (size_t i = 0; i < r->workers_n; i++) {
        r->workers[i].role = i < consumers ? CONSUMER : load->mode == BENCH_CYCLE ? CYCLER : SENDER;
        r->workers[i].operation = BENCH_OP_DELETE; /* as if a cycle had just ended */
    }
    struct bench_sends what = {load->batch, load->body_bytes, is_delivery(load), load->groups};
    bench_send_text_init(&r->sends, &to, what, load->run);
    what.batch = bench_load_fill_batch(load);
    bench_send_text_init(&r->fill, &to, what, load->run);
    bench_request_receive(&r->receive, &to, load->batch, is_delivery(load) ? POLL_S : 0);
    r->body_bytes_max = load->batch * (load->body_bytes + MESSAGE_BYTES) + ANSWER_BYTES;
    if (load->rate > 0)
        r->interval_ns = load->batch * NS_PER_S / load->rate;
}

static void run_fini(struct run *r)
{
    for (size_t i = 0; i < r->workers_n; i++)
        bench_connection_fini(&r->workers[i].connection);
    (void)close(r->epoll);
    bench_send_text_fini(&r->sends);
    bench_send_text_fini(&r->fill);
    buf_fini(&r->receive);
    buf_fini(&r->scratch);
    mem_free(r->workers);
    mem_free(r->idle);
}

void bench_load_run(const struct bench_load *load, struct bench_result *out)
{
    struct epoll_event stop = {.events = EPOLLIN};
    struct run *r = mem_new(sizeof *r);
    CHECK(bench_load_fault(load) == NULL);
    *out = (struct bench_result){.gave_up = false};
    run_init(r, load, out);
    if (load->stop_fd >= 0)
        CHECK(epoll_ctl(r->epoll, EPOLL_CTL_ADD, load->stop_fd, &stop) == 0);
    (void)prctl(PR_SET_TIMERSLACK, 1UL); /* else each wait for a due time is 50 us too long */
    uint64_t now_ns = bench_now_ns();
    r->phase = FILL;
    r->phase_end_ns = now_ns + FILL_FACTOR * (uint64_t)load->measure_ms * NS_PER_MS;
    if (load->mode != BENCH_RECEIVE)
        begin_warm_up(r, now_ns);
    for (size_t i = 0; i < r->workers_n && r->phase != DONE; i++)
        worker_open(r, &r->workers[i], now_ns);
    loop(r);
    if (r->measure_end_ns == 0) /* it gave up */
        end_measure(r, 0);
    out->undelivered =
        r->window_sent > r->window_received ? r->window_sent - r->window_received : 0;
    run_fini(r);
    mem_free(r);
}

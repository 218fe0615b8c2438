// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "measure.h"

enum { PIDS_MAX = 8, HANDSHAKE_S = 20, EVENTS = 128, READ_BYTES = 65536 };
/* A queue from which nothing has come for so long is empty. */
enum { DRY_MS = 1000 };

static struct load load = {.connections = 1, .batch = 1, .rate = 1000, .queue = "bench"};
static struct samples took, end_to_end;

_Noreturn void load_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "load: %s: ", load.protocol == NULL ? "options" : load.protocol->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void put_be16(struct buf *b, uint16_t v)
{
    uint16_t swapped = htons(v);
    buf_put(b, &swapped, sizeof swapped);
}

void put_be32(struct buf *b, uint32_t v)
{
    uint32_t swapped = htonl(v);
    buf_put(b, &swapped, sizeof swapped);
}

void put_be64(struct buf *b, uint64_t v)
{
    put_be32(b, (uint32_t)(v >> 32));
    put_be32(b, (uint32_t)v);
}

void store_be32(char *at, uint32_t v)
{
    uint32_t swapped = htonl(v);
    memcpy(at, &swapped, sizeof swapped);
}

uint16_t be16(const char *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return ntohs(v);
}

uint32_t be32(const char *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return ntohl(v);
}

uint64_t be64(const char *at)
{
    return (uint64_t)be32(at) << 32 | be32(at + 4);
}

void load_put_body(struct conn *c, struct buf *b)
{
    char stamp[STAMP_BYTES + 1];
    snprintf(stamp, sizeof stamp, "%016" PRIx64, c->begun_ns);
    buf_put(b, stamp, STAMP_BYTES);
    buf_put(b, c->load->body + STAMP_BYTES, BODY_BYTES - STAMP_BYTES);
}

/* ---- sockets ---- */

static void watch(struct conn *c, bool writable)
{
    struct epoll_event e = {.events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = c};
    c->asks_writable = writable;
    epoll_ctl(load.epoll, EPOLL_CTL_MOD, c->socket, &e);
}

static void write_out(struct conn *c)
{
    while (c->written < c->out.n) {
        ssize_t n = write(c->socket, c->out.at + c->written, c->out.n - c->written);
        if (n < 0 && errno == EAGAIN) {
            if (!c->asks_writable)
                watch(c, true);
            return;
        }
        if (n < 0)
            load_die("write: %s", strerror(errno));
        c->written += (size_t)n;
    }
    buf_clear(&c->out);
    c->written = 0;
    if (c->asks_writable)
        watch(c, false);
}

static void read_in(struct conn *c)
{
    buf_reserve(&c->in, READ_BYTES + 1);
    ssize_t n = read(c->socket, c->in.at + c->in.n, READ_BYTES);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        load_die("connection %u: %s", c->id, n == 0 ? "closed by the server" : strerror(errno));
    c->in.n += (size_t)n;
    c->in.at[c->in.n] = 0;
    size_t used = 0, one;
    while (used < c->in.n && (one = load.protocol->take(c, c->in.at + used, c->in.n - used)) > 0)
        used += one;
    memmove(c->in.at, c->in.at + used, c->in.n - used + 1);
    c->in.n -= used;
}

static void conn_open(struct conn *c, unsigned id)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)load.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    int one = 1;
    c->load = &load;
    c->id = id;
    c->consumes = load.work == WORK_CYCLE || (load.work == WORK_RATE && id >= load.connections);
    c->own = mem_new(load.protocol->own_bytes + 1);
    c->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(c->socket, (struct sockaddr *)&to, sizeof to) != 0)
        load_die("connect to port %u: %s", load.port, strerror(errno));
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->socket, F_SETFL, O_NONBLOCK);
    epoll_ctl(load.epoll, EPOLL_CTL_ADD, c->socket, &e);
    load.protocol->hello(c);
    write_out(c);
}

/* ---- what connections do ---- */

static void send_next(struct conn *c, uint64_t due_ns)
{
    if (load.over || (load.messages_max != 0 && load.issued >= load.messages_max))
        return;
    load.issued += load.batch;
    c->busy = true;
    c->begun_ns = due_ns;
    c->unconfirmed = load.batch;
    load.protocol->send(c, load.batch);
}

static void receive_next(struct conn *c)
{
    if (load.over)
        return;
    c->received = 0;
    c->again_ns = 0;
    c->begun_ns = measure_now_ns();
    load.protocol->receive(c, load.batch);
}

/* Sends what is due by now, as long as there is a sender at rest. */
static void send_due(uint64_t now_ns)
{
    static unsigned turn;
    for (unsigned tried = 0; load.due_ns <= now_ns && tried < load.connections; turn++) {
        struct conn *c = &load.conns[turn % load.connections];
        if (c->busy) {
            tried++;
            continue;
        }
        tried = 0;
        send_next(c, load.due_ns);
        load.due_ns += 1000000000u / load.rate;
    }
}

void load_ready(struct conn *c)
{
    if (!c->ready)
        load.ready_n++;
    c->ready = true;
}

void load_confirmed(struct conn *c, unsigned n)
{
    if (n > c->unconfirmed)
        load_die("connection %u: %u messages confirmed, %u were sent", c->id, n, c->unconfirmed);
    c->unconfirmed -= n;
    if (c->unconfirmed > 0)
        return;
    uint64_t now_ns = measure_now_ns();
    samples_add(&took, now_ns - c->begun_ns);
    c->busy = false;
    load.done += load.batch;
    load.last_ns = now_ns;
    if (load.messages_max != 0 && load.done >= load.messages_max)
        load.over = true;
    if (load.work == WORK_SEND)
        send_next(c, now_ns);
}

void load_received(struct conn *c, const char *body, size_t n)
{
    char stamp[STAMP_BYTES + 1] = "";
    if (n != BODY_BYTES)
        load_die("a body of %zu bytes", n);
    c->received++;
    if (load.work != WORK_RATE)
        return;
    memcpy(stamp, body, STAMP_BYTES);
    uint64_t due_ns = strtoull(stamp, NULL, 16);
    if (due_ns >= load.begun_ns)
        samples_add(&end_to_end, measure_now_ns() - due_ns);
}

void load_done(struct conn *c)
{
    uint64_t now_ns = measure_now_ns();
    load.empty_n = 0;
    if (load.work == WORK_CYCLE) {
        samples_add(&took, now_ns - c->begun_ns);
        load.done += c->received;
        load.last_ns = now_ns;
        if (load.messages_max != 0 && load.done >= load.messages_max)
            load.over = true; /* what others have received meanwhile is left to its leases' end */
    }
    receive_next(c);
}

void load_empty(struct conn *c, unsigned rest_ms)
{
    if (load.work == WORK_CYCLE && ++load.empty_n > load.connections)
        load.over = true;
    if (rest_ms == 0)
        receive_next(c);
    else
        c->again_ns = measure_now_ns() + rest_ms * 1000000u;
}

/* ---- the loop ---- */

static void pass(uint64_t wait_ns)
{
    struct epoll_event events[EVENTS];
    struct timespec wait = {0, (long)wait_ns};
    int n = epoll_pwait2(load.epoll, events, EVENTS, &wait, NULL);
    for (int i = 0; i < n; i++) {
        struct conn *c = events[i].data.ptr;
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            read_in(c);
        write_out(c);
    }
}

static void connect_all(void)
{
    load.conns_n = load.connections + (load.work == WORK_RATE ? load.consumers : 0);
    load.conns = mem_new_array(load.conns_n, sizeof *load.conns);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    uint64_t begun_ns = measure_now_ns();
    for (unsigned i = 0; i < load.conns_n; i++)
        conn_open(&load.conns[i], i);
    while (load.ready_n < load.conns_n) {
        pass(1000000);
        if (measure_now_ns() - begun_ns > HANDSHAKE_S * 1000000000ull)
            load_die("%u of %u connections are ready after %d s", load.ready_n, load.conns_n,
                     HANDSHAKE_S);
    }
}

static void begin(void)
{
    load.begun_ns = load.last_ns = load.due_ns = measure_now_ns();
    for (unsigned i = 0; i < load.conns_n; i++) {
        struct conn *c = &load.conns[i];
        if (c->consumes)
            receive_next(c);
        else if (load.work == WORK_SEND)
            send_next(c, load.begun_ns);
        write_out(c);
    }
}

static void go_on(uint64_t now_ns)
{
    if (load.work == WORK_RATE)
        send_due(now_ns);
    for (unsigned i = 0; i < load.conns_n; i++) {
        struct conn *c = &load.conns[i];
        if (c->again_ns != 0 && c->again_ns <= now_ns)
            receive_next(c);
        if (c->out.n > c->written && !c->asks_writable)
            write_out(c);
    }
    if (now_ns - load.begun_ns >= load.run_ns)
        load.over = true;
    if (load.work == WORK_CYCLE && now_ns - load.last_ns > DRY_MS * 1000000ull)
        load.over = true;
}

/* The run, and a line of JSON on what came of it. A queue that ran dry ends the time with the last
 * message. */
static void run(const int *pids, size_t pids_n)
{
    uint64_t cpu_us = measure_cpu_us(pids, pids_n);
    begin();
    while (!load.over) {
        uint64_t now_ns = measure_now_ns(), wait_ns = 1000000;
        if (load.work == WORK_RATE)
            wait_ns = load.due_ns <= now_ns ? 0 : load.due_ns - now_ns;
        pass(wait_ns < 1000000 ? wait_ns : 1000000);
        go_on(measure_now_ns());
    }
    cpu_us = measure_cpu_us(pids, pids_n) - cpu_us;
    uint64_t messages = load.work == WORK_RATE ? end_to_end.n : load.done;
    struct samples *times = load.work == WORK_RATE ? &end_to_end : &took;
    uint64_t took_ns = load.last_ns - load.begun_ns;
    printf("{\"messages\": %" PRIu64 ", \"seconds\": %.4f, \"cpu_us\": %" PRIu64
           ", \"p50_us\": %u, \"p99_us\": %u}\n",
           messages, (double)took_ns / 1e9, cpu_us, samples_rank_us(times, 500),
           samples_rank_us(times, 990));
}

/* ---- options ---- */

static const struct option options[] = {{"port", 1, NULL, 'p'},        {"queue", 1, NULL, 'q'},
                                        {"connections", 1, NULL, 'c'}, {"consumers", 1, NULL, 'C'},
                                        {"batch", 1, NULL, 'b'},       {"seconds", 1, NULL, 't'},
                                        {"messages", 1, NULL, 'n'},    {"rate", 1, NULL, 'r'},
                                        {"pid", 1, NULL, 'P'},         {NULL, 0, NULL, 0}};

static _Noreturn void usage(void)
{
    fputs("load sqs|redis|amqp|postgresql|beanstalk setup|send|cycle|rate --port N [--queue NAME]\n"
          "     [--connections N] [--consumers N] [--batch N] [--seconds S] [--messages N]\n"
          "     [--rate N] [--pid SERVER]...\n",
          stderr);
    exit(2);
}

static unsigned number(const char *text, unsigned long max)
{
    char *end;
    unsigned long v = strtoul(text, &end, 10);
    if (*text == 0 || *end != 0 || v == 0 || v > max)
        usage();
    return (unsigned)v;
}

static const struct protocol *protocol_named(const char *name)
{
    static const struct protocol *const all[] = {&protocol_sqs, &protocol_redis, &protocol_amqp,
                                                 &protocol_postgresql, &protocol_beanstalk};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    usage();
}

static enum work work_named(const char *name)
{
    static const char *const all[] = {"setup", "send", "cycle", "rate"};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i], name) == 0)
            return (enum work)i;
    usage();
}

int main(int argc, char **argv)
{
    int pids[PIDS_MAX], o;
    size_t pids_n = 0;
    while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (o) {
        case 'p':
            load.port = number(optarg, 65535);
            break;
        case 'q':
            load.queue = optarg;
            break;
        case 'c':
            load.connections = number(optarg, 1024);
            break;
        case 'C':
            load.consumers = number(optarg, 1024);
            break;
        case 'b':
            load.batch = number(optarg, BATCH_MAX);
            break;
        case 't':
            load.run_ns = (uint64_t)(strtod(optarg, NULL) * 1e9);
            break;
        case 'n':
            load.messages_max = number(optarg, 100000000);
            break;
        case 'r':
            load.rate = number(optarg, 1000000);
            break;
        case 'P':
            if (pids_n == PIDS_MAX)
                usage();
            pids[pids_n++] = (int)number(optarg, INT32_MAX);
            break;
        default:
            usage();
        }
    }
    if (argc - optind != 2 || load.port == 0)
        usage();
    load.protocol = protocol_named(argv[optind]);
    load.work = work_named(argv[optind + 1]);
    for (size_t i = 0; i < BODY_BYTES; i++)
        load.body[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[(i * 7 + i / 36) % 36];
    connect_all();
    if (load.work != WORK_SETUP)
        run(pids, pids_n);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Many topics against one: a broker of its own on a free loopback port, topics made by 16
 * connections, then in an open loop one message a second to each of them, beside the same total
 * rate to a single topic in the same run. Latencies count from the moment at which a message was
 * due, so a broker that stalls cannot hide it by being asked less.
 *     bench_topics LEASELOG DIR TOPICS SECONDS [CONNECTIONS] */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum { CONNECTIONS_MAX = 1024, MAKERS = 16, REQUEST_ROOM = 2048, ANSWER_ROOM = 8192, BODY = 512 };

struct connection {
    int socket;
    bool busy;
    int64_t due_us;
    char answer[ANSWER_ROOM];
    size_t got;
};

struct load {
    unsigned port;
    struct connection *connections;
    unsigned connections_n;
    int epoll;
    /* what to do: request i of `total` is due at begin + i * 1e6 / rate, or at once (rate 0) */
    size_t (*request)(char *at, unsigned i, unsigned topics);
    unsigned topics, total, rate;
    /* how it went */
    unsigned begun, answered, failed;
    int64_t *took_us;
};

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bench_topics: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- the broker ---- */

struct broker {
    pid_t pid;
    unsigned port;
    double start_s;
};

static void broker_start(struct broker *b, char *program, char *dir)
{
    int ends[2];
    int64_t begin_us = now_us();
    if (pipe(ends) != 0)
        die("pipe");
    b->pid = fork();
    if (b->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0",
              "--log-level", "warning", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    char line[256];
    if (out == NULL || fgets(line, sizeof line, out) == NULL || strrchr(line, ':') == NULL)
        die("the broker did not start");
    b->port = (unsigned)strtoul(strrchr(line, ':') + 1, NULL, 10);
    b->start_s = (double)(now_us() - begin_us) / 1e6;
    fclose(out);
}

static double broker_stop(struct broker *b, int how)
{
    int status;
    int64_t begin_us = now_us();
    kill(b->pid, how);
    waitpid(b->pid, &status, 0);
    return (double)(now_us() - begin_us) / 1e6;
}

/* A line of /proc/PID/status in KiB. */
static long broker_kib(const struct broker *b, const char *name)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)b->pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtol(line + strlen(name) + 1, NULL, 10);
    if (f != NULL)
        fclose(f);
    return kib;
}

/* Descriptors that are no sockets. */
static unsigned broker_files(const struct broker *b)
{
    unsigned n = 0;
    for (int i = 0; i < 200000; i++) {
        char path[64], to[256];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)b->pid, i);
        ssize_t got = readlink(path, to, sizeof to - 1);
        if (got < 0)
            continue;
        to[got] = '\0';
        n += strncmp(to, "socket:", 7) != 0;
    }
    return n;
}

static double broker_cpu_s(const struct broker *b)
{
    char path[64], line[1024] = "";
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)b->pid);
    FILE *f = fopen(path, "r");
    if (f == NULL || fgets(line, sizeof line, f) == NULL)
        die(path);
    fclose(f);
    const char *at = strrchr(line, ')');
    if (at != NULL)
        sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

/* ---- requests ---- */

static size_t post(char *at, const char *action, const char *body)
{
    int n = snprintf(at, REQUEST_ROOM,
                     "POST / HTTP/1.1\r\nHost: bench\r\nX-Amz-Target: AmazonSQS.%s\r\n"
                     "Content-Type: application/x-amz-json-1.0\r\nContent-Length: %zu\r\n\r\n%s",
                     action, strlen(body), body);
    return (size_t)n;
}

static size_t create_request(char *at, unsigned i, unsigned topics)
{
    char body[128];
    snprintf(body, sizeof body, "{\"QueueName\":\"%s%u\"}", topics == 1 ? "one" : "t", i);
    return post(at, "CreateQueue", body);
}

static size_t send_request(char *at, unsigned i, unsigned topics)
{
    static char text[BODY + 1], body[BODY + 256];
    if (text[0] == '\0')
        memset(text, 'x', BODY);
    snprintf(body, sizeof body,
             "{\"QueueUrl\":\"http://bench/000000000000/%s%u\",\"MessageBody\":\"%s\"}",
             topics == 1 ? "one" : "t", i % topics, text);
    return post(at, "SendMessage", body);
}

/* ---- the load ---- */

static void connect_one(struct load *l, struct connection *c)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)l->port)};
    int on = 1;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (c->socket < 0 || connect(c->socket, (struct sockaddr *)&a, sizeof a) != 0)
        die("connect");
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (fcntl(c->socket, F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->socket, &e) != 0)
        die("epoll_ctl");
}

static void begin_request(struct load *l, struct connection *c, int64_t due_us)
{
    char text[REQUEST_ROOM];
    size_t n = l->request(text, l->begun++, l->topics);
    c->busy = true;
    c->due_us = due_us;
    c->got = 0;
    if (send(c->socket, text, n, MSG_NOSIGNAL) != (ssize_t)n)
        die("send");
}

/* True when an answer is whole. */
static bool take_answer(struct load *l, struct connection *c)
{
    ssize_t n = recv(c->socket, c->answer + c->got, sizeof c->answer - 1 - c->got, 0);
    if (n <= 0)
        die("an answer");
    c->got += (size_t)n;
    c->answer[c->got] = '\0';
    const char *end = strstr(c->answer, "\r\n\r\n"),
               *length = strcasestr(c->answer, "content-length:");
    if (end == NULL || length == NULL ||
        c->got < (size_t)(end + 4 - c->answer) + strtoul(length + 15, NULL, 10))
        return false;
    if (strncmp(c->answer, "HTTP/1.1 200", 12) != 0 && l->failed++ == 0)
        fprintf(stderr, "bench_topics: %.300s\n", c->answer);
    l->took_us[l->answered++] = now_us() - c->due_us;
    c->busy = false;
    return true;
}

static void load_run(struct load *l)
{
    struct connection **idle = mem_new_array(l->connections_n, sizeof idle[0]);
    unsigned idle_n = 0;
    l->epoll = epoll_create1(0);
    l->begun = l->answered = l->failed = 0;
    l->took_us = mem_new_array(l->total, sizeof l->took_us[0]);
    l->connections = mem_new_array(l->connections_n, sizeof l->connections[0]);
    for (unsigned i = 0; i < l->connections_n; i++) {
        connect_one(l, &l->connections[i]);
        idle[idle_n++] = &l->connections[i];
    }
    int64_t begin_us = now_us();
    while (l->answered < l->total) {
        int64_t due_us = 0, now = now_us();
        while (l->begun < l->total && idle_n > 0) {
            due_us = l->rate == 0 ? now : begin_us + (int64_t)l->begun * 1000000 / l->rate;
            if (due_us > now)
                break;
            begin_request(l, idle[--idle_n], due_us);
        }
        struct epoll_event events[64];
        bool waits = l->begun < l->total && idle_n > 0 && due_us > now;
        int n = epoll_wait(l->epoll, events, 64, waits ? (due_us - now > 1000 ? 1 : 0) : 1000);
        for (int i = 0; i < n; i++)
            if (take_answer(l, events[i].data.ptr))
                idle[idle_n++] = events[i].data.ptr;
    }
    for (unsigned i = 0; i < l->connections_n; i++)
        close(l->connections[i].socket);
    close(l->epoll);
    mem_free(l->connections);
    mem_free(idle);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Prints percentiles; the 99th in milliseconds. */
static double report(struct load *l, const char *name)
{
    static const double shares[] = {0.5, 0.9, 0.99, 0.999, 1};
    printf("%-28s", name);
    qsort(l->took_us, l->answered, sizeof l->took_us[0], by_value);
    for (unsigned i = 0; i < 5; i++) {
        unsigned place = (unsigned)(shares[i] * (l->answered - 1));
        printf(" p%g %.1f", shares[i] * 100, (double)l->took_us[place] / 1e3);
    }
    double p99_ms = (double)l->took_us[(unsigned)(0.99 * (l->answered - 1))] / 1e3;
    printf(" ms, %u failed\n", l->failed);
    fflush(stdout);
    mem_free(l->took_us);
    return p99_ms;
}

static double make_topics(const struct broker *b, unsigned n)
{
    int64_t begin_us = now_us();
    struct load l = {.port = b->port,
                     .connections_n = MAKERS,
                     .request = create_request,
                     .topics = n,
                     .total = n};
    load_run(&l);
    mem_free(l.took_us);
    if (l.failed > 0)
        exit(1);
    return (double)(now_us() - begin_us) / 1e6;
}

static double send_load(const struct broker *b, unsigned topics, unsigned rate, unsigned seconds,
                        unsigned connections, const char *name)
{
    struct load l = {.port = b->port,
                     .connections_n = connections,
                     .request = send_request,
                     .topics = topics,
                     .total = rate * seconds,
                     .rate = rate};
    double cpu_s = broker_cpu_s(b);
    load_run(&l);
    cpu_s = broker_cpu_s(b) - cpu_s;
    double p99_ms = report(&l, name);
    printf("%-28s %.0f us of processor time a message, %u files open\n", "",
           cpu_s / (double)l.total * 1e6, broker_files(b));
    return p99_ms;
}

static void report_start(const struct broker *b, const char *name)
{
    printf("%-28s %.2f s, %.2f s of processor time; %ld KiB, %u files open\n", name, b->start_s,
           broker_cpu_s(b), broker_kib(b, "VmRSS"), broker_files(b));
    fflush(stdout);
}

static void measure_idle(const struct broker *b)
{
    double cpu_s = broker_cpu_s(b);
    sleep(10);
    printf("idle                         %.2f %% of a processor\n",
           (broker_cpu_s(b) - cpu_s) / 10 * 100);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fputs("usage: bench_topics LEASELOG DIR TOPICS SECONDS [CONNECTIONS]\n", stderr);
        return 2;
    }
    unsigned topics = (unsigned)strtoul(argv[3], NULL, 10);
    unsigned seconds = (unsigned)strtoul(argv[4], NULL, 10);
    unsigned connections = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 256;
    struct broker b;
    if (topics < 2 || seconds == 0 || connections == 0 || connections > CONNECTIONS_MAX)
        return 2;
    broker_start(&b, argv[1], argv[2]);
    printf("first start                  %.2f s\n", b.start_s);
    make_topics(&b, 1);
    send_load(&b, 1, topics, 2, connections, "warming up");
    long before_kib = broker_kib(&b, "VmRSS");
    double make_s = make_topics(&b, topics);
    printf("making %-6u topics         %.1f s, %.2f ms each; %.1f KiB of memory each\n", topics,
           make_s, make_s / topics * 1e3, (double)(broker_kib(&b, "VmRSS") - before_kib) / topics);
    double one_ms = send_load(&b, 1, topics, seconds, connections, "one topic");
    double many_ms = send_load(&b, topics, topics, seconds, connections, "many topics");
    printf("p99 many / one               %.2f\n", many_ms / one_ms);
    one_ms = send_load(&b, 1, topics, seconds, connections, "one topic again");
    printf("p99 many / one               %.2f\n", many_ms / one_ms);
    printf("memory                       %ld KiB, %.1f KiB a topic beyond the first\n",
           broker_kib(&b, "VmRSS"), (double)(broker_kib(&b, "VmRSS") - before_kib) / topics);
    measure_idle(&b);
    printf("stop                         %.2f s\n", broker_stop(&b, SIGTERM));
    broker_start(&b, argv[1], argv[2]);
    report_start(&b, "start after a clean stop");
    measure_idle(&b);
    send_load(&b, topics, topics, 5, connections, "many topics again");
    broker_stop(&b, SIGKILL);
    broker_start(&b, argv[1], argv[2]);
    report_start(&b, "start after kill -9");
    printf("stop                         %.2f s\n", broker_stop(&b, SIGTERM));
    return 0;
}

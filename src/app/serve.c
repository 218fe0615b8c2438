// SPDX-License-Identifier: Apache-2.0
#include "app/serve.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "admin/admin.h"
#include "app/access_keys.h"
#include "app/listen.h"
#include "app/membership.h"
#include "app/notify.h"
#include "app/options.h"
#include "base/check.h"
#include "base/note.h"
#include "cluster/admin.h"
#include "disk/disk.h"
#include "http/http.h"
#include "queue/queue.h"
#include "rest/rest.h"
#include "sqs/sqs.h"

enum {
    MEMORY_KEPT_BYTES = 4 << 20, /* free, at the end of a heap */
    MEMORY_STEP_BYTES = 256 << 10,
    MEMORY_MAPPED_BYTES = 1 << 20, /* allocations from here on are mapped by themselves */
};

struct broker {
    struct serve_options options;
    char address[256];
    uint16_t port;
    char client_url[LISTEN_URL_ROOM]; /* as --listen says; empty with port 0 */
    struct clock clock;
    struct disk disk;
    char catalog_path[4096];
    struct membership membership;
    struct queue *queue;
    struct admin admin;
    struct rest rest;
    struct sqs sqs;
    struct http_route routes[REST_ROUTES_MAX + ADMIN_ROUTES_MAX + SQS_ROUTES_MAX];
    struct http_server *server;
};

static bool proxies_read(struct broker *b)
{
    struct bytes wrong;
    if (sqs_proxies_read(b->options.trusted_proxies, &b->sqs.proxies, &wrong))
        return true;
    fprintf(stderr,
            "leaselog: --trusted-proxies takes up to %d addresses or networks, such as "
            "127.0.0.1,10.0.0.0/8, not '%.*s'\n",
            SQS_PROXIES_MAX, (int)wrong.n, (const char *)wrong.at);
    return false;
}

static bool notes_start(const struct serve_options *o)
{
    static const char *const levels[] = {"error", "warning", "info", "debug"};
    bool json = strcmp(o->log_format, "json") == 0;
    if (strcmp(o->log_format, "auto") == 0)
        json = isatty(STDERR_FILENO) == 0;
    else if (!json && strcmp(o->log_format, "text") != 0)
        return false;
    for (unsigned i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strcmp(o->log_level, levels[i]) == 0) {
            note_init((enum note_level)i, json);
            return true;
        }
    return false;
}

/* What exit code a start that failed has, after a line that says why. */
static int start_failed(const struct broker *b, enum err e)
{
    const char *advice = "";
    if (e == ERR_IN_USE)
        advice = "; is another leaselog running on it?";
    if (e == ERR_PERMISSION)
        advice = "; it must be readable and writable for this user";
    if (e == ERR_NEWER_FORMAT)
        advice = "; start the version that wrote it, or a later one";
    if (e == ERR_CORRUPT)
        advice = "; the lines above name the file";
    if (e == ERR_INVALID)
        advice = "; the lines above say which";
    fprintf(stderr, "leaselog: cannot serve from %s: %s%s\n", b->options.data_dir, err_text(e),
            advice);
    return e == ERR_PERMISSION || e == ERR_NEWER_FORMAT ? EXIT_CODE_CONFIG : EXIT_CODE_FAILURE;
}

static void pass_end(void *self)
{
    struct broker *b = self;
    queue_pass_end(b->queue);
}

/* Each open connection and each segment read costs a descriptor: take what the system allows. */
static void descriptors_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Connections must leave descriptors for files: a journal that cannot be opened is a failure of the
 * data directory which only a restart clears, and no client may bring that about. A quarter is for
 * files, but not less than a start with few topics and all its threads takes. */
static bool connections_fit(struct serve_options *o)
{
    enum { OPEN_FILES_LEAST = 64, FILES_LEAST = 40 };
    struct rlimit limit;
    unsigned wanted = (unsigned)o->connections_max, fit = wanted;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= UINT32_MAX)
        return true;
    if (limit.rlim_cur < OPEN_FILES_LEAST) {
        note(NOTE_ERROR, "app",
             "there may be only %llu open files (ulimit -n); it takes %d or more",
             (unsigned long long)limit.rlim_cur, OPEN_FILES_LEAST);
        return false;
    }
    rlim_t files = limit.rlim_cur / 4 > FILES_LEAST ? limit.rlim_cur / 4 : FILES_LEAST;
    while (fit > 1 && http_sockets_max(fit, (unsigned)o->loops) > limit.rlim_cur - files)
        fit--;
    if (fit < wanted)
        note(NOTE_WARNING, "app",
             "%u connections at one time, not %u: there may be only %llu open files (ulimit -n)",
             fit, wanted, (unsigned long long)limit.rlim_cur);
    o->connections_max = fit;
    return true;
}

static enum err queue_start(struct broker *b)
{
    struct queue_options o = {
        .disk = &b->disk,
        .catalog_path = b->catalog_path,
        .clock = &b->clock,
        .rng = rng_from_system(),
        .segment_bytes = (uint32_t)b->options.segment_mib << 20,
    };
    rng_secret(o.fresh_secret, sizeof o.fresh_secret);
    struct membership *m = &b->membership;
    enum err e = disk_posix_open(b->options.data_dir, true, &b->disk);
    if (e != ERR_OK)
        return e;
    e = membership_start(m, &b->options, &o, b->client_url);
    if (e == ERR_OK && m->catalog != NULL) {
        o.catalog = m->catalog;
        o.links = cluster_links(m->cluster);
        o.mover = membership_mover(m);
    }
    if (e == ERR_OK)
        e = queue_open(&o, &b->queue);
    if (e != ERR_OK) {
        membership_end(m);
        disk_posix_close(&b->disk);
    }
    return e;
}

/* What http refuses is answered in the form of the front it was meant for. */
static void refuse(void *self, struct http_request *r, int status, const char *text)
{
    struct broker *b = self;
    struct bytes path = http_path(r);
    if (bytes_equal(path, BYTES_OF("/v1")) || bytes_start_with(path, BYTES_OF("/v1/")) ||
        bytes_start_with(path, BYTES_OF("/problems/")) || bytes_equal(path, BYTES_OF("/livez")) ||
        bytes_equal(path, BYTES_OF("/readyz")))
        rest_refuse(r, status, text);
    else
        sqs_refuse(&b->sqs, r, status, text);
}

static void put_cluster(void *cluster, struct json_writer *w)
{
    cluster_write(cluster, w);
}

static struct queue_copy_id copy_id(const uint8_t topic[16], uint32_t partition)
{
    struct queue_copy_id of = {.partition = partition};
    memcpy(of.topic, topic, sizeof of.topic);
    return of;
}

static enum err move_leader(void *cluster, const uint8_t topic[16], uint32_t partition,
                            uint32_t broker, char why[REST_WHY_ROOM])
{
    struct queue_copy_id of = copy_id(topic, partition);
    return cluster_move_leader(cluster, &of, broker, why);
}

static enum err recover(void *cluster, const uint8_t topic[16], uint32_t partition, uint32_t broker,
                        char why[REST_WHY_ROOM])
{
    struct queue_copy_id of = copy_id(topic, partition);
    return cluster_recover(cluster, &of, broker, why);
}
_Static_assert((int)REST_WHY_ROOM == (int)CLUSTER_WHY_ROOM, "a sentence fits into both");

static enum err server_start(struct broker *b)
{
    b->admin.queue = b->queue;
    b->rest = (struct rest){.queue = b->queue, .clock = &b->clock};
    b->rest.links = b->sqs.links = membership_links(&b->membership);
    if (b->membership.cluster != NULL) {
        b->rest.put_cluster = put_cluster;
        b->rest.move_leader = move_leader;
        b->rest.recover = recover;
        b->rest.cluster = b->membership.cluster;
    }
    b->sqs.queue = b->queue;
    b->sqs.clock = &b->clock;
    b->sqs.public_url = b->options.public_url[0] == '\0' ? NULL : b->options.public_url;
    b->sqs.region = b->options.region;
    b->sqs.strict_accounts = b->options.sqs_strict;
    b->sqs.strict_cooldowns = b->options.sqs_strict || b->options.strict_cooldowns;
    size_t n = rest_routes(&b->rest, b->routes);
    n += admin_routes(&b->admin, b->routes + n);
    n += sqs_routes(&b->sqs, b->routes + n);
    struct http_options o;
    http_options_default(&o);
    o.address = b->address;
    o.port = b->port;
    o.loops = (unsigned)b->options.loops;
    o.connections_max = (unsigned)b->options.connections_max;
    o.idle_timeout_s = (unsigned)b->options.idle_timeout_s;
    o.routes = b->routes;
    o.routes_n = n;
    o.clock = &b->clock;
    o.self = b;
    o.pass_end = pass_end;
    o.refuse = refuse;
    return http_server_start(&o, &b->server);
}

static void server_failed(const struct broker *b, enum err e)
{
    if (e == ERR_IN_USE)
        fprintf(stderr,
                "leaselog: %s is taken by another process; choose another address with "
                "--listen, such as --listen 127.0.0.1:9325\n",
                b->options.listen);
    else
        fprintf(stderr, "leaselog: cannot listen on %s: %s\n", b->options.listen, err_text(e));
}

/* Until SIGTERM or SIGINT. A second one ends the process at once, which is safe: it is a crash. */
static void stop_await(const sigset_t *stops)
{
    int got;
    while (sigwait(stops, &got) != 0)
        continue;
    note(NOTE_INFO, "app", "stopping on signal %d", got);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, stops, NULL);
}

static int broker_run(struct broker *b, const sigset_t *stops)
{
    enum err e = queue_start(b);
    if (e != ERR_OK)
        return start_failed(b, e);
    queue_threads_start(b->queue);
    e = membership_join(&b->membership, b->queue); /* before clients ask for its topics */
    if (e == ERR_OK) {
        e = server_start(b);
        if (e != ERR_OK)
            server_failed(b, e);
    }
    if (e == ERR_OK) {
        char url[LISTEN_URL_ROOM];
        listen_url(b->address, http_server_port(b->server), url);
        printf("%s\n", url);
        fflush(stdout);
        note(NOTE_INFO, "app", "serving on %s port %u from %s", b->address,
             http_server_port(b->server), b->options.data_dir);
        notify_supervisor("READY=1");
        stop_await(stops);
        notify_supervisor("STOPPING=1");
        http_server_drain(b->server);
    }
    membership_resign(&b->membership);
    if (b->server != NULL)
        http_server_stop(b->server, b->options.stop_timeout_s * 1000);
    membership_leave(&b->membership);
    queue_threads_stop(b->queue);
    bool failed = queue_failed(b->queue);
    sqs_fini(&b->sqs);
    queue_close(b->queue);
    membership_end(&b->membership);
    disk_posix_close(&b->disk);
    if (e == ERR_OK)
        note(NOTE_INFO, "app", "stopped");
    return e != ERR_OK || failed ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

/* Batches come and go by the megabyte. With its own bounds of 128 KiB the C library gives that
 * memory back and asks for it again several times a round, two system calls and a page fault a
 * page. Left to itself it also takes ever larger blocks from its heaps, where what is freed below
 * anything else stays: the tables of a busy hour would be kept for good. */
static void memory_keep(void)
{
    mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT_BYTES);
    mallopt(M_TOP_PAD, MEMORY_STEP_BYTES);
    mallopt(M_MMAP_THRESHOLD, MEMORY_MAPPED_BYTES);
}

int serve_main(int argc, char **argv)
{
    static struct broker b; /* large, one a process, and lent to threads */
    switch (options_read(argc, argv, &b.options)) {
    case OPTIONS_OK:
        break;
    case OPTIONS_HELP:
        if (fflush(stdout) == 0)
            return EXIT_CODE_OK;
        fprintf(stderr, "leaselog: cannot write to stdout: %s\n", strerror(errno));
        return EXIT_CODE_FAILURE;
    case OPTIONS_USAGE:
        return EXIT_CODE_USAGE;
    case OPTIONS_CONFIG:
        return EXIT_CODE_CONFIG;
    }
    if (!listen_parse(b.options.listen, b.address, sizeof b.address, &b.port)) {
        fprintf(stderr,
                "leaselog: --listen must be ADDR:PORT with a port from 0 to 65535, such as "
                "127.0.0.1:9324, not '%s'\n",
                b.options.listen);
        return EXIT_CODE_USAGE;
    }
    if (!proxies_read(&b) || !membership_check(&b.options))
        return EXIT_CODE_USAGE;
    if (!notes_start(&b.options)) {
        fputs(
            "leaselog: --log-format is text, json or auto; --log-level is error, warning, info or "
            "debug\n",
            stderr);
        return EXIT_CODE_USAGE;
    }
    if (!access_keys_load(b.options.sqs_access_keys, &b.sqs.keys) ||
        !membership_secrets_load(&b.membership, &b.options))
        return EXIT_CODE_CONFIG;
    if (b.port != 0)
        listen_url(b.address, b.port, b.client_url);
    snprintf(b.catalog_path, sizeof b.catalog_path, "%s/catalog.sqlite", b.options.data_dir);
    b.clock = clock_system();
    memory_keep();
    descriptors_raise();
    if (!connections_fit(&b.options))
        return EXIT_CODE_CONFIG;
    signal(SIGPIPE, SIG_IGN);
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stops, NULL); /* before threads, which inherit it */
    return broker_run(&b, &stops);
}

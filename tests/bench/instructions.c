// SPDX-License-Identifier: Apache-2.0
/* A fixed amount of work through the whole product without its sockets: SQS JSON in, decoded,
 * planned, appended, committed, encoded. On one thread, on files in memory that are never synced,
 * on a clock that stands, so the same program executes the same instructions each time, and
 * scripts/bench-check can count them.
 *
 *   instructions WORK MESSAGES
 *
 * WORK: send, send10 (in batches of 10), cycle (receive and delete, one by one), cycle10, fifo
 * (send to 100 message groups). What is counted is what `measured` calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fuzz/fake_http.h"
#include "lib/fake_clock.h"
#include "lib/folder.h"
#include "sqs/sqs.h"

enum { BODY_BYTES = 1024, GROUPS = 100, BATCH = 10 };

struct broker {
    struct disk disk;
    struct fake_clock clock;
    struct queue *q;
    struct sqs sqs;
    struct http_route routes[SQS_ROUTES_MAX];
    size_t routes_n;
    struct fake_world world;
    char text[BODY_BYTES + 1];
    struct buf request;
    struct fake_answer answer;
};

static enum err no_sync(void *self, int file)
{
    (void)self;
    (void)file;
    return ERR_OK;
}

static enum err no_sync_dir(void *self, const char *path)
{
    (void)self;
    (void)path;
    return ERR_OK;
}

static enum err no_sync_all(void *self)
{
    (void)self;
    return ERR_OK;
}

static void pass_end(void *self)
{
    struct broker *b = self;
    queue_pass_end(b->q);
}

static void sleep_until(void *self, int64_t boot_ms)
{
    struct broker *b = self;
    CHECK(boot_ms == 0 || boot_ms > b->clock.boot_ms);
    queue_commit_all(b->q);
}

static int64_t boot_ms(void *self)
{
    const struct broker *b = self;
    return b->clock.boot_ms;
}

static void broker_start(struct broker *b, const char *folder)
{
    static char catalog[FOLDER_PATH_ROOM + 32];
    snprintf(catalog, sizeof catalog, "%s/catalog.sqlite", folder);
    fake_clock_init(&b->clock);
    CHECK(disk_posix_open(folder, true, &b->disk) == ERR_OK);
    b->disk.sync = no_sync;
    b->disk.sync_dir = no_sync_dir;
    b->disk.sync_all = no_sync_all;
    struct queue_options o = {
        .disk = &b->disk,
        .catalog_path = catalog,
        .clock = &b->clock.clock,
        .rng = {.state = 1},
        .fresh_secret = "a secret of thirty-two bytes....",
    };
    CHECK(queue_open(&o, &b->q) == ERR_OK);
    b->sqs.queue = b->q;
    b->sqs.clock = &b->clock.clock;
    b->sqs.region = "us-east-1";
    b->routes_n = sqs_routes(&b->sqs, b->routes);
    b->world = (struct fake_world){b, pass_end, sleep_until, boot_ms};
    memset(b->text, 'm', BODY_BYTES);
}

static void broker_stop(struct broker *b)
{
    queue_close(b->q);
    sqs_fini(&b->sqs);
    disk_posix_close(&b->disk);
    buf_fini(&b->request);
}

/* Asks with what b->request holds; b->answer is there until the next call. */
static void ask(struct broker *b, const char *target)
{
    struct fake_request r = {
        .method = HTTP_POST,
        .path = BYTES_OF("/"),
        .body = buf_bytes(&b->request),
        .headers = {{BYTES_OF("Content-Type"), BYTES_OF("application/x-amz-json-1.0")},
                    {BYTES_OF("X-Amz-Target"), bytes_of_text(target)},
                    {BYTES_OF("Host"), BYTES_OF("localhost:9324")}},
        .headers_n = 3,
    };
    buf_fini(&b->answer.body);
    fake_http_ask(b->routes, b->routes_n, &b->world, &r, &b->answer);
    CHECK(b->answer.status == 200);
    buf_clear(&b->request);
}

static void make_queue(struct broker *b, const char *attributes)
{
    buf_put_format(&b->request, "{\"QueueName\":\"%s\",\"Attributes\":{%s}}",
                   attributes[0] == '\0' ? "q" : "q.fifo", attributes);
    ask(b, "AmazonSQS.CreateQueue");
}

/* Not by a format, which would cost more than what is measured. */
static void put_text(struct broker *b, const char *before, const char *after)
{
    buf_put_text(&b->request, before);
    buf_put(&b->request, b->text, BODY_BYTES);
    buf_put_text(&b->request, after);
}

static void send_one(struct broker *b, int i)
{
    (void)i;
    put_text(b,
             "{\"QueueUrl\":\"http://localhost:9324/000000000000/q\","
             "\"MessageBody\":\"",
             "\"}");
    ask(b, "AmazonSQS.SendMessage");
}

static void send_fifo(struct broker *b, int i)
{
    put_text(b,
             "{\"QueueUrl\":\"http://localhost:9324/000000000000/q.fifo\","
             "\"MessageBody\":\"",
             "\",");
    buf_put_format(&b->request, "\"MessageGroupId\":\"g%d\",\"MessageDeduplicationId\":\"d%d\"}",
                   i % GROUPS, i);
    ask(b, "AmazonSQS.SendMessage");
}

static void send_ten(struct broker *b, int i)
{
    if (i % BATCH != 0)
        return;
    buf_put_text(&b->request, "{\"QueueUrl\":\"http://localhost:9324/000000000000/q\","
                              "\"Entries\":[");
    for (int k = 0; k < BATCH; k++) {
        buf_put_format(&b->request, "%s{\"Id\":\"%d\",", k == 0 ? "" : ",", k);
        put_text(b, "\"MessageBody\":\"", "\"}");
    }
    buf_put_text(&b->request, "]}");
    ask(b, "AmazonSQS.SendMessageBatch");
}

/* The receipts of the answer, each put into b->request between `before` and `after`. */
static void put_receipts(struct broker *b, bool batch)
{
    static const char mark[] = "\"ReceiptHandle\":\"";
    const char *at = b->answer.body.at, *end = at + b->answer.body.n;
    int n = 0;
    while ((at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1)) != NULL) {
        at += sizeof mark - 1;
        const char *stop = memchr(at, '"', (size_t)(end - at));
        if (batch)
            buf_put_format(&b->request, "%s{\"Id\":\"%d\",", n == 0 ? "" : ",", n);
        buf_put_text(&b->request, mark);
        buf_put(&b->request, at, (size_t)(stop - at));
        buf_put_text(&b->request, batch ? "\"}" : "\"");
        n++;
    }
    CHECK(n == (batch ? BATCH : 1));
}

static void cycle(struct broker *b, bool batch)
{
    static const char url[] = "{\"QueueUrl\":\"http://localhost:9324/000000000000/q\",";
    buf_put_format(&b->request, "%s\"MaxNumberOfMessages\":%d}", url, batch ? BATCH : 1);
    ask(b, "AmazonSQS.ReceiveMessage");
    buf_put_format(&b->request, "%s%s", url, batch ? "\"Entries\":[" : "");
    put_receipts(b, batch);
    buf_put_text(&b->request, batch ? "]}" : "}");
    ask(b, batch ? "AmazonSQS.DeleteMessageBatch" : "AmazonSQS.DeleteMessage");
}

static void cycle_one(struct broker *b, int i)
{
    (void)i;
    cycle(b, false);
}

static void cycle_ten(struct broker *b, int i)
{
    if (i % BATCH == 0)
        cycle(b, true);
}

struct work {
    const char *name;
    const char *attributes; /* of the queue */
    void (*before)(struct broker *b, int i);
    void (*step)(struct broker *b, int i);
};

static const struct work works[] = {
    {"send", "", NULL, send_one},
    {"send10", "", NULL, send_ten},
    {"cycle", "", send_ten, cycle_one},
    {"cycle10", "", send_ten, cycle_ten},
    {"fifo", "\"FifoQueue\":\"true\"", NULL, send_fifo},
};

/* Its name is what scripts/bench-check counts in, so it must stay a function. */
__attribute__((noinline)) static void measured(const struct work *w, struct broker *b, int from,
                                               int n)
{
    for (int i = 0; i < n; i++)
        w->step(b, from + i);
}

int main(int argc, char **argv)
{
    static struct broker b;
    char folder[FOLDER_PATH_ROOM];
    const struct work *w = NULL;
    for (size_t i = 0; argc == 3 && i < sizeof works / sizeof works[0]; i++)
        if (strcmp(works[i].name, argv[1]) == 0)
            w = &works[i];
    int n = w == NULL ? 0 : (int)strtol(argv[2], NULL, 10), warm = n / 10 / BATCH * BATCH;
    if (n < 10 * BATCH || n % BATCH != 0) {
        fputs("usage: instructions send|send10|cycle|cycle10|fifo MESSAGES (100, 110, ...)\n",
              stderr);
        return 2;
    }
    folder_make(folder);
    broker_start(&b, folder);
    make_queue(&b, w->attributes);
    for (int i = 0; w->before != NULL && i < warm + n; i++)
        w->before(&b, i);
    for (int i = 0; i < warm; i++) /* what is made once is made */
        w->step(&b, i);
    measured(w, &b, warm, n);
    buf_fini(&b.answer.body);
    broker_stop(&b);
    folder_remove(folder);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Whole requests through both fronts to a real core, one after the other, on a disk in memory.
 *
 * Input: a byte for the end (0: nothing more; 1: a clean stop and a start; 2: a death and a start),
 * then requests, at most 20. Of each: a byte for the method and whether the client goes before
 * the answer, a byte for how much time passes, a byte that chooses its headers, a byte that chooses
 * the action of SQS, then sized (a length and bytes; two bytes of length for the body): path,
 * query, the value of one header more, body. In all but the third "$R" stands for the newest
 * receipt and
 * "$Q" for a topic's name.
 * With LEASELOG_VERBOSE in the environment the answers are printed.
 * Contract: each request is answered once, with what its type promises: JSON, XML, or any bytes. No
 * fault of ours (500) and no failure (503) is ever answered. What was left over can be kept house
 * for, closed and opened again. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "fuzz/fake_http.h"
#include "fuzz/fuzz.h"
#include "lib/fake_clock.h"
#include "lib/fault_disk.h"
#include "lib/folder.h"
#include "rest/rest.h"
#include "sqs/action.h"
#include "sqs/sqs.h"

enum { REQUESTS_MAX = 20, ROUTES_MAX = REST_ROUTES_MAX + SQS_ROUTES_MAX };

struct broker {
    struct fault_disk *disk;
    struct fake_clock clock;
    struct queue_options options;
    struct queue *q;
    struct sqs sqs;
    struct rest rest;
    struct http_route routes[ROUTES_MAX];
    size_t routes_n;
    struct fake_world world;
    struct buf receipt;
};

static char folder[FOLDER_PATH_ROOM];

static void folder_drop(void)
{
    folder_remove(folder);
}

static void pass_end(void *self)
{
    struct broker *b = self;
    queue_pass_end(b->q);
}

static void sleep_until(void *self, int64_t boot_ms)
{
    struct broker *b = self;
    if (b->clock.boot_ms < boot_ms)
        fake_clock_pass(&b->clock, boot_ms - b->clock.boot_ms);
    queue_housekeep(b->q);
    queue_commit_all(b->q);
}

static int64_t boot_ms(void *self)
{
    const struct broker *b = self;
    return b->clock.boot_ms;
}

static void broker_start(struct broker *b)
{
    CHECK(queue_open(&b->options, &b->q) == ERR_OK);
    b->sqs.queue = b->rest.queue = b->q;
}

static void broker_init(struct broker *b)
{
    static char catalog[FOLDER_PATH_ROOM + 32];
    if (folder[0] == '\0') {
        folder_make(folder);
        CHECK(atexit(folder_drop) == 0);
        snprintf(catalog, sizeof catalog, "%s/catalog.sqlite", folder);
    }
    unlink(catalog);
    memset(b, 0, sizeof *b);
    b->disk = fault_disk_new(1);
    fake_clock_init(&b->clock);
    b->options = (struct queue_options){
        .disk = fault_disk_of(b->disk),
        .catalog_path = catalog,
        .clock = &b->clock.clock,
        .rng = {.state = 1},
        .fresh_secret = "a secret of thirty-two bytes....",
        .segment_bytes = 4096,
        .journal_bytes = 65536,
        .in_flight_max = 25,
    };
    b->sqs.clock = b->rest.clock = &b->clock.clock;
    b->routes_n = rest_routes(&b->rest, b->routes);
    b->routes_n += sqs_routes(&b->sqs, b->routes + b->routes_n);
    b->world = (struct fake_world){b, pass_end, sleep_until, boot_ms};
    broker_start(b);
}

static void broker_fini(struct broker *b, size_t end)
{
    if (end > 0) {
        sleep_until(b, b->clock.boot_ms + 60000);
        if (end == 1)
            queue_close(b->q);
        else
            queue_abandon(b->q);
        broker_start(b);
    }
    queue_abandon(b->q);
    sqs_fini(&b->sqs);
    fault_disk_free(b->disk);
    buf_fini(&b->receipt);
}

/* ---- a request ---- */

/* Sized bytes with "$R" and "$Q" replaced. */
static void take_text(struct broker *b, struct cursor *c, size_t n, struct buf *out)
{
    struct bytes raw = cursor_bytes(c, n < c->left ? n : c->left);
    const char *at = raw.at;
    for (size_t i = 0; i < raw.n; i++) {
        char next = i + 1 < raw.n ? at[i + 1] : '\0';
        if (at[i] == '$' && (next == 'R' || next == 'Q')) {
            if (next == 'R')
                buf_put_bytes(out, buf_bytes(&b->receipt));
            else
                buf_put_text(out, "q");
            i++;
        } else {
            buf_put_u8(out, (uint8_t)at[i]);
        }
    }
}

/* As http lets it through: visible characters, or spaces too. */
static void make_visible(struct buf *text, bool spaces)
{
    for (size_t i = 0; i < text->n; i++) {
        unsigned char c = (unsigned char)text->at[i];
        if (c < ' ' || c == 0x7f || (!spaces && (c == ' ' || c == '?' || c == '#')))
            text->at[i] = '_';
    }
}

static void header_put(struct fake_request *r, const char *name, struct bytes value)
{
    r->headers[r->headers_n++] = (struct fake_header){bytes_of_text(name), value};
}

static void choose_headers(struct fake_request *r, uint8_t how, uint8_t action, struct bytes value)
{
    static const char *const types[] = {NULL,
                                        "application/x-amz-json-1.0",
                                        "application/x-www-form-urlencoded",
                                        "text/plain",
                                        "application/json",
                                        "application/x-ndjson",
                                        "image/png",
                                        "application/merge-patch+json"};
    static const char *const names[] = {
        "X-Amzn-Trace-Id",  "Leaselog-Delay",    "Leaselog-Group-Id",
        "If-Match",         "Leaselog-Attr-a.b", "Accept",
        "Idempotency-Key",  "If-None-Match",     "Leaselog-Deduplication-Id",
        "X-Forwarded-Host", "Authorization",     "Host",
        "Request-Id",       "Leaselog-unknown",  "Prefer",
        "Content-Encoding"};
    static char target[64];
    const char *type = types[how % 8];
    if (type != NULL)
        header_put(r, "Content-Type", bytes_of_text(type));
    if (how % 8 == 1) {
        const struct sqs_action *a = sqs_action((enum sqs_action_id)(action % SQS_ACTIONS_N));
        snprintf(target, sizeof target, "AmazonSQS.%.*s", (int)a->name.n, (const char *)a->name.at);
        header_put(r, "X-Amz-Target", bytes_of_text(target));
    }
    if (value.n > 0)
        header_put(r, names[how / 8 % 16], value);
}

/* ---- the answer ---- */

static void keep_receipt(struct broker *b, struct bytes body)
{
    static const char *const before[] = {"\"ReceiptHandle\":\"", "<ReceiptHandle>",
                                         "\"receipt\":\""};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(before[i]);
        const char *at = body.n == 0 ? NULL : memmem(body.at, body.n, before[i], n);
        if (at == NULL)
            continue;
        at += n;
        const char *end = (const char *)body.at + body.n, *stop = at;
        while (stop < end && *stop != '"' && *stop != '<')
            stop++;
        buf_clear(&b->receipt);
        buf_put(&b->receipt, at, (size_t)(stop - at));
        return;
    }
}

static void check_json(struct bytes text)
{
    struct arena arena;
    struct json j;
    arena_init(&arena, NULL, 0);
    json_init(&j, text, &arena);
    json_skip(&j);
    CHECK(json_finish(&j) == ERR_OK);
    arena_fini(&arena);
}

static void check_answer(const struct fake_answer *a)
{
    struct bytes body = buf_bytes(&a->body);
    CHECK(a->status < 500);
    if (strstr(a->type, "json") != NULL && strstr(a->type, "ndjson") == NULL && body.n > 0)
        check_json(body);
    if (strstr(a->type, "xml") != NULL)
        CHECK(bytes_start_with(body, BYTES_OF("<?xml")) && utf8_valid(body));
}

static void ask(struct broker *b, struct cursor *c)
{
    struct fake_request r = {.method = HTTP_GET};
    struct fake_answer answer;
    struct buf path = BUF_EMPTY, query = BUF_EMPTY, value = BUF_EMPTY, body = BUF_EMPTY;
    uint8_t how = cursor_u8(c), time = cursor_u8(c), headers = cursor_u8(c), action = cursor_u8(c);
    r.method = (enum http_method)(how % HTTP_OTHER);
    r.gone = how >= 224;
    buf_put_u8(&path, '/');
    take_text(b, c, cursor_u8(c), &path);
    take_text(b, c, cursor_u8(c), &query);
    size_t n = cursor_u8(c);
    buf_put_bytes(&value, cursor_bytes(c, n < c->left ? n : c->left));
    take_text(b, c, cursor_u16(c), &body);
    make_visible(&path, false);
    make_visible(&query, false);
    make_visible(&value, true);
    r.path = buf_bytes(&path);
    r.query = buf_bytes(&query);
    r.body = buf_bytes(&body);
    choose_headers(&r, headers, action, buf_bytes(&value));
    if (time > 0)
        sleep_until(b, b->clock.boot_ms + time * (time % 2 == 0 ? 10 : 1000));
    fake_http_ask(b->routes, b->routes_n, &b->world, &r, &answer);
    if (getenv("LEASELOG_VERBOSE") != NULL)
        printf("%.*s: %d %.*s\n", (int)r.path.n, (const char *)r.path.at, answer.status,
               (int)answer.body.n, answer.body.at);
    check_answer(&answer);
    keep_receipt(b, buf_bytes(&answer.body));
    buf_fini(&answer.body);
    buf_fini(&path);
    buf_fini(&query);
    buf_fini(&value);
    buf_fini(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    static struct broker b;
    size_t end = fuzz_choice(&c, 3);
    broker_init(&b);
    for (int i = 0; i < REQUESTS_MAX && c.left > 0 && !c.bad; i++)
        ask(&b, &c);
    broker_fini(&b, end);
    return 0;
}

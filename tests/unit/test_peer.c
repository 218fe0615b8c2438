// SPDX-License-Identifier: Apache-2.0
/* Two peers in one process, over loopback: calls, their ends, and what is refused. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"
#include "lib/http_client.h"
#include "lib/runner.h"
#include "peer/peer.h"
#include "peer/seen.h"
#include "peer/sign.h"

#define KEY "0123456789abcdef"
#define NONCE "00000000000000010000000000000001"

enum { LONG_MS = 10000 };

struct world {
    struct clock clock;
    struct peer *one, *two;
    char url[64]; /* of two */
    atomic_int parked;
    struct http_request *_Atomic held; /* the newest one parked at two */
    atomic_int from;
    char address[HTTP_ADDRESS_TEXT_MAX + 1]; /* of who called /_r/v1/echo last; below the mutex */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* two has several loops */

static struct world w;

/* ---- the handlers of two ---- */

static void on_echo(void *self, struct http_request *r, uint32_t from)
{
    struct buf body = BUF_EMPTY;
    (void)self;
    w.from = (int)from;
    pthread_mutex_lock(&mutex);
    http_peer_address(r, w.address);
    pthread_mutex_unlock(&mutex);
    buf_put_bytes(&body, http_body(r));
    peer_reply(w.two, r, body.n == 0 ? 204 : 201, &body);
}

static void on_wake(void *self, struct http_request *r)
{
    struct buf body = BUF_EMPTY;
    (void)self;
    w.parked--;
    buf_put_text(&body, http_stopping(http_server_of(r)) ? "stopping" : "woken");
    peer_reply(w.two, r, 200, &body);
}

static void on_park(void *self, struct http_request *r, uint32_t from)
{
    (void)self;
    (void)from;
    http_park(r, on_wake, NULL, 0, true);
    w.held = r;
    w.parked++;
}

static void on_forge(void *self, struct http_request *r, uint32_t from)
{
    (void)self;
    (void)from;
    struct buf body = BUF_EMPTY;
    buf_put_text(&body, "not signed");
    http_reply(r, 200, NULL, 0, &body);
}

static void on_full(void *self, struct http_request *r, uint32_t from)
{
    (void)self;
    (void)from;
    http_reply(r, 503, NULL, 0, NULL);
}

static const struct peer_route routes[] = {
    {"/_r/v1/echo", on_echo, NULL},
    {"/_r/v1/park", on_park, NULL},
    {"/_r/v1/forge", on_forge, NULL},
    {"/_r/v1/full", on_full, NULL},
};

static struct peer *start_from(const char *from, uint32_t broker, const char *cluster,
                               const char *key)
{
    struct peer *p;
    struct peer_options o = {.address = "127.0.0.1",
                             .from = from,
                             .broker = broker,
                             .cluster = cluster,
                             .key = bytes_of_text(key),
                             .clock = &w.clock,
                             .rng = {test_seed() + broker},
                             .routes = routes,
                             .routes_n = sizeof routes / sizeof routes[0]};
    ck_assert_int_eq(peer_start(&o, &p), ERR_OK);
    return p;
}

static struct peer *start(uint32_t broker, const char *cluster, const char *key)
{
    return start_from(NULL, broker, cluster, key);
}

static void setup(void)
{
    note_init(NOTE_ERROR, false);
    w.clock = clock_system();
    w.parked = 0;
    w.one = start(1, "c", KEY);
    w.two = start(2, "c", KEY);
    snprintf(w.url, sizeof w.url, "http://127.0.0.1:%u", peer_port(w.two));
}

static void teardown(void)
{
    if (w.one != NULL)
        peer_stop(w.one);
    if (w.two != NULL)
        peer_stop(w.two);
    w.one = w.two = NULL;
}

/* ---- calls that somebody waits for ---- */

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int over;
    enum err e; /* of the last one, and the next */
    int status;
    int counts[64]; /* by error */
};

static void outcome_done(void *self, enum err e, int status, struct bytes body)
{
    struct outcome *o = self;
    (void)body;
    pthread_mutex_lock(&o->lock);
    o->over++;
    o->e = e;
    o->status = status;
    o->counts[e]++;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
}

static void outcome_init(struct outcome *o)
{
    memset(o, 0, sizeof *o);
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->changed, NULL);
}

static void outcome_wait(struct outcome *o, int n)
{
    pthread_mutex_lock(&o->lock);
    while (o->over < n)
        pthread_cond_wait(&o->changed, &o->lock);
    pthread_mutex_unlock(&o->lock);
}

static void post(struct peer *p, const char *url, const char *path, int64_t deadline_ms,
                 struct outcome *o)
{
    peer_post(p, 2, url, path, BYTES_OF("x"), deadline_ms,
              (struct peer_call_done){outcome_done, o});
}

static enum err ask(struct peer *p, uint32_t to, const char *path, struct bytes body, int *status,
                    struct buf *out)
{
    buf_clear(out);
    return peer_ask(p, to, w.url, path, body, LONG_MS, status, out);
}

START_TEST(a_call_is_answered)
{
    struct buf out = BUF_EMPTY, big = BUF_EMPTY;
    int status;
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/echo", BYTES_OF("hello"), &status, &out), ERR_OK);
    ck_assert_int_eq(status, 201);
    ck_assert(bytes_equal(buf_bytes(&out), BYTES_OF("hello")));
    ck_assert_int_eq(w.from, 1);
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/echo", BYTES_NONE, &status, &out), ERR_OK);
    ck_assert_int_eq(status, 204);
    ck_assert_uint_eq(out.n, 0);
    buf_reserve(&big, 5 << 20);
    memset(big.at, 'b', 5 << 20);
    big.n = 5 << 20;
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/echo", buf_bytes(&big), &status, &out), ERR_OK);
    ck_assert(bytes_equal(buf_bytes(&out), buf_bytes(&big)));
    buf_fini(&out);
    buf_fini(&big);
}
END_TEST

START_TEST(a_call_comes_from_the_address_that_was_given)
{
    struct buf out = BUF_EMPTY;
    int status;
    struct peer *p = start_from("127.0.0.7", 3, "c", KEY);
    ck_assert_int_eq(ask(p, 2, "/_r/v1/echo", BYTES_OF("a"), &status, &out), ERR_OK);
    ck_assert_str_eq(w.address, "127.0.0.7");
    peer_stop(p);
    p = start_from("192.0.2.1", 3, "c", KEY); /* which is not ours (RFC 5737) */
    ck_assert_int_eq(ask(p, 2, "/_r/v1/echo", BYTES_OF("a"), &status, &out), ERR_REFUSED);
    peer_stop(p);
    buf_fini(&out);
}
END_TEST

START_TEST(many_calls_at_one_time_are_each_answered_once)
{
    enum { N = 300 };
    struct outcome o;
    outcome_init(&o);
    for (int i = 0; i < N; i++)
        post(w.one, w.url, "/_r/v1/echo", LONG_MS, &o);
    outcome_wait(&o, N);
    ck_assert_int_eq(o.counts[ERR_OK], N);
    ck_assert_int_eq(o.over, N);
}
END_TEST

START_TEST(options_that_make_no_sense_are_refused)
{
    struct peer *p;
    struct peer_options good = {.address = "127.0.0.1",
                                .broker = 1,
                                .cluster = "c",
                                .key = BYTES_OF(KEY),
                                .clock = &w.clock};
    struct peer_options o = good;
    o.key.n = PEER_KEY_BYTES_MIN - 1;
    ck_assert_int_eq(peer_start(&o, &p), ERR_INVALID);
    o = good;
    o.broker = PEER_BROKER_MAX + 1;
    ck_assert_int_eq(peer_start(&o, &p), ERR_INVALID);
    o = good;
    o.cluster = "a b";
    ck_assert_int_eq(peer_start(&o, &p), ERR_INVALID);
    o = good;
    o.address = "nowhere";
    ck_assert_int_eq(peer_start(&o, &p), ERR_INVALID);
    o = good;
    o.port = peer_port(w.two);
    ck_assert_int_eq(peer_start(&o, &p), ERR_IN_USE);
}
END_TEST

/* ---- how calls end ---- */

/* A socket that listens; nobody of ours answers there. */
static int listen_raw(char url[64])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, n), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    getsockname(fd, (struct sockaddr *)&a, &n);
    snprintf(url, 64, "http://127.0.0.1:%u", ntohs(a.sin_port));
    return fd;
}

START_TEST(a_refused_connect_is_told_from_a_broken_connection)
{
    struct outcome o;
    char url[64], bytes[16];
    outcome_init(&o);
    int fd = listen_raw(url);
    post(w.one, url, "/_r/v1/echo", LONG_MS, &o);
    int accepted = accept(fd, NULL, NULL);
    ck_assert_int_gt(read(accepted, bytes, sizeof bytes), 0); /* it may have been carried out */
    close(accepted);
    outcome_wait(&o, 1);
    ck_assert_int_eq(o.e, ERR_BUSY);
    close(fd);
    post(w.one, url, "/_r/v1/echo", LONG_MS, &o);
    outcome_wait(&o, 2);
    ck_assert_int_eq(o.e, ERR_REFUSED);
    ck_assert_int_eq(o.status, ECONNREFUSED);
    post(w.one, "http://no-such-host.invalid:1", "/_r/v1/echo", LONG_MS, &o);
    outcome_wait(&o, 3);
    ck_assert_int_eq(o.e, ERR_REFUSED); /* that is no word of the other machine's */
    ck_assert_int_eq(o.status, 0);
}
END_TEST

/* Reads one request whole: its body comes behind its head, in a write of its own. */
static void read_request(int fd)
{
    char at[4096];
    size_t n = 0, wanted = SIZE_MAX;
    while (n < wanted) {
        ssize_t got = read(fd, at + n, sizeof at - 1 - n);
        ck_assert_int_gt(got, 0);
        n += (size_t)got;
        at[n] = '\0';
        const char *end = strstr(at, "\r\n\r\n"), *length = strstr(at, "Content-Length: ");
        if (end == NULL)
            continue;
        ck_assert_ptr_nonnull(length);
        wanted = (size_t)(end + 4 - at) + strtoul(length + 16, NULL, 10);
    }
    ck_assert_uint_eq(n, wanted);
}

START_TEST(what_was_sent_over_a_kept_connection_is_not_taken_for_refused)
{
    static const char answer[] = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n";
    struct outcome o;
    char url[64];
    outcome_init(&o);
    int fd = listen_raw(url);
    post(w.one, url, "/_r/v1/echo", LONG_MS, &o);
    int accepted = accept(fd, NULL, NULL);
    read_request(accepted);
    ck_assert_int_eq(write(accepted, answer, sizeof answer - 1), sizeof answer - 1);
    outcome_wait(&o, 1);
    post(w.one, url, "/_r/v1/echo", LONG_MS, &o);
    read_request(accepted); /* it may have been carried out */
    /* curl asks again by itself where a kept connection ends without a word, and is refused. */
    close(fd);
    close(accepted);
    outcome_wait(&o, 2);
    ck_assert(o.e == ERR_BUSY && o.status == 0);
}
END_TEST

START_TEST(a_deadline_ends_a_call_to_a_peer_that_says_nothing)
{
    struct outcome o;
    char url[64];
    outcome_init(&o);
    int fd = listen_raw(url);
    post(w.one, url, "/_r/v1/echo", 50, &o);
    post(w.one, url, "/_r/v1/echo", 0, &o);
    post(w.one, w.url, "/_r/v1/echo", LONG_MS, &o); /* and nobody waits behind it */
    outcome_wait(&o, 3);
    ck_assert_int_eq(o.counts[ERR_BUSY], 2);
    ck_assert_int_eq(o.counts[ERR_OK], 1);
    close(fd);
}
END_TEST

START_TEST(a_peer_that_has_no_room_is_busy)
{
    struct buf out = BUF_EMPTY;
    int status;
    struct outcome o;
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/full", BYTES_NONE, &status, &out), ERR_BUSY);
    outcome_init(&o); /* and it is seen that somebody said so */
    post(w.one, w.url, "/_r/v1/full", LONG_MS, &o);
    outcome_wait(&o, 1);
    ck_assert(o.e == ERR_BUSY && o.status == 503);
}
END_TEST

START_TEST(calls_to_one_that_is_given_up_end_and_those_to_others_go_on)
{
    struct outcome lost, kept;
    char url[64];
    outcome_init(&lost);
    outcome_init(&kept);
    int fd = listen_raw(url);
    for (int i = 0; i < 3; i++)
        peer_post(w.one, 3, url, "/_r/v1/echo", BYTES_OF("x"), LONG_MS,
                  (struct peer_call_done){outcome_done, &lost});
    post(w.one, w.url, "/_r/v1/park", LONG_MS, &kept);
    while (w.parked < 1)
        sched_yield();
    peer_give_up(w.one, 3);
    outcome_wait(&lost, 3);
    ck_assert(lost.counts[ERR_BUSY] == 3 && lost.status == 0);
    ck_assert_int_eq(kept.over, 0);
    http_wake(w.held);
    outcome_wait(&kept, 1);
    ck_assert_int_eq(kept.e, ERR_OK);
    close(fd);
}
END_TEST

START_TEST(it_is_known_when_a_peer_was_heard_and_only_what_verifies_counts)
{
    struct buf out = BUF_EMPTY;
    int status;
    int64_t begin_ms = clock_boot_ms(&w.clock);
    ck_assert_int_eq(peer_heard_ms(w.one, 2), INT64_MIN);
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/forge", BYTES_OF("x"), &status, &out), ERR_PERMISSION);
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/full", BYTES_OF("x"), &status, &out), ERR_BUSY);
    ck_assert_int_eq(peer_heard_ms(w.one, 2), INT64_MIN);
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/echo", BYTES_OF("x"), &status, &out), ERR_OK);
    ck_assert_int_ge(peer_heard_ms(w.one, 2), begin_ms);
    ck_assert_int_le(peer_heard_ms(w.one, 2), clock_boot_ms(&w.clock));
    ck_assert_int_eq(peer_heard_ms(w.one, 3), INT64_MIN);
    buf_fini(&out);
}
END_TEST

START_TEST(a_stop_ends_calls_that_run)
{
    struct outcome o;
    outcome_init(&o);
    for (int i = 0; i < 5; i++)
        post(w.one, w.url, "/_r/v1/park", LONG_MS, &o);
    while (w.parked < 5)
        sched_yield();
    post(w.one, w.url, "/_r/v1/park", LONG_MS, &o);
    peer_stop(w.one);
    w.one = NULL;
    ck_assert_int_eq(o.over, 6);
    ck_assert_int_eq(o.counts[ERR_STOPPING], 6);
}
END_TEST

START_TEST(a_stop_answers_what_is_parked)
{
    struct outcome o;
    outcome_init(&o);
    post(w.one, w.url, "/_r/v1/park", LONG_MS, &o);
    while (w.parked < 1)
        sched_yield();
    peer_stop(w.two);
    w.two = NULL;
    outcome_wait(&o, 1);
    ck_assert_int_eq(o.e, ERR_OK);
}
END_TEST

/* ---- what is refused ---- */

struct raw {
    const char *path;
    const char *body;
    const char *key;
    struct sign_head head;
};

static struct raw raw_good(void)
{
    static uint64_t count;
    return (struct raw){.path = "/_r/v1/echo",
                        .body = "hello",
                        .key = KEY,
                        .head = {.version = PEER_VERSION,
                                 .from = 3,
                                 .to = 2,
                                 .wall_ms = clock_wall_ms(&w.clock),
                                 .nonce = {77, ++count},
                                 .cluster = BYTES_OF("c")}};
}

/* Signs `r`, sends it with `body` as its body, and answers the status; the answer's body to `why`.
 */
static int raw_send(const struct raw *r, const char *path, const char *body, bool is_signed,
                    char why[200])
{
    struct http_client c = http_client_open(peer_port(w.two));
    struct http_answer a;
    struct digest_hmac key;
    struct buf text = BUF_EMPTY;
    sign_text signature;
    digest_hmac_init(&key, bytes_of_text(r->key));
    sign_request(&key, &r->head, bytes_of_text(r->path), bytes_of_text(r->body), signature);
    buf_put_format(&text, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n", path,
                   strlen(body));
    if (is_signed) {
        buf_put_text(&text, SIGN_PEER_HEADER ": ");
        sign_head_put(&text, &r->head);
        buf_put_format(&text, "\r\n" SIGN_SIGNATURE_HEADER ": %s\r\n", signature);
    }
    buf_put_format(&text, "\r\n%s", body);
    ck_assert(http_client_send(&c, text.at, text.n));
    ck_assert(http_client_answer(&c, false, &a));
    snprintf(why, 200, "%s", a.body);
    int status = a.status;
    http_answer_free(&a);
    http_client_close(&c);
    buf_fini(&text);
    return status;
}

static void ck_refused(const struct raw *r, int status, const char *line)
{
    char why[200];
    ck_assert_int_eq(raw_send(r, r->path, r->body, true, why), status);
    ck_assert_msg(strstr(why, line) != NULL, "%s", why);
}

START_TEST(what_is_not_signed_by_the_key_is_refused)
{
    struct raw r = raw_good();
    char why[200];
    ck_assert_int_eq(raw_send(&r, r.path, r.body, true, why), 201);
    r = raw_good();
    ck_assert_int_eq(raw_send(&r, r.path, r.body, false, why), 401);
    ck_assert_str_eq(why, "the request is not signed\n");
    r = raw_good();
    r.key = "0123456789abcdeX";
    ck_refused(&r, 401, "the signature is not of this cluster's key");
    r = raw_good();
    ck_assert_int_eq(raw_send(&r, r.path, "hellO", true, why), 401);
    ck_assert_int_eq(raw_send(&r, "/_r/v1/park", r.body, true, why), 401);
    ck_assert_int_eq(raw_send(&r, "/_r/v1/echo?a=b", r.body, true, why), 401);
    ck_assert_int_eq(raw_send(&r, r.path, r.body, true, why), 201); /* nothing of it was spent */
}
END_TEST

START_TEST(a_request_is_taken_once)
{
    struct raw r = raw_good();
    char why[200];
    ck_assert_int_eq(raw_send(&r, r.path, r.body, true, why), 201);
    ck_refused(&r, 401, "the request's nonce was used before");
}
END_TEST

START_TEST(a_request_of_another_time_is_refused)
{
    char why[200];
    struct raw r = raw_good();
    r.head.wall_ms -= 2 * 60 * 60 * 1000 + 2000;
    ck_refused(&r, 401, "the request's time is 7202 s from this clock");
    r = raw_good();
    r.head.wall_ms += 2 * 60 * 60 * 1000 + 2000;
    ck_refused(&r, 401, "the request's time is -720");
    r = raw_good();
    r.head.wall_ms -= 2 * 60 * 60 * 1000 - 2000;
    ck_assert_int_eq(raw_send(&r, r.path, r.body, true, why), 201);
}
END_TEST

START_TEST(a_request_that_is_meant_for_others_is_refused)
{
    struct raw r = raw_good();
    r.head.cluster = BYTES_OF("d");
    ck_refused(&r, 409, "the sender is of cluster d, this is c");
    r = raw_good();
    r.head.to = 9;
    ck_refused(&r, 409, "the request is for broker 9, this is broker 2");
    r = raw_good();
    r.head.version = 2;
    ck_refused(&r, 409, "version 2 of the brokers' protocol is spoken there, 1 here");
}
END_TEST

START_TEST(malformed_headers_are_refused)
{
    static const char *const texts[] = {"",
                                        "1",
                                        "1 2",
                                        "x",
                                        "01 1 2 5 " NONCE " c",
                                        "1 0 2 5 " NONCE " c",
                                        "1 65536 2 5 " NONCE " c",
                                        "1 +1 2 5 " NONCE " c",
                                        "1 1 2 -5 " NONCE " c",
                                        "1 1 2 5 " NONCE,
                                        "1 1 2 5 " NONCE " ",
                                        "1 1 2 5 " NONCE " c d",
                                        "1 1 2 5  " NONCE " c",
                                        "1 1 4294967296 5 " NONCE " c",
                                        "1 1 2 99999999999999999999 5 " NONCE " c",
                                        "1 1 2 5 0000000000000001 c",
                                        "1 1 2 5 00000000000000010000000000000000 c"};
    struct sign_head h;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ck_assert_msg(sign_head_parse(bytes_of_text(texts[i]), &h) == SIGN_MALFORMED, "%s",
                      texts[i]);
    }
    ck_assert_int_eq(sign_head_parse(BYTES_OF("1 1 2 5 00000000000000aB00000000000000ff c"), &h),
                     SIGN_PARSED);
    ck_assert_uint_eq(h.nonce.process, 0xab);
    ck_assert_uint_eq(h.nonce.count, 0xff);
    ck_assert_int_eq(sign_head_parse(BYTES_OF("2 whatever"), &h), SIGN_OTHER_VERSION);
}
END_TEST

START_TEST(refusals_and_forged_answers_are_not_believed)
{
    struct buf out = BUF_EMPTY;
    int status;
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/forge", BYTES_NONE, &status, &out), ERR_PERMISSION);
    ck_assert_int_eq(ask(w.one, 3, "/_r/v1/echo", BYTES_NONE, &status, &out), ERR_PERMISSION);
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/none", BYTES_NONE, &status, &out), ERR_PERMISSION);
    struct peer *other = start(1, "c", "another key, as long");
    ck_assert_int_eq(ask(other, 2, "/_r/v1/echo", BYTES_NONE, &status, &out), ERR_PERMISSION);
    peer_stop(other);
    ck_assert_int_eq(ask(w.one, 2, "/_r/v1/echo", BYTES_OF("a"), &status, &out), ERR_OK);
    buf_fini(&out);
}
END_TEST

START_TEST(an_answer_is_signed_for_one_request_and_one_status)
{
    struct digest_hmac key;
    struct sign_head h = raw_good().head, other = raw_good().head;
    sign_text a, b;
    digest_hmac_init(&key, BYTES_OF(KEY));
    sign_answer(&key, &h, 200, BYTES_OF("x"), a);
    sign_answer(&key, &other, 200, BYTES_OF("x"), b);
    ck_assert_str_ne(a, b);
    sign_answer(&key, &h, 201, BYTES_OF("x"), b);
    ck_assert_str_ne(a, b);
    sign_answer(&key, &h, 200, BYTES_OF("y"), b);
    ck_assert_str_ne(a, b);
    sign_answer(&key, &h, 200, BYTES_OF("x"), b);
    ck_assert_str_eq(a, b);
}
END_TEST

/* ---- nonces ---- */

START_TEST(a_window_of_nonces_moves_with_the_newest)
{
    struct seen s = {0};
    struct sign_nonce n = {5, SEEN_WINDOW};
    ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_NEW);
    for (n.count = 1; n.count < SEEN_WINDOW; n.count++)
        ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_NEW);
    for (n.count = 1; n.count <= SEEN_WINDOW; n.count++)
        ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_AGAIN);
    n.count = SEEN_WINDOW + 10;
    ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_NEW);
    n.count = SEEN_WINDOW + 1; /* overtaken, not seen */
    ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_NEW);
    ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_AGAIN);
    n.count = 11;
    ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_AGAIN);
    n.count = 1000000000;
    ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_NEW);
    n.count = SEEN_WINDOW + 2; /* never seen, but too old to tell */
    ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_AGAIN);
    n = (struct sign_nonce){6, 1};
    ck_assert_int_eq(seen_take(&s, n, 0, 100), SEEN_NEW);
    seen_fini(&s);
}
END_TEST

START_TEST(processes_are_forgotten_only_when_they_are_old)
{
    struct seen s = {0};
    struct sign_nonce n = {0, 1};
    for (n.process = 0; n.process < SEEN_WINDOWS_MAX; n.process++)
        ck_assert_int_eq(seen_take(&s, n, n.process == 3 ? 0 : 50, 100), SEEN_NEW);
    ck_assert_int_eq(seen_take(&s, n, 100, 100), SEEN_FULL);
    ck_assert_int_eq(seen_take(&s, n, 101, 100), SEEN_NEW);
    n.process = 4;
    ck_assert_int_eq(seen_take(&s, n, 101, 100), SEEN_AGAIN);
    seen_fini(&s);
}
END_TEST

START_TEST(a_process_that_is_long_silent_makes_room_and_none_of_its_calls_is_taken_any_more)
{
    struct seen s = {0};
    struct sign_nonce n = {0, 1};
    int64_t keep_ms = 100 * (int64_t)SEEN_SILENT_MS;
    for (n.process = 0; n.process < SEEN_WINDOWS_MAX; n.process++)
        ck_assert_int_eq(seen_take(&s, n, n.process == 3 ? 0 : 50, keep_ms), SEEN_NEW);
    ck_assert_int_eq(seen_take(&s, n, SEEN_SILENT_MS, keep_ms), SEEN_FULL);
    ck_assert_int_eq(seen_take(&s, n, SEEN_SILENT_MS + 1, keep_ms), SEEN_NEW);
    ck_assert_uint_eq(s.windows_n, SEEN_WINDOWS_MAX);
    n = (struct sign_nonce){3, 2}; /* never seen, but there is nothing to tell that by */
    ck_assert_int_eq(seen_take(&s, n, SEEN_SILENT_MS + 2, keep_ms), SEEN_AGAIN);
    n = (struct sign_nonce){4, 2};
    ck_assert_int_eq(seen_take(&s, n, SEEN_SILENT_MS + 2, keep_ms), SEEN_NEW);
    seen_fini(&s);
    ck_assert_uint_eq(s.windows_n, 0);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("peer");
    TCase *t = tcase_create("calls");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_call_is_answered);
    tcase_add_test(t, a_call_comes_from_the_address_that_was_given);
    tcase_add_test(t, many_calls_at_one_time_are_each_answered_once);
    tcase_add_test(t, options_that_make_no_sense_are_refused);
    tcase_add_test(t, a_refused_connect_is_told_from_a_broken_connection);
    tcase_add_test(t, what_was_sent_over_a_kept_connection_is_not_taken_for_refused);
    tcase_add_test(t, a_deadline_ends_a_call_to_a_peer_that_says_nothing);
    tcase_add_test(t, a_peer_that_has_no_room_is_busy);
    tcase_add_test(t, calls_to_one_that_is_given_up_end_and_those_to_others_go_on);
    tcase_add_test(t, it_is_known_when_a_peer_was_heard_and_only_what_verifies_counts);
    tcase_add_test(t, a_stop_ends_calls_that_run);
    tcase_add_test(t, a_stop_answers_what_is_parked);
    suite_add_tcase(s, t);
    t = tcase_create("signatures");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_is_not_signed_by_the_key_is_refused);
    tcase_add_test(t, a_request_is_taken_once);
    tcase_add_test(t, a_request_of_another_time_is_refused);
    tcase_add_test(t, a_request_that_is_meant_for_others_is_refused);
    tcase_add_test(t, malformed_headers_are_refused);
    tcase_add_test(t, refusals_and_forged_answers_are_not_believed);
    tcase_add_test(t, an_answer_is_signed_for_one_request_and_one_status);
    suite_add_tcase(s, t);
    t = tcase_create("nonces");
    tcase_add_test(t, a_window_of_nonces_moves_with_the_newest);
    tcase_add_test(t, processes_are_forgotten_only_when_they_are_old);
    tcase_add_test(
        t, a_process_that_is_long_silent_makes_room_and_none_of_its_calls_is_taken_any_more);
    suite_add_tcase(s, t);
    return s;
}

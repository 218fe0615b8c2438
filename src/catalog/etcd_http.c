// SPDX-License-Identifier: Apache-2.0
#include "catalog/etcd_http.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/etcd_json.h"

enum {
    ENDPOINTS_MAX = 9,
    /* Without a quorum etcd takes 7 s to say so; the next endpoint may know better. */
    ANSWER_MS = 2000,
    CONNECT_MS = 1000,
    ANSWER_BYTES_MAX = 64 << 20,
    TOKEN_TRIES = 2, /* a token dies with the member that gave it */
    /* A stream whose other end has vanished without a word ends after about 10 + 3 * 5 s. */
    STREAM_IDLE_S = 10,
    STREAM_PROBE_S = 5,
    STREAM_PROBES = 3,
    STREAM_LOOK_MS = 500, /* how often the clock is looked at before the first line */
};

struct etcd_http {
    char *endpoints[ENDPOINTS_MAX]; /* owned; without a slash at the end */
    size_t endpoints_n;
    size_t at;                                              /* the one that answered last */
    char *user, *password, *ca_file, *cert_file, *key_file; /* owned; NULL: none */
    struct buf token;                                       /* NUL-terminated; n = 0: none yet */
    struct clock clock;
    long answer_ms;
    int64_t until_ms;    /* by clock */
    atomic_bool stopped; /* by any thread */
    CURL *curl;
    CURLM *streams;
    struct buf answer;
    char why[CURL_ERROR_SIZE];
    bool ailing; /* the last call failed, and that was noted */
};

/* What became of one try at one endpoint. */
enum outcome { ANSWERED, NOT_SENT, UNKNOWN };

static char *copy_or_null(const char *text)
{
    return text == NULL || text[0] == '\0' ? NULL : mem_copy_text(text);
}

static bool url_ok(const char *url)
{
    CURLU *parsed = curl_url();
    char *scheme = NULL, *host = NULL;
    bool ok = curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(parsed);
    return ok;
}

/* "a,b,c" */
static bool read_endpoints(struct etcd_http *h, const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        struct bytes one = {text, n};
        text += n + (text[n] == ',');
        while (one.n > 0 && ((const char *)one.at)[one.n - 1] == '/')
            one.n--;
        if (one.n == 0 || h->endpoints_n == ENDPOINTS_MAX)
            return false;
        char *url = mem_new(one.n + 1);
        memcpy(url, one.at, one.n);
        h->endpoints[h->endpoints_n++] = url;
        if (!url_ok(url))
            return false;
    }
    return h->endpoints_n > 0;
}

/* Programs that are run beside this one must not get at the connection. */
static curl_socket_t socket_open(void *self, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)self;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    int probes = STREAM_PROBES; /* of those that ask for them at all */
    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    return fd;
}

/* curl asks about once a second, and whenever something happens. */
static int is_stopped(void *self, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct etcd_http *h = self;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return atomic_load(&h->stopped);
}

static size_t answer_take(char *at, size_t size, size_t n, void *self)
{
    struct etcd_http *h = self;
    if (h->answer.n + size * n > ANSWER_BYTES_MAX)
        return 0;
    buf_put(&h->answer, at, size * n);
    return size * n;
}

static void curl_prepare(struct etcd_http *h)
{
    h->curl = curl_easy_init();
    h->streams = curl_multi_init();
    CHECK(h->curl != NULL && h->streams != NULL);
    curl_easy_setopt(h->curl, CURLOPT_OPENSOCKETFUNCTION, socket_open);
    curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, h->why);
    curl_easy_setopt(h->curl, CURLOPT_XFERINFOFUNCTION, is_stopped);
    curl_easy_setopt(h->curl, CURLOPT_XFERINFODATA, h);
    curl_easy_setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
    /* One request a connection at one time, so that what may have been sent can be told. */
    curl_easy_setopt(h->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(h->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(h->curl, CURLOPT_USERAGENT, "leaselog");
    if (h->ca_file != NULL)
        curl_easy_setopt(h->curl, CURLOPT_CAINFO, h->ca_file);
    if (h->cert_file != NULL)
        curl_easy_setopt(h->curl, CURLOPT_SSLCERT, h->cert_file);
    if (h->key_file != NULL)
        curl_easy_setopt(h->curl, CURLOPT_SSLKEY, h->key_file);
}

enum err etcd_http_new(const struct catalog_etcd_options *o, struct etcd_http **out)
{
    struct etcd_http *h = mem_new(sizeof *h);
    h->clock = o->clock != NULL ? *o->clock : clock_system();
    h->until_ms = INT64_MAX;
    h->answer_ms = o->answer_ms > 0 ? (long)o->answer_ms : ANSWER_MS;
    h->user = copy_or_null(o->user);
    h->password = copy_or_null(o->password);
    h->ca_file = copy_or_null(o->ca_file);
    h->cert_file = copy_or_null(o->cert_file);
    h->key_file = copy_or_null(o->key_file);
    if (!read_endpoints(h, o->endpoints)) {
        etcd_http_free(h);
        return ERR_INVALID;
    }
    curl_prepare(h);
    *out = h;
    return ERR_OK;
}

struct etcd_http *etcd_http_again(const struct etcd_http *h)
{
    struct etcd_http *again = mem_new(sizeof *again);
    again->clock = h->clock;
    again->until_ms = INT64_MAX;
    again->answer_ms = h->answer_ms;
    again->user = copy_or_null(h->user);
    again->password = copy_or_null(h->password);
    again->ca_file = copy_or_null(h->ca_file);
    again->cert_file = copy_or_null(h->cert_file);
    again->key_file = copy_or_null(h->key_file);
    for (; again->endpoints_n < h->endpoints_n; again->endpoints_n++)
        again->endpoints[again->endpoints_n] = mem_copy_text(h->endpoints[again->endpoints_n]);
    curl_prepare(again);
    return again;
}

const struct clock *etcd_http_clock(const struct etcd_http *h)
{
    return &h->clock;
}

void etcd_http_until(struct etcd_http *h, int64_t boot_ms)
{
    h->until_ms = boot_ms;
}

void etcd_http_stop(struct etcd_http *h)
{
    atomic_store(&h->stopped, true);
    (void)curl_multi_wakeup(h->streams);
}

void etcd_http_resume(struct etcd_http *h)
{
    atomic_store(&h->stopped, false);
}

void etcd_http_free(struct etcd_http *h)
{
    if (h == NULL)
        return;
    curl_easy_cleanup(h->curl);
    curl_multi_cleanup(h->streams);
    for (size_t i = 0; i < h->endpoints_n; i++)
        mem_free(h->endpoints[i]);
    mem_free(h->user);
    mem_free(h->password);
    mem_free(h->ca_file);
    mem_free(h->cert_file);
    mem_free(h->key_file);
    buf_fini(&h->token);
    buf_fini(&h->answer);
    mem_free(h);
}

/* ---- one try ---- */

/* The token is the header's whole value: etcd wants no "Bearer" before it. */
static struct curl_slist *headers_of(const struct etcd_http *h)
{
    struct buf line = BUF_EMPTY;
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    if (h->token.n > 0) {
        buf_put_format(&line, "Authorization: %s", h->token.at);
        buf_put_u8(&line, 0);
        list = curl_slist_append(list, line.at);
        buf_fini(&line);
    }
    CHECK(list != NULL);
    return list;
}

/* Before a connection stands nothing can have been sent. */
static bool surely_not_sent(const struct etcd_http *h, CURLcode code)
{
    double ready_s = 0;
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        return true;
    return curl_easy_getinfo(h->curl, CURLINFO_PRETRANSFER_TIME, &ready_s) == CURLE_OK &&
           ready_s <= 0;
}

/* The headers belong to the caller until the request is over. */
static void request_prepare(struct etcd_http *h, const char *path, struct bytes body,
                            struct curl_slist *headers)
{
    struct buf url = BUF_EMPTY;
    buf_put_format(&url, "%s/v3/%s", h->endpoints[h->at], path);
    buf_put_u8(&url, 0);
    buf_clear(&h->answer);
    h->why[0] = '\0';
    curl_easy_setopt(h->curl, CURLOPT_URL, url.at); /* copied */
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, body.at);
    curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE, (long)body.n);
    buf_fini(&url);
}

/* A write takes a connection of its own: on one that was kept curl would send again, by itself,
 * what the other side may have carried out before it closed. */
static enum outcome try_one(struct etcd_http *h, const char *path, struct bytes body, bool writes,
                            long *status)
{
    int64_t left_ms = h->until_ms - clock_boot_ms(&h->clock);
    if (left_ms <= 0 || atomic_load(&h->stopped)) {
        snprintf(h->why, sizeof h->why, "no time is left");
        return NOT_SENT;
    }
    struct curl_slist *headers = headers_of(h);
    request_prepare(h, path, body, headers);
    curl_easy_setopt(h->curl, CURLOPT_FRESH_CONNECT, writes ? 1L : 0L);
    curl_easy_setopt(h->curl, CURLOPT_FORBID_REUSE, 0L);
    curl_easy_setopt(h->curl, CURLOPT_TCP_KEEPALIVE, 0L);
    curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, answer_take);
    curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, h);
    curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS,
                     left_ms < h->answer_ms ? (long)left_ms : h->answer_ms);
    CURLcode code = curl_easy_perform(h->curl);
    curl_slist_free_all(headers);
    if (code == CURLE_OK) {
        CHECK(curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, status) == CURLE_OK);
        return ANSWERED;
    }
    if (h->why[0] == '\0')
        snprintf(h->why, sizeof h->why, "%s", curl_easy_strerror(code));
    return surely_not_sent(h, code) ? NOT_SENT : UNKNOWN;
}

/* ---- answers that are refusals ---- */

/* 500 and 503 are "no leader", "request timed out" and the like: it may be carried out yet. */
static enum err status_err(struct etcd_http *h, long status, enum outcome *outcome)
{
    if (status == 200)
        return ERR_OK;
    etcd_take_error(buf_bytes(&h->answer), h->why, sizeof h->why);
    switch (status) {
    case 429:
        return ERR_NO_SPACE;
    case 401:
    case 403:
        return ERR_PERMISSION;
    case 404: /* of other things too, when this is no etcd */
        if (strstr(h->why, "lease not found") != NULL)
            return ERR_NOT_FOUND;
        *outcome = UNKNOWN;
        return ERR_BUSY;
    case 413:
        return ERR_TOO_BIG;
    case 400:
        return strstr(h->why, "too large") != NULL ? ERR_TOO_BIG : ERR_INVALID;
    default:
        *outcome = UNKNOWN;
        return ERR_BUSY;
    }
}

static void note_health(struct etcd_http *h, enum err e)
{
    bool ill = e != ERR_OK && e != ERR_NOT_FOUND;
    if (atomic_load(&h->stopped))
        return;
    if (ill && !h->ailing)
        note(NOTE_WARNING, "catalog", "etcd at %s: %s (%s)", h->endpoints[h->at], err_text(e),
             h->why);
    else if (!ill && h->ailing)
        note(NOTE_INFO, "catalog", "etcd at %s answers again", h->endpoints[h->at]);
    h->ailing = ill;
}

/* ---- asking ---- */

static enum err ask_all(struct etcd_http *h, const char *path, struct bytes body, bool writes)
{
    enum err e = ERR_BUSY;
    for (size_t tries = 0; tries < h->endpoints_n; tries++) {
        long status = 0;
        enum outcome outcome = try_one(h, path, body, writes, &status);
        e = outcome == ANSWERED ? status_err(h, status, &outcome) : ERR_BUSY;
        if (outcome == ANSWERED || atomic_load(&h->stopped))
            return e;
        h->at = (h->at + 1) % h->endpoints_n;
        if (outcome == UNKNOWN && writes)
            return e;
    }
    return e;
}

static enum err login(struct etcd_http *h)
{
    struct buf body = BUF_EMPTY;
    buf_clear(&h->token);
    etcd_put_login(&body, h->user, h->password == NULL ? "" : h->password);
    enum err e = ask_all(h, "auth/authenticate", buf_bytes(&body), false);
    buf_fini(&body);
    return e == ERR_OK ? etcd_take_token(buf_bytes(&h->answer), &h->token) : e;
}

enum err etcd_http_ask(struct etcd_http *h, const char *path, struct bytes body, bool writes,
                       struct bytes *answer)
{
    enum err e = ERR_OK;
    for (int tries = 0; tries < TOKEN_TRIES; tries++) {
        e = h->user != NULL && h->token.n == 0 ? login(h) : ERR_OK;
        if (e == ERR_OK)
            e = ask_all(h, path, body, writes);
        if (e != ERR_PERMISSION || h->user == NULL)
            break;
        buf_clear(&h->token);
    }
    note_health(h, e);
    if (e == ERR_OK)
        *answer = buf_bytes(&h->answer);
    return e;
}

void etcd_http_pass_by(struct etcd_http *h)
{
    h->at = (h->at + 1) % h->endpoints_n;
    buf_clear(&h->token);
}

/* ---- streams ---- */

struct stream {
    struct etcd_http *h;
    bool (*line)(void *self, struct bytes line);
    void *self;
    bool heard; /* the first line has come */
};

/* Takes whole lines off what has come so far. */
static bool lines_take(struct stream *s)
{
    struct buf *all = &s->h->answer;
    size_t done = 0;
    for (char *end; (end = memchr(all->at + done, '\n', all->n - done)) != NULL;) {
        struct bytes line = {all->at + done, (size_t)(end - all->at) - done};
        s->heard = true;
        if (line.n > 0 && !s->line(s->self, line))
            return false;
        done += line.n + 1;
    }
    memmove(all->at, all->at + done, all->n - done);
    all->n -= done;
    return true;
}

static size_t stream_take(char *at, size_t size, size_t n, void *self)
{
    struct stream *s = self;
    long status = 0;
    size_t took = answer_take(at, size, n, s->h);
    CHECK(curl_easy_getinfo(s->h->curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK);
    if (took == 0 || status != 200)
        return took; /* a refusal is read to its end */
    return lines_take(s) ? took : 0;
}

/* Until the stream ends, is stopped, or does not begin. */
static CURLcode stream_run(struct stream *s)
{
    struct etcd_http *h = s->h;
    int64_t begun_ms = clock_boot_ms(&h->clock);
    int running = 1, left;
    while (!atomic_load(&h->stopped)) {
        CHECK(curl_multi_perform(h->streams, &running) == CURLM_OK);
        const CURLMsg *over = curl_multi_info_read(h->streams, &left);
        if (over != NULL)
            return over->data.result;
        if (!s->heard && clock_boot_ms(&h->clock) - begun_ms > h->answer_ms)
            return CURLE_OPERATION_TIMEDOUT;
        CHECK(curl_multi_poll(h->streams, NULL, 0, STREAM_LOOK_MS, NULL) == CURLM_OK);
    }
    return CURLE_ABORTED_BY_CALLBACK;
}

/* Without the leader's mark a member that has lost its cluster keeps the stream open and silent. */
static struct curl_slist *stream_headers(const struct etcd_http *h)
{
    struct curl_slist *list = headers_of(h);
    list = curl_slist_append(list, "Grpc-Metadata-hasleader: true");
    CHECK(list != NULL);
    return list;
}

static enum err stream_once(struct stream *s, const char *path, struct bytes body)
{
    struct etcd_http *h = s->h;
    long status = 0;
    enum outcome outcome = ANSWERED;
    struct curl_slist *headers = stream_headers(h);
    request_prepare(h, path, body, headers);
    curl_easy_setopt(h->curl, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(h->curl, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(h->curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(h->curl, CURLOPT_TCP_KEEPIDLE, (long)STREAM_IDLE_S);
    curl_easy_setopt(h->curl, CURLOPT_TCP_KEEPINTVL, (long)STREAM_PROBE_S);
    curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, 0L);
    curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, stream_take);
    curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, s);
    CHECK(curl_multi_add_handle(h->streams, h->curl) == CURLM_OK);
    CURLcode code = stream_run(s);
    (void)curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    CHECK(curl_multi_remove_handle(h->streams, h->curl) == CURLM_OK);
    curl_slist_free_all(headers);
    if (s->heard)
        return ERR_OK;
    if (code == CURLE_OK && status != 200)
        return status_err(h, status, &outcome);
    if (h->why[0] == '\0')
        snprintf(h->why, sizeof h->why, "%s", curl_easy_strerror(code));
    return ERR_BUSY;
}

void etcd_http_stream(struct etcd_http *h, const char *path, struct bytes body,
                      bool (*line)(void *self, struct bytes line), void *self)
{
    struct stream s = {.h = h, .line = line, .self = self};
    /* Each stream has a login of its own: a token has died of age or with its member by the time
     * that the next one begins, and a watch with a dead one is created and canceled, with 200. */
    enum err e = h->user != NULL ? login(h) : ERR_OK;
    if (e == ERR_OK)
        e = stream_once(&s, path, body);
    note_health(h, e);
    etcd_http_pass_by(h);
}

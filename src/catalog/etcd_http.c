// SPDX-License-Identifier: Apache-2.0
#include "catalog/etcd_http.h"

#include <curl/curl.h>
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
};

struct etcd_http {
    char *endpoints[ENDPOINTS_MAX]; /* owned; without a slash at the end */
    size_t endpoints_n;
    size_t at;                                              /* the one that answered last */
    char *user, *password, *ca_file, *cert_file, *key_file; /* owned; NULL: none */
    struct buf token;                                       /* NUL-terminated; n = 0: none yet */
    long answer_ms;
    CURL *curl;
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
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
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
    CHECK(h->curl != NULL);
    curl_easy_setopt(h->curl, CURLOPT_OPENSOCKETFUNCTION, socket_open);
    curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, h->why);
    curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, answer_take);
    curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, h);
    curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(h->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, h->answer_ms);
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

void etcd_http_free(struct etcd_http *h)
{
    if (h == NULL)
        return;
    curl_easy_cleanup(h->curl);
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

/* A write takes a connection of its own: on one that was kept curl would send again, by itself,
 * what the other side may have carried out before it closed. */
static enum outcome try_one(struct etcd_http *h, const char *path, struct bytes body, bool writes,
                            long *status)
{
    struct buf url = BUF_EMPTY;
    buf_put_format(&url, "%s/v3/%s", h->endpoints[h->at], path);
    buf_put_u8(&url, 0);
    struct curl_slist *headers = headers_of(h);
    buf_clear(&h->answer);
    h->why[0] = '\0';
    curl_easy_setopt(h->curl, CURLOPT_URL, url.at);
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, body.at);
    curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE, (long)body.n);
    curl_easy_setopt(h->curl, CURLOPT_FRESH_CONNECT, writes ? 1L : 0L);
    CURLcode code = curl_easy_perform(h->curl);
    curl_slist_free_all(headers);
    buf_fini(&url);
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
    bool ill = e != ERR_OK;
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
        if (outcome == ANSWERED)
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

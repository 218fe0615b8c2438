// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "cli/text.h"

/* Ten messages of 1 MiB of which each byte is escaped with six. */
enum { ANSWER_BYTES_MAX = 80 << 20, WATCHED_MAX = 2 };

struct cli_client {
    const struct cli_args *args;
    CURL *curl;
    CURLM *multi; /* drives curl, so that other descriptors can be watched meanwhile */
    const struct pollfd *watched;
    size_t watched_n;
    char *server; /* owned; without a slash at its end */
    char why[CURL_ERROR_SIZE];
    struct buf answer;
    bool too_big;
};

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list args)
{
    flockfile(stderr); /* one line, whatever other threads say */
    fputs("leaselog: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void cli_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void cli_hint(const struct cli_args *a, const char *format, ...)
{
    va_list args;
    if (a->quiet)
        return;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

/* Programs that are run beside this one must not get at the connection. */
static curl_socket_t socket_open(void *self, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)self;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool url_ok(const char *url)
{
    CURLU *parsed = curl_url();
    char *scheme = NULL;
    bool ok = curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    curl_free(scheme);
    curl_url_cleanup(parsed);
    return ok;
}

static size_t answer_take(char *at, size_t size, size_t n, void *self)
{
    struct cli_client *c = self;
    if (c->answer.n + size * n > ANSWER_BYTES_MAX) {
        c->too_big = true;
        return 0;
    }
    buf_put(&c->answer, at, size * n);
    return size * n;
}

struct cli_client *cli_client_new(const struct cli_args *args, enum cli_exit *why)
{
    const char *from_env = getenv("LEASELOG_URL");
    const char *server = args->server;
    if (server == NULL && from_env != NULL && from_env[0] != '\0')
        server = from_env;
    if (server == NULL)
        server = "http://127.0.0.1:9324";
    if (!url_ok(server)) {
        cli_say("%s: '%s' is no http:// or https:// URL",
                args->server != NULL ? "--server" : "LEASELOG_URL", server);
        *why = args->server != NULL ? CLI_USAGE : CLI_CONFIG;
        return NULL;
    }
    struct cli_client *c = mem_new(sizeof *c);
    c->args = args;
    c->server = mem_copy_text(server);
    for (size_t n = strlen(c->server); n > 0 && c->server[n - 1] == '/'; n--)
        c->server[n - 1] = '\0';
    c->curl = curl_easy_init();
    c->multi = curl_multi_init();
    CHECK(c->curl != NULL && c->multi != NULL);
    curl_easy_setopt(c->curl, CURLOPT_OPENSOCKETFUNCTION, socket_open);
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->why);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, answer_take);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c->curl, CURLOPT_USERAGENT, "leaselog-cli");
    return c;
}

void cli_client_free(struct cli_client *c)
{
    if (c == NULL)
        return;
    curl_easy_cleanup(c->curl);
    curl_multi_cleanup(c->multi);
    buf_fini(&c->answer);
    mem_free(c->server);
    mem_free(c);
}

const char *cli_client_server(const struct cli_client *c)
{
    return c->server;
}

void cli_client_watch(struct cli_client *c, const struct pollfd *watched, size_t n)
{
    CHECK(n <= WATCHED_MAX);
    c->watched = watched;
    c->watched_n = n;
}

static bool watched_wait(const struct cli_client *c, int ms)
{
    struct pollfd fds[WATCHED_MAX];
    memcpy(fds, c->watched, c->watched_n * sizeof fds[0]);
    return poll(fds, c->watched_n, ms) > 0;
}

void cli_client_pause(const struct cli_client *c, int ms)
{
    if (c->watched_n == 0)
        (void)poll(NULL, 0, ms);
    else
        (void)watched_wait(c, ms);
}

bool cli_client_stopped(const struct cli_client *c)
{
    return c->watched_n > 0 && watched_wait(c, 0);
}

/* What one request is made of. */
struct request {
    const char *method, *path;
    struct curl_slist *headers;
    const struct buf *body; /* NULL: none */
    int64_t wait_s;
};

/* -v: what a person would type to ask the same. */
static void request_show(const struct cli_client *c, const struct request *r, const char *url)
{
    struct buf line = BUF_EMPTY;
    if (!c->args->verbose)
        return;
    buf_put_text(&line, "curl -sS");
    if (strcmp(r->method, r->body == NULL ? "GET" : "POST") != 0)
        buf_put_format(&line, " -X %s", r->method);
    for (const struct curl_slist *h = r->headers; h != NULL; h = h->next) {
        buf_put_text(&line, " -H ");
        cli_shell_quote(&line, bytes_of_text(h->data));
    }
    if (r->body != NULL) {
        buf_put_text(&line, " --data-raw ");
        cli_shell_quote(&line, buf_bytes(r->body));
    }
    buf_put_text(&line, " ");
    cli_shell_quote(&line, bytes_of_text(url));
    buf_put_text(&line, "\n");
    fwrite(line.at, 1, line.n, stderr);
    buf_fini(&line);
}

static void request_set(struct cli_client *c, const struct request *r, const char *url)
{
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, r->headers);
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, (long)(c->args->timeout_s + r->wait_s));
    if (r->body != NULL || strcmp(r->method, "POST") == 0) {
        curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)(r->body == NULL ? 0 : r->body->n));
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, r->body == NULL ? "" : r->body->at);
    } else {
        curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, r->method);
}

/* As curl_easy_perform, but *stopped and no result when a watched descriptor has an event. */
static CURLcode perform(struct cli_client *c, bool waits, bool *stopped)
{
    struct curl_waitfd extra[WATCHED_MAX] = {{0}};
    unsigned extra_n = waits ? (unsigned)c->watched_n : 0;
    CURLcode code = CURLE_OK;
    int running = 1, left;
    for (unsigned i = 0; i < extra_n; i++) {
        extra[i].fd = c->watched[i].fd;
        extra[i].events = (c->watched[i].events & POLLIN) != 0 ? CURL_WAIT_POLLIN : 0;
    }
    *stopped = false;
    CHECK(curl_multi_add_handle(c->multi, c->curl) == CURLM_OK);
    for (;;) {
        CHECK(curl_multi_perform(c->multi, &running) == CURLM_OK);
        if (running == 0)
            break;
        /* curl passes no POLLERR on, which is how a pipe without a reader shows: so ask again. */
        if (extra_n > 0 && cli_client_stopped(c)) {
            *stopped = true;
            break;
        }
        CHECK(curl_multi_poll(c->multi, extra, extra_n, 1000, NULL) == CURLM_OK);
    }
    const CURLMsg *end = curl_multi_info_read(c->multi, &left);
    if (end != NULL && end->msg == CURLMSG_DONE)
        code = end->data.result;
    CHECK(curl_multi_remove_handle(c->multi, c->curl) == CURLM_OK);
    return code;
}

static enum cli_exit transfer(struct cli_client *c, const struct request *r, long *status)
{
    struct buf url = BUF_EMPTY;
    bool stopped;
    buf_put_format(&url, "%s%s", c->server, r->path);
    buf_put_u8(&url, 0);
    request_show(c, r, url.at);
    buf_clear(&c->answer);
    c->why[0] = '\0';
    request_set(c, r, url.at);
    CURLcode code = perform(c, r->wait_s > 0, &stopped);
    buf_fini(&url);
    if (stopped)
        return CLI_EMPTY;
    if (code == CURLE_OK) {
        curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, status);
        return CLI_OK;
    }
    cli_say("%s: %s", c->server,
            c->too_big          ? "the answer is too large"
            : c->why[0] != '\0' ? c->why
                                : curl_easy_strerror(code));
    if (code == CURLE_COULDNT_CONNECT)
        cli_hint(c->args, "is the broker running? It is started with: leaselog serve");
    return c->too_big ? CLI_FAILURE : CLI_UNAVAILABLE;
}

enum cli_exit cli_fault_say(const struct cli_fault *fault)
{
    if (fault->code[0] != '\0')
        cli_say("%s: %s", fault->code, fault->message);
    else if (fault->message[0] != '\0')
        cli_say("%s (HTTP status %ld)", fault->message, fault->status);
    else
        cli_say("the broker answered with HTTP status %ld", fault->status);
    return cli_exit_of_answer(fault->status, fault->code);
}

/* The answer's object; `{}` when the body is empty. */
static enum cli_exit answer_object(struct cli_client *c, json_t **reply)
{
    json_t *root = c->answer.n == 0 ? json_object()
                                    : json_loadb(c->answer.at, c->answer.n, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        cli_say("%s: the answer is not JSON; is this a leaselog broker?", c->server);
        return CLI_FAILURE;
    }
    *reply = root;
    return CLI_OK;
}

static enum cli_exit body_of(json_t *request, struct buf *body)
{
    char *text = request == NULL ? NULL : json_dumps(request, JSON_COMPACT);
    json_decref(request);
    if (text == NULL) { /* jansson takes only UTF-8 */
        cli_say("a word or the message is not UTF-8");
        return CLI_FAILURE;
    }
    buf_put_text(body, text);
    free(text);
    return CLI_OK;
}

static struct curl_slist *headers_new(const char *first, const char *second)
{
    struct curl_slist *headers = curl_slist_append(NULL, first);
    if (second != NULL)
        headers = curl_slist_append(headers, second);
    headers = curl_slist_append(headers, "Expect:"); /* no round trip to ask leave for a big body */
    CHECK(headers != NULL);
    return headers;
}

enum cli_exit cli_client_call(struct cli_client *c, const char *action, json_t *request,
                              int64_t wait_s, json_t **reply)
{
    struct buf body = BUF_EMPTY;
    struct cli_fault fault;
    char target[64];
    long status = 0;
    enum cli_exit e = body_of(request, &body);
    if (e != CLI_OK)
        return e;
    (void)snprintf(target, sizeof target, "X-Amz-Target: AmazonSQS.%s", action);
    struct curl_slist *headers = headers_new(target, "Content-Type: application/x-amz-json-1.0");
    struct request r = {"POST", "/", headers, &body, wait_s};
    e = transfer(c, &r, &status);
    curl_slist_free_all(headers);
    buf_fini(&body);
    if (e != CLI_OK)
        return e;
    if (status >= 200 && status < 300)
        return answer_object(c, reply);
    cli_fault_read(status, buf_bytes(&c->answer), &fault);
    return cli_fault_say(&fault);
}

enum cli_exit cli_client_rest(struct cli_client *c, const char *method, const char *path,
                              json_t *request, json_t **reply, struct cli_fault *fault)
{
    struct buf body = BUF_EMPTY;
    struct cli_fault own;
    long status = 0;
    enum cli_exit e = CLI_OK;
    if (fault != NULL)
        *fault = (struct cli_fault){.status = 0};
    struct request r = {method, path, NULL, NULL, 0};
    if (request != NULL) {
        e = body_of(request, &body);
        if (e != CLI_OK)
            return e;
        r.body = &body;
        r.headers = headers_new("Content-Type: application/json", NULL);
    }
    e = transfer(c, &r, &status);
    curl_slist_free_all(r.headers);
    buf_fini(&body);
    if (e != CLI_OK)
        return e;
    if (status >= 200 && status < 300)
        return reply == NULL ? CLI_OK : answer_object(c, reply);
    cli_fault_read(status, buf_bytes(&c->answer), fault == NULL ? &own : fault);
    return fault == NULL ? cli_fault_say(&own) : cli_exit_of_answer(status, fault->code);
}

enum cli_exit cli_client_get(struct cli_client *c, const char *path, struct buf *body, long *status)
{
    struct request r = {"GET", path, NULL, NULL, 0};
    enum cli_exit e = transfer(c, &r, status);
    if (e == CLI_OK)
        buf_put_bytes(body, buf_bytes(&c->answer));
    return e;
}

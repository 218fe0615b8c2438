// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/text.h"

/* Ten messages of 1 MiB of which each byte is escaped with six. */
enum { ANSWER_BYTES_MAX = 80 << 20 };

struct cli_client {
    const struct cli_args *args;
    CURL *curl;
    char *server; /* owned; without a slash at its end */
    char why[CURL_ERROR_SIZE];
    struct buf answer;
    bool too_big;
};

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list args)
{
    fputs("leaselog: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
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
    CHECK(c->curl != NULL);
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
    buf_fini(&c->answer);
    mem_free(c->server);
    mem_free(c);
}

/* -v: what a person would type to ask the same. */
static void request_show(const struct cli_client *c, const char *url,
                         const struct curl_slist *headers, const struct buf *body)
{
    struct buf line = BUF_EMPTY;
    if (!c->args->verbose)
        return;
    buf_put_text(&line, "curl -sS");
    for (; headers != NULL; headers = headers->next) {
        buf_put_text(&line, " -H ");
        cli_shell_quote(&line, bytes_of_text(headers->data));
    }
    if (body != NULL) {
        buf_put_text(&line, " --data-raw ");
        cli_shell_quote(&line, buf_bytes(body));
    }
    buf_put_text(&line, " ");
    cli_shell_quote(&line, bytes_of_text(url));
    buf_put_text(&line, "\n");
    fwrite(line.at, 1, line.n, stderr);
    buf_fini(&line);
}

static enum cli_exit transfer(struct cli_client *c, const char *path, struct curl_slist *headers,
                              const struct buf *body, int64_t wait_s, long *status)
{
    struct buf url = BUF_EMPTY;
    buf_put_format(&url, "%s%s", c->server, path);
    buf_put_u8(&url, 0);
    request_show(c, url.at, headers, body);
    buf_clear(&c->answer);
    c->why[0] = '\0';
    curl_easy_setopt(c->curl, CURLOPT_URL, url.at);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, (long)(c->args->timeout_s + wait_s));
    if (body != NULL) {
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->n);
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body->at);
    } else {
        curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
    }
    CURLcode code = curl_easy_perform(c->curl);
    buf_fini(&url);
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

enum cli_exit cli_client_fault(long status, struct bytes body)
{
    struct cli_fault fault;
    cli_fault_read(body, &fault);
    if (fault.code[0] != '\0')
        cli_say("%s: %s", fault.code, fault.message);
    else if (fault.message[0] != '\0')
        cli_say("%s (HTTP status %ld)", fault.message, status);
    else
        cli_say("the broker answered with HTTP status %ld", status);
    return cli_exit_of_answer(status, fault.code);
}

enum cli_exit cli_client_call(struct cli_client *c, const char *action, json_t *request,
                              int64_t wait_s, json_t **reply)
{
    struct buf body = BUF_EMPTY;
    char target[64];
    long status = 0;
    char *text = request == NULL ? NULL : json_dumps(request, JSON_COMPACT);
    json_decref(request);
    if (text == NULL) { /* jansson takes only UTF-8 */
        cli_say("the message is not UTF-8");
        return CLI_FAILURE;
    }
    buf_put_text(&body, text);
    free(text);
    (void)snprintf(target, sizeof target, "X-Amz-Target: AmazonSQS.%s", action);
    struct curl_slist *headers = curl_slist_append(NULL, target);
    headers = curl_slist_append(headers, "Content-Type: application/x-amz-json-1.0");
    headers = curl_slist_append(headers, "Expect:"); /* no round trip to ask leave for a big body */
    CHECK(headers != NULL);
    enum cli_exit e = transfer(c, "/", headers, &body, wait_s, &status);
    curl_slist_free_all(headers);
    buf_fini(&body);
    if (e != CLI_OK)
        return e;
    if (status < 200 || status >= 300)
        return cli_client_fault(status, buf_bytes(&c->answer));
    /* Actions that tell nothing answer with an empty body. */
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

enum cli_exit cli_client_get(struct cli_client *c, const char *path, struct buf *body, long *status)
{
    enum cli_exit e = transfer(c, path, NULL, NULL, 0, status);
    if (e == CLI_OK)
        buf_put_bytes(body, buf_bytes(&c->answer));
    return e;
}

// SPDX-License-Identifier: Apache-2.0
/* libmicrohttpd calls: with the target of the request line; with the head, when no byte of the body
 * is known; with pieces of the body; with the whole request, perhaps several times; and when the
 * request is over. An answer given at the head always ends the connection, so refusals wait for the
 * whole request where its body is small. */
#include <string.h>

#include "base/check.h"
#include "http/inside.h"

/* A refused request's body up to this is read, so that the connection can go on. */
enum { SWALLOW_BYTES_MAX = 64 * 1024, BODY_FIRST_BYTES = 4096 };

static const struct {
    const char *name;
    enum http_method method;
} methods[] = {
    {"GET", HTTP_GET},     {"HEAD", HTTP_HEAD},     {"POST", HTTP_POST},       {"PUT", HTTP_PUT},
    {"PATCH", HTTP_PATCH}, {"DELETE", HTTP_DELETE}, {"OPTIONS", HTTP_OPTIONS},
};
enum { METHODS_N = sizeof methods / sizeof methods[0] };

static enum http_method method_parse(const char *name)
{
    for (size_t i = 0; i < METHODS_N; i++)
        if (strcmp(name, methods[i].name) == 0)
            return methods[i].method;
    return HTTP_OTHER;
}

void *receive_target(void *loop, const char *target, struct MHD_Connection *mhd)
{
    struct http_loop *l = loop;
    struct conn *c = conn_of(mhd);
    CHECK(c->request == NULL);
    struct http_request *r = request_new(l, c);
    c->request = r;
    r->raw_target = target;
    r->target = arena_copy(&r->arena, bytes_of_text(target));
    request_target_split(r);
    /* Next libmicrohttpd would cut the query into arguments, undo its percent-coding, and spend the
     * connection's memory on a struct for each: a long query then breaks its state. An empty query
     * is left alone. The bytes are its receive buffer, not constant, and we have our copy. */
    char *mark = strchr((char *)(uintptr_t)target, '?');
    if (mark != NULL && mark[1] != '\0')
        mark[1] = '\0';
    return r;
}

/* ---- routes ---- */

static bool path_matches(const char *pattern, struct bytes path)
{
    size_t n = strlen(pattern);
    if (n > 0 && pattern[n - 1] == '*')
        return bytes_start_with(path, (struct bytes){pattern, n - 1});
    return bytes_equal(path, (struct bytes){pattern, n});
}

static bool method_matches(enum http_method wanted, enum http_method got)
{
    return wanted == HTTP_OTHER || wanted == got || (wanted == HTTP_GET && got == HTTP_HEAD);
}

static const struct http_route *route_find(const struct http_request *r)
{
    const struct http_options *o = &r->loop->server->options;
    for (size_t i = 0; i < o->routes_n; i++)
        if (method_matches(o->routes[i].method, r->method) &&
            path_matches(o->routes[i].path, r->path))
            return &o->routes[i];
    return NULL;
}

/* The methods that the path knows, as Allow wants them; NULL: the path is unknown. */
static const char *allowed(struct http_request *r)
{
    const struct http_options *o = &r->loop->server->options;
    char text[64] = "";
    size_t n = 0;
    for (size_t m = 0; m < METHODS_N; m++)
        for (size_t i = 0; i < o->routes_n; i++) {
            if (!method_matches(o->routes[i].method, methods[m].method) ||
                !path_matches(o->routes[i].path, r->path))
                continue;
            const char *comma = n == 0 ? "" : ", ";
            size_t more = strlen(comma) + strlen(methods[m].name);
            CHECK(n + more < sizeof text);
            memcpy(text + n, comma, strlen(comma));
            memcpy(text + n + strlen(comma), methods[m].name, strlen(methods[m].name) + 1);
            n += more;
            break;
        }
    return n == 0 ? NULL : arena_copy(&r->arena, (struct bytes){text, n}).at;
}

/* ---- refusals ---- */

/* At once; the connection ends. Past libmicrohttpd, where it takes no answer (in the middle of a
 * body) or has no memory for one (behind a large head). */
static enum MHD_Result refuse_direct(struct http_request *r, int status, const char *text)
{
    r->direct = true;
    r->refuse_status = status;
    reply_refuse(r, status, text);
    return MHD_NO;
}

/* At once; the connection ends. */
static enum MHD_Result refuse_and_close(struct http_request *r, int status, const char *text)
{
    if (r->answer_room == 0)
        return refuse_direct(r, status, text);
    r->close = true;
    r->refuse_status = status;
    reply_refuse(r, status, text);
    return MHD_YES;
}

/* The connection goes on where the body can be read past. */
static enum MHD_Result refuse(struct http_request *r, int status, const char *text)
{
    bool big = r->head.chunked || r->head.content_bytes > SWALLOW_BYTES_MAX;
    bool waits = r->head.content_bytes > 0 && r->head.expects_continue;
    if (big || waits)
        return refuse_and_close(r, status, text);
    r->refuse_status = status;
    r->refuse_text = text;
    r->swallow = true;
    conn_expect(r->conn, r->head.content_bytes);
    return MHD_YES;
}

/* As refuse, in the middle of the body: where the rest can be read past, the answer waits for it.
 */
static enum MHD_Result refuse_rest(struct http_request *r, int status, const char *text)
{
    if (r->head.chunked || r->head.content_bytes > SWALLOW_BYTES_MAX)
        return refuse_direct(r, status, text);
    r->refuse_status = status;
    r->refuse_text = text;
    r->swallow = true;
    return MHD_YES;
}

/* ---- head ---- */

static const char *target_fault(struct bytes target)
{
    const unsigned char *at = target.at;
    for (size_t i = 0; i < target.n; i++)
        if (at[i] <= 0x20 || at[i] == 0x7f)
            return "the request target has a space or a control character";
    if (target.n > 0 && (at[0] == '/' || (target.n == 1 && at[0] == '*')))
        return NULL;
    if (bytes_start_with(target, BYTES_OF("http://")))
        return NULL;
    return "the request target is not a path";
}

static enum MHD_Result head_accept(struct http_request *r)
{
    const struct http_options *o = &r->loop->server->options;
    if (r->conn->excess)
        return refuse_and_close(r, 503, "too many connections");
    if (r->head.content_bytes > o->body_bytes_max)
        return refuse(r, 413, "the body is larger than the limit");
    r->route = route_find(r);
    if (r->route == NULL) {
        r->allow = allowed(r);
        if (r->allow == NULL)
            return refuse(r, 404, "there is nothing at this path");
        return refuse(r, 405, "the path does not know this method");
    }
    conn_expect(r->conn, r->head.chunked ? o->body_bytes_max : r->head.content_bytes);
    return MHD_YES;
}

static enum MHD_Result receive_head(struct http_request *r, const char *method, const char *version)
{
    const struct http_options *o = &r->loop->server->options;
    const struct head_places places = {method, r->raw_target, r->target.n, version};
    r->head_seen = true;
    r->loop->in_flight++;
    atomic_fetch_add_explicit(&r->loop->requests, 1, memory_order_relaxed);
    r->method = method_parse(method);
    const char *fault = head_check(r->conn->mhd, &places, &r->head);
    request_answer_room(r);
    if (fault == NULL)
        fault = target_fault(r->target);
    if (fault != NULL)
        return refuse_and_close(r, 400, fault);
    if (r->head.headers_n > HEADERS_MAX)
        return refuse_and_close(r, 431, "too many headers");
    if (r->head.bytes > o->head_bytes_max || r->answer_room == 0)
        return refuse_and_close(r, 431, "the head is larger than the limit");
    return head_accept(r);
}

/* ---- body ---- */

/* How much room the body is given when n more bytes have come. It grows with what is there, not
 * with what the head promises: else a few heads without bodies would spend the budget of all. */
static size_t room_for(const struct http_request *r, size_t n)
{
    size_t most = r->loop->server->options.body_bytes_max;
    if (!r->head.chunked)
        most = (size_t)r->head.content_bytes;
    if (r->body_n + n <= r->body_room)
        return r->body_room;
    if (most <= ARENA_BODY_BYTES)
        return most;
    size_t room = r->body_room < BODY_FIRST_BYTES ? BODY_FIRST_BYTES : r->body_room * 2;
    room = room < r->body_n + n ? r->body_n + n : room;
    return room > most ? most : room;
}

/* Behind a large head libmicrohttpd's read buffer may have room for a few bytes only, and it stays
 * so: a large body would come byte by byte. Only when it is full with bytes that nobody takes does
 * it grow. A chunk may end with few bytes, and nothing comes behind it that could be waited for. */
static bool is_worth_taking(const struct http_request *r, size_t n)
{
    return n >= PIECE_BYTES_MIN || r->head.chunked || r->body_n + n == r->head.content_bytes;
}

static enum MHD_Result receive_body(struct http_request *r, const char *data, size_t *data_n)
{
    size_t n = *data_n, max = r->loop->server->options.body_bytes_max;
    if (!r->swallow && !is_worth_taking(r, n))
        return MHD_YES;
    *data_n = 0;
    if (r->swallow)
        return MHD_YES;
    if (n > max - r->body_n)
        return refuse_direct(r, 413, "the body is larger than the limit");
    if (!request_body_room(r, room_for(r, n)))
        return refuse_rest(r, 503, "too many large requests at once");
    memcpy(r->body + r->body_n, data, n);
    r->body_n += n;
    return MHD_YES;
}

static enum MHD_Result receive_whole(struct http_request *r)
{
    if (r->state == REQUEST_PARKED)
        return r->loop->ending ? MHD_NO : MHD_YES;
    if (r->state != REQUEST_READING)
        return MHD_YES;
    if (r->loop->ending && r->refuse_status == 0) {
        /* It came after the last request was answered; nobody would be there to answer this one. */
        r->close = true;
        r->refuse_status = 503;
        r->refuse_text = "the server is stopping";
    }
    if (r->refuse_status != 0) {
        reply_refuse(r, r->refuse_status, r->refuse_text);
        return MHD_YES;
    }
    conn_expect_nothing(r->conn);
    r->state = REQUEST_HANDLING;
    r->route->handler(r->route->self, r);
    CHECK(r->state != REQUEST_HANDLING); /* a handler replies or parks */
    return MHD_YES;
}

enum MHD_Result receive_request(void *loop, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *data_n, void **request)
{
    struct http_request *r = *request;
    (void)loop, (void)mhd, (void)url;
    CHECK(r != NULL);
    if (!r->head_seen)
        return receive_head(r, method, version);
    return *data_n > 0 ? receive_body(r, data, data_n) : receive_whole(r);
}

void receive_completed(void *loop, struct MHD_Connection *mhd, void **request,
                       enum MHD_RequestTerminationCode code)
{
    struct http_request *r = *request;
    (void)loop, (void)mhd;
    if (r == NULL)
        return;
    *request = NULL;
    r->conn->request = NULL;
    conn_expect(r->conn, 0);
    conn_request_over(r->conn);
    r->conn = NULL;
    CHECK(r->state != REQUEST_HANDLING);
    if (r->state == REQUEST_PARKED && !r->loop->ending)
        return; /* it lives on until it is woken and answers into the void */
    if (r->state == REQUEST_PARKED) {
        park_remove(r);
        r->state = REQUEST_REPLIED;
    }
    bool whole = code == MHD_REQUEST_TERMINATED_COMPLETED_OK && r->state == REQUEST_REPLIED;
    request_finish(r, whole || r->sent);
}

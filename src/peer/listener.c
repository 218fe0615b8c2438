// SPDX-License-Identifier: Apache-2.0
/* The listener for peers: who calls, is it ours, is it new; then the route's handler. Nothing that
 * a request says is acted on before its signature was found good, but for answering what is wrong.
 */
#include <inttypes.h>

#include "base/mem.h"
#include "base/note.h"
#include "peer/inside.h"

enum {
    LOOPS = 2, /* one that reads cold batches does not hold up everybody */
    CONNECTIONS_MAX = 1024,
    BODY_BUDGET_BYTES = 64 << 20,
    IDLE_TIMEOUT_S = 60, /* twice what the client keeps a connection for */
    STOP_MS = 2000,
    WHY_ROOM = 200,
};

/* Why a request is refused: a status (0: it is not) and a line for whoever looks after the sender.
 */
struct refusal {
    int status;
    char why[WHY_ROOM];
};

static void refuse(struct refusal *out, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(struct refusal *out, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(out->why, sizeof out->why, format, args);
    va_end(args);
    out->status = status;
}

/* Is it for us? Told before the signature is looked at: with another cluster's key it is not good,
 * and "bad signature" would send the operator the wrong way. */
static bool is_addressed(struct peer *p, struct bytes text, struct sign_head *h,
                         struct refusal *out)
{
    enum sign_parsed parsed = sign_head_parse(text, h);
    if (parsed == SIGN_OTHER_VERSION)
        refuse(out, 409, "version %" PRIu32 " of the brokers' protocol is spoken there, %d here",
               h->version, PEER_VERSION);
    else if (parsed == SIGN_MALFORMED)
        refuse(out, 401,
               text.n == 0 ? "the request is not signed"
                           : "the header " SIGN_PEER_HEADER " is malformed");
    else if (!bytes_equal(h->cluster, bytes_of_text(p->cluster)))
        refuse(out, 409, "the sender is of cluster %.*s, this is %s", (int)h->cluster.n,
               (const char *)h->cluster.at, p->cluster);
    else if (h->to != p->broker)
        refuse(out, 409, "the request is for broker %" PRIu32 ", this is broker %" PRIu32, h->to,
               p->broker);
    return out->status == 0;
}

static bool is_fresh(struct peer *p, const struct sign_head *h, struct refusal *out)
{
    int64_t late_ms = clock_wall_ms(p->clock) - h->wall_ms;
    if (late_ms > PEER_WINDOW_MS || late_ms < -PEER_WINDOW_MS) {
        refuse(out, 401,
               "the request's time is %" PRId64 " s from this clock; at most %d are taken",
               late_ms / 1000, PEER_WINDOW_MS / 1000);
        return false;
    }
    /* A request may be as far ahead as behind, so it can be played again for twice the window. */
    lock_take(&p->seen_lock);
    enum seen_verdict v =
        seen_take(&p->seen, h->nonce, clock_boot_ms(p->clock), 2 * PEER_WINDOW_MS);
    lock_give(&p->seen_lock);
    if (v == SEEN_AGAIN)
        refuse(out, 401, "the request's nonce was used before");
    else if (v == SEEN_FULL)
        refuse(out, 401, "too many processes have called of late");
    return v == SEEN_NEW;
}

static bool is_signed(struct peer *p, struct http_request *r, const struct sign_head *h,
                      struct refusal *out)
{
    sign_text expected;
    if (http_query(r).n > 0) {
        refuse(out, 401, "the request has a query, which nothing signs");
        return false;
    }
    sign_request(&p->key, h, http_path(r), http_body(r), expected);
    if (digest_equal(http_header(r, SIGN_SIGNATURE_HEADER), bytes_of_text(expected)))
        return true;
    refuse(out, 401, "the signature is not of this cluster's key");
    return false;
}

static void answer_refusal(struct peer *p, struct http_request *r, struct refusal *why)
{
    static const struct http_answer_header headers[] = {{"Content-Type", "text/plain"}};
    struct buf body = BUF_EMPTY;
    char address[HTTP_ADDRESS_TEXT_MAX + 1];
    http_peer_address(r, address);
    if (peer_may_note(p, &p->refusals))
        note(NOTE_WARNING, "peer", "refused a request from %s: %s", address, why->why);
    buf_put_text(&body, why->why);
    buf_put_text(&body, "\n");
    http_reply(r, why->status, headers, 1, &body);
}

static void on_request(void *self, struct http_request *r)
{
    struct peer_bound *bound = self;
    struct peer *p = bound->peer;
    struct sign_head h = {0};
    struct refusal why = {0};
    bool ok = is_addressed(p, http_header(r, SIGN_PEER_HEADER), &h, &why) &&
              is_signed(p, r, &h, &why) && is_fresh(p, &h, &why);
    if (ok)
        bound->route->handler(bound->route->self, r, h.from);
    else
        answer_refusal(p, r, &why);
}

void peer_reply(struct peer *p, struct http_request *r, int status, struct buf *body)
{
    sign_text signature = "";
    struct sign_head h = {0};
    /* The header is gone only when the connection is: then nobody hears the answer. */
    if (sign_head_parse(http_header(r, SIGN_PEER_HEADER), &h) == SIGN_PARSED)
        sign_answer(&p->key, &h, status, body == NULL ? BYTES_NONE : buf_bytes(body), signature);
    const struct http_answer_header headers[] = {{SIGN_SIGNATURE_HEADER, signature}};
    http_reply(r, status, headers, 1, body);
}

enum err listener_start(struct peer *p, const struct peer_options *o)
{
    struct http_options http;
    p->bounds = mem_new_array(o->routes_n, sizeof *p->bounds);
    p->http_routes = mem_new_array(o->routes_n, sizeof *p->http_routes);
    for (size_t i = 0; i < o->routes_n; i++) {
        CHECK(bytes_start_with(bytes_of_text(o->routes[i].path), BYTES_OF("/_r/v1/")));
        p->bounds[i] = (struct peer_bound){p, &o->routes[i]};
        p->http_routes[i] =
            (struct http_route){HTTP_POST, o->routes[i].path, on_request, &p->bounds[i]};
    }
    http_options_default(&http);
    http.address = o->address;
    http.port = o->port;
    http.loops = LOOPS;
    http.connections_max = CONNECTIONS_MAX;
    http.body_bytes_max = PEER_BODY_BYTES_MAX;
    http.body_budget_bytes = BODY_BUDGET_BYTES;
    http.idle_timeout_s = IDLE_TIMEOUT_S;
    http.routes = p->http_routes;
    http.routes_n = o->routes_n;
    http.clock = p->clock;
    http.pass_end = o->pass_end;
    http.self = o->self;
    return http_server_start(&http, &p->server);
}

unsigned listener_sockets_max(void)
{
    return http_sockets_max(CONNECTIONS_MAX, LOOPS);
}

void listener_stop(struct peer *p)
{
    http_server_drain(p->server);
    http_server_stop(p->server, STOP_MS);
}

// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/mem.h"
#include "http/inside.h"

/* ---- life ---- */

static struct http_request *request_blank(struct http_loop *l)
{
    struct http_request *r = SLIST_FIRST(&l->spare);
    if (r != NULL) {
        SLIST_REMOVE_HEAD(&l->spare, spare);
        l->spare_n--;
    } else {
        r = mem_resize(NULL, sizeof *r);
    }
    memset(r, 0, offsetof(struct http_request, first)); /* the arena's bytes need no clearing */
    return r;
}

struct http_request *request_new(struct http_loop *l, struct conn *c)
{
    struct http_request *r = request_blank(l);
    atomic_init(&r->refs, 1);
    r->mailbox = l->mail;
    mailbox_hold(l->mail);
    r->loop = l;
    r->conn = c;
    r->state = REQUEST_READING;
    r->arrived_ms = l->now_ms;
    arena_init(&r->arena, r->first, sizeof r->first);
    return r;
}

void request_hold(struct http_request *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
}

void request_free(struct http_request *r)
{
    mem_free(r);
}

/* The last reference may be given back by any thread, even after the server's end; what belongs to
 * the loop is done in request_finish, and only the loop's own thread keeps the struct for reuse. */
void request_let_go(struct http_request *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct mailbox *m = r->mailbox;
    lock_take(&m->lock);
    bool ours = !m->closed && m->owned && pthread_equal(m->owner, pthread_self());
    lock_give(&m->lock);
    arena_fini(&r->arena);
    if (r->body_owned)
        mem_free(r->body);
    if (ours && r->loop->spare_n < SPARE_REQUESTS_MAX) {
        SLIST_INSERT_HEAD(&r->loop->spare, r, spare);
        r->loop->spare_n++;
    } else {
        mem_free(r);
    }
    mailbox_let_go(m);
}

void request_finish(struct http_request *r, bool written)
{
    CHECK(r->state != REQUEST_FINISHED);
    r->state = REQUEST_FINISHED;
    if (r->head_seen)
        r->loop->in_flight--;
    if (r->on_finish != NULL)
        r->on_finish(r->finish_self, written);
    /* Whoever still holds r keeps the bytes a moment longer than the budget knows. */
    atomic_fetch_sub_explicit(&r->loop->server->body_bytes, r->body_reserved, memory_order_relaxed);
    r->body_reserved = 0;
    request_let_go(r);
}

static bool budget_take(struct http_server *s, size_t n)
{
    size_t before = atomic_fetch_add_explicit(&s->body_bytes, n, memory_order_relaxed);
    if (before + n <= s->options.body_budget_bytes)
        return true;
    atomic_fetch_sub_explicit(&s->body_bytes, n, memory_order_relaxed);
    return false;
}

bool request_body_room(struct http_request *r, size_t n)
{
    if (n <= r->body_room)
        return true;
    if (r->body_room == 0 && n <= ARENA_BODY_BYTES) {
        r->body = arena_get(&r->arena, n);
        r->body_room = n;
        return true;
    }
    if (!budget_take(r->loop->server, n - r->body_reserved))
        return false;
    char *old = r->body;
    r->body = mem_resize(r->body_owned ? old : NULL, n);
    if (!r->body_owned && r->body_n > 0)
        memcpy(r->body, old, r->body_n);
    r->body_owned = true;
    r->body_reserved = r->body_room = n;
    return true;
}

/* In libmicrohttpd's memory lie: the read buffer, with the head, perhaps pieces of a body, and
 * perhaps requests that were sent behind this one; what it makes of the headers; the answer's head.
 */
void request_answer_room(struct http_request *r)
{
    size_t read = r->head.bytes + PIECE_BYTES_MIN + READ_STEP_BYTES;
    size_t used =
        (read < READ_BYTES ? READ_BYTES : read) + r->head.parsed_bytes + ANSWER_STATUS_BYTES;
    if (used + HTTP_ANSWER_HEADERS_BYTES_MIN > CONNECTION_BYTES)
        return;
    r->answer_room = CONNECTION_BYTES - used;
    if (r->answer_room > HTTP_ANSWER_HEADERS_BYTES_MAX)
        r->answer_room = HTTP_ANSWER_HEADERS_BYTES_MAX;
}

/* ---- what fronts ask ---- */

/* Splits the target into path and query. The absolute form (RFC 9112, section 3.2.2) is for
 * proxies, but each server must take it. */
void request_target_split(struct http_request *r)
{
    const char *at = r->target.at;
    if (strncmp(at, "http://", 7) == 0) {
        at += 7;
        at += strcspn(at, "/?");
    }
    size_t path_n = strcspn(at, "?");
    r->path = path_n == 0 ? BYTES_OF("/") : (struct bytes){at, path_n};
    if (at[path_n] == '?')
        r->query = bytes_of_text(at + path_n + 1);
}

enum http_method http_method_of(const struct http_request *r)
{
    return r->method;
}

struct bytes http_path(const struct http_request *r)
{
    return r->path;
}

struct bytes http_query(const struct http_request *r)
{
    return r->query;
}

static struct bytes value_trimmed(const char *value)
{
    size_t n = strlen(value);
    while (n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'))
        n--; /* leading white space is gone already */
    return (struct bytes){value, n};
}

struct bytes http_header(const struct http_request *r, const char *name)
{
    const char *value = NULL;
    if (r->conn != NULL)
        value = MHD_lookup_connection_value(r->conn->mhd, MHD_HEADER_KIND, name);
    return value == NULL ? BYTES_NONE : value_trimmed(value);
}

struct header_search {
    const char *prefix;
    size_t prefix_n;
    void (*each)(void *arg, struct bytes name, struct bytes value);
    void *arg;
};

static enum MHD_Result header_visit(void *arg, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    const struct header_search *s = arg;
    (void)kind;
    if (strncasecmp(name, s->prefix, s->prefix_n) == 0)
        s->each(s->arg, bytes_of_text(name), value_trimmed(value));
    return MHD_YES;
}

void http_headers_each(const struct http_request *r, const char *prefix,
                       void (*each)(void *arg, struct bytes name, struct bytes value), void *arg)
{
    struct header_search s = {prefix, strlen(prefix), each, arg};
    if (r->conn != NULL)
        MHD_get_connection_values(r->conn->mhd, MHD_HEADER_KIND, header_visit, &s);
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static void address_show(const union address *a, char out[HTTP_ADDRESS_TEXT_MAX + 1])
{
    if (a->any.sa_family == AF_INET)
        inet_ntop(AF_INET, &a->v4.sin_addr, out, HTTP_ADDRESS_TEXT_MAX + 1);
    else if (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
        inet_ntop(AF_INET, &a->v6.sin6_addr.s6_addr[12], out, HTTP_ADDRESS_TEXT_MAX + 1);
    else if (a->any.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &a->v6.sin6_addr, out, HTTP_ADDRESS_TEXT_MAX + 1);
}

void http_peer_address(const struct http_request *r, char out[HTTP_ADDRESS_TEXT_MAX + 1])
{
    const union MHD_ConnectionInfo *info = NULL;
    union address peer;
    out[0] = '\0';
    if (r->conn != NULL) /* as it was accepted, without asking the kernel again */
        info = MHD_get_connection_info(r->conn->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info == NULL || info->client_addr == NULL)
        return;
    bool v6 = info->client_addr->sa_family == AF_INET6;
    memcpy(&peer, info->client_addr, v6 ? sizeof peer.v6 : sizeof peer.v4);
    address_show(&peer, out);
}

void http_own_address(const struct http_request *r, char out[HTTP_ADDRESS_TEXT_MAX + 1],
                      uint16_t *port)
{
    union address own;
    socklen_t n = sizeof own;
    out[0] = '\0';
    *port = r->loop->server->port;
    if (r->conn != NULL && getsockname(r->conn->fd, &own.any, &n) == 0)
        address_show(&own, out);
}

struct bytes http_body(const struct http_request *r)
{
    return (struct bytes){r->body, r->body_n};
}

size_t http_answer_room(const struct http_request *r)
{
    return r->answer_room;
}

struct arena *http_arena(struct http_request *r)
{
    return &r->arena;
}

/* A random UUID (RFC 9562, version 4), drawn when first asked for. */
const char *http_request_id(struct http_request *r)
{
    if (r->id[0] == '\0')
        codec_uuid(&r->loop->rng, r->id);
    return r->id;
}

struct http_server *http_server_of(struct http_request *r)
{
    return r->loop->server;
}

int64_t http_arrived_boot_ms(const struct http_request *r)
{
    return r->arrived_ms;
}

bool http_peer_gone(struct http_request *r)
{
    if (r->conn == NULL)
        return true;
    struct pollfd p = {.fd = r->conn->fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1;
}

void http_on_finish(struct http_request *r, void (*f)(void *self, bool written), void *self)
{
    CHECK(r->on_finish == NULL);
    r->on_finish = f;
    r->finish_self = self;
}

void http_hold(struct http_request *r)
{
    request_hold(r);
}

void http_let_go(struct http_request *r)
{
    request_let_go(r);
}

// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/note.h"
#include "http/inside.h"

/* `left` is what libmicrohttpd's memory has for headers: an answer whose head does not fit would
 * only end the connection. */
static void header_add(struct MHD_Response *response, const char *name, const char *value,
                       size_t *left)
{
    size_t bytes = strlen(name) + strlen(value) + 4;
    bool fits = bytes <= *left;
    *left -= fits ? bytes : 0;
    /* libmicrohttpd refuses line ends in names and values: an answer never grows a header. */
    if (!fits || MHD_add_response_header(response, name, value) == MHD_NO)
        note(NOTE_ERROR, "http", "a header of an answer was left out: %s", name);
}

static bool closes(const struct http_request *r)
{
    /* How chunks were cut is not checked as strictly as a head, so whatever follows a chunked body
     * on its connection is never taken for a request. */
    return r->close || r->head.chunked || http_stopping(r->loop->server);
}

static struct MHD_Response *response_new(struct buf *body)
{
    struct MHD_Response *response;
    if (body != NULL && body->n > 0) {
        response = MHD_create_response_from_buffer_with_free_callback(body->n, body->at, mem_free);
        *body = BUF_EMPTY;
    } else {
        response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    }
    CHECK(response != NULL);
    return response;
}

static void answer_queue(struct http_request *r, int status,
                         const struct http_answer_header *headers, size_t headers_n,
                         struct buf *body)
{
    struct conn *c = r->conn;
    conn_expect(c, body == NULL ? 0 : body->n);
    struct MHD_Response *response = response_new(body);
    size_t left = r->answer_room;
    if (closes(r))
        header_add(response, "Connection", "close", &left);
    if (r->allow != NULL)
        header_add(response, "Allow", r->allow, &left);
    for (size_t i = 0; i < headers_n; i++)
        header_add(response, headers[i].name, headers[i].value, &left);
    /* Not taken only when the connection is ending; receive_completed then finishes the request. */
    if (MHD_queue_response(c->mhd, (unsigned)status, response) == MHD_NO)
        shutdown(c->fd, SHUT_RDWR);
    MHD_destroy_response(response);
    if (r->suspended) {
        r->suspended = false;
        MHD_resume_connection(c->mhd);
    }
    if (!r->loop->running)
        r->loop->again = true; /* libmicrohttpd has to be run to write it */
}

/* libmicrohttpd takes no answer in the middle of a body. The answer is small and the socket's
 * buffer empty, since nothing but perhaps "100 Continue" was sent for this request. */
static void answer_direct(struct http_request *r, int status,
                          const struct http_answer_header *headers, size_t headers_n,
                          const struct buf *body)
{
    struct buf out = BUF_EMPTY;
    size_t body_n = body == NULL ? 0 : body->n;
    buf_put_format(&out, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n", status,
                   MHD_get_reason_phrase_for((unsigned)status), body_n);
    for (size_t i = 0; i < headers_n; i++)
        if (strpbrk(headers[i].value, "\r\n") == NULL)
            buf_put_format(&out, "%s: %s\r\n", headers[i].name, headers[i].value);
    buf_put_text(&out, "\r\n");
    if (body_n > 0)
        buf_put(&out, body->at, body_n);
    ssize_t n = send(r->conn->fd, out.at, out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    r->sent = n == (ssize_t)out.n;
    buf_fini(&out);
}

void http_reply(struct http_request *r, int status, const struct http_answer_header *headers,
                size_t headers_n, struct buf *body)
{
    lock_check_none_held();
    CHECK(r->state == REQUEST_HANDLING);
    CHECK(status >= 200 && status <= 999);
    r->state = REQUEST_REPLIED;
    if (r->conn == NULL)
        request_finish(r, false); /* the connection ended while it was parked */
    else if (r->direct)
        answer_direct(r, status, headers, headers_n, body);
    else
        answer_queue(r, status, headers, headers_n, body);
    if (body != NULL)
        buf_fini(body);
}

/* The text is ours: it needs no escapes. */
static void refuse_default(struct http_request *r, int status, const char *text)
{
    struct buf body = BUF_EMPTY;
    buf_put_format(&body, "{\"status\":%d,\"message\":\"%s\"}\n", status, text);
    const struct http_answer_header headers[] = {
        {"Content-Type", "application/json"},
        {"Retry-After", "1"},
    };
    http_reply(r, status, headers, status == 503 ? 2 : 1, &body);
}

void reply_refuse(struct http_request *r, int status, const char *text)
{
    const struct http_options *o = &r->loop->server->options;
    r->state = REQUEST_HANDLING;
    if (r->close || r->direct)
        r->conn->linger = true;
    if (o->refuse != NULL)
        o->refuse(o->self, r, status, text);
    else
        refuse_default(r, status, text);
    CHECK(r->state != REQUEST_HANDLING && r->state != REQUEST_PARKED);
}

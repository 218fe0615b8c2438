// SPDX-License-Identifier: Apache-2.0
/* A tiny raw HTTP client for tests: sends exactly the bytes it is told, reads one answer at a time.
 * Every wait ends after HTTP_CLIENT_WAIT_MS; nothing sleeps. */
#ifndef TESTS_LIB_HTTP_CLIENT_H
#define TESTS_LIB_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_CLIENT_WAIT_MS = 10000 };

struct http_client {
    int fd;
    char *at; /* received and not yet read */
    size_t n, room;
};

struct http_answer {
    int status;
    char *head; /* with its NUL: status line, headers, empty line */
    char *body; /* with a NUL behind it */
    size_t body_n;
};

/* To 127.0.0.1 (or ::1). Stops the test program when that fails. */
struct http_client http_client_open(uint16_t port);
struct http_client http_client_open_v6(uint16_t port);
void http_client_close(struct http_client *c);
/* Closes with a reset instead of FIN. */
void http_client_reset(struct http_client *c);
/* False: the peer has closed. */
bool http_client_send(struct http_client *c, const void *at, size_t n);
bool http_client_text(struct http_client *c, const char *text);
/* One answer, 100 Continue included. `no_body`: the answer to HEAD. False: closed or too late. */
bool http_client_answer(struct http_client *c, bool no_body, struct http_answer *out);
void http_answer_free(struct http_answer *a);
/* The header's value copied into `out`, or "" when there is none. */
const char *http_answer_header(const struct http_answer *a, const char *name, char *out, size_t n);
/* True once the peer has closed and not a byte was left to read. */
bool http_client_at_end(struct http_client *c);
/* Reads on and throws away until the peer closes; false when it does not. */
bool http_client_ends(struct http_client *c);
/* Asks and answers: the status, or 0. */
int http_client_ask(struct http_client *c, const char *text);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Answers, in one form for everything that is not SQS: JSON, a problem, bytes, or nothing. Each has
 * Request-Id: the caller's where that is 1 to 128 of A-Z a-z 0-9 . _ - , else the broker's. */
#ifndef REST_ANSWER_H
#define REST_ANSWER_H

#include <jansson.h>
#include <stddef.h>

#include "http/http.h"
#include "rest/problem.h"

enum { REST_ANSWER_HEADERS_MAX = 40 };

/* Lent as long as the request's arena. */
const char *rest_request_id(struct http_request *r);

/* Takes what `body` holds: any bytes. */
void rest_answer_bytes(struct http_request *r, int status, const char *type,
                       const struct http_answer_header *headers, size_t n, struct buf *body);
/* Takes what `json` holds: one JSON value. Indented when the query says `pretty`. */
void rest_answer_json(struct http_request *r, int status, const struct http_answer_header *headers,
                      size_t n, struct buf *json);
/* Takes `value`; NULL (jansson had no memory) is answered as overload. */
void rest_answer_tree(struct http_request *r, int status, json_t *value);
/* Without a body, such as 204 and 304. */
void rest_answer_none(struct http_request *r, int status, const struct http_answer_header *headers,
                      size_t n);
void rest_answer_problem(struct http_request *r, const struct rest_fault *f);
/* As rest_answer_problem, with `Allow`. */
void rest_answer_method_not_allowed(struct http_request *r, const char *allow);

/* Appends `json` with line ends and two spaces a level. */
void rest_json_indent(struct buf *out, struct bytes json);

#endif

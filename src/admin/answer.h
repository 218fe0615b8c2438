// SPDX-License-Identifier: Apache-2.0
/* Answers of this room: a JSON value, or a problem. Query parameters, strictly. */
#ifndef ADMIN_ANSWER_H
#define ADMIN_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/http.h"

/* Takes `value`. */
void answer_json(struct http_request *r, int status, json_t *value);
void answer_problem(struct http_request *r, int status, const char *title, const char *detail);

struct admin_query {
    struct bytes prefix; /* of names */
    struct bytes cursor; /* the name to begin behind; n = 0: the first */
    int64_t limit;       /* 1 to 1,000; 100 by default */
};

/* Reads prefix, cursor, limit and verbose. Answers the request with 400 and gives false on an
 * unknown or malformed one. */
bool answer_query(struct http_request *r, struct admin_query *out);

#endif

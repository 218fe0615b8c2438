// SPDX-License-Identifier: Apache-2.0
/* Query parameters, strictly: each is known, given once, and within its bounds, or the fault names
 * it. And percent-coding. Pure. */
#ifndef REST_QUERY_H
#define REST_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "rest/problem.h"

enum rest_kind {
    REST_NUMBER,
    REST_DURATION,
    REST_TEXT,
    REST_FLAG,
    REST_CHOICE,
    REST_OBJECT, /* of settings only */
};

struct rest_param {
    const char *name;
    enum rest_kind kind;
    int64_t min, max;    /* of a DURATION in seconds, of a TEXT in bytes */
    const char *preset;  /* "": none */
    const char *choices; /* with '|' between them */
};

enum { REST_PARAMS_MAX = 8 };

struct rest_value {
    bool given;        /* by the client */
    bool there;        /* given, or preset */
    int64_t number;    /* NUMBER; DURATION in ms; FLAG */
    struct bytes text; /* TEXT and CHOICE, percent-decoded, NUL-terminated */
};

struct rest_query {
    const struct rest_param *params; /* borrowed */
    size_t n;
    struct rest_value values[REST_PARAMS_MAX];
};

/* Reads the raw query against n <= REST_PARAMS_MAX params. `pretty` is always known. */
bool rest_query_read(struct bytes raw, const struct rest_param *params, size_t n,
                     struct arena *arena, struct rest_query *out, struct rest_fault *f) MUST_USE;
/* The value of a parameter of this query's table. */
const struct rest_value *rest_query_get(const struct rest_query *q, const char *name);
/* Whether `pretty` is set; false also when the query is not sound. */
bool rest_query_pretty(struct bytes raw);

/* Undoes percent-coding into the arena; `plus`: a '+' is a space, as in forms. False: an escape is
 * broken. */
bool rest_percent_decode(struct bytes raw, bool plus, struct arena *arena,
                         struct bytes *out) MUST_USE;
/* Appends text so that it may stand in a path segment or a query value. */
void rest_percent_put(struct buf *out, struct bytes text);

#endif

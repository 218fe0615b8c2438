// SPDX-License-Identifier: Apache-2.0
/* From a method and a path to an operation, by the table api/rest.def. Pure.
 *
 * A path is cut at its slashes and then each segment is percent-decoded, so an encoded slash never
 * cuts. It is refused, not made a part of a name, and so are empty segments, "." and "..". */
#ifndef REST_ROUTE_H
#define REST_ROUTE_H

#include "http/http.h"
#include "rest/problem.h"
#include "rest/query.h"

enum rest_operation {
#define ROUTE(method, template, operation) REST_##operation,
#include "rest.def"
    REST_OPERATIONS_N
};

enum { REST_SEGMENTS_MAX = 8 };

struct rest_path {
    struct bytes segments[REST_SEGMENTS_MAX]; /* percent-decoded, in the arena, NUL-terminated */
    size_t n;
};

/* False: the fault says what is wrong. */
bool rest_path_read(struct bytes raw, struct arena *arena, struct rest_path *out,
                    struct rest_fault *f) MUST_USE;

enum rest_found {
    REST_FOUND,
    REST_NO_PATH,
    REST_NO_METHOD /* but others, which `allow` names */
};

struct rest_match {
    enum rest_operation operation;
    struct bytes topic, group, last; /* what {topic} and {group} stand for; last: any other */
    char allow[64];                  /* the methods of this path, as the header wants them */
};

/* HEAD finds what GET finds. */
enum rest_found rest_route_find(enum http_method method, const struct rest_path *path,
                                struct rest_match *out);

/* The query parameters of an operation. */
const struct rest_param *rest_route_params(enum rest_operation o, size_t *n);

#endif

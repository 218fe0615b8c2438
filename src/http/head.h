// SPDX-License-Identifier: Apache-2.0
/* Is a request's head exactly what RFC 9112 says, so that whoever stands before us (a proxy) and we
 * cut the same bytes into the same requests? libmicrohttpd is generous: it takes a bare LF for a
 * line end, folds lines, ends a head at a NUL, and takes the first of two Content-Lengths. */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEADER_STRUCT_BYTES = 64 }; /* of libmicrohttpd, for each header and each cookie */

struct head {
    size_t bytes;        /* request line, headers and the empty line */
    size_t parsed_bytes; /* what libmicrohttpd has made of them: structs, a copy of the cookies */
    unsigned headers_n;
    bool chunked;
    bool expects_continue;
    bool version_1_0;
    uint64_t content_bytes; /* 0 when there is no Content-Length */
};

/* The places that libmicrohttpd tells, all in its receive buffer. */
struct head_places {
    const char *method;
    const char *target; /* as the URI log callback was told it */
    size_t target_n;    /* up to its first NUL, at that time */
    const char *version;
};

/* NULL, and *out filled; or what is wrong, for the answer 400. */
const char *head_check(struct MHD_Connection *mhd, const struct head_places *places,
                       struct head *out) __attribute__((warn_unused_result));

#endif

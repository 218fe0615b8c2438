// SPDX-License-Identifier: Apache-2.0
/* Stands in for the room http: requests without a socket, one at a time, on one thread. It is
 * linked instead of libhttp.a and keeps the contract of http.h towards the fronts, and demands that
 * they keep theirs: one answer a request, a hold given back for each taken, no park without a wake
 * to come. */
#ifndef TESTS_FUZZ_FAKE_HTTP_H
#define TESTS_FUZZ_FAKE_HTTP_H

#include "base/buf.h"
#include "http/http.h"

enum { FAKE_HEADERS_MAX = 4 };

struct fake_header {
    struct bytes name, value;
};

/* All borrowed. Paths begin with '/', and they and queries hold what http lets through. */
struct fake_request {
    enum http_method method;
    struct bytes path, query, body;
    struct fake_header headers[FAKE_HEADERS_MAX];
    size_t headers_n;
    bool gone; /* the client is, before the answer could be written */
};

struct fake_answer {
    int status;
    char type[64]; /* of Content-Type; "" */
    struct buf body;
};

/* What passes while a request waits. */
struct fake_world {
    void *self;
    void (*pass_end)(void *self);
    /* Nothing happens any more until this boot time; 0: nothing ever. */
    void (*sleep_until)(void *self, int64_t boot_ms);
    int64_t (*boot_ms)(void *self);
};

/* Calls the first route that fits and waits for the answer, which the caller frees. */
void fake_http_ask(const struct http_route *routes, size_t routes_n, const struct fake_world *world,
                   const struct fake_request *ask, struct fake_answer *out);

#endif

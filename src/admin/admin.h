// SPDX-License-Identifier: Apache-2.0
/* Health and statistics as JSON: /livez, /readyz and GET /v1. Whatever else begins with /v1/ and is
 * no other room's is answered 404. Errors are problem details (RFC 9457). */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include <stddef.h>

#include "http/http.h"
#include "queue/queue.h"

struct admin {
    struct queue *queue; /* borrowed; set before the server starts */
};

enum { ADMIN_ROUTES_MAX = 4 };

/* Writes the room's routes; gives their number. `a` is lent to the server. */
size_t admin_routes(struct admin *a, struct http_route out[ADMIN_ROUTES_MAX]);

#endif

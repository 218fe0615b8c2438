// SPDX-License-Identifier: Apache-2.0
/* Asking an etcd cluster over HTTP: one endpoint after another, each within a time, with TLS and a
 * token where they are wanted. Private to this room. One of these is for one thread at a
 * time, but for etcd_http_stop; the catalogue's own is used under the catalogue's lock, which is
 * held over the network too.
 *
 * What matters is which of three things happened: etcd answered; nothing was sent, so nothing has
 * happened; or nobody knows. */
#ifndef CATALOG_ETCD_HTTP_H
#define CATALOG_ETCD_HTTP_H

#include "base/buf.h"
#include "base/clock.h"
#include "catalog/catalog.h"

struct etcd_http;

/* ERR_INVALID: an endpoint is no http:// or https:// URL, or there is none. Strings are copied. */
enum err etcd_http_new(const struct catalog_etcd_options *o, struct etcd_http **out) MUST_USE;
void etcd_http_free(struct etcd_http *h);
/* Another one for the same endpoints, with a connection and a login of its own, while `h` is in
 * use.
 */
struct etcd_http *etcd_http_again(const struct etcd_http *h);
const struct clock *etcd_http_clock(const struct etcd_http *h);
/* Nothing is asked at or after this boot_ms, and no try waits beyond it. */
void etcd_http_until(struct etcd_http *h, int64_t boot_ms);
/* From any thread: what is being asked ends within a second, a stream at once, all as ERR_BUSY. */
void etcd_http_stop(struct etcd_http *h);
/* After that, when no other thread uses h: it asks again. */
void etcd_http_resume(struct etcd_http *h);

/* POSTs to /v3/`path` and gives etcd's answer of status 200, lent until the next call. `writes`:
 * the request changes something, so once it may have been sent it is not sent again. Else every
 * endpoint is tried.
 * ERR_BUSY: nobody answered in time, or (writes) the outcome is unknown. ERR_NO_SPACE: etcd's quota
 * is used up. ERR_NOT_FOUND: the request names a lease that is gone. ERR_PERMISSION, ERR_TOO_BIG,
 * ERR_INVALID (etcd takes no such request). What is wrong is noted, and that it is well again. */
enum err etcd_http_ask(struct etcd_http *h, const char *path, struct bytes body, bool writes,
                       struct bytes *answer) MUST_USE;

/* The answer was of status 200 and yet an error, as a stream's may be: the next request begins at
 * the next endpoint, with a new login. */
void etcd_http_pass_by(struct etcd_http *h);

/* POSTs to /v3/`path` at one endpoint and calls `line` with each line of the answer, lent for the
 * call, until that returns false or the stream ends, as it does when it is stopped. The first line
 * must come in the time of an answer; silence after it is no fault. The next stream begins at the
 * next endpoint. */
void etcd_http_stream(struct etcd_http *h, const char *path, struct bytes body,
                      bool (*line)(void *self, struct bytes line), void *self);

#endif

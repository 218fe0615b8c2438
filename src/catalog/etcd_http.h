// SPDX-License-Identifier: Apache-2.0
/* Asking an etcd cluster over HTTP: one endpoint after another, each within a time, with TLS and a
 * token where they are wanted. Private to this room. Not for two threads at one time: the
 * catalogue's lock is held, over the network too.
 *
 * What matters is which of three things happened: etcd answered; nothing was sent, so nothing has
 * happened; or nobody knows. */
#ifndef CATALOG_ETCD_HTTP_H
#define CATALOG_ETCD_HTTP_H

#include "base/buf.h"
#include "catalog/catalog.h"

struct etcd_http;

/* ERR_INVALID: an endpoint is no http:// or https:// URL, or there is none. Strings are copied. */
enum err etcd_http_new(const struct catalog_etcd_options *o, struct etcd_http **out) MUST_USE;
void etcd_http_free(struct etcd_http *h);

/* POSTs to /v3/`path` and gives etcd's answer of status 200, lent until the next call. `writes`:
 * the request changes something, so once it may have been sent it is not sent again. Else every
 * endpoint is tried.
 * ERR_BUSY: nobody answered in time, or (writes) the outcome is unknown. ERR_NO_SPACE: etcd's quota
 * is used up. ERR_PERMISSION, ERR_TOO_BIG, ERR_INVALID (etcd takes no such request). What is wrong
 * is noted, and that it is well again. */
enum err etcd_http_ask(struct etcd_http *h, const char *path, struct bytes body, bool writes,
                       struct bytes *answer) MUST_USE;

#endif

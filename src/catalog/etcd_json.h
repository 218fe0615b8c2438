// SPDX-License-Identifier: Apache-2.0
/* The bodies of etcd's JSON gateway, written and read. Private to this room; no I/O.
 *
 * The gateway ignores members that it does not know: a misspelt `mod_revision` would compare with
 * 0, "absent". So every body is written here and nowhere else, and a test pins the bytes. In
 * answers, members that are false, 0 or empty are left out: no `succeeded` is a lost compare, no
 * `kvs` nothing found. 64-bit numbers are decimal strings, bytes are base64 with padding.
 * etcd's documentation: "gRPC gateway", and api/v3's rpc.proto. */
#ifndef CATALOG_ETCD_JSON_H
#define CATALOG_ETCD_JSON_H

#include "base/buf.h"
#include "catalog/catalog.h"

/* /v3/kv/range for one key; the result is linearizable. */
void etcd_put_get(struct buf *body, struct bytes key);
/* /v3/kv/range for keys from `from` on that begin with prefix (not empty), at most `limit`, as of
 * revision `rev` (0: the newest). */
void etcd_put_list(struct buf *body, struct bytes prefix, struct bytes from, int64_t rev,
                   int64_t limit);
/* /v3/kv/txn; each key gets `prefix` before it, and what is put is attached to `lease` (0: to
 * none).
 */
void etcd_put_txn(struct buf *body, struct bytes prefix, const struct catalog_cmp *cmps,
                  size_t cmps_n, const struct catalog_op *ops, size_t ops_n, int64_t lease);
/* /v3/lease/grant, of a lease whose number etcd chooses. */
void etcd_put_grant(struct buf *body, int64_t ttl_s);
/* /v3/lease/keepalive and /v3/lease/revoke. */
void etcd_put_lease(struct buf *body, int64_t id);
/* /v3/watch: what begins with prefix (not empty) and changes at revision `from` or later. */
void etcd_put_watch(struct buf *body, struct bytes prefix, int64_t from);
/* /v3/auth/authenticate. */
void etcd_put_login(struct buf *body, const char *user, const char *password);

struct etcd_range {
    int64_t rev; /* of the store when it answered */
    bool more;   /* behind the last kv there are others */
    struct catalog_kvs kvs;
};
/* Keys lose `prefix`. ERR_CORRUPT: no such answer, or bytes beyond the catalogue's bounds. On
 * ERR_OK out->kvs is freed by the caller. */
enum err etcd_take_range(struct bytes json, struct bytes prefix, struct etcd_range *out) MUST_USE;
/* ERR_OK with the transaction's revision; ERR_CONFLICT; ERR_CORRUPT. */
enum err etcd_take_txn(struct bytes json, int64_t *rev) MUST_USE;
/* ERR_CORRUPT. */
enum err etcd_take_grant(struct bytes json, int64_t *id, int64_t *ttl_s) MUST_USE;
/* ERR_NOT_FOUND: the lease is gone, which is said by leaving out its TTL; ERR_CORRUPT. */
enum err etcd_take_alive(struct bytes json) MUST_USE;

struct etcd_news {
    bool ended;             /* canceled, compacted or an error: nothing more comes of this watch */
    char why[80];           /* "" unless ended */
    struct catalog_kvs kvs; /* rising in mod_rev; a dropped key's value.at is NULL */
};
/* One line of a watch's stream. Keys lose `prefix`, which all have. ERR_CORRUPT; on ERR_OK out->kvs
 * is freed by the caller. */
enum err etcd_take_news(struct bytes json, struct bytes prefix, struct etcd_news *out) MUST_USE;
/* The token of a login, appended with a NUL. ERR_CORRUPT. */
enum err etcd_take_token(struct bytes json, struct buf *token) MUST_USE;
/* What an error's body says, NUL-terminated and cut to `room`; "" when it says nothing. */
void etcd_take_error(struct bytes json, char *text, size_t room);

#endif

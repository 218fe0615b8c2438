// SPDX-License-Identifier: Apache-2.0
/* What exists: topics, groups, partitions, secrets, as small JSON values under keys, changed only
 * by compare-and-swap transactions, so that the same interface can stand on SQLite (one node) and
 * on a consensus store (a cluster).
 *
 *   n/<name>         topic id (hex)                          made in one transaction with t/ and p/
 *   t/<tid>          the topic: name, partitions, fifo, state creating|ready|deleting, attributes
 *   g/<tid>/<group>  the group: gid, generation, state
 *   p/<tid>/<n>      the partition: replicas, leader, epoch, isr, state
 *   r/<tid>          the redrives of the topic's messages, newest first
 *   k/receipt        current and previous secret of receipts
 *   k/epoch          counter of starts
 *   meta             format, cluster_id, created
 *
 * Threads: any, at any time; one lock inside, held over I/O (never take it under another lock).
 * Values are bytes to this room; catalog/topic.h holds their JSON forms. */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/err.h"

enum { CATALOG_KEY_BYTES_MAX = 255, CATALOG_VALUE_BYTES_MAX = 1 << 20, CATALOG_TXN_MAX = 128 };

struct catalog;

struct catalog_kv {
    char *key; /* owned by whoever holds the kv */
    struct bytes value;
    int64_t create_rev;
    int64_t mod_rev;
};

struct catalog_kvs {
    struct catalog_kv *at;
    size_t n;
};

enum catalog_compare { CATALOG_MOD, CATALOG_CREATED };

struct catalog_cmp {
    const char *key;
    enum catalog_compare what;
    int64_t rev; /* of the last change (CATALOG_MOD) or the making; 0: the key must be absent */
};

struct catalog_op {
    const char *key;
    struct bytes value;
    int drop; /* not 0: delete the key, value is ignored */
};

/* Opens or makes `path` and brings its schema (schema/catalog.sql) up to this version. ERR_CORRUPT,
 * ERR_NEWER_FORMAT, ERR_PERMISSION, ERR_IO; the operator's log names the file. */
enum err catalog_open(const char *path, struct catalog **out) MUST_USE;
void catalog_close(struct catalog *c);

struct catalog_etcd_options {
    const char
        *endpoints;      /* URLs with commas between: "http://10.0.0.1:2379,http://10.0.0.2:2379" */
    const char *cluster; /* letters, digits, - _ . ; keys stand below /leaselog/<cluster>/ */
    const char *user, *password;                /* NULL: etcd's authentication is off */
    const char *ca_file, *cert_file, *key_file; /* PEM; NULL: the system's roots, no certificate */
    int64_t answer_ms;                          /* until the next endpoint is asked; 0: 2 s */
};
enum { CATALOG_CLUSTER_NAME_MAX = 63 };
/* The catalogue of a cluster, in etcd. All strings are copied. ERR_INVALID: an endpoint is no URL,
 * or the name is none. ERR_BUSY: no endpoint answers; ERR_PERMISSION. The log says why. */
enum err catalog_open_etcd(const struct catalog_etcd_options *o, struct catalog **out) MUST_USE;

/* Opens a catalogue that is there, to be read only: nothing is made, changed, rolled back or noted,
 * and catalog_txn must not be called. ERR_NOT_FOUND. ERR_BUSY: a transaction is under way or was
 * cut short by a crash, so that what the file holds shows only after the next start. ERR_CORRUPT,
 * ERR_NEWER_FORMAT, ERR_PERMISSION, ERR_IO. */
enum err catalog_open_to_read(const char *path, struct catalog **out) MUST_USE;
/* SQLite's integrity_check: calls `each` with a sentence a fault, lent for the call, under the
 * catalogue's lock. ERR_OK: it went through, with or without faults. */
enum err catalog_integrity(struct catalog *c, void (*each)(void *self, const char *fault),
                           void *self) MUST_USE;
/* Whether this value may stand under this key: decodes it by the kind that the key names.
 * ERR_CORRUPT; ERR_NEWER_FORMAT; ERR_NOT_FOUND: the key is of no kind that is known. */
enum err catalog_value_check(const char *key, struct bytes value) MUST_USE;

/* ERR_NOT_FOUND. The kv is freed with catalog_kv_fini. */
enum err catalog_get(struct catalog *c, const char *key, struct catalog_kv *out) MUST_USE;
/* All keys that start with prefix, in byte order. */
enum err catalog_list(struct catalog *c, const char *prefix, struct catalog_kvs *out) MUST_USE;
/* When all compares hold, all ops happen, durably, at one new revision; else ERR_CONFLICT and
 * nothing happens.
 * ERR_BUSY: nothing happened, or (etcd) nobody knows: read again before you decide. ERR_NO_SPACE.
 * ERR_IO: the outcome shows only after a restart, and until then every further change is
 * ERR_FAILED. ERR_INVALID: a key is empty or too long, or two ops name the same key; ERR_TOO_BIG: a
 * value, or the number of compares or ops. Without ops nothing is written and rev is the last
 * revision. rev may be NULL. */
enum err catalog_txn(struct catalog *c, const struct catalog_cmp *cmps, size_t cmps_n,
                     const struct catalog_op *ops, size_t ops_n, int64_t *rev) MUST_USE;

/* A write failed: nothing changes any more. Takes no lock and never waits. */
bool catalog_failed(const struct catalog *c);

void catalog_kv_fini(struct catalog_kv *kv);
void catalog_kvs_fini(struct catalog_kvs *kvs);

#endif

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
 *   k/copy           from which node this catalogue is or was taken over (catalog_copy)
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
#include "base/clock.h"
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
    const struct clock *clock; /* copied; NULL: the system's. Sessions judge themselves by it */
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

/* ---- sessions ---- */

/* A session is a lease that this process keeps alive from a thread of its own. Keys that were put
 * with it (catalog_txn_leased) vanish when it ends: on catalog_session_end, or about ttl_s after
 * the process or its connection died. On SQLite there is one process only: such keys vanish when
 * the catalogue is next opened, and the session is never lost. */
struct catalog_session;
enum { CATALOG_SESSION_TTL_S = 6 };
/* `lost` is called once, from the session's thread, when it is known or must be feared that the
 * session is over: the lease is gone, or nothing was heard of it for ttl_s by our own clock,
 * counted from when the last request that succeeded was sent. The session is still to be ended, by
 * another thread. ERR_BUSY; ERR_NO_SPACE: etcd's quota is used up (sessions that are there live
 * on); ERR_PERMISSION. */
enum err catalog_session_begin(struct catalog *c, int ttl_s, void (*lost)(void *self), void *self,
                               struct catalog_session **out) MUST_USE;
/* The lease's number, never 0; stored by who wants to revoke it in a next life. */
int64_t catalog_session_id(const struct catalog_session *s);
/* Ends the thread, revokes the lease as well as that works now, and frees s. */
void catalog_session_end(struct catalog_session *s);
/* Revokes a lease of an earlier life; one that is gone is no error. */
enum err catalog_lease_revoke(struct catalog *c, int64_t id) MUST_USE;
/* As catalog_txn; the ops that put attach their keys to the session. ERR_NOT_FOUND: its lease is
 * gone, and nothing has happened. A key that is put by catalog_txn is attached to none any more. */
enum err catalog_txn_leased(struct catalog *c, const struct catalog_session *s,
                            const struct catalog_cmp *cmps, size_t cmps_n,
                            const struct catalog_op *ops, size_t ops_n, int64_t *rev) MUST_USE;

/* ---- watching ---- */

struct catalog_event {
    const char *key;    /* lent for the call, as the value */
    struct bytes value; /* BYTES_NONE: dropped */
    bool dropped;
    int64_t create_rev;
    int64_t mod_rev;
};
struct catalog_watch;
/* Tells the changes below `prefix` with a revision above `after`, in order, those of one revision
 * together, from a thread of its own. A hint: it may end, be late or miss something, so whoever
 * relies on it also lists now and then. `again` is called (also from that thread) when changes may
 * have been missed, and before the first event: list the prefix, then call catalog_watch_go with
 * the list's revision, from which it goes on. Until then nothing is told and `again` is not
 * repeated: a list that fails is to be tried again by whoever was told. */
struct catalog_watching {
    void (*events)(void *self, const struct catalog_event *events, size_t n);
    void (*again)(void *self);
    void *self;
};
/* Always ERR_OK: an engine that does not answer makes it tell `again` later. *out is written before
 * the first call. */
enum err catalog_watch_begin(struct catalog *c, const char *prefix, struct catalog_watching w,
                             struct catalog_watch **out) MUST_USE;
/* From any thread, from within `again` too, under any lock of a lower rank. */
void catalog_watch_go(struct catalog_watch *w, int64_t after);
/* No callback is running or comes after it returns; not from within one. All watches and sessions
 * are ended before catalog_close. */
void catalog_watch_end(struct catalog_watch *w);
/* As catalog_list, and the revision at which it was so. */
enum err catalog_list_at(struct catalog *c, const char *prefix, struct catalog_kvs *out,
                         int64_t *rev) MUST_USE;

/* ---- taking over ---- */

/* Copies a node's catalogue into an empty one: all keys and values but those that are of one node
 * or process only (k/epoch, b/, s/, ctl), in transactions of at most 120 ops. Nobody else may use
 * the two meanwhile. After any error, or a crash, it is called again and goes on; `meta`, if the
 * source has one, is put in the last transaction. Once it is finished, calling it again for the
 * same node changes nothing and is ERR_OK.
 * ERR_CONFLICT: `to` holds another cluster, or another node's copy, or somebody wrote to it
 * meanwhile; nothing of that is changed. ERR_NOT_FOUND: `from` has never been a started node's.
 * The others as catalog_list and catalog_txn. */
enum err catalog_copy(struct catalog *from, struct catalog *to) MUST_USE;
/* Whether catalog_copy would go on, or has finished: its errors, and nothing is changed. */
enum err catalog_copy_judge(struct catalog *from, struct catalog *to) MUST_USE;
/* Before a broker lives in c: ERR_CONFLICT while a copy into it is not finished. ERR_CORRUPT;
 * ERR_BUSY. */
enum err catalog_copy_check(struct catalog *c) MUST_USE;

void catalog_kv_fini(struct catalog_kv *kv);
void catalog_kvs_fini(struct catalog_kvs *kvs);

#endif

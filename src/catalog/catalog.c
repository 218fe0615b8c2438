// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog.h"

#include <stdatomic.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/note.h"
#include "catalog/schema.h"

enum statement { ST_BEGIN, ST_COMMIT, ST_ROLLBACK, ST_GET, ST_LIST, ST_PUT, ST_DROP, ST_REV, ST_N };

static const char *const statement_sql[ST_N] = {
    [ST_BEGIN] = "BEGIN IMMEDIATE",
    [ST_COMMIT] = "COMMIT",
    [ST_ROLLBACK] = "ROLLBACK",
    [ST_GET] = "SELECT key, value, create_rev, mod_rev FROM kv WHERE key = ?1",
    [ST_LIST] = "SELECT key, value, create_rev, mod_rev FROM kv WHERE key >= ?1 ORDER BY key",
    [ST_PUT] = "INSERT INTO kv (key, value, create_rev, mod_rev, version)"
               " VALUES (?1, ?2, ?3, ?3, 1) ON CONFLICT (key) DO UPDATE"
               " SET value = excluded.value, mod_rev = excluded.mod_rev, version = version + 1",
    [ST_DROP] = "DELETE FROM kv WHERE key = ?1",
    [ST_REV] = "UPDATE rev SET n = n + ?1 RETURNING n",
};

/* A transaction that waits for its turn; on the stack of its caller. */
struct txn {
    const struct catalog_cmp *cmps;
    size_t cmps_n;
    const struct catalog_op *ops;
    size_t ops_n;
    struct txn *next; /* guarded by queue_lk */
    /* guarded by lk */
    bool done;
    enum err err;
    int64_t rev;
};

struct catalog {
    char *path; /* set at birth */
    struct lock queue_lk;
    struct txn *first, **last; /* guarded by queue_lk: those that wait */
    struct lock lk;            /* taken before queue_lk */
    sqlite3 *db;               /* guarded by lk, as all below */
    sqlite3_stmt *statement[ST_N];
    /* A write or sync failed: what is on disk is unknown until the next open. Set under lk, read
     * anywhere. */
    atomic_bool failed;
};

static enum err catalog_make(const char *path, sqlite3 *db, struct catalog **out)
{
    enum err e = ERR_OK;
    struct catalog *c = mem_new(sizeof *c);
    c->path = mem_copy_text(path);
    c->db = db;
    lock_init(&c->lk, LOCK_RANK_CATALOG);
    lock_init(&c->queue_lk, LOCK_RANK_CATALOG_QUEUE);
    c->last = &c->first;
    for (int i = 0; i < ST_N && e == ERR_OK; i++)
        e = catalog_sqlite_err(sqlite3_prepare_v3(
            db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &c->statement[i], NULL));
    if (e != ERR_OK) {
        note(NOTE_ERROR, "catalog", "%s: %s", path, sqlite3_errmsg(db));
        catalog_close(c);
        return e;
    }
    *out = c;
    return ERR_OK;
}

enum err catalog_open(const char *path, struct catalog **out)
{
    sqlite3 *db;
    enum err e = catalog_schema_open(path, &db);
    return e == ERR_OK ? catalog_make(path, db, out) : e;
}

enum err catalog_open_to_read(const char *path, struct catalog **out)
{
    sqlite3 *db;
    enum err e = catalog_schema_open_to_read(path, &db);
    return e == ERR_OK ? catalog_make(path, db, out) : e;
}

void catalog_close(struct catalog *c)
{
    if (c == NULL)
        return;
    for (int i = 0; i < ST_N; i++)
        sqlite3_finalize(c->statement[i]);
    CHECK(sqlite3_close(c->db) == SQLITE_OK);
    lock_fini(&c->queue_lk);
    lock_fini(&c->lk);
    mem_free(c->path);
    mem_free(c);
}

/* Every public call goes through here, because the lock is held over syncs. */
static void catalog_lock(struct catalog *c)
{
    lock_check_none_held();
    lock_take(&c->lk);
}

static bool key_ok(const char *key)
{
    size_t n = strlen(key);
    return n > 0 && n <= CATALOG_KEY_BYTES_MAX;
}

static sqlite3_stmt *statement_for_key_locked(struct catalog *c, enum statement which,
                                              const char *key)
{
    sqlite3_stmt *stmt = c->statement[which];
    /* SQLITE_STATIC: the key outlives the statement's reset, which every caller does. */
    CHECK(sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC) == SQLITE_OK);
    return stmt;
}

static void statement_reset_locked(struct catalog *c, enum statement which)
{
    (void)sqlite3_reset(c->statement[which]); /* repeats the error of the step before */
    sqlite3_clear_bindings(c->statement[which]);
}

/* The file itself is open, so what cannot be opened is SQLite's journal, most likely for want of
 * descriptors. SQLite opens it before it writes the first page, so nothing has happened and the
 * next try may do better. */
static enum err result_err(int rc)
{
    return (rc & 0xff) == SQLITE_CANTOPEN ? ERR_BUSY : catalog_sqlite_err(rc);
}

/* Steps a statement that answers at most one number, resets it, and logs what goes wrong. */
static enum err statement_run_locked(struct catalog *c, enum statement which, int64_t *answer)
{
    int rc = sqlite3_step(c->statement[which]);
    if (rc == SQLITE_ROW && answer != NULL)
        *answer = sqlite3_column_int64(c->statement[which], 0);
    if (rc == SQLITE_ROW)
        rc = sqlite3_step(c->statement[which]);
    enum err e = which == ST_COMMIT ? catalog_sqlite_err(rc) : result_err(rc);
    if (e != ERR_OK)
        note(NOTE_ERROR, "catalog", "%s: %s", c->path, sqlite3_errmsg(c->db));
    statement_reset_locked(c, which);
    return e;
}

/* Key and value share one allocation, so that freeing the key frees both. */
static enum err row_read_locked(struct catalog *c, enum statement which, struct catalog_kv *out)
{
    sqlite3_stmt *stmt = c->statement[which];
    const void *key = sqlite3_column_text(stmt, 0), *value = sqlite3_column_blob(stmt, 1);
    size_t key_n = (size_t)sqlite3_column_bytes(stmt, 0);
    size_t value_n = (size_t)sqlite3_column_bytes(stmt, 1);
    if (key_n == 0 || key_n > CATALOG_KEY_BYTES_MAX || value_n > CATALOG_VALUE_BYTES_MAX ||
        memchr(key, '\0', key_n) != NULL) {
        note(NOTE_ERROR, "catalog", "%s: a key or value is longer than its limit", c->path);
        return ERR_CORRUPT;
    }
    char *at = mem_new(key_n + 1 + value_n);
    memcpy(at, key, key_n);
    if (value_n > 0)
        memcpy(at + key_n + 1, value, value_n);
    *out = (struct catalog_kv){
        .key = at,
        .value = {at + key_n + 1, value_n},
        .create_rev = sqlite3_column_int64(stmt, 2),
        .mod_rev = sqlite3_column_int64(stmt, 3),
    };
    return ERR_OK;
}

static enum err get_locked(struct catalog *c, const char *key, struct catalog_kv *out)
{
    sqlite3_stmt *stmt = statement_for_key_locked(c, ST_GET, key);
    int rc = sqlite3_step(stmt);
    enum err e = rc == SQLITE_DONE ? ERR_NOT_FOUND : result_err(rc);
    if (rc == SQLITE_ROW)
        e = row_read_locked(c, ST_GET, out);
    else if (e != ERR_NOT_FOUND)
        note(NOTE_ERROR, "catalog", "%s: %s", c->path, sqlite3_errmsg(c->db));
    statement_reset_locked(c, ST_GET);
    return e;
}

enum err catalog_get(struct catalog *c, const char *key, struct catalog_kv *out)
{
    if (!key_ok(key))
        return ERR_INVALID;
    catalog_lock(c);
    enum err e = get_locked(c, key, out);
    lock_give(&c->lk);
    return e;
}

static void kvs_put(struct catalog_kvs *kvs, size_t *room, struct catalog_kv kv)
{
    if (kvs->n == *room) {
        *room = *room == 0 ? 16 : *room * 2;
        kvs->at = mem_resize(kvs->at, *room * sizeof *kvs->at);
    }
    kvs->at[kvs->n++] = kv;
}

enum err catalog_list(struct catalog *c, const char *prefix, struct catalog_kvs *out)
{
    struct catalog_kvs found = {NULL, 0};
    size_t room = 0, prefix_n = strlen(prefix);
    enum err e = ERR_OK;
    catalog_lock(c);
    sqlite3_stmt *stmt = statement_for_key_locked(c, ST_LIST, prefix);
    for (;;) {
        int rc = sqlite3_step(stmt);
        if (rc != SQLITE_ROW) {
            e = result_err(rc);
            if (e != ERR_OK)
                note(NOTE_ERROR, "catalog", "%s: %s", c->path, sqlite3_errmsg(c->db));
            break;
        }
        struct catalog_kv kv;
        e = row_read_locked(c, ST_LIST, &kv);
        if (e != ERR_OK)
            break;
        if (strncmp(kv.key, prefix, prefix_n) != 0) { /* the first key behind the prefix's */
            catalog_kv_fini(&kv);
            break;
        }
        kvs_put(&found, &room, kv);
    }
    statement_reset_locked(c, ST_LIST);
    lock_give(&c->lk);
    if (e == ERR_OK)
        *out = found;
    else
        catalog_kvs_fini(&found);
    return e;
}

enum err catalog_integrity(struct catalog *c, void (*each)(void *self, const char *fault),
                           void *self)
{
    sqlite3_stmt *stmt = NULL;
    catalog_lock(c);
    int rc = sqlite3_prepare_v2(c->db, "PRAGMA integrity_check", -1, &stmt, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
        const char *fault = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
        if (fault != NULL && strcmp(fault, "ok") != 0)
            each(self, fault);
    }
    sqlite3_finalize(stmt);
    lock_give(&c->lk);
    return catalog_sqlite_err(rc);
}

static enum err compare_locked(struct catalog *c, const struct catalog_cmp *cmp)
{
    struct catalog_kv kv;
    enum err e = get_locked(c, cmp->key, &kv);
    if (e == ERR_NOT_FOUND)
        return cmp->rev == 0 ? ERR_OK : ERR_CONFLICT;
    if (e != ERR_OK)
        return e;
    int64_t is = cmp->what == CATALOG_MOD ? kv.mod_rev : kv.create_rev;
    catalog_kv_fini(&kv);
    return is == cmp->rev ? ERR_OK : ERR_CONFLICT;
}

static enum err apply_locked(struct catalog *c, const struct catalog_op *op, int64_t rev)
{
    enum statement which = op->drop ? ST_DROP : ST_PUT;
    sqlite3_stmt *stmt = statement_for_key_locked(c, which, op->key);
    if (!op->drop) {
        const void *value = op->value.n == 0 ? "" : op->value.at; /* NULL would bind SQL's NULL */
        CHECK(sqlite3_bind_blob(stmt, 2, value, (int)op->value.n, SQLITE_STATIC) == SQLITE_OK);
        CHECK(sqlite3_bind_int64(stmt, 3, rev) == SQLITE_OK);
    }
    return statement_run_locked(c, which, NULL);
}

/* Compares before it changes anything, so a conflict leaves nothing behind. */
static enum err txn_body_locked(struct catalog *c, struct txn *t)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < t->cmps_n && e == ERR_OK; i++)
        e = compare_locked(c, &t->cmps[i]);
    if (e != ERR_OK)
        return e;
    CHECK(sqlite3_bind_int64(c->statement[ST_REV], 1, t->ops_n > 0) == SQLITE_OK);
    t->rev = 0;
    e = statement_run_locked(c, ST_REV, &t->rev);
    if (e == ERR_OK && t->rev == 0 && t->ops_n > 0)
        e = ERR_CORRUPT; /* the row is missing, or the count came round */
    for (size_t i = 0; i < t->ops_n && e == ERR_OK; i++)
        e = apply_locked(c, &t->ops[i], t->rev);
    return e;
}

bool catalog_failed(const struct catalog *c)
{
    return atomic_load_explicit(&c->failed, memory_order_relaxed);
}

/* Commits, or rolls back when `e` says so. */
static enum err txn_end_locked(struct catalog *c, enum err e)
{
    if (e == ERR_OK)
        e = statement_run_locked(c, ST_COMMIT, NULL);
    /* After some errors SQLite has rolled back by itself; after a busy COMMIT it has not. */
    if (e != ERR_OK && !sqlite3_get_autocommit(c->db) &&
        statement_run_locked(c, ST_ROLLBACK, NULL) != ERR_OK)
        e = ERR_IO;
    if (e == ERR_IO) {
        atomic_store_explicit(&c->failed, true, memory_order_relaxed);
        note(NOTE_ERROR, "catalog", "%s: a write failed; no more changes until a restart", c->path);
    }
    return e;
}

static enum err txn_locked(struct catalog *c, struct txn *t)
{
    if (catalog_failed(c))
        return ERR_FAILED;
    enum err e = statement_run_locked(c, ST_BEGIN, NULL);
    if (e == ERR_OK)
        e = txn_body_locked(c, t);
    return txn_end_locked(c, e);
}

/* All of the list in one of SQLite's transactions, so that they share its syncs. ERR_IO: nobody
 * knows what has happened; after any other error, which is no conflict, nothing has. */
static enum err txns_together_locked(struct catalog *c, struct txn *first)
{
    if (catalog_failed(c))
        return ERR_FAILED;
    enum err e = statement_run_locked(c, ST_BEGIN, NULL);
    for (struct txn *t = first; t != NULL && e == ERR_OK; t = t->next) {
        t->err = txn_body_locked(c, t);
        if (t->err != ERR_CONFLICT)
            e = t->err;
    }
    return txn_end_locked(c, e);
}

/* What etcd would refuse is refused here too: an empty or long key, the same key twice. */
static enum err txn_check(const struct catalog_cmp *cmps, size_t cmps_n,
                          const struct catalog_op *ops, size_t ops_n)
{
    if (cmps_n > CATALOG_TXN_MAX || ops_n > CATALOG_TXN_MAX)
        return ERR_TOO_BIG;
    for (size_t i = 0; i < cmps_n; i++)
        if (!key_ok(cmps[i].key))
            return ERR_INVALID;
    for (size_t i = 0; i < ops_n; i++) {
        if (!key_ok(ops[i].key))
            return ERR_INVALID;
        if (!ops[i].drop && ops[i].value.n > CATALOG_VALUE_BYTES_MAX)
            return ERR_TOO_BIG;
        for (size_t k = 0; k < i; k++)
            if (strcmp(ops[i].key, ops[k].key) == 0)
                return ERR_INVALID;
    }
    return ERR_OK;
}

static void txn_wait(struct catalog *c, struct txn *t)
{
    lock_take(&c->queue_lk);
    *c->last = t;
    c->last = &t->next;
    lock_give(&c->queue_lk);
}

static struct txn *txns_take_locked(struct catalog *c)
{
    lock_check_held(&c->lk);
    lock_take(&c->queue_lk);
    struct txn *first = c->first;
    c->first = NULL;
    c->last = &c->first;
    lock_give(&c->queue_lk);
    return first;
}

/* Whoever gets the lock does the work of all who wait for it. */
static void txns_run_locked(struct catalog *c)
{
    struct txn *first = txns_take_locked(c);
    enum err e = first->next == NULL ? ERR_BUSY : txns_together_locked(c, first);
    for (struct txn *t = first; t != NULL; t = t->next) {
        /* One that cannot be carried out must not stand in the way of the others. */
        if (e == ERR_IO)
            t->err = ERR_IO;
        else if (e != ERR_OK)
            t->err = txn_locked(c, t);
        t->done = true;
    }
}

enum err catalog_txn(struct catalog *c, const struct catalog_cmp *cmps, size_t cmps_n,
                     const struct catalog_op *ops, size_t ops_n, int64_t *rev)
{
    struct txn t = {.cmps = cmps, .cmps_n = cmps_n, .ops = ops, .ops_n = ops_n};
    enum err e = txn_check(cmps, cmps_n, ops, ops_n);
    if (e != ERR_OK)
        return e;
    lock_check_none_held();
    txn_wait(c, &t);
    catalog_lock(c);
    if (!t.done)
        txns_run_locked(c);
    lock_give(&c->lk);
    if (t.err == ERR_OK && rev != NULL)
        *rev = t.rev;
    return t.err;
}

void catalog_kv_fini(struct catalog_kv *kv)
{
    mem_free(kv->key); /* the value lies behind it */
    *kv = (struct catalog_kv){0};
}

void catalog_kvs_fini(struct catalog_kvs *kvs)
{
    for (size_t i = 0; i < kvs->n; i++)
        catalog_kv_fini(&kvs->at[i]);
    mem_free(kvs->at);
    *kvs = (struct catalog_kvs){NULL, 0};
}

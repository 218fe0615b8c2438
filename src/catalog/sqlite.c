// SPDX-License-Identifier: Apache-2.0
/* The catalogue of one node: a table of keys in an SQLite file. */
#include <string.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/engine.h"
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

struct sqlite {
    struct catalog catalog; /* first */
    char *path;             /* set at birth */
    sqlite3 *db;            /* guarded by the catalogue's lock, as all below */
    sqlite3_stmt *statement[ST_N];
};

static struct sqlite *sqlite_of(struct catalog *c)
{
    return CONTAINER_OF(c, struct sqlite, catalog);
}

static const struct catalog_engine engine;

static enum err catalog_make(const char *path, sqlite3 *db, struct catalog **out)
{
    enum err e = ERR_OK;
    struct sqlite *c = mem_new(sizeof *c);
    catalog_init(&c->catalog, &engine);
    c->path = mem_copy_text(path);
    c->db = db;
    for (int i = 0; i < ST_N && e == ERR_OK; i++)
        e = catalog_sqlite_err(sqlite3_prepare_v3(
            db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &c->statement[i], NULL));
    if (e != ERR_OK) {
        note(NOTE_ERROR, "catalog", "%s: %s", path, sqlite3_errmsg(db));
        catalog_close(&c->catalog);
        return e;
    }
    *out = &c->catalog;
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

static void sqlite_free(struct catalog *catalog)
{
    struct sqlite *c = sqlite_of(catalog);
    for (int i = 0; i < ST_N; i++)
        sqlite3_finalize(c->statement[i]);
    CHECK(sqlite3_close(c->db) == SQLITE_OK);
    mem_free(c->path);
    mem_free(c);
}

static sqlite3_stmt *statement_for_key_locked(struct sqlite *c, enum statement which,
                                              const char *key)
{
    sqlite3_stmt *stmt = c->statement[which];
    /* SQLITE_STATIC: the key outlives the statement's reset, which every caller does. */
    CHECK(sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC) == SQLITE_OK);
    return stmt;
}

static void statement_reset_locked(struct sqlite *c, enum statement which)
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
static enum err statement_run_locked(struct sqlite *c, enum statement which, int64_t *answer)
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
static enum err row_read_locked(struct sqlite *c, enum statement which, struct catalog_kv *out)
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

static enum err get_locked(struct sqlite *c, const char *key, struct catalog_kv *out)
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

static enum err sqlite_get(struct catalog *c, const char *key, struct catalog_kv *out)
{
    return get_locked(sqlite_of(c), key, out);
}

static enum err sqlite_list(struct catalog *catalog, const char *prefix, struct catalog_kvs *out)
{
    struct sqlite *c = sqlite_of(catalog);
    struct catalog_kvs found = {NULL, 0};
    size_t room = 0, prefix_n = strlen(prefix);
    enum err e = ERR_OK;
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
        catalog_kvs_put(&found, &room, kv);
    }
    statement_reset_locked(c, ST_LIST);
    if (e == ERR_OK)
        *out = found;
    else
        catalog_kvs_fini(&found);
    return e;
}

enum err catalog_integrity(struct catalog *catalog, void (*each)(void *self, const char *fault),
                           void *self)
{
    struct sqlite *c = sqlite_of(catalog);
    sqlite3_stmt *stmt = NULL;
    CHECK(catalog->engine == &engine);
    catalog_lock(catalog);
    int rc = sqlite3_prepare_v2(c->db, "PRAGMA integrity_check", -1, &stmt, NULL);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(stmt);
        const char *fault = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
        if (fault != NULL && strcmp(fault, "ok") != 0)
            each(self, fault);
    }
    sqlite3_finalize(stmt);
    lock_give(&catalog->lk);
    return catalog_sqlite_err(rc);
}

static enum err compare_locked(struct sqlite *c, const struct catalog_cmp *cmp)
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

static enum err apply_locked(struct sqlite *c, const struct catalog_op *op, int64_t rev)
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
static enum err txn_body_locked(struct sqlite *c, struct catalog_txn *t)
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

/* Commits, or rolls back when `e` says so. */
static enum err txn_end_locked(struct sqlite *c, enum err e)
{
    if (e == ERR_OK)
        e = statement_run_locked(c, ST_COMMIT, NULL);
    /* After some errors SQLite has rolled back by itself; after a busy COMMIT it has not. */
    if (e != ERR_OK && !sqlite3_get_autocommit(c->db) &&
        statement_run_locked(c, ST_ROLLBACK, NULL) != ERR_OK)
        e = ERR_IO;
    if (e == ERR_IO) {
        atomic_store_explicit(&c->catalog.failed, true, memory_order_relaxed);
        note(NOTE_ERROR, "catalog", "%s: a write failed; no more changes until a restart", c->path);
    }
    return e;
}

static enum err txn_locked(struct sqlite *c, struct catalog_txn *t)
{
    if (catalog_failed(&c->catalog))
        return ERR_FAILED;
    enum err e = statement_run_locked(c, ST_BEGIN, NULL);
    if (e == ERR_OK)
        e = txn_body_locked(c, t);
    return txn_end_locked(c, e);
}

/* All of the list in one of SQLite's transactions, so that they share its syncs. ERR_IO: nobody
 * knows what has happened; after any other error, which is no conflict, nothing has. */
static enum err txns_together_locked(struct sqlite *c, struct catalog_txn *first)
{
    if (catalog_failed(&c->catalog))
        return ERR_FAILED;
    enum err e = statement_run_locked(c, ST_BEGIN, NULL);
    for (struct catalog_txn *t = first; t != NULL && e == ERR_OK; t = t->next) {
        t->err = txn_body_locked(c, t);
        if (t->err != ERR_CONFLICT)
            e = t->err;
    }
    return txn_end_locked(c, e);
}

static void sqlite_run(struct catalog *catalog, struct catalog_txn *first)
{
    struct sqlite *c = sqlite_of(catalog);
    enum err e = first->next == NULL ? ERR_BUSY : txns_together_locked(c, first);
    for (struct catalog_txn *t = first; t != NULL; t = t->next) {
        /* One that cannot be carried out must not stand in the way of the others. */
        if (e == ERR_IO)
            t->err = ERR_IO;
        else if (e != ERR_OK)
            t->err = txn_locked(c, t);
    }
}

static const struct catalog_engine engine = {sqlite_get, sqlite_list, sqlite_run, sqlite_free};

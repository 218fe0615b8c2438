// SPDX-License-Identifier: Apache-2.0
/* The catalogue of one node: a table of keys in an SQLite file. */
#include <string.h>

#include "base/mem.h"
#include "base/note.h"
#include "base/rng.h"
#include "catalog/engine.h"
#include "catalog/news.h"
#include "catalog/schema.h"

enum statement {
    ST_BEGIN,
    ST_COMMIT,
    ST_ROLLBACK,
    ST_GET,
    ST_LIST,
    ST_PUT,
    ST_DROP,
    ST_REV,
    ST_LEASED,
    ST_N
};

static const char *const statement_sql[ST_N] = {
    [ST_BEGIN] = "BEGIN IMMEDIATE",
    [ST_COMMIT] = "COMMIT",
    [ST_ROLLBACK] = "ROLLBACK",
    [ST_GET] = "SELECT key, value, create_rev, mod_rev FROM kv WHERE key = ?1",
    [ST_LIST] = "SELECT key, value, create_rev, mod_rev FROM kv WHERE key >= ?1 ORDER BY key",
    [ST_PUT] = "INSERT INTO kv (key, value, create_rev, mod_rev, version, lease)"
               " VALUES (?1, ?2, ?3, ?3, 1, ?4) ON CONFLICT (key) DO UPDATE"
               " SET value = excluded.value, mod_rev = excluded.mod_rev, version = version + 1,"
               " lease = excluded.lease RETURNING create_rev",
    [ST_DROP] = "DELETE FROM kv WHERE key = ?1",
    [ST_REV] = "UPDATE rev SET n = n + ?1 RETURNING n",
    [ST_LEASED] = "SELECT key FROM kv WHERE lease <> 0 AND ?1 IN (0, lease) ORDER BY key",
};

struct sqlite {
    struct catalog catalog; /* first */
    char *path;             /* set at birth */
    sqlite3 *db;            /* guarded by the catalogue's lock, as all below */
    sqlite3_stmt *statement[ST_N];
    struct news news;
};

static struct sqlite *sqlite_of(struct catalog *c)
{
    return CONTAINER_OF(c, struct sqlite, catalog);
}

static const struct catalog_engine engine;

/* Nobody else has c yet. */
static enum err rev_read(struct sqlite *c)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(c->db, "SELECT n FROM rev", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        c->news.rev = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return catalog_sqlite_err(rc);
}

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
    if (e == ERR_OK)
        e = rev_read(c);
    if (e != ERR_OK) {
        note(NOTE_ERROR, "catalog", "%s: %s", path, sqlite3_errmsg(db));
        catalog_close(&c->catalog);
        return e;
    }
    *out = &c->catalog;
    return ERR_OK;
}

static void sqlite_free(struct catalog *catalog)
{
    struct sqlite *c = sqlite_of(catalog);
    for (int i = 0; i < ST_N; i++)
        sqlite3_finalize(c->statement[i]);
    CHECK(sqlite3_close(c->db) == SQLITE_OK);
    news_fini(&c->news);
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

static enum err sqlite_list(struct catalog *catalog, const char *prefix, struct catalog_kvs *out,
                            int64_t *rev)
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
    if (e == ERR_OK) {
        *out = found;
        *rev = c->news.rev;
    } else {
        catalog_kvs_fini(&found);
    }
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

static enum err drop_locked(struct sqlite *c, const char *key, int64_t rev)
{
    (void)statement_for_key_locked(c, ST_DROP, key);
    enum err e = statement_run_locked(c, ST_DROP, NULL);
    if (e == ERR_OK && sqlite3_changes(c->db) > 0)
        news_put(&c->news, key, BYTES_NONE, 0, rev);
    return e;
}

static enum err put_locked(struct sqlite *c, const struct catalog_op *op, int64_t lease,
                           int64_t rev)
{
    sqlite3_stmt *stmt = statement_for_key_locked(c, ST_PUT, op->key);
    int64_t create_rev = 0;
    /* NULL would bind SQL's NULL, and stand for "dropped" in the news. */
    struct bytes value = op->value.n == 0 ? BYTES_OF("") : op->value;
    CHECK(sqlite3_bind_blob(stmt, 2, value.at, (int)value.n, SQLITE_STATIC) == SQLITE_OK);
    CHECK(sqlite3_bind_int64(stmt, 3, rev) == SQLITE_OK);
    CHECK(sqlite3_bind_int64(stmt, 4, lease) == SQLITE_OK);
    enum err e = statement_run_locked(c, ST_PUT, &create_rev);
    if (e == ERR_OK)
        news_put(&c->news, op->key, value, create_rev, rev);
    return e;
}

static enum err rev_raise_locked(struct sqlite *c, bool raise, int64_t *rev)
{
    *rev = 0;
    CHECK(sqlite3_bind_int64(c->statement[ST_REV], 1, raise) == SQLITE_OK);
    enum err e = statement_run_locked(c, ST_REV, rev);
    /* 0: the row is missing, or the count came round. */
    return e == ERR_OK && *rev == 0 && raise ? ERR_CORRUPT : e;
}

/* Compares before it changes anything, so a conflict leaves nothing behind. */
static enum err txn_body_locked(struct sqlite *c, struct catalog_txn *t)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < t->cmps_n && e == ERR_OK; i++)
        e = compare_locked(c, &t->cmps[i]);
    if (e != ERR_OK)
        return e;
    e = rev_raise_locked(c, t->ops_n > 0, &t->rev);
    for (size_t i = 0; i < t->ops_n && e == ERR_OK; i++)
        e = t->ops[i].drop ? drop_locked(c, t->ops[i].key, t->rev)
                           : put_locked(c, &t->ops[i], t->lease, t->rev);
    return e;
}

/* Commits and tells the watches, or rolls back when `e` says so. `rev`: the last one given out. */
static enum err txn_end_locked(struct sqlite *c, enum err e, int64_t rev)
{
    if (e == ERR_OK)
        e = statement_run_locked(c, ST_COMMIT, NULL);
    /* After some errors SQLite has rolled back by itself; after a busy COMMIT it has not. */
    if (e != ERR_OK && !sqlite3_get_autocommit(c->db) &&
        statement_run_locked(c, ST_ROLLBACK, NULL) != ERR_OK)
        e = ERR_IO;
    if (e == ERR_OK)
        news_publish(&c->news, rev);
    else
        news_undo(&c->news);
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
    return txn_end_locked(c, e, t->rev);
}

/* All of the list in one of SQLite's transactions, so that they share its syncs. ERR_IO: nobody
 * knows what has happened; after any other error, which is no conflict, nothing has. */
static enum err txns_together_locked(struct sqlite *c, struct catalog_txn *first)
{
    if (catalog_failed(&c->catalog))
        return ERR_FAILED;
    enum err e = statement_run_locked(c, ST_BEGIN, NULL);
    int64_t rev = c->news.rev;
    for (struct catalog_txn *t = first; t != NULL && e == ERR_OK; t = t->next) {
        t->err = txn_body_locked(c, t);
        if (t->err != ERR_CONFLICT)
            e = t->err;
        if (t->err == ERR_OK)
            rev = t->rev;
    }
    return txn_end_locked(c, e, rev);
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

/* ---- sessions ---- */

/* The keys of one lease, 0 for those of all: as kvs without values. */
static enum err leased_locked(struct sqlite *c, int64_t lease, struct catalog_kvs *out)
{
    size_t room = 0;
    int rc;
    CHECK(sqlite3_bind_int64(c->statement[ST_LEASED], 1, lease) == SQLITE_OK);
    while ((rc = sqlite3_step(c->statement[ST_LEASED])) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(c->statement[ST_LEASED], 0);
        catalog_kvs_put(out, &room, (struct catalog_kv){.key = mem_copy_text(key)});
    }
    statement_reset_locked(c, ST_LEASED);
    return result_err(rc);
}

/* Drops the keys of one lease, or (0) of all leases, at one revision. */
static enum err leased_drop_locked(struct sqlite *c, int64_t lease)
{
    struct catalog_kvs kvs = {NULL, 0};
    int64_t rev = 0;
    enum err e = catalog_failed(&c->catalog) ? ERR_FAILED : leased_locked(c, lease, &kvs);
    if (e == ERR_OK && kvs.n > 0) {
        e = statement_run_locked(c, ST_BEGIN, NULL);
        if (e == ERR_OK)
            e = rev_raise_locked(c, true, &rev);
        for (size_t i = 0; i < kvs.n && e == ERR_OK; i++)
            e = drop_locked(c, kvs.at[i].key, rev);
        e = txn_end_locked(c, e, rev);
    }
    catalog_kvs_fini(&kvs);
    return e;
}

static enum err sqlite_lease_revoke(struct catalog *c, int64_t id)
{
    return leased_drop_locked(sqlite_of(c), id);
}

/* While this process lives nothing can end its session. */
static enum err sqlite_session_begin(struct catalog *c, int ttl_s, void (*lost)(void *self),
                                     void *self, struct catalog_session **out)
{
    uint64_t id;
    (void)ttl_s;
    (void)lost;
    (void)self;
    rng_secret(&id, sizeof id);
    struct catalog_session *s = mem_new(sizeof *s);
    s->catalog = c;
    s->id = (int64_t)(id >> 2) + 1; /* positive; two of one file are never the same */
    *out = s;
    return ERR_OK;
}

static void sqlite_session_end(struct catalog_session *s)
{
    catalog_lock(s->catalog);
    if (leased_drop_locked(sqlite_of(s->catalog), s->id) != ERR_OK)
        note(NOTE_INFO, "catalog", "what a session leased is dropped at the next open");
    lock_give(&s->catalog->lk);
    mem_free(s);
}

static struct catalog_watch *sqlite_watch_new(struct catalog *c)
{
    return news_watch_new(&sqlite_of(c)->news);
}

static const struct catalog_engine engine = {
    .get = sqlite_get,
    .list = sqlite_list,
    .run = sqlite_run,
    .free = sqlite_free,
    .lease_revoke = sqlite_lease_revoke,
    .session_begin = sqlite_session_begin,
    .session_end = sqlite_session_end,
    .watch_new = sqlite_watch_new,
    .watch_run = news_watch_run,
    .watch_wake = news_watch_wake,
    .watch_free = news_watch_free,
};

enum err catalog_open(const char *path, struct catalog **out)
{
    sqlite3 *db;
    struct catalog *c;
    enum err e = catalog_schema_open(path, &db);
    if (e == ERR_OK)
        e = catalog_make(path, db, &c);
    if (e != ERR_OK)
        return e;
    catalog_lock(c);
    e = leased_drop_locked(sqlite_of(c), 0); /* sessions of processes that are no more */
    lock_give(&c->lk);
    if (e == ERR_OK)
        *out = c;
    else
        catalog_close(c);
    return e;
}

enum err catalog_open_to_read(const char *path, struct catalog **out)
{
    sqlite3 *db;
    enum err e = catalog_schema_open_to_read(path, &db);
    return e == ERR_OK ? catalog_make(path, db, out) : e;
}

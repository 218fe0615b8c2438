// SPDX-License-Identifier: Apache-2.0
#include "catalog/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"

enum { APPLICATION_ID = 0x6c6c6f67, BUSY_TIMEOUT_MS = 2000 };

/* Step n leads from user_version n-1 to n. The included file is made from schema/catalog.sql and
 * begins with a comma. */
static const char *const steps[] = {NULL
#include "src/catalog/schema_steps.h"
};
enum { VERSION = sizeof steps / sizeof steps[0] - 1 };

enum err catalog_sqlite_err(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return ERR_OK;
    case SQLITE_BUSY: /* somebody else reads or writes the file: an operator's sqlite3, a backup */
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
        return ERR_BUSY;
    case SQLITE_FULL:
        return ERR_NO_SPACE;
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return ERR_PERMISSION;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR: /* our SQL is fixed, so it fails only on tables that are not ours */
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return ERR_CORRUPT;
    default:
        CHECK((rc & 0xff) != SQLITE_MISUSE && (rc & 0xff) != SQLITE_RANGE);
        return ERR_IO;
    }
}

/* SQLite would make the file readable to everybody, and it holds secrets. SQLite gives its journal
 * the mode of the file. Also tells "may not" from "cannot", which SQLite does not. */
static enum err file_make(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
        return ERR_OK;
    }
    int failure = errno;
    note(NOTE_ERROR, "catalog", "%s: %s", path, strerror(failure));
    if (failure == EACCES || failure == EPERM || failure == EROFS)
        return ERR_PERMISSION;
    return failure == ENOSPC || failure == EDQUOT ? ERR_NO_SPACE : ERR_IO;
}

/* The first column of the first row: a number, or 1 for the text "ok" and 0 for any other. */
static int ask(sqlite3 *db, const char *sql, int64_t *answer)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        bool is_text = sqlite3_column_type(stmt, 0) == SQLITE_TEXT;
        *answer = is_text ? text != NULL && strcmp(text, "ok") == 0 : sqlite3_column_int64(stmt, 0);
        rc = SQLITE_OK;
    } else if (rc == SQLITE_DONE) {
        rc = SQLITE_CORRUPT;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* The rollback journal, cut to nothing at each commit, and full syncs: README.md says why. */
static int settings_apply(sqlite3 *db)
{
    int rc = sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db,
                          "PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF;"
                          "PRAGMA cell_size_check=ON; PRAGMA secure_delete=ON;"
                          "PRAGMA journal_mode=TRUNCATE",
                          NULL, NULL, NULL);
    return rc;
}

static int journal_overwrite(sqlite3_file *journal)
{
    static const char zeros[512];
    const sqlite3_io_methods *io = journal->pMethods;
    int rc = io->xWrite(journal, zeros, sizeof zeros, 0);
    if (rc == SQLITE_OK)
        rc = io->xSync(journal, SQLITE_SYNC_NORMAL);
    if (rc == SQLITE_OK)
        rc = io->xTruncate(journal, 0);
    if (rc == SQLITE_OK)
        rc = io->xSync(journal, SQLITE_SYNC_NORMAL);
    return rc;
}

/* A commit ends by cutting the journal to nothing. When the sync of that failed in the last life,
 * the cut is seen here, and yet a power cut may bring the old journal back, under the first pages
 * of the next one: SQLite would play what fits together of both. So its head is overwritten, and
 * that is synced, before anything else is written. Not for an empty file, in which nothing was
 * ever committed. */
static int journal_settle(sqlite3 *db)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    const char *name = sqlite3_filename_journal(sqlite3_db_filename(db, "main"));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_JOURNAL;
    int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_file *journal = mem_new((size_t)vfs->szOsFile);
    rc = vfs->xOpen(vfs, name, journal, flags, NULL);
    if (rc == SQLITE_OK)
        rc = journal_overwrite(journal);
    if (journal->pMethods != NULL)
        (void)journal->pMethods->xClose(journal);
    mem_free(journal);
    int ended = sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc == SQLITE_OK ? ended : rc;
}

/* Gives the file's version when it is a sound catalogue, or an empty file (0). */
static enum err judge(sqlite3 *db, const char *path, int64_t *version)
{
    int64_t application, objects, sound;
    int rc = ask(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA user_version", version);
    if (rc == SQLITE_OK)
        rc = ask(db, "SELECT count(*) FROM sqlite_schema", &objects);
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA quick_check(1)", &sound);
    if (rc != SQLITE_OK) {
        note(NOTE_ERROR, "catalog", "%s: %s", path, sqlite3_errmsg(db));
        return catalog_sqlite_err(rc);
    }
    bool empty = application == 0 && *version == 0 && objects == 0;
    if (!empty && (application != APPLICATION_ID || *version < 1)) {
        note(NOTE_ERROR, "catalog", "%s: a database of another program", path);
        return ERR_CORRUPT;
    }
    if (*version > VERSION) {
        note(NOTE_ERROR, "catalog",
             "%s: written by a newer leaselog (schema %lld; this one knows %d): upgrade leaselog",
             path, (long long)*version, VERSION);
        return ERR_NEWER_FORMAT;
    }
    if (!sound) {
        note(NOTE_ERROR, "catalog", "%s: damaged (quick_check): restore it from a backup", path);
        return ERR_CORRUPT;
    }
    return ERR_OK;
}

static enum err migrate(sqlite3 *db, const char *path, int64_t version)
{
    for (int64_t to = version + 1; to <= VERSION; to++) {
        int64_t reached = 0;
        int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            rc = sqlite3_exec(db, steps[to], NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            rc = ask(db, "PRAGMA user_version", &reached);
        if (rc == SQLITE_OK) {
            CHECK(reached == to); /* each step ends by setting it */
            rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
        }
        if (rc != SQLITE_OK) {
            note(NOTE_ERROR, "catalog", "%s: cannot bring the schema to %lld: %s", path,
                 (long long)to, sqlite3_errmsg(db));
            return catalog_sqlite_err(rc); /* closing the database rolls back */
        }
    }
    return ERR_OK;
}

enum err catalog_schema_open(const char *path, sqlite3 **out)
{
    sqlite3 *db = NULL;
    int64_t version = 0;
    enum err e = file_make(path);
    if (e != ERR_OK)
        return e;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(path, &db, flags, NULL);
    if (rc == SQLITE_OK)
        rc = settings_apply(db);
    if (rc != SQLITE_OK) {
        note(NOTE_ERROR, "catalog", "%s: %s", path, sqlite3_errmsg(db));
        e = catalog_sqlite_err(rc);
        goto out;
    }
    e = judge(db, path, &version);
    if (e == ERR_OK && version > 0 && (rc = journal_settle(db)) != SQLITE_OK) {
        note(NOTE_ERROR, "catalog", "%s-journal: %s", path, sqlite3_errstr(rc));
        e = catalog_sqlite_err(rc);
    }
    if (e == ERR_OK)
        e = migrate(db, path, version);
out:
    if (e == ERR_OK)
        *out = db;
    else
        sqlite3_close(db);
    return e;
}

/* An empty file is told apart before SQLite sees it: beside one it removes a journal. */
static enum err look_at(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == ENOENT ? ERR_NOT_FOUND : errno == EACCES ? ERR_PERMISSION : ERR_IO;
    return S_ISREG(st.st_mode) && st.st_size > 0 ? ERR_OK : ERR_CORRUPT;
}

enum err catalog_schema_open_to_read(const char *path, sqlite3 **out)
{
    sqlite3 *db = NULL;
    int64_t application = 0, version = 0;
    enum err e = look_at(path);
    if (e != ERR_OK)
        return e;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(path, &db, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON", NULL, NULL,
                          NULL);
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK)
        rc = ask(db, "PRAGMA user_version", &version);
    /* A journal that must be rolled back, which a reader may not do. */
    bool cut_short = rc == SQLITE_READONLY_ROLLBACK || rc == SQLITE_READONLY_RECOVERY;
    e = cut_short ? ERR_BUSY : catalog_sqlite_err(rc);
    if (e == ERR_OK && (application != APPLICATION_ID || version < 1))
        e = ERR_CORRUPT;
    if (e == ERR_OK && version > VERSION)
        e = ERR_NEWER_FORMAT;
    if (e == ERR_OK)
        *out = db;
    else
        sqlite3_close(db);
    return e;
}

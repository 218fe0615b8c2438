// SPDX-License-Identifier: Apache-2.0
/* Opens the catalogue's file, judges it, and brings its tables up to date. Private to this room:
 * it shows sqlite3.h. */
#ifndef CATALOG_SCHEMA_H
#define CATALOG_SCHEMA_H

#include <sqlite3.h>

#include "base/check.h"
#include "base/err.h"

/* As catalog_open. The caller closes *out with sqlite3_close. One thread at a time may use it. */
enum err catalog_schema_open(const char *path, sqlite3 **out) MUST_USE;

/* As catalog_open_to_read. */
enum err catalog_schema_open_to_read(const char *path, sqlite3 **out) MUST_USE;

/* What an SQLite result code means to our callers; ERR_OK for SQLITE_OK, ROW and DONE. */
enum err catalog_sqlite_err(int rc);

#endif

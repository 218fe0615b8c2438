-- SPDX-License-Identifier: Apache-2.0
-- The catalogue's tables, as steps: step n brings a file from user_version n-1 to n. The build
-- embeds them in the broker, which runs each missing step in its own transaction. A step that was
-- released is never changed; a change of the schema is a new step at the end.
--
-- A new catalogue by hand: sqlite3 catalog.sqlite < schema/catalog.sql

-- step 1
-- 0x6c6c6f67, "llog": tells the catalogue from other programs' databases.
PRAGMA application_id = 1819045735;
-- The keys and their values are described in src/catalog/catalog.h. `lease` is 0, or the
-- session whose end drops the key; no session outlives the process.
CREATE TABLE kv (
    key        TEXT    NOT NULL PRIMARY KEY COLLATE BINARY CHECK (length(key) > 0),
    value      BLOB    NOT NULL,
    create_rev INTEGER NOT NULL CHECK (create_rev > 0),
    mod_rev    INTEGER NOT NULL CHECK (mod_rev >= create_rev),
    version    INTEGER NOT NULL CHECK (version > 0),
    lease      INTEGER NOT NULL DEFAULT 0
) STRICT;
-- One row: the revision of the last transaction.
CREATE TABLE rev (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    n   INTEGER NOT NULL CHECK (n >= 0)
) STRICT;
INSERT INTO rev (one, n) VALUES (1, 0);
PRAGMA user_version = 1;

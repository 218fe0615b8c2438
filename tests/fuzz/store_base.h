// SPDX-License-Identifier: Apache-2.0
/* A data directory with something of everything: two logs of sealed and cleaned segments, indexes
 * and snapshots, a log that the marks do not know yet, and a journal with rounds above the marks.
 * Made once, in memory, always the same but for random names (uuid, salts). */
#ifndef TESTS_FUZZ_STORE_BASE_H
#define TESTS_FUZZ_STORE_BASE_H

#include "fuzz/fuzz.h"
#include "lib/fault_disk.h"
#include "plog/plog.h"

struct base_file {
    char *path;
    struct buf bytes;
};

enum { BASE_FILES_MAX = 64 };

struct store_base {
    size_t n;
    struct base_file files[BASE_FILES_MAX]; /* by path */
};

/* The same one each time; lent for good. */
const struct store_base *store_base(void);
/* Options for such a directory on this disk. */
void store_base_options(struct plog_options *o, const struct disk *disk);

/* Puts right, in the bytes of a file with this path, every checksum that can be found: what fuzzing
 * could never guess would otherwise hide all that is behind it. */
void store_seal(const char *path, struct buf *bytes);

#endif

// SPDX-License-Identifier: Apache-2.0
/* The files in a log's folder, sorted by what they are. Of a swap that a crash has cut short
 * (FORMAT.md, "Cleaned segments") the result is listed: the cleaned segment, and not those whose
 * place it takes. */
#ifndef OFFLINE_LOG_FILES_H
#define OFFLINE_LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"
#include "disk/disk.h"

enum offline_file_kind {
    FILE_SEGMENT,
    FILE_INDEX,
    FILE_SNAPSHOT,
    FILE_ANEW, /* a snapshot that the log is to begin with */
    FILE_SALVAGE,
    FILE_COPY,
    FILE_TMP,
    FILE_OTHER
};

struct offline_file {
    enum offline_file_kind kind;
    uint64_t name;      /* a number, of those before FILE_SALVAGE */
    uint64_t clean_end; /* not 0: the segment is still called NAME-END.clean */
    char *path;         /* owned; from the data directory on */
};

struct offline_files {
    struct offline_file *at; /* owned; each kind by name */
    size_t n;
};

/* ERR_NOT_FOUND: there is no such folder. */
enum err offline_files_list(const struct disk *d, const char *dir,
                            struct offline_files *out) MUST_USE;
void offline_files_fini(struct offline_files *f);
/* The file of this kind and name, or NULL. */
const struct offline_file *offline_files_find(const struct offline_files *f,
                                              enum offline_file_kind kind, uint64_t name);

#endif

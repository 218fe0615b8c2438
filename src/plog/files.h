// SPDX-License-Identifier: Apache-2.0
/* Whole files: read at once, and replaced so that a crash leaves the old one or the new one. */
#ifndef PLOG_FILES_H
#define PLOG_FILES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "disk/disk.h"

/* Appends the file's bytes to `out`. ERR_NOT_FOUND, ERR_IO; ERR_TOO_BIG above `bytes_max`. */
enum err file_read(const struct disk *d, const char *path, size_t bytes_max,
                   struct buf *out) MUST_USE;
/* Writes path.tmp, syncs it, renames it to `path`, and syncs the folder `dir`. */
enum err file_replace(const struct disk *d, const char *dir, const char *path,
                      const struct bytes *pieces, size_t pieces_n) MUST_USE;
/* The two halves of that for whoever replaces many files and syncs them together after each half:
 * `sync` syncs the file's bytes, the folder is the caller's. */
enum err file_write_tmp(const struct disk *d, const char *path, const struct bytes *pieces,
                        size_t pieces_n, bool sync) MUST_USE;
enum err file_name_tmp(const struct disk *d, const char *path) MUST_USE;
/* As remove, but a file that is not there is as good. */
enum err file_remove(const struct disk *d, const char *path) MUST_USE;
enum err file_make_dir(const struct disk *d, const char *path) MUST_USE;
/* Appends DIR/NAME and a NUL. Freed by the caller with mem_free. */
char *file_path(const char *dir, const char *name);

/* The names in a folder, in byte order. */
struct names {
    char **at;
    size_t n;
    size_t room;
};
enum err names_list(const struct disk *d, const char *dir, struct names *out) MUST_USE;
void names_fini(struct names *n);
/* True when `name` is `digits` decimal digits and then `suffix`. */
bool names_number(const char *name, size_t digits, const char *suffix, uint64_t *out);

#endif

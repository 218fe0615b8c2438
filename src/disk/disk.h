// SPDX-License-Identifier: Apache-2.0
/* The only way to files. The broker gets the posix disk; tests get one that fails or forgets on
 * purpose (tests/lib/fault_disk.h). Paths are relative to the data directory that disk_posix_open
 * took. No errno above this room: ERR_NO_SPACE, ERR_IO, ERR_PERMISSION, ERR_NOT_FOUND, ERR_EXISTS.
 * All functions may be called from any thread. */
#ifndef DISK_DISK_H
#define DISK_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/err.h"

enum disk_open_how {
    DISK_READ,       /* must exist */
    DISK_WRITE,      /* read and write, must exist */
    DISK_CREATE,     /* read and write, made when absent */
    DISK_CREATE_NEW, /* read and write, must not exist: ERR_EXISTS */
};

struct disk {
    void *self;
    enum err (*open)(void *self, const char *path, enum disk_open_how how, int *file);
    void (*close)(void *self, int file);
    /* Read up to n bytes; *got < n only at the file's end. */
    enum err (*read)(void *self, int file, void *at, size_t n, uint64_t offset, size_t *got);
    /* Write all the pieces one behind the other at offset, or fail. Durable only after sync. */
    enum err (*write)(void *self, int file, const struct bytes *pieces, size_t pieces_n,
                      uint64_t offset);
    /* After an error the file's unsynced bytes are in doubt: never retry sync on the same file. */
    enum err (*sync)(void *self, int file);
    enum err (*truncate)(void *self, int file, uint64_t size);
    enum err (*size)(void *self, int file, uint64_t *size);
    /* Replaces `to`. Durable after sync_dir of the folder. */
    enum err (*rename)(void *self, const char *from, const char *to);
    enum err (*remove)(void *self, const char *path);   /* a file or an empty folder */
    enum err (*make_dir)(void *self, const char *path); /* ERR_EXISTS when there */
    /* Makes creations, renames and removals in the folder durable. */
    enum err (*sync_dir)(void *self, const char *path);
    /* Calls `each` with every name in the folder except . and .., in byte order. */
    enum err (*list)(void *self, const char *path, void (*each)(void *arg, const char *name),
                     void *arg);
    /* An exclusive lock held until close; ERR_IN_USE when another process has it. */
    enum err (*lock)(void *self, int file);
    enum err (*free_bytes)(void *self, uint64_t *free_bytes);
    enum err (*total_bytes)(void *self, uint64_t *total_bytes); /* of the file system */
    /* Makes everything written on the file system of the data directory durable (syncfs). */
    enum err (*sync_all)(void *self);
};

/* The real one, rooted at `dir` (made with parents when absent and `create`). Freed by
 * disk_posix_close, which closes no files. What is in the way is noted; ERR_INVALID: no folder. */
enum err disk_posix_open(const char *dir, bool create, struct disk *out) MUST_USE;
void disk_posix_close(struct disk *d);

#endif

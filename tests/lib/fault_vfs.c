// SPDX-License-Identifier: Apache-2.0
#include "lib/fault_vfs.h"

#include <sqlite3.h>
#include <string.h>

#include "base/check.h"

enum { PATH_ROOM = 512, SECTOR_BYTES = 4096 };

struct vfs_file {
    sqlite3_file base;
    int file;         /* of the disk */
    bool names_dirty; /* made just now: its name is synced with it, as SQLite's own VFS does */
};

static const struct disk *disk; /* NULL: dead */
static bool is_busy;
static sqlite3_vfs *parent;

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* An error, as SQLite's own VFS would tell it. */
static int code(enum err e, int failure)
{
    if (e == ERR_OK)
        return SQLITE_OK;
    return e == ERR_NO_SPACE && failure == SQLITE_IOERR_WRITE ? SQLITE_FULL : failure;
}

static struct vfs_file *mine(sqlite3_file *file)
{
    return (struct vfs_file *)file;
}

/* ---- files ---- */

static int file_close(sqlite3_file *file)
{
    if (disk != NULL)
        disk->close(disk->self, mine(file)->file);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *at, int n, sqlite3_int64 offset)
{
    size_t got = 0;
    if (disk == NULL ||
        disk->read(disk->self, mine(file)->file, at, (size_t)n, (uint64_t)offset, &got) != ERR_OK)
        return SQLITE_IOERR_READ;
    if (got == (size_t)n)
        return SQLITE_OK;
    memset((char *)at + got, 0, (size_t)n - got);
    return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *at, int n, sqlite3_int64 offset)
{
    struct bytes piece = {at, (size_t)n};
    if (disk == NULL)
        return SQLITE_IOERR_WRITE;
    return code(disk->write(disk->self, mine(file)->file, &piece, 1, (uint64_t)offset),
                SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (disk == NULL)
        return SQLITE_IOERR_TRUNCATE;
    return code(disk->truncate(disk->self, mine(file)->file, (uint64_t)size),
                SQLITE_IOERR_TRUNCATE);
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    if (disk == NULL || disk->sync(disk->self, mine(file)->file) != ERR_OK)
        return SQLITE_IOERR_FSYNC;
    if (mine(file)->names_dirty && disk->sync_dir(disk->self, ".") != ERR_OK)
        return SQLITE_IOERR_DIR_FSYNC;
    mine(file)->names_dirty = false;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    uint64_t bytes = 0;
    if (disk == NULL || disk->size(disk->self, mine(file)->file, &bytes) != ERR_OK)
        return SQLITE_IOERR_FSTAT;
    *size = (sqlite3_int64)bytes;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
    (void)file;
    return is_busy && level >= SQLITE_LOCK_RESERVED ? SQLITE_BUSY : SQLITE_OK;
}

static int file_unlock(sqlite3_file *file, int level)
{
    (void)file;
    (void)level;
    return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *answer)
{
    (void)file;
    *answer = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int what, void *arg)
{
    (void)file;
    (void)what;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
    (void)file;
    return SECTOR_BYTES;
}

static int file_traits(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
};

/* ---- names ---- */

static bool exists(const char *name)
{
    uint64_t bytes = 0;
    int file;
    if (disk->open(disk->self, name, DISK_READ, &file) != ERR_OK)
        return false;
    enum err e = disk->size(disk->self, file, &bytes);
    disk->close(disk->self, file);
    return e == ERR_OK && bytes > 0;
}

/* The main file is made by the catalogue itself, outside of SQLite: here it is made when opened. */
static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *file, int flags,
                    int *flags_out)
{
    (void)vfs;
    struct vfs_file *f = mine(file);
    f->base.pMethods = NULL;
    if (path == NULL) /* a temporary file */
        return parent->xOpen(parent, path, file, flags, flags_out);
    if (disk == NULL)
        return SQLITE_CANTOPEN;
    const char *name = name_of(path);
    bool main_file = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    bool makes = (flags & SQLITE_OPEN_CREATE) != 0 || main_file;
    f->names_dirty = makes && !main_file && !exists(name);
    if (disk->open(disk->self, name, makes ? DISK_CREATE : DISK_WRITE, &f->file) != ERR_OK)
        return SQLITE_CANTOPEN;
    f->base.pMethods = &methods;
    if (flags_out != NULL)
        *flags_out = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_dir)
{
    (void)vfs;
    if (disk == NULL)
        return SQLITE_IOERR_DELETE;
    enum err e = disk->remove(disk->self, name_of(path));
    if (e == ERR_OK && sync_dir != 0)
        e = disk->sync_dir(disk->self, ".");
    return e == ERR_NOT_FOUND ? SQLITE_IOERR_DELETE_NOENT : code(e, SQLITE_IOERR_DELETE);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *answer)
{
    (void)vfs;
    (void)flags;
    if (disk == NULL)
        return SQLITE_IOERR_ACCESS;
    *answer = exists(name_of(path));
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int room, char *out)
{
    (void)vfs;
    size_t n = strlen(path) + 1;
    if (n > (size_t)room)
        return SQLITE_CANTOPEN;
    memcpy(out, path, n);
    return SQLITE_OK;
}

/* So that a seed plays the same run each time, as far as SQLite draws lots. */
static int vfs_random(sqlite3_vfs *vfs, int n, char *out)
{
    (void)vfs;
    memset(out, 7, (size_t)n);
    return n;
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

static int vfs_time(sqlite3_vfs *vfs, double *now)
{
    return parent->xCurrentTime(vfs, now);
}

static int vfs_last_error(sqlite3_vfs *vfs, int n, char *out)
{
    (void)vfs;
    (void)n;
    (void)out;
    return 0;
}

static sqlite3_vfs ours = {
    .iVersion = 1,
    .mxPathname = PATH_ROOM,
    .zName = "fault",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_path,
    .xRandomness = vfs_random,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_time,
    .xGetLastError = vfs_last_error,
};

void fault_vfs_use(struct fault_disk *f)
{
    if (parent == NULL) {
        parent = sqlite3_vfs_find(NULL);
        ours.szOsFile = (int)sizeof(struct vfs_file);
        if (parent->szOsFile > ours.szOsFile)
            ours.szOsFile = parent->szOsFile;
        CHECK(sqlite3_vfs_register(&ours, 1) == SQLITE_OK);
    }
    disk = fault_disk_of(f);
    is_busy = false;
}

void fault_vfs_kill(void)
{
    disk = NULL;
}

void fault_vfs_busy(bool busy)
{
    is_busy = busy;
}

// SPDX-License-Identifier: Apache-2.0
/* The real disk. A file is a descriptor; paths are resolved from the data directory's own
 * descriptor, so that a change of the working directory moves nothing. */
#include "config.h" /* first: it asks for syncfs, which is not in POSIX */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"
#include "disk/disk.h"

struct posix_disk {
    int root;
};

/* How many pieces one pwritev takes; Linux refuses more than 1024. */
enum { PIECES_MAX = 1024 };

static enum err err_of_errno(int number)
{
    switch (number) {
    case ENOENT:
        return ERR_NOT_FOUND;
    case EEXIST:
    case ENOTEMPTY:
        return ERR_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return ERR_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_PERMISSION;
    case EISDIR: /* what lies there is of another kind than what was put there */
    case ENOTDIR:
    case ELOOP:
        return ERR_CORRUPT;
    default:
        return ERR_IO;
    }
}

static enum err posix_open(void *self, const char *path, enum disk_open_how how, int *file)
{
    static const int flags[] = {
        [DISK_READ] = O_RDONLY,
        [DISK_WRITE] = O_RDWR,
        [DISK_CREATE] = O_RDWR | O_CREAT,
        [DISK_CREATE_NEW] = O_RDWR | O_CREAT | O_EXCL,
    };
    struct posix_disk *d = self;
    int fd = openat(d->root, path, flags[how] | O_CLOEXEC, 0640);
    if (fd < 0)
        return err_of_errno(errno);
    *file = fd;
    return ERR_OK;
}

static void posix_close(void *self, int file)
{
    (void)self;
    close(file);
}

static enum err posix_read(void *self, int file, void *at, size_t n, uint64_t offset, size_t *got)
{
    (void)self;
    size_t have = 0;
    while (have < n) {
        ssize_t r = pread(file, (char *)at + have, n - have, (off_t)(offset + have));
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return err_of_errno(errno);
        if (r == 0)
            break;
        have += (size_t)r;
    }
    *got = have;
    return ERR_OK;
}

/* Writes all of vec, which is used up on the way: the kernel may take less than it was given. */
static enum err write_all(int file, struct iovec *vec, size_t vec_n, uint64_t offset)
{
    while (vec_n > 0) {
        ssize_t w = pwritev(file, vec, (int)vec_n, (off_t)offset);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return err_of_errno(errno);
        offset += (uint64_t)w;
        size_t left = (size_t)w;
        while (vec_n > 0 && left >= vec->iov_len) {
            left -= vec->iov_len;
            vec++;
            vec_n--;
        }
        if (vec_n > 0) {
            vec->iov_base = (char *)vec->iov_base + left;
            vec->iov_len -= left;
        }
    }
    return ERR_OK;
}

static enum err posix_write(void *self, int file, const struct bytes *pieces, size_t pieces_n,
                            uint64_t offset)
{
    (void)self;
    struct iovec vec[PIECES_MAX];
    for (size_t done = 0; done < pieces_n;) {
        size_t n = 0, sum = 0;
        for (; n < PIECES_MAX && done + n < pieces_n; n++) {
            vec[n].iov_base = (void *)(uintptr_t)pieces[done + n].at;
            vec[n].iov_len = pieces[done + n].n;
            sum += vec[n].iov_len;
        }
        enum err e = write_all(file, vec, n, offset);
        if (e != ERR_OK)
            return e;
        done += n;
        offset += sum;
    }
    return ERR_OK;
}

static enum err posix_sync(void *self, int file)
{
    (void)self;
    return fdatasync(file) == 0 ? ERR_OK : err_of_errno(errno);
}

static enum err posix_truncate(void *self, int file, uint64_t size)
{
    (void)self;
    return ftruncate(file, (off_t)size) == 0 ? ERR_OK : err_of_errno(errno);
}

static enum err posix_size(void *self, int file, uint64_t *size)
{
    (void)self;
    struct stat st;
    if (fstat(file, &st) != 0)
        return err_of_errno(errno);
    *size = (uint64_t)st.st_size;
    return ERR_OK;
}

static enum err posix_rename(void *self, const char *from, const char *to)
{
    struct posix_disk *d = self;
    return renameat(d->root, from, d->root, to) == 0 ? ERR_OK : err_of_errno(errno);
}

static enum err posix_remove(void *self, const char *path)
{
    struct posix_disk *d = self;
    if (unlinkat(d->root, path, 0) == 0)
        return ERR_OK;
    if (errno != EISDIR && errno != EPERM)
        return err_of_errno(errno);
    return unlinkat(d->root, path, AT_REMOVEDIR) == 0 ? ERR_OK : err_of_errno(errno);
}

static enum err posix_make_dir(void *self, const char *path)
{
    struct posix_disk *d = self;
    return mkdirat(d->root, path, 0750) == 0 ? ERR_OK : err_of_errno(errno);
}

static enum err posix_sync_dir(void *self, const char *path)
{
    struct posix_disk *d = self;
    int fd = openat(d->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_of_errno(errno);
    enum err e = fsync(fd) == 0 ? ERR_OK : err_of_errno(errno);
    close(fd);
    return e;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All names first, then the calls: `each` may remove what it is told of. */
static enum err posix_list(void *self, const char *path, void (*each)(void *arg, const char *name),
                           void *arg)
{
    struct posix_disk *d = self;
    int fd = openat(d->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_of_errno(errno);
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return ERR_IO;
    }
    char **names = NULL;
    size_t n = 0, room = 0;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (n == room) {
            room = room == 0 ? 16 : 2 * room;
            names = mem_resize(names, room * sizeof names[0]);
        }
        names[n++] = mem_copy_text(entry->d_name);
    }
    enum err e = errno == 0 ? ERR_OK : err_of_errno(errno);
    closedir(dir);
    if (n > 0)
        qsort(names, n, sizeof names[0], compare_names);
    for (size_t i = 0; i < n; i++) {
        if (e == ERR_OK)
            each(arg, names[i]);
        mem_free(names[i]);
    }
    mem_free(names);
    return e;
}

static enum err posix_lock(void *self, int file)
{
    (void)self;
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
        return ERR_OK;
    return errno == EWOULDBLOCK ? ERR_IN_USE : err_of_errno(errno);
}

static enum err posix_free_bytes(void *self, uint64_t *free_bytes)
{
    struct posix_disk *d = self;
    struct statvfs st;
    if (fstatvfs(d->root, &st) != 0)
        return err_of_errno(errno);
    *free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
    return ERR_OK;
}

static enum err posix_total_bytes(void *self, uint64_t *total_bytes)
{
    struct posix_disk *d = self;
    struct statvfs st;
    if (fstatvfs(d->root, &st) != 0)
        return err_of_errno(errno);
    *total_bytes = (uint64_t)st.f_blocks * st.f_frsize;
    return ERR_OK;
}

static enum err posix_sync_all(void *self)
{
    struct posix_disk *d = self;
    return syncfs(d->root) == 0 ? ERR_OK : err_of_errno(errno);
}

/* Makes dir and the folders above it; a folder that is there is as good. On failure errno says why.
 */
static bool make_parents(const char *dir)
{
    char *path = mem_copy_text(dir);
    bool made = true;
    for (char *at = path + 1; made && path[0] != '\0'; at++) {
        char here = *at;
        if (here != '/' && here != '\0')
            continue;
        *at = '\0';
        made = mkdir(path, 0750) == 0 || errno == EEXIST;
        *at = here;
        if (here == '\0')
            break;
    }
    int number = errno;
    mem_free(path);
    errno = number;
    return made;
}

enum err disk_posix_open(const char *dir, bool create, struct disk *out)
{
    int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 && errno == ENOENT && create && make_parents(dir))
        root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        int number = errno;
        note(NOTE_ERROR, "disk", "%s: %s", dir, strerror(number));
        /* Nothing of ours was read yet, so nothing of ours can be damaged. */
        enum err e = err_of_errno(number);
        return e == ERR_CORRUPT ? ERR_INVALID : e;
    }
    struct posix_disk *d = mem_new(sizeof *d);
    d->root = root;
    *out = (struct disk){
        .self = d,
        .open = posix_open,
        .close = posix_close,
        .read = posix_read,
        .write = posix_write,
        .sync = posix_sync,
        .truncate = posix_truncate,
        .size = posix_size,
        .rename = posix_rename,
        .remove = posix_remove,
        .make_dir = posix_make_dir,
        .sync_dir = posix_sync_dir,
        .list = posix_list,
        .lock = posix_lock,
        .free_bytes = posix_free_bytes,
        .total_bytes = posix_total_bytes,
        .sync_all = posix_sync_all,
    };
    return ERR_OK;
}

void disk_posix_close(struct disk *d)
{
    struct posix_disk *self = d->self;
    close(self->root);
    mem_free(self);
    d->self = NULL;
}

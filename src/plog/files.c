// SPDX-License-Identifier: Apache-2.0
#include "plog/files.h"

#include "base/mem.h"

enum err file_read(const struct disk *d, const char *path, size_t bytes_max, struct buf *out)
{
    int file;
    enum err e = d->open(d->self, path, DISK_READ, &file);
    if (e != ERR_OK)
        return e;
    uint64_t size = 0;
    size_t got = 0;
    e = d->size(d->self, file, &size);
    if (e == ERR_OK && size > bytes_max)
        e = ERR_TOO_BIG;
    if (e == ERR_OK && size > 0) {
        buf_reserve(out, (size_t)size);
        e = d->read(d->self, file, out->at + out->n, (size_t)size, 0, &got);
    }
    d->close(d->self, file);
    if (e == ERR_OK)
        out->n += got;
    return e;
}

char *file_path(const char *dir, const char *name)
{
    struct buf b = BUF_EMPTY;
    buf_put_format(&b, "%s/%s", dir, name);
    buf_put_u8(&b, 0);
    return b.at;
}

static struct buf tmp_path(const char *path)
{
    struct buf tmp = BUF_EMPTY;
    buf_put_format(&tmp, "%s.tmp", path);
    buf_put_u8(&tmp, 0);
    return tmp;
}

enum err file_write_tmp(const struct disk *d, const char *path, const struct bytes *pieces,
                        size_t pieces_n, bool sync)
{
    struct buf tmp = tmp_path(path);
    int file;
    enum err e = d->open(d->self, tmp.at, DISK_CREATE, &file);
    buf_fini(&tmp);
    if (e != ERR_OK)
        return e;
    e = d->truncate(d->self, file, 0);
    if (e == ERR_OK)
        e = d->write(d->self, file, pieces, pieces_n, 0);
    if (e == ERR_OK && sync)
        e = d->sync(d->self, file);
    d->close(d->self, file);
    return e;
}

enum err file_name_tmp(const struct disk *d, const char *path)
{
    struct buf tmp = tmp_path(path);
    enum err e = d->rename(d->self, tmp.at, path);
    buf_fini(&tmp);
    return e;
}

enum err file_replace(const struct disk *d, const char *dir, const char *path,
                      const struct bytes *pieces, size_t pieces_n)
{
    enum err e = file_write_tmp(d, path, pieces, pieces_n, true);
    if (e == ERR_OK)
        e = file_name_tmp(d, path);
    return e == ERR_OK ? d->sync_dir(d->self, dir) : e;
}

enum err file_remove(const struct disk *d, const char *path)
{
    enum err e = d->remove(d->self, path);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err file_make_dir(const struct disk *d, const char *path)
{
    enum err e = d->make_dir(d->self, path);
    return e == ERR_EXISTS ? ERR_OK : e;
}

static void names_put(void *arg, const char *name)
{
    struct names *n = arg;
    if (n->n == n->room) {
        n->room = n->room == 0 ? 16 : 2 * n->room;
        n->at = mem_resize(n->at, n->room * sizeof n->at[0]);
    }
    n->at[n->n++] = mem_copy_text(name);
}

enum err names_list(const struct disk *d, const char *dir, struct names *out)
{
    struct names n = {0};
    enum err e = d->list(d->self, dir, names_put, &n);
    if (e == ERR_OK)
        *out = n;
    else
        names_fini(&n);
    return e;
}

void names_fini(struct names *n)
{
    for (size_t i = 0; i < n->n; i++)
        mem_free(n->at[i]);
    mem_free(n->at);
    *n = (struct names){0};
}

bool names_number(const char *name, size_t digits, const char *suffix, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < digits; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(name[i] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = 10 * v + digit;
    }
    if (strcmp(name + digits, suffix) != 0)
        return false;
    *out = v;
    return true;
}

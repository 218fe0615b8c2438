// SPDX-License-Identifier: Apache-2.0
#include "cluster/file.h"

#include <string.h>

#include "catalog/topic_json.h"

enum { FORMAT = 1, FILE_BYTES_MAX = 4096 };
#define FILE_NAME_NEW CLUSTER_FILE_NAME ".new"

static enum err decode(struct bytes json, struct cluster_file *out)
{
    json_t *root;
    const char *id, *lease;
    json_int_t broker;
    int format;
    struct cluster_file f = {.broker = 0};
    enum err e = catalog_json_load_upto(json, FORMAT, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:s, s:I, s:s}", "format", &format,
                       "cluster_id", &id, "broker", &broker, "lease", &lease) == 0 &&
        strlen(id) <= CLUSTER_ID_CHARS_MAX && id[0] != '\0' && broker >= 1 &&
        broker <= CLUSTER_BROKER_MAX && catalog_int64_read(lease, INT64_MIN, INT64_MAX, &f.lease)) {
        memcpy(f.cluster_id, id, strlen(id));
        f.broker = (uint32_t)broker;
        *out = f;
    } else {
        e = ERR_CORRUPT;
    }
    json_decref(root);
    return e;
}

enum err cluster_file_read(const struct disk *d, struct cluster_file *out)
{
    int file;
    char bytes[FILE_BYTES_MAX];
    size_t n = 0;
    enum err e = d->open(d->self, CLUSTER_FILE_NAME, DISK_READ, &file);
    if (e != ERR_OK)
        return e;
    e = d->read(d->self, file, bytes, sizeof bytes, 0, &n);
    d->close(d->self, file);
    return e == ERR_OK ? decode((struct bytes){bytes, n}, out) : e;
}

static enum err write_new(const struct disk *d, struct bytes json)
{
    int file;
    enum err e = d->open(d->self, FILE_NAME_NEW, DISK_CREATE, &file);
    if (e != ERR_OK)
        return e;
    e = d->truncate(d->self, file, 0);
    if (e == ERR_OK)
        e = d->write(d->self, file, &json, 1, 0);
    if (e == ERR_OK)
        e = d->sync(d->self, file);
    d->close(d->self, file);
    return e;
}

enum err cluster_file_write(const struct disk *d, const struct cluster_file *f)
{
    struct buf json = BUF_EMPTY;
    catalog_json_store(json_pack("{s:i, s:s, s:I, s:o}", "format", FORMAT, "cluster_id",
                                 f->cluster_id, "broker", (json_int_t)f->broker, "lease",
                                 catalog_json_int64(f->lease)),
                       &json);
    enum err e = write_new(d, buf_bytes(&json));
    buf_fini(&json);
    if (e == ERR_OK)
        e = d->rename(d->self, FILE_NAME_NEW, CLUSTER_FILE_NAME);
    return e == ERR_OK ? d->sync_dir(d->self, ".") : e;
}

// SPDX-License-Identifier: Apache-2.0
/* cluster.json in the data directory: which cluster and broker it belongs to, and the lease of the
 * last session, to be revoked by the next life. Replaced by a rename. */
#ifndef CLUSTER_FILE_H
#define CLUSTER_FILE_H

#include "cluster/keys.h"
#include "disk/disk.h"

#define CLUSTER_FILE_NAME "cluster.json"

struct cluster_file {
    char cluster_id[CLUSTER_ID_CHARS_MAX + 1];
    uint32_t broker;
    int64_t lease; /* 0: none */
};

/* ERR_NOT_FOUND; ERR_CORRUPT, ERR_NEWER_FORMAT; the disk's errors. Nothing is noted. */
enum err cluster_file_read(const struct disk *d, struct cluster_file *out) MUST_USE;
/* Durable when it returns. */
enum err cluster_file_write(const struct disk *d, const struct cluster_file *f) MUST_USE;

#endif

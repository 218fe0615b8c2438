// SPDX-License-Identifier: Apache-2.0
/* A segment's index against the segment (FORMAT.md, "Index"), and making it again. Which batches
 * get an entry is not checked beyond the order: a start begins to count anew at the mark. */
#ifndef OFFLINE_CHECK_INDEX_H
#define OFFLINE_CHECK_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"
#include "disk/disk.h"
#include "offline/findings.h"
#include "offline/log_files.h"
#include "plog/segment.h"

/* A segment as it was read: where its batches begin. */
struct offline_segment {
    uint64_t name;
    uint64_t number;           /* its first */
    uint64_t bytes;            /* that count */
    struct index_entry *begin; /* owned: one a batch, as an index would say it */
    size_t begin_n;
    size_t begin_room;
    bool sealed;      /* else the marks say how many entries count */
    uint32_t entries; /* by the marks */
};

void offline_segment_put(struct offline_segment *s, const struct batch_header *h,
                         uint64_t position);
void offline_segment_fini(struct offline_segment *s);

/* False: the index is bad or missing, which is a finding unless `f` is NULL. `path` is where it
 * should be. */
bool offline_index_check(const struct disk *d, const char *path, const struct offline_segment *s,
                         struct findings *f);
/* Replaces the index by one made from the segment. `dir` is the log's folder. ERR_INVALID: the
 * marks count more entries than can be made; it is not needed then until the segment is full. */
enum err offline_index_make(const struct disk *d, const char *dir, const char *path,
                            const struct offline_segment *s) MUST_USE;

#endif

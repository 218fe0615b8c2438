// SPDX-License-Identifier: Apache-2.0
/* A log's state, folded anew from its records, and held against its snapshots: the state is a fold
 * of the log, so folding from one snapshot to the next must give that one. Fed with everything the
 * log holds, in order. */
#ifndef OFFLINE_FOLD_H
#define OFFLINE_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "offline/findings.h"
#include "offline/log_files.h"
#include "offline/store.h"
#include "partition/partition.h"
#include "plog/batch.h"

struct offline_gap {
    uint64_t first, end; /* numbers that are not stored */
};

struct offline_fold {
    const struct disk *disk;
    const struct offline_log *log;
    const struct offline_files *files;
    struct findings *findings;
    struct partition *state; /* as of `offset`; NULL: not known there */
    uint64_t offset;
    uint64_t number;
    size_t next_file;         /* the snapshots before it in the list have been passed */
    uint64_t begun_with;      /* the snapshot that the log began with, or 0 */
    bool loaded;              /* the state came from a snapshot */
    bool lost;                /* it was known once */
    struct offline_gap *gaps; /* owned */
    size_t gaps_n;
    size_t gaps_room;
};

/* The log's first record stored is at this place. All but `f` is borrowed until offline_fold_fini.
 */
void offline_fold_init(struct offline_fold *f, const struct disk *d, const struct offline_log *log,
                       const struct offline_files *files, struct findings *findings,
                       uint64_t offset, uint64_t number);
void offline_fold_fini(struct offline_fold *f);
/* The next batch that is stored, or a GAP. `file` and `at` name its place for findings; records
 * that cannot be read are found here. */
void offline_fold_batch(struct offline_fold *f, struct bytes batch, const struct batch_header *h,
                        const char *file, uint64_t at);
/* What comes next, up to this place, cannot be read or is missing. */
void offline_fold_skip(struct offline_fold *f, uint64_t offset, uint64_t number);
/* The log ends here. `online`: it goes on, unseen; snapshots may lie behind. */
void offline_fold_end(struct offline_fold *f, uint64_t start_number, bool online);

#endif

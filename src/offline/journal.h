// SPDX-License-Identifier: Apache-2.0
/* The commit journal as it lies there (FORMAT.md, "Journal"): which files there are, and which
 * rounds in them count. Reads on behind damage, and never writes. */
#ifndef OFFLINE_JOURNAL_H
#define OFFLINE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/err.h"
#include "disk/disk.h"
#include "offline/findings.h"
#include "plog/plog.h"

struct offline_journal_file {
    uint64_t number;
    uint64_t bytes;
    uint64_t lap;
    uint64_t salt;
    bool in_use;
    bool good;            /* its header is */
    size_t rounds;        /* valid ones, whatever their numbers */
    uint64_t first, last; /* their numbers; 0 when there are none */
    uint64_t stop;        /* where the next round would be */
};

struct offline_round {
    uint64_t number;
    uint64_t file; /* its number */
    uint64_t position;
    uint32_t bytes;
};

struct offline_journal {
    struct offline_journal_file *files; /* owned, by number */
    size_t files_n;
    struct offline_round *rounds; /* owned, by number: those above the marks' */
    size_t rounds_n;
    size_t rounds_room;
    bool torn; /* some file ends in a round that is not whole */
};

/* JOURNAL/NNNNNNNN.wal; freed with mem_free. */
char *offline_journal_path(uint64_t number);
/* Everything above round `above`; `out` is fini'ed in any case. The rounds end where the chain has
 * a gap. Errors are findings. */
void offline_journal_read(const struct disk *d, uint64_t above, struct findings *f,
                          struct offline_journal *out);
/* A round's bytes, which were found good before, into `out` (cleared before). ERR_CORRUPT: the
 * round has changed since. */
enum err offline_journal_round(const struct disk *d, const struct offline_journal *j,
                               const struct offline_round *r, struct buf *out) MUST_USE;
void offline_journal_fini(struct offline_journal *j);

/* ---- the entries of a round ---- */

struct offline_entry {
    uint8_t kind; /* enum entry_kind of plog/journal.h */
    struct plog_id id;
    uint64_t incarnation;
    struct bytes batch; /* or what else follows */
    size_t batch_at;    /* its place in the round's bytes */
};

/* Entry by entry; *place is 0 at first. ERR_NOT_FOUND: no more; ERR_CORRUPT, ERR_NEWER_FORMAT. */
enum err offline_entry_next(struct bytes round, size_t *place, uint32_t *taken,
                            struct offline_entry *out) MUST_USE;

#endif

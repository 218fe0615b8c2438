// SPDX-License-Identifier: Apache-2.0
/* The commit journal's files (FORMAT.md, "Journal"): made full of zeros, written round by round by
 * the runner, recycled by the keeper. What rounds mean is not known here. */
#ifndef PLOG_JOURNAL_H
#define PLOG_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/err.h"
#include "plog/plog.h"

struct plog;

enum {
    JOURNAL_PAGE_BYTES = 4096,
    JOURNAL_HEADER_BYTES = 64,
    ROUND_HEADER_BYTES = 96,
    ROUND_BYTES_MAX = 16 << 20, /* of batches; see round.c */
    ENTRY_HEADER_BYTES = 36,
};

enum entry_kind {
    ENTRY_APPEND = 1,
    ENTRY_CREATE,
    ENTRY_REMOVE,
    ENTRY_TRUNCATE,
    ENTRY_BEGIN_ANEW,
};
enum { ENTRY_TRUNCATE_BYTES = 32, ENTRY_BEGIN_ANEW_BYTES = 24 };

enum journal_state {
    JOURNAL_FREE,    /* recycled, holds nothing */
    JOURNAL_CURRENT, /* being written */
    JOURNAL_FULL,    /* waits for a checkpoint */
};

struct journal_file {
    uint64_t number;
    uint64_t bytes;
    int file;
    uint64_t lap;
    uint64_t salt;
    bool in_use; /* as in the header on disk */
    /* Guarded by the commit lock; position is also read by its only writer, the runner. */
    enum journal_state state;
    uint64_t position;   /* behind the last round */
    uint64_t last_round; /* 0 when empty */
};

struct journal {
    struct journal_file **files; /* guarded by the commit lock; each owned */
    size_t n;
    size_t room;
    struct journal_file *current; /* the runner's; NULL before the first round */
    uint64_t next_number;
    unsigned spare_looks; /* the keeper's: how often in a row a file was found to be spare */
};

/* Makes the first file of a new store. */
enum err journal_make_first(struct plog *p) MUST_USE;
/* [runner] Finishes the round in `b`, whose first ROUND_HEADER_BYTES are free for the header, and
 * writes and syncs it. Makes a file when no free one is large enough. */
enum err journal_write(struct plog *p, struct buf *b, uint64_t round, uint32_t entries,
                       const struct plog_stamp *stamp) MUST_USE;

/* [keeper] Half of all files' bytes wait for a checkpoint. */
bool journal_is_half_full(struct plog *p);
/* [keeper] Recycles the files whose rounds are all below or at `round`; `current` too when no
 * round can be running. */
enum err journal_recycle(struct plog *p, uint64_t round, bool current) MUST_USE;
/* [keeper] Makes a large file unless there are four, or as much is free. For a journal that was
 * half full: a store that hardly writes never needs more than its first small file. */
enum err journal_prepare(struct plog *p) MUST_USE;
/* [keeper] Removes a free file that was made in a hurry, beyond what four large ones hold, once
 * little of the journal has been in use for a minute of looks; then one in ten looks. */
enum err journal_give_back(struct plog *p) MUST_USE;
void journal_close(struct plog *p);

/* ---- reading, at recovery ---- */

/* A round that was found. */
struct journal_round {
    struct journal_file *file;
    uint64_t position;
    uint64_t number;
    uint32_t bytes;
};

struct journal_rounds {
    struct journal_round *at; /* owned, by number */
    size_t n;
    size_t room;
};

/* Opens all files and lists the rounds above `round`. Changes nothing on disk. ERR_CORRUPT (noted),
 * ERR_NEWER_FORMAT. */
enum err journal_open(struct plog *p, uint64_t round, struct journal_rounds *out) MUST_USE;
/* Reads a round, checked, into `out` (cleared before); its entries begin at ROUND_HEADER_BYTES. */
enum err journal_read(struct plog *p, const struct journal_round *r, struct buf *out,
                      uint32_t *entries, struct plog_stamp *stamp) MUST_USE;
/* Writes the rounds' bytes over themselves and syncs. What was read may be in the page cache only,
 * after a sync that failed, and nothing may be removed on the word of bytes that can still be lost.
 */
enum err journal_write_again(struct plog *p, const struct journal_rounds *rounds) MUST_USE;

/* Shared by journal.c and journal_scan.c. */
uint32_t journal_seed(const struct journal_file *f, uint64_t round);
char *journal_path(uint64_t number);
void journal_add_locked(struct journal *j, struct journal_file *f);

#endif

// SPDX-License-Identifier: Apache-2.0
/* A log's segments: the list in memory, and writing to the last one. Lists are guarded by the log's
 * own leaf lock; only the runner writes (and recovery, before there are threads). */
#ifndef PLOG_SEGMENT_H
#define PLOG_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/err.h"

struct plog;
struct plog_log;
struct batch_header;

#define NUMBER_UNKNOWN UINT64_MAX

struct index_entry {
    uint32_t offset; /* both relative to the segment's first */
    uint32_t number;
    uint32_t position;
    int64_t leader_ms;
};

struct segment {
    uint64_t name;   /* its first offset */
    uint64_t number; /* its first number, or NUMBER_UNKNOWN until somebody has asked */
    uint64_t bytes;  /* written */
    /* Entries in the index file, or INDEX_ASK: as many as the file has. */
    uint32_t index_saved;
    bool index_bad;              /* the index file is not to be used */
    bool footer_saved;           /* of a sealed segment */
    struct index_entry *pending; /* owned: entries that are not yet in the file */
    uint32_t pending_n;
    uint32_t pending_room;
    /* Rises whenever the cleaner puts another file in the place of this one (log.swaps then). */
    uint64_t swap;
    uint64_t clean_end; /* not 0: its file is still named NAME-END.clean (FORMAT.md, "Cleaned") */
    uint64_t stored;    /* messages stored, when the cleaner has counted them, or STORED_ALL */
};

#define STORED_ALL UINT64_MAX

/* What a reader must know of a segment; it may be out of date as soon as the lock is free. */
struct segment_view {
    uint64_t name;
    uint64_t swap;
    uint64_t clean_end;
    uint64_t bytes;
    bool sealed; /* its file's bytes do not change any more */
};

#define INDEX_ASK UINT32_MAX

struct segment_list {
    struct segment *at; /* owned, by name */
    size_t n;
    size_t room;
};

void segment_list_fini(struct segment_list *s);
/* A new last segment. */
struct segment *segment_list_push(struct segment_list *s, uint64_t name, uint64_t number);
void segment_list_drop(struct segment_list *s, size_t place);
void segment_list_drop_last(struct segment_list *s);
/* The place of the segment that holds this offset, if any does: the last one that begins at or
 * below it. SIZE_MAX when all begin above. */
size_t segment_list_find(const struct segment_list *s, uint64_t offset);

/* False: there is no segment of this name (any more). Takes the log's leaf lock. */
bool segment_look(struct plog_log *l, uint64_t name, struct segment_view *out);

/* One batch to write. */
struct batch_view {
    struct bytes bytes;
    const struct batch_header *h;
};

/* [runner] Writes n batches, which follow the log's written end, into its last segment and new
 * ones. Nothing is synced. */
enum err segment_append(struct plog_log *l, const struct batch_view *views, size_t n) MUST_USE;
/* The first number of a segment: asked of the file once, then remembered. */
enum err segment_number(struct plog_log *l, uint64_t name, uint64_t *number) MUST_USE;
/* [runner] Closes the write file if it is open. */
void segment_close_file(struct plog_log *l);

#endif

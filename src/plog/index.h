// SPDX-License-Identifier: Apache-2.0
/* The sparse index of a segment (FORMAT.md, "Index"): about one entry per 4 KiB of log. It is a
 * hint that says where to begin to read; a bad one costs time, never a wrong record. Entries wait
 * in memory until a checkpoint writes them; all else stays on disk and is searched there, so that
 * memory does not grow with the backlog. */
#ifndef PLOG_INDEX_H
#define PLOG_INDEX_H

#include "plog/inside.h"

enum { INDEX_UNIT_BYTES = 24, INDEX_STEP_BYTES = 4096 };

/* [l->lk] */
void index_add_pending(struct segment *s, const struct batch_header *h, uint64_t position);

/* Where to begin to read the segment `name` to find this offset, or this number when `by_number`:
 * the position of a batch that begins at or below it. 0, the segment's begin, is always right. */
uint64_t index_find(struct plog_log *l, uint64_t name, uint64_t key, bool by_number);

/* [keeper] Writes the pending entries that lie below the log's place `to` into the index files, and
 * the last unit of sealed segments. Unless `sync`, the caller syncs the file system before it
 * relies on them. The number of entries in the last segment's file goes to `entries`. */
enum err index_save(struct plog_log *l, const struct tail *to, bool sync,
                    uint32_t *entries) MUST_USE;

/* [recovery] Cuts the index of the last segment to this number of entries; one that is shorter is
 * not used. */
enum err index_cut(struct plog_log *l, struct segment *s, uint32_t entries) MUST_USE;

/* Writes the whole index of a cleaned segment, whose entries are all pending; sealed and synced. */
enum err index_write(struct plog_log *l, const struct segment *s) MUST_USE;

/* [keeper and writer] Makes the entries of the last segment, which was cut, again from the segment;
 * they wait in memory. Where it cannot be read there are fewer. */
void index_collect(struct plog_log *l, uint64_t name);
/* Makes the index of a sealed segment again from the segment. */
void index_rebuild(struct plog_log *l, uint64_t name);

#endif

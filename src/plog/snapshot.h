// SPDX-License-Identifier: Apache-2.0
/* Snapshots, as far as cuts and new beginnings are concerned with them. */
#ifndef PLOG_SNAPSHOT_H
#define PLOG_SNAPSHOT_H

#include "plog/inside.h"

/* [keeper] Removes those above `end`, durable when it returns; but for the one that the log began
 * with, which was committed elsewhere. */
enum err snapshot_drop_above(struct plog_log *l, uint64_t end) MUST_USE;
/* Writes OFFSET.anew, synced, under another incarnation than the log's; its name is not synced. */
enum err snapshot_write_anew(struct plog_log *l, uint64_t incarnation, uint64_t offset,
                             struct bytes state) MUST_USE;
/* Whether the file is a snapshot of the log of this incarnation, by its header. */
enum err snapshot_is_of(struct plog_log *l, const char *path, uint64_t incarnation,
                        bool *yes) MUST_USE;

#endif

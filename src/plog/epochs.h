// SPDX-License-Identifier: Apache-2.0
/* The epochs of what a log holds, and where each begins. The table is read from the log when it is
 * first asked for, and from then on kept by appends and cuts. Epochs never fall along a log, so few
 * batches must be looked at: between two of one epoch there is no other. [owner], but for the last
 * two. */
#ifndef PLOG_EPOCHS_H
#define PLOG_EPOCHS_H

#include "plog/inside.h"

/* A batch of this epoch is appended at the offset. */
void epochs_note(struct plog_log *l, uint64_t epoch, uint64_t offset);
/* All at or above `end` is gone. */
void epochs_cut(struct plog_log *l, uint64_t end);
/* The epoch of the last record, or of the one before the start where the log is empty. ERR_CORRUPT,
 * ERR_IO: the log cannot be read. */
enum err epochs_last(struct plog_log *l, uint64_t *epoch) MUST_USE;

/* [keeper] The first segment is about to be released, and the next one begins at `start`. */
enum err epochs_note_release(struct plog_log *l, uint64_t start) MUST_USE;
/* [keeper] Writes down the epoch of the record before a start. */
enum err epochs_save_before(struct plog_log *l, uint64_t start, uint64_t epoch) MUST_USE;

#endif

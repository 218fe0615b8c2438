// SPDX-License-Identifier: Apache-2.0
/* Reads batches one behind the other from one segment file, each checked, through a window of bytes
 * that is read ahead. For one thread. */
#ifndef PLOG_READER_H
#define PLOG_READER_H

#include "plog/inside.h"

struct batch_reader {
    struct plog_log *log;
    int file;
    struct segment_view view; /* of the segment, as of the opening */
    uint64_t position;        /* of the next batch */
    struct buf window;        /* bytes of the file from window_position on */
    uint64_t window_position;
    size_t read_ahead_bytes;
};

/* Opens the file that is the segment `name` now. It goes on to be read when the cleaner puts
 * another in its place; `position` must come from the same one, which r->view.swap tells. ERR_GONE:
 * there is no such segment (any more). */
enum err batch_reader_open(struct batch_reader *r, struct plog_log *l, uint64_t name,
                           uint64_t position, size_t read_ahead_bytes) MUST_USE;
/* That for the segment that holds this offset, or number when `by_number`, at a batch that begins
 * at or below it. ERR_GONE: there is none; other errors are of the files. */
enum err batch_reader_find(struct batch_reader *r, struct plog_log *l, uint64_t key, bool by_number,
                           size_t read_ahead_bytes) MUST_USE;
/* The batch at r->position, lent until the next call, and goes on behind it. Bytes at or behind
 * `end`, the segment's written bytes, are not looked at. ERR_NOT_FOUND at `end`; ERR_CORRUPT and
 * ERR_NEWER_FORMAT leave the position where it is. */
enum err batch_reader_next(struct batch_reader *r, uint64_t end, struct bytes *batch,
                           struct batch_header *h) MUST_USE;
/* Goes on behind the batch that holds the record at `offset`, lent as above. ERR_CORRUPT: the
 * segment does not have it. */
enum err batch_reader_to(struct batch_reader *r, uint64_t offset, struct bytes *batch,
                         struct batch_header *h) MUST_USE;
void batch_reader_close(struct batch_reader *r);
/* The end for batch_reader_next: the bytes of the file that is open, whatever has become of the
 * segment since. ERR_GONE: it was released. */
enum err batch_reader_end(struct batch_reader *r, uint64_t *end) MUST_USE;

#endif

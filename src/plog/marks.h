// SPDX-License-Identifier: Apache-2.0
/* The file `marks` (FORMAT.md): which logs there are, and up to where their segments are synced. */
#ifndef PLOG_MARKS_H
#define PLOG_MARKS_H

#include "plog/inside.h"

struct mark {
    struct plog_id id;
    uint64_t incarnation;
    struct tail end;
    uint64_t start_offset;
    uint64_t start_number;
    uint32_t index_entries;
};

struct marks {
    uint64_t round;
    uint64_t next_incarnation;
    struct plog_stamp stamp;
    struct mark *at; /* owned, by id */
    size_t n;
};

/* Replaces the file; durable when it returns. */
enum err marks_write(const struct disk *d, const struct marks *m) MUST_USE;
/* ERR_CORRUPT (noted; also when there is none), ERR_NEWER_FORMAT. */
enum err marks_read(const struct disk *d, struct marks *out) MUST_USE;
/* The file's bytes. ERR_CORRUPT, ERR_NEWER_FORMAT; nothing is noted. */
enum err marks_decode(struct bytes whole, struct marks *out) MUST_USE;
void marks_fini(struct marks *m);

#endif

// SPDX-License-Identifier: Apache-2.0
/* The file `copy` in a log's folder (FORMAT.md): what the log, as one copy of several, must know
 * beside its batches. A log that has nothing to say there has no file. */
#ifndef PLOG_COPY_FILE_H
#define PLOG_COPY_FILE_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/err.h"

struct plog_log;

/* What came before a start, of a log of this incarnation. */
struct beginning {
    uint64_t incarnation;
    uint64_t start;
    uint64_t last_epoch;
    uint64_t snapshot;
};

struct copy {
    uint64_t incarnation;   /* the copy's; 0: the log's */
    uint64_t disbelieved;   /* the log of this incarnation is; 0: none */
    struct beginning at[2]; /* the newer one first */
};

/* The beginning that holds for the log as it is, or NULL. */
const struct beginning *copy_beginning(const struct copy *c, uint64_t incarnation, uint64_t start);
/* The snapshot that the log of this incarnation began with, or 0. */
uint64_t copy_snapshot(const struct copy *c, uint64_t incarnation);
/* Puts `b` before the one that holds for the log as it is. */
void copy_put(struct copy *c, const struct plog_log *l, const struct beginning *b);

enum err copy_decode(struct bytes whole, struct copy *out) MUST_USE;
/* [recovery] Into l->copy; zeros without a file. ERR_CORRUPT (noted), ERR_NEWER_FORMAT, ERR_IO. */
enum err copy_read(struct plog_log *l) MUST_USE;
/* [keeper] Durable when it returns, with all names in the folder and those that lead there. On
 * ERR_NO_SPACE all is as before; other errors are final for the data directory. */
enum err copy_write(struct plog_log *l, const struct copy *c) MUST_USE;

#endif

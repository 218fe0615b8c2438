// SPDX-License-Identifier: Apache-2.0
/* Readings that go on. Who takes one message after another opens a cursor for each; a cursor that
 * is closed in a segment leaves its file and what it has read ahead here, and the next one, for the
 * message that follows, finds them: no search in the index, no opening, and a batch is read and
 * checked once for all its messages.
 *
 * A few for all logs, the one left longest ago goes first. A file that is removed takes up its room
 * until it is closed, so whoever removes files of a log calls kept_drop. */
#ifndef PLOG_KEPT_H
#define PLOG_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

struct plog;
struct plog_log;
struct reading; /* cursor.c */

enum {
    KEPT_MAX = 16,
    KEPT_WINDOW_BYTES_MAX = 64 << 10, /* of bytes read ahead; readings with more are not kept */
};

struct kept_place {
    struct plog_log *log;
    uint64_t number; /* of the next message */
    uint64_t turn;
    struct reading *reading; /* owned */
};

struct kept {
    struct lock lk; /* leaf; guards the rest */
    struct kept_place at[KEPT_MAX];
    size_t n, max;
    uint64_t turn; /* rises */
};

/* `files_max`: how many at most, from 1 to KEPT_MAX; what is beyond is cut to that. */
void kept_init(struct kept *k, uint32_t files_max);
/* All were dropped. */
void kept_fini(struct kept *k);
/* One of this log whose next message has this number: the caller's from now on. NULL: none. */
struct reading *kept_take(struct kept *k, const struct plog_log *l, uint64_t number);
/* Takes `r`. What had to go for it is the caller's, to be given to reading_free; NULL: nothing. */
struct reading *kept_put(struct kept *k, struct plog_log *l, uint64_t number, struct reading *r);
/* Closes those of the log: before it is freed, and after its files were removed, replaced or cut.
 * What a cursor that is open has of them is its own. */
void kept_drop(struct plog_log *l);

/* ---- cursor.c ---- */

/* Closes it. Its log may be gone already. */
void reading_free(struct plog *p, struct reading *r);

#endif

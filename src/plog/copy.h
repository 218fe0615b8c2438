// SPDX-License-Identifier: Apache-2.0
/* What replication needs of a log beside plog.h: batches as the bytes that they are on disk, cuts,
 * and logs that begin anew. A follower's log is the leader's, byte for byte, but for stretches
 * where either has cleaned.
 *
 * Words as in plog.h. `committed`: the exclusive end of what every in-sync replica has, as the
 * owner last said; never above the durable end. Readers of messages stop there (plog_cursor_*),
 * readers of raw batches at the durable end. */
#ifndef PLOG_COPY_H
#define PLOG_COPY_H

#include "plog/plog.h"

/* ---- what is committed ---- */

/* [owner] From now on the owner says what of this log is committed; until then, and for ever where
 * this is never called, committed is the durable end. It begins at `committed` (<= durable end). */
void plog_commit_by_owner(struct plog_log *l, uint64_t committed);
/* [owner] Never goes back; never above the durable end. The log knows the number that belongs to
 * each such offset while its batches are in the tail cache, and else finds it. */
void plog_commit_to(struct plog_log *l, uint64_t committed);
uint64_t plog_committed(const struct plog_log *l);        /* any thread (acquire) */
uint64_t plog_committed_number(const struct plog_log *l); /* any thread; read after the above */

/* ---- raw batches ---- */

/* A batch as it is stored and sent. */
struct plog_raw {
    uint64_t base_offset, end_offset;
    uint64_t first_number, end_number;
    uint64_t epoch;
    int64_t leader_ms;  /* partition time when it was appended */
    struct bytes bytes; /* lent from whatever it was read from */
};

/* Appends to `out` whole batches as stored, from `offset` on, durable ones only: at least one, more
 * while they fit into bytes_max. Where the batch that holds `offset` begins before it (the cleaner
 * has joined batches meanwhile), the first one is made for the occasion and holds what is stored of
 * [offset, end) with the same epoch. ERR_GONE: below the start. ERR_NOT_FOUND: at the durable end.
 * ERR_CORRUPT, ERR_IO. Any thread, no lock. */
enum err plog_raw_read(struct plog_log *l, uint64_t offset, size_t bytes_max,
                       struct buf *out) MUST_USE;
/* Takes the next batch off `rest`, bytes from elsewhere: magic, version, length, CRC, counts and
 * every record's bounds are checked. ERR_CORRUPT; ERR_NOT_FOUND: `rest` is empty. */
enum err plog_raw_next(struct bytes *rest, struct plog_raw *out) MUST_USE;
/* [owner] As plog_append, of a batch from plog_raw_next, whose bytes are copied. ERR_INVALID: it
 * does not follow (base_offset, first_number, an epoch that falls). Nobody waits for it, but the
 * round is to come at once if `waited`. */
enum err plog_append_raw(struct plog_log *l, const struct plog_raw *raw, bool waited) MUST_USE;

/* ---- epochs ---- */

struct plog_epoch {
    uint64_t epoch;
    uint64_t start; /* offset of its first record in this log */
};
/* The epochs of what is stored, rising, read from the batches' heads; the first one may begin
 * before the start of the log: then `start` is the log's. Kept by the log from its opening on; lent
 * until the next append, cut or release. [owner] */
const struct plog_epoch *plog_epochs(const struct plog_log *l, size_t *n);

/* ---- cuts and new beginnings: durable when they return, no lock held, nobody appends meanwhile
 * ---- */

/* What lies at or above `end` is gone, from segments, cache and journal, also after a crash at any
 * moment; snapshots above it too. `end` is the end of a batch, not below what is committed. Cursors
 * above it answer ERR_GONE or ERR_NOT_FOUND from then on. ERR_INVALID; ERR_FAILED. */
enum err plog_truncate(struct plog_log *l, uint64_t end) MUST_USE;

/* The log is empty and begins at (start, start_number), and `state` is its snapshot at
 * snapshot_offset >= start. plog_snapshot_read says ERR_NOT_FOUND until the durable end has come to
 * it. With snapshot_offset == 0 there is none. All that was there before is gone, in one step. */
enum err plog_begin_anew(struct plog_log *l, uint64_t start, uint64_t start_number,
                         uint64_t start_last_epoch, uint64_t snapshot_offset,
                         struct bytes state) MUST_USE;
/* The epoch of the record at start-1, as plog_begin_anew was told or a release has left it; 0: not
 * known, or start is 0. */
uint64_t plog_start_last_epoch(const struct plog_log *l);

/* ---- incarnations ---- */

/* A random number, drawn when the log's folder is made (plog_create) and never 0; it survives
 * restarts, and is what the catalogue knows this copy by. */
uint64_t plog_incarnation(const struct plog_log *l);
/* Durable when it returns: the log has this incarnation from now on, and what it holds is not to be
 * believed (also after a restart) until plog_begin_anew. */
enum err plog_adopt(struct plog_log *l, uint64_t incarnation) MUST_USE;
/* True between the two. */
bool plog_is_adopted(const struct plog_log *l);

#endif

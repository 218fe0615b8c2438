// SPDX-License-Identifier: Apache-2.0
/* All logs of a data directory: segments, sparse index, commit journal, rounds, recovery, one tail
 * cache. Every byte on disk is fixed in FORMAT.md.
 *
 * Words: a batch is the unit of append, CRC and replication, and holds records; every record takes
 * an offset, and records of type 1 (messages) a number as well, both dense. A log's `end` is the
 * next offset, its `durable end` the offset below which everything is synced in the journal. A
 * round writes what all logs have appended in one sequential write, synced once, into the commit
 * journal; then it moves every log's durable end. Into the segments it gets later, many rounds in
 * one write (plog_write_if_due, a checkpoint); until then it is in the tail cache.
 *
 * Locks: each log belongs to somebody with a lock of their own (queue's partition lock). Functions
 * marked [owner] are called under it. Reading needs no lock: committed bytes do not change. Inside,
 * plog takes only leaf locks (LOCK_RANK_COMMIT and above), never over I/O.
 *
 * A failed write or sync of journal or segment is final: plog_failed() is true from then on, rounds
 * do nothing, waiting work is told through `on_durable`, and only a restart clears it. */
#ifndef PLOG_PLOG_H
#define PLOG_PLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "disk/disk.h"

struct plog;
struct plog_log;
struct plog_batch;

/* Names a log: the topic's id and the partition's number in it. */
struct plog_id {
    uint8_t topic[16];
    uint32_t partition;
};

/* The time as the broker knew it at a round; recovery goes on from the newest one (queue.h). */
struct plog_stamp {
    struct boot_id boot_id;
    int64_t boot_ms;
    int64_t wall_ms;
    int64_t partition_ms;
};

struct plog_options {
    const struct disk *disk;      /* borrowed until plog_close */
    uint32_t segment_bytes;       /* a segment is sealed beyond this; 64 MiB by default */
    uint32_t cache_bytes;         /* of the tail cache; 32 MiB by default */
    uint32_t journal_first_bytes; /* 1 MiB by default, so that a first start is instant */
    uint32_t journal_bytes;       /* each later journal file, zeroed in the background; 64 MiB */
    /* Segments open for writing at a time, the least recently used is closed; by default a
     * sixteenth of the process' limit of files, at most 256. Up to a quarter as many, and 16, stay
     * open for readings that may go on. */
    uint32_t write_files_max;
    /* Up to so many logs or snapshots are synced one by one, more with one sync of the file system,
     * which is then cheaper; 8 by default. */
    uint32_t sync_singly_max;
    void *self;
    /* The time for the next round; called by the round's runner, no lock held. */
    struct plog_stamp (*stamp)(void *self);
    /* log's durable end has moved, or the data directory has failed (plog_failed). Called by the
     * round's runner with no lock held, once a log and round. `owner` is from plog_log_own. */
    void (*on_durable)(void *self, void *owner);
    /* May be NULL: plog_write_if_due has something to do. Called by the round's runner with no lock
     * held, once until that has been called; the runner writes by itself when it is not, and the
     * cache is full. */
    void (*on_full)(void *self);
};

void plog_options_default(struct plog_options *o);

/* Opens a data directory, made when absent, and recovers: lock, store.json, marks, journal scan,
 * directory entries, segments cut at the mark and the journal's entries written again, synced.
 * ERR_IN_USE, ERR_PERMISSION, ERR_NEWER_FORMAT, ERR_CORRUPT (store.json, marks or journal are
 * damaged; one line in the operator's log names file and offset; nothing was written), ERR_IO,
 * ERR_NO_SPACE. A damaged log does not fail the start: plog_log_damaged. */
enum err plog_open(const struct plog_options *o, struct plog **out) MUST_USE;
/* A clean stop: no round may be running. Syncs segments, writes marks, frees everything. */
void plog_close(struct plog *p);
/* As the process' death: frees memory and closes files, writes nothing. For tests. */
void plog_abandon(struct plog *p);

struct plog_stamp plog_last_stamp(const struct plog *p); /* all zeros on a first start */
bool plog_failed(const struct plog *p);
/* store.json's uuid, as text. */
const char *plog_store_uuid(const struct plog *p);

/* ---- logs ---- */

/* Every log there is after plog_open, in the order of their ids. */
void plog_each(struct plog *p, void (*each)(void *arg, struct plog_log *l), void *arg);
/* Durable when it returns. ERR_EXISTS. Not under any lock. */
enum err plog_create(struct plog *p, struct plog_id id, struct plog_log **out) MUST_USE;
/* Durable when it returns; frees l. No reader or appender may use l any more. */
enum err plog_remove(struct plog *p, struct plog_log *l) MUST_USE;

struct plog_id plog_log_id(const struct plog_log *l);
void plog_log_own(struct plog_log *l, void *owner);
void *plog_log_owner(const struct plog_log *l); /* NULL: nobody was named */
/* True when the log's files are damaged; `*where` is then a line that names file and offset. */
bool plog_log_damaged(const struct plog_log *l, const char **where);

uint64_t plog_start_offset(const struct plog_log *l); /* the first offset still stored */
uint64_t plog_start_number(const struct plog_log *l);
uint64_t plog_end(const struct plog_log *l);            /* [owner] the next offset */
uint64_t plog_end_number(const struct plog_log *l);     /* [owner] the next message's number */
uint64_t plog_durable(const struct plog_log *l);        /* any thread (acquire) */
uint64_t plog_durable_number(const struct plog_log *l); /* any thread; read after plog_durable */

/* ---- appending ---- */

/* A batch being built: any number of records, at most PLOG_BATCH_BYTES_MAX in all. */
enum {
    PLOG_BATCH_BYTES_MAX = 12 << 20,
    PLOG_WAITING_BYTES_MAX = 32 << 20,
    PLOG_RECORD_FRAME_BYTES = 5, /* of a batch, for each record beside its payload, at most */
};

struct plog_batch *plog_batch_new(size_t bytes_hint);
void plog_batch_free(struct plog_batch *b);
/* Adds a record; type 1 is a message. The payload is copied. */
void plog_batch_put(struct plog_batch *b, uint8_t type, struct bytes payload);
/* The same without a copy: the caller appends the payload to the buffer that is lent until
 * plog_batch_end, and leaves alone what is in it. If it turns out about as long as
 * payload_bytes_hint, it stays where it was written. */
struct buf *plog_batch_begin(struct plog_batch *b, uint8_t type, size_t payload_bytes_hint);
void plog_batch_end(struct plog_batch *b);
size_t plog_batch_bytes(const struct plog_batch *b);

/* ERR_BUSY while more than PLOG_WAITING_BYTES_MAX are unwritten, ERR_FAILED: ask before planning.
 */
enum err plog_may_append(const struct plog *p, size_t bytes) MUST_USE;

struct plog_place {
    uint64_t offset; /* of the batch's first record */
    uint64_t number; /* of its first message, or of the next one if it has none */
};

/* [owner] Takes `b`. The records have their places at once and are durable after a round. `waited`:
 * somebody waits for it, so plog_work_waits() is true until that round. Cannot fail; after a failed
 * disk the batch is dropped and never becomes durable. */
struct plog_place plog_append(struct plog_log *l, struct plog_batch *b, uint64_t epoch,
                              int64_t now_ms, bool waited);

/* ---- rounds ---- */

/* Runs rounds until no waited-for batch is unwritten, unless another thread is running them (then
 * that one takes this work too, and the call returns at once). No lock may be held. `all`: also
 * batches that nobody waits for. */
void plog_commit(struct plog *p, bool all);
bool plog_work_waits(struct plog *p);     /* unwritten batches that somebody waits for */
bool plog_work_unwritten(struct plog *p); /* any unwritten batch */
int64_t plog_sync_average_us(const struct plog *p);
/* Background: syncs segments, writes marks, recycles the journal when it is half full, zeroes the
 * next journal files, removes those that a burst has left. Called by the housekeeper every second
 * or so, no lock held. */
void plog_checkpoint_if_due(struct plog *p);
/* Background: writes what is durable into the segments when half the cache is full of it. Called by
 * the housekeeper every second or so and after on_full, no lock held. */
void plog_write_if_due(struct plog *p);
/* What is in no segment yet, and will take as much of the disk again; about. */
size_t plog_unwritten_bytes(const struct plog *p);
/* The next one is due, however full the journal is. */
void plog_checkpoint_ask(struct plog *p);

/* ---- reading (any thread, no lock) ---- */

struct plog_entry {
    uint8_t type;
    uint64_t offset;
    uint64_t number; /* of this message, or of the next message for other types */
    uint64_t epoch;
    struct bytes payload; /* lent until the next call on the cursor */
};

/* Reads records in order. Opaque content; lives on the stack. Holds a reference on a cached batch
 * or a buffer of its own between open and close. */
struct plog_cursor {
    struct plog_log *log;
    uint64_t offset; /* of the next record */
    void *priv[8];
};

/* At the record with this offset, or at the message with this number. ERR_GONE: before the start.
 * ERR_NOT_FOUND: at or behind the durable end. Where the cleaner has been: the first record stored
 * at or behind the offset (c->offset tells); ERR_GONE for a number that is no longer stored.
 * `read_ahead_bytes`: what to read at a time from disk (at least one batch): small for one message,
 * large for a scan. */
enum err plog_cursor_at_offset(struct plog_log *l, uint64_t offset, size_t read_ahead_bytes,
                               struct plog_cursor *c) MUST_USE;
enum err plog_cursor_at_number(struct plog_log *l, uint64_t number, size_t read_ahead_bytes,
                               struct plog_cursor *c) MUST_USE;
/* The next record stored: offsets and numbers rise, by more than one over what is no longer there.
 * ERR_NOT_FOUND: at the durable end; the cursor may be asked again later. ERR_CORRUPT, ERR_IO;
 * ERR_GONE: what comes next was released. */
enum err plog_cursor_next(struct plog_cursor *c, struct plog_entry *out) MUST_USE;
void plog_cursor_close(struct plog_cursor *c);

/* ---- snapshots and room ---- */

/* Stores the state as of `offset` (<= durable end) beside the segments: CRC'd, renamed into place,
 * durable; the two newest are kept. An offset between the two that are there takes the place of the
 * older; ERR_INVALID: below both. */
enum err plog_snapshot_write(struct plog_log *l, uint64_t offset, struct bytes state) MUST_USE;
/* Many at once: what plog_snapshot_write does for each, with two syncs for all of them. They count
 * once plog_snapshots_end has answered ERR_OK; it frees `s` whatever it answers. A failure of one
 * of those two syncs is final (plog_failed), since it may have been about a segment. By one thread,
 * and no log of the list may be removed before. */
struct plog_snapshots;
struct plog_snapshots *plog_snapshots_begin(struct plog *p);
enum err plog_snapshots_put(struct plog_snapshots *s, struct plog_log *l, uint64_t offset,
                            struct bytes state) MUST_USE;
enum err plog_snapshots_end(struct plog_snapshots *s) MUST_USE;
/* The newest good snapshot at or below the durable end: state appended to `out`. ERR_NOT_FOUND:
 * none. ERR_CORRUPT: one lies above the durable end, or none is good. */
enum err plog_snapshot_read(struct plog_log *l, struct buf *out, uint64_t *offset) MUST_USE;
/* The same, of those below an offset. */
enum err plog_snapshot_read_below(struct plog_log *l, uint64_t below, struct buf *out,
                                  uint64_t *offset) MUST_USE;
uint64_t plog_snapshot_older(const struct plog_log *l); /* the older kept one's offset, or 0 */
uint64_t plog_snapshot_newest(const struct plog_log *l);

/* Deletes sealed segments that hold only messages below `number`, and lie wholly below `offset` and
 * the journal's mark. */
enum err plog_release(struct plog_log *l, uint64_t number, uint64_t offset) MUST_USE;

struct plog_size {
    uint64_t segments;
    uint64_t bytes; /* of segments, and of what is durable and will be written to them */
};
struct plog_size plog_log_size(const struct plog_log *l);

/* ---- cleaning: unwanted records leave the segments between wanted ones ---- */

/* A segment as it was when asked: it holds the offsets [base_offset, end_offset). */
struct plog_segment {
    uint64_t base_offset, end_offset;
    uint64_t first_number, end_number; /* its messages: [first_number, end_number) */
    uint64_t stored; /* how many of them it stores; too high when cleaned before the start */
    uint64_t bytes;
    bool sealed;    /* not the last one */
    bool cleanable; /* sealed, and wholly below the older snapshot and the log's mark */
};
/* The segments that begin at or behind from_offset, in order, at most `room`. Their first numbers
 * may have to be asked of the files. No lock held. ERR_CORRUPT, ERR_IO. */
enum err plog_segments(struct plog_log *l, uint64_t from_offset, struct plog_segment *out,
                       size_t room, size_t *n) MUST_USE;

/* Asks the owner's state which messages must stay. */
struct plog_wanted {
    void *self;
    /* Sets wanted[i], all false before, for each message first + i, i < n, that must stay. Answers
     * the log's end at that moment: the answer counts once all below it is committed, as a
     * crash would undo what finished the others. No lock is held. */
    uint64_t (*ask)(void *self, uint64_t first, size_t n, bool *wanted);
    /* NULL: what `ask` wants stays, and of the rest what it costs nothing to keep. Else `keep` is
     * told the payload of each message that `ask` wants, and answers whether it stays; within one
     * job always the same. Then all others go, also where the segment gets larger by their GAPs: by
     * 128 bytes a message at most. No lock is held. */
    bool (*keep)(void *self, uint64_t number, struct bytes payload);
};

enum { PLOG_CLEAN_SEGMENTS_MAX = 32 };

enum plog_clean_state {
    PLOG_CLEAN_MORE,  /* call again */
    PLOG_CLEAN_WAITS, /* call again when more is committed */
    PLOG_CLEAN_DONE,  /* the new segment is in place */
    /* What must stay is more than `bytes_max`, or with `keep` it is all of one segment: nothing was
       written. */
    PLOG_CLEAN_USELESS,
};

struct plog_clean;

/* Begins to make one segment of those from `offset` up to `end_offset`, all cleanable; it is to be
 * no larger than `bytes_max`. One at a time a log. ERR_INVALID: no such segments, or more than
 * PLOG_CLEAN_SEGMENTS_MAX. Freed with plog_clean_free at any time, also after plog_remove, but
 * before plog_close. */
enum err plog_clean_begin(struct plog_log *l, uint64_t offset, uint64_t end_offset,
                          uint64_t bytes_max, struct plog_wanted wanted,
                          struct plog_clean **out) MUST_USE;
/* Goes on with about io_bytes of reading and writing, at least one batch; no lock held. Cursors
 * that are open go on reading what they read. On an error the job is over and the log as before:
 * ERR_GONE (segments or log were removed meanwhile, or the log was cut, and what was asked for may
 * rest on what went), ERR_NO_SPACE, ERR_CORRUPT (noted), ERR_IO, ERR_FAILED. */
enum err plog_clean_step(struct plog_clean *c, size_t io_bytes,
                         enum plog_clean_state *state) MUST_USE;
/* Unfinished work leaves nothing behind. */
void plog_clean_free(struct plog_clean *c);

#endif

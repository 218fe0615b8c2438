// SPDX-License-Identifier: Apache-2.0
/* What the files of this room share: the store and its logs, and who may touch which field.
 *
 * Roles are exclusive without being locks, because they last over I/O. The *runner* runs rounds
 * (`running`); the *keeper* changes what exists apart from that: checkpoint, release, and the end
 * of a removal (`keeping`). The keeper may wait for the runner, never the other way round. The
 * *writer* moves durable batches into segments (`writing`): the keeper as long as it has time for
 * that, else the runner, which takes this role only when it is free. */
#ifndef PLOG_INSIDE_H
#define PLOG_INSIDE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/lock.h"
#include "plog/batch.h"
#include "plog/cache.h"
#include "plog/copy.h"
#include "plog/copy_file.h"
#include "plog/journal.h"
#include "plog/kept.h"
#include "plog/plog.h"
#include "plog/segment.h"

/* A log's end, as offset and number and as a place in its files. */
struct tail {
    uint64_t offset;
    uint64_t number;
    uint64_t segment;  /* name of the last segment */
    uint64_t position; /* in it */
};

struct plog_log {
    /* Set at birth. */
    struct plog *plog;
    struct plog_id id;
    char *dir;
    void *owner;

    /* Changed only by a new beginning, when nobody uses the log. */
    uint64_t incarnation;

    /* Guarded by the owner's lock. */
    uint64_t end;
    uint64_t end_number;
    struct plog_epoch *epochs; /* owned (epochs.h) */
    size_t epochs_n;
    size_t epochs_room;
    bool epochs_known;

    /* Stored by the runner, number first (release); loaded by all, offset first (acquire). */
    _Atomic uint64_t durable;
    _Atomic uint64_t durable_number;

    /* Where the owner says what is committed (plog_commit_by_owner); stored under its lock, number
     * first, as above. */
    atomic_bool commit_owned;
    _Atomic uint64_t committed;
    _Atomic uint64_t committed_number;
    /* How often the log was cut or begun anew, and how often begun anew: what a cursor read before
     * may not be what is there. */
    _Atomic uint64_t cuts;
    _Atomic uint64_t beginnings;

    /* Guarded by plog's commit lock. */
    unsigned refs;
    bool removed;
    bool queued; /* in plog's list of logs with work */
    STAILQ_HEAD(, plog_batch) pending;
    STAILQ_ENTRY(plog_log) work_link;
    bool late; /* in plog's list of logs with durable batches that are in no segment yet */
    TAILQ_ENTRY(plog_log) late_link;
    struct tail mark; /* as of the last written marks */
    uint32_t mark_index_entries;
    bool marked; /* the last written marks name this log */

    _Atomic size_t late_bytes; /* of durable batches that are in no segment yet */

    /* The writer's. */
    struct tail written;
    uint64_t indexed_position; /* of the newest index entry in the last segment */
    int write_file;            /* of the last segment, or -1 */
    TAILQ_ENTRY(plog_log) open_link;

    /* Guarded by lk. */
    struct lock lk; /* leaf, LOCK_RANK_SEGMENTS */
    struct segment_list segments;
    uint64_t start_offset;
    uint64_t start_number;
    struct copy copy;      /* changed by the keeper */
    bool dir_dirty;        /* names in the log's folder are not synced */
    uint64_t snapshots[2]; /* newest first */
    unsigned snapshots_n;
    bool corrupt_noted;
    bool index_rebuilding; /* or a segment is being swapped; one at a time */
    uint64_t swaps;        /* how often the cleaner has changed the list */

    /* Guarded by the cache's lock. */
    struct cache_ring ring;

    char *damage; /* set by recovery; a new beginning frees it */

    /* Recovery's. */
    unsigned cuts_ahead; /* truncate entries of the journal still to come */
    bool begun_anew;     /* the journal says so, and the folder may hold what was before */
};

/* A log that is being made, removed, cut or begun anew; lives on the stack of the caller, who waits
 * for it. */
struct dir_work {
    enum entry_kind kind;
    struct plog_log *log;
    struct bytes payload; /* of the entry */
    /* Guarded by the commit lock. */
    bool done;
    bool durable; /* its round was */
    STAILQ_ENTRY(dir_work) link;
};

struct plog {
    /* Set at birth. */
    struct plog_options options;
    const struct disk *disk;
    int lock_file;
    char store_uuid[37];
    struct cache cache;
    struct kept kept;
    atomic_bool failed;
    struct buf round_bytes; /* [runner] empty, but for its room, between rounds */
    _Atomic int64_t sync_average_us;
    _Atomic size_t unwritten_bytes; /* of batches that wait for a round */
    _Atomic size_t late_bytes;      /* of durable batches that are in no segment yet */
    atomic_bool checkpoint_asked;
    atomic_bool write_asked; /* on_full was called, and nothing has been written since */

    struct lock commit_lk;            /* leaf, LOCK_RANK_COMMIT; guards what follows */
    struct lock_signal commit_signal; /* a dir_work is done, or a role is free */
    bool running;
    bool keeping;
    bool writing;
    bool run_all;  /* the runner shall also take what nobody waits for */
    size_t waited; /* unwritten batches that somebody waits for */
    size_t unwritten;
    STAILQ_HEAD(, plog_log) work; /* logs with pending batches */
    STAILQ_HEAD(dir_work_list, dir_work) dir_work;
    TAILQ_HEAD(, plog_log) late; /* logs with durable batches that are in no segment yet */
    size_t late_n;
    struct plog_log **logs; /* by id */
    size_t logs_n;
    size_t logs_room;
    uint64_t next_incarnation;
    uint64_t round; /* the last finished one */
    uint64_t marks_round;
    struct plog_stamp stamp; /* of the last finished round */
    struct journal journal;

    /* The writer's. */
    TAILQ_HEAD(, plog_log) open_logs; /* with a write_file, least recently used first */
    unsigned open_logs_n;
};

/* ---- log.c ---- */

struct plog_log *log_new(struct plog *p, struct plog_id id, uint64_t incarnation);
/* Drops one reference; at the last one frees the log (its files stay). */
void log_unref(struct plog_log *l);
void log_unref_locked(struct plog_log *l);
int log_id_compare(const struct plog_id *a, const struct plog_id *b);
struct plog_log *log_find_locked(struct plog *p, struct plog_id id);
void log_add_locked(struct plog *p, struct plog_log *l);
void log_take_out_locked(struct plog *p, struct plog_log *l);
/* DIR/NAME.SUFFIX with a 20-digit name; freed with mem_free. */
char *log_path(const struct plog_log *l, uint64_t name, const char *suffix);
/* A random number for a log that is made or begins anew. */
uint64_t log_draw_incarnation(void);
/* Makes the log's folder and those above it. */
enum err log_make_dirs(struct plog_log *l) MUST_USE;
/* Makes the names in the log's folder and in its topic's folder durable. */
enum err log_sync_dirs(struct plog_log *l) MUST_USE;
/* Removes the log's folder with everything in it; nothing there is as good. Synced. */
enum err log_remove_dirs(struct plog_log *l) MUST_USE;
/* Remembers and notes once that stored bytes of the log are bad at this place. */
void log_note_corrupt(struct plog_log *l, uint64_t segment, uint64_t position, enum err e);

/* How often the cleaner has changed the list of segments: what was looked up in it fits to what was
 * opened by it when this is the same before and after. */
uint64_t log_swaps(struct plog_log *l);

/* Final for the data directory: nothing more is accepted. */
void store_fail(struct plog *p, const char *what, enum err e);

/* Waits for and takes the keeper's role; gives it back. */
void keeper_enter(struct plog *p);
void keeper_leave(struct plog *p);

/* ---- write.c ---- */

/* Puts l among the late logs or takes it out. */
void write_late_locked(struct plog_log *l, bool late);
/* [keeper] Waits for and takes the writer's role; gives it back. */
void write_enter(struct plog *p);
void write_leave(struct plog *p);
/* The segments and the journal hold no batches of the log that are in the cache only; they are
 * gone.
 */
void write_forget_late(struct plog_log *l);
/* [writer] Brings the log's durable batches below the offset `to` into its segments; `to` is the
 * end of a batch. */
enum err write_log(struct plog_log *l, uint64_t to) MUST_USE;
/* [writer] That for all logs that are late now; those that become so meanwhile are for the next
 * time. */
enum err write_late(struct plog *p) MUST_USE;
/* [runner] Keeps the cache within its bounds after a round. */
void write_if_full(struct plog *p);

/* ---- round.c ---- */

/* [owner] Takes a batch whose header and bytes are final and follow the log's end. */
void append_sealed(struct plog_log *l, struct plog_batch *b, bool waited);
/* Queues the work, has it done by a round, waits for that. ERR_FAILED. */
enum err round_do(struct plog *p, struct dir_work *w) MUST_USE;

/* Syncs segments, writes marks and recycles the journal. Only the keeper. `last`: nothing runs any
 * more; the current journal file is recycled too. */
enum err checkpoint_write(struct plog *p, bool last) MUST_USE;

/* [keeper] Syncs the log's segments from its mark up to `to`, and the folders they are named in. */
enum err checkpoint_sync_log(struct plog_log *l, const struct tail *to) MUST_USE;

/* Everything of plog_open behind the lock and store.json. */
enum err recover_store(struct plog *p) MUST_USE;

#endif

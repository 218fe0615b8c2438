// SPDX-License-Identifier: Apache-2.0
/* The product: topics, send, receive, delete, change visibility, purge; long polls, commit tickets,
 * dead-letter moves. The one place where log, state, catalogue and waiting requests meet. Fronts
 * (sqs, later rest) and admin call only this.
 *
 * A verb decides at once and never blocks on I/O but for reading message bodies. What it promises
 * is true only once it is committed: every verb that takes a `struct queue_wait` may leave marks in
 * it, and the front must call queue_wait_start() before it answers. Except for standard receives,
 * also refusals and no-ops read from state wait, since what they saw may not be committed yet.
 *
 * Verbs named queue_topic_create, _change and _delete block (catalogue, directories): they run as
 * jobs on the catalogue thread (queue_run), never on an HTTP loop.
 *
 * Partition time: CLOCK_BOOTTIME plus what was known before this start; it never follows a jump of
 * the wall clock (architecture: journal rounds store it).
 *
 * Errors common to all verbs: ERR_FAILED (the data directory has failed), ERR_CLOSED (the partition
 * is damaged), ERR_BUSY (too many unwritten bytes), ERR_STOPPING. */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "catalog/topic.h"
#include "disk/disk.h"

enum {
    QUEUE_BATCH_MAX = 10,
    QUEUE_BODY_BYTES_MAX = 1 << 20,
    QUEUE_ID_BYTES_MAX = 128, /* message-group and dedup ids */
    QUEUE_RECEIPT_TEXT_MAX = 200,
};

struct queue;
struct queue_topic;

struct queue_options {
    const struct disk *disk;     /* borrowed; rooted at the data directory */
    const char *catalog_path;    /* of catalog.sqlite */
    const struct clock *clock;   /* borrowed */
    struct rng rng;              /* ids; its own copy */
    uint8_t fresh_secret[32];    /* becomes the receipt secret at a first start */
    uint32_t segment_bytes;      /* 0: default */
    uint32_t cache_bytes;        /* 0: default */
    uint32_t journal_bytes;      /* each file of the journal, the first one too; 0: default */
    uint64_t snapshot_log_bytes; /* snapshot a partition after so much log; 0: 64 MiB */
    uint64_t in_flight_max;      /* leases a partition and group; 0: 120,000 */
};

/* Recovers everything and is ready to serve. Errors as plog_open and catalog_open. */
enum err queue_open(const struct queue_options *o, struct queue **out) MUST_USE;
/* Clean stop: finishes commits, writes snapshots and marks, frees all. Threads must be stopped. */
void queue_close(struct queue *q);
/* As the process' death, for tests: writes nothing. */
void queue_abandon(struct queue *q);

/* Threads: housekeeper, committer, catalogue. Tests may drive the steps themselves instead. */
void queue_threads_start(struct queue *q);
void queue_threads_stop(struct queue *q);
/* One step of the housekeeper: lease ends, due times, moves, trims, snapshots, releases, and the
 * checkpoint. Gives the partition time at which it wants to be called again. No lock held. */
int64_t queue_housekeep(struct queue *q);
/* To be called at the end of each pass of a loop: takes the commit role if there is work (or hands
 * it to the committer when syncs are slow). */
void queue_pass_end(struct queue *q);
/* Commits everything now; for tests and for jobs. */
void queue_commit_all(struct queue *q);

int64_t queue_now_ms(const struct queue *q); /* partition time */
bool queue_failed(const struct queue *q);

/* ---- jobs on the catalogue thread ---- */

struct queue_job {
    struct queue_job *next;             /* queue's */
    void (*run)(struct queue_job *job); /* on the catalogue thread; may block; wakes its request */
};
/* ERR_BUSY: too many wait (1,000). Without threads the job is run at once. */
enum err queue_run(struct queue *q, struct queue_job *job) MUST_USE;

/* ---- waiting for commit ---- */

struct queue_mark { /* queue's */
    struct queue_mark *next;
    struct queue_wait *wait;
    struct queue_partition *partition;
    uint64_t offset;
};

/* Lives in the front's request until ready() was called. Zeroed before use. */
struct queue_wait {
    void (*ready)(struct queue_wait *w); /* any thread, no lock held; wakes the request */
    enum err err;                        /* ERR_OK, or ERR_FAILED: it will never be durable */
    int left;                            /* atomic: marks not yet reached */
    unsigned marks_n;
    struct queue_mark marks[QUEUE_BATCH_MAX];
    struct queue_mark *more; /* queue's: in their place when one verb needs more (purge) */
};

/* True: not everything is durable yet, ready() will be called exactly once. False: answer now (look
 * at w->err). */
bool queue_wait_start(struct queue_wait *w);

/* ---- topics ---- */

/* By name. ERR_NOT_FOUND: none, being created or deleted. The reference is given back with
 * queue_topic_give_back. */
enum err queue_topic_find(struct queue *q, struct bytes name, struct queue_topic **out) MUST_USE;
void queue_topic_give_back(struct queue_topic *t);
/* The settings now: an immutable snapshot, lent until queue_topic_give_back. */
const struct topic_config *queue_topic_config(struct queue_topic *t);

/* [job] id and times are filled in. ERR_EXISTS, ERR_FULL, ERR_NO_SPACE, ERR_IO; ERR_INVALID:
 * settings that topic_config_decode would not take. */
enum err queue_topic_create(struct queue *q, const struct topic_config *want,
                            struct queue_topic **out) MUST_USE;
/* [job] Calls `change` on a copy of the newest settings (again on a conflict) and stores it.
 * `change` answers an error to refuse. ERR_INVALID as for create. */
enum err queue_topic_change(struct queue_topic *t,
                            enum err (*change)(void *arg, struct topic_config *settings),
                            void *arg) MUST_USE;
/* [job] The name is free when it returns; messages go in the background. */
enum err queue_topic_delete(struct queue_topic *t) MUST_USE;
/* Ready topics in byte order of their names, from the first >= `from` with `prefix`; stops when
 * each answers false. `t` is lent for the call. No lock is held during each. */
void queue_topics_each(struct queue *q, struct bytes prefix, struct bytes from,
                       bool (*each)(void *arg, struct queue_topic *t), void *arg);

/* ---- sending ---- */

struct queue_attribute {
    struct bytes name;
    struct bytes data_type; /* with its label, such as "Number.int" */
    bool binary;
    struct bytes value;
};

struct queue_message {
    struct bytes body;
    uint8_t body_md5[16];
    const struct queue_attribute *attributes;
    size_t attributes_n;
    struct bytes trace;    /* AWSTraceHeader; n = 0: none */
    int64_t delay_ms;      /* < 0: the topic's */
    struct bytes group_id; /* n = 0: none (FIFO topics: required, the front checks) */
    struct bytes dedup_id; /* FIFO: required; the front fills in the content's SHA-256 */
};

struct queue_sent {
    uint8_t id[16];
    uint32_t partition;
    uint64_t number; /* SequenceNumber; of the first one when duplicate */
    bool duplicate;
};

/* n <= QUEUE_BATCH_MAX messages, in order; errs[i] is each one's fate (ERR_OK also for duplicates,
 * ERR_FULL, ERR_BUSY …). The messages are borrowed until it returns. */
void queue_send(struct queue_topic *t, const struct queue_message *messages, size_t n,
                struct queue_sent *sent, enum err *errs, struct queue_wait *w);

/* ---- receiving ---- */

struct queue_receive {
    struct bytes group;    /* n = 0: "default" */
    size_t max;            /* 1 to 10 */
    int64_t visibility_ms; /* < 0: the topic's */
    struct bytes holder;
};

struct queue_received {
    uint8_t id[16];
    struct bytes body; /* in the arena, as all bytes here */
    uint8_t body_md5[16];
    const struct queue_attribute *attributes;
    size_t attributes_n;
    struct bytes trace;
    int64_t sent_wall_ms;
    int64_t first_received_wall_ms;
    uint32_t receive_count;
    uint32_t partition;
    uint64_t number;
    struct bytes group_id;
    struct bytes dedup_id;
    struct bytes origin; /* name of the topic it was dead-lettered from; n = 0: none */
    char receipt[QUEUE_RECEIPT_TEXT_MAX + 1];
};

/* Up to `max` messages. ERR_OK with *n = 0: nothing deliverable now. ERR_NOT_FOUND: no such group.
 * ERR_OVER_LIMIT. FIFO: w gets marks, the leases must be committed before the answer. */
enum err queue_receive(struct queue_topic *t, const struct queue_receive *request,
                       struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX], size_t *n,
                       struct queue_wait *w) MUST_USE;

/* The answer could not be written: these leases end now, if they are still the current ones. */
void queue_give_back(struct queue_topic *t, const struct queue_received *received, size_t n);

/* ---- long polls ---- */

/* Lives in the front's request from start until cancel or finish. Zeroed before use. */
struct queue_poll {
    struct queue_topic *topic;
    struct queue_waiters *waiters; /* queue's; this and the following */
    struct queue_poll *next, *previous;
    bool linked, woken, calling;
    uint64_t seen;
    void (*wake)(struct queue_poll *p); /* any thread, no lock held: call queue_receive again */
};

/* To be called before the receive that may come back empty: registers p as the youngest waiter.
 * From then on a commit, lease end or due time that makes something deliverable wakes the oldest
 * waiters that were not woken yet, as many as there is work for. */
enum err queue_poll_start(struct queue_topic *t, struct bytes group, struct queue_poll *p,
                          void (*wake)(struct queue_poll *p)) MUST_USE;
/* A receive after a wake found nothing: p keeps its place and may be woken again. When this answers
 * true something came in between: receive once more. */
bool queue_poll_again(struct queue_poll *p);
/* p takes no part any more. passes_on: it was woken but took nothing (its peer is gone), so the
 * next waiter gets the wake. No call of wake() is running or comes after this returns. */
void queue_poll_end(struct queue_poll *p, bool passes_on);

/* ---- receipts ---- */

/* ERR_INVALID: not a receipt of this topic at all (SQS: ReceiptHandleIsInvalid). ERR_GONE: finished
 * already (SQS: 200 for a delete, 400 for a change). ERR_LEASE_EXPIRED, ERR_STALE_RECEIPT: FIFO, or
 * strict. On standard topics, unless strict, any handle the message ever had works, as on AWS. */
enum err queue_delete(struct queue_topic *t, struct bytes receipt, bool strict,
                      struct queue_wait *w) MUST_USE;
/* The lease ends visibility_ms from now; 0 = at once. ERR_FULL: beyond 12 h since the receive. */
enum err queue_extend(struct queue_topic *t, struct bytes receipt, int64_t visibility_ms,
                      bool strict, struct queue_wait *w) MUST_USE;

/* ---- the whole topic ---- */

/* Everything sent before now is finished for group default; the dedup history is cleared. */
enum err queue_purge(struct queue_topic *t, struct queue_wait *w) MUST_USE;

struct queue_counters {
    uint64_t visible;
    uint64_t in_flight;
    uint64_t delayed;
    uint64_t moving;
};
/* Exact; group n = 0: "default". ERR_NOT_FOUND. */
enum err queue_count(struct queue_topic *t, struct bytes group,
                     struct queue_counters *out) MUST_USE;

struct queue_partition_info {
    uint32_t partition;
    bool closed; /* damaged: where says file and offset */
    char where[160];
    uint64_t start_offset, durable_offset, end_offset;
    uint64_t start_number, next_number;
    uint64_t segments, bytes;
    struct queue_counters counters; /* of group default */
    uint64_t floor;
};
uint32_t queue_partitions(struct queue_topic *t);
void queue_partition_look(struct queue_topic *t, uint32_t partition,
                          struct queue_partition_info *out);

struct queue_lease_info {
    uint32_t partition;
    uint64_t number;
    uint32_t receive_count;
    int64_t left_ms;
    char holder[65];
};
/* Leases held now, by partition and number, from (partition, number); at most room. */
size_t queue_leases(struct queue_topic *t, struct bytes group, uint32_t partition, uint64_t number,
                    struct queue_lease_info *out, size_t room);

struct queue_stats { /* of this process, since its start */
    uint64_t sent, received, deleted, empty_receives, rounds, moves;
    int64_t sync_average_us;
    unsigned polls;
};
void queue_stats_read(struct queue *q, struct queue_stats *out);

#endif

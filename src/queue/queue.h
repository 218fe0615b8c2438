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
 * Functions marked [job] block (catalogue, directories, reads of old messages): they run as jobs on
 * the catalogue thread (queue_run), never on an HTTP loop.
 *
 * Partition time: CLOCK_BOOTTIME plus what was known before this start; it never follows a jump of
 * the wall clock (architecture: journal rounds store it).
 *
 * Errors common to all verbs: ERR_FAILED (the data directory has failed), ERR_CLOSED (the partition
 * is damaged), ERR_BUSY (too many unwritten bytes), ERR_STOPPING. In a cluster also ERR_NOT_LEADER
 * (another broker leads the partition, or nobody), ERR_NOT_READY (it has just begun to lead it),
 * ERR_NOT_ENOUGH (too few copies are in sync, or were heard of lately), and after the append
 * ERR_UNKNOWN (it may have happened, or may not). */
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
#include "catalog/redrive.h"
#include "catalog/topic.h"
#include "disk/disk.h"

enum {
    QUEUE_BATCH_MAX = 10, /* messages of one receive */
    QUEUE_SEND_MAX = 100, /* messages of one send */
    QUEUE_BODY_BYTES_MAX = 1 << 20,
    QUEUE_ID_BYTES_MAX = 128, /* message-group and dedup ids */
    QUEUE_KEY_BYTES_MAX = 1024,
    QUEUE_RECEIPT_TEXT_MAX = 200,
    QUEUE_HOLDER_BYTES_MAX = 64,
    QUEUE_REPEAT_WINDOW = 1024, /* sends of a front to a partition that may be open at once */
    QUEUE_FRONT_MAX = 65535,    /* a front's id, from 1 */
};

struct catalog;
struct queue;
struct queue_links;
struct queue_repeat;
struct queue_topic;

struct queue_options {
    const struct disk *disk;  /* borrowed; rooted at the data directory */
    const char *catalog_path; /* of catalog.sqlite */
    /* In a cluster: its catalogue (catalog_path is not opened then, and there is no k/epoch: epochs
     * are the partitions' own), and what it does for the partitions' copies (copies.h). Both
     * borrowed; NULL: the broker is alone. Topics come by queue_copy_topic then, not at the
     * opening, and logs that no topic has claimed are kept. */
    struct catalog *catalog;
    const struct queue_links *links;
    const struct queue_mover *mover; /* what carries moves to other brokers; borrowed; NULL: none */
    const struct clock *clock;       /* borrowed */
    struct rng rng;                  /* ids; its own copy */
    uint8_t fresh_secret[32];        /* becomes the receipt secret at a first start */
    uint32_t segment_bytes;          /* 0: default */
    uint32_t cache_bytes;            /* 0: default */
    uint32_t journal_bytes;          /* each file of the journal, the first one too; 0: default */
    uint64_t snapshot_log_bytes;     /* snapshot a partition after so much log; 0: 64 MiB */
    uint64_t in_flight_max;          /* leases a partition and group; 0: 120,000 */
    size_t compact_keys_max;         /* keys that one pass of compaction remembers; 0: 390,000 */
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
/* The data directory's uuid, as text. */
const char *queue_store_uuid(const struct queue *q);

int64_t queue_now_ms(const struct queue *q); /* partition time */
/* A write or sync of a log, of the journal or of the catalogue failed: only a restart clears it. */
bool queue_failed(const struct queue *q);
bool queue_space_low(const struct queue *q); /* sends are refused; deletes are not */

/* ---- jobs on the catalogue thread ---- */

struct queue_job {
    struct queue_job *next;             /* queue's */
    void (*run)(struct queue_job *job); /* on the catalogue thread; may block; wakes its request */
    /* 0: nothing else runs meanwhile. From queue_job_beside: others that have one of their own may
     * run, on helpers of the catalogue thread. */
    uint64_t beside;
};
/* For a job that makes the topic of this name and touches no other. */
uint64_t queue_job_beside(struct bytes name);
/* ERR_BUSY: too many wait (1,000). Without threads the job is run at once. */
enum err queue_run(struct queue *q, struct queue_job *job) MUST_USE;

/* ---- waiting for commit ---- */

struct queue_mark { /* queue's */
    struct queue_mark *next;
    struct queue_wait *wait;
    struct queue_partition *partition;
    uint64_t offset;
    int64_t since_ms; /* the queue's time when it was left */
    int64_t until_ms; /* partition time: the lease that it brings ends; INT64_MAX: none does */
};

/* Lives in the front's request until ready() was called. Zeroed before use. Any number of verbs may
 * leave marks in one, each from the thread that owns the request. Once one of them was called,
 * queue_wait_start must be too: only then nothing points into it. */
struct queue_wait {
    void (*ready)(struct queue_wait *w); /* any thread, no lock held; wakes the request */
    void *self;                          /* for ready(); not looked at */
    /* ERR_OK. ERR_FAILED: it will never be durable. ERR_UNKNOWN: what a FIFO topic leased was
     * committed after the lease had ended, and must not be handed out. In a cluster: ERR_UNKNOWN of
     * any verb, and for what was received ERR_NOT_LEADER, ERR_NOT_READY, ERR_NOT_ENOUGH. */
    enum err err;
    int left; /* atomic: marks not yet reached */
    unsigned marks_n;
    struct queue_mark marks[QUEUE_BATCH_MAX];
    struct queue_marks *more; /* queue's: those beyond marks[] (purges and large batches) */
    /* queue's: in a cluster, the partitions whose messages the answer brings */
    struct queue_topic *leased;
    uint64_t leased_partitions[(TOPIC_PARTITIONS_MAX + 63) / 64];
};

/* True: not everything is durable yet, ready() will be called exactly once. False: answer now (look
 * at w->err). */
bool queue_wait_start(struct queue_wait *w);
/* Marks all that the topic holds now, for an answer that tells of it. */
void queue_wait_topic(struct queue_topic *t, struct queue_wait *w);

/* ---- topics ---- */

/* By name. ERR_NOT_FOUND: none, being created or deleted. The reference is given back with
 * queue_topic_give_back. */
enum err queue_topic_find(struct queue *q, struct bytes name, struct queue_topic **out) MUST_USE;
void queue_topic_give_back(struct queue_topic *t);
/* The settings now: an immutable snapshot, lent until queue_topic_give_back. */
const struct topic_config *queue_topic_config(struct queue_topic *t);
/* The same, and the version of just these settings (> 0): it rises with every change, is the same
 * after a restart, and is never used again, not even by a topic of the same name. */
const struct topic_config *queue_topic_config_version(struct queue_topic *t, int64_t *version);

/* [job] id and times are filled in. ERR_EXISTS, ERR_FULL, ERR_NO_SPACE, ERR_IO; ERR_INVALID:
 * settings that topic_config_decode would not take. */
enum err queue_topic_create(struct queue *q, const struct topic_config *want,
                            struct queue_topic **out) MUST_USE;
/* [job] Calls `change` on a copy of the newest settings (again on a conflict) and stores it.
 * `change` answers an error (not ERR_CONFLICT) to refuse, also when it sees that nothing would
 * change: then the version stays. ERR_INVALID as for create, and when `compact` would change. */
enum err queue_topic_change(struct queue_topic *t,
                            enum err (*change)(void *arg, struct topic_config *settings),
                            void *arg) MUST_USE;
/* [job] The same, only when the newest settings have this version (0: any). ERR_CONFLICT: they have
 * another one, and nothing was changed. */
enum err queue_topic_change_if(struct queue_topic *t, int64_t version,
                               enum err (*change)(void *arg, struct topic_config *settings),
                               void *arg) MUST_USE;
/* [job] The name is free when it returns; messages go in the background. ERR_IO: whether the topic
 * is deleted shows after a restart, and until then its verbs answer ERR_FAILED. */
enum err queue_topic_delete(struct queue_topic *t) MUST_USE;
/* [job] As queue_topic_change_if. */
enum err queue_topic_delete_if(struct queue_topic *t, int64_t version) MUST_USE;
/* Ready topics in byte order of their names, from the first >= `from` with `prefix`; stops when
 * each answers false. `t` is lent for the call. No lock is held during each. */
void queue_topics_each(struct queue *q, struct bytes prefix, struct bytes from,
                       bool (*each)(void *arg, struct queue_topic *t), void *arg);

/* Settings that are allowed and may surprise: bits. */
enum queue_warning {
    /* Standard: the dead-letter topic does not keep messages longer than this one does, and a dead
     * letter keeps its age. */
    QUEUE_WARNING_DEAD_LETTER_RETENTION = 1,
    /* FIFO: visibility times receives before a dead letter exceeds the five minutes in which
     * duplicates are recognised. */
    QUEUE_WARNING_DEDUPLICATION_WINDOW = 2,
    /* The dead-letter topic was deleted: messages are delivered on. */
    QUEUE_WARNING_DEAD_LETTER_MISSING = 4,
};
/* Those of the settings now. They are also told in the operator's log when a topic is made, changed
 * or deleted. */
unsigned queue_topic_warnings(struct queue_topic *t);

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
    /* A second message with this id is a duplicate of the first for five minutes. FIFO: required,
     * the front fills in the content's SHA-256. Standard: n = 0: none. */
    struct bytes dedup_id;
    /* n = 0: none. Compact topics: required. On standard topics it chooses the partition, and a
     * dedup id counts among messages of the same key. */
    struct bytes key;
    bool tombstone; /* compact topics only: the key has no value any more; no body then */
    const struct queue_repeat *repeat; /* of a send to one partition (spread.h); NULL: none */
};

/* Messages of group default that are neither finished nor on their way to another topic, and the
 * bytes of their bodies and attributes (names, types and values, as SQS counts message size). What
 * has expired counts until it is trimmed. */
struct queue_live {
    uint64_t messages;
    uint64_t bytes;
};

struct queue_sent {
    uint8_t id[16];
    uint32_t partition;
    uint64_t number; /* SequenceNumber; of the first one when duplicate */
    bool duplicate;
    struct queue_live had; /* only with ERR_TOPIC_FULL: what the topic held */
};

/* n <= QUEUE_SEND_MAX messages, in order; errs[i] is each one's fate (ERR_OK also for duplicates,
 * ERR_FULL: the table of dedup ids is, ERR_TOPIC_FULL, ERR_BUSY, ERR_NEEDS_KEY). On a FIFO topic
 * none is taken behind one for which the topic was full. Those of a standard topic that have
 * neither key nor dedup id go to one partition, so order is kept among them as among those of one
 * message group. The messages are borrowed until it returns. */
void queue_send(struct queue_topic *t, const struct queue_message *messages, size_t n,
                struct queue_sent *sent, enum err *errs, struct queue_wait *w);

/* ---- receiving ---- */

struct queue_receive {
    struct bytes group;    /* n = 0: "default" */
    size_t max;            /* 1 to 10 */
    int64_t visibility_ms; /* < 0: the topic's */
    struct bytes holder;
    /* FIFO; n = 0: none. A receive with the id of one of the last five minutes brings the same
     * messages with the same receipts, leased anew, unless one of them was deleted or changed or
     * has expired. Forgotten at a restart; at most 10,000 are remembered. */
    struct bytes attempt_id;
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
    struct bytes key;
    bool tombstone;
    struct bytes origin; /* name of the topic it was dead-lettered from; n = 0: none */
    char receipt[QUEUE_RECEIPT_TEXT_MAX + 1];
};

/* Up to `max` messages. ERR_OK with *n = 0: nothing deliverable now. ERR_NOT_FOUND: no such group.
 * ERR_LOG_ONLY, as from all that asks for a group: the topic is compact. ERR_OVER_LIMIT. FIFO: w
 * gets marks, the leases must be committed before the answer. */
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
/* Up to QUEUE_BATCH_MAX at once, each with its own error: those of one partition are one batch in
 * its log, so they cost little more than one. */
void queue_delete_many(struct queue_topic *t, const struct bytes *receipts, size_t n, bool strict,
                       enum err *errs, struct queue_wait *w);
/* The lease ends visibility_ms from now; 0 = at once. ERR_FULL: beyond 12 h since the receive. */
enum err queue_extend(struct queue_topic *t, struct bytes receipt, int64_t visibility_ms,
                      bool strict, struct queue_wait *w) MUST_USE;

/* ---- the whole topic ---- */

/* Everything sent before now is finished for group default; the dedup history is cleared. */
enum err queue_purge(struct queue_topic *t, struct queue_wait *w) MUST_USE;
/* The same for any group (n = 0: "default"). `*finished`: how many messages were unfinished until
 * then, exactly; written also on an error (a partition is closed …), of the partitions that were
 * purged. ERR_NOT_FOUND: no such group. */
enum err queue_purge_group(struct queue_topic *t, struct bytes group, uint64_t *finished,
                           struct queue_wait *w) MUST_USE;

struct queue_counters {
    uint64_t visible;
    uint64_t in_flight;
    uint64_t delayed;
    uint64_t moving;
};
/* Exact; group n = 0: "default". ERR_NOT_FOUND. All 0 on a compact topic. */
enum err queue_count(struct queue_topic *t, struct bytes group,
                     struct queue_counters *out) MUST_USE;

/* Of the whole topic. Exact; sends in the middle of being accepted count. O(1). */
struct queue_live queue_topic_live(struct queue_topic *t);
/* Of all its logs, with what is finished and not given back yet. O(partitions). */
uint64_t queue_topic_disk_bytes(struct queue_topic *t);

struct queue_partition_info {
    uint32_t partition;
    bool closed; /* damaged: where says file and offset */
    char where[160];
    uint64_t start_offset, durable_offset, end_offset;
    uint64_t start_number, next_number;
    uint64_t segments, bytes;
    struct queue_counters counters; /* of group default */
    struct queue_live live;
    uint64_t floor;
};
uint32_t queue_partitions(struct queue_topic *t);
void queue_partition_look(struct queue_topic *t, uint32_t partition,
                          struct queue_partition_info *out);

struct queue_lease_info {
    uint32_t partition;
    uint64_t number;
    uint32_t receive_count;
    int64_t left_ms;   /* until it ends */
    int64_t leased_ms; /* since it began; an extension does not begin it anew */
    char holder[QUEUE_HOLDER_BYTES_MAX + 1];
};
/* Leases held now, by partition and number, from (partition, number); at most room. */
size_t queue_leases(struct queue_topic *t, struct bytes group, uint32_t partition, uint64_t number,
                    struct queue_lease_info *out, size_t room);

struct queue_group_info {
    struct queue_counters counters;
    unsigned waiting;            /* long polls */
    int64_t oldest_sent_wall_ms; /* of the oldest unfinished message that is committed; 0: none */
};
/* [job] Group n = 0: "default". ERR_NOT_FOUND. */
enum err queue_group_look(struct queue_topic *t, struct bytes group,
                          struct queue_group_info *out) MUST_USE;

/* ---- redriving ---- */

/* A redrive (SQS: message move task) moves the messages that are ready in a topic when it starts
 * back to the topics they were dead-lettered from, or to one topic, in the background. Each arrives
 * exactly once, also over a crash, and there it is a new message: new id, sent now, never received.
 * Messages in flight are left where they are; on FIFO topics those behind them too, for order. It
 * survives restarts, and ends by itself: COMPLETED when nothing is left; FAILED when a message has
 * nowhere to go (and stays); CANCELLED. */
enum queue_redrive_state {
    QUEUE_REDRIVE_RUNNING = REDRIVE_RUNNING,
    QUEUE_REDRIVE_CANCELLING = REDRIVE_CANCELLING,
    QUEUE_REDRIVE_CANCELLED = REDRIVE_CANCELLED,
    QUEUE_REDRIVE_COMPLETED = REDRIVE_COMPLETED,
    QUEUE_REDRIVE_FAILED = REDRIVE_FAILED,
};

enum { QUEUE_REDRIVES_MAX = REDRIVES_MAX, QUEUE_REDRIVES_ACTIVE_MAX = 100 };

struct queue_redrive {
    uint8_t id[16];
    enum queue_redrive_state state;
    bool no_source; /* why it failed: a message came from no topic; else its topic is gone */
    char target[TOPIC_NAME_MAX + 1]; /* "": each message goes back to where it came from */
    uint32_t per_second_max;         /* messages; 0: as fast as it goes */
    int64_t started_wall_ms;
    uint64_t to_move; /* ready messages when it started */
    uint64_t moved;   /* a crash may lose those of its last step from this count */
};

/* [job] `target` NULL: each message goes back to where it came from. ERR_EXISTS: one is under way.
 * ERR_LOG_ONLY: t or the target is compact.
 * ERR_FULL: 100 are, over all topics. ERR_IO, ERR_NO_SPACE. */
enum err queue_redrive_start(struct queue_topic *t, struct queue_topic *target,
                             uint32_t per_second_max, uint8_t id[16]) MUST_USE;
/* [job] `*moved`: how many have been until now; a few more may follow. ERR_NOT_FOUND: no redrive
 * with this id is under way. */
enum err queue_redrive_cancel(struct queue_topic *t, const uint8_t id[16],
                              uint64_t *moved) MUST_USE;
/* Newest first, at most `room` of the last QUEUE_REDRIVES_MAX. */
size_t queue_redrives(struct queue_topic *t, struct queue_redrive *out, size_t room);

/* ---- looking at messages, without leasing ---- */

/* To one group. Ready: also, on FIFO topics, behind an earlier message of its group. Moving: on its
 * way to the dead-letter topic. */
enum queue_message_state {
    QUEUE_READY = 1,
    QUEUE_LEASED = 2,
    QUEUE_DELAYED = 4,
    QUEUE_MOVING = 8,
    QUEUE_FINISHED = 16,
    QUEUE_UNFINISHED = QUEUE_READY | QUEUE_LEASED | QUEUE_DELAYED | QUEUE_MOVING,
};

struct queue_seen {
    /* Its receipt is "". Of a finished one, receive_count says only what it brought along from
     * before a move, and first_received_wall_ms is 0. */
    struct queue_received message;
    enum queue_message_state state;
    int64_t left_ms; /* leased: until the lease ends; delayed: until it is due; else 0 */
    char holder[QUEUE_HOLDER_BYTES_MAX + 1]; /* leased: as given; else "" */
};

/* Where a look goes on. Partitions follow one another; in each, numbers rise, or fall when the
 * newest come first. */
struct queue_place {
    uint32_t partition;
    uint64_t number; /* this one and later ones; `newest`: those below it, UINT64_MAX: all */
};

enum { QUEUE_PEEK_MAX = 1000, QUEUE_PEEK_SCAN_MAX = 100000 };

struct queue_peek {
    struct bytes group;      /* n = 0: "default" */
    struct queue_place from; /* at first partition 0 and number 0 (newest: UINT64_MAX) */
    bool newest;             /* first; else oldest first */
    bool one_partition;      /* goes no further than from.partition */
    unsigned states;         /* of enum queue_message_state; finished ones are never shown */
    struct bytes match;      /* only bodies that hold these bytes; n = 0: all */
    size_t max;              /* messages, 1 to QUEUE_PEEK_MAX */
    size_t bytes_max; /* of bodies and attributes: stops before, after at least one message */
    size_t scan_max;  /* unfinished messages looked at, 1 to QUEUE_PEEK_SCAN_MAX */
};

/* [job] Committed, unexpired messages that are unfinished for the group, each with its state at one
 * moment of the call. `out` has room for `max`; all bytes are in the arena. `*more`: there may be
 * further ones, look again at *next (also when *n is 0 or less than `max`: what is scanned is
 * bounded, by scan_max and by some MiB read). Closed partitions and messages whose bytes are bad
 * are passed over. ERR_NOT_FOUND: no such group or partition. ERR_IO. */
enum err queue_peek(struct queue_topic *t, const struct queue_peek *request, struct arena *arena,
                    struct queue_seen *out, size_t *n, struct queue_place *next,
                    bool *more) MUST_USE;

/* [job] One message, also a finished one as long as the log still stores it. ERR_NOT_FOUND: no such
 * group, partition or message; not committed yet; expired; no longer stored. */
enum err queue_message_look(struct queue_topic *t, struct bytes group, uint32_t partition,
                            uint64_t number, struct arena *arena, struct queue_seen *out) MUST_USE;

/* The oldest message that group default has not finished: all before it is done with, so nothing
 * holds the room of a partition longer than it. */
struct queue_oldest {
    bool there; /* false: all is finished, or nothing is committed, or it cannot be read */
    uint32_t partition;
    uint64_t number;
    uint8_t id[16];
    int64_t sent_wall_ms;
    int64_t age_ms;                 /* since it was accepted, by partition time */
    enum queue_message_state state; /* why it is still there */
    bool behind_leased;             /* FIFO, READY: another message of its group is leased */
    int64_t left_ms;                /* leased: until the lease ends; delayed: until it is due */
    char holder[QUEUE_HOLDER_BYTES_MAX + 1]; /* leased: as given; else "" */
};
/* [job] One message is read a partition. */
void queue_partition_oldest(struct queue_topic *t, uint32_t partition, struct queue_oldest *out);
void queue_topic_oldest(struct queue_topic *t, struct queue_oldest *out);
/* ---- reading a partition as a log ---- */

enum { QUEUE_RECORDS_MAX = 1000 };

struct queue_records {
    uint32_t partition;
    uint64_t from;    /* an offset */
    size_t max;       /* messages, 1 to QUEUE_RECORDS_MAX */
    size_t bytes_max; /* of keys, bodies and attributes: stops before, after at least one message */
};

struct queue_record {
    uint64_t offset;
    struct queue_received message; /* as in struct queue_seen: not received by anybody */
};

/* [job] Committed messages in the order of their offsets, from the first one at or behind `from`;
 * delayed and leased ones too, but none that has expired or is finished for all groups. `out` has
 * room for `max`; all bytes are in the arena. *next: where to go on; also when *n is 0, since what
 * is read is bounded, there may be more until *next is *end, the end of what was committed.
 * ERR_NOT_FOUND: no such partition. ERR_CLOSED, ERR_CORRUPT, ERR_IO. */
enum err queue_records(struct queue_topic *t, const struct queue_records *request,
                       struct arena *arena, struct queue_record *out, size_t *n, uint64_t *next,
                       uint64_t *end) MUST_USE;

/* ---- looking at the log ---- */

struct queue_segment_info {
    uint64_t base_offset;
    uint64_t first_number, end_number; /* its messages are [first_number, end_number) */
    uint64_t bytes;
    uint64_t unfinished; /* messages that some group or open move still wants */
    uint64_t bytes_live; /* bytes when all are unfinished, 0 when none is; else by mean size */
    bool sealed;         /* nothing is appended to it any more */
};

/* [job] Segments of a partition from the one with base_offset >= from_offset on, at most `room`.
 * ERR_NOT_FOUND: no such partition; ERR_CLOSED, ERR_CORRUPT, ERR_IO. */
enum err queue_segments(struct queue_topic *t, uint32_t partition, uint64_t from_offset,
                        struct queue_segment_info *out, size_t room, size_t *n) MUST_USE;

struct queue_bytes {
    uint64_t segments, bytes, bytes_live; /* sums of the above */
};
/* [job] Errors as queue_segments. */
enum err queue_partition_bytes(struct queue_topic *t, uint32_t partition,
                               struct queue_bytes *out) MUST_USE;

struct queue_stats { /* of this process, since its start */
    uint64_t sent, received, deleted, empty_receives, rounds, moves;
    uint64_t kept; /* partitions that the housekeeper has looked at */
    int64_t sync_average_us;
    unsigned polls;
};
void queue_stats_read(struct queue *q, struct queue_stats *out);

#endif

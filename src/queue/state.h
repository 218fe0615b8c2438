// SPDX-License-Identifier: Apache-2.0
/* What is inside a queue, a topic and a partition. For this room's files only.
 *
 * Locks, in the order in which they may be taken:
 *   queue.topics_lk     the registry of topics, the list of dropped ones
 *   partition.lk        one partition: its log's end, state, windows, marks. Never two at a time
 *   topic.limits_lk     a leaf: reserving what a topic may still take
 *   waiters.lk          long polls of one topic and group
 *   queue.house_lk      alarms and the housekeeper's sleep
 *   jobs.lk, committer.lk   leaves of the two other threads
 *
 * Who may hold a topic: everybody who has a reference (topic_lend, queue_topic_find). The registry
 * has one itself. A dropped topic leaves the registry at once; when the last reference is gone, the
 * housekeeper removes its logs, and its memory lives on until queue_close or for a minute, because
 * the runner of a round may still be about to tell its partitions of their durable end. */
#ifndef QUEUE_STATE_H
#define QUEUE_STATE_H

#include "base/digest.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/lock.h"
#include "catalog/catalog.h"
#include "catalog/redrive.h"
#include "partition/look.h"
#include "plog/copy.h"
#include "plog/plog.h"
#include "queue/key_map.h"
#include "queue/queue.h"

enum {
    GID_DEFAULT = 1, /* of the group "default", the only one there is yet */
    GENERATION_FIRST = 1,
    DEDUP_MS = 5 * 60 * 1000,             /* SQS: from the first accepted send */
    LEASE_TOTAL_MS = 12 * 60 * 60 * 1000, /* SQS: no message is invisible for longer */
    BODIES_BYTES_MAX = 1 << 20,           /* of one receive, beyond its first message */
    TOPICS_MAX = 100000,
    JOB_THREADS = 16, /* the catalogue thread and its helpers */
};

/* A place in a log behind records of moves: those of all moves below seq_end lie below offset. */
struct move_place {
    uint64_t seq_end;
    uint64_t offset;
};
struct move_watch {
    struct move_place newest, watched; /* offset 0: none */
    uint64_t committed;                /* those of all moves below this seq are committed */
};

/* What the cleaner remembers of a segment from look to look. */
struct clean_look {
    uint64_t offset; /* names the segment */
    uint64_t seen;   /* messages wanted at the last look */
    uint64_t tried;  /* and when it was last measured; UINT64_MAX: not in this life */
};

/* What is known of a message near the head of its partition (heads.c). */
struct head {
    int64_t accepted_ms;    /* INT64_MIN: it cannot be read */
    uint32_t message_bytes; /* 0: likewise */
};
struct heads {
    uint64_t first; /* of numbers [first, first + n) */
    size_t n;
    struct head *ring; /* owned; room is 0 or a power of two */
    size_t room, at;
};

struct queue_partition {
    /* set at birth */
    struct queue *q;
    struct queue_topic *topic;
    uint32_t index;
    struct plog_log *log; /* NULL when it is missing; not used when closed */
    bool closed;
    bool away; /* closed because this broker has no copy of it */
    char where[160];

    struct lock lk;
    /* guarded by lk */
    struct partition *state;
    struct rng rng;          /* message ids */
    int64_t key_version;     /* with links: of the newest key that was seen */
    struct queue_copy *copy; /* its replica and what belongs to it; NULL: nobody needed it yet */
    struct queue_mark *marks_first, *marks_last; /* offsets rise */
    struct partition_window *window;             /* of group default; NULL: given up */
    uint64_t log_bytes;                          /* appended since the newest snapshot */
    uint64_t snapshot_bytes;                     /* size of the newest snapshot */
    uint64_t head_number;                        /* retention: the oldest wanted message ... */
    int64_t head_accepted_ms; /* ... and when it was accepted; INT64_MIN: not known */

    struct heads heads; /* of topics that let their oldest messages go */

    struct move_watch moves;    /* of MOVEs */
    struct move_watch closings; /* with links: of MOVEDs and UNMOVEs of all moves below a seq */

    uint64_t finished_number; /* nothing below is wanted, once ... */
    uint64_t finished_end;    /* ... all before this offset is committed */

    struct heap_node keep; /* in queue.keeps; guarded by house_lk */

    /* the housekeeper's own */
    uint64_t released_number, released_offset; /* of the last release */
    uint64_t kept_end;                         /* the log's end at the last look */
    struct clean_look *looks;                  /* owned, by offset */
    size_t looks_n;
    int64_t clean_look_ms; /* not before */
    uint64_t clean_seen_end;
    struct move_trips *trips; /* with links: moves under way; NULL: none yet */
    int64_t trips_due_ms;     /* the queue's time when one is tried again; 0: none waits */
    /* of compact topics: since the last pass that ended */
    uint64_t compacted_offset; /* what lies below is clean */
    int64_t compact_late_ms;   /* from then on, what is dirty is compacted however little it is */
    int64_t tombstone_ms;      /* when the oldest tombstone that was left was accepted; INT64_MAX */

    /* atomic */
    int64_t time_shift_ms; /* partition time = the queue's + this; 0 where there are no links */
    bool ours;             /* with links: clients are served here (a copy of copy->serves) */
    uint32_t leader;       /* with links: who leads, as the newest key says; 0: nobody */
    bool touched;          /* queue.keeps holds it for the next second */
    bool moves_open;       /* MOVE records that are committed may need driving */
    size_t window_bytes;   /* as counted in queue.windows_bytes */
    uint64_t window_used;  /* queue.windows_tick when last used */
};

/* Long polls of one topic and group, oldest first. */
struct queue_waiters {
    struct queue_topic *topic; /* set at birth */
    uint32_t gid;
    struct lock lk;
    /* guarded by lk */
    struct queue_poll *first, *last;
    unsigned woken_n;
    uint64_t events;           /* rises when something became deliverable */
    struct lock_signal called; /* some wake() has returned */
    unsigned n;                /* written under lk, read atomically without it */
    struct heap_node alarm;    /* in queue.alarms; guarded by house_lk */
};

/* What a topic's catalogue entry said at one time. Never changes; replaced ones live on until
 * nobody but the registry holds the topic. */
struct topic_settings {
    struct topic_settings *retired_next;
    int64_t rev; /* of the catalogue's entry */
    struct topic_config config;
};

struct queue_topic {
    /* set at birth */
    struct queue *q;
    struct uuid id;
    char name[TOPIC_NAME_MAX + 1];
    bool fifo, compact;
    uint32_t partitions_n;
    struct queue_partition *partitions;
    struct queue_waiters waiters;

    struct lock limits_lk;           /* of those who raise the account under a limit */
    struct topic_settings *settings; /* atomic */
    struct topic_settings *retired;  /* guarded by topics_lk */
    unsigned refs;                   /* atomic; rises from zero never */
    bool registered, dropped;        /* atomic */
    bool in_doubt;          /* atomic: a start may find it deleted, so nothing more is accepted */
    uint32_t send_turn;     /* atomic */
    uint32_t receive_turn;  /* atomic */
    uint64_t live_messages; /* atomic: sums over the partitions, of group default ... */
    uint64_t live_bytes;    /* ... and what sends have reserved */
    /* The housekeeper's own: of the redrive under way, since its last step. */
    uint64_t redriven;
    enum redrive_failure redrive_failure;
    uint8_t redrive_id[16];  /* with links: that one */
    int64_t redrive_paid_us; /* partition time up to which its rate is used up; 0: not begun */

    UT_hash_handle by_name; /* guarded by topics_lk, as the rest */
    UT_hash_handle by_id;
    struct queue_topic *dropped_next;
    int64_t freed_at_ms;                   /* when its logs were removed */
    struct redrives_config *redrives;      /* owned; NULL: there was none yet */
    int64_t redrives_rev;                  /* with links: of the catalogue's entry */
    struct redrive_report *redrive_report; /* with links; owned */
    struct queue_topic *redriving_next;
};

struct job_list {
    struct lock lk;
    struct lock_signal changed;
    struct lock_signal helpers_changed;
    struct queue_job *first, *last;
    size_t n;
    uint64_t running[JOB_THREADS]; /* `beside` of each job that runs */
    size_t running_n;
};

struct committer {
    struct lock lk;
    struct lock_signal changed;
    bool now;      /* a round is asked for at once */
    int64_t at_ms; /* or by then; INT64_MAX: not */
};

/* A message that a receive with an attempt id brought (attempt.c). */
struct attempt_message {
    uint32_t partition;
    struct partition_receipt lease;
    int64_t until_ms; /* when the lease ends, unless it is changed */
};

struct attempt;
struct attempts {
    struct attempt *by_key;
    struct attempt *first, *last; /* the first ends first */
};

/* The pass of compaction under way (compact.c); one at a time. The housekeeper's own. */
struct queue_compaction {
    bool active;
    struct uuid topic;
    uint32_t partition;
    int64_t now_ms; /* when it began: what is old enough then goes */
    int64_t delete_retention_ms;
    struct key_map keys;            /* of the messages in [the last pass's end, end_offset) */
    bool full;                      /* it ends where the map was full */
    uint64_t scan_offset, scan_end; /* what is still to be read */
    uint64_t end_offset, end_number;
    uint64_t clean_offset; /* the next segment to be cleaned begins at or behind it */
    int64_t tombstone_ms;  /* as in struct queue_partition */
    int64_t next_ms;
};

/* The cleaning under way; one at a time. The housekeeper's own. */
struct queue_cleaning {
    struct plog_clean *job; /* NULL: none */
    bool compacts;          /* it is the compaction's */
    struct uuid topic;
    uint32_t partition;
    struct queue_partition *p; /* during a step */
    uint64_t offset, end_offset;
    uint64_t bytes; /* before */
    int64_t next_ms;
};

/* What the thread of copies has to do (copy_work.c), and what is known of other brokers. */
struct queue_copies {
    struct lock lk; /* a leaf */
    struct lock_signal changed;
    struct queue_partition *first, *last; /* with work */
    struct lock_signal roles_changed;
    bool makes_topic;
    uint64_t roles; /* rises when a partition's leader changes, as known here */
    struct queue_session *sessions;
    size_t sessions_n;
};

struct queue {
    /* set at birth */
    const struct disk *disk;
    const struct clock *clock;
    struct plog *plog;
    struct catalog *catalog;
    const struct queue_links *links; /* NULL: the broker is alone */
    const struct queue_mover *mover; /* NULL: nothing goes to other brokers */
    int64_t stamp_ms;                /* partition time of the last round of the life before */
    uint64_t epoch;                  /* of this life; without links */
    struct digest_hmac receipt_key, receipt_key_previous;
    struct digest_hmac id_key; /* of message-group and dedup ids; never changes */
    uint64_t snapshot_log_bytes;
    uint64_t segment_bytes;
    uint64_t in_flight_max;
    size_t compact_keys_max;
    int64_t time_base_ms; /* partition time = this + boot_ms; atomic */

    struct lock topics_lk;
    /* guarded by topics_lk */
    struct queue_topic *topics_by_name, *topics_by_id;
    struct queue_topic *dropped;   /* nobody holds them: logs to be removed */
    struct queue_topic *freed;     /* logs are removed */
    struct queue_topic *redriving; /* those with a redrive under way, without references */
    struct attempts attempts;
    struct rng rng;
    uint64_t partitions_made;

    struct lock house_lk;
    /* guarded by house_lk */
    struct heap alarms; /* of waiters, by partition time */
    struct heap keeps;  /* of partitions, by when the housekeeper looks at them next */
    struct lock_signal house_changed;
    bool house_called;
    int64_t house_sleeps_until_ms;

    /* the housekeeper's own */
    int64_t house_next_ms;
    int64_t redrive_next_ms; /* when redrives go on; INT64_MAX: there is none */
    bool failure_told;
    bool moves_later;     /* some could not be driven and are tried again in a second */
    int64_t trips_due_ms; /* the earliest of all partitions; INT64_MAX: none waits */
    struct queue_cleaning cleaning;
    struct queue_compaction compaction;

    struct job_list jobs;
    struct committer committer;
    struct queue_copies copies;
    bool threads; /* atomic: they run */
    bool stop;    /* atomic */
    pthread_t thread_house, thread_committer, thread_copies, thread_jobs[JOB_THREADS];

    /* atomic */
    bool marks_wait; /* somebody waits, perhaps for what was appended without a waiter */
    bool moves_open;
    bool redrives_called; /* one was started or cancelled */
    bool space_low, space_out;
    uint64_t replay_bytes;     /* of all logs since their newest snapshots */
    uint64_t unlooked_bytes;   /* appended since the disk's free space was last looked at */
    uint64_t space_look_bytes; /* so many are looked at again */
    size_t windows_bytes;
    uint64_t windows_tick;
    struct queue_stats stats;
};

#define STAT_ADD(q, field, n) __atomic_fetch_add(&(q)->stats.field, (n), __ATOMIC_RELAXED)

/* ---- time.c ---- */

/* Partition time of the first moment of this life, from the newest stamp that is on disk. */
void time_start(struct queue *q, const struct plog_stamp *last);
struct plog_stamp time_stamp(void *queue); /* for plog_options */

/* ---- secret.c ---- */

/* Reads or makes the key of id hashes, which outlives a change of the receipt secret: message
 * groups must keep their hash. */
enum err secret_start(struct queue *q, const uint8_t fresh[32]) MUST_USE;
/* Never all zeros. `scope` may be empty. */
struct id_hash secret_id_hash(const struct queue *q, struct bytes scope, struct bytes id);

/* ---- topic.c ---- */

/* A topic with its partitions, not yet in the registry; one reference, the caller's. Takes
 * `config`. */
struct queue_topic *topic_new(struct queue *q, struct topic_config *config, int64_t rev);
void topic_free(struct queue_topic *t);
/* Into the registry, which takes over the caller's reference. */
void topic_register(struct queue_topic *t);
/* Out of the registry; its reference is given back. */
void topic_unregister(struct queue_topic *t);
void topic_lend(struct queue_topic *t);
/* For those who come without a reference: false when nobody else has one any more. */
bool topic_try_lend(struct queue_topic *t);
/* ERR_NOT_FOUND. With a reference. */
enum err topic_find_by_id(struct queue *q, const struct uuid *id,
                          struct queue_topic **out) MUST_USE;
const struct topic_settings *topic_settings_now(const struct queue_topic *t);
/* Takes `config`. */
void topic_settings_swap(struct queue_topic *t, struct topic_config *config, int64_t rev);
/* All ready topics, each with a reference; given back with topics_give_back. */
struct queue_topic **topics_lend(struct queue *q, size_t *n);
void topics_give_back(struct queue_topic **topics, size_t n);
/* NULL: no such group, and topic_no_group says why. */
struct queue_waiters *topic_waiters(struct queue_topic *t, struct bytes group);
enum err topic_no_group(const struct queue_topic *t) MUST_USE;
/* ERR_OK when verbs may run on t. */
enum err topic_check(const struct queue_topic *t) MUST_USE;

/* ---- partition.c: plan, append, apply ---- */

/* The time that p's records are in. What one leader has written its successor goes on from, so a
 * partition's time may run before or behind that of its broker. Steady while p is led here. */
int64_t partition_now_ms(const struct queue_partition *p);
/* When the queue's time, that of alarms, is to be when p's is at_ms. INT64_MIN and INT64_MAX stay.
 */
int64_t partition_due_ms(const struct queue_partition *p, int64_t at_ms);

/* What may be known beside the state; under the lock. */
struct partition_view partition_view_locked(struct queue_partition *p,
                                            const struct topic_config *config);
/* Before something is decided or appended. ERR_CLOSED, ERR_FAILED, ERR_BUSY, and those of
 * copy_may_append_locked. */
enum err partition_check_locked(struct queue_partition *p, size_t bytes) MUST_USE;

/* If anybody polls: the housekeeper's alarm rings no later than p's next lease end or due time. */
void partition_alarm_locked(struct queue_partition *p, const struct partition_view *view);

/* One verb's records, in one batch: begin, put (each is encoded and folded at once), end. */
struct appending {
    struct queue_partition *p;
    struct plog_batch *batch; /* NULL until something is put */
    size_t bytes_hint;        /* of all that will be put, if more than the first record */
    bool moves;
    uint64_t move_seq; /* of the last MOVE */
    int64_t now_ms;
    uint32_t reserved_bytes; /* of the next message: in the topic's account already; 0: nothing */
};
void append_begin_locked(struct appending *a, struct queue_partition *p, int64_t now_ms);
void append_put_locked(struct appending *a, const struct record *r);
/* True when something was appended. */
bool append_end_locked(struct appending *a, bool waited);

void partition_init(struct queue_partition *p, struct queue_topic *t, uint32_t index);
void partition_fini(struct queue_partition *p);
/* The log belongs to p from now on. */
void partition_attach(struct queue_partition *p, struct plog_log *log);
void partition_close(struct queue_partition *p, const char *where);

/* ---- account.c ---- */

/* Of group default; zeros when it is not there yet. */
struct partition_live account_now_locked(const struct queue_partition *p);
/* Differences, modulo 2^64. */
void account_change(struct queue_topic *t, uint64_t messages, uint64_t bytes);
/* SIZES of what the grant leases and moves: to be called before its records are put. */
void account_sizes_locked(struct appending *a, const struct partition_grant *g);
/* SIZES of one message, or of some in a row, 0 where a size is not known: before the record that
 * finishes them. What the state knows already is left out. */
void account_size_locked(struct appending *a, uint64_t number, uint32_t bytes);
void account_run_locked(struct appending *a, uint64_t first, const uint32_t *bytes, size_t n);
/* Reads the message; 0: it cannot be read. No lock held. */
uint32_t account_size_read(struct queue_partition *p, uint64_t number);
/* p's state was recovered: counts it for its topic, anew if need be. */
void account_open(struct queue_partition *p);

/* ---- heads.c: what is known of the oldest messages ---- */

void heads_fini(struct heads *h);
/* A message was appended. */
void heads_note_locked(struct queue_partition *p, uint64_t number, const struct record_message *m);
/* NULL: not known. Lent until the next call. */
const struct head *heads_find_locked(struct queue_partition *p, uint64_t number);
/* Reads on behind what is known; false: nothing came of it. No lock held. */
bool heads_read(struct queue_partition *p);
/* Before sends to p: if there are messages of which nothing is known, they are read, so that those
 * that follow adjoin. No lock held. */
void heads_begin(struct queue_partition *p);

/* ---- limit.c ---- */

/* The topic's oldest messages may have to go. */
bool limit_lets_go(const struct topic_config *c);
/* A place for a message of so many bytes in the topic's account, for the next MESSAGE that is put
 * into `a`. ERR_TOPIC_FULL, ERR_NEED (limit_make_room can help): `*had` is what the topic holds. */
enum err limit_reserve_locked(struct appending *a, const struct topic_config *c, uint32_t bytes,
                              struct queue_live *had) MUST_USE;
/* Lets go as many of the topic's oldest messages as must. ERR_OK: there was room, try again.
 * ERR_TOPIC_FULL: nothing may go. ERR_BUSY, and as partition_check_locked. No lock held. */
enum err limit_make_room(struct queue_topic *t, const struct topic_config *c,
                         uint32_t bytes) MUST_USE;
/* The housekeeper's: a bounded step of retention by size. */
void limit_retain(struct queue_topic *t);

/* ---- send.c ---- */

/* A random UUID. */
struct uuid message_id_new_locked(struct queue_partition *p);

/* ---- wait.c ---- */

/* w waits until everything that is in p's log now is durable. */
void wait_mark_locked(struct queue_wait *w, struct queue_partition *p);
/* The same for leases that end at `until_ms` (partition time): what is reached only then is
 * ERR_UNKNOWN. visibility_ms 0: a lease that holds nothing, which is never too late. */
void wait_lease_locked(struct queue_wait *w, struct queue_partition *p, int64_t until_ms,
                       int64_t visibility_ms);
void wait_on_durable(void *queue, void *partition); /* for plog_options */
/* Blocks until all partitions of t have committed what they hold now. No lock held. */
enum err wait_for_topic(struct queue_topic *t) MUST_USE;

/* ---- window.c ---- */

struct partition_window *window_locked(struct queue_partition *p);
/* Reads headers from `number` on into p's window, as a planner that said ERR_NEED wants. */
enum err window_fill(struct queue_partition *p, uint64_t number) MUST_USE;
/* The window may have grown: counts it. */
void window_count_locked(struct queue_partition *p);
void window_drop_locked(struct queue_partition *p);
/* Gives up windows until all fit into their bound. No lock held. */
void windows_bound(struct queue *q);

/* ---- read.c ---- */

/* A message read back; its record lies in `copy` or lends from the cursor. */
struct reader {
    struct plog_cursor cursor;
    bool open;
    uint64_t next; /* number at or behind the cursor */
};
void reader_init(struct reader *r);
void reader_fini(struct reader *r);
/* The message with this number; lent until the next call. ERR_GONE, ERR_NOT_FOUND, ERR_CORRUPT,
 * ERR_IO. Numbers that rise one by one are read on from where the last one was. */
enum err reader_get(struct reader *r, struct plog_log *log, uint64_t number, size_t read_ahead,
                    struct record_message *out) MUST_USE;
/* All that the message itself says, copied into the arena; the rest of `out` is zeroed. */
void message_copy_out(const struct record_message *m, struct arena *arena,
                      struct queue_received *out);

/* ---- receipt.c ---- */

struct receipt {
    struct uuid topic;
    uint32_t partition;
    struct partition_receipt lease;
};
void receipt_write(const struct queue *q, const struct receipt *r,
                   char out[QUEUE_RECEIPT_TEXT_MAX + 1]);
/* ERR_INVALID: no receipt that this broker wrote. */
enum err receipt_read(const struct queue *q, struct bytes text, struct receipt *out) MUST_USE;

/* ---- look.c ---- */

enum err look_count(struct queue_partition *p, const struct topic_config *config, uint32_t gid,
                    struct partition_counters *out) MUST_USE;

/* ---- attempt.c ---- */

void attempts_fini(struct queue *q);
/* What a receive with this attempt id has brought, to be recalled for five minutes. */
void attempt_note(struct queue_topic *t, struct bytes id, const struct attempt_message *messages,
                  size_t n);
/* The messages of the receive with this attempt id once more, as many as are asked for at most,
 * with visibility from now. False: it is not known, or one of them was deleted or changed or has
 * expired; `out` is to be written over. */
bool attempt_again(struct queue_topic *t, const struct queue_receive *request,
                   int64_t visibility_ms, struct arena *arena,
                   struct queue_received out[QUEUE_BATCH_MAX], size_t *n,
                   struct queue_wait *w) MUST_USE;

/* ---- poll.c ---- */

void waiters_init(struct queue_waiters *ws, struct queue_topic *t, uint32_t gid);
void waiters_fini(struct queue_waiters *ws);
/* Something may be deliverable: wakes as many as there is work for. No lock held. */
void waiters_kick(struct queue_waiters *ws);
/* All, so that they see that the topic or the data directory is gone. */
void waiters_wake_all(struct queue_waiters *ws);
/* The alarm is set to the next lease end or due time, if anybody waits. */
void waiters_alarm(struct queue_waiters *ws);

/* ---- housekeeper.c ---- */

void house_init(struct queue *q);
void house_fini(struct queue *q);
/* The alarm of ws rings at `at_ms` at the latest. May be called under a partition's lock. */
void house_alarm(struct queue *q, struct queue_waiters *ws, int64_t at_ms);
void house_alarm_drop(struct queue *q, struct queue_waiters *ws);
/* The housekeeper has work now. */
void house_call(struct queue *q);
void house_on_full(void *queue); /* for plog_options */
/* Something was appended to p or is otherwise new: it is looked at within a second. Partitions that
 * nobody touches are looked at when their oldest message expires. Any lock below house_lk. */
void house_touch(struct queue_partition *p);
void house_touch_all(struct queue_topic *t);
void house_untouch(struct queue_partition *p); /* before it is freed */
void house_run(struct queue *q);               /* its thread */
/* Looks at all partitions that are due. */
void house_keep_due(struct queue *q);
/* Long work of the housekeeper calls this now and then. */
void house_ring(struct queue *q);

/* ---- room on the disk (space.c) ---- */

/* Sets space_low and space_out by what is free. No lock held. */
void space_look(struct queue *q);
/* The same, once enough was appended since the last look. */
void space_look_if_due(struct queue *q);
/* What is made ahead, or kept before it is swept, is this large; on a small disk a share of it. */
uint64_t space_share(const struct queue *q, uint64_t wanted_bytes);

/* ---- retention.c ---- */

/* One bounded step: true when there may be more to trim. */
bool retention_trim(struct queue_partition *p);
/* True when the next look has something to release. */
bool retention_release(struct queue_partition *p);
/* When there will be something to trim, as far as is known: at once when the oldest message has not
 * been looked at, INT64_MAX when there is no message. */
int64_t retention_next_ms(struct queue_partition *p);

/* ---- clean.c ---- */

/* Begins a cleaning of p's log if it is time to look, none is under way, and one is worth it. */
void clean_look(struct queue_partition *p);
/* When clean_look has something to do; INT64_MAX: not before more is appended. */
int64_t clean_look_next_ms(struct queue_partition *p);
/* Goes on with the one under way. No lock held. */
void clean_step(struct queue *q);
/* When it wants to be called again; INT64_MAX: none is under way. */
int64_t clean_next_ms(const struct queue *q);
/* Before the logs are closed. */
void clean_stop(struct queue *q);
/* For plog_wanted, with a queue_cleaning as its self: under the partition's lock for microseconds.
 */
uint64_t clean_ask(void *cleaning, uint64_t first, size_t n, bool *wanted);

/* ---- compact.c ---- */

enum { COMPACT_KEYS_MAX = 390000 }; /* 12 MiB */

/* Begins a pass over p's log, that of a compact topic, if it is time to look and one is due. */
void compact_look(struct queue_partition *p);
/* Goes on with the pass under way. No lock held. */
void compact_step(struct queue *q);
/* When it wants to be called again; INT64_MAX: none is under way. */
int64_t compact_next_ms(const struct queue *q);
/* The cleaning of p that the pass began has ended. */
void compact_cleaned(struct queue_partition *p, enum err e);
/* Before the logs are closed. */
void compact_stop(struct queue *q);

/* ---- move.c ---- */

enum { MOVES_AT_A_TIME = 64 };

enum move_ready {
    MOVE_READY,
    MOVE_GONE,      /* purged or expired: there is nothing left to move */
    MOVE_NO_TARGET, /* none that is known here */
    MOVE_NO_SOURCE, /* it goes back to where it came from, and came from nowhere */
    MOVE_LATER,     /* it cannot be read now */
};
struct move_plan {
    struct reader reader; /* lends the record its bytes */
    bool was_read;
    struct id_hash group_hash; /* once it was read; of a FIFO topic */
    struct uuid target_id;     /* looked for ... */
    struct bytes target_name;  /* ... and then by this name; n = 0: not */
    /* MOVE_READY: */
    struct queue_topic *target; /* with a reference */
    uint32_t partition;
    int64_t age_ms;
    struct record record; /* as it arrives, but for its times */
};
/* Reads the message of a move and finds where it goes. In any case move_plan_fini must follow. */
enum move_ready move_plan(struct queue_partition *p, const struct partition_move *move,
                          uint64_t floor, struct move_plan *plan);
void move_plan_fini(struct move_plan *plan);
/* Appends MOVED or UNMOVE. ERR_GONE: the move is not open any more. Else it stays open. */
enum err move_close(struct queue_partition *p, uint64_t seq, bool called_off) MUST_USE;
/* The first MOVES_AT_A_TIME of those that are open and committed, from seq `from` on. */
size_t move_committed(struct queue_partition *p, uint64_t from, struct partition_move *moves,
                      uint64_t *floor);
/* The housekeeper's: drives all committed open moves of p as far as they go. Blocks. */
void move_drive(struct queue_partition *p);
/* A MOVE with this seq was appended and the log ends behind it. */
void move_appended_locked(struct queue_partition *p, uint64_t seq);
/* True when more MOVEs are committed than at the last call. */
bool move_committed_locked(struct queue_partition *p);
/* The housekeeper shall drive p's moves. */
void move_call(struct queue_partition *p);
/* At a start: all open moves are committed, and to be driven. */
void move_recover(struct queue_partition *p);

/* ---- move_take.c ---- */

/* ERR_OK: the message is in `to`, once; `*committed`: for good. Else as partition_check_locked. */
enum err move_arrive_locked(struct queue_partition *to, int64_t age_ms, struct record *r,
                            bool *committed) MUST_USE;

/* ---- move_trip.c: the moves of partitions that have copies elsewhere ---- */

/* The housekeeper's: begins those that may be begun, ends those that have arrived. */
void trips_drive(struct queue_partition *p);
/* p is about to be freed. */
void trips_free(struct queue_partition *p);

/* ---- redrive.c ---- */

/* Reads the topic's redrives back at a start, and goes on with the one under way. ERR_CORRUPT,
 * ERR_NEWER_FORMAT, ERR_IO. */
enum err redrive_recover(struct queue_topic *t) MUST_USE;
/* The housekeeper's: one bounded step of each redrive under way. Gives the partition time at which
 * it wants to be called again, or INT64_MAX. Blocks. */
int64_t redrive_step(struct queue *q);
/* The housekeeper's: t is about to be freed. */
void redrive_forget(struct queue_topic *t);
void redrive_free(struct queue_topic *t);
/* For move.c, on the housekeeper's thread: a message of t's redrive has arrived; or cannot. */
void redrive_arrived(struct queue_topic *t);
void redrive_failed(struct queue_topic *t, enum redrive_failure failure);
void redrive_call(struct queue *q);
/* For copy_redrive.c. */
bool redrive_is_active(const struct redrive_config *r);
void redrive_link(struct queue_topic *t);
void redrive_forget_locked(struct queue_topic *t);
void redrives_put_first(struct redrives_config *list, const struct redrive_config *r);
/* MOVEs of p that belong to a redrive are still open. */
bool redrive_is_open(struct queue_partition *p);
size_t redrive_plan(struct queue_partition *p, const struct redrive_config *r, size_t max,
                    struct partition_grant *grant, bool *empty);
size_t redrive_allowed(struct queue_topic *t, const struct redrive_config *r);
void redrive_pay(struct queue_topic *t, const struct redrive_config *r, size_t n);
int64_t redrive_pause_ms(const struct redrive_config *r, bool moved);

/* ---- snapshot.c ---- */

/* The state as of the durable end, folded from the newest snapshot without p's lock. */
enum err snapshot_fold(struct queue_partition *p, struct buf *state, uint64_t *offset) MUST_USE;
void snapshot_if_due(struct queue_partition *p);
/* Makes those of the largest logs when a start would have to replay too much of all of them. */
void snapshots_bound(struct queue *q);
/* The partition's log has grown by so much since its newest snapshot, or one was made. */
void snapshot_count(struct queue *q, int64_t log_bytes);
/* Due or not, makes what is missing of two snapshots at `offset` (durable) or above. */
void snapshot_raise_older(struct queue_partition *p, uint64_t offset);
/* Of the live states of all partitions, synced together; nobody else runs. */
void snapshots_at_stop(struct queue *q, struct queue_topic **topics, size_t n);
/* The state from the newest snapshot and what follows; closes the partition when that fails. */
void snapshot_recover(struct queue_partition *p);

/* ---- advice.c ---- */

/* Tells what has come about: t was made (0, INT64_MIN), or had these warnings and this retention
 * before. */
void advice_after_change(struct queue_topic *t, unsigned warnings_before, int64_t retention_before);
void advice_after_delete(struct queue_topic *t);

/* ---- topic_change.c ---- */

/* A topic that was being created when the process ended. */
enum err topic_create_finish(struct queue_topic *t) MUST_USE;
/* The logs and keys of a topic that nobody holds any more. */
void topic_remove_rest(struct queue_topic *t);
enum err topic_keys_drop(struct queue *q, const struct topic_config *config) MUST_USE;

/* ---- commit.c ---- */

void commit_init(struct queue *q);
void commit_fini(struct queue *q);
void commit_run(struct queue *q); /* the committer's thread */
void jobs_init(struct queue *q);
void jobs_fini(struct queue *q);
void jobs_run(struct queue *q, bool helper); /* the catalogue thread, or a helper of it */

#endif

// SPDX-License-Identifier: Apache-2.0
/* Records: what is written into a partition's log, and their bytes (RECORDS.md, byte by byte).
 *
 * A record struct is a view: its bytes point into whatever it was decoded from, or into what the
 * planner was given, and live as long as that. Times ending in `_ms` are partition time (queue.h)
 * unless they say `wall`. */
#ifndef PARTITION_RECORD_H
#define PARTITION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"

enum record_type {
    RECORD_MESSAGE = 1, /* the only type that takes a number; plog counts it by this value */
    RECORD_GROUP = 2,
    RECORD_LEASE = 3,
    RECORD_DONE = 4,
    RECORD_EXTEND = 5,
    RECORD_MOVE = 6,
    RECORD_MOVED = 7,
    RECORD_UNMOVE = 8,
    RECORD_PURGE = 9,
    RECORD_TRIM = 10,
    RECORD_EPOCH = 11,
    RECORD_EMIT = 12,  /* reserved */
    RECORD_CHECK = 13, /* reserved */
    RECORD_GAP = 14,   /* reserved */
    RECORD_SIZES = 15,
};

enum {
    RECORD_BODY_BYTES_MAX = 1048576,
    RECORD_ID_BYTES_MAX = 1024, /* ids, names and keys of any kind */
    RECORD_HOLDER_BYTES_MAX = 64,
    RECORD_LEASE_NUMBERS_MAX = 1000, /* in one LEASE */
    RECORD_SIZES_NUMBERS_MAX = 1000, /* in one SIZES */
    RECORD_REPEAT_WINDOW = 1024,     /* sends of a front to a partition that may be open at once */
    RECORD_FRONT_MAX = 65535,        /* brokers' ids go from 1 to this */
};

struct uuid {
    uint8_t at[16];
};

/* 16 bytes of a keyed hash (HMAC-SHA-256 cut short) of an id; all zeros = none. */
struct id_hash {
    uint8_t at[16];
};

bool id_hash_is_none(const struct id_hash *hash);

/* A user attribute of a message. `kind` is how the value is shown: text or binary. */
enum attribute_kind { ATTRIBUTE_TEXT = 1, ATTRIBUTE_BINARY = 2 };

struct record_attribute {
    struct bytes name;
    struct bytes data_type; /* with its label, such as "Number.int" */
    enum attribute_kind kind;
    struct bytes value;
};

/* Where a moved message came from: set by dead-letter moves (and later redrives and emits). */
struct record_origin {
    struct uuid topic;     /* the source topic's id */
    struct bytes name;     /* its name then, for DeadLetterQueueSourceArn */
    uint32_t partition;    /* of the source */
    uint64_t move_seq;     /* of the MOVE at the source; with topic and partition the move's key */
    uint64_t moves_closed; /* all moves of that source partition below this seq are closed */
};

/* What makes a send that a broker gave to the partition's leader the same when it is repeated: the
 * broker (the front), its life, and a number that rises in that life and partition. Replicated
 * logs know it from KIP-98 ("Exactly Once Delivery") as producer id and sequence. */
struct record_repeat {
    uint32_t front;    /* the broker's id; 0: no key, the leader's own clients sent it */
    uint64_t life;     /* any number; each life of a broker has a higher one */
    uint64_t sequence; /* below 2^63 */
    /* All sends of this life to this partition below it are settled: nobody repeats them. At most
     * `sequence`, and less than RECORD_REPEAT_WINDOW below it. */
    uint64_t settled_below;
};

struct record_message {
    struct uuid id;
    struct bytes body; /* 1 to 1,048,576 bytes; none when it is a tombstone */
    uint8_t body_md5[16];
    struct bytes attributes; /* an encoded list: record_attributes_* */
    struct bytes trace;      /* AWSTraceHeader; n = 0: none */
    int64_t sent_wall_ms;    /* shown, never decided on */
    int64_t accepted_ms;    /* when retention began to count; kept by a standard dead-letter move */
    int64_t due_ms;         /* not deliverable before */
    bool delay_is_default;  /* due_ms comes from the topic's delay, not from the message's own */
    uint32_t receive_count; /* receives before a move; 0 for what a client sent */
    struct bytes group_id;  /* message-group id; n = 0: none */
    struct id_hash group_hash;
    struct bytes dedup_id; /* as shown; n = 0: none */
    struct id_hash dedup_hash;
    int64_t dedup_until_ms; /* the window's end; 0 when dedup_hash is none */
    bool moved;             /* origin is set */
    struct bytes key;       /* of which this is the newest value; n = 0: none */
    bool tombstone;         /* the key has no value any more: there is a key, and no body */
    struct record_origin origin;
    struct record_repeat repeat; /* not of a moved message */
};

/* A group is made or dropped. `gid` names it in all other records; never reused in a topic. */
struct record_group {
    uint32_t gid;
    bool dropped;
    struct bytes name;
    uint64_t generation; /* receipts of another generation have no effect */
    uint64_t from;       /* a new group's floor: the first number it sees */
};

struct lease_id {
    uint64_t epoch;
    uint64_t counter; /* of the partition; rises by one a LEASE */
};

/* Numbers in a record: rising, as an encoded list of runs (record_runs_*). */
struct record_lease {
    uint32_t gid;
    struct lease_id id;
    int64_t granted_ms;
    int64_t granted_wall_ms;
    int64_t until_ms;
    struct bytes holder;  /* opaque client tag, may be empty; at most 64 bytes */
    struct bytes numbers; /* runs; at most 10 numbers in all on the SQS side */
};

struct record_done {
    uint32_t gid;
    struct bytes numbers; /* runs */
};

struct record_extend {
    uint32_t gid;
    uint64_t number;
    int64_t until_ms; /* at or before now: visible again */
};

struct record_move {
    uint32_t gid;
    uint64_t number;
    uint64_t seq;           /* rises by one a MOVE of this partition */
    struct uuid target;     /* zeros, of a redrive: where the message was dead-lettered from */
    uint32_t receive_count; /* carried over to the target. A dead letter was received; 0 says that
                               this is a redrive: the target gets a new message */
};

struct record_moved { /* also UNMOVE */
    uint64_t seq;
};

struct record_purge {
    uint32_t gid;
    uint64_t below; /* every number below is finished for the group */
    bool clear_dedup;
};

struct record_trim {
    uint64_t below; /* every number below has expired, for all groups */
};

struct record_epoch {
    uint64_t epoch;
    int64_t now_ms;
};

/* What the state cannot know by itself, since it forgets a message once it is folded in: how many
 * bytes (record_message_bytes) unfinished messages have, before a later record finishes or moves
 * them. With `total`, the live bytes of a group were counted anew. */
struct record_sizes {
    bool total;
    uint32_t gid;         /* with total */
    uint64_t live_bytes;  /* with total */
    struct bytes numbers; /* runs; may be empty with total */
    struct bytes sizes;   /* a varint for each number, 1 to 2^32 - 1 */
};

struct record {
    enum record_type type;
    union {
        struct record_message message;
        struct record_group group;
        struct record_lease lease;
        struct record_done done;
        struct record_extend extend;
        struct record_move move;
        struct record_moved moved; /* MOVED and UNMOVE */
        struct record_purge purge;
        struct record_trim trim;
        struct record_epoch epoch;
        struct record_sizes sizes;
    };
};

/* What a message counts in limits and accounts: its key, its body, and the names, types and values
 * of its attributes; without the key, as SQS counts message size. */
uint32_t record_message_bytes(const struct record_message *m);

/* What record_encode will append at most for a message, less for other records than they may have:
 * room to ask for once. Known as soon as the lengths are; ids and times may still be missing. */
size_t record_bytes_hint(const struct record *r);
/* Appends the payload (what follows the type byte). */
void record_encode(const struct record *r, struct buf *out);

/* Reads a payload. ERR_NEWER_FORMAT: an unknown type or flag. ERR_CORRUPT: bytes that no encoder
 * made (short, long, out of range, numbers not rising). `out` points into `payload`. */
enum err record_decode(uint8_t type, struct bytes payload, struct record *out) MUST_USE;

/* Attribute lists. Put appends one; next reads one off the front and answers false at the end.
 * Lists that came through record_decode are known to be well-formed. */
void record_attribute_put(struct buf *list, const struct record_attribute *a);
bool record_attribute_next(struct bytes *list, struct record_attribute *out);

/* Runs of numbers, rising and not touching. Put extends the last run when it adjoins. */
struct record_run {
    uint64_t first;
    uint64_t count;
};
struct record_runs { /* builder */
    struct buf bytes;
    struct record_run open; /* count 0: none yet */
    uint64_t last_end;
};
void record_runs_init(struct record_runs *r);
void record_runs_fini(struct record_runs *r);
void record_runs_put(struct record_runs *r, uint64_t number);
struct bytes record_runs_bytes(struct record_runs *r); /* closes; lent until fini */
/* Reads one run off the front; `*previous_end` starts at 0 and is the reader's memory. */
bool record_runs_next(struct bytes *runs, uint64_t *previous_end, struct record_run *out);

#endif

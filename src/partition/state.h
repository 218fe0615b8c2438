// SPDX-License-Identifier: Apache-2.0
/* What is inside a partition. For this room's files only.
 *
 * Everything here follows from the records alone, except `struct group.index` and the two orders of
 * `struct delays`: heaps that say what waits for its time and what is free, advanced as partition
 * time passes. They are derived from entries and delays and never saved; planning may advance them
 * although it takes a const partition, because what they answer does not depend on when they were
 * advanced. */
#ifndef PARTITION_STATE_H
#define PARTITION_STATE_H

#include "base/heap.h"
#include "partition/dedup.h"
#include "partition/delays.h"
#include "partition/fronts.h"
#include "partition/map.h"
#include "partition/origins.h"
#include "partition/partition.h"
#include "partition/runs.h"

/* An unfinished number of which a group must remember something: it was handed out at least once,
 * or is moving. Of one that was only delayed, the partition's delay tells all. */
struct entry {
    struct heap_node
        node; /* in index.waiting by until_ms, or in index.free by number; moving: none */
    uint64_t number;
    int64_t until_ms;  /* the lease's end; of one that was moved while delayed, when it is due */
    uint32_t receives; /* LEASEs here; those before a move are in the message */
    bool moving;
    bool is_free; /* which heap: derived */
    struct lease_id lease;
    int64_t first_received_wall_ms;
    int64_t leased_since_ms;
    size_t holder_bytes;
    char *holder; /* owned; NULL when empty */
};

struct group_index {
    int64_t advanced_ms; /* entries with until_ms at or before it are in `free` */
    struct heap waiting; /* leased */
    struct heap free;    /* handed back or expired: lowest number first */
    size_t delayed_n;    /* delays that stand for a number here, and wait */
    size_t due_n;        /* and that are due */
    struct order due;    /* numbers of those that are due, and stale ones */
    uint64_t turn;       /* no number in [next, turn) comes in its turn: a walk begins here */
    /* Numbers that a FIFO walk must look at again: freed, finished, moved. NULL until one asks. */
    uint64_t *changed;
    size_t changed_n; /* above GROUP_CHANGED_MAX: some were dropped */
};

enum { GROUP_CHANGED_MAX = 1024 };

struct group {
    uint32_t gid;
    uint64_t generation;
    uint64_t floor;        /* all numbers below are finished */
    uint64_t next;         /* the cursor: numbers in [floor, next) are finished or known */
    struct runs finished;  /* above floor, and never touching it */
    struct map entries;    /* number -> struct entry, owned */
    struct delays *delays; /* the partition's */
    size_t moving_n;
    uint64_t live_bytes; /* of its live messages (live.c) */
    bool live_exact;     /* no size was missing since they were last known to be right */
    struct group_index index;
};

struct move {
    struct partition_move open;
    uint64_t generation; /* of the group when it was planned */
    bool closed;
};

struct moves {
    struct move *at; /* by seq; closed ones are swept out now and then */
    size_t n;
    size_t room;
    size_t closed_n;
    uint64_t next_seq;
};

struct partition {
    uint64_t next_number;
    uint64_t trim_floor;
    uint64_t epoch;
    uint64_t lease_counter;
    int64_t known_ms;      /* the latest partition time that a record told: at or before now */
    int64_t due_tail_ms;   /* the largest due time of the messages that are delayed in order */
    struct group **groups; /* by gid; owned */
    size_t groups_n;
    struct delays *delays; /* owned */
    struct moves moves;
    struct dedup dedup;
    struct origins origins;
    struct fronts fronts;
    struct map sizes; /* unfinished number -> its bytes, where SIZES told them */
};

/* The start of time: before any record. */
#define STATE_TIME_NONE INT64_MIN

/* ---- groups (group.c) ---- */

struct group *group_find(const struct partition *p, uint32_t gid);
/* Empty, at its floor; gid must be new. */
struct group *group_add(struct partition *p, uint32_t gid);
void group_remove(struct partition *p, struct group *g);
void group_free(struct group *g);
/* All forgotten; floor and cursor are `floor`. */
void group_reset(struct group *g, uint64_t floor);

bool group_is_finished(const struct group *g, uint64_t number);
/* The first number at or after `number` that is not finished. */
uint64_t group_unfinished_from(const struct group *g, uint64_t number);
/* [first, end) is finished; at most up to the partition's next number. */
void group_finish(struct group *g, uint64_t first, uint64_t end);
/* How many numbers in [from, next_number) are unfinished. */
uint64_t group_unfinished_count(const struct group *g, uint64_t from, uint64_t next_number);

struct entry *group_entry(const struct group *g, uint64_t number);
/* Found, or made: with no receives, free since ever or, if it was delayed, once it is due. */
struct entry *group_entry_make(struct group *g, uint64_t number);
void group_entry_drop(struct group *g, struct entry *e);
/* The entry is leased until `until_ms`, whatever it did before. */
void group_entry_wait(struct group *g, struct entry *e, int64_t until_ms);
/* In or out of the heaps. */
void group_entry_move(struct group *g, struct entry *e, bool moving);
/* All entries by number: an array of entries.n, to be given to mem_free. */
struct entry **group_entries(const struct group *g);

/* Brings the index up to now_ms, and that of the delays. Time never runs backward here: an earlier
 * now_ms changes nothing. */
void group_advance(const struct partition *p, struct group *g, int64_t now_ms);
/* A FIFO walk must look at the number again. */
void group_note_changed(struct group *g, uint64_t number);
/* Starts noting changed numbers, or forgets those noted so far. */
void group_changes_seen(struct group *g);
/* After group_advance. */
size_t group_in_flight(const struct group *g);

/* ---- delays (delayed.c) ---- */

/* The delay stands for its number in this group: unfinished, no entry, and not left to the cursor.
 */
bool group_has_delay(const struct group *g, const struct delay *delay);
/* The one that stands for the number, or NULL. */
const struct delay *group_delay(const struct group *g, uint64_t number);
/* By an entry or a delay: the number does not come in its turn. */
bool group_knows(const struct group *g, uint64_t number);
/* The first number at or after `number` that comes in its turn: neither finished nor known. It may
 * lie at or above next_number. */
uint64_t group_unknown_from(const struct group *g, uint64_t number);
/* The first of all. A walk begins here, and costs only what has come since the last one. */
uint64_t group_turn(struct group *g);
void group_delays_init(struct group *g, struct delays *delays);
/* The lowest number whose delay is due; false: there is none. */
bool group_due_first(struct group *g, uint64_t *number);
/* The number's delay, if one stands for it, is to stand no longer: an entry will. Answers its due
 * time, or 0. */
int64_t group_delay_end(struct group *g, uint64_t number);
/* Delays in [first, end) are to stand no longer: the numbers will be finished. */
void group_delays_leave(struct group *g, uint64_t first, uint64_t end);
/* What was to stand no longer does not: the memory that it leaves is given back. */
void group_delays_left(struct group *g);
/* The index is made anew, for another floor or another table. */
void group_delays_count(struct group *g);

/* The number, which is the newest, has a delay of its own. */
void delayed_add(struct partition *p, uint64_t number, int64_t due_ms);
void delayed_advance(const struct partition *p, int64_t now_ms);
/* known_ms is later than it was. */
void delayed_time_known(struct partition *p);

/* ---- live messages (live.c) ---- */

/* How many messages are live: unfinished for the group, and not on their way elsewhere. */
uint64_t live_count(const struct partition *p, const struct group *g);
/* A message of so many bytes has come in: next_number is behind it. */
void live_arrived(struct partition *p, uint64_t bytes);
/* group_finish, accounted for. */
void live_finish(struct partition *p, struct group *g, uint64_t first, uint64_t end);
/* group_entry_move, accounted for. */
void live_move(struct partition *p, struct group *g, struct entry *e, bool moving);
/* The group was emptied or made anew: nothing is known of what it sees. */
void live_reset(const struct partition *p, struct group *g);
/* A group went, or sees less: sizes that no group asks for any more go. */
void live_forget(struct partition *p);
void live_sizes(struct partition *p, const struct record_sizes *r);

/* ---- moves (moves.c) ---- */

struct move *moves_find(const struct moves *m, uint64_t seq);
void moves_add(struct moves *m, const struct move *move);
void moves_close(struct moves *m, struct move *move);

#endif

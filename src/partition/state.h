// SPDX-License-Identifier: Apache-2.0
/* What is inside a partition. For this room's files only.
 *
 * Everything here follows from the records alone, except `struct group.index`: heaps that say which
 * entries wait for their time and which are free, advanced as partition time passes. They are
 * derived from the entries and never saved; planning may advance them although it takes a const
 * partition, because what they answer does not depend on when they were advanced. */
#ifndef PARTITION_STATE_H
#define PARTITION_STATE_H

#include "base/heap.h"
#include "partition/dedup.h"
#include "partition/map.h"
#include "partition/origins.h"
#include "partition/partition.h"
#include "partition/runs.h"

/* An unfinished number of which a group must remember something: it was handed out at least once,
 * or is individually delayed, or is moving. */
struct entry {
    struct heap_node
        node; /* in index.waiting by until_ms, or in index.free by number; moving: none */
    uint64_t number;
    int64_t until_ms;  /* the lease's end; of a delayed entry, when it is due */
    uint32_t receives; /* LEASEs here; those before a move are in the message */
    bool delayed;      /* never handed out; until_ms is a delay */
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
    struct heap waiting; /* leased, or delayed and not due */
    struct heap free;    /* handed back, expired or due: lowest number first */
    size_t delayed_waiting;
    /* Numbers that a FIFO walk must look at again: freed, finished, moved. NULL until one asks. */
    uint64_t *changed;
    size_t changed_n; /* above GROUP_CHANGED_MAX: some were dropped */
};

enum { GROUP_CHANGED_MAX = 1024 };

struct group {
    uint32_t gid;
    uint64_t generation;
    uint64_t floor;       /* all numbers below are finished */
    uint64_t next;        /* the cursor: numbers in [floor, next) are finished or have an entry */
    struct runs finished; /* above floor, and never touching it */
    struct map entries;   /* number -> struct entry, owned */
    size_t moving_n;
    uint64_t live_bytes; /* of its live messages (live.c) */
    bool live_exact;     /* no size was missing since they were last known to be right */
    struct group_index index;
};

/* An individually delayed message, kept for groups that are made later and until the cursor can
 * find it by itself. */
struct delay {
    struct heap_node node; /* by release_ms */
    uint64_t number;
    int64_t due_ms;
    int64_t release_ms; /* by then it and all before it are due: no entry is needed any more */
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
    struct heap delays; /* struct delay, owned */
    struct moves moves;
    struct dedup dedup;
    struct origins origins;
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
/* Found, or made: free since ever, with no receives. */
struct entry *group_entry_make(struct group *g, uint64_t number);
void group_entry_drop(struct group *g, struct entry *e);
/* The entry waits until `until_ms`, as a delay or a lease, whatever it did before. */
void group_entry_wait(struct group *g, struct entry *e, int64_t until_ms, bool delayed);
/* In or out of the heaps. */
void group_entry_move(struct group *g, struct entry *e, bool moving);
/* All entries by number: an array of entries.n, to be given to mem_free. */
struct entry **group_entries(const struct group *g);

/* Brings the index up to now_ms. Time never runs backward here: an earlier now_ms changes
 * nothing. */
void group_advance(struct group *g, int64_t now_ms);
/* Starts noting changed numbers, or forgets those noted so far. */
void group_changes_seen(struct group *g);
/* After group_advance. */
size_t group_in_flight(const struct group *g);

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

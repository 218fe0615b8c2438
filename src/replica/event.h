// SPDX-License-Identifier: Apache-2.0
/* What a replica can be told. Anything not said here it cannot know: no clock, no chance, no I/O.
 */
#ifndef REPLICA_EVENT_H
#define REPLICA_EVENT_H

#include "replica/fetch.h"
#include "replica/key.h"

enum replica_event_type {
    REPLICA_EVENT_TICK,      /* time has passed; every 100 ms or so */
    REPLICA_EVENT_KEY,       /* the key, as it was read or watched */
    REPLICA_EVENT_SWAP,      /* what became of our compare-and-swap */
    REPLICA_EVENT_DURABLE,   /* the own log is durable up to `durable_end` */
    REPLICA_EVENT_FETCH,     /* a follower asks */
    REPLICA_EVENT_ANSWER,    /* the leader has answered */
    REPLICA_EVENT_TRUNCATED, /* the cut is done and durable, or cannot be done */
    REPLICA_EVENT_SNAPSHOT, /* the snapshot is installed and durable; the log is empty at `start` */
    REPLICA_EVENT_DISCARDED,   /* the old log is set aside; the new one is empty at offset 0 */
    REPLICA_EVENT_RELEASED,    /* the own log begins at `start` now; what lay below is gone */
    REPLICA_EVENT_SESSION,     /* a broker's session came or went */
    REPLICA_EVENT_DAMAGE,      /* the own log is not what it was: bit rot, lost records */
    REPLICA_EVENT_DISK_FAILED, /* a write or sync failed, which is final until a restart */
};

enum replica_swap_outcome {
    REPLICA_SWAP_WON,
    REPLICA_SWAP_LOST,    /* the version had moved; nothing was written */
    REPLICA_SWAP_UNKNOWN, /* no answer: it was written, or was not, or will be */
};

struct replica_event {
    enum replica_event_type type;
    uint64_t random;  /* drawn anew for each event, never 0: names requests and incarnations */
    uint64_t log_end; /* the next offset of the own log now, durable or not (plog_end) */
    union {
        struct {
            struct replica_key value;
            /* The `serial` of the READ_KEY effect that this linearizable read answers, if it began
             * after the effect was given; 0: a watch, a list or a push, which may be stale. */
            uint64_t serial;
        } key;
        struct {
            uint64_t op; /* of the SWAP effect's value */
            enum replica_swap_outcome outcome;
            int64_t version; /* WON: the key's new one */
        } swap;
        struct {
            uint64_t end;
            uint64_t last_epoch; /* of the record at end-1: must agree with what is known here */
        } durable;
        struct {
            struct replica_fetch request;
        } fetch;
        struct {
            uint32_t broker; /* who answered */
            struct replica_answer answer;
            const struct replica_batch *batches; /* borrowed */
            size_t batches_n;
        } answer;
        struct {
            uint64_t end; /* the log's end now */
            /* Where it was to be cut it is damaged: it is as before. */
            bool is_damaged;
        } truncated;
        struct {
            bool has_failed; /* the transfer; the log is as it was */
            uint64_t start;
            uint64_t last_epoch; /* of the record at start-1, as the leader said */
        } snapshot;
        struct {
            uint64_t start;
        } released;
        struct {
            uint32_t broker;
            bool is_live;
            bool is_draining;
        } session;
    };
};

#endif

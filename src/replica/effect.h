// SPDX-License-Identifier: Apache-2.0
/* What a replica wants done. The caller carries the effects of a step out in their order. Those
 * marked [now] are done before the partition's lock is given up; the others may take their time and
 * are answered with the event that is named. */
#ifndef REPLICA_EFFECT_H
#define REPLICA_EFFECT_H

#include "replica/fetch.h"
#include "replica/key.h"

enum replica_effect_type {
    REPLICA_EFFECT_ANSWER,       /* answer a fetch */
    REPLICA_EFFECT_FETCH,        /* ask the leader; EVENT_ANSWER, or nothing when it is lost */
    REPLICA_EFFECT_STORE,        /* [now] append the answer's first batches; EVENT_DURABLE */
    REPLICA_EFFECT_TRUNCATE,     /* cut the log; EVENT_TRUNCATED. Reads above it end now */
    REPLICA_EFFECT_HIGH_WATER,   /* it moved: fold, answer clients, play parked fetches again */
    REPLICA_EFFECT_LEAD,         /* [now] append EPOCH{epoch} at log_end, before anything else */
    REPLICA_EFFECT_READY,        /* EPOCH is committed: serve clients */
    REPLICA_EFFECT_STOP_LEADING, /* [now] append no more; pending requests fail, not_leader;
                                    no answer with batches leaves; parked fetches play again */
    REPLICA_EFFECT_SWAP,         /* compare-and-swap the key; EVENT_SWAP always, if late */
    REPLICA_EFFECT_READ_KEY,     /* read it linearizably; EVENT_KEY with this serial */
    REPLICA_EFFECT_SNAPSHOT,     /* replace the log by the leader's snapshot; EVENT_SNAPSHOT */
    REPLICA_EFFECT_ADOPT,        /* write the incarnation, and that the log is not to be believed */
    REPLICA_EFFECT_DISCARD,      /* set the log aside; believe the new one; EVENT_DISCARDED */
    REPLICA_EFFECT_QUARANTINE,   /* raise an alarm; nothing more is done until a restart */
};

enum replica_quarantine {
    REPLICA_QUARANTINE_NONE,
    REPLICA_QUARANTINE_BELOW_HIGH_WATER, /* told to cut what is committed: lost elsewhere */
    REPLICA_QUARANTINE_CONTRADICTION,    /* the leader's log disagrees with itself */
    REPLICA_QUARANTINE_CATALOGUE_BACK,   /* the catalogue went back: an old backup was restored */
    REPLICA_QUARANTINE_LAST_COPY,        /* damaged, and nobody else is in sync: keep it */
    REPLICA_QUARANTINE_DISK,             /* the data directory has failed */
};

struct replica_effect {
    enum replica_effect_type type;
    union {
        struct {
            uint32_t broker;
            struct replica_answer answer;
            uint64_t
                from; /* OK: send batches from here on, durable ones only, at least one if any */
            /* OK, and nothing is new for it: keep the request until the log's durable end or the
             * high-water mark has moved, then play its event again; when its wait is over before,
             * send this answer as it is, with no batches. */
            bool may_park;
        } answer;
        struct {
            uint32_t leader;
            struct replica_fetch request;
        } fetch;
        struct {
            size_t batches_n; /* of the event's */
        } store;
        struct {
            uint64_t end;
        } truncate;
        struct {
            uint64_t end;
        } high_water;
        struct {
            uint64_t epoch;
        } lead;
        struct {
            struct replica_key value; /* its `version` is the one to compare with */
        } swap;
        struct {
            uint64_t serial;
        } read_key;
        struct {
            uint32_t leader;
            uint64_t epoch;
            uint64_t start;      /* where the leader's log begins, at least */
            uint64_t last_epoch; /* of the record before */
        } snapshot;
        struct {
            uint64_t incarnation;
        } adopt;
        struct {
            enum replica_quarantine reason;
            uint64_t offset; /* BELOW_HIGH_WATER: where the cut was asked for */
        } quarantine;
    };
};

enum { REPLICA_EFFECTS_MAX = 12 };

struct replica_effects {
    size_t n;
    struct replica_effect at[REPLICA_EFFECTS_MAX];
};

#endif

// SPDX-License-Identifier: Apache-2.0
/* What a follower asks of its leader, and the answer, without the bytes: those stay with the
 * caller. A follower's request for offset `from` says that all below is durable there. */
#ifndef REPLICA_FETCH_H
#define REPLICA_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replica_fetch {
    uint32_t broker;      /* who asks */
    uint64_t serial;      /* echoed, so that the follower knows which request was answered */
    uint64_t epoch;       /* as the follower knows it */
    uint64_t incarnation; /* the follower's own */
    uint64_t offset;      /* its durable end */
    uint64_t last_epoch;  /* of the record at offset-1; 0 when offset is 0 */
    /* `sent_ms` of the last answer of this leader in this epoch, or 0: proof to the leader that the
     * request was made after that moment of its own clock, however long it was under way. */
    int64_t echo_ms;
};

enum replica_fetch_status {
    REPLICA_FETCH_OK,
    REPLICA_FETCH_FENCED,      /* the request's epoch is older: read the key again */
    REPLICA_FETCH_AHEAD,       /* it is newer: the leader reads the key again and serves nothing */
    REPLICA_FETCH_NOT_LEADER,  /* not (yet) leading: try again, read the key again */
    REPLICA_FETCH_DIVERGE,     /* the logs part: cut, and ask again */
    REPLICA_FETCH_BELOW_START, /* that, or where the logs part, was released: take the snapshot */
    REPLICA_FETCH_BAD_INCARNATION, /* not the one in the key, as the leader knows it */
};

struct replica_answer {
    enum replica_fetch_status status;
    uint64_t serial;
    uint64_t epoch;            /* the leader's */
    int64_t sent_ms;           /* the leader's boot time */
    uint64_t high_water;       /* exclusive end of the committed prefix, as the leader knows it */
    uint64_t start;            /* the first offset that the leader still stores */
    uint64_t start_last_epoch; /* BELOW_START: of the record at start-1; 0 when start is 0 */
    uint64_t diverge_epoch;    /* DIVERGE: the leader's largest epoch <= last_epoch */
    uint64_t diverge_end;      /* DIVERGE: where its records of that epoch end */
};

/* A batch as the follower's caller found it in the answer, after its checksum was checked. Holds
 * the records [base, end) or stands for that stretch where the cleaner has been. */
struct replica_batch {
    uint64_t base;
    uint64_t end;
    uint64_t epoch;
};

#endif

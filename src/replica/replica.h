// SPDX-License-Identifier: Apache-2.0
/* One replica of one partition, as a pure step function: an event and the time go in, effects come
 * out (event.h, effect.h). No clock, lock, I/O or chance; the caller holds the partition's lock.
 *
 * Words. `durable end` (the papers' LEO): all below is synced here; `high water`: all below is
 * committed, as known here; `epoch`: one term of one leader; LESO: the log's end when the leader's
 * epoch began, where its EPOCH record lies; `in-sync set` (ISR): who must hold a record before it
 * is committed, and from whom the next leader is chosen; `maximal set`: the in-sync set of the key
 * as known, and of our own change to it until the key's version is seen to have moved.
 *
 * The rules, which README.md derives:
 *   - a record is committed when every member of the maximal set has it durable, and the in-sync
 *     set has at least min_isr members;
 *   - a late or dead member is never removed below min_isr; only one whose data are lost is;
 *   - a member joins when it has fetched in this epoch, under the incarnation in the key, up to the
 *     high-water mark and up to LESO;
 *   - requests and answers count only within one epoch; logs are compared by (offset, epoch);
 *   - a replica never cuts below its own high-water mark: it stops, and calls for an operator;
 *   - a replica whose data may be incomplete says so in the key, and until that has succeeded
 *     neither asks nor answers.
 * A partition on one node is an in-sync set of one, and goes the same way.
 *
 * Between any two steps: start <= high water <= durable end <= log end, but while a cut, a snapshot
 * or a discard is under way; the high-water mark never goes back while the log is believed. */
#ifndef REPLICA_REPLICA_H
#define REPLICA_REPLICA_H

#include "replica/effect.h"
#include "replica/event.h"

struct replica;

struct replica_config {
    uint32_t broker;      /* this one */
    int64_t lag_max_ms;   /* a member that has not caught up for longer may leave; 5,000 */
    int64_t fresh_ms;     /* check-quorum: what a member knew longer ago says nothing; 3,000 */
    int64_t fetch_max_ms; /* a fetch without an answer is lost after this; 2,000 */
    int64_t retry_ms;     /* after a refusal or an unknown outcome; 100 */
};

void replica_config_default(struct replica_config *c, uint32_t broker);

struct replica_epoch {
    uint64_t epoch;
    uint64_t start; /* the offset of its first record */
};

/* What was found on disk. */
struct replica_recovered {
    uint64_t incarnation;
    bool is_new;     /* the folder was made just now, with an incarnation never used before */
    bool is_adopted; /* ADOPT was the last word on this log; `incarnation` is the one adopted */
    bool is_damaged; /* the log is not to be believed for another reason */
    uint64_t start;
    uint64_t end;        /* all of it durable */
    uint64_t high_water; /* a lower bound, as far as anything on disk tells; 0 will do */
    /* Epochs of the log, rising, borrowed. The first may begin before `start`; when start > 0 it
     * holds the record at start-1. */
    const struct replica_epoch *epochs;
    size_t epochs_n;
};

/* The first step of a new replica asks for the key. Sessions are unknown, which counts as gone. */
struct replica *replica_new(const struct replica_config *c, const struct replica_recovered *found);
void replica_free(struct replica *r);

/* Takes in `e` at `now_ms` (boot time, never going back) and says what to do. `out` is written
 * anew. Sessions must be told again (EVENT_SESSION) after a key with a new member. */
void replica_step(struct replica *r, const struct replica_event *e, int64_t now_ms,
                  struct replica_effects *out);

/* ---- may clients be served? ---- */

enum replica_gate {
    REPLICA_GATE_OPEN,
    REPLICA_GATE_NOT_LEADER, /* or there is proof of a newer epoch */
    REPLICA_GATE_NOT_READY,  /* the epoch's first record is not committed yet: wait a little */
    REPLICA_GATE_NOT_ENOUGH, /* fewer in sync than min_isr: append nothing */
    REPLICA_GATE_STALE,      /* too few members were heard of lately: somebody else may lead */
};

/* Before appending a client's record. */
enum replica_gate replica_may_append(const struct replica *r);
/* Before handing out messages or leases, and again just before the answer leaves: a process that
 * was stopped for a minute must refuse as soon as it runs (check-quorum). */
enum replica_gate replica_may_receive(const struct replica *r, int64_t now_ms);

/* ---- looking ---- */

enum replica_role { REPLICA_ROLE_NONE, REPLICA_ROLE_FOLLOWER, REPLICA_ROLE_LEADER };

enum replica_health {
    REPLICA_HEALTH_OK,
    REPLICA_HEALTH_STARTING, /* the key has not been read */
    REPLICA_HEALTH_JOINING,  /* a new incarnation is not registered, or its log not begun */
    REPLICA_HEALTH_QUARANTINED,
};

/* What the controller asks before an election, and operators at any time. */
struct replica_status {
    enum replica_role role;
    enum replica_health health;
    enum replica_quarantine quarantine;
    uint64_t incarnation;
    uint64_t epoch; /* of the key, as known */
    uint32_t leader;
    int64_t version;
    uint32_t isr_size;
    uint32_t min_isr;
    uint64_t start;
    uint64_t durable_end;
    uint64_t last_epoch; /* of the record at durable_end-1, or 0 */
    uint64_t high_water;
    uint64_t leso;     /* of a leader */
    bool is_leading;   /* LEAD was given for this epoch */
    bool is_ready;     /* and READY */
    bool swap_is_open; /* a change of ours to the key is not known to have won or lost */
};
void replica_look(const struct replica *r, struct replica_status *out);

#endif

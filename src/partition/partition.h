// SPDX-License-Identifier: Apache-2.0
/* What a partition's log means: groups, leases, order, deduplication, delays and moves, as a pure
 * state machine. No clock, no lock, no I/O; the caller holds the partition's lock.
 *
 *   decide:  partition_plan_*(state, view, request) looks and changes nothing; it answers with the
 *            records to append, with a refusal, or with ERR_NEED and the number whose header it
 *            must see first (the caller reads headers into the window and plans again);
 *   append:  the caller gives the records their place in the log;
 *   fold:    partition_apply(state, record) takes each in. It cannot fail: what was planned and
 *            written must apply. Start, followers and tests call apply alone, and reach the same
 *            state (partition_hash).
 *
 * Invariants between any two calls, for each group:
 *   - every number below `floor` is finished; finished numbers above it are kept as runs;
 *   - a number in [floor, next_number) that is neither finished, nor tracked (leased, handed back
 *     or expired: `entry`), nor individually delayed, nor moving, has never been handed out;
 *   - a lease is held while now_ms < until_ms and free from until_ms on: its end is no record;
 *   - a receive count never goes down.
 * Memory grows with leased, individually delayed, out-of-order finished messages, five minutes of
 * dedup ids and what other brokers send side by side; never with the backlog. */
#ifndef PARTITION_PARTITION_H
#define PARTITION_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "partition/record.h"
#include "partition/window.h"

enum {
    PARTITION_RECEIVE_MAX = 10, /* messages a receive */
    PARTITION_MOVES_MAX = 100,  /* dead-letter moves that one receive may start */
    PARTITION_DEDUP_MAX = 1000000,
    PARTITION_GROUPS_MAX = 1000,
};

struct partition;

/* What the planner may know beside the state: handed in at each call. */
struct partition_view {
    int64_t now_ms;            /* partition time */
    int64_t now_wall_ms;       /* to be recorded, never decided on */
    uint64_t committed_number; /* numbers below are committed and may be handed out */
    uint64_t epoch;            /* of this life of the broker, for lease ids */
    bool fifo;
    int64_t retention_ms;        /* messages accepted longer ago are expired */
    int64_t visibility_total_ms; /* 12 h on the SQS side: no lease lasts longer from its receive */
    uint32_t receives_max;       /* receives in this group before a MOVE; 0: no dead-lettering */
    struct uuid dead_letter_topic; /* where MOVE sends; read only when receives_max > 0 */
    uint64_t in_flight_max;        /* leases at one time, a group */
};

struct partition *partition_new(void);
void partition_free(struct partition *p);

/* The fold. `p` owns nothing of `r` afterwards. */
void partition_apply(struct partition *p, const struct record *r);

/* ---- sending ---- */

struct partition_duplicate {
    struct uuid id;
    uint64_t number;
    bool is_repeat; /* by its key: it is this very send, not another one with its dedup id */
};

/* May this message be appended? ERR_DUPLICATE: it is a repeat of a send that was stored, its dedup
 * hash was accepted within its window, or its origin's move is here already; `*duplicate` is the
 * first one (number UINT64_MAX: a move that was closed at its source, and where it went is
 * forgotten). A moved message is not held against the dedup hashes. ERR_GONE: its front has settled
 * it or begun another life, so nobody waits for it; whether it was stored is forgotten. ERR_FULL:
 * the dedup table is. */
enum err partition_plan_send(const struct partition *p, const struct partition_view *view,
                             const struct record_message *m,
                             struct partition_duplicate *duplicate) MUST_USE;

/* ---- receiving ---- */

struct partition_pick {
    uint64_t number;
    uint32_t receive_count; /* after this receive */
    int64_t first_received_wall_ms;
    uint64_t group_hash;    /* as in its header */
    uint32_t message_bytes; /* for SIZES */
};

struct partition_grant {
    size_t picks_n; /* 0: no LEASE */
    struct partition_pick picks[PARTITION_RECEIVE_MAX];
    struct record lease; /* its numbers point into `runs` */
    struct record_runs runs;
    size_t moves_n; /* at most PARTITION_MOVES_MAX; room is made by the first */
    struct record *moves;
    uint32_t *move_bytes; /* of each one's message, for SIZES */
};

struct partition_receive {
    uint32_t gid;
    size_t max;            /* 1 to PARTITION_RECEIVE_MAX */
    int64_t visibility_ms; /* 0 is legal: counted, and free again at once */
    struct bytes holder;
    uint64_t body_bytes_max; /* stop before this many bytes of bodies, after at least one message */
    bool look_ahead; /* standard: headers may be asked for only to find quiet tenants' messages */
};

void partition_grant_init(struct partition_grant *g);
void partition_grant_fini(struct partition_grant *g);

/* Chooses up to `max` deliverable messages: committed, due, unexpired, unfinished, not leased and
 * (FIFO) with no earlier message of their group in flight; a message whose receives are used up
 * becomes a MOVE instead. Standard: handed-back ones by lowest number, then in order; but while a
 * tenant (message-group id) has 30 messages in flight and more than a tenth of all, those of others
 * come first, wherever they are, and of several such tenants the one with fewest. FIFO: as many
 * as possible of one message group before the next.
 * ERR_OK with picks_n = 0: nothing now (with PARTITION_MOVES_MAX moves: fold them and plan again).
 * ERR_NEED: `*need` is the number whose header is missing. ERR_NOT_FOUND: no such group.
 * ERR_OVER_LIMIT: in_flight_max leases are held. */
enum err partition_plan_receive(const struct partition *p, const struct partition_view *view,
                                struct partition_window *w, const struct partition_receive *request,
                                struct partition_grant *out, uint64_t *need) MUST_USE;

/* Chooses up to `max` (to PARTITION_MOVES_MAX) messages as partition_plan_receive does, with
 * numbers below view->committed_number, and makes each a MOVE to `target`; zeros stand for the
 * topic from which it was dead-lettered. Leases nothing, and asks neither for receives used up nor
 * for in_flight_max. ERR_OK with moves_n = 0: nothing is ready. ERR_NEED and ERR_NOT_FOUND as
 * there. */
enum err partition_plan_redrive(const struct partition *p, const struct partition_view *view,
                                struct partition_window *w, uint32_t gid, size_t max,
                                struct uuid target, struct partition_grant *out,
                                uint64_t *need) MUST_USE;

/* ---- receipts ---- */

struct partition_receipt {
    uint32_t gid;
    uint64_t generation;
    uint64_t number;
    struct lease_id id;
};

enum receipt_rule {
    RECEIPT_ANY,     /* SQS standard: any handle that the message ever had */
    RECEIPT_CURRENT, /* the newest lease, and only before its end (FIFO; REST) */
};

/* ERR_OK: `*out` (a DONE) is to be appended. ERR_GONE: finished already, purged, expired, or of
 * another generation: nothing to do. ERR_LEASE_EXPIRED / ERR_STALE_RECEIPT: RECEIPT_CURRENT only.
 * ERR_INVALID: a number that this partition has not reached. */
enum err partition_plan_done(const struct partition *p, const struct partition_view *view,
                             const struct partition_receipt *receipt, enum receipt_rule rule,
                             struct record *out, struct record_runs *runs) MUST_USE;

/* New end = now + visibility_ms; 0 frees the message at once. As plan_done, and ERR_FULL: the total
 * since the receive would reach view->visibility_total_ms, so that on the SQS side 43,200 s right
 * after a receive is refused, as AWS does. */
enum err partition_plan_extend(const struct partition *p, const struct partition_view *view,
                               const struct partition_receipt *receipt, enum receipt_rule rule,
                               int64_t visibility_ms, struct record *out) MUST_USE;

/* The lease (and only this lease) is given up: its answer could not be written. ERR_GONE: it is no
 * longer the current one. The receive count stays. */
enum err partition_plan_give_back(const struct partition *p, const struct partition_view *view,
                                  const struct partition_receipt *receipt,
                                  struct record *out) MUST_USE;

/* ---- groups, purge, trim ---- */

struct partition_group_info {
    uint32_t gid;
    uint64_t generation;
    uint64_t floor;
};
bool partition_group_find(const struct partition *p, uint32_t gid,
                          struct partition_group_info *out);
/* Finished for the group (or there is no such group): its header is wanted in no window. */
bool partition_is_finished(const struct partition *p, uint32_t gid, uint64_t number);

/* PURGE below the next number; ERR_NOT_FOUND: no such group. */
enum err partition_plan_purge(const struct partition *p, uint32_t gid, bool clear_dedup,
                              struct record *out) MUST_USE;

/* ---- live messages ---- */

struct partition_live {
    uint64_t messages; /* always exact */
    uint64_t moving;   /* on their way to another topic, and not among the above */
    uint64_t bytes;    /* the sum of record_message_bytes */
    bool exact;        /* false: a size was missing, `bytes` is an estimate */
};
/* The group's live messages: neither finished nor on their way to another topic. What has expired
 * is live until it is trimmed. False: no such group, and `out` is not written. */
bool partition_live(const struct partition *p, uint32_t gid, struct partition_live *out);
bool partition_is_live(const struct partition *p, uint32_t gid, uint64_t number);
/* The message may be moved because its topic is full: it is live and not leased at now_ms. Its MOVE
 * goes to view->dead_letter_topic, and counts as at least one receive, since 0 says redrive. */
bool partition_plan_overflow(const struct partition *p, const struct partition_view *view,
                             uint32_t gid, uint64_t number, struct record *out);
/* What SIZES told of an unfinished number; 0: nothing. A record that finishes or moves it must have
 * been preceded by it, or the account becomes an estimate. */
uint32_t partition_size(const struct partition *p, uint64_t number);
/* The number is unfinished for some group, and partition_size does not know it. */
bool partition_size_missing(const struct partition *p, uint64_t number);

/* Makes a SIZES record. `numbers` rise; at most RECORD_SIZES_NUMBERS_MAX. */
struct partition_sizes {
    struct record_runs numbers;
    struct buf sizes;
    size_t n;
};
void partition_sizes_init(struct partition_sizes *s);
void partition_sizes_fini(struct partition_sizes *s);
void partition_sizes_put(struct partition_sizes *s, uint64_t number, uint32_t bytes);
/* Lent until fini. */
struct record partition_sizes_record(struct partition_sizes *s);

/* ---- moves ---- */

struct partition_move {
    uint64_t seq;
    uint32_t gid;
    uint64_t number;
    struct uuid target;
    uint32_t receive_count; /* 0: a redrive, after which the message is a new one */
};
bool partition_move_is_redrive(const struct partition_move *move);

/* Open moves with seq >= from, lowest first, at most `room`. */
size_t partition_moves_open(const struct partition *p, uint64_t from, struct partition_move *out,
                            size_t room);
/* All moves below this seq are closed. */
uint64_t partition_moves_closed(const struct partition *p);
/* MOVED or UNMOVE of an open move; ERR_GONE when it is not open. */
enum err partition_plan_moved(const struct partition *p, uint64_t seq, bool called_off,
                              struct record *out) MUST_USE;

/* ---- looking ---- */

uint64_t partition_next_number(const struct partition *p);
/* When memory will be kept for so many ids and delays that have ended that an EPOCH record, which
 * tells the time and nothing new, is worth its bytes: records alone make the state forget.
 * INT64_MAX: with what is known now, never. */
int64_t partition_time_wanted_ms(const struct partition *p);
/* The number below which nothing is wanted by any group or open move: what plog may drop. With no
 * group, the trim floor. */
uint64_t partition_wanted_from(const struct partition *p);

struct partition_counters {
    uint64_t visible;
    uint64_t in_flight;
    uint64_t delayed;
    uint64_t unfinished; /* the sum of the above and of what is moving */
    uint64_t moving;
};

/* Exact at `view->now_ms`. `due_next`: the first number whose default delay has not ended, as the
 * caller knows it from headers (partition_window_due_next), or next_number when none is left.
 * ERR_NOT_FOUND: no such group. */
enum err partition_count(const struct partition *p, const struct partition_view *view, uint32_t gid,
                         uint64_t due_next, struct partition_counters *out) MUST_USE;

/* True when a message with a default delay may not be due yet at now_ms: only then does the caller
 * have to find due_next. */
bool partition_default_delay_pending(const struct partition *p, int64_t now_ms);

/* The earliest time > now_ms at which something may become deliverable to the group by itself (a
 * lease or an individual delay ends, the window's next default delay), or INT64_MAX. While the
 * group waits for an individual delay it may be the end of another one, which only other groups
 * wait for or none: then looking again is for nothing. Never too late. */
int64_t partition_next_event_ms(const struct partition *p, const struct partition_view *view,
                                const struct partition_window *w, uint32_t gid);

/* How many messages a receive could take now, at most `limit`: how many long polls to wake. May be
 * too high (a header is missing), never too low. */
size_t partition_deliverable(const struct partition *p, const struct partition_view *view,
                             struct partition_window *w, uint32_t gid, size_t limit);

struct partition_lease_info {
    uint64_t number;
    uint32_t receive_count; /* here: those before a move are in the message */
    int64_t until_ms;
    int64_t leased_since_ms;
    struct bytes holder; /* lent until the next apply */
};
/* Leases held at now_ms by group gid with number >= from, lowest first, at most `room`. */
size_t partition_leases(const struct partition *p, uint32_t gid, int64_t now_ms, uint64_t from,
                        struct partition_lease_info *out, size_t room);

/* ---- snapshots ---- */

/* The state as bytes; equal states give equal bytes, whatever their history. */
void partition_save(const struct partition *p, struct buf *out);
/* ERR_CORRUPT, ERR_NEWER_FORMAT. The bytes are not kept. */
enum err partition_load(struct bytes saved, struct partition **out) MUST_USE;
/* Whether `saved` is what partition_save made, or an earlier version would have made, of p. */
bool partition_is_saved_as(const struct partition *p, struct bytes saved);
/* CRC-32C pair over partition_save's bytes: for tests and CHECK records. */
uint64_t partition_hash(const struct partition *p);

#endif

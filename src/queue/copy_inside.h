// SPDX-License-Identifier: Apache-2.0
/* What a partition has beside its log and its state because there may be copies of it elsewhere:
 * its replica (replica/replica.h), and what is still to be done for it. For this room's files only.
 *
 * The replica decides, under the partition's lock; what it wants done is done by copy.c: at once
 * under the lock, or after the lock is given back (struct copy_after), or, where it takes I/O, by
 * the thread of copies (copy_work.c).
 *
 * The state is the fold of the log up to the end while this broker `serves`, else up to `folded`,
 * which follows the high-water mark. Who begins to lead serves once the fold has come to the end
 * of the log, which its own EPOCH record is as long as it does not serve: nothing else is appended,
 * and by then EPOCH is committed. So only what is committed is ever folded from the log, and
 * cursors need not read any further. */
#ifndef QUEUE_COPY_INSIDE_H
#define QUEUE_COPY_INSIDE_H

#include "queue/copies.h"
#include "queue/state.h"

/* What is to be done once no lock is held. */
struct copy_after {
    struct queue_mark *reached; /* a list of marks whose requests are told */
    bool commits;               /* somebody waits for a round, other than the caller */
    bool moves, wakes, ends_polls;
    bool serves; /* p has begun to */
};

struct queue_copy {
    struct replica *replica;
    bool alone;
    uint64_t alone_from;    /* alone: where the EPOCH of this life stands */
    uint64_t epoch;         /* that we lead in; 0: we do not */
    bool is_ready;          /* READY was given in this epoch */
    bool serves;            /* leading and ready, and the state is the fold of the whole log */
    uint64_t folded;        /* while not serving: the state is the fold of all below */
    bool fold_fresh;        /* the state is to be begun anew from the newest snapshot */
    unsigned fold_life;     /* rises when the state is thrown away: a fold under way is void */
    int64_t leader_ms;      /* the last leader's time, as its last batch says ... */
    int64_t heard_queue_ms; /* ... and the queue's time when that came in */
    uint64_t start_told;    /* where the replica thinks that the log begins */

    /* Work for the thread of copies. */
    bool to_cut, to_discard, to_adopt, to_fold;
    uint64_t cut_end, adopted;
    bool swap_waits; /* a SWAP that may be sent only once the incarnation is adopted */
    struct replica_key swap;
    /* The log is being cut or replaced, without the lock; it ended here before. */
    bool log_is_busy;
    uint64_t busy_log_end;
    /* queue_copy_snapshot_put is awaited: for the log to begin anew with; or for the state alone,
     * because the leader had cleaned what it would have been folded from. */
    bool wants_snapshot, wants_state;
    uint64_t snapshot_epoch;
    struct buf state; /* the latter, from when it has come until it is stored; owned */
    uint64_t state_offset;
    bool is_rotten;        /* bytes of the log were found not to be what was stored, and told so */
    bool has_gap;          /* the fold stands before records that are not here */
    int64_t ask_state_ms;  /* boot time; the state is not asked for again before */
    unsigned states_asked; /* a leader asks one member after another */
    uint32_t members[REPLICA_MEMBERS_MAX], members_n; /* of the newest key */

    bool is_listed; /* guarded by copies_lk */
    struct queue_partition *next_listed;
};

/* ---- copy.c ---- */

struct queue_copy_id copy_id(const struct queue_partition *p);

/* No links: p leads from now on, as the only member of its in-sync set, and EPOCH is appended. */
void copy_lead_alone_locked(struct queue_partition *p, int64_t now_ms);
void copy_set_serves_locked(struct queue_partition *p, bool serves);
/* With links: p's log is a copy. */
void copy_begin(struct queue_partition *p, bool is_new);
void copy_fini(struct queue_partition *p);
/* The epoch of what is appended to p and of the leases in it. */
uint64_t copy_epoch_locked(const struct queue_partition *p);
/* Takes in the event, whose `random` and `log_end` are filled in here, and carries out all effects
 * but ANSWER, which is left in `effects`. */
void copy_step_locked(struct queue_partition *p, struct replica_event *e,
                      const struct plog_raw *batches, struct replica_effects *effects,
                      struct copy_after *after);
void copy_after(struct queue_partition *p, struct copy_after *after);
/* p's log is durable further than before, or has failed. */
void copy_durable_locked(struct queue_partition *p, bool failed, struct copy_after *after);
/* plog_release may have moved p's start. No lock held. */
void copy_released(struct queue_partition *p);
void copy_released_locked(struct queue_partition *p, struct copy_after *after);
/* ERR_OK: this broker may append for clients. ERR_NOT_LEADER, ERR_NOT_READY, ERR_NOT_ENOUGH. */
enum err copy_may_append_locked(struct queue_partition *p) MUST_USE;
/* The same, and that nobody else may be leading by now, as far as can be known: before leases are
 * given and before they are answered. */
enum err copy_may_receive_locked(struct queue_partition *p) MUST_USE;
/* True unless p waits for its first record, or follows, so that what its log holds beyond its state
 * is nobody's here to wait for. */
bool copy_serves_locked(const struct queue_partition *p);

/* ---- copy_work.c: what takes I/O ---- */

void copy_work_list_locked(struct queue_partition *p);
/* p is about to be freed. */
void copy_work_forget(struct queue_partition *p);
void copies_init(struct queue *q);
void copies_fini(struct queue *q);
/* The queue is closed: nobody will hear any more of what is not committed. */
void copies_stop(struct queue_topic **topics, size_t n);
/* The thread. */
void copy_work_run(struct queue *q);
/* p has ended to serve: what it knows beyond what is committed is thrown away, and found again by
 * folding. */
void copy_forget_state_locked(struct queue_partition *p);
/* The log was begun anew, and so is the state. */
void copy_begin_state_locked(struct queue_partition *p);
/* Stores a state that was sent by the leader, if all below it is here by now. */
void copy_put_state(struct queue_partition *p);
/* What was read of the log is not what was stored. A restart looks at the newest bytes only, so
 * this may be found out at any time. The replica begins anew, unless this is the only copy. */
void copy_rotten_locked(struct queue_partition *p, struct copy_after *after);
/* The same for what serves in `epoch`, read without the lock; 0: in any. No lock held. */
void copy_rotten(struct queue_partition *p, uint64_t epoch);
/* The fold stands before a gap, and it is time to ask for the state again. */
bool copy_state_is_due_locked(const struct queue_partition *p);
/* Serves if all is folded and READY was given. */
void copy_serve_if_folded_locked(struct queue_partition *p, struct copy_after *after);

/* ---- copy_redrive.c: a topic whose partitions several brokers lead ---- */

/* As queue_redrive_start and _cancel, in the catalogue: [job]. */
enum err copy_redrive_start(struct queue_topic *t, struct redrive_config *r) MUST_USE;
enum err copy_redrive_cancel(struct queue_topic *t, const uint8_t id[16], uint64_t *moved) MUST_USE;
/* The housekeeper's: one step of what is led here. When it wants to go on. */
int64_t copy_redrive_step(struct queue_topic *t, bool *ended);

/* ---- copy_topic.c ---- */

/* If this broker is one of the key's members and p has no log here, it gets one. Blocks. */
void copy_attach(struct queue_partition *p, const struct replica_key *key);
/* The first keys of a new topic's partitions, one each, to be freed; `copies` and `min_isr` of its
 * settings are filled in. ERR_TOO_FEW_BROKERS, ERR_SINGLE_COPY. */
enum err copy_place(struct queue *q, struct topic_config *config,
                    struct replica_key **out) MUST_USE;
/* Until all partitions of t are led, but not for ever. */
void copy_wait_for_leaders(struct queue_topic *t);

/* ---- copy_serve.c ---- */

/* What was leased may be handed out, as far as can be known now. */
enum err copy_check_leased(const struct queue_wait *w) MUST_USE;

/* ---- copy_events.c ---- */

/* With a reference to its topic; NULL: there is none. */
struct queue_partition *copy_lend(struct queue *q, const struct queue_copy_id *of);
void copy_key(struct queue_partition *p, const struct replica_key *key, uint64_t serial);

/* What is known of brokers' sessions, for a replica or a member that is new. */
void copy_tell_sessions_locked(struct queue_partition *p, struct copy_after *after);
void copy_tell_sessions(struct queue_partition *p);
/* Somebody has begun or ended to lead, here or elsewhere: wakes who waits for that. */
void copy_tell_roles(struct queue *q);

/* ---- wait.c ---- */

/* Take marks of p off their list: those that are committed; or all, whose requests learn `e`. */
struct queue_mark *wait_take_reached_locked(struct queue_partition *p);
struct queue_mark *wait_take_failed_locked(struct queue_partition *p, enum err e);
/* Those that were left at or before that time and are not committed learn ERR_UNKNOWN. */
struct queue_mark *wait_take_overdue_locked(struct queue_partition *p, int64_t since_ms);
/* Tells their requests. No lock held. */
void wait_tell(struct queue_mark *m);

/* ---- commit.c ---- */

/* A round is run soon, by the committer or at the end of somebody's pass. */
void commit_ask(struct queue *q);

#endif

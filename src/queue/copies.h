// SPDX-License-Identifier: Apache-2.0
/* A queue whose partitions have copies on other brokers: what it asks of the cluster (links), and
 * what the cluster tells it. Without links the broker is alone: each partition is an in-sync set of
 * one, and goes the same way (replica/replica.h).
 *
 * The queue owns the logs, the folded states and the replicas' steps; the room `cluster` owns
 * the catalogue's keys, the sessions, the elections and the transport. */
#ifndef QUEUE_COPIES_H
#define QUEUE_COPIES_H

#include "queue/queue.h"
#include "replica/replica.h"

struct queue_copy_id {
    uint8_t topic[16];
    uint32_t partition;
};

/* Each is called with or without a partition's lock held, from any thread: it takes note and
 * returns (leaf locks only), and never calls back into the queue from the same stack. */
struct queue_links {
    void *self;
    uint32_t broker; /* this one's id, above 0 */
    /* The replica's effects of the same names. fetch: the newest request of a partition replaces
     * one that was not sent yet. */
    void (*fetch)(void *self, const struct queue_copy_id *of, uint32_t leader,
                  const struct replica_fetch *request);
    void (*swap)(void *self, const struct queue_copy_id *of, const struct replica_key *value);
    void (*read_key)(void *self, const struct queue_copy_id *of, uint64_t serial);
    void (*snapshot)(void *self, const struct queue_copy_id *of, uint32_t leader, uint64_t epoch);
    /* Durable end or high-water mark moved, or leading ended: parked fetches play again. */
    void (*moved)(void *self, const struct queue_copy_id *of);
    void (*alarm)(void *self, const struct queue_copy_id *of, enum replica_quarantine reason,
                  uint64_t offset);
    /* A new topic's partitions need members: writes the brokers of each, `copies` a partition
     * (members[i * copies + k]). ERR_NEED: too few brokers are live. */
    enum err (*place)(void *self, uint32_t partitions, uint32_t copies, uint32_t *members);
};

/* ---- moves to partitions that another broker leads ---- */

enum { QUEUE_MOVE_MESSAGE_BYTES_MAX = 4 << 20 };
#define QUEUE_MOVE_AGE_MS_MAX (INT64_C(1) << 52)

/* A message on its way from a partition to one of another topic. */
struct queue_move {
    uint8_t topic[16]; /* the target */
    uint32_t partition;
    uint32_t broker;       /* who leads it, as far as is known; not sent */
    uint64_t source_epoch; /* that the source is led in: tells who has asked, decides nothing */
    int64_t age_ms;        /* of the message; brokers' times are not compared */
    struct bytes message;  /* a payload of RECORD_MESSAGE (partition/record.h) with its origin: the
                              source, its name, seq and floor. Lent */
};

struct queue_mover {
    void *self;
    /* No lock is held. Copies what it needs, does not block, and calls done(arg) once, from any
     * thread or from within. ERR_OK: the message is at the target, committed. Else it may be there
     * or not, and it is asked again; `leader`: who leads the target, as was answered; 0: nothing
     * was said. */
    void (*move)(void *self, const struct queue_move *m,
                 void (*done)(void *arg, enum err e, uint32_t leader), void *arg);
};

/* The other side: the message is in t once all that it left in w is committed. The same move again
 * changes nothing. ERR_CORRUPT: not a move, or not one for t. Else errors as queue_send_to. */
enum err queue_move_take(struct queue_topic *t, const struct queue_move *m,
                         struct queue_wait *w) MUST_USE;

/* ---- topics, as the catalogue tells of them ---- */

/* A topic is there (state ready or deleting), or its settings have changed: makes it known, with
 * a log for each partition of which this broker is a member in `keys` (one a partition). Blocks.
 * The same again changes nothing. */
enum err queue_copy_topic(struct queue *q, const struct topic_config *config, int64_t rev,
                          const struct replica_key *keys) MUST_USE;
/* It is gone: so are its logs. */
void queue_copy_topic_gone(struct queue *q, const uint8_t topic[16]);

/* The value under r/<tid> as of rev: the topic's redrives. An older one, or one of a topic that is
 * not known, is not looked at. */
void queue_copy_redrives(struct queue *q, const uint8_t topic[16], struct bytes value, int64_t rev);

/* ---- events ---- */

/* May block, where this broker has become a member. */
void queue_copy_key(struct queue *q, const struct queue_copy_id *of, const struct replica_key *key,
                    uint64_t serial);
void queue_copy_swapped(struct queue *q, const struct queue_copy_id *of, uint64_t op,
                        enum replica_swap_outcome outcome, int64_t version);
/* For all partitions of which that broker is a member; remembered for those to come. */
void queue_copy_session(struct queue *q, uint32_t broker, bool is_live, bool is_draining);
/* Every 100 ms or so. */
void queue_copy_tick(struct queue *q);
/* A leader's answer with its raw batches. Stores what follows; the effects are carried out before
 * it returns, but for what takes time. */
void queue_copy_answer(struct queue *q, const struct queue_copy_id *of, uint32_t leader,
                       const struct replica_answer *answer, struct bytes batches);

/* ---- serving followers ---- */

/* ERR_NOT_FOUND: no such copy here. Else *answer is to be sent, with batches from *from on when
 * *has_batches (queue_copy_read). *may_park: nothing is new. */
enum err queue_copy_fetch(struct queue *q, const struct queue_copy_id *of,
                          const struct replica_fetch *request, struct replica_answer *answer,
                          uint64_t *from, bool *has_batches, bool *may_park) MUST_USE;
/* Raw batches, appended to out, as plog_raw_read; only while this broker leads in `epoch`. */
enum err queue_copy_read(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                         uint64_t from, size_t bytes_max, struct buf *out) MUST_USE;
/* The newest snapshot of the state and where the log begins, as one run of bytes, of a broker that
 * leads or follows in `epoch`: and the way back in on one that was told to take it. A follower
 * asks its leader; a leader that lacks the state asks a follower. Blocks. */
enum err queue_copy_snapshot_read(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                                  struct buf *out) MUST_USE;
void queue_copy_snapshot_put(struct queue *q, const struct queue_copy_id *of, uint64_t epoch,
                             struct bytes snapshot); /* BYTES_NONE: it could not be had */

/* One piece of the work that takes I/O, which else the queue's threads do. False: there was none.
 * For tests. */
bool queue_copy_work(struct queue *q);

enum err queue_copy_look(struct queue *q, const struct queue_copy_id *of,
                         struct replica_status *out) MUST_USE;

/* ---- routing ---- */

/* Who leads the topic's partition, as far as is known here; 0: nobody. */
uint32_t queue_copy_leader(struct queue_topic *t, uint32_t partition);
/* True when this broker may serve clients of the partition now. */
bool queue_copy_is_ours(struct queue_topic *t, uint32_t partition);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Verbs for single partitions, for a broker among others (copies.h): what a request is about may be
 * led by several brokers, and each carries out its part. The verbs of queue.h are about all
 * partitions of a topic at once.
 *
 * ERR_NOT_LEADER: nothing was done, for this broker does not lead the partition. Else errors, marks
 * and locks are those of the verb of queue.h with the same name. */
#ifndef QUEUE_SPREAD_H
#define QUEUE_SPREAD_H

#include "queue/copies.h"
#include "queue/queue.h"

/* What makes a send the same when it is repeated. `sequence` rises in a life of the front and a
 * partition, `life` with each of its starts. The queue keeps what is at or above `settled_below`,
 * the lowest sequence that the front may still repeat; it is at most `sequence`, and less than
 * QUEUE_REPEAT_WINDOW below it. */
struct queue_repeat {
    uint32_t front; /* the broker's id, 1 to QUEUE_FRONT_MAX */
    uint64_t life;
    uint64_t sequence; /* below 2^63 - 1 */
    uint64_t settled_below;
};

/* By id, as brokers name it to each other. As queue_topic_find. */
enum err queue_topic_find_id(struct queue *q, const uint8_t id[16],
                             struct queue_topic **out) MUST_USE;

/* Which partition each message goes to: that of its message group, key or dedup id, by their hash.
 * Those that may go anywhere all go to one, in turn: of those led here if there are any, else of
 * those that somebody leads, else of all. */
void queue_send_places(struct queue_topic *t, const struct queue_message *messages, size_t n,
                       uint32_t *partitions);
/* As queue_send, with the partition of each message given. One with a key (message->repeat) that
 * was stored before is ERR_OK with what the first was answered, once that is committed. ERR_GONE:
 * its front has settled it, or has begun a new life; nothing was stored now, and whether it was
 * before is forgotten. */
void queue_send_to(struct queue_topic *t, const struct queue_message *messages,
                   const uint32_t *partitions, size_t n, struct queue_sent *sent, enum err *errs,
                   struct queue_wait *w);
/* As queue_receive, from the partitions that are led here. ERR_NOT_LEADER: there are none. */
enum err queue_receive_here(struct queue_topic *t, const struct queue_receive *request,
                            struct arena *arena, struct queue_received out[QUEUE_BATCH_MAX],
                            size_t *n, struct queue_wait *w) MUST_USE;
/* What a receipt is for. Errors as queue_delete: there is nothing to do then, anywhere. */
enum err queue_receipt_place(struct queue_topic *t, struct bytes receipt, bool strict,
                             uint32_t *partition) MUST_USE;
/* Both n = 0: "default". */
enum err queue_purge_place(struct queue_topic *t, struct bytes group, uint32_t partition,
                           uint64_t *finished, struct queue_wait *w) MUST_USE;
/* With a mark, since what was counted may not be committed yet. */
enum err queue_count_place(struct queue_topic *t, struct bytes group, uint32_t partition,
                           struct queue_counters *out, struct queue_wait *w) MUST_USE;
/* How many messages receives would find here, at most `limit`. May be too high, never too low. */
size_t queue_deliverable_here(struct queue_topic *t, struct bytes group, size_t limit);

#endif

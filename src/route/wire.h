// SPDX-License-Identifier: Apache-2.0
/* The forms of hops (WIRE.md fixes the bytes). Decoders take bytes from outside: they are bounded
 * and answer ERR_CORRUPT. */
#ifndef ROUTE_WIRE_H
#define ROUTE_WIRE_H

#include "base/arena.h"
#include "base/buf.h"
#include "front/links.h"
#include "queue/copies.h"

enum {
    ROUTE_WIRE_VERSION = 2,
    ROUTE_ATTRIBUTES_MAX = 32,
    ROUTE_ITEMS_MAX = 128,
    ROUTE_MESSAGE_BYTES_MAX = QUEUE_BODY_BYTES_MAX + 1024, /* with attributes, ours too */
    ROUTE_ITEMS_BYTES_MAX = 10 << 20, /* of a request; clients' have 8 MiB, a batch of a log 12 */
};

enum route_kind {
    ROUTE_SEND = 1,
    ROUTE_CHANGE = 2,
    ROUTE_PURGE = 3,
    ROUTE_COUNT = 4,
    ROUTE_RECEIVE = 5,
    ROUTE_WAIT = 6,
    ROUTE_GIVE_BACK = 7,
    ROUTE_MOVE = 8,
};
enum route_kind route_kind_of(enum front_verb_kind kind);

/* Where an error stands in an answer. What one side does not know is ERR_UNKNOWN to the other. */
uint16_t route_err_code(enum err e);
enum err route_err_of_code(uint16_t code);

struct route_request {
    enum route_kind kind;
    bool strict;
    uint8_t topic[16];
    uint32_t left_ms; /* of the deadline */
    struct bytes group;
    size_t n;
    /* ROUTE_SEND to ROUTE_COUNT; as those of a front. The front of a send's key is who signed. */
    struct front_item *items;
    struct queue_receive receive;
    uint32_t pause_ms;               /* ROUTE_WAIT: answers no sooner */
    struct queue_received *received; /* ROUTE_GIVE_BACK: n, of which only the receipt is set */
    struct queue_move move;          /* ROUTE_MOVE; the queue looks into its message */
};

void route_hop_put(const struct front_hop *hop, uint32_t left_ms, struct buf *out);
void route_wait_put(const uint8_t topic[16], struct bytes group, uint32_t left_ms,
                    uint32_t pause_ms, struct buf *out);
void route_give_back_put(const uint8_t topic[16], const struct queue_received *received, size_t n,
                         struct buf *out);
void route_move_put(const struct queue_move *m, uint32_t left_ms, struct buf *out);
/* All bytes are lent from b, all else is in the arena. What it gives is within the bounds of
 * queue.h, but for the partitions, which only the topic bounds. */
enum err route_request_read(struct bytes b, struct arena *arena,
                            struct route_request *out) MUST_USE;

/* An error of the whole; on ERR_OK what the kind has follows. */
void route_answer_put(enum route_kind kind, enum err e, struct buf *out);
void route_items_put(enum route_kind kind, const struct front_item *items, size_t n,
                     struct buf *out);
void route_received_put(const struct queue_received *received, size_t n, struct buf *out);

/* The answer to a hop: `*e` is that of the whole, and the items and what was received are filled
 * in, copied to the hop's arena, when it is ERR_OK. */
enum err route_hop_read(struct bytes b, struct front_hop *hop, enum err *e) MUST_USE;
/* A move has no more to say than who leads its target, with ERR_NOT_LEADER. */
void route_move_answer_put(enum err e, uint32_t leader, struct buf *out);
enum err route_move_answer_read(struct bytes b, uint32_t *leader, enum err *e) MUST_USE;
/* How many messages are there. */
enum err route_wait_read(struct bytes b, uint32_t *ready, enum err *e) MUST_USE;

#endif

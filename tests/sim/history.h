// SPDX-License-Identifier: Apache-2.0
/* What the clients of a simulated broker did and saw, in order: the only thing the checker looks
 * at. One thread writes it, so the order of events is the order in which the broker decided.
 *
 * Words: a message is known by its serial number, which the body tells; an incarnation is one life
 * of a topic, from its making to its deletion, and has an id that is never used again; an operation
 * (op) is one call, which may have several events (a batch) and ends with EVENT_END when it is
 * answered. An operation without one was under way when the broker died: nobody knows. */
#ifndef TESTS_SIM_HISTORY_H
#define TESTS_SIM_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum { HISTORY_NONE = UINT32_MAX };

enum event_kind {
    EVENT_OPEN,   /* a life begins; err: it could not. flag: the same boot, and it is until_ms */
    EVENT_CRASH,  /* it ended other than by a clean stop */
    EVENT_TIME,   /* time has passed; until_ms is what it has to be */
    EVENT_TOPIC,  /* `topic` is there from now on, with `policy` */
    EVENT_GONE,   /* `topic` was deleted (ERR_OK), perhaps deleted (else) */
    EVENT_CHANGE, /* `topic` has setting until_ms (ERR_OK), perhaps (else) */
    EVENT_FOUND,  /* a start found `topic`, with setting until_ms */
    EVENT_MISSED, /* a start did not find `topic` */
    EVENT_CLOSED, /* a start found `topic` damaged */
    EVENT_SEND,   /* err: refused. flag: a duplicate; until_ms: when it is due */
    EVENT_TAKE,   /* one received message. flag: every byte is as sent; until_ms: the lease's end */
    EVENT_EMPTY,  /* a receive that might have brought anything found nothing, or a poll at rest */
    EVENT_DELETE,
    EVENT_EXTEND, /* until_ms: the lease's new end */
    EVENT_GIVE,   /* the lease was given back unread */
    EVENT_PURGE,
    EVENT_END,    /* `op` is answered; err: with a failure, which leaves the outcome open */
    EVENT_SYNCED, /* all that was decided is durable, as the broker has it */
    EVENT_COUNT,  /* counts of `topic`, at rest */
    EVENT_STRAYS, /* `visible` things are stored that belong to no topic, or a topic's are missing
                   */
    EVENT_FINAL,  /* everything was drained; flag: but not to the end */
    EVENT_KINDS
};

/* Of an incarnation. */
struct policy {
    uint32_t slot;      /* topics of one name share it */
    uint32_t dead_slot; /* where its dead letters go; HISTORY_NONE */
    uint32_t receives_max;
    int64_t retention_ms;
    bool fifo;
    bool dedup_per_group;
};

struct event {
    enum event_kind kind;
    enum err err; /* of the decision */
    uint32_t op;
    uint32_t topic;   /* the incarnation */
    uint32_t message; /* its serial number */
    uint32_t lease;   /* the op whose TAKE gave the receipt */
    uint32_t receive_count;
    uint32_t group; /* 0: none */
    uint32_t dedup; /* 0: none */
    bool flag;
    bool moved; /* TAKE: it says that it is a dead letter */
    uint64_t number;
    uint64_t id; /* the first bytes of the message's id */
    int64_t now_ms;
    int64_t until_ms;
    uint64_t visible, in_flight, delayed, moving;
    struct policy policy;
};

struct history {
    struct event *at;
    size_t n;
    size_t room;
};

void history_fini(struct history *h);
void history_put(struct history *h, const struct event *e);
/* Equal for equal histories. */
uint64_t history_hash(const struct history *h);
void history_print_event(const struct history *h, size_t i, FILE *out);
/* What concerns `message`, and what concerns everything; up to event `end`. */
void history_print(const struct history *h, uint32_t message, size_t end, FILE *out);

#endif

// SPDX-License-Identifier: Apache-2.0
/* What a front asks of other brokers. A broker that is alone has no links (NULL).
 *
 * One call to one broker is a hop. The broker that gets it carries it out for the partitions that
 * it leads, and never passes it on: a hop is not hopped again. */
#ifndef FRONT_LINKS_H
#define FRONT_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "queue/queue.h"
#include "queue/spread.h"

enum front_verb_kind {
    FRONT_SEND,
    FRONT_CHANGE, /* by receipts: delete, change visibility */
    FRONT_PURGE,
    FRONT_COUNT,
    FRONT_RECEIVE, /* hops only */
};

/* What a verb does at one partition. */
enum { FRONT_HERE = 1 << 16 /* no broker's id */ };

struct front_item {
    uint32_t partition;
    /* FRONT_SEND */
    const struct queue_message *message;
    struct queue_sent sent;
    struct queue_repeat repeat; /* front 0: none, as what is carried out here */
    /* FRONT_CHANGE */
    struct bytes receipt;
    bool is_delete;
    int64_t visibility_ms;
    /* FRONT_PURGE, FRONT_COUNT */
    uint64_t finished;
    struct queue_counters counters;

    /* What came of it; ERR_NOT_LEADER: nothing was done. ERR_GONE, of a send: as queue_send_to. */
    enum err err;
    uint32_t leader; /* with ERR_NOT_LEADER: who leads, as that broker knows; 0: unknown */
    bool is_open;    /* the rest is front/verbs.c's: it is not settled yet */
    bool in_doubt;   /* an answer to it was lost */
    uint32_t taker;  /* of this round: a broker, FRONT_HERE, or 0: nobody */
};

struct front_hop {
    /* Set by the front; all borrowed until done. */
    enum front_verb_kind kind;
    uint32_t broker;
    uint8_t topic[16];
    int64_t deadline_boot_ms;
    bool strict;        /* FRONT_CHANGE: see queue_delete */
    struct bytes group; /* FRONT_PURGE, FRONT_COUNT; n = 0: "default" */
    struct front_item **items;
    size_t n;
    const struct queue_receive *receive; /* FRONT_RECEIVE: looks once */
    struct arena *arena;                 /* where what is received is kept */
    /* Any thread, once, perhaps before start returns. Then the items' errors are set. */
    void (*done)(struct front_hop *hop);
    void *self; /* for done() */

    /* Of the whole. ERR_NOT_LEADER: nothing was done: nobody listens there, or, for a receive, it
     * leads nothing of the topic. ERR_UNKNOWN: no answer, and it may have been carried out. Else,
     * for a receive, an error of queue_receive. */
    enum err err;
    struct queue_received *received; /* received_n of a FRONT_RECEIVE, in the arena */
    size_t received_n;
};

/* Somebody who waits until there is something to receive at a broker. */
struct front_watch {
    /* Set by the front; all borrowed until unwatch. */
    uint32_t broker;
    uint8_t topic[16];
    struct bytes group;
    /* Any thread, perhaps under a lock: takes note and returns. Once after each watch. ready: there
     * may be something; else it cannot be told, so that watching has to begin anew later. */
    void (*wake)(struct front_watch *w, bool ready);

    struct front_watch *next, *previous; /* these are the links' */
    bool is_linked, is_armed;
};

struct front_links {
    void *self;
    uint32_t broker; /* this one's id */
    const struct clock *clock;
    void (*start)(void *self, struct front_hop *hop);
    /* A send is given to another broker under a key, which makes it the same when it is repeated
     * at the same partition. False: too many are open there (QUEUE_REPEAT_WINDOW); try later. Each
     * key is closed once nobody will repeat it. Any thread. */
    bool (*repeat_open)(void *self, const uint8_t topic[16], uint32_t partition,
                        struct queue_repeat *out);
    void (*repeat_close)(void *self, const uint8_t topic[16], uint32_t partition,
                         const struct queue_repeat *key);
    /* Leases whose answer could not be written end at once, if that broker can be reached. */
    void (*give_back)(void *self, uint32_t broker, const uint8_t topic[16],
                      const struct queue_received *received, size_t n);
    /* Again after each wake, when a receive there has found nothing. */
    void (*watch)(void *self, struct front_watch *w);
    /* No wake is running, or comes, once this has returned. */
    void (*unwatch)(void *self, struct front_watch *w);
};

#endif

// SPDX-License-Identifier: Apache-2.0
/* Receiving, at once or as a long poll: the same for all fronts, which only read the request and
 * write the answer.
 *
 * No lease is taken for a client that is gone, and the leases of an answer that could not be
 * written end at once.
 *
 * Among several brokers what is led here is looked at first, then the others are asked in turn,
 * each for itself, until one has something. */
#ifndef FRONT_POLL_H
#define FRONT_POLL_H

#include "front/call.h"
#include "front/links.h"

enum {
    FRONT_PEERS_MAX = 32,    /* brokers that one poll asks */
    FRONT_REFRESH_MS = 1000, /* how often a poll looks who leads now */
    FRONT_ASK_MS = 5000,     /* for one broker's answer */
};

/* Another broker that leads partitions of the topic. */
struct front_peer {
    struct front_poll *poll;
    bool is_wanted; /* to be asked in this turn */
    bool is_known;  /* the links know the watch */
    atomic_int watching;
    struct front_watch watch;
};

struct front_poll {
    /* Set by the front, in zeros; all borrowed until the call ends. */
    struct front_call *call;
    struct queue_topic *topic;
    struct queue_wait *wait;
    const struct clock *clock;
    struct queue_receive request;
    int64_t wait_ms; /* from when the request came; 0: looks once */
    /* Answers with what was received; perhaps nothing. */
    void (*answer)(struct front_poll *p);
    /* Errors of queue_receive and queue_poll_start. ERR_OVER_LIMIT only where wait_ms is 0: who
     * waits may see leases end. */
    void (*refuse)(struct front_poll *p, enum err e);

    /* For the answer. */
    size_t n;
    struct queue_received *received; /* n, in the request's arena: a poll that waits has none */
    int64_t lease_until_wall_ms;

    /* The loop's own. */
    struct queue_poll poll; /* registered until it is answered, if it waits */
    int64_t deadline_boot_ms;
    atomic_bool called; /* by queue, since the last look */
    enum err err;
    /* Among several brokers. */
    struct front_peer *peers;
    size_t peers_n, peers_first;
    int64_t refresh_boot_ms;
    struct front_hop hop;
    uint32_t from; /* the broker that gave the leases; 0: this one */
};

/* Calls `answer` or `refuse`, once: at once, or later on the same loop. */
void front_poll_run(struct front_poll *p);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Three brokers in one thread: the rooms front and route are real, while http, peer and queue are
 * played here. All brokers see the same messages; who serves a partition is the stage's `leader`,
 * what a broker believes about it is its own. A call between brokers is a letter, and the test
 * decides what becomes of it. */
#ifndef TESTS_UNIT_ROUTE_STAGE_H
#define TESTS_UNIT_ROUTE_STAGE_H

#include "front/poll.h"
#include "front/verbs.h"
#include "lib/fake_clock.h"
#include "lib/runner.h"
#include "route/route.h"

enum { BROKERS = 3, PARTITIONS = 4, MESSAGES_MAX = 32, REQUESTS_MAX = 64, LETTERS_MAX = 128 };

struct http_request {
    bool used;
    http_handler *on_wake; /* parked; NULL: it runs, or is answered */
    void *self;
    int64_t wake_boot_ms, arrived_boot_ms;
    bool woken, gone, replied;
    int holds, status;
    void (*on_finish)(void *self, bool written);
    void *on_finish_self;
    struct arena arena;
    struct bytes body;
    struct buf answer;
};

struct letter {
    uint32_t from, to;
    const char *path;
    int64_t deadline_ms;
    struct buf body;
    struct peer_call_done done;
    struct http_request *served; /* once it was delivered */
    bool gone;                   /* its connection is dead when it is delivered */
    bool over;
};

/* STORED_SPENT: leased, and for as long as a message may be. */
enum stored_state { STORED_READY, STORED_LEASED, STORED_DELETED, STORED_SPENT };
struct stored {
    char body[32];
    enum stored_state state;
    struct queue_repeat repeat; /* front 0: none */
};

struct queue_topic {
    uint32_t broker;
    uint32_t believed[PARTITIONS]; /* who leads; 0: nobody */
    struct topic_config config;
    struct queue_poll *polls[8];
    size_t polls_n;
    int refs, receives;
};
struct queue {
    uint32_t broker;
};
struct peer {
    uint32_t broker;
};

struct stage {
    struct fake_clock clock;
    uint32_t leader[PARTITIONS]; /* in truth */
    struct stored at[PARTITIONS][MESSAGES_MAX];
    size_t n[PARTITIONS];
    bool hold_commits;
    bool is_unready;        /* who leads is not ready to, yet */
    enum err refuses_sends; /* by whoever leads; ERR_OK: it does not */
    void (*looked)(void);   /* somebody has asked who leads; NULL: nobody cares */
    unsigned moves;         /* that were taken, duplicates too */
    struct queue_wait *waits[8];
    size_t waits_n;
    struct http_request requests[REQUESTS_MAX];
    struct letter letters[LETTERS_MAX];
    size_t letters_n;
    struct queue_topic topics[BROKERS + 1];
    struct queue queues[BROKERS + 1];
    struct peer peers[BROKERS + 1];
    struct route *routes[BROKERS + 1];
};
extern struct stage stage;

/* A client's request at broker 1. */
struct client {
    struct front_call call;
    struct queue_wait wait;
    struct front_poll poll;
    struct http_request *http;
    bool answered;
    enum err refused;
};

void stage_setup(void);
void stage_teardown(void);
/* Partition p is led by p's broker of the list, as all believe. */
void lead(uint32_t p0, uint32_t p1, uint32_t p2, uint32_t p3);
/* Nobody is told. */
void move(uint32_t partition, uint32_t broker);
void believe(uint32_t broker, uint32_t partition, uint32_t leader);

struct client *client_new(void);
void client_next(struct front_call *c); /* the step of its verbs */
void client_finish(struct client *c, bool written);
void client_poll(struct client *c, size_t max, int64_t wait_ms);

/* Loops go on as long as something is woken. */
void turn(void);
void pass(int64_t ms);
void commit(void);

/* Letters that are not over yet, oldest first. */
size_t letters_open(void);
struct letter *letter_open(size_t i);
void letter_deliver(struct letter *l); /* the other broker begins to work on it */
void letter_carry(struct letter *l);   /* and its answer comes back, if there is one by then */
void letter_lose(struct letter *l);    /* it was carried out, and its answer is lost */
void letter_vanish(struct letter *l);  /* nobody knows what became of it */
void letter_refuse(struct letter *l);  /* nobody listens */
void carry_all(void);
void letter_answer(struct letter *l, struct buf *body); /* by the test; takes the body */

void store(uint32_t partition, const char *body, enum stored_state state);
size_t stored_in_state(enum stored_state state);
void polls_wake(uint32_t broker);

#endif

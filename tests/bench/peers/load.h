// SPDX-License-Identifier: Apache-2.0
/* A load generator for several kinds of queue servers: one thread, one epoll loop, one request
 * under way a connection. What all servers are asked is the same; a protocol says how.
 *
 * A connection either sends or consumes. It calls the protocol's `hello` once, and hands it each
 * whole answer by `take`. The protocol reports back with load_ready, load_confirmed,
 * load_received, load_done and load_empty below; these may call its `send` or `receive` again.
 * Bytes to go out are put into `out`; the loop writes them.
 *
 * It is a tool for measuring: what it does not expect ends it with a message (load_die). */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { BODY_BYTES = 1024, BATCH_MAX = 10, STAMP_BYTES = 16 };

enum work {
    WORK_SETUP, /* makes the queue */
    WORK_SEND,  /* each connection: a request of `batch` messages, its confirmation, again */
    WORK_CYCLE, /* each connection: receive up to `batch`, delete them, again */
    WORK_RATE   /* senders at a fixed rate together, and consumers that wait */
};

struct load;

struct conn {
    const struct load *load;
    unsigned id;
    bool consumes;
    bool ready;
    int socket;
    struct buf in, out;
    size_t written;     /* of out */
    bool asks_writable; /* epoll tells when the socket takes more */
    bool busy;          /* a request of a sender is under way */
    uint64_t begun_ns;  /* when it was sent, or was due; of a consumer: when it began to receive */
    uint64_t again_ns;  /* a consumer asks again then; 0: it is not resting */
    unsigned unconfirmed;
    unsigned received; /* in this cycle */
    void *own;         /* the protocol's, own_bytes of zeros at first */
};

struct protocol {
    const char *name;
    size_t own_bytes;
    void (*hello)(struct conn *c);
    /* The first answer in n bytes: how long it is, 0 when it is not all there. The byte behind
     * them is a zero. */
    size_t (*take)(struct conn *c, const char *at, size_t n);
    void (*send)(struct conn *c, unsigned n);
    void (*receive)(struct conn *c, unsigned n);
};

extern const struct protocol protocol_sqs, protocol_redis, protocol_amqp, protocol_postgresql,
    protocol_beanstalk;

struct load {
    enum work work;
    const struct protocol *protocol;
    unsigned port, connections, consumers, batch, rate;
    const char *queue;
    uint64_t run_ns, messages_max;
    char body[BODY_BYTES];
    struct conn *conns; /* the senders first */
    unsigned conns_n, ready_n;
    int epoll;
    uint64_t due_ns; /* rate: of the next message */
    /* how it goes */
    bool over;
    uint64_t begun_ns, last_ns; /* last: when a message was confirmed or its cycle was done */
    uint64_t issued, done;      /* messages */
    unsigned empty_n;           /* answers without a message, in a row */
};

/* The handshake is over. */
void load_ready(struct conn *c);
/* n messages of the request are safe. */
void load_confirmed(struct conn *c, unsigned n);
/* A message has come; `body` is read only here. */
void load_received(struct conn *c, const char *body, size_t n);
/* What was received is deleted. */
void load_done(struct conn *c);
/* There was nothing to receive; it asks again after rest_ms. */
void load_empty(struct conn *c, unsigned rest_ms);

/* The body of the next message, of BODY_BYTES that JSON and SQL take as they are; its first
 * STAMP_BYTES say when it was due. */
void load_put_body(struct conn *c, struct buf *b);

_Noreturn void load_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Network order, as AMQP and PostgreSQL have it. */
void put_be16(struct buf *b, uint16_t v);
void put_be32(struct buf *b, uint32_t v);
void put_be64(struct buf *b, uint64_t v);
void store_be32(char *at, uint32_t v);
uint16_t be16(const char *at);
uint32_t be32(const char *at);
uint64_t be64(const char *at);

#endif

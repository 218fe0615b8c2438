// SPDX-License-Identifier: Apache-2.0
/* The load: one thread, one epoll, one request in flight on each connection.
 *
 *   send     each connection sends, and sends again
 *   receive  the queue is filled; then each connection receives, deletes, and receives again
 *   cycle    each connection sends, receives and deletes
 *   latency  `connections` senders send at `rate`; as many consumers wait in long polls, and delete
 *   fanout   the same with one sender
 *
 * The first three are closed loops: a broker that stands still is asked nothing meanwhile, so their
 * times are service times. In the other two each message is due at a time of a fixed schedule and
 * its latency counts from there, sent or not: a stall shows at its full length ("coordinated
 * omission", Gil Tene). */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "bench/address.h"
#include "bench/request.h"
#include "bench/result.h"

enum bench_mode { BENCH_SEND, BENCH_RECEIVE, BENCH_CYCLE, BENCH_LATENCY, BENCH_FANOUT };

enum {
    BENCH_CONNECTIONS_MAX = 4096,
    BENCH_RATE_MAX = 1000000,
    BENCH_BODY_BYTES_MAX = 1 << 20, /* of a batch as well: SQS's */
    BENCH_BACKLOG_MAX = 1000000     /* messages, and at most BENCH_BACKLOG_BYTES_MAX */
};
#define BENCH_BACKLOG_BYTES_MAX (UINT64_C(1) << 30)
/* Of bodies: what may be in flight, and so in memory, at one time. */
#define BENCH_FLIGHT_BYTES_MAX (UINT64_C(1) << 30)

struct bench_load {
    enum bench_mode mode;
    const struct bench_address *address; /* lent, as are all texts */
    const char *queue_url;
    unsigned connections, batch;
    unsigned groups; /* message groups; 0: no FIFO queue */
    size_t body_bytes;
    uint64_t rate;                  /* messages/s, of latency and fanout */
    int64_t warm_up_ms, measure_ms; /* the backlog is filled for twice the latter */
    int64_t timeout_ms;             /* for one answer, besides what a long poll waits */
    uint64_t run;                   /* drawn at random: sets this run apart from others */
    int stop_fd; /* a signalfd or alike: the first read ends the load, a second all waiting */
};

/* What is wrong with the load as a whole, as a sentence; NULL: nothing. Raises this process's limit
 * of open files as far as it may. */
const char *bench_load_fault(const struct bench_load *load);
/* How many messages a request of the filling carries: as many as fit, whatever `batch` is. */
unsigned bench_load_fill_batch(const struct bench_load *load);

/* Puts the load on the broker until its time is over, or all is lost. Connections are closed
 * afterwards. The queue is left to the caller. */
void bench_load_run(const struct bench_load *load, struct bench_result *out);

#endif

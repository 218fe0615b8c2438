// SPDX-License-Identifier: Apache-2.0
/* Three brokers in one process and one thread, each with a queue on a disk in memory; a catalogue
 * that they share; and between them a network that carries what a test lets through. Elections are
 * held by hand. */
#ifndef TESTS_UNIT_COPIES_FIXTURE_H
#define TESTS_UNIT_COPIES_FIXTURE_H

#include "base/arena.h"
#include "lib/fake_clock.h"
#include "lib/fault_disk.h"
#include "lib/runner.h"
#include "queue/copies.h"
#include "queue/state.h"

enum { BROKERS = 3 };

struct broker {
    uint32_t id;
    struct fault_disk *disk;
    struct queue_links links;
    struct queue_mover mover;
    struct queue *q; /* NULL: it is down */
    bool cut_off;    /* from the other brokers, and from the catalogue */
    unsigned alarms, moved;
    unsigned moves; /* that it has sent to others */
};

struct world {
    char dir[64];
    struct fake_clock clock;
    struct catalog *catalog;
    struct broker brokers[BROKERS + 1]; /* by id, from 1 */
    struct arena arena;
    uint64_t segment_bytes;
    const char *hidden;      /* a topic of which one broker has not heard yet */
    uint32_t hidden_from;    /* that broker */
    bool holds_moves;        /* they stay on their way */
    bool loses_move_answers; /* what was moved arrives, and nobody hears of it */
};
extern struct world world;

void world_setup(void);
void world_teardown(void);
/* One letter arrives; false: there is none. */
bool world_deliver(void);
/* Everything that was sent arrives, all work is done, until nothing moves any more. */
void world_settle(void);
/* Time passes in steps of 100 ms, and all of that. */
void world_pass(int64_t ms);

/* All moves that were ever sent come once more, to this broker, as from one that woke up late. */
void world_replay_moves(uint32_t to);

void broker_start(uint32_t id);
/* kill -9, or a power cut, which takes what was not synced. */
void broker_die(uint32_t id, bool power_cut);
/* From now on nothing passes between it and the others. */
void broker_cut_off(uint32_t id, bool is_cut);

/* Made by the broker, told to all, led by the broker `leader` (each partition). */
void make_topic(uint32_t by, const char *name, uint32_t partitions, uint32_t copies,
                uint32_t leader, void (*set)(struct topic_config *));
/* Of all partitions. The in-sync set loses who is down, as far as it may. */
void elect(const char *name, uint32_t leader);
void elect_partition(const char *name, uint32_t partition, uint32_t leader);
/* With a reference. */
struct queue_topic *topic_at(uint32_t broker, const char *name);
struct replica_key key_of(const char *name, uint32_t partition);
struct replica_status status_of(uint32_t broker, const char *name, uint32_t partition);
/* The hash of its folded state. */
uint64_t state_of(uint32_t broker, const char *name, uint32_t partition);

/* A request that may wait for commit. */
struct request {
    struct queue_wait w;
    bool told; /* or nothing was to be waited for */
    enum err err;
    struct queue_sent sent;
};
/* Not settled: the request may be waiting when it returns. */
void request_send(struct request *r, uint32_t broker, const char *topic, const char *body);
/* By the queue of `broker`, as a send that another broker gives to it, perhaps again. */
void request_repeat(struct request *r, uint32_t broker, const char *topic, const char *body,
                    const struct queue_repeat *key);
void request_delete(struct request *r, uint32_t broker, const char *topic, const char *receipt);
/* With all that follows; ERR_OK: answered so. */
enum err send_to(uint32_t broker, const char *topic, const char *body);
enum err delete_at(uint32_t broker, const char *topic, const char *receipt);

struct got {
    size_t n;
    enum err err;
    struct queue_received at[QUEUE_BATCH_MAX];
};
struct got receive_at(uint32_t broker, const char *topic, size_t max, int64_t visibility_ms);
/* All that can be received there, finished one by one, as "a b c" sorted. */
const char *drain(uint32_t broker, const char *topic);

/* n messages of 2 KiB each, to topic q; and n of q received and finished. */
void send_long(uint32_t broker, int n);
void drain_long(uint32_t broker, int n);

TCase *tcase_repeat(void);
TCase *tcase_rot(void);

#endif

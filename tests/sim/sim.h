// SPDX-License-Identifier: Apache-2.0
/* One simulated broker: the whole core (queue and all below it) on a disk and a clock of the tests,
 * with simulated clients, in one thread. Everything that happens is drawn from one seed.
 *
 *   run.c      a run: lives, faults, the end
 *   life.c     starts, crashes, time, topics that are there
 *   client.c   what clients do: one function a verb
 *   topic.c    topics made, changed and dropped; what is left of them
 *   poll.c     those who wait for messages
 *   message.c  what a message of a serial number looks like */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "base/rng.h"
#include "lib/fake_clock.h"
#include "lib/fault_disk.h"
#include "lib/folder.h"
#include "queue/state.h"
#include "sim/checker.h"

enum {
    SIM_SLOTS = 7,
    SIM_RECEIPTS = 48, /* that clients remember */
    SIM_POLLS = 4,
    SIM_TIMES = 16,
    SIM_BATCH = QUEUE_BATCH_MAX,
};

struct sim;

/* A call whose answer waits for its commit. */
struct sim_op {
    struct queue_wait w;
    struct sim *sim;
    uint32_t id;
    bool told;
    struct sim_op *next;
    struct sim_receipt *receipts; /* that a receive brought; the client has them once answered */
    size_t receipts_n;
};

struct sim_receipt {
    uint32_t topic; /* incarnation */
    uint32_t message;
    uint32_t lease; /* op */
    char text[QUEUE_RECEIPT_TEXT_MAX + 1];
};

struct sim_poll {
    struct queue_poll poll;
    struct queue_topic *topic; /* NULL: free; a reference */
    uint32_t incarnation;
    bool woken;
};

/* What a topic of a slot is made with. */
struct sim_plan {
    const char *name;
    uint32_t partitions;
    int64_t delay_ms;
    struct policy policy;
};

struct sim {
    uint64_t seed;
    struct rng rng;
    struct fault_disk *disk;
    struct fake_clock clock;
    char folder[FOLDER_PATH_ROOM]; /* of the catalogue */
    char catalog_path[FOLDER_PATH_ROOM + 24];
    struct queue_options options;
    struct queue *q; /* NULL between lives */
    struct arena arena;
    struct history history;
    uint32_t next_op;
    uint32_t next_message;
    uint32_t next_setting;
    uint32_t last_receive; /* op */
    enum err receive_err;  /* how it ended */
    unsigned life;
    uint32_t focus;          /* the slot that most operations are about; HISTORY_NONE */
    bool damaged;            /* bits were flipped */
    int64_t now_ms;          /* partition time as it was last seen ... */
    int64_t boot_ms;         /* ... and the clock then */
    struct plog_stamp stamp; /* the newest that the broker wrote */

    struct sim_op *ops; /* under way */
    struct sim_plan plans[SIM_SLOTS];
    uint32_t slots[SIM_SLOTS]; /* incarnation, or HISTORY_NONE */
    struct {
        struct uuid id;
        uint32_t slot;
    } * topics; /* by incarnation */
    uint32_t topics_n;
    struct sim_receipt receipts[SIM_RECEIPTS];
    unsigned receipts_n; /* ever */
    struct sim_poll polls[SIM_POLLS];
    int64_t times[SIM_TIMES]; /* at which something ends */
    unsigned times_n;         /* ever */
};

/* ---- run.c ---- */

struct sim_result {
    struct verdict verdict;
    uint64_t hash; /* of the history */
    size_t events, messages, takes, lives;
};
/* Plays a seed from begin to end and checks it. When something is wrong and `tell` is not NULL, the
 * history of the message goes there. */
void sim_run(uint64_t seed, FILE *tell, struct sim_result *out);

/* ---- life.c ---- */

void sim_init(struct sim *s, uint64_t seed);
void sim_fini(struct sim *s);
enum err sim_open(struct sim *s);
/* What the start found: topics that are there, or not. */
void sim_look_around(struct sim *s, bool same_boot);
void sim_down(struct sim *s, bool clean);
void sim_pass(struct sim *s, int64_t ms);
/* Anything at all that is a good time to look again. */
void sim_remember_time(struct sim *s, int64_t ms);
void sim_put(struct sim *s, struct event e); /* with the time */
/* Tells the history when nothing waits to be written. */
void sim_note_synced(struct sim *s);
uint64_t sim_below(struct sim *s, uint64_t limit);
bool sim_chance(struct sim *s, unsigned percent);
/* The housekeeper looks, all is committed, all who were woken look, until nothing changes. */
void sim_rest(struct sim *s);

/* ---- client.c ---- */

void sim_send(struct sim *s, uint32_t slot);
/* Answers how many came. */
size_t sim_receive(struct sim *s, struct queue_topic *t, uint32_t topic, bool drain);
void sim_receive_slot(struct sim *s, uint32_t slot);
void sim_use_receipt(struct sim *s, bool extend);
/* The front saw only now that an answer was not read. */
void sim_give_back_late(struct sim *s);
void sim_delete(struct sim *s, const struct sim_receipt *r);
void sim_purge(struct sim *s, uint32_t slot);
void sim_count(struct sim *s);
/* All that were under way are forgotten. */
void sim_ops_drop(struct sim *s);
/* Those that were answered are taken out. */
void sim_ops_sweep(struct sim *s);

/* ---- topic.c ---- */

void sim_topic_create(struct sim *s, uint32_t slot);
void sim_topic_change(struct sim *s, uint32_t slot);
void sim_topic_delete(struct sim *s, uint32_t slot);
/* What a start found of a slot's topic. */
void sim_topic_look(struct sim *s, uint32_t slot);
/* What is stored belongs to the topics there are, and all of theirs is stored. At rest. */
void sim_strays(struct sim *s);

/* ---- poll.c ---- */

void sim_poll_start(struct sim *s, uint32_t slot);
void sim_poll_end(struct sim *s, struct sim_poll *p, bool passes_on);
void sim_polls_end(struct sim *s);
/* Those that were woken look; true when there were any. */
bool sim_polls_serve(struct sim *s);

/* ---- message.c ---- */

struct sim_text {
    struct buf body;
    char group[16], dedup[16], trace[24];
    char values[2][24];
    struct queue_attribute attributes[2];
    struct queue_message message;
};
void sim_text_init(struct sim_text *t, uint32_t serial, uint32_t group, uint32_t dedup);
void sim_text_fini(struct sim_text *t);
/* The serial number that the body tells; HISTORY_NONE: none. */
uint32_t sim_serial_of(struct bytes body);
/* Every byte is as it was sent. */
bool sim_is_intact(const struct queue_received *r, uint32_t serial, uint32_t group, uint32_t dedup);

#endif

// SPDX-License-Identifier: Apache-2.0
/* A day of a busy broker, compressed by a clock that the test moves: many topics of ten kinds, each
 * message with a fate that its serial number tells, consumers that fail and pause, redrives,
 * purges, expiry, clean stops and kills. The real core runs on a real directory. At each hour, and
 * at the end, the log's files must take no more than twice what is still wanted and a segment a
 * partition; at the end each message has met its fate, once.
 *
 *   day.c        the hours: sending, consuming, restarts
 *   day_model.c  what is alive and may be received
 *   day_check.c  counts and bytes against the model
 *
 * Words: a letter is what the model knows of a message; alive is what must still be stored. */
#ifndef TESTS_SIM_DAY_H
#define TESTS_SIM_DAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/rng.h"
#include "lib/fake_clock.h"
#include "lib/folder.h"
#include "queue/state.h"

enum day_kind {
    DAY_FIFO,
    DAY_FIFO_POISON, /* its dead letters go to the next topic */
    DAY_FIFO_DEAD,
    DAY_POISON, /* as well; they are redriven back */
    DAY_DEAD,
    DAY_DELAYS,   /* of seconds, and of hours */
    DAY_HELD,     /* leases of hours */
    DAY_EXPIRING, /* nobody receives, kept for an hour */
    DAY_PURGED,
    DAY_PLAIN, /* two partitions; many leases end */
    DAY_KINDS
};

enum {
    DAY_GROUPS = 8, /* of a FIFO topic */
    DAY_RECEIVES_MAX = 3,
    DAY_RETENTION_MS = 3600 * 1000,
    DAY_HOURS_MAX = 40,
    DAY_MINUTES = DAY_HOURS_MAX * 60,
};
#define DAY_NONE UINT32_MAX

struct day_options {
    uint64_t seed;
    uint32_t messages;
    uint32_t topics; /* a multiple of DAY_KINDS */
    uint32_t hours;  /* of sending; a last one follows */
    int64_t tick_ms; /* how often clients do something */
    uint32_t segment_bytes;
    bool tell; /* a line an hour */
};

struct letter {
    uint32_t until_ms; /* leased or delayed; since the begin */
    uint32_t next;     /* FIFO: the next one alive of its group */
    uint16_t topic;
    uint8_t count; /* receives where it is */
    bool alive : 1;
    bool redriven : 1;
};

struct fate {
    bool poison;
    uint8_t retries; /* receives that end unfinished */
    uint32_t hold_ms;
    uint32_t delay_ms;
};

/* What was sent to an expiring topic at one time. */
struct day_batch {
    uint32_t sent_ms;
    uint32_t first;
    uint32_t n;
};

struct day_topic {
    enum day_kind kind;
    char name[24];
    struct queue_topic *t; /* NULL between lives */
    /* Alive, with those that are dead letters elsewhere by now. */
    uint64_t alive;
    uint64_t alive_bytes;
    uint32_t purged_below;       /* serials */
    uint32_t redriven_ms;        /* when its dead letters were last called back */
    uint32_t groups[DAY_GROUPS]; /* the first one alive; DAY_NONE */
    uint32_t groups_last[DAY_GROUPS];
    struct day_batch *batches;
    size_t batches_n, batches_room, expired_n;
};

/* A lease of hours. */
struct day_held {
    struct day_held *next;
    uint32_t serial;
    char receipt[QUEUE_RECEIPT_TEXT_MAX + 1];
};

struct day {
    struct day_options options;
    struct rng rng;
    char folder[FOLDER_PATH_ROOM];
    char catalog_path[FOLDER_PATH_ROOM + 24];
    struct disk disk;
    struct fake_clock clock;
    int64_t begin_ms;
    struct queue_options queue;
    struct queue *q;
    struct queue_wait wait; /* of all that is done between two commits */
    bool told;
    bool undone;   /* what is done now will be lost by a kill */
    bool draining; /* the day is over */
    struct arena arena;
    char arena_room[64 << 10];
    struct day_topic *topics;
    struct letter *letters;
    struct day_held *held[DAY_MINUTES];
    uint32_t sent, never; /* serials given out; and of them those lost by a kill */
    uint64_t deleted, purged, expired, dead, redriven, duplicates, restarts, held_n;
    uint64_t bytes_peak;
};

/* ---- day.c ---- */

struct day_result {
    uint64_t sent, deleted, purged, expired, dead, redriven, restarts;
    uint64_t log_bytes_peak, log_bytes_end;
};
/* Stops the process with a line on standard error when something is wrong. */
void day_run(const struct day_options *o, struct day_result *out);

/* ---- day_model.c ---- */

__attribute__((format(printf, 2, 3), noreturn)) void day_die(const struct day *d,
                                                             const char *format, ...);
uint32_t day_now_ms(const struct day *d);
struct fate day_fate(const struct day *d, uint32_t serial);
/* The body of a message; lent until the next call. */
struct bytes day_body(const struct day *d, uint32_t serial);
uint32_t day_group(uint32_t serial);
bool day_is_fifo(enum day_kind kind);
/* Its message is accepted. */
void letter_send(struct day *d, uint32_t serial, uint32_t topic, uint32_t delay_ms);
/* It came from topic `at`: dies if it must not. In a batch, `earlier` are those before it. */
uint32_t letter_take(struct day *d, uint32_t at, const struct queue_received *r,
                     int64_t visibility_ms);
void letter_delete(struct day *d, uint32_t serial);
void topic_purged(struct day *d, struct day_topic *t);
/* Those whose retention has ended are not alive any more. */
void topic_expire(struct day *d, struct day_topic *t);
uint64_t day_alive(const struct day *d);
uint64_t day_alive_bytes(const struct day *d);

/* ---- day_check.c ---- */

struct day_bytes {
    uint64_t logs; /* segments and indexes */
    uint64_t snapshots;
    uint64_t journal;
};
struct day_bytes day_files(const struct day *d);
/* Counts and bytes, just after the housekeeper has looked. `at_rest`: nothing has happened for so
 * long that the cleaner is done. */
void day_check(struct day *d, const char *when, bool at_rest);

#endif

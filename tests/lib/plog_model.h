// SPDX-License-Identifier: Apache-2.0
/* The plainest model of a store of logs, run beside the real one on a fault_disk: what was
 * appended, and how much of it was reported durable. */
#ifndef TESTS_LIB_PLOG_MODEL_H
#define TESTS_LIB_PLOG_MODEL_H

#include "base/rng.h"
#include "lib/fault_disk.h"
#include "plog/plog.h"

enum { MODEL_LOGS = 4 };

struct model_record {
    uint8_t type;
    uint32_t bytes;
    uint64_t seed; /* the payload is drawn from it */
    uint64_t number;
    bool unwanted; /* a control record, or a message that is finished */
    bool cleaned;  /* unwanted when a cleaning that may have taken place looked at it */
};

enum model_life { MODEL_ABSENT, MODEL_THERE, MODEL_CREATING, MODEL_REMOVING };

struct model_log {
    struct plog_id id;
    enum model_life life;
    struct plog_log *log; /* while open and there */
    struct model_record *records;
    size_t n;
    size_t room;
    uint64_t next_number;
    uint64_t durable;  /* reported */
    uint64_t released; /* the start may have moved up to here */
    uint64_t snapshot; /* newest one reported durable */
    uint64_t snapshot_tried;
    uint64_t snapshot_before; /* the older snapshot lies here or below */
};

struct model {
    struct fault_disk *disk;
    struct plog_options options;
    struct plog *plog; /* NULL while closed */
    struct rng rng;
    struct model_log logs[MODEL_LOGS];
    struct plog_clean *clean; /* a cleaning under way, or NULL */
    struct model_log *clean_log;
    unsigned cleaned_n; /* how many came to their end */
};

void model_init(struct model *m, uint64_t seed);
void model_fini(struct model *m);
/* Opens; on ERR_OK compares everything that can be read with what was promised. */
enum err model_open(struct model *m);
void model_abandon(struct model *m);
/* One random step: append, commit, checkpoint, snapshot, release, clean, create, remove, read,
 * reopen. */
void model_step(struct model *m);
/* Reads every log from begin to end and at random numbers, and compares. */
void model_compare(struct model *m);
void model_append(struct model *m, struct model_log *l, unsigned records, uint32_t bytes_max);
void model_create(struct model *m, struct model_log *l);
void model_remove(struct model *m, struct model_log *l);
void model_commit(struct model *m);
/* The payload of a record; freed with mem_free. */
char *model_payload(const struct model_record *r);

#endif

// SPDX-License-Identifier: Apache-2.0
/* The value under r/<tid>: the redrives (message move tasks) of one topic, newest first. The newest
 * may be under way; those behind it have ended and are kept to be shown. */
#ifndef CATALOG_REDRIVE_H
#define CATALOG_REDRIVE_H

#include <stddef.h>
#include <stdint.h>

#include "catalog/topic.h"

enum { REDRIVES_MAX = 10 }; /* as many as SQS shows of one queue */

enum redrive_state {
    REDRIVE_RUNNING,
    REDRIVE_CANCELLING,
    REDRIVE_CANCELLED,
    REDRIVE_COMPLETED,
    REDRIVE_FAILED,
};

enum redrive_failure {
    REDRIVE_FINE,
    REDRIVE_NO_TARGET, /* the topic to which a message was to go is not there any more */
    REDRIVE_NO_SOURCE, /* a message came from no topic, so it cannot go back */
};

struct redrive_config {
    uint8_t id[16];
    enum redrive_state state;
    enum redrive_failure failure;    /* not REDRIVE_FINE only when it has failed */
    char target[TOPIC_NAME_MAX + 1]; /* "": each message goes back to where it came from */
    uint8_t target_id[16];           /* zeros then */
    uint32_t per_second_max;         /* messages; 0: as fast as it goes */
    int64_t started_wall_ms;
    uint64_t to_move; /* messages in the topic when it started */
    uint64_t moved;   /* a crash may lose those of the last step from this count */
    uint32_t ends_n;  /* partitions; 0 once it has ended */
    uint64_t ends[TOPIC_PARTITIONS_MAX]; /* of each: only messages with numbers below are moved */
};

struct redrives_config {
    size_t n;
    struct redrive_config at[REDRIVES_MAX]; /* newest first */
};

/* Appends to json. */
void redrives_config_encode(const struct redrives_config *r, struct buf *json);
/* ERR_CORRUPT, ERR_NEWER_FORMAT. */
enum err redrives_config_decode(struct bytes json, struct redrives_config *out) MUST_USE;

#endif

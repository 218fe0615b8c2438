// SPDX-License-Identifier: Apache-2.0
/* A double of the queue for the control side of the room cluster: it notes what it is told, and
 * says of its copies what a test wants. */
#ifndef TESTS_UNIT_CLUSTER_TOLD_H
#define TESTS_UNIT_CLUSTER_TOLD_H

#include <pthread.h>

#include "queue/copies.h"

enum { TOLD_PARTITIONS_MAX = 6 };

struct queue {
    char uuid[37];
    int redrives_told;
    bool has_topic, is_gone;
    uint32_t partitions;
    struct replica_key keys[TOLD_PARTITIONS_MAX]; /* as last told */
    uint64_t led_epoch[TOLD_PARTITIONS_MAX];
    uint64_t incarnation, last_epoch;
    uint64_t serial; /* of the last answered read */
    int64_t read_version;
    int sessions[8]; /* by broker: 0 never told, 1 gone, 2 live, 3 draining */
    uint64_t swapped_op;
    enum replica_swap_outcome outcome;
    int64_t swapped_version;
    int ticks, refusals;
};

/* Of all queues; `told_changed` is signalled after each thing that one was told. */
extern pthread_mutex_t told_mutex;
extern pthread_cond_t told_changed;
/* The only topic there is. */
extern const uint8_t told_topic[16];

#endif

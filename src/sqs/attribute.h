// SPDX-License-Identifier: Apache-2.0
/* Queue attributes by the table api/attributes.def: which there are, what they may be set to, how
 * they are kept in a topic's settings, and how they are shown. Pure. */
#ifndef SQS_ATTRIBUTE_H
#define SQS_ATTRIBUTE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "queue/queue.h"
#include "sqs/fault.h"
#include "sqs/redrive.h"
#include "sqs/request.h"

enum sqs_attribute_id {
#define ATTRIBUTE(name, kind, scope, low, high, shown) SQS_ATTRIBUTE_##name,
#include "attributes.def"
    SQS_ATTRIBUTES_N
};

const char *sqs_attribute_name(enum sqs_attribute_id id);
/* SQS_ATTRIBUTES_N: there is no such attribute. */
enum sqs_attribute_id sqs_attribute_find(struct bytes name);

/* Attributes that a request wants to set, in canonical form. */
struct sqs_settings {
    bool given[SQS_ATTRIBUTES_N];
    struct bytes value[SQS_ATTRIBUTES_N]; /* n = 0: removes it */
    struct sqs_redrive redrive;           /* of RedrivePolicy, when given and not empty */
};

/* Whether FifoQueue is among them, and true. */
bool sqs_settings_fifo(const struct sqs_pairs *pairs);

/* Checks names and values as far as that needs no other queue. `creating`: CreateQueue, where
 * FifoQueue may be given; `fifo` is then what the queue will be. */
bool sqs_settings_read(const struct sqs_pairs *pairs, bool fifo, bool creating,
                       const struct sqs_place *place, struct arena *arena, struct sqs_settings *out,
                       struct sqs_fault *f) MUST_USE;

/* Puts them into a topic's settings. False: they do not go with each other or with what is set. */
bool sqs_settings_apply(const struct sqs_settings *s, struct topic_config *t,
                        struct sqs_fault *f) MUST_USE;

/* The first given attribute whose value now is another one; SQS_ATTRIBUTES_N: none. */
enum sqs_attribute_id sqs_settings_differ(const struct sqs_settings *s,
                                          const struct topic_config *t,
                                          const struct sqs_place *place);

/* Appends the attribute's value now; false, nothing appended: the queue does not show it. */
bool sqs_attribute_show(enum sqs_attribute_id id, const struct topic_config *t,
                        const struct queue_counters *counters, const struct sqs_place *place,
                        struct buf *out);

/* Tags of CreateQueue: at most 50, keys 1 to 128 and values 0 to 256 characters. */
bool sqs_tags_check(const struct sqs_pairs *tags, struct bytes queue, struct sqs_fault *f) MUST_USE;

#endif

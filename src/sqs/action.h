// SPDX-License-Identifier: Apache-2.0
/* The table of api/actions.def as data: what an action's request may hold, and the checks that need
 * nothing but that table. */
#ifndef SQS_ACTION_H
#define SQS_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sqs/fault.h"
#include "sqs/request.h"

enum sqs_action_id {
#define ACTION(name, queue) SQS_##name,
#include "actions.def"
    SQS_ACTIONS_N
};

enum sqs_kind {
    SQS_KIND_TEXT,       /* struct bytes */
    SQS_KIND_INTEGER,    /* struct sqs_integer */
    SQS_KIND_TEXTS,      /* struct sqs_texts */
    SQS_KIND_PAIRS,      /* struct sqs_pairs */
    SQS_KIND_ATTRIBUTES, /* struct sqs_attributes */
    SQS_KIND_ENTRIES,    /* struct sqs_entries */
};

enum sqs_need { SQS_OPTIONAL, SQS_REQUIRED, SQS_FILLED };

struct sqs_param {
    struct bytes member; /* n = 0 ends a list */
    const char *query;
    enum sqs_kind kind;
    enum sqs_need need;
    size_t offset; /* of the field in struct sqs_request or struct sqs_entry */
    int64_t low, high;
    const char *text;
};

struct sqs_action {
    enum sqs_action_id id;
    struct bytes name;
    bool needs_queue;
    const struct sqs_param *params; /* of struct sqs_request */
};

/* What an entry of the action's batch may hold. Both NULL: the action takes no batch. */
struct sqs_batch {
    const struct sqs_param *params; /* of struct sqs_entry */
    const char *query;              /* such as "SendMessageBatchRequestEntry" */
};

const struct sqs_action *sqs_action(enum sqs_action_id id);
const struct sqs_batch *sqs_action_batch(const struct sqs_action *a);
/* By its name in the service model. False: *f says UnknownOperation. */
bool sqs_action_find(struct bytes name, const struct sqs_action **out,
                     struct sqs_fault *f) MUST_USE;

/* Members that must be there. */
bool sqs_check_required(const struct sqs_action *a, const struct sqs_request *r,
                        struct sqs_fault *f) MUST_USE;
/* Integers of the request (not of its entries) lie within their bounds. */
bool sqs_check_ranges(const struct sqs_action *a, const struct sqs_request *r,
                      struct sqs_fault *f) MUST_USE;
/* The same two for entry i, in this order; its fault is the entry's alone. */
bool sqs_check_entry(const struct sqs_action *a, const struct sqs_request *r, size_t i,
                     struct sqs_fault *f) MUST_USE;
/* The rules of a batch as a whole (but for its bytes): 1 to 10 entries, ids well-formed and
 * distinct. */
bool sqs_check_batch(const struct sqs_action *a, const struct sqs_request *r,
                     struct sqs_fault *f) MUST_USE;

#endif

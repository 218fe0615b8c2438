// SPDX-License-Identifier: Apache-2.0
/* The JSON inside the attributes Policy, RedrivePolicy and RedriveAllowPolicy. Pure. */
#ifndef SQS_REDRIVE_H
#define SQS_REDRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "sqs/fault.h"

/* What stands in an ARN before the queue's name. */
struct sqs_place {
    struct bytes region;
    struct bytes account;
};

void sqs_arn_put(struct buf *out, const struct sqs_place *place, struct bytes name);

struct sqs_redrive {
    struct bytes json;   /* as it was given; for texts */
    struct bytes target; /* the dead-letter queue's name */
    uint32_t receives_max;
};

/* RedrivePolicy, not empty. Whether the target exists is not asked here. */
bool sqs_redrive_read(struct bytes json, const struct sqs_place *place, struct arena *arena,
                      struct sqs_redrive *out, struct sqs_fault *f) MUST_USE;
/* "Value {json} for parameter RedrivePolicy is invalid. Reason: …"; answers false. */
bool sqs_redrive_refuse(const struct sqs_redrive *r, const char *reason, struct sqs_fault *f);
/* As AWS shows it, whatever it was given as. */
void sqs_redrive_put(struct buf *out, const struct sqs_place *place, struct bytes target,
                     uint32_t receives_max);

/* RedriveAllowPolicy, not empty. */
bool sqs_allow_check(struct bytes json, struct sqs_fault *f) MUST_USE;

/* Policy, not empty: a JSON object of at most 8,192 bytes and 20 statements. */
bool sqs_policy_check(struct bytes json, struct sqs_fault *f) MUST_USE;

/* Whether both are the same JSON value; texts that are no JSON are compared as they stand. */
bool sqs_json_equal(struct bytes a, struct bytes b);

#endif

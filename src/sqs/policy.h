// SPDX-License-Identifier: Apache-2.0
/* The policy document that AddPermission and RemovePermission edit: kept as the attribute Policy
 * and shown as AWS shapes it. Nothing here is enforced. Pure. */
#ifndef SQS_POLICY_H
#define SQS_POLICY_H

#include <stdbool.h>

#include "base/buf.h"
#include "sqs/redrive.h"
#include "sqs/request.h"

struct sqs_permission {
    struct bytes queue; /* its name */
    struct bytes label;
    const struct sqs_texts *accounts; /* of twelve digits each */
    const struct sqs_texts *actions;  /* such as "SendMessage", or "*" */
};

/* Label, accounts and actions by themselves: well-formed, few enough, none for the owner alone. */
bool sqs_permission_check(const struct sqs_permission *p, struct sqs_fault *f) MUST_USE;

/* Appends to `out` the policy with a statement more. `policy` is the one now, or NULL. False: the
 * label is there already, or the policy would be beyond AWS's limits; `out` is as it was. */
bool sqs_policy_add(const char *policy, const struct sqs_permission *p,
                    const struct sqs_place *place, struct buf *out, struct sqs_fault *f) MUST_USE;

/* Appends the policy without the statement of that label; nothing when it was the last one. */
bool sqs_policy_remove(const char *policy, struct bytes label, struct buf *out,
                       struct sqs_fault *f) MUST_USE;

#endif

// SPDX-License-Identifier: Apache-2.0
/* A request of SQS that has been decoded, taken through all that the front does with it before it
 * reaches the core, and held against what the core demands. */
#ifndef TESTS_FUZZ_SQS_WALK_H
#define TESTS_FUZZ_SQS_WALK_H

#include "sqs/action.h"

/* A refusal says what is wrong, in UTF-8, and nothing else does. */
void walk_fault(const struct sqs_fault *f, bool fine);
void walk_request(const struct sqs_action *a, const struct sqs_request *r, struct arena *arena);

#endif

// SPDX-License-Identifier: Apache-2.0
/* The body of an AWS JSON 1.0 request, read once, member by member, into struct sqs_request. */
#ifndef SQS_DECODE_H
#define SQS_DECODE_H

#include "base/arena.h"
#include "sqs/action.h"

/* `body` is lent for as long as `out` is used. Members that the action does not have are ignored,
 * null is as absent. False: *f is a SerializationException (not JSON, or a value of another type),
 * or names the list that is too long. */
bool sqs_decode_json(const struct sqs_action *a, struct bytes body, struct arena *arena,
                     struct sqs_request *out, struct sqs_fault *f) MUST_USE;

#endif

// SPDX-License-Identifier: Apache-2.0
/* A request of either protocol, read by the table api/actions.def into struct sqs_request. */
#ifndef SQS_DECODE_H
#define SQS_DECODE_H

#include "base/arena.h"
#include "sqs/action.h"
#include "sqs/form.h"

/* AWS JSON 1.0. `body` is lent for as long as `out` is used. Members that the action does not have
 * are ignored, null is as absent. False: *f is a SerializationException (not JSON, or a value of
 * another type), or names the list that is too long. */
bool sqs_decode_json(const struct sqs_action *a, struct bytes body, struct arena *arena,
                     struct sqs_request *out, struct sqs_fault *f) MUST_USE;

/* Query. The form is lent as long as `out` is used. Parameters that the action does not have are
 * ignored. False: *f is a MalformedInput (no integer, no base64, one parameter with two values), a
 * MissingParameter (half of a name and value), or names the list that is too long. */
bool sqs_decode_query(const struct sqs_action *a, const struct sqs_form *form, struct arena *arena,
                      struct sqs_request *out, struct sqs_fault *f) MUST_USE;

#endif

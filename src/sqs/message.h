// SPDX-License-Identifier: Apache-2.0
/* The rules for what may be sent (characters, sizes, attributes, FIFO parameters), the digests that
 * clients check, and the choice of attributes that a receive shows. Pure. */
#ifndef SQS_MESSAGE_H
#define SQS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "queue/queue.h"
#include "sqs/fault.h"
#include "sqs/request.h"

/* SendMessage's limit, and SendMessageBatch's for all entries together, whatever the queue's own
 * MaximumMessageSize is. */
enum { SQS_BATCH_BYTES_MAX = 1 << 20 };

/* Body, and of each message attribute name, DataType and value. System attributes do not count. */
size_t sqs_message_bytes(const struct sqs_entry *e);

struct sqs_message_rules {
    const struct topic_config *topic; /* borrowed */
    bool batch;                       /* some texts and one code differ */
    struct bytes trace;               /* the HTTP header X-Amzn-Trace-Id, or n = 0 */
};

/* The message that an entry asks for, its body digested. What it points to lies in the request, or
 * in the arena. Integers' bounds and required members were checked before. */
bool sqs_message_make(const struct sqs_message_rules *rules, const struct sqs_entry *e,
                      struct arena *arena, struct queue_message *out, struct sqs_fault *f) MUST_USE;

/* A message attribute's name, type and value as an attribute of the core; false: refused. */
bool sqs_attribute_make(const struct sqs_attribute *a, struct queue_attribute *out,
                        struct sqs_fault *f) MUST_USE;

/* MD5OfMessageAttributes: n <= SQS_MESSAGE_ATTRIBUTES_MAX attributes in any order. */
void sqs_attributes_md5(const struct queue_attribute *attributes, size_t n, uint8_t out[16]);
/* MD5OfMessageSystemAttributes of an AWSTraceHeader. */
void sqs_trace_md5(struct bytes trace, uint8_t out[16]);

/* Whether ReceiveMessage's MessageAttributeNames ask for this one: "All", "*" and ".*" for all,
 * "pre.*" for every name that begins with "pre", else the name itself. */
bool sqs_attribute_wanted(const struct sqs_texts *names, struct bytes name);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Rules for which the fronts only word their refusals differently: what a message may carry, and
 * who may use a dead-letter topic. They are SQS's. Pure. */
#ifndef FRONT_RULES_H
#define FRONT_RULES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "queue/queue.h"

/* The attribute that marks a body which is no text, and so is shown in base64 where only text can
 * stand. */
#define FRONT_ENCODING_NAME "leaselog-encoding"

/* Of a message group, of deduplication or of an attempt: 1 to QUEUE_ID_BYTES_MAX visible ASCII
 * characters. */
bool front_id_valid(struct bytes id);
/* The deduplication id of a FIFO topic's message that came without one: its body's SHA-256, in
 * hex. */
struct bytes front_content_dedup_id(struct bytes body, struct arena *arena);
/* X-Ray's header: name=value parts with ';' between, Root (1-8 hex-24 hex) among them, at most
 * 1,024 printable ASCII characters. */
bool front_trace_valid(struct bytes header);

enum { FRONT_FULL_TEXT_ROOM = 200 };
/* Which limit of the topic a send would have exceeded that was answered with ERR_TOPIC_FULL, and
 * what the topic held. */
void front_full_text(const struct topic_config *t, const struct queue_sent *sent,
                     char out[FRONT_FULL_TEXT_ROOM]);

/* Whether a dead-letter topic with this RedriveAllowPolicy (SQS's JSON, checked when it was set;
 * NULL: none) takes `source` as a source. Topics are told apart by name alone: there is one
 * account, and regions are only shown. */
bool front_redrive_allowed(const char *policy, struct bytes source);

#endif

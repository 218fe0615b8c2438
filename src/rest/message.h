// SPDX-License-Identifier: Apache-2.0
/* Messages on their way in and out: the rules for what may be sent, and how a message is shown.
 * Pure. */
#ifndef REST_MESSAGE_H
#define REST_MESSAGE_H

#include "rest/attribute.h"

/* A message as a client asks for it, by headers or as an object of a batch. */
struct rest_message {
    struct bytes body;
    struct rest_attributes attributes;
    bool delay_given;
    int64_t delay_ms;
    struct bytes group_id; /* at = NULL: not given, as dedup_id */
    struct bytes dedup_id;
    struct bytes key;   /* at = NULL: not given */
    bool tombstone;     /* instead of a body */
    struct bytes trace; /* of the header X-Amzn-Trace-Id; kept when it is X-Ray's */
};

/* Whose fault it is: a member of the object at a place, or a header. */
struct rest_blame {
    const struct rest_place *at; /* NULL with headers = false: the body itself */
    bool headers;
};

/* The message for the core. What it points to lies in `m`, which the caller keeps, or in the arena.
 */
bool rest_message_make(const struct topic_config *t, struct rest_message *m,
                       struct rest_blame blame, struct arena *arena, struct queue_message *out,
                       struct rest_fault *f) MUST_USE;

/* Members of the object that is open: all that is known of a message but its receipt. */
void rest_message_put(struct json_writer *w, const struct queue_received *m);
/* The same without what receives say; the body of a tombstone is null. */
void rest_record_put(struct json_writer *w, const struct queue_received *m);

#endif

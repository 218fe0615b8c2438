// SPDX-License-Identifier: Apache-2.0
/* MESSAGE's payload, the one record with optional fields. Called by record.c alone. */
#ifndef PARTITION_RECORD_MESSAGE_H
#define PARTITION_RECORD_MESSAGE_H

#include "partition/record.h"

/* The payload's length at most. */
size_t record_message_bytes_most(const struct record_message *m);
void record_message_encode(const struct record_message *m, struct buf *out);
/* As record_decode. */
enum err record_message_decode(struct bytes payload, struct record_message *out) MUST_USE;

#endif

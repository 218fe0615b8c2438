// SPDX-License-Identifier: Apache-2.0
/* Names for which something happened within the last minute: AWS refuses a second purge, and a new
 * queue of a deleted one's name, for 60 seconds. Belongs to one thread. */
#ifndef SQS_COOLDOWN_H
#define SQS_COOLDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum { SQS_COOLDOWN_MS = 60000 };

struct sqs_cooldown_entry;

struct sqs_cooldown {
    struct sqs_cooldown_entry *at; /* owned; in the order in which they happened */
    size_t n, room;
};

void sqs_cooldown_fini(struct sqs_cooldown *c);
void sqs_cooldown_note(struct sqs_cooldown *c, struct bytes name, int64_t now_ms);
void sqs_cooldown_forget(struct sqs_cooldown *c, struct bytes name);
/* Drops what is older than a minute first. */
bool sqs_cooldown_holds(struct sqs_cooldown *c, struct bytes name, int64_t now_ms);

#endif

// SPDX-License-Identifier: Apache-2.0
/* A message that a front has taken can be stored: what the core makes of it is a record that its
 * own decoder accepts. A front that took more than that would fill a log that nobody can read. */
#ifndef TESTS_FUZZ_MESSAGE_WALK_H
#define TESTS_FUZZ_MESSAGE_WALK_H

#include "queue/queue.h"

void walk_message(const struct queue_message *m, const struct topic_config *t);
/* Settings that a front has made can be stored: they are read back as the same. */
void walk_topic(const struct topic_config *t);

#endif

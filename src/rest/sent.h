// SPDX-License-Identifier: Apache-2.0
/* What a send is answered with. Shared by single messages and batches. */
#ifndef REST_SENT_H
#define REST_SENT_H

#include "base/json_write.h"
#include "queue/queue.h"
#include "rest/problem.h"

/* {id, partition, number, md5}; `tell`: and duplicate, when it is one. The digest is that of this
 * request's body, also for a duplicate: clients compare it with what they have just sent. */
void rest_sent_put(struct json_writer *w, const struct queue_sent *sent, const uint8_t md5[16],
                   bool tell);
void rest_sent_fault(struct rest_fault *f, enum err e, const struct topic_config *config,
                     const struct queue_sent *sent);

#endif

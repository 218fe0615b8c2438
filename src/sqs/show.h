// SPDX-License-Identifier: Apache-2.0
/* A received message, with the attributes that were asked for. */
#ifndef SQS_SHOW_H
#define SQS_SHOW_H

#include "queue/queue.h"
#include "sqs/out.h"
#include "sqs/redrive.h"
#include "sqs/request.h"

struct sqs_show_rules {
    bool fifo;
    const struct sqs_place *place;
    const struct sqs_texts *system_names[2]; /* AttributeNames and MessageSystemAttributeNames */
    const struct sqs_texts *message_names;
};
/* An item of the list that is being written. */
void sqs_show_message(struct sqs_out *out, const struct sqs_show_rules *rules,
                      const struct queue_received *m);

#endif

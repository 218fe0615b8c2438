// SPDX-License-Identifier: Apache-2.0
/* Small values as SQS writes them in JSON. */
#ifndef SQS_SHOW_H
#define SQS_SHOW_H

#include <stdint.h>

#include "base/json_write.h"
#include "queue/queue.h"
#include "sqs/redrive.h"
#include "sqs/request.h"

void sqs_show_md5(struct json_writer *w, const uint8_t md5[16]);
void sqs_show_uuid(struct json_writer *w, const uint8_t id[16]);
/* 20 digits, so that order as text is order as numbers. */
void sqs_show_sequence(struct json_writer *w, uint64_t number);
/* A number as a string, as all attributes are. */
void sqs_show_number(struct json_writer *w, int64_t number);

struct sqs_show_rules {
    bool fifo;
    const struct sqs_place *place;
    const struct sqs_texts *system_names[2]; /* AttributeNames and MessageSystemAttributeNames */
    const struct sqs_texts *message_names;
};
/* A received message as an object, with the attributes that were asked for. */
void sqs_show_message(struct json_writer *w, const struct sqs_show_rules *rules,
                      const struct queue_received *m);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Names of queues, and the URLs and ARNs they travel in. Everything here is pure. */
#ifndef SQS_NAME_H
#define SQS_NAME_H

#include <stdbool.h>

#include "base/bytes.h"

enum { SQS_NAME_MAX = 80, SQS_ENTRY_ID_MAX = 80 };

/* 1 to 80 of A-Z a-z 0-9 _ - ; a FIFO queue's ends in ".fifo", which counts. */
bool sqs_name_valid(struct bytes name, bool fifo);
bool sqs_name_is_fifo(struct bytes name); /* ends in ".fifo" */

/* The queue's name in a QueueUrl: its last segment, whatever host, port and account stand before;
 * a bare name is taken as well. n = 0: none. */
struct bytes sqs_name_of_url(struct bytes url);

/* What stands before the name in a QueueUrl, when it is twelve digits; n = 0: no account. */
struct bytes sqs_account_of_url(struct bytes url);

/* The queue's name in a request's path, which ends in /ACCOUNT/NAME with an account of twelve
 * digits; what stands before (a proxy's prefix) does not matter. Nothing is decoded or resolved: no
 * name needs a percent sign, and "..%2F" is just a name that no queue has. n = 0: the path names no
 * queue. */
struct bytes sqs_name_of_path(struct bytes path);

/* Id of a batch entry: 1 to 80 of A-Z a-z 0-9 _ - . */
bool sqs_entry_id_valid(struct bytes id);

struct sqs_arn {
    struct bytes partition, service, region, account, name;
};
/* arn:partition:service:region:account:name, none empty. */
bool sqs_arn_parse(struct bytes arn, struct sqs_arn *out);

/* The region in an Authorization header's credential scope, or n = 0. */
struct bytes sqs_region_of_authorization(struct bytes header);

#endif

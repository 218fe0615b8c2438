// SPDX-License-Identifier: Apache-2.0
/* What can be done with a received message by its receipt: delete it, keep it, give it back.
 *
 * Keeping and giving back go through the REST API, which refuses a receipt whose lease is over.
 * SQS answers 200 to it on a standard queue and applies it to the lease of whoever received the
 * message since. Where there is no REST API, SQS has to do. */
#ifndef CLI_LEASE_H
#define CLI_LEASE_H

#include "cli/client.h"

/* The leases of one topic. */
struct cli_leases {
    const char *topic; /* lent */
    struct cli_client *client;
    bool sqs_only; /* the broker has shown that it has no REST API */
};

/* The lease ends `seconds` from now; 0 gives the message back at once. CLI_NOT_FOUND: the lease is
 * over, and the message may have gone to somebody else. */
enum cli_exit cli_lease_set(struct cli_leases *l, const char *receipt, int64_t seconds);

/* Deletes by receipts, ten at a time. */
struct cli_deletion {
    const char *topic; /* lent */
    struct cli_client *client;
    json_t *entries; /* of the batch that is being filled */
    unsigned long deleted, failed;
};

void cli_deletion_begin(struct cli_deletion *d, const char *topic, struct cli_client *client);
/* Takes the receipt, a JSON string; NULL stands for one that is not UTF-8. */
enum cli_exit cli_deletion_add(struct cli_deletion *d, json_t *receipt);
/* Deletes what is left, and gives the exit of all when `e` is that of the last addition. */
enum cli_exit cli_deletion_end(struct cli_deletion *d, enum cli_exit e);

#endif

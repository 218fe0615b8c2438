// SPDX-License-Identifier: Apache-2.0
/* What receives and leases share. */
#ifndef REST_LEASE_H
#define REST_LEASE_H

#include "rest/call.h"

/* Appends /v1/topics/T/groups/G/leases/RECEIPT. */
void rest_lease_url_put(struct buf *out, const struct rest_call *c, const char *receipt);

/* One raw message as the answer to a receive; lease_until is the wall time of the lease's end. */
void rest_reply_raw(struct rest_call *c, const struct queue_received *m, int64_t lease_until_ms);
/* Whether an Accept header asks for a raw answer: it names application/octet-stream, not refused by
 * q=0, and does not name JSON. */
bool rest_accept_raw(struct bytes accept);

#endif

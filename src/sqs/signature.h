// SPDX-License-Identifier: Apache-2.0
/* Signatures of requests (AWS Signature Version 4, as its documentation gives it), checked when the
 * operator has named access keys. Pure: the request is handed in, and the time. */
#ifndef SQS_SIGNATURE_H
#define SQS_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "sqs/fault.h"

enum {
    SQS_ACCESS_KEYS_MAX = 64,
    SQS_ACCESS_KEY_BYTES_MAX = 128,         /* of an id, and of a secret */
    SQS_SIGNATURE_SKEW_MS = 15 * 60 * 1000, /* between the client's clock and ours */
};

struct sqs_access_key {
    char id[SQS_ACCESS_KEY_BYTES_MAX + 1];
    char secret[SQS_ACCESS_KEY_BYTES_MAX + 1];
};

/* n = 0: requests need not be signed, and no signature is looked at but for its region. */
struct sqs_access_keys {
    struct sqs_access_key at[SQS_ACCESS_KEYS_MAX];
    size_t n;
};

/* The text of a file: a line a key, `ID SECRET`, visible ASCII; empty lines and those with # first
 * are passed by. False: line `*wrong` is no such line, has an ID again, is one too many,
 * or there is none (then 0). */
bool sqs_access_keys_read(struct bytes text, struct sqs_access_keys *out, unsigned *wrong);
/* Wipes the secrets. */
void sqs_access_keys_fini(struct sqs_access_keys *keys);

struct sqs_signed_request {
    const char *method;
    struct bytes path, query, body; /* as they came */
    /* The value of a header, names in any case; BYTES_NONE: it is not there. */
    struct bytes (*header)(const void *self, const char *name);
    const void *self;
};

/* False and a fault unless the request is signed with one of the keys: ACCESS_DENIED (not signed),
 * INCOMPLETE_SIGNATURE, UNRECOGNIZED_CLIENT, INVALID_SIGNATURE. fault->arena is used for scratch.
 */
bool sqs_signature_check(const struct sqs_access_keys *keys, const struct sqs_signed_request *r,
                         int64_t now_wall_ms, struct sqs_fault *fault);

#endif

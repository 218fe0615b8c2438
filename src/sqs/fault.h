// SPDX-License-Identifier: Apache-2.0
/* What a client is told when its request is refused: a row of api/sqs_faults.def and a text that
 * names the parameter and its bounds. A function of this room that can refuse answers false after
 * it has filled in a fault. */
#ifndef SQS_FAULT_H
#define SQS_FAULT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/err.h"

enum sqs_fault_code {
    SQS_FAULT_NONE,
#define FAULT(id, space, shape, query, status) SQS_FAULT_##id,
#include "sqs_faults.def"
    SQS_FAULTS_N
};

struct sqs_fault_row {
    const char *type;        /* `__type` with its prefix */
    const char *code;        /* the query code, also the Code of a failed batch entry */
    const char *query_error; /* the value of x-amzn-query-error */
    int status;
};

struct sqs_fault {
    struct arena *arena; /* where texts are put; set at birth */
    enum sqs_fault_code code;
    struct bytes text;
};

enum { SQS_FAULT_TEXT_MAX = 2048 };

const struct sqs_fault_row *sqs_fault_row(enum sqs_fault_code code);

/* Fills in the fault and answers false, so that `return sqs_fault_set(…)` reads as a refusal.
 * Bytes of the client go in with "%.*s" and SQS_SHOW(bytes); the text is cut at
 * SQS_FAULT_TEXT_MAX bytes, between characters. */
bool sqs_fault_set(struct sqs_fault *f, enum sqs_fault_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define SQS_SHOW(b) (int)((b).n < 2048 ? (b).n : 2048), (const char *)((b).n > 0 ? (b).at : "")

/* An error of the rooms below that is not the client's doing, as a fault. */
bool sqs_fault_of_err(struct sqs_fault *f, enum err e);

#endif

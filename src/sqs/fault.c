// SPDX-License-Identifier: Apache-2.0
#include "sqs/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"

#define PREFIX_SQS "com.amazonaws.sqs#"
#define PREFIX_CORAL "com.amazon.coral.service#"
/* A macro needs a literal to glue: 5xx is the receiver's doing, all else the sender's. */
#define SIDE_400 ";Sender"
#define SIDE_403 ";Sender"
#define SIDE_404 ";Sender"
#define SIDE_500 ";Receiver"
#define SIDE_503 ";Receiver"

static const struct sqs_fault_row rows[SQS_FAULTS_N] = {
#define FAULT(id, space, shape, query, status)                                                     \
    [SQS_FAULT_##id] = {PREFIX_##space shape, query, query SIDE_##status, status},
#include "sqs_faults.def"
};

const struct sqs_fault_row *sqs_fault_row(enum sqs_fault_code code)
{
    CHECK(code > SQS_FAULT_NONE && code < SQS_FAULTS_N);
    return &rows[code];
}

bool sqs_fault_set(struct sqs_fault *f, enum sqs_fault_code code, const char *format, ...)
{
    char text[SQS_FAULT_TEXT_MAX + 2]; /* one byte more shows whether a character was cut */
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    CHECK(wanted >= 0);
    size_t n = (size_t)wanted;
    if (n > SQS_FAULT_TEXT_MAX) {
        n = SQS_FAULT_TEXT_MAX;
        /* Back to the start of the character that was cut. */
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    }
    f->code = code;
    f->text = arena_copy(f->arena, (struct bytes){text, n});
    return false;
}

bool sqs_fault_of_err(struct sqs_fault *f, enum err e)
{
    switch ((int)e) {
    case ERR_NOT_FOUND: /* deleted since it was found */
        return sqs_fault_set(f, SQS_FAULT_QUEUE_DOES_NOT_EXIST,
                             "The specified queue does not exist.");
    case ERR_TOPIC_FULL:
        return sqs_fault_set(f, SQS_FAULT_OVER_LIMIT, "The queue is full: %s.", err_text(e));
    case ERR_BUSY:
    case ERR_FULL:
    case ERR_NEED:
    case ERR_CONFLICT:
    case ERR_FAILED:
    case ERR_STOPPING:
    case ERR_CLOSED:
    case ERR_IO:
    case ERR_NO_SPACE:
    case ERR_CORRUPT:
    case ERR_NEWER_FORMAT:
    case ERR_NOT_LEADER:
    case ERR_NOT_READY:
    case ERR_NOT_ENOUGH:
    case ERR_TOO_FEW_BROKERS:
    case ERR_UNKNOWN:
        return sqs_fault_set(f, SQS_FAULT_SERVICE_UNAVAILABLE, "Service unavailable: %s.",
                             err_text(e));
    case ERR_SINGLE_COPY:
    case ERR_ALONE:
        return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                             "Invalid value for the parameter copies. Reason: %s.", err_text(e));
    case ERR_LOG_ONLY:
        return sqs_fault_set(f, SQS_FAULT_UNSUPPORTED_OPERATION,
                             "The operation is not supported on a compact topic, which is read as "
                             "a log, through the REST API.");
    case ERR_NEEDS_KEY:
        return sqs_fault_set(f, SQS_FAULT_UNSUPPORTED_OPERATION,
                             "Every message of a compact topic needs a key, for which SQS has no "
                             "parameter: send it through the REST API.");
    default:
        return sqs_fault_set(f, SQS_FAULT_INTERNAL_FAILURE, "Internal failure: %s.", err_text(e));
    }
}

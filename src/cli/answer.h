// SPDX-License-Identifier: Apache-2.0
/* What an answer of the broker means for a script: the exit status, and the words of an error. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include "base/bytes.h"

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILURE = 1,
    CLI_USAGE = 2,
    CLI_NOT_FOUND = 3,
    CLI_REFUSED = 4,     /* who asks is not known, or may not */
    CLI_UNAVAILABLE = 5, /* no connection, no answer in time, overloaded, or not ready: try again */
    CLI_EMPTY = 6,       /* receive: there was no message */
    CLI_PARTIAL = 7,     /* some messages of several went through */
    CLI_CONFIG = 78,     /* a setting, not the command line, is wrong (EX_CONFIG) */
};

/* From an HTTP status and the SQS fault's code ("" when there is none). */
enum cli_exit cli_exit_of_answer(long status, const char *code);
/* From how many of several went through, and the exit of the first that did not. */
enum cli_exit cli_exit_of_many(unsigned long done, unsigned long failed, enum cli_exit first);

/* The fault in an answer's JSON: {"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"…"}.
 * Texts are cut to fit; "" for what is not there. */
struct cli_fault {
    char code[128];
    char message[1024];
};
void cli_fault_read(struct bytes body, struct cli_fault *out);

#endif

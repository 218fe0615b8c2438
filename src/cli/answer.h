// SPDX-License-Identifier: Apache-2.0
/* What an answer of the broker means for a script: the exit status, and the words of an error. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include "base/bytes.h"

enum cli_exit {
#define EXIT(name, status, text) CLI_##name = status,
#include "cli_exits.def"
#undef EXIT
};

struct cli_exit_row {
    enum cli_exit status;
    const char *text;
};
enum {
#define EXIT(name, status, text) +1
    CLI_EXITS_N = 0
#include "cli_exits.def"
#undef EXIT
};
extern const struct cli_exit_row cli_exits[CLI_EXITS_N];

/* From an HTTP status and the SQS fault's code ("" when there is none). */
enum cli_exit cli_exit_of_answer(long status, const char *code);
/* From how many of several went through, and the exit of the first that did not. */
enum cli_exit cli_exit_of_many(unsigned long done, unsigned long failed, enum cli_exit first);

/* The fault in an answer's JSON, in SQS's form or in that of a problem (RFC 9457):
 *   {"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"…"}
 *   {"type":"/problems/topic_not_found","title":"…","detail":"…","errors":[{"detail":"…"}]}
 * Texts are cut to fit; "" for what is not there. */
struct cli_fault {
    long status; /* HTTP's */
    char code[128];
    char message[1024];
};
void cli_fault_read(long status, struct bytes body, struct cli_fault *out);

#endif

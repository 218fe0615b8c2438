// SPDX-License-Identifier: Apache-2.0
/* Which nonces were seen, in bounded memory: for each process that has called, the highest count
 * and a window of bits behind it, as RFC 4303 (section 3.4.3) does against replay. What is older
 * than the window counts as seen. Not for other rooms. */
#ifndef PEER_SEEN_H
#define PEER_SEEN_H

#include "peer/sign.h"

enum {
    SEEN_WINDOW = 32768, /* calls by which one may be overtaken by later ones of its process */
    SEEN_PROCESSES_MAX = 1024, /* 4 KiB each */
};

struct seen_process;
struct seen {
    struct seen_process *processes; /* owned */
};

enum seen_verdict { SEEN_NEW, SEEN_AGAIN, SEEN_FULL };

void seen_fini(struct seen *s);
/* Only for nonces whose signature was found good. A process that has not called for keep_ms is
 * forgotten; its old calls must be refused for another reason (their time) by then. */
enum seen_verdict seen_take(struct seen *s, struct sign_nonce nonce, int64_t now_ms,
                            int64_t keep_ms);

#endif

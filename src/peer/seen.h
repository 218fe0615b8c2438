// SPDX-License-Identifier: Apache-2.0
/* Which nonces were seen, in bounded memory: for each process that has called, the highest count
 * and a window of bits behind it, as RFC 4303 (section 3.4.3) does against replay. What is older
 * than the window counts as seen. Not for other rooms.
 *
 * A process is remembered as long as its calls could be played again, which is hours; brokers that
 * are started over and over would use up all windows in that time. So one that has long been silent
 * may lose its window to a new one: all of its calls count as seen from then on. */
#ifndef PEER_SEEN_H
#define PEER_SEEN_H

#include "peer/sign.h"

enum {
    SEEN_WINDOW = 32768,     /* calls by which one may be overtaken by later ones of its process */
    SEEN_WINDOWS_MAX = 1024, /* 4 KiB each */
    SEEN_PROCESSES_MAX = 65536,  /* with or without one; about 100 bytes each */
    SEEN_SILENT_MS = 10 * 60000, /* before a process may lose its window */
};

struct seen_process;
struct seen {
    struct seen_process *processes; /* owned */
    size_t windows_n;
};

enum seen_verdict { SEEN_NEW, SEEN_AGAIN, SEEN_FULL };

void seen_fini(struct seen *s);
/* Only for nonces whose signature was found good. A process that has not called for keep_ms is
 * forgotten; its old calls must be refused for another reason (their time) by then. */
enum seen_verdict seen_take(struct seen *s, struct sign_nonce nonce, int64_t now_ms,
                            int64_t keep_ms);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Looks at a history and says what in it must not have happened. It knows nothing of how the broker
 * works; for each message and topic it keeps what may be true: present or gone, leased until when,
 * received how often. While the broker lives, each of its decisions makes that certain. A crash
 * makes it uncertain again between what was durable for sure and all that was decided since; what
 * is seen afterwards decides. */
#ifndef TESTS_SIM_CHECKER_H
#define TESTS_SIM_CHECKER_H

#include "sim/history.h"

enum rule {
    RULE_NONE,
    RULE_LOST,        /* H1, H2: an answered send is never lost */
    RULE_DELETED,     /* H3: an answered delete (or purge) is final */
    RULE_PHANTOM,     /* H4: only what was sent is received, byte for byte */
    RULE_LEASE,       /* H5: one lease at a time; no delay and no lease ends early */
    RULE_ORDER,       /* H6: order within a message group, which waits while one is in flight */
    RULE_REFUSED,     /* H7: a refused send, or a duplicate, never appears */
    RULE_DEAD_LETTER, /* H8: one dead letter, when receives are used up, and not before */
    RULE_DEDUP,       /* H9: one message for a deduplication id in five minutes */
    RULE_COUNT,       /* H10: the receive count rises by one a receive */
    RULE_STARVED,     /* H11: what may be received is received; polls are woken; drains end */
    RULE_COMMITTED,   /* nothing is handed out before it is durable */
    RULE_EXPIRED,     /* nothing is handed out after its retention */
    RULE_RECEIPT,     /* receipts do what they may, and no more */
    RULE_COUNTERS,    /* queue_count is exact at rest */
    RULE_TIME,        /* partition time goes on by what has passed */
    RULE_START,       /* every start works, and finds every topic whole */
    RULE_TOPIC,       /* an answered create, change or delete of a topic is final */
    RULE_STRAYS,      /* nothing is left of topics that are gone, nothing missing of others */
    RULES
};

struct verdict {
    enum rule rule; /* RULE_NONE: all is well */
    size_t event;
    uint32_t message; /* HISTORY_NONE: of none */
    char text[200];
};

/* `damaged`: bits were flipped before the last start; then messages may be gone, but none may be
 * wrong. */
void checker_run(const struct history *h, bool damaged, struct verdict *out);
const char *checker_rule_name(enum rule rule);

#endif

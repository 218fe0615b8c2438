// SPDX-License-Identifier: Apache-2.0
/* Who is thought to be dead, because nobody listens where he should. A session of a killed process
 * stands for a whole TTL; but its machine refuses connections at once, and that is evidence enough
 * to end the session for it (catalog_lease_revoke). It never has to be true: who lives registers
 * anew, and a leader of an old epoch commits nothing (replica/README.md).
 *
 * A lost call is a reason to knock. Two knocks of our own in a row, a moment apart and both
 * refused, are the evidence. A knock without an answer is none, since a cut or a stopped process
 * looks like that; but a process that is just dying takes connections that it never serves, so it
 * is tried a few times more.
 *
 * Where somebody between us refuses for one who lives (a packet filter), revoking would go on for
 * ever: so the pauses between two of the same broker double, from 5 s up to 5 min, until it is
 * reached in its new session.
 *
 * Pure; one owner; no lock. */
#ifndef CLUSTER_SUSPECT_H
#define CLUSTER_SUSPECT_H

#include "cluster/view.h"

enum cluster_knock {
    CLUSTER_KNOCK_ANSWERED, /* somebody is there, whatever he says */
    CLUSTER_KNOCK_SILENT,
    CLUSTER_KNOCK_REFUSED,
};

struct cluster_suspect {
    uint32_t broker;
    bool is_out;            /* a knock is under way */
    bool is_revoked;        /* and not reached since */
    int knocks;             /* since the hint */
    int refusals;           /* the last ones of these */
    int64_t session, lease; /* as they were at the hint */
    int64_t again_ms;       /* the next knock; INT64_MAX: none */
    int64_t revoked_ms;     /* the last time */
    int64_t quiet_ms;       /* hints count for nothing before */
    int64_t pause_ms;       /* after the last revocation; 0: there was none */
};
struct cluster_suspects {
    struct cluster_suspect *at;
    size_t n, room;
    int64_t due_ms; /* the first again_ms */
};

void cluster_suspects_init(struct cluster_suspects *s);
void cluster_suspects_fini(struct cluster_suspects *s);
/* There is reason to knock at the broker's. True: do so now. */
bool cluster_suspects_hint(struct cluster_suspects *s, const struct cluster_view *v,
                           uint32_t broker, int64_t now_ms);
/* What came of a knock. The lease to be revoked now, or 0. */
int64_t cluster_suspects_knocked(struct cluster_suspects *s, const struct cluster_view *v,
                                 uint32_t broker, enum cluster_knock knock, int64_t now_ms);
/* A broker to knock at again, now; 0: none (any more). */
uint32_t cluster_suspects_due(struct cluster_suspects *s, const struct cluster_view *v,
                              int64_t now_ms);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Who is thought to be dead, because nobody listens where he should. A session of a killed process
 * stands for a whole TTL; but its machine refuses connections at once, and that is evidence enough
 * to end the session for it (catalog_lease_revoke). It never has to be true: who lives registers
 * anew, and a leader of an old epoch commits nothing (replica/README.md).
 *
 * A lost call is a reason to knock. Two knocks of our own, a moment apart and both refused, are the
 * evidence; a knock without an answer is none, since a cut or a stopped process looks like that.
 * Where somebody between us refuses for one who lives (a packet filter), revoking would go on for
 * ever: so the pauses between two of the same broker double, from 5 s up to 5 min.
 *
 * Pure; one owner; no lock. */
#ifndef CLUSTER_SUSPECT_H
#define CLUSTER_SUSPECT_H

#include "cluster/view.h"

struct cluster_suspect {
    uint32_t broker;
    bool is_out;            /* a knock is under way */
    int refusals;           /* in a row */
    int64_t session, lease; /* as they were at the first knock */
    int64_t again_ms;       /* the second knock; INT64_MAX: none */
    int64_t quiet_ms;       /* no knock before */
    int64_t pause_ms;       /* after the last revocation; 0: there was none */
};
struct cluster_suspects {
    struct cluster_suspect *at;
    size_t n, room;
    int64_t due_ms; /* the first second knock; INT64_MAX: none */
};

void cluster_suspects_init(struct cluster_suspects *s);
void cluster_suspects_fini(struct cluster_suspects *s);
/* There is reason to knock at the broker's. True: do so now. */
bool cluster_suspects_hint(struct cluster_suspects *s, const struct cluster_view *v,
                           uint32_t broker, int64_t now_ms);
/* What came of a knock. The lease to be revoked now, or 0. */
int64_t cluster_suspects_knocked(struct cluster_suspects *s, const struct cluster_view *v,
                                 uint32_t broker, bool is_refused, int64_t now_ms);
/* A broker to knock at a second time, now; 0: none (any more). */
uint32_t cluster_suspects_due(struct cluster_suspects *s, int64_t now_ms);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Who is thought to be dead or cut off, before his session's TTL has passed. His session can then
 * be ended for him (catalog_lease_revoke), and others lead what he led. It never has to be true:
 * who lives registers anew, and a leader of an old epoch commits nothing (replica/README.md).
 *
 * Each broker knocks at all others that live, twice a second: a question about nothing, whose
 * answer is waited for CLUSTER_KNOCK_MS. A lost call is a reason to knock at once. There are two
 * kinds of evidence:
 *
 * - Refused: nobody listens there. A killed process leaves its machine refusing connections, so two
 *   refused knocks in a row, a moment apart, are enough for one broker to end the session. A
 *   process that is just dying takes connections that it never serves, so it is tried a few times.
 * - Silent: nothing comes back for as long as two knocks take, as from a stopped process or over a
 *   cut way. That may be our own trouble: knocks whose end we ourselves come late to do not count
 *   (as in Lifeguard: Dadgar, Phillips, Currey 2018), and whoever finds a broker silent only says
 *   so to all others (a voice), who then knock too. Who finds it and has heard voices of a majority
 *   of the registered brokers, its own included, ends the session. One that is cut from the silent
 *   one alone is no majority, nor is one that is cut from everybody. (Indirect probes: SWIM, Das,
 *   Gupta, Motivala 2002. One of two brokers is no majority either: there the TTL decides.)
 *
 * Where the one lives all the same (a packet filter that refuses, a broker that is cut from the
 * others but not from the catalogue), this would go on for ever: so the pauses between two
 * revocations of the same broker double, from 5 s up to 5 min, until it is reached again. They
 * hold for those too whose voices have helped.
 *
 * Pure; one owner; no lock. */
#ifndef CLUSTER_SUSPECT_H
#define CLUSTER_SUSPECT_H

#include "cluster/view.h"

/* Two of these are how long a broker may answer nothing, whoever asks, before it is replaced: a
 * machine under load, a slow sync or a page that is read back take less. Followers' fetches come
 * back after 500 ms. */
enum { CLUSTER_KNOCK_MS = 700 };

enum cluster_knock {
    CLUSTER_KNOCK_ANSWERED, /* somebody is there, whatever he says */
    CLUSTER_KNOCK_SILENT,   /* nothing came, or what came tells nothing, as a broken connection */
    CLUSTER_KNOCK_REFUSED,
    CLUSTER_KNOCK_LATE, /* as SILENT, but we have looked too late: it is us who had no time */
};

struct cluster_suspect {
    uint32_t broker;
    bool is_out;            /* a knock is under way */
    bool is_hinted;         /* because of a lost call */
    bool is_revoked;        /* by us or with our voice, and not reached since */
    int knocks;             /* the last ones, which brought nothing: a row of them */
    bool is_voiced;         /* in this row we have found it silent */
    int refusals;           /* the last ones of these */
    int64_t session, lease; /* as they were at the row's first */
    int64_t first_ms;       /* when that was begun */
    int64_t again_ms;       /* the next knock; INT64_MAX: none */
    int64_t silent_ms;      /* it was found so, or still was; when it is reached, never */
    int64_t quiet_ms;       /* hints count for nothing before */
    int64_t revoked_ms;     /* the last time */
    int64_t spared_ms;      /* not revoked again before, nor told of */
    int64_t pause_ms;       /* after the last revocation; 0: there was none */
};
/* Somebody has found somebody silent. */
struct cluster_voice {
    uint32_t from, broker;
    int64_t session;
    int64_t heard_ms;
};
struct cluster_suspects {
    uint32_t self;
    struct cluster_suspect *at;
    size_t n, room;
    struct cluster_voice *voices; /* one a pair at most */
    size_t voices_n, voices_room;
    int64_t due_ms; /* the first again_ms */
};
/* What follows of a knock or a voice. */
struct cluster_suspicion {
    int64_t lease;   /* to be revoked now; 0: none */
    bool is_refused; /* for that reason */
    /* It was found silent, in this session (and with each further knock again): the others are to
     * hear of it, and calls to it are to be given up. */
    bool is_silent;
    int64_t session;
};

void cluster_suspects_init(struct cluster_suspects *s, uint32_t self);
void cluster_suspects_fini(struct cluster_suspects *s);
/* There is reason to knock at the broker's. True: do so now. */
bool cluster_suspects_hint(struct cluster_suspects *s, const struct cluster_view *v,
                           uint32_t broker, int64_t now_ms);
/* What came of a knock. */
struct cluster_suspicion cluster_suspects_knocked(struct cluster_suspects *s,
                                                  const struct cluster_view *v, uint32_t broker,
                                                  enum cluster_knock knock, int64_t now_ms);
/* `from` has said at heard_ms that it finds the broker silent in that session. A knock at it is due
 * then. */
struct cluster_suspicion cluster_suspects_told(struct cluster_suspects *s,
                                               const struct cluster_view *v, uint32_t from,
                                               uint32_t broker, int64_t session, int64_t heard_ms,
                                               int64_t now_ms);
/* A broker to knock at, now; 0: none (any more). To be asked again after each change of the view,
 * and at due_ms. */
uint32_t cluster_suspects_due(struct cluster_suspects *s, const struct cluster_view *v,
                              int64_t now_ms);
/* Nothing came from it when it was last tried, for long enough: what is asked of it now would
 * hang. Whoever is not knocked at any more, as its session or ours is over, counts as silent for
 * five seconds longer: nothing would tell that it is back. */
bool cluster_suspects_is_silent(const struct cluster_suspects *s, uint32_t broker, int64_t now_ms);

#endif

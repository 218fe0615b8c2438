// SPDX-License-Identifier: Apache-2.0
/* Who leads next: the controller's choice, as a pure function of the key and of what the members
 * said of themselves. Nothing here has to be right about who is alive: the compare-and-swap decides
 * whether the choice counts, and any in-sync member is a correct choice. */
#ifndef REPLICA_ELECT_H
#define REPLICA_ELECT_H

#include "replica/replica.h"

struct replica_candidate {
    uint32_t broker;
    bool is_live; /* its session is there */
    bool is_draining;
    bool has_answered; /* the next four count */
    bool is_well;      /* its health is REPLICA_HEALTH_OK */
    uint64_t incarnation;
    uint64_t last_epoch;
    uint64_t durable_end;
    /* Must have been asked for before any candidate's durable_end was, in an earlier round of
     * questions: a leader that is only thought dead goes on committing meanwhile, and a mark that
     * is younger than an end would look like proof of loss. */
    uint64_t high_water;
};

enum replica_choice {
    REPLICA_CHOICE_MADE,
    REPLICA_CHOICE_NOBODY,       /* no in-sync member is alive and well: try again later */
    REPLICA_CHOICE_INCONSISTENT, /* those who are have lost what was committed */
};

/* The candidates are in the order of preference, one a member, in-sync or not: whoever answers may
 * give evidence. `out`: the key to compare-and-swap at `k->version`; its op is set to `op`. On
 * INCONSISTENT it says so to all; raise an alarm. Unwritten on NOBODY. */
enum replica_choice replica_elect(const struct replica_key *k,
                                  const struct replica_candidate *candidates, size_t n, uint64_t op,
                                  struct replica_key *out);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Elections of many partitions in one go: two rounds of questions to all members that live, then a
 * choice for each. Private to the controller. */
#ifndef CLUSTER_ELECTION_H
#define CLUSTER_ELECTION_H

#include "cluster/control.h"
#include "replica/elect.h"

struct cluster_election_said {
    bool has_mark; /* it answered in the first round */
    uint64_t high_water;
    bool has_end; /* and in the second */
    struct replica_status status;
};

struct cluster_election {
    struct wire_partition of;
    int64_t version;    /* of the key that it is about */
    uint32_t preferred; /* 0: whoever is best; else this one or nobody */
    struct replica_key key;
    struct cluster_election_said said[REPLICA_MEMBERS_MAX]; /* in the members' order */
};

enum cluster_round {
    CLUSTER_ROUND_NONE,
    CLUSTER_ROUND_MARKS, /* how far is committed */
    CLUSTER_ROUND_ENDS,  /* how far does your log go */
};

struct cluster_elections {
    struct cluster_election *at;
    size_t n, room;
    enum cluster_round round;
    uint64_t serial;
    int64_t deadline_ms;
    uint32_t *waiting; /* brokers whose answer of this round is out */
    size_t waiting_n, waiting_room;
};

void cluster_elections_fini(struct cluster_elections *e);
/* Forgets those under way. */
void cluster_elections_clear(struct cluster_elections *e);
void cluster_elections_add(struct cluster_elections *e, const struct wire_partition *of,
                           const struct replica_key *key, uint32_t preferred);
/* Takes in one part of a broker's answer; `hint` is where the last one was found. */
void cluster_elections_hear(struct cluster_elections *e, uint32_t broker,
                            const struct wire_state_part *part, size_t *hint);
/* The broker has answered, or will not. */
void cluster_elections_done(struct cluster_elections *e, uint32_t broker);
/* All that is known of one: candidates in the members' order for replica_elect. `is_usable` and
 * `is_draining` are by place. */
enum replica_choice cluster_election_choose(const struct cluster_election *e,
                                            const bool is_usable[REPLICA_MEMBERS_MAX],
                                            const bool is_draining[REPLICA_MEMBERS_MAX],
                                            uint64_t op, struct replica_key *out);

#endif

// SPDX-License-Identifier: Apache-2.0
/* The controller as a pure machine: the view, answers to its questions and the time go in;
 * questions and changes of keys come out. It decides who leads. It never has to be right about who
 * lives: each change is a compare-and-swap of a key's version, and of the controller's own term, so
 * being wrong costs time and no message (replica/elect.h).
 *
 * What makes it act on a partition: nobody leads; the leader's session is gone or is another one
 * than when it took the lead; nobody listens where the leader should; the leader is leaving or
 * draining and another could lead; the leader says that it cannot; the leader is not the preferred
 * one (the first member), and it is time to look, or an operator has asked for
 * that one.
 *
 * An election asks all live members twice, marks first, then ends; why, elect.h says. The same
 * questions, asked now and then of the leaders alone, tell whether they do lead.
 *
 * One owner; no lock. */
#ifndef CLUSTER_CONTROL_H
#define CLUSTER_CONTROL_H

#include "base/rng.h"
#include "cluster/view.h"
#include "peer/wire.h"

struct cluster_control;

struct cluster_control_config {
    int64_t answer_ms;    /* a question's answer is waited for; 500 */
    int64_t ask_ms;       /* between two questions to each broker; 500 */
    int64_t look_ms;      /* a leader is asked again whether it leads; 5,000 */
    int64_t lead_ms;      /* a new leader has that long to take the lead; 3,000 */
    int64_t retry_ms;     /* after an election that could not be held, or was not heard of; 300 */
    int64_t vanish_ms;    /* more than half of the brokers gone within this ... ; 1,000 */
    int64_t hold_ms;      /* ... and no election is held for this: a session's TTL; 6,000 */
    int64_t prefer_ms;    /* leaders go back to the first in-sync member so often; 300,000 */
    size_t elections_max; /* partitions in one go; 600 */
};
void cluster_control_config_default(struct cluster_control_config *c);

struct cluster_control *cluster_control_new(const struct cluster_control_config *c);
void cluster_control_free(struct cluster_control *c);
/* A new term begins: whatever was thought before is forgotten. `reign` differs from all earlier
 * ones in this process and is above 0; the list was read within the term. */
void cluster_control_begin(struct cluster_control *c, uint64_t reign, int64_t now_ms);

enum cluster_action_kind {
    CLUSTER_ACTION_ASK,  /* POST /_r/v1/state; cluster_control_answer or _silence */
    CLUSTER_ACTION_SWAP, /* compare-and-swap the key at value.version, in this term */
};
struct cluster_action {
    enum cluster_action_kind kind;
    uint64_t serial;           /* ASK */
    uint32_t broker;           /* ASK */
    struct wire_partition *of; /* ASK: owned; these partitions. SWAP: one, below */
    size_t of_n;
    struct wire_partition swapped;
    struct replica_key value; /* SWAP */
};
struct cluster_actions {
    struct cluster_action *at;
    size_t n, room;
};
void cluster_actions_fini(struct cluster_actions *a);

/* Decides what is to be done now; appends to out. `rng` names changes. Call it every 100 ms or so,
 * and after an answer. */
void cluster_control_step(struct cluster_control *c, const struct cluster_view *v, int64_t now_ms,
                          struct rng *rng, struct cluster_actions *out);
/* What a broker answered. Late and unknown answers are ignored. */
void cluster_control_answer(struct cluster_control *c, const struct cluster_view *v,
                            uint64_t serial, uint32_t broker, const struct wire_state_part *parts,
                            size_t n, int64_t now_ms);
/* No answer, or none that could be read. is_refused: nobody listens there. */
void cluster_control_silence(struct cluster_control *c, const struct cluster_view *v,
                             uint64_t serial, uint32_t broker, bool is_refused);

#endif

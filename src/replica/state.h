// SPDX-License-Identifier: Apache-2.0
/* What is inside a replica, and the steps its files take with it. Only this room includes it. All
 * of it is guarded by the partition's lock, which the caller holds. */
#ifndef REPLICA_STATE_H
#define REPLICA_STATE_H

#include "replica/epochs.h"
#include "replica/replica.h"

/* What the log is being put through; nothing is appended or asked for meanwhile. */
enum log_work { LOG_WORK_NONE, LOG_WORK_CUT, LOG_WORK_SNAPSHOT, LOG_WORK_DISCARD };

/* May the log be what others are told it is? */
enum log_trust {
    LOG_BELIEVED,
    LOG_DAMAGED, /* a new incarnation is to be drawn */
    LOG_ADOPTED, /* it is drawn; once the key shows it, the log is set aside and begun anew */
};

/* What is known of the member with the same place in key.members. All but the session belongs to
 * one epoch, and to one incarnation of the member. */
struct peer {
    bool is_live;
    bool is_draining;
    bool has_fetched;
    uint64_t acked;        /* it has everything below durable */
    int64_t fetched_ms;    /* its last valid request came then */
    int64_t known_ms;      /* it was still of our epoch at this time */
    int64_t caught_up_ms;  /* at this time it had all there was */
    uint64_t end_at_fetch; /* our durable end at its last request */
    uint64_t told_high_water;
};

/* Our change to the key. Open from when it is first sent until the version is seen to have moved,
 * whatever answer came or did not come: an attempt may still be on its way (KIP-497). */
struct proposal {
    bool is_open;
    bool is_in_flight;        /* EVENT_SWAP is to come */
    bool is_to_repeat;        /* a read found the version unmoved */
    struct replica_key value; /* `version`: what it is compared with */
};

struct key_read {
    bool is_wanted;
    bool is_open;
    int64_t wanted_ms; /* not before this */
    int64_t asked_ms;
    uint64_t serial;
    int64_t version; /* of the key as known when it was asked: less cannot be answered */
    uint64_t epoch;
};

struct replica {
    struct replica_config config; /* set at birth */
    int64_t now_ms;               /* of this step, as the next two */
    uint64_t random;
    uint64_t log_end;

    uint64_t incarnation;
    bool may_register; /* it was drawn for this registration, and no key has shown it yet */
    enum log_trust trust;
    uint64_t read_before_giving_up; /* the read from which on the key is newer than the damage */
    enum replica_quarantine quarantine;

    struct replica_key key; /* version 0: not read yet */
    uint64_t led_before;    /* epochs up to this may have been led before a restart: never again */
    struct proposal proposal;
    struct key_read read;

    uint64_t start;
    uint64_t durable_end;
    uint64_t high_water;
    struct epochs epochs; /* of the log up to log_end */
    enum log_work work;

    enum replica_role role; /* together with the next two: whose rules apply */
    uint64_t role_epoch;
    uint32_t role_leader;

    /* A leader's. */
    bool is_leading;
    bool is_ready;
    uint64_t leso;
    uint64_t ahead_epoch; /* the newest that a request named; above our own: we are a zombie */
    struct peer *peers;   /* of key.members, in their places; owned; NULL: no key was read yet */

    /* A follower's. */
    bool is_asking;
    uint64_t fetch_serial;
    int64_t asked_ms;
    int64_t retry_ms; /* asks not before this */
    int64_t echo_ms;
    uint64_t told_high_water; /* in this epoch; counts as far as our log reaches */
};

/* Adds an effect of this type, zeroed, to be filled in. */
struct replica_effect *effect_add(struct replica_effects *out, enum replica_effect_type type);
void high_water_move(struct replica *r, uint64_t end, struct replica_effects *out);
void quarantine(struct replica *r, enum replica_quarantine reason, uint64_t offset,
                struct replica_effects *out);

/* catalogue.c: the key comes in, changes to it go out. */
void catalogue_on_key(struct replica *r, const struct replica_event *e,
                      struct replica_effects *out);
void catalogue_on_swap(struct replica *r, const struct replica_event *e);
void catalogue_want_read(struct replica *r, int64_t delay_ms);
/* Opens a proposal: `value` is a changed copy of the key as known. None may be open. */
void catalogue_propose(struct replica *r, const struct replica_key *value,
                       struct replica_effects *out);
void catalogue_settle(struct replica *r, struct replica_effects *out);

/* join.c: incarnations, and logs that are not believed. */
bool join_is_registered(const struct replica *r);
void join_on_damage(struct replica *r);
void join_on_discarded(struct replica *r);
void join_settle(struct replica *r, struct replica_effects *out);

/* role.c: who leads, as far as the key says and the log allows. */
void role_settle(struct replica *r, struct replica_effects *out);

/* leader.c */
void leader_reset(struct replica *r);
void leader_on_fetch(struct replica *r, const struct replica_event *e, struct replica_effects *out);
uint32_t leader_fresh(const struct replica *r, int64_t now_ms);
void leader_settle(struct replica *r, struct replica_effects *out);

/* isr.c: the in-sync set. */
bool isr_is_maximal_member(const struct replica *r, size_t member);
void isr_settle(struct replica *r, struct replica_effects *out);

/* follower.c */
void follower_reset(struct replica *r);
void follower_on_answer(struct replica *r, const struct replica_event *e,
                        struct replica_effects *out);
void follower_on_snapshot(struct replica *r, const struct replica_event *e);
void follower_settle(struct replica *r, struct replica_effects *out);

#endif

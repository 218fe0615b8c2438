// SPDX-License-Identifier: Apache-2.0
/* A partition's replicas, their disks, the network, the catalogue and a controller, in one thread
 * and virtual time, from a seed. README.md tells what is played and what must hold. */
#ifndef TESTS_SIM_REPLICA_WORLD_H
#define TESTS_SIM_REPLICA_WORLD_H

#include <stdio.h>

#include "base/rng.h"
#include "replica/elect.h"
#include "replica/replica.h"

enum {
    NODES_MAX = 5,
    LOG_ROOM = 600,
    VERSIONS_ROOM = 600,
    EPOCHS_ROOM = 600,
    ENTRIES_SENT_MAX = 8,
};

/* A record: its content is who wrote it and which it is. value 0: an EPOCH record. */
struct entry {
    uint64_t epoch;
    uint64_t value;
};

/* What survives a crash. Entries stand at their offsets; those below `start` are only kept so that
 * the epoch before the start is known. */
struct store {
    bool exists;
    bool is_adopted; /* the log is not to be believed */
    bool is_damaged; /* nor is this one, and every start finds that out */
    bool is_excused; /* it has lost data: what it lacks is not held against the replicas */
    uint64_t incarnation;
    uint64_t lied_end; /* where it ended before it lost what it does not know of */
    uint64_t start, durable, end;
    uint64_t high_water; /* a hint, as of the last sync */
    struct entry log[LOG_ROOM];
};

struct parked {
    bool is_there;
    struct replica_event event;
    struct replica_effect effect; /* the answer, for when the wait is over */
    uint64_t serial;              /* of the parking */
};

struct node {
    uint32_t broker; /* place + 1 */
    struct store store;
    struct replica *replica; /* NULL: down */
    uint64_t life;
    bool is_rebuilding; /* its data were lost, and it is not in sync again */
    int64_t clock_ms;   /* its boot time is that much ahead */
    int64_t paused_until_ms;
    int64_t sync_max_ms; /* how slow its disk is */
    bool is_syncing;
    uint64_t syncing_to;
    struct parked parked[NODES_MAX];
    /* Of its session in the catalogue. */
    bool is_live;
    uint64_t session;
    /* Links; the network's own weather comes on top. */
    bool cut_to[NODES_MAX];
    bool cut_from_catalogue;
    bool cut_from_controller;
    uint64_t seen_high_water; /* in this life and incarnation */
};

enum item_type {
    ITEM_TICK,
    ITEM_FETCH,
    ITEM_ANSWER,
    ITEM_SWAP,      /* reaches the catalogue */
    ITEM_SWAP_DONE, /* its outcome reaches the node */
    ITEM_READ,      /* reaches the catalogue */
    ITEM_KEY,       /* reaches the node */
    ITEM_SYNC,
    ITEM_CUT,
    ITEM_SNAPSHOT,
    ITEM_DISCARD,
    ITEM_PARK_END,
    ITEM_SESSION,     /* news of one reaches the node */
    ITEM_SESSION_END, /* it expires */
    ITEM_REGISTER,    /* a new one is asked for */
    ITEM_START,
    ITEM_CONTROL,
    ITEM_QUESTION, /* the controller's, to a member */
    ITEM_DECISION,
    ITEM_CLIENT,
    ITEM_FAULT,
};

struct item {
    int64_t at_ms;
    uint64_t order; /* among those of one time */
    enum item_type type;
    size_t node;   /* whom it is for, or who sent it to the catalogue */
    uint64_t life; /* of that node; 0: any */
    size_t from;
    union {
        struct replica_fetch fetch;
        struct {
            struct replica_answer answer;
            struct entry entries[ENTRIES_SENT_MAX];
            size_t n;
        } answer;
        struct {
            struct replica_key value;
            uint64_t op;
            enum replica_swap_outcome outcome;
            int64_t version;
            bool is_answered; /* the outcome will be told */
        } swap;
        struct {
            struct replica_key value;
            uint64_t serial;
        } key;
        struct {
            size_t of;
            bool is_live;
        } session;
        uint64_t number; /* CUT: the end; PARK_END, SESSION_END, QUESTION: which one */
    };
};

struct election {
    bool is_open;
    struct replica_key key;
    struct replica_candidate candidates[NODES_MAX];
    uint64_t sessions[NODES_MAX];
    size_t n;
};

/* How rough it is; drawn once a run. */
struct weather {
    unsigned drop_percent;
    unsigned double_percent;
    unsigned slow_percent; /* of messages take up to slow_ms */
    int64_t slow_ms;
    unsigned lost_swap_percent;
    int64_t fault_gap_ms;
    unsigned mistaken_percent; /* of the controller's looks end in an election for no reason */
    unsigned deaf_percent;     /* of the catalogue's news get lost; the rest take up to news_ms */
    int64_t news_ms;
    unsigned crash_percent; /* of crashes and losses that are drawn take place */
    bool lies;              /* a disk may lose its tail and not know it */
};

struct world {
    struct rng rng;
    uint64_t seed;
    FILE *told;
    bool is_verbose;
    int64_t now_ms;
    int64_t faults_until_ms;
    struct weather weather;
    size_t nodes_n;
    struct node nodes[NODES_MAX];

    struct item **queue; /* a heap by (at_ms, order) */
    size_t queue_n, queue_room;
    uint64_t order;

    struct replica_key versions[VERSIONS_ROOM];
    size_t versions_n;
    struct election election;
    uint64_t leader_session;
    bool controller_is_down;

    /* What is known to be true. */
    struct entry committed[LOG_ROOM];
    uint64_t committed_end;
    size_t led_by[EPOCHS_ROOM]; /* place + 1 */
    int64_t ready_ms[EPOCHS_ROOM];
    uint32_t members_most[EPOCHS_ROOM]; /* of the key's versions in this epoch */
    uint64_t next_value;
    const char *broken; /* the invariant that failed */
    const char *ended;  /* nothing more can be asked of the replicas */
    bool is_healed;
    uint64_t hash;

    struct {
        uint64_t steps, elections, commits, cuts, snapshots, discards, shrinks, expands, unknown,
            reassigned;
    } seen;
};

/* ---- world.c ---- */
uint64_t draw(struct world *w, uint64_t limit);
bool chance(struct world *w, unsigned percent);
uint64_t draw_id(struct world *w);
/* A copy of `item` comes due in `delay_ms`. */
void world_send(struct world *w, int64_t delay_ms, const struct item *item);
void world_say(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_break(struct world *w, const char *invariant);
const struct replica_key *world_key(const struct world *w);
/* A message between two brokers: lost, late or doubled as the weather has it. */
void world_net(struct world *w, size_t from, size_t to, const struct item *item);

/* ---- node.c ---- */
void node_start(struct world *w, struct node *n);
/* The process ends; with the power off, what was not synced is lost in part. */
void node_crash(struct world *w, struct node *n, bool is_power_cut);
void node_step(struct world *w, struct node *n, struct replica_event *e);
void node_on_item(struct world *w, struct node *n, struct item *item);
void node_append(struct world *w, struct node *n, uint64_t value);
void node_release(struct world *w, struct node *n);

/* ---- catalogue.c ---- */
void catalogue_begin(struct world *w);
void catalogue_swap_sent(struct world *w, struct node *n, const struct replica_key *value);
void catalogue_read_sent(struct world *w, struct node *n, uint64_t serial);
void catalogue_on_item(struct world *w, struct item *item);
/* Applies if the version is still value->version. */
bool catalogue_apply(struct world *w, const struct replica_key *value);
void catalogue_hint(struct world *w, struct node *n, bool may_be_old);
void catalogue_tell_sessions(struct world *w, struct node *n);
void catalogue_session_set(struct world *w, struct node *n, bool is_live);

/* ---- control.c ---- */
void control_on_item(struct world *w, struct item *item);
void control_members(struct world *w);

/* ---- weather.c ---- */
void weather_draw(struct world *w);
void weather_fault(struct world *w);
void weather_heal(struct world *w);

/* ---- ghost.c: the invariants ---- */
void ghost_stored(struct world *w); /* some store or the key has changed */
void ghost_high_water(struct world *w, struct node *n, uint64_t from, uint64_t to);
void ghost_lead(struct world *w, struct node *n, uint64_t epoch);
void ghost_ready(struct world *w, struct node *n);
void ghost_cut(struct world *w, struct node *n, uint64_t end);
void ghost_key(struct world *w, const struct replica_key *old, const struct replica_key *new);
void ghost_quarantine(struct world *w, struct node *n, const struct replica_effect *effect);
void ghost_gates(struct world *w, struct node *n);
/* Is this member of the in-sync set, as the key has it, in possession of its data? */
bool ghost_is_good(const struct world *w, const struct node *n);
/* Has it all that is committed? */
bool ghost_holds_all(const struct world *w, const struct node *n);
/* At the end of a healed run. */
void ghost_rest(struct world *w);

/* ---- run.c ---- */
struct sim_verdict {
    const char *broken; /* NULL: all held */
    const char *ended;
    uint64_t hash;
    uint64_t steps, elections, commits, cuts, snapshots, discards, shrinks, expands, unknown,
        reassigned;
};
/* Plays a seed. What is broken, and with `is_verbose` all that happens, is told to `told`. */
void replica_sim_run(uint64_t seed, FILE *told, bool is_verbose, struct sim_verdict *out);

#endif

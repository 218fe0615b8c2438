// SPDX-License-Identifier: Apache-2.0
/* A simulated cluster: three to five whole brokers in one thread and virtual time. Of each broker
 * the real code runs from plog up to queue, and of the room cluster all that decides (views,
 * membership, the controller, swaps). Played are the network, disks, clocks and the catalogue's
 * store; README.md says where the seams are.
 *
 *   run.c     a run: its beginning, faults, healing, the end
 *   world.c   time and chance
 *   broker.c  lives of brokers
 *   store.c   the catalogue: keys, leases, watches; catalogue.c: what a broker sees of it
 *   net.c     the network: fetches, snapshots; calls.c: questions
 *   client.c  what clients do; drain.c: how all is taken out in the end
 *   front.c   what other brokers give to leaders for clients
 *   judge.c   what must hold inside (I1 to I9)
 *   answers.c what clients may see (H1 to H11)
 *   weather.c faults
 *   scenes.c  runs that are told what to do: what chance does not meet often enough */
#ifndef TESTS_SIM_CLUSTER_WORLD_H
#define TESTS_SIM_CLUSTER_WORLD_H

#include <stdio.h>

#include "base/arena.h"
#include "base/rng.h"
#include "catalog/engine.h"
#include "cluster/inside.h"
#include "lib/fake_clock.h"
#include "lib/fault_disk.h"
#include "queue/copy_inside.h"
#include "queue/spread.h"

enum {
    BROKERS_MAX = 5,
    TOPICS = 2, /* a standard one of two partitions, and a FIFO one */
    PARTS = 3,
    MESSAGES_MAX = 1000,
    GROUPS = 3,
    FRONTS = 3,
    EPOCHS_MAX = 400,
    TTL_MS = 6000,  /* of a session */
    FRESH_MS = 3000 /* of check-quorum */
};

struct world;

/* What was seen of a copy in this life and incarnation. */
struct seen {
    uint64_t incarnation, epoch, high_water;
    uint64_t hashed; /* offset of the state that was looked at last */
    enum replica_quarantine quarantine;
};

struct session {
    struct catalog_session session; /* first */
    struct broker *broker;
    void (*lost)(void *self);
    void *lost_self;
    int64_t heard_ms;
    bool is_lost;
};

struct broker {
    struct world *world;
    uint32_t id;
    struct fault_disk *disk;
    bool is_replaced; /* the disk is a new one */
    bool is_excused;  /* it lost something and may not know */
    bool is_lossy;    /* and has not made up for it yet */
    struct fake_clock clock;
    int64_t clock_at_ms; /* up to when the clock has gone */
    uint64_t life;
    struct catalog *catalog; /* NULL: down; as the next two */
    struct queue *queue;
    struct cluster *cluster;
    bool is_up, is_dying, is_stopping;
    bool commits; /* an ITEM_COMMIT is on its way */
    struct session *session;
    int64_t ticked_ms;
    int64_t news_ms; /* the watch tells in order */
    int64_t paused_until_ms;
    int64_t sync_max_ms;
    bool cut_to[BROKERS_MAX + 1];
    bool cut_from_catalogue;
    unsigned moved; /* how often a leader's log did */
    struct item *parked;
    struct seen seen[PARTS];
};

enum item_type {
    ITEM_TURN,
    ITEM_COMMIT,
    ITEM_START,
    ITEM_FETCH,
    ITEM_ANSWER,
    ITEM_PARK_END,
    ITEM_SNAPSHOT_ASK,
    ITEM_SNAPSHOT,
    ITEM_QUESTION,
    ITEM_REPLY,
    ITEM_REPLY_OVERDUE,
    ITEM_NEWS,
    ITEM_LATE_CHANGE,
    ITEM_LEASES,
    ITEM_CLIENT,
    ITEM_FAULT,
    ITEM_UNDO, /* of a fault that ends by itself */
};

struct item {
    int64_t at_ms;
    uint64_t order; /* among those of one time */
    enum item_type type;
    uint32_t broker; /* whom it is for; 0: nobody */
    uint32_t from;
    uint64_t life; /* of that broker; 0: any */
    struct queue_copy_id of;
    struct replica_fetch fetch;
    struct replica_answer answer;
    uint64_t number; /* an epoch, or a call's or a parked fetch's name */
    bool is_last;    /* a parked fetch whose wait is over */
    bool is_voice;   /* a QUESTION: not one, but what is said of a silent broker */
    enum err err;
    struct buf bytes;
    struct catalog_kv kv; /* NEWS: owned; dropped where the value has no place */
    struct change *change;
    struct item *next; /* of parked ones */
};

/* A change that lands late. */
struct change {
    size_t cmps_n, ops_n;
    char keys[4][CATALOG_KEY_BYTES_MAX + 1];
    struct catalog_cmp cmps[2];
    struct catalog_op ops[2];
    struct buf values[2];
    int64_t lease;
};

struct key {
    char name[CATALOG_KEY_BYTES_MAX + 1];
    struct buf value;
    int64_t create_rev, mod_rev, lease;
};

struct lease {
    int64_t id, renewed_ms;
    bool is_over;
};

struct store {
    struct key **keys; /* by name */
    size_t keys_n;
    struct lease *leases;
    size_t leases_n;
    int64_t rev;
    bool is_down;
};

struct call {
    struct call *next;
    uint64_t name;
    uint32_t asker, to;
    struct peer_call_done done;
};

enum fate { FATE_NONE, FATE_OPEN, FATE_OK, FATE_FAILED, FATE_UNKNOWN };

/* A message as clients know it. */
struct message {
    uint32_t topic, group;
    enum fate sent, deleted;
    int64_t sent_start_ms, sent_end_ms, deleted_ms;
    bool is_received, is_id_known, may_be_deleted;
    uint8_t id[16];
    char receipt[QUEUE_RECEIPT_TEXT_MAX + 1];
    int64_t leased_ms;      /* when the last receive that brought it began */
    int64_t lease_until_ms; /* no other receive that begins before brings it (FIFO) */
    uint32_t count;
    unsigned sends_open;
    struct queue_repeat repeat; /* front 0: none; else also the partition, of all: */
    uint32_t part;
    bool is_settled; /* its front does not repeat it any more */
};

/* A broker that gives sends to leaders, as the room front does; none of those that are played. */
struct front {
    uint64_t life, next[PARTS];
};

enum verb { VERB_SEND, VERB_RECEIVE, VERB_DELETE, VERB_GIVE_BACK };

struct op {
    struct op *next;
    struct queue_wait w;
    struct world *world;
    enum verb verb;
    uint32_t broker, topic;
    uint64_t life;
    int64_t start_ms;
    int64_t visibility_ms;
    bool is_told;
    enum err err;
    size_t message;         /* SEND, DELETE */
    struct queue_sent sent; /* SEND */
    struct queue_received *got;
    size_t *serials;
    size_t got_n;
};

/* How rough it is; drawn once a run. */
struct weather {
    unsigned drop_percent, double_percent, slow_percent, unknown_percent, deaf_percent;
    unsigned crash_percent;
    int64_t slow_ms, news_ms, fault_gap_ms, client_gap_ms;
    bool has_small_disks, has_rot;
    bool is_tidy;   /* clients finish what they get, so that logs are released */
    bool is_loose;  /* the standard topic's min_isr is 1: no disk may be lost then */
    bool is_strict; /* the FIFO topic's is 3; scenes only */
};

/* What is known to be true of a partition. */
struct truth {
    uint64_t *records; /* committed ones by offset: a digest; 0: nobody has shown it yet */
    uint64_t *states;  /* the digest of the state at that offset; 0: not known */
    uint64_t room, end;
    bool is_new; /* the end, or the key */
    uint32_t led_by[EPOCHS_MAX];
    int64_t ready_ms[EPOCHS_MAX];
    struct replica_key key;
};

struct counts {
    uint64_t steps, elections, commits, shrinks, expands, crashes, snapshots, unknown, sends, takes,
        deletes, double_takes, damages, states, losses, voices,
        ended; /* sessions of those who were thought to be dead or cut off, and were up */
};

struct world {
    struct rng rng;
    uint64_t seed;
    FILE *told;
    bool is_verbose;
    int64_t now_ms, faults_until_ms;
    bool is_healed, is_beginning;
    struct weather weather;
    uint32_t brokers_n;
    struct broker brokers[BROKERS_MAX + 1]; /* by id */
    struct broker *running;                 /* whose code runs now */
    struct item **queue;                    /* a heap by (at_ms, order) */
    size_t queue_n, queue_room;
    uint64_t order, next_name;
    struct store store;
    struct call *calls;
    /* A scene keeps back what one broker asks of another from an offset on; the newest first. */
    uint32_t held_from, held_to;
    uint64_t held_offset;
    struct item *held;
    struct arena arena;
    uint8_t topics[TOPICS][16];
    struct truth parts[PARTS];
    struct message messages[MESSAGES_MAX];
    size_t messages_n;
    bool has_fronts;
    struct rng front_rng; /* of its own, so that runs without fronts are as they were */
    struct front fronts[FRONTS];
    struct op *ops;
    uint32_t believed[TOPICS]; /* whom clients last found to lead */
    uint32_t segment_bytes, journal_bytes;
    uint64_t snapshot_log_bytes;
    char broken[200]; /* what failed */
    uint64_t hash;
    struct counts counts;
};
extern struct world *world_now;

/* ---- world.c ---- */

uint64_t draw(struct world *w, uint64_t limit);
bool chance(struct world *w, unsigned percent);
struct item *item_new(enum item_type type, uint32_t broker);
void item_free(struct item *i);
/* Takes the item; it comes due in `delay_ms`. */
void world_send(struct world *w, int64_t delay_ms, struct item *i);
struct item *world_take(struct world *w);
void world_say(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_break(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Which of all partitions; PARTS: of another topic. */
size_t world_part(const struct world *w, const struct queue_copy_id *of);
struct queue_copy_id world_part_id(const struct world *w, size_t part);
void world_stir(struct world *w, uint64_t value); /* into the hash of all that happened */

/* ---- broker.c ---- */

bool broker_is_up(const struct broker *b);
struct broker *broker_of_clock(const struct clock *clock);
/* Its clock stands at now. */
void broker_enter(struct broker *b);
void broker_start(struct broker *b);
/* The process ends. With the power off, what was not synced is lost in part. */
void broker_die(struct broker *b, bool is_power_cut);
void broker_turn(struct broker *b);
void broker_commit(struct broker *b);
void broker_commit_soon(struct broker *b);
void broker_come_back(struct broker *b, int64_t delay_ms);
/* It is told to stop, and others take over before. */
void broker_stop(struct broker *b);
/* Another disk takes its place; it is down. */
void broker_replace(struct broker *b);

/* ---- store.c ---- */

void store_begin(struct world *w);
void store_end(struct world *w);
struct key *store_find(struct world *w, const char *name);
enum err store_change(struct world *w, const struct catalog_txn *t, int64_t *rev);
int64_t store_lease(struct world *w);
bool store_lease_renew(struct world *w, int64_t id);
void store_lease_end(struct world *w, int64_t id);
void store_leases_look(struct world *w);

/* ---- catalogue.c ---- */

struct catalog *catalogue_new(struct broker *b);
bool catalogue_is_reached(const struct broker *b);
void catalogue_session_look(struct broker *b);
void catalogue_late(struct world *w, struct change *change);
void change_free(struct change *change);

/* ---- net.c, calls.c ---- */

void net_on_item(struct world *w, struct item *i);
void net_forget(struct broker *b); /* its parked fetches */
void net_moved(struct broker *b, const struct queue_copy_id *of);
/* A letter between two brokers: lost, late or doubled as the weather has it. Takes i. */
void net_send(struct world *w, struct item *i, bool may_double);
int64_t net_delay_ms(struct world *w);
bool net_is_cut(const struct world *w, uint32_t from, uint32_t to);
void calls_on_item(struct world *w, struct item *i);
void calls_end(struct world *w, uint32_t asker);

/* ---- client.c, drain.c ---- */

void client_act(struct world *w);
/* A new message of the topic is sent at that broker. */
void client_send_new(struct world *w, uint32_t broker, uint32_t topic);
void client_sweep(struct world *w);
/* What was under way there has no answer. 0: everywhere, and all is freed. */
void client_lost(struct world *w, uint32_t broker);
size_t client_receive(struct world *w, uint32_t broker, uint32_t topic, size_t max,
                      int64_t visibility_ms);
void client_delete(struct world *w, uint32_t broker, size_t message);
uint32_t client_leader(struct world *w, uint32_t topic);
/* Whether the leader that the key names gives messages of the partition. */
bool client_is_served(struct world *w, size_t part);
/* With its key, if it has one. */
void client_send(struct world *w, uint32_t broker, size_t message);
void drain(struct world *w);

/* ---- front.c ---- */

void fronts_begin(struct world *w);
void fronts_act(struct world *w);

/* ---- judge.c ---- */

void judge_look(struct broker *b);
void judge_key(struct world *w, const char *name, struct bytes value, int64_t rev);
void judge_rest(struct world *w);
/* It is in sync, as the catalogue has it, and has what belongs there. */
bool judge_is_good(const struct broker *b, size_t part);
/* Nothing has been lost there that it has not got again. */
void judge_excuse(struct world *w);

/* ---- answers.c ---- */

void answers_received(struct world *w, struct op *op);
void answers_sent(struct world *w, struct op *op);
void answers_end(struct world *w);

/* ---- weather.c ---- */

void weather_draw(struct world *w);
void weather_fault(struct world *w);
void weather_undo(struct world *w, const struct item *i);
void weather_heal(struct world *w);

/* ---- run.c ---- */

struct sim_verdict {
    char broken[200]; /* "": all held */
    uint64_t hash;
    struct counts counts;
};
/* Plays a seed. What is broken, and with `is_verbose` all that happens, is told to `told`. */
void cluster_sim_run(uint64_t seed, FILE *told, bool is_verbose, struct sim_verdict *out);
/* Plays on until then. */
void run_until(struct world *w, int64_t until_ms);
/* The same for three brokers without weather: only what `scene` does to them happens. */
void cluster_sim_scene(uint64_t seed, void (*scene)(struct world *w), bool is_strict, FILE *told,
                       struct sim_verdict *out);

/* ---- scenes.c ---- */

/* A follower's disk is lost; what it asked before arrives when it has registered with an empty one.
 */
void scene_old_incarnation(struct world *w);
/* What a follower asked in one epoch arrives when the same broker leads again in a later one, and
 * the follower has meanwhile cut what it said that it had. The topic's min_isr is 3. */
void scene_old_epoch(struct world *w);

#endif

// SPDX-License-Identifier: Apache-2.0
/* What the files of the control side share. Private to this room.
 *
 * One thread does everything that blocks: it owns the view (writes it under `lk`, so that others
 * may read it there), the session and the controller. Whoever else has something for it leaves a
 * piece of work. A second thread ticks, so that a catalogue that is slow to answer stops no
 * replica. */
#ifndef CLUSTER_INSIDE_H
#define CLUSTER_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "cluster/cluster.h"
#include "cluster/control.h"
#include "cluster/data.h"
#include "cluster/member.h"
#include "cluster/suspect.h"
#include "cluster/swap.h"
#include "cluster/view.h"

enum cluster_work_kind {
    CLUSTER_WORK_SWAP,   /* the queue wants a key changed */
    CLUSTER_WORK_READ,   /* or read */
    CLUSTER_WORK_EVENTS, /* the watch tells of changes */
    CLUSTER_WORK_ANSWER, /* a broker said how its copies are */
    CLUSTER_WORK_LOST,   /* a call to a broker was lost: is anybody there? */
    CLUSTER_WORK_KNOCK,  /* what came of asking that */
    CLUSTER_WORK_VOICE,  /* a broker says that it finds another one silent */
};
struct cluster_work {
    struct cluster_work *next;
    enum cluster_work_kind kind;
    struct queue_copy_id of; /* SWAP, READ */
    struct replica_key key;  /* SWAP */
    uint64_t serial;         /* READ, ANSWER */
    uint32_t broker;         /* LOST, KNOCK, VOICE; ANSWER, and the next three */
    enum err err;
    struct wire_state_part *parts; /* owned */
    size_t parts_n;
    struct catalog_kv *events; /* EVENTS: owned; dropped ones have no value (at is NULL) */
    size_t events_n;
    enum cluster_knock knock; /* KNOCK */
    uint32_t from;            /* VOICE, and the next two */
    int64_t session;
    int64_t heard_ms; /* when it came: the thread may have been held up since */
};

struct cluster {
    /* set at birth */
    struct catalog *catalog;
    const struct clock *clock;
    uint32_t broker;
    struct queue_links links;
    struct cluster_data data;
    struct peer_route routes[CLUSTER_SERVE_ROUTES + 1 + CLUSTER_MORE_ROUTES];
    struct peer *_Atomic peer;
    struct queue *_Atomic queue; /* NULL until cluster_join */
    int64_t first_session;       /* set by cluster_join */

    /* guarded by lk */
    struct lock lk;
    struct lock_signal wake;      /* of the thread */
    struct lock_signal tick_wake; /* of the one that ticks */
    struct cluster_work *first, **last;
    int64_t lists_from_ms; /* after a list that failed: none before */
    bool wants_list;       /* something may have been missed */
    bool watch_waits;      /* for cluster_watch_go */
    bool is_lost;          /* the session */
    bool is_leaving;
    bool has_left; /* there is nothing to wait for any more */
    bool is_stopping;
    size_t asking_n; /* jobs that use the peer: it stays until they have heard */
    struct rng rng;
    struct cluster_view view;         /* written by the thread */
    struct cluster_suspects suspects; /* as the view */

    /* the thread's */
    pthread_t thread, ticker;
    bool has_threads;
    struct catalog_watch *watch;
    struct cluster_self self;
    bool is_expelled; /* the id is somebody else's now */
    int64_t list_ms;  /* the next list without a cause */
    int64_t again_ms; /* topics that the queue did not take are told again */
    bool has_untold;
    int64_t register_ms; /* the next try to register anew */
    int64_t leave_ms;    /* the latest time to go; 0: not leaving */
    struct cluster_control *control;
    struct rng control_rng;
    uint64_t reign;
    bool reigns;
    int64_t ctl_create_rev; /* of our term */
    int64_t claim_ms, step_ms;
    bool is_session_seen;   /* the view has shown our present session: when it does so no more, */
    int64_t session_number; /* which is this one, it was revoked */
};

/* ---- cluster.c ---- */

/* Takes w; any thread. */
void cluster_work_add(struct cluster *c, struct cluster_work *w);
void cluster_work_free(struct cluster_work *w);
/* As the process' death, for tests: nobody is told. Then cluster_free. */
void cluster_abandon(struct cluster *c);

/* cluster_join without the watch and the threads, for those who play them: cluster_turn, the
 * queue's ticks, and what a watch would tell. */
enum err cluster_enter(struct cluster *c, struct queue *q) MUST_USE;
struct catalog_watching cluster_watching(struct cluster *c);

/* ---- work.c: the thread ---- */

void *cluster_thread(void *self);
/* What the thread does again and again: all there is to do now. `waits`: until there is something.
 * False: the cluster stops. */
bool cluster_turn(struct cluster *c, bool waits);
void *cluster_ticker(void *self);
/* Lists the catalogue and tells the queue. */
enum err cluster_list(struct cluster *c) MUST_USE;
/* Tells the queue what has changed in the view. */
void cluster_tell(struct cluster *c);

/* ---- reign.c: the controller's part of the thread ---- */

void cluster_reign(struct cluster *c, int64_t now_ms);
void cluster_reign_answer(struct cluster *c, struct cluster_work *w, int64_t now_ms);

/* ---- knock.c: is anybody there? ---- */

/* LOST or KNOCK; any thread. */
void cluster_suspect_add(struct cluster *c, enum cluster_work_kind kind, uint32_t broker,
                         enum cluster_knock knock);
/* POST /_r/v1/silent. */
struct peer_route cluster_voice_route(struct cluster *c);
/* What it says; any thread. ERR_CORRUPT. */
enum err cluster_voice_take(struct cluster *c, uint32_t from, struct bytes body) MUST_USE;
/* The thread's: a call to the broker was lost; a knock has ended; a voice was heard; what is due
 * now. */
void cluster_knock_lost(struct cluster *c, uint32_t broker, int64_t now_ms);
void cluster_knock_done(struct cluster *c, const struct cluster_work *w, int64_t now_ms);
void cluster_voice_heard(struct cluster *c, const struct cluster_work *w, int64_t now_ms);
void cluster_knock_step(struct cluster *c, int64_t now_ms);

#endif

// SPDX-License-Identifier: Apache-2.0
/* All keys of the cluster as they were last heard of: a picture in memory, fed with lists, events
 * and our own changes. Pure: no clock, lock or I/O; whoever owns the view guards it.
 *
 * Each source tells the truth of some revision, and they overtake each other. So per key the
 * highest revision counts, and an event not above the last list's revision is old news. */
#ifndef CLUSTER_VIEW_H
#define CLUSTER_VIEW_H

#include "catalog/catalog.h"
#include "catalog/topic.h"
#include "cluster/keys.h"
#include "replica/key.h"

/* What the controller remembers of a partition; zero when the partition is new. control.c's. */
struct cluster_control_mark {
    uint64_t reign; /* of the controller that wrote the others; another one's do not count */
    uint64_t epoch; /* that the next four are about */
    int64_t leader_session; /* the leader's, when it said that it leads; 0: it did not yet */
    int64_t first_seen_ms;  /* of this epoch */
    int64_t asked_ms;       /* when the leader was last asked for */
    bool is_bad;            /* the leader said that it cannot lead */
    int64_t retry_ms;       /* no election before */
};

struct cluster_partition {
    int64_t mod_rev; /* 0: no such key */
    bool is_known;   /* and its value could be read */
    struct replica_key key;
    uint64_t stamp; /* of the last list that had it */
    struct cluster_control_mark mark;
};

struct cluster_topic {
    struct cluster_topic *next; /* of all */
    struct cluster_topic *next_in_slot;
    uint8_t id[16];
    int64_t mod_rev; /* of t/<tid>; 0: no such key (yet, or any more) */
    bool is_known;
    struct topic_config config; /* when known */
    uint64_t stamp;
    struct cluster_partition *partitions;
    uint32_t partitions_n; /* places, known or not */
    bool is_told;          /* the queue knows of it; work.c's */
    int64_t redrives_rev;  /* of r/<tid>; 0: there was none yet */
    struct buf redrives;   /* its value, which the queue reads; owned */
};

struct cluster_member {
    uint32_t broker;
    int64_t mod_rev; /* of b/<id>; 0: not registered */
    bool is_known;
    struct cluster_broker_key key;
    uint64_t stamp;
    int64_t session_rev; /* of s/<id>'s last change; 0: it is not there */
    bool is_live;        /* it is there and could be read */
    struct cluster_session_key session;
    uint64_t session_stamp;
};

enum cluster_change_kind {
    CLUSTER_CHANGE_TOPIC,      /* new, or its settings, or whether it is there */
    CLUSTER_CHANGE_PARTITION,  /* its key */
    CLUSTER_CHANGE_REDRIVES,   /* a topic's */
    CLUSTER_CHANGE_BROKER,     /* registered, live, draining, or its addresses */
    CLUSTER_CHANGE_CONTROLLER, /* ctl */
};
struct cluster_change {
    enum cluster_change_kind kind;
    uint8_t topic[16];
    uint32_t partition;
    uint32_t broker;
};

enum { CLUSTER_VIEW_SLOTS = 4096 };

struct cluster_view {
    int64_t rev;      /* the highest heard of */
    int64_t list_rev; /* of the last list; 0: there was none */
    uint64_t stamp;
    struct cluster_topic *slots[CLUSTER_VIEW_SLOTS]; /* by id */
    struct cluster_topic *topics;
    struct cluster_member *members; /* by broker, rising */
    size_t members_n, members_room;
    int64_t ctl_rev;        /* of its last change; 0: nobody is controller */
    int64_t ctl_create_rev; /* names one term of one controller */
    bool is_ctl_known;
    struct cluster_ctl_key ctl;
    uint64_t ctl_stamp;
    struct cluster_change *changes; /* since the last cluster_view_changes_clear */
    size_t changes_n, changes_room;
};

void cluster_view_init(struct cluster_view *v);
void cluster_view_fini(struct cluster_view *v);

/* One key has this value since mod_rev. A value that cannot be read is noted, and the key counts as
 * there but not known. */
void cluster_view_put(struct cluster_view *v, const char *key, struct bytes value,
                      int64_t create_rev, int64_t mod_rev);
void cluster_view_drop(struct cluster_view *v, const char *key, int64_t rev);
/* Everything, as of rev: what it lacks is gone. False, and nothing happens, when more is known
 * already. */
bool cluster_view_list(struct cluster_view *v, const struct catalog_kvs *kvs, int64_t rev);
void cluster_view_changes_clear(struct cluster_view *v);

/* Lent until the next change; NULL: there is none. */
struct cluster_topic *cluster_view_topic(const struct cluster_view *v, const uint8_t topic[16]);
struct cluster_partition *cluster_view_partition(const struct cluster_view *v,
                                                 const uint8_t topic[16], uint32_t partition);
struct cluster_member *cluster_view_member(const struct cluster_view *v, uint32_t broker);
bool cluster_view_is_live(const struct cluster_view *v, uint32_t broker);
/* Gets no leadership where there is another: told to drain, removed, or leaving. */
bool cluster_view_is_draining(const struct cluster_view *v, uint32_t broker);
/* The topic is ready or deleting, and the keys of all its partitions are known. */
bool cluster_view_is_whole(const struct cluster_topic *t);

#endif

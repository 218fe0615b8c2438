// SPDX-License-Identifier: Apache-2.0
/* What clients do to messages, but for receiving (poll.h), on a broker that may be one of several.
 * Each verb is carried out by the brokers that lead the partitions it is about, and goes on with
 * `next` on the request's loop once all of it is committed.
 *
 * A broker that is alone (call->links NULL) calls the queue and waits for the commit, nothing more;
 * when that fails, kind->refuse is called instead of `next`. Among others each entry has an error
 * of its own. What was not carried out because the leader had moved, or there was none, is tried
 * again for FRONT_VERB_MS. What has been given to a broker that did not answer may have been
 * carried out, and is tried again too: of deletes, changes of visibility, purges and counts twice
 * is as good as once; sends have a key (front_links.repeat_open), so that twice is once, and stay
 * with their partition. A send that is carried out here has none, and ends with ERR_UNKNOWN when
 * its commit fails. */
#ifndef FRONT_VERBS_H
#define FRONT_VERBS_H

#include "front/call.h"
#include "front/links.h"

enum {
    FRONT_VERB_MS = 10000, /* longer than an election takes (a session's end is 6 s) */
    FRONT_HOP_MS = 4000,   /* one call: who stands still for so long is asked anew, or another is */
};

/* The messages are borrowed until `next`; sent and errs as of queue_send, and ERR_NOT_LEADER,
 * ERR_UNKNOWN. */
void front_send(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                const struct queue_message *messages, size_t n, struct queue_sent *sent,
                enum err *errs, front_step *next);

struct front_change {
    struct bytes receipt;
    bool is_delete;
    int64_t visibility_ms; /* else */
    enum err err;          /* result: as of queue_delete and queue_extend */
};
/* In order, as far as they are about one partition. */
void front_change(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                  struct front_change *changes, size_t n, bool strict, front_step *next);

struct front_sum {
    enum err err; /* of the whole: what cannot be had is not left out silently */
    uint64_t finished;
    struct queue_counters counters;
};
/* As queue_purge_group; `finished` is written on an error too. When an answer was lost, it may be
 * too low. */
void front_purge(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                 struct bytes group, struct front_sum *sum, front_step *next);
/* As queue_count, once what was counted is committed. */
void front_count(struct front_call *c, struct queue_topic *t, struct queue_wait *w,
                 struct bytes group, struct front_sum *sum, front_step *next);

/* ---- for those who carry out hops ---- */

struct front_verb {
    /* Set by whoever runs it, in zeros; all borrowed until `next`. */
    struct front_call *call;
    struct queue_topic *topic;
    struct queue_wait *wait;
    enum front_verb_kind kind; /* not FRONT_RECEIVE */
    bool strict;
    struct bytes group;
    struct front_item *items; /* with all that their kind needs; sends: also the partition */
    size_t n;
    bool here; /* only here and only once: a hop */
    front_step *next;

    /* Its own. */
    int64_t deadline_boot_ms;
    int64_t pause_ms, pause_end_boot_ms;
    bool hurried;
    struct front_hop *hops; /* of this round */
    size_t hops_n;
    size_t local_n; /* items of this round that are carried out here, in `local` */
    struct front_item **local;
    void (*finish)(struct front_verb *v);
    void *result;
};
void front_verb_run(struct front_verb *v);

#endif

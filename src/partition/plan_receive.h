// SPDX-License-Identifier: Apache-2.0
/* One receive being planned: what both orders, standard and FIFO, share. For this room only. */
#ifndef PARTITION_PLAN_RECEIVE_H
#define PARTITION_PLAN_RECEIVE_H

#include "partition/state.h"
#include "partition/window_state.h"

struct receive {
    const struct partition *p;
    const struct partition_view *view;
    struct partition_window *w;
    struct group *g;
    size_t max; /* picks; no more are leased */
    uint64_t body_bytes_max;
    uint64_t body_bytes;
    bool is_full;     /* max or body_bytes_max is reached */
    bool look_ahead;  /* may ask for headers only to find other tenants' messages */
    bool skip_noisy;  /* messages of noisy tenants are passed over */
    bool has_skipped; /* some were: what is chosen may stand further on */
    bool redrives;    /* what is chosen becomes a MOVE to redrive_target, at most max of them */
    struct uuid redrive_target;
    bool count_only; /* nothing is granted: `out` is NULL */
    size_t counted;
    struct partition_grant *out;
    uint64_t need;
};

/* What became of a message that was looked at. */
enum verdict {
    VERDICT_TAKEN,  /* picked */
    VERDICT_MOVED,  /* its receives are used up: becomes a MOVE */
    VERDICT_HIDDEN, /* expired: passed over */
    VERDICT_LATER,  /* used up, but this receive starts no more moves */
    VERDICT_FULL,   /* the receive takes no more */
};

/* A message that is committed, due, unfinished and free. `e` may be NULL. */
enum verdict receive_offer(struct receive *r, const struct partition_header *h,
                           const struct entry *e);

/* Messages picked, moved or counted so far. */
size_t receive_taken(const struct receive *r);
/* ERR_NEED: r->need. */
enum err receive_standard(struct receive *r) MUST_USE;
enum err receive_fifo(struct receive *r) MUST_USE;
/* For receive_standard instead of receive_free, when there may be noisy tenants. */
enum err receive_fair(struct receive *r) MUST_USE;
/* The two halves of receive_standard. */
enum err receive_free(struct receive *r) MUST_USE;
enum err receive_in_order(struct receive *r) MUST_USE;
/* Whether the tenant has so much in flight that others come first. */
bool receive_is_noisy(const struct receive *r, uint64_t tenant);
/* It is picked, or becomes a MOVE. */
bool receive_has_chosen(const struct receive *r, uint64_t number);

#endif

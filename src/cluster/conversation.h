// SPDX-License-Identifier: Apache-2.0
/* What is to be asked of one leader, of one kind (in sync, or catching up), and how fast. Owned by
 * the fetcher's thread; no I/O. Not for other rooms. */
#ifndef CLUSTER_CONVERSATION_H
#define CLUSTER_CONVERSATION_H

#include <sys/queue.h>

#include "peer/wire.h"
#include "queue/copies.h"

struct conversation_want;

struct conversation {
    uint32_t leader;
    bool is_catchup;
    TAILQ_HEAD(, conversation_want) wants; /* oldest first */
    size_t wants_n;
    size_t calls_n;        /* under way */
    size_t parts_n;        /* in these */
    int64_t not_before_ms; /* after a lost call; boot time */
    int64_t backoff_ms;    /* 0: the last call was answered */
    uint32_t bytes_max;    /* of the next answer */
    LIST_ENTRY(conversation) link;
};

struct conversations {
    LIST_HEAD(, conversation) all; /* two a leader at most; they stay */
    struct conversation_want *by_id;
};

/* The throttle of catching up: bytes that may come now, below 0 when too many have. */
struct conversation_bucket {
    uint64_t bytes_per_s;
    int64_t bytes;
    int64_t filled_ms; /* boot time */
};
void conversation_bucket_fill(struct conversation_bucket *b, int64_t now_ms);
/* When it will be above 0. */
int64_t conversation_bucket_due_ms(const struct conversation_bucket *b);

void conversations_init(struct conversations *c);
void conversations_fini(struct conversations *c);
/* The newest request of a partition takes the place of one that was not sent yet. */
void conversations_want(struct conversations *c, const struct queue_copy_id *of, uint32_t leader,
                        bool is_catchup, const struct replica_fetch *request);

/* May a call be begun now? Else *due_ms is lowered to when it may by the passing of time alone. */
bool conversation_is_due(const struct conversation *k, const struct conversation_bucket *b,
                         int64_t now_ms, int64_t *due_ms);
/* Takes wants for one call, which is under way from now on and may wait at the leader for as long
 * as wait_ms, or less when many are. parts: freed with wire_fetch_fini. */
void conversation_call(struct conversations *c, struct conversation *k,
                       struct conversation_bucket *b, uint32_t wait_ms, struct wire_fetch *out);
/* A call of so many parts that asked for bytes_max is over. `is_slow`: it was lost at its deadline
 * or later on, so perhaps for its size. */
void conversation_answered(struct conversation *k, struct conversation_bucket *b, size_t parts_n,
                           uint32_t bytes_max, size_t bytes);
void conversation_lost(struct conversation *k, struct conversation_bucket *b, size_t parts_n,
                       uint32_t bytes_max, bool is_slow, int64_t now_ms);

/* Before conversation_lost: shall the parts of a call that broke be asked for once more? Not for
 * long: the replicas ask anew by themselves. */
bool conversation_repeats(const struct conversation *k);
/* One of these; what its replica wants meanwhile, of whomever, goes before. */
void conversation_want_again(struct conversations *c, const struct conversation *k,
                             const struct wire_fetch_part *part);

#endif

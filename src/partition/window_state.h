// SPDX-License-Identifier: Apache-2.0
/* What is inside a window. For this room's files only.
 *
 * Slots lie in a ring, in rising order of their numbers. A slot's place counts all slots ever put,
 * from 1, so that it stays the same while older ones leave. Slots of one message group are chained,
 * so that a FIFO receive finds a group's next message without walking over those of others.
 *
 * A message group is in `ready`, in `not_due`, or in neither: then it was seen to be blocked, by a
 * lease or for want of messages. It becomes ready again when one of its numbers is in the group's
 * list of changes (state.h) or is put. So a FIFO receive costs what has changed, not what is in
 * flight. */
#ifndef PARTITION_WINDOW_STATE_H
#define PARTITION_WINDOW_STATE_H

#include "partition/map.h"
#include "partition/partition.h"

struct group;

struct window_group {
    struct heap_node node; /* in `ready` by turn, then head, or in `not_due` by time */
    int64_t turn;          /* of its last service, or of when it came */
    uint64_t hash;
    uint64_t head;  /* the place of its oldest slot that may be unfinished, or 0 */
    uint64_t last;  /* the place of its newest slot */
    uint64_t slots; /* in the window; freed at 0 */
    bool waits;     /* which heap */
};

struct window_slot {
    struct partition_header header;
    uint64_t next;              /* the place of the message group's next slot, or 0 */
    struct window_group *group; /* messages without a group are one group */
};

/* What fair receives of standard groups go by (plan_fair.c). A tenant is a message-group id; it is
 * known by the 8 bytes of its hash that a header has. */
struct window_fair {
    struct map leased;  /* number -> tenant: leases that were planned with this window */
    struct map tenants; /* tenant -> how many of those it has */
    size_t heavy_n;     /* tenants that have PARTITION_NOISY_MIN or more */
    /* Headers behind a full window, of tenants that were not noisy when they were read: a ring. */
    struct partition_header *others;
    size_t others_first, others_n;
    uint64_t ahead;   /* all headers in [end, ahead) were looked through for others; or 0 */
    bool ahead_asked; /* the next headers from `ahead` on are for this */
};

struct partition_window {
    struct window_slot
        *ring;   /* places [first_place, end_place), each at ring[place & (room - 1)] */
    size_t room; /* 0 or a power of two */
    uint64_t first_place;
    uint64_t end_place;
    uint64_t first; /* numbers covered */
    uint64_t end;
    struct map groups;    /* message-group hash -> struct window_group, owned */
    struct heap ready;    /* groups that may have something deliverable */
    int64_t turn;         /* FIFO: receives planned so far */
    struct heap not_due;  /* those whose oldest message is not due */
    int64_t retention_ms; /* of the last walk: a longer one brings hidden messages back */

    struct partition_header *singles; /* a ring of the newest PARTITION_WINDOW_SINGLES_MAX */
    uint64_t singles_put;
    struct map singles_at; /* number -> place in singles + 1 */

    struct window_fair fair;

    uint32_t gid; /* what it is a window of: set by window_bind */
    uint64_t generation;
    bool bound;
    uint64_t swept_at; /* finished numbers of the group at the last window_sweep */
};

/* The window is of this group; emptied when it was of another, or of another generation. */
void window_bind(struct partition_window *w, const struct group *g);
/* Afterwards `number` is in [first, end]: a window behind it goes on from there, one ahead of it is
 * emptied. */
void window_reach(struct partition_window *w, uint64_t number);
/* The place of the first slot with a number >= `number`, or end_place. */
uint64_t window_place(const struct partition_window *w, uint64_t number);
struct window_slot *window_slot(const struct partition_window *w, uint64_t place);
/* In the window or among the singles; or NULL. */
const struct partition_header *window_header(const struct partition_window *w, uint64_t number);
bool window_is_full(const struct partition_window *w);
/* As partition_window_due_next, by now_ms. */
enum err window_due_search(const struct partition_window *w, const struct partition *p,
                           const struct group *g, int64_t now_ms, uint64_t *out,
                           uint64_t *need) MUST_USE;
/* The message group may have something deliverable. */
void window_group_ready(struct partition_window *w, struct window_group *group);
/* A ready group has another head or turn. */
void window_group_moved(struct partition_window *w, struct window_group *group);
/* Gives up the older half, as far as it lies below `number`. */
void window_halve(struct partition_window *w, uint64_t number);
/* Gives up what has been finished since, when that may be much. */
void window_sweep(struct partition_window *w, const struct group *g);

/* ---- plan_fair.c ---- */

void fair_forget(struct partition_window *w);
size_t fair_bytes(const struct partition_window *w);
/* A message with a message group is about to be leased. */
void fair_picked(struct partition_window *w, uint64_t number, uint64_t tenant);
/* Takes in which leases have ended since. */
void fair_update(struct partition_window *w, struct group *g);

#endif

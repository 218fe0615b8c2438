// SPDX-License-Identifier: Apache-2.0
/* What other threads post to a loop: requests to wake. A leaf lock, a list, and an eventfd that is
 * written only when the list stops being empty and only by threads other than the loop's own, so a
 * thousand wakes of one commit cost one system call.
 *
 * Counted: each request struct keeps its loop's mailbox alive, so that a late http_wake finds a
 * closed mailbox instead of freed memory. */
#ifndef HTTP_MAILBOX_H
#define HTTP_MAILBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"

struct http_request;

/* Part of each request; guarded by the mailbox's lock but for the last field: while the loop walks
 * what it took, another thread may post the same request anew. */
struct mail {
    struct http_request *next;
    bool queued;
    struct http_request *taken_next; /* owned by the loop: the list that mailbox_take gave */
};

struct mailbox {
    atomic_uint refs;
    int event_fd; /* set at birth; closed with the last reference */
    struct lock lock;
    /* guarded by lock */
    bool closed;
    bool owned; /* `owner` is the loop's thread */
    pthread_t owner;
    struct http_request *first, *last;
};

/* NULL when the system has no descriptor left. */
struct mailbox *mailbox_new(void);
void mailbox_hold(struct mailbox *m);
void mailbox_let_go(struct mailbox *m);
/* Called by the loop's thread first of all. */
void mailbox_own(struct mailbox *m);
/* Posts r with a reference to it, unless it is there already or the mailbox is closed. */
void mailbox_post(struct mailbox *m, struct http_request *r);
/* All that is there, oldest first, linked by mail.taken_next; each with a reference for the caller.
 */
struct http_request *mailbox_take(struct mailbox *m);
bool mailbox_is_empty(struct mailbox *m);
/* Ends the loop's sleep. Any thread. */
void mailbox_poke(struct mailbox *m);
/* After epoll has said that event_fd is readable. */
void mailbox_hush(struct mailbox *m);
/* Nothing is accepted any more. */
void mailbox_close(struct mailbox *m);

#endif

// SPDX-License-Identifier: Apache-2.0
/* Parking is lazy: a request parked in this pass is suspended only at the pass's end. One that is
 * woken by the commit at the end of the same pass was never suspended, which spares two epoll_ctl,
 * a walk over all suspended connections and an extra read. Between two runs of libmicrohttpd
 * nothing can happen to a connection, so nothing is lost by waiting. */
#include "base/check.h"
#include "http/inside.h"

void park_remove(struct http_request *r)
{
    CHECK(r->state == REQUEST_PARKED);
    if (heap_holds(&r->wake))
        heap_remove(&r->loop->wakes, &r->wake);
    LIST_REMOVE(r, link);
    atomic_fetch_sub_explicit(&r->loop->parked_n, 1, memory_order_relaxed);
}

void http_park(struct http_request *r, http_handler *on_wake, void *self, int64_t wake_boot_ms,
               bool poll)
{
    struct http_loop *l = r->loop;
    CHECK(r->state == REQUEST_HANDLING && on_wake != NULL && r->refuse_status == 0);
    r->state = REQUEST_PARKED;
    r->on_wake = on_wake;
    r->wake_self = self;
    r->poll = poll;
    if (r->suspended)
        LIST_INSERT_HEAD(&l->parked, r, link);
    else
        LIST_INSERT_HEAD(&l->fresh, r, link);
    atomic_fetch_add_explicit(&l->parked_n, 1, memory_order_relaxed);
    if (wake_boot_ms > 0) {
        /* A time that has passed is for the next pass, or this one might never end. */
        r->wake.key = wake_boot_ms > l->now_ms ? wake_boot_ms : l->now_ms + 1;
        heap_put(&l->wakes, &r->wake);
    }
    if (poll && http_stopping(l->server))
        mailbox_post(r->mailbox, r);
}

void http_wake(struct http_request *r)
{
    mailbox_post(r->mailbox, r);
}

void park_wake(struct http_request *r)
{
    if (r->state != REQUEST_PARKED)
        return; /* answered meanwhile; a wake before the park waits in the mailbox until after it */
    park_remove(r);
    r->state = REQUEST_HANDLING;
    r->on_wake(r->wake_self, r);
    CHECK(r->state != REQUEST_HANDLING); /* on_wake replies or parks */
}

void park_deliver(struct http_loop *l)
{
    struct http_request *next;
    for (struct http_request *r = mailbox_take(l->mail); r != NULL; r = next) {
        next = r->mail.taken_next;
        park_wake(r);
        request_let_go(r);
    }
}

void park_timers(struct http_loop *l)
{
    struct heap_node *first;
    while ((first = heap_first(&l->wakes)) != NULL && first->key <= l->now_ms) {
        struct http_request *r = CONTAINER_OF(first, struct http_request, wake);
        request_hold(r);
        park_wake(r);
        request_let_go(r);
    }
}

void park_suspend_fresh(struct http_loop *l)
{
    struct http_request *r;
    while ((r = LIST_FIRST(&l->fresh)) != NULL) {
        LIST_REMOVE(r, link);
        LIST_INSERT_HEAD(&l->parked, r, link);
        if (r->conn == NULL)
            continue;
        MHD_suspend_connection(r->conn->mhd);
        r->suspended = true;
    }
}

void park_wake_polls(struct http_loop *l)
{
    struct http_request *r;
    LIST_FOREACH(r, &l->parked, link)
    if (r->poll)
        mailbox_post(l->mail, r);
}

void park_drop_all(struct http_loop *l)
{
    struct http_request *r;
    park_suspend_fresh(l);
    LIST_FOREACH(r, &l->parked, link)
    if (r->suspended) {
        r->suspended = false;
        MHD_resume_connection(r->conn->mhd);
    }
    MHD_run(l->daemon); /* asks each one's handler, which refuses: the connection closes */
    while ((r = LIST_FIRST(&l->parked)) != NULL) {
        park_remove(r);
        r->state = REQUEST_REPLIED;
        request_finish(r, false);
    }
}

// SPDX-License-Identifier: Apache-2.0
#include "http/mailbox.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "http/inside.h"

struct mailbox *mailbox_new(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct mailbox *m = mem_new(sizeof *m);
    atomic_init(&m->refs, 1);
    m->event_fd = fd;
    lock_init(&m->lock, LOCK_RANK_MAILBOX);
    return m;
}

void mailbox_hold(struct mailbox *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

void mailbox_let_go(struct mailbox *m)
{
    if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    CHECK(m->first == NULL);
    close(m->event_fd);
    lock_fini(&m->lock);
    mem_free(m);
}

void mailbox_own(struct mailbox *m)
{
    lock_take(&m->lock);
    m->owner = pthread_self();
    m->owned = true;
    lock_give(&m->lock);
}

void mailbox_poke(struct mailbox *m)
{
    uint64_t one = 1;
    /* The only failure of a write to an eventfd is a full counter, which is readable as well. */
    ssize_t n = write(m->event_fd, &one, sizeof one);
    (void)n;
}

void mailbox_post(struct mailbox *m, struct http_request *r)
{
    bool poke = false;
    lock_take(&m->lock);
    if (!m->closed && !r->mail.queued) {
        poke = m->first == NULL && !(m->owned && pthread_equal(m->owner, pthread_self()));
        request_hold(r);
        r->mail.queued = true;
        r->mail.next = NULL;
        if (m->first == NULL)
            m->first = r;
        else
            m->last->mail.next = r;
        m->last = r;
    }
    lock_give(&m->lock);
    if (poke)
        mailbox_poke(m);
}

struct http_request *mailbox_take(struct mailbox *m)
{
    lock_take(&m->lock);
    struct http_request *first = m->first;
    for (struct http_request *r = first; r != NULL; r = r->mail.next) {
        r->mail.queued = false;
        r->mail.taken_next = r->mail.next;
    }
    m->first = m->last = NULL;
    lock_give(&m->lock);
    return first;
}

bool mailbox_is_empty(struct mailbox *m)
{
    lock_take(&m->lock);
    bool empty = m->first == NULL;
    lock_give(&m->lock);
    return empty;
}

void mailbox_hush(struct mailbox *m)
{
    uint64_t count;
    ssize_t n = read(m->event_fd, &count, sizeof count);
    (void)n;
}

void mailbox_close(struct mailbox *m)
{
    lock_take(&m->lock);
    m->closed = true;
    lock_give(&m->lock);
}

// SPDX-License-Identifier: Apache-2.0
/* How durable batches get from the tail cache into the segments. A round syncs the journal and
 * nothing else; what it made durable waits in the cache, where readers find it, until the cache is
 * half full of it or a checkpoint comes. So a log is opened and written once for many rounds, and
 * no commit waits for that. */
#include "base/mem.h"
#include "plog/inside.h"

enum { BATCHES_AT_ONCE = 64 };

void write_late_locked(struct plog_log *l, bool late)
{
    struct plog *p = l->plog;
    lock_check_held(&p->commit_lk);
    if (l->late == late)
        return;
    l->late = late;
    if (late) {
        TAILQ_INSERT_TAIL(&p->late, l, late_link);
        p->late_n++;
    } else {
        TAILQ_REMOVE(&p->late, l, late_link);
        p->late_n--;
    }
}

void write_enter(struct plog *p)
{
    lock_take(&p->commit_lk);
    while (p->writing)
        lock_signal_wait(&p->commit_signal, &p->commit_lk, -1);
    p->writing = true;
    lock_give(&p->commit_lk);
}

static bool try_enter(struct plog *p)
{
    lock_take(&p->commit_lk);
    bool mine = !p->writing;
    p->writing = true;
    lock_give(&p->commit_lk);
    return mine;
}

void write_leave(struct plog *p)
{
    lock_take(&p->commit_lk);
    p->writing = false;
    lock_signal_all(&p->commit_signal);
    lock_give(&p->commit_lk);
}

enum err write_log(struct plog_log *l, uint64_t to)
{
    struct plog *p = l->plog;
    enum err e = ERR_OK;
    while (e == ERR_OK && l->written.offset < to) {
        struct plog_batch *batches[BATCHES_AT_ONCE];
        struct batch_view views[BATCHES_AT_ONCE];
        size_t lent =
            cache_lend_run(&p->cache, &l->ring, l->written.offset, batches, BATCHES_AT_ONCE);
        size_t n = 0, bytes = 0;
        for (; n < lent && batches[n]->h.base_offset < to; n++) {
            views[n] = (struct batch_view){buf_bytes(&batches[n]->bytes), &batches[n]->h};
            bytes += batches[n]->bytes.n;
        }
        CHECK(n > 0);
        e = segment_append(l, views, n);
        if (e != ERR_OK)
            bytes = n = 0;
        cache_written(&p->cache, batches, n);
        for (size_t i = n; i < lent; i++)
            cache_give_back(&p->cache, batches[i]);
        atomic_fetch_sub_explicit(&l->late_bytes, bytes, memory_order_relaxed);
        atomic_fetch_sub_explicit(&p->late_bytes, bytes, memory_order_relaxed);
    }
    lock_take(&p->commit_lk);
    write_late_locked(l, l->written.offset < plog_durable(l));
    lock_give(&p->commit_lk);
    return e;
}

void write_forget_late(struct plog_log *l)
{
    struct plog *p = l->plog;
    atomic_fetch_sub_explicit(&p->late_bytes, atomic_exchange(&l->late_bytes, 0),
                              memory_order_relaxed);
    lock_take(&p->commit_lk);
    write_late_locked(l, false);
    lock_give(&p->commit_lk);
}

enum err write_late(struct plog *p)
{
    enum err e = ERR_OK;
    lock_take(&p->commit_lk);
    size_t n = p->late_n;
    lock_give(&p->commit_lk);
    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        lock_take(&p->commit_lk);
        struct plog_log *l = TAILQ_FIRST(&p->late);
        if (l != NULL)
            write_late_locked(l, false);
        lock_give(&p->commit_lk);
        if (l == NULL)
            break;
        e = write_log(l, plog_durable(l));
    }
    cache_trim(&p->cache);
    return e;
}

/* [writer] */
static void write_now(struct plog *p)
{
    enum err e = write_late(p);
    if (e != ERR_OK)
        store_fail(p, "writing a segment", e);
    atomic_store(&p->write_asked, false);
}

void write_if_full(struct plog *p)
{
    size_t unwritten = cache_unwritten(&p->cache), room = p->options.cache_bytes;
    if (plog_failed(p))
        return;
    if (unwritten > room && try_enter(p)) {
        write_now(p);
        write_leave(p);
    } else if (unwritten > room / 2 && p->options.on_full != NULL &&
               !atomic_exchange(&p->write_asked, true)) {
        p->options.on_full(p->options.self);
    }
}

size_t plog_unwritten_bytes(const struct plog *p)
{
    return cache_unwritten(&p->cache);
}

void plog_write_if_due(struct plog *p)
{
    lock_check_none_held();
    if (plog_failed(p) || cache_unwritten(&p->cache) <= p->options.cache_bytes / 2)
        return;
    keeper_enter(p);
    write_enter(p);
    write_now(p);
    write_leave(p);
    keeper_leave(p);
}

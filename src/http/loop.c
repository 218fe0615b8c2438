// SPDX-License-Identifier: Apache-2.0
/* A loop's pass: sleep until there is something; deliver wakes and timers; let libmicrohttpd read,
 * call handlers and write, without waiting; end the pass (the commit); deliver the wakes which that
 * brought; suspend what is still parked.
 *
 * Sleeping is ours: libmicrohttpd's own wait stalls when exactly 128 connections, or a multiple,
 * are ready (it asks again with the same timeout). MHD_run asks with none. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "http/inside.h"

enum { EVENTS_MAX = 64 };

static bool source_add(struct http_loop *l, int fd, enum source *source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static struct MHD_Daemon *daemon_start(struct http_loop *l, int listen_fd)
{
    /* The flag for suspending brings a pipe along, for waking a thread of libmicrohttpd's own; we
     * have none, and each resume would cost a write to it. */
    unsigned flags = MHD_USE_EPOLL | (MHD_ALLOW_SUSPEND_RESUME & ~(unsigned)MHD_USE_ITC);
    return MHD_start_daemon(flags, 0, NULL, NULL, receive_request, l, MHD_OPTION_LISTEN_SOCKET,
                            listen_fd, MHD_OPTION_CONNECTION_LIMIT,
                            l->server->options.connections_max + l->server->excess_max,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                            MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_URI_LOG_CALLBACK,
                            receive_target, l, MHD_OPTION_NOTIFY_COMPLETED, receive_completed, l,
                            MHD_OPTION_NOTIFY_CONNECTION, conn_notify, l, MHD_OPTION_END);
}

static bool daemon_watch(struct http_loop *l)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info != NULL && source_add(l, info->epoll_fd, &l->daemon_source);
}

enum err loop_open(struct http_loop *l, struct http_server *s, int listen_fd)
{
    l->server = s;
    l->daemon_source = SOURCE_DAEMON;
    l->mailbox_source = SOURCE_MAILBOX;
    l->rng = rng_from_system();
    l->now_ms = clock_boot_ms(s->options.clock);
    heap_init(&l->wakes);
    heap_init(&l->deadlines);
    heap_init(&l->lingering);
    l->mail = mailbox_new();
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->mail != NULL && l->epoll_fd >= 0 && source_add(l, l->mail->event_fd, &l->mailbox_source))
        l->daemon = daemon_start(l, listen_fd);
    if (l->daemon == NULL) {
        close(listen_fd);
        return ERR_IO;
    }
    return daemon_watch(l) ? ERR_OK : ERR_IO; /* the daemon owns listen_fd */
}

void loop_close(struct http_loop *l)
{
    if (l->daemon != NULL)
        MHD_stop_daemon(l->daemon);
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    while (!SLIST_EMPTY(&l->spare)) {
        struct http_request *r = SLIST_FIRST(&l->spare);
        SLIST_REMOVE_HEAD(&l->spare, spare);
        request_free(r);
    }
    heap_fini(&l->wakes);
    heap_fini(&l->deadlines);
    heap_fini(&l->lingering);
    if (l->mail != NULL)
        mailbox_let_go(l->mail);
}

/* ---- a pass ---- */

static int64_t earlier(int64_t at, const struct heap *h)
{
    const struct heap_node *first = heap_first(h);
    return first != NULL && first->key < at ? first->key : at;
}

static int sleep_ms(struct http_loop *l)
{
    unsigned long long daemon_ms;
    if (l->again || !mailbox_is_empty(l->mail))
        return 0;
    int64_t at = earlier(earlier(earlier(INT64_MAX, &l->wakes), &l->deadlines), &l->lingering);
    if (atomic_load(&l->server->phase) == SERVER_STOPPING) {
        int64_t stop = atomic_load(&l->server->stop_boot_ms);
        at = stop < at ? stop : at;
    }
    if (MHD_get_timeout(l->daemon, &daemon_ms) == MHD_YES && daemon_ms == 0)
        return 0;
    if (at == INT64_MAX)
        return -1;
    int64_t wait = at - clock_boot_ms(l->server->options.clock);
    return wait < 0 ? 0 : wait > 60000 ? 60000 : (int)wait;
}

static void events_take(struct http_loop *l)
{
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(l->epoll_fd, events, EVENTS_MAX, sleep_ms(l));
    CHECK(n >= 0 || errno == EINTR);
    l->again = false;
    l->now_ms = clock_boot_ms(l->server->options.clock);
    for (int i = 0; i < n; i++) {
        enum source *source = events[i].data.ptr;
        if (*source == SOURCE_MAILBOX)
            mailbox_hush(l->mail);
        else if (*source == SOURCE_LINGER)
            linger_ready(l, CONTAINER_OF(source, struct lingerer, source));
        else if (*source == SOURCE_PEER)
            conn_peer_left(CONTAINER_OF(source, struct conn, source));
    }
}

static void drain(struct http_loop *l)
{
    int fd = MHD_quiesce_daemon(l->daemon);
    if (fd >= 0)
        close(fd);
    l->drained = true;
    park_wake_polls(l);
}

static void pass(struct http_loop *l)
{
    const struct http_options *o = &l->server->options;
    events_take(l);
    if (!l->drained && http_stopping(l->server))
        drain(l);
    park_deliver(l);
    park_timers(l);
    conn_deadlines(l);
    l->running = true;
    MHD_run(l->daemon);
    l->running = false;
    conn_leave(l);
    if (o->pass_end != NULL)
        o->pass_end(o->self);
    park_deliver(l);
    park_suspend_fresh(l);
}

static bool is_over(const struct http_loop *l)
{
    return atomic_load(&l->server->phase) == SERVER_STOPPING && l->drained &&
           (l->in_flight == 0 || l->now_ms >= atomic_load(&l->server->stop_boot_ms));
}

static void *run(void *loop)
{
    struct http_loop *l = loop;
    mailbox_own(l->mail);
    while (!is_over(l))
        pass(l);
    l->ending = true;
    park_drop_all(l);
    MHD_stop_daemon(l->daemon);
    l->daemon = NULL;
    linger_end_all(l);
    CHECK(l->in_flight == 0 && LIST_EMPTY(&l->conns));
    mailbox_close(l->mail);
    for (struct http_request *r = mailbox_take(l->mail), *next; r != NULL; r = next) {
        next = r->mail.taken_next;
        request_let_go(r);
    }
    return NULL;
}

enum err loop_start(struct http_loop *l)
{
    /* Signals are for the main thread; SIGPIPE is for nobody. */
    sigset_t all, before;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    int e = pthread_create(&l->thread, NULL, run, l);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return e == 0 ? ERR_OK : ERR_IO;
}

void loop_join(struct http_loop *l)
{
    CHECK(pthread_join(l->thread, NULL) == 0);
}

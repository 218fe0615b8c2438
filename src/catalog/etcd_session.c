// SPDX-License-Identifier: Apache-2.0
/* A lease in etcd and the thread that keeps it alive.
 *
 * Whether the session may still be relied on is judged by our own clock alone: etcd counts the
 * lease's time from when it last heard of us, which is no earlier than when we last asked with
 * success. So the session is over for us ttl_s after that moment, at the latest when etcd may let
 * somebody else have its keys. The clock runs on while the machine sleeps. */
#include <pthread.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/etcd_json.h"
#include "catalog/etcd_live.h"

enum {
    KEEPS_A_TTL = 3,
    RETRY_MS = 200, /* after a round of all endpoints without success */
    REVOKE_MS = 2000,
};

struct etcd_session {
    struct catalog_session session; /* first */
    /* set at birth */
    int64_t ttl_ms;
    void (*lost)(void *self);
    void *self;
    pthread_t thread;
    /* the thread's; before and after it its maker's */
    struct etcd_http *http;
    int64_t heard_ms; /* when the last request that succeeded was sent */
    struct lock lk;
    struct lock_signal changed;
    bool stopping; /* guarded by lk */
};

static struct etcd_session *etcd_session_of(struct catalog_session *s)
{
    return CONTAINER_OF(s, struct etcd_session, session);
}

static int64_t now_ms(const struct etcd_session *s)
{
    return clock_boot_ms(etcd_http_clock(s->http));
}

static int64_t left_ms(const struct etcd_session *s)
{
    return s->heard_ms + s->ttl_ms - now_ms(s);
}

/* True when the session is to end. */
static bool wait_ms(struct etcd_session *s, int64_t timeout_ms)
{
    lock_take(&s->lk);
    if (!s->stopping && timeout_ms > 0)
        lock_signal_wait(&s->changed, &s->lk, timeout_ms);
    bool stopping = s->stopping;
    lock_give(&s->lk);
    return stopping;
}

/* ERR_NOT_FOUND: the lease is gone. */
static enum err keep(struct etcd_session *s)
{
    struct buf body = BUF_EMPTY;
    struct bytes answer;
    int64_t sent_ms = now_ms(s);
    etcd_http_until(s->http, s->heard_ms + s->ttl_ms);
    etcd_put_lease(&body, s->session.id);
    enum err e = etcd_http_ask(s->http, "lease/keepalive", buf_bytes(&body), false, &answer);
    if (e == ERR_OK)
        e = etcd_take_alive(answer);
    buf_fini(&body);
    if (e == ERR_OK)
        s->heard_ms = sent_ms;
    else if (e == ERR_CORRUPT)
        etcd_http_pass_by(s->http);
    return e;
}

static void *thread_main(void *self)
{
    struct etcd_session *s = self;
    int64_t wait = s->ttl_ms / KEEPS_A_TTL;
    while (!wait_ms(s, wait)) {
        /* A process that was stopped does not ask first: its keys may be another's by now. */
        enum err e = left_ms(s) > 0 ? keep(s) : ERR_BUSY;
        int64_t left = left_ms(s);
        if (e == ERR_NOT_FOUND || left <= 0) {
            if (wait_ms(s, 0))
                break;
            note(NOTE_WARNING, "catalog", "the session in etcd is over: %s",
                 e == ERR_NOT_FOUND ? "its lease is gone" : "etcd was not heard of for its time");
            s->lost(s->self);
            break;
        }
        wait = e == ERR_OK ? s->ttl_ms / KEEPS_A_TTL : RETRY_MS;
        wait = wait < left ? wait : left;
    }
    return NULL;
}

static enum err grant(struct etcd_session *s, int ttl_s)
{
    struct buf body = BUF_EMPTY;
    struct bytes answer;
    int64_t granted_s = 0;
    s->heard_ms = now_ms(s);
    etcd_put_grant(&body, ttl_s);
    /* When it is sent twice, the lease that nobody knows goes by itself. */
    enum err e = etcd_http_ask(s->http, "lease/grant", buf_bytes(&body), false, &answer);
    if (e == ERR_OK)
        e = etcd_take_grant(answer, &s->session.id, &granted_s);
    buf_fini(&body);
    if (e == ERR_CORRUPT)
        note(NOTE_ERROR, "catalog", "etcd's answer to a grant makes no sense");
    /* etcd grants more than a very short time, never less. */
    if (e == ERR_OK && granted_s < ttl_s)
        s->ttl_ms = granted_s * 1000;
    return e;
}

enum err etcd_session_new(struct catalog *c, const struct etcd_http *http, int ttl_s,
                          void (*lost)(void *self), void *self, struct catalog_session **out)
{
    struct etcd_session *s = mem_new(sizeof *s);
    s->session.catalog = c;
    s->http = etcd_http_again(http);
    s->ttl_ms = (int64_t)ttl_s * 1000;
    s->lost = lost;
    s->self = self;
    enum err e = grant(s, ttl_s);
    if (e != ERR_OK) {
        etcd_http_free(s->http);
        mem_free(s);
        return e;
    }
    lock_init(&s->lk, LOCK_RANK_CATALOG_WATCH);
    lock_signal_init(&s->changed);
    *out = &s->session; /* before the thread, whose call may want it */
    CHECK(pthread_create(&s->thread, NULL, thread_main, s) == 0);
    return ERR_OK;
}

enum err etcd_lease_end(struct etcd_http *http, int64_t id)
{
    struct buf body = BUF_EMPTY;
    struct bytes answer;
    etcd_put_lease(&body, id);
    /* Revoking twice does what revoking once does. */
    enum err e = etcd_http_ask(http, "lease/revoke", buf_bytes(&body), false, &answer);
    buf_fini(&body);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

void etcd_session_end(struct catalog_session *session)
{
    struct etcd_session *s = etcd_session_of(session);
    lock_take(&s->lk);
    s->stopping = true;
    lock_signal_all(&s->changed);
    lock_give(&s->lk);
    etcd_http_stop(s->http);
    CHECK(pthread_join(s->thread, NULL) == 0);
    etcd_http_resume(s->http);
    etcd_http_until(s->http, now_ms(s) + REVOKE_MS);
    if (etcd_lease_end(s->http, session->id) != ERR_OK)
        note(NOTE_INFO, "catalog", "the session in etcd ends by its time");
    etcd_http_free(s->http);
    lock_signal_fini(&s->changed);
    lock_fini(&s->lk);
    mem_free(s);
}

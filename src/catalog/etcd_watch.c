// SPDX-License-Identifier: Apache-2.0
/* A watch in etcd: a stream of lines over a connection of its own. The gateway cannot cancel a
 * watch but by the end of its connection (etcd's issue 12333), and a watch that was canceled for
 * its revision leaves the stream open: so whatever goes wrong, the stream is closed, and what may
 * have been missed is listed anew. */
#include "base/mem.h"
#include "base/note.h"
#include "catalog/etcd_json.h"
#include "catalog/etcd_live.h"

enum {
    /* Before the next stream, twice as long each time that one ends without an event, so that a
     * cluster in trouble, or one that does not let us watch, is not hammered. */
    PAUSE_MS = 200,
    PAUSE_MS_MAX = 3200,
};

struct etcd_watch {
    struct catalog_watch watch; /* first */
    struct etcd_http *http;     /* the thread's, but for etcd_http_stop */
    struct buf cluster;         /* the prefix of the catalogue's keys; set at birth */
    /* the thread's */
    int64_t after; /* what was told, or listed */
    int64_t pause_ms;
};

static struct etcd_watch *etcd_watch_of(struct catalog_watch *w)
{
    return CONTAINER_OF(w, struct etcd_watch, watch);
}

struct catalog_watch *etcd_stream_watch_new(const struct etcd_http *http, struct bytes prefix)
{
    struct etcd_watch *w = mem_new(sizeof *w);
    w->http = etcd_http_again(http);
    w->pause_ms = PAUSE_MS;
    buf_put_bytes(&w->cluster, prefix);
    return &w->watch;
}

static bool line_take(void *self, struct bytes line)
{
    struct etcd_watch *w = self;
    struct etcd_news news;
    if (etcd_take_news(line, buf_bytes(&w->cluster), &news) != ERR_OK) {
        note(NOTE_ERROR, "catalog", "what etcd says in a watch makes no sense");
        return false;
    }
    catalog_watch_tell(&w->watch, &news.kvs, w->after);
    if (news.kvs.n > 0)
        w->pause_ms = PAUSE_MS;
    if (news.kvs.n > 0 && news.kvs.at[news.kvs.n - 1].mod_rev > w->after)
        w->after = news.kvs.at[news.kvs.n - 1].mod_rev;
    catalog_kvs_fini(&news.kvs);
    if (news.ended)
        note(w->pause_ms == PAUSE_MS ? NOTE_INFO : NOTE_DEBUG, "catalog",
             "a watch in etcd ended (%s) and begins anew", news.why);
    return !news.ended;
}

void etcd_watch_run(struct catalog_watch *watch)
{
    struct etcd_watch *w = etcd_watch_of(watch);
    struct buf prefix = BUF_EMPTY, body = BUF_EMPTY;
    buf_put_bytes(&prefix, buf_bytes(&w->cluster));
    buf_put_text(&prefix, watch->prefix);
    while (catalog_watch_again(watch, &w->after)) {
        buf_clear(&body);
        etcd_put_watch(&body, buf_bytes(&prefix), w->after + 1);
        etcd_http_stream(w->http, "watch", buf_bytes(&body), line_take, w);
        if (catalog_watch_stops(watch, w->pause_ms))
            break;
        w->pause_ms = w->pause_ms < PAUSE_MS_MAX ? w->pause_ms * 2 : PAUSE_MS_MAX;
    }
    buf_fini(&prefix);
    buf_fini(&body);
}

void etcd_watch_wake(struct catalog_watch *w)
{
    etcd_http_stop(etcd_watch_of(w)->http);
}

void etcd_watch_free(struct catalog_watch *watch)
{
    struct etcd_watch *w = etcd_watch_of(watch);
    etcd_http_free(w->http);
    buf_fini(&w->cluster);
    mem_free(w);
}

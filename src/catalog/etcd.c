// SPDX-License-Identifier: Apache-2.0
/* The catalogue of a cluster: keys below a prefix in etcd. Reads are linearizable. */
#include <string.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/engine.h"
#include "catalog/etcd_http.h"
#include "catalog/etcd_json.h"
#include "catalog/etcd_live.h"

enum { LIST_KEYS_MAX = 1000 /* of one answer */ };

struct etcd {
    struct catalog catalog; /* first */
    struct etcd_http *http; /* guarded by the catalogue's lock */
    struct buf prefix;
};

static struct etcd *etcd_of(struct catalog *c)
{
    return CONTAINER_OF(c, struct etcd, catalog);
}

static void put_whole(struct buf *out, const struct etcd *c, const char *key)
{
    buf_put_bytes(out, buf_bytes(&c->prefix));
    buf_put_text(out, key);
}

static enum err judged(enum err e, const char *what)
{
    if (e == ERR_CORRUPT)
        note(NOTE_ERROR, "catalog", "etcd's answer to a %s makes no sense", what);
    return e;
}

static enum err etcd_get(struct catalog *catalog, const char *key, struct catalog_kv *out)
{
    struct etcd *c = etcd_of(catalog);
    struct buf whole = BUF_EMPTY, body = BUF_EMPTY;
    struct bytes answer;
    struct etcd_range range;
    put_whole(&whole, c, key);
    etcd_put_get(&body, buf_bytes(&whole));
    enum err e = etcd_http_ask(c->http, "kv/range", buf_bytes(&body), false, &answer);
    if (e == ERR_OK)
        e = judged(etcd_take_range(answer, buf_bytes(&c->prefix), &range), "read");
    buf_fini(&whole);
    buf_fini(&body);
    if (e != ERR_OK)
        return e;
    if (range.kvs.n == 0)
        e = ERR_NOT_FOUND;
    else if (range.kvs.n > 1 || strcmp(range.kvs.at[0].key, key) != 0)
        e = judged(ERR_CORRUPT, "read");
    if (e == ERR_OK) {
        *out = range.kvs.at[0];
        range.kvs.n = 0;
    }
    catalog_kvs_fini(&range.kvs);
    return e;
}

/* One answer's worth of keys from `from` on, all as of one revision. */
static enum err list_some(struct etcd *c, struct bytes prefix, struct bytes from, int64_t rev,
                          struct etcd_range *out)
{
    struct buf body = BUF_EMPTY;
    struct bytes answer;
    etcd_put_list(&body, prefix, from, rev, LIST_KEYS_MAX);
    enum err e = etcd_http_ask(c->http, "kv/range", buf_bytes(&body), false, &answer);
    buf_fini(&body);
    return e == ERR_OK ? judged(etcd_take_range(answer, buf_bytes(&c->prefix), out), "list") : e;
}

static enum err list_all(struct etcd *c, struct bytes prefix, struct catalog_kvs *found,
                         int64_t *at)
{
    struct etcd_range range = {.rev = 0, .more = true};
    struct buf from = BUF_EMPTY;
    size_t room = 0;
    int64_t rev = 0;
    enum err e = ERR_OK;
    buf_put_bytes(&from, prefix);
    while (e == ERR_OK && range.more) {
        e = list_some(c, prefix, buf_bytes(&from), rev, &range);
        if (e != ERR_OK)
            break;
        rev = rev == 0 ? range.rev : rev;
        if (range.more && range.kvs.n == 0)
            e = judged(ERR_CORRUPT, "list");
        for (size_t i = 0; i < range.kvs.n; i++)
            catalog_kvs_put(found, &room, range.kvs.at[i]);
        mem_free(range.kvs.at);
        if (e == ERR_OK && found->n > 0) { /* the first key behind the last one */
            buf_clear(&from);
            put_whole(&from, c, found->at[found->n - 1].key);
            buf_put_u8(&from, 0);
        }
    }
    buf_fini(&from);
    if (e == ERR_OK)
        *at = rev;
    return e;
}

static enum err etcd_list(struct catalog *catalog, const char *prefix, struct catalog_kvs *out,
                          int64_t *rev)
{
    struct etcd *c = etcd_of(catalog);
    struct catalog_kvs found = {NULL, 0};
    struct buf whole = BUF_EMPTY;
    put_whole(&whole, c, prefix);
    enum err e = list_all(c, buf_bytes(&whole), &found, rev);
    buf_fini(&whole);
    if (e == ERR_OK)
        *out = found;
    else
        catalog_kvs_fini(&found);
    return e;
}

static enum err etcd_txn(struct etcd *c, struct catalog_txn *t)
{
    struct buf body = BUF_EMPTY;
    struct bytes answer;
    etcd_put_txn(&body, buf_bytes(&c->prefix), t->cmps, t->cmps_n, t->ops, t->ops_n, t->lease);
    enum err e = etcd_http_ask(c->http, "kv/txn", buf_bytes(&body), t->ops_n > 0, &answer);
    buf_fini(&body);
    return e == ERR_OK ? judged(etcd_take_txn(answer, &t->rev), "transaction") : e;
}

static void etcd_run(struct catalog *c, struct catalog_txn *first)
{
    for (struct catalog_txn *t = first; t != NULL; t = t->next)
        t->err = etcd_txn(etcd_of(c), t);
}

static void etcd_free(struct catalog *catalog)
{
    struct etcd *c = etcd_of(catalog);
    etcd_http_free(c->http);
    buf_fini(&c->prefix);
    mem_free(c);
}

static enum err etcd_lease_revoke(struct catalog *c, int64_t id)
{
    return etcd_lease_end(etcd_of(c)->http, id);
}

static enum err etcd_session_begin(struct catalog *c, int ttl_s, void (*lost)(void *self),
                                   void *self, struct catalog_session **out)
{
    return etcd_session_new(c, etcd_of(c)->http, ttl_s, lost, self, out);
}

static struct catalog_watch *etcd_watch_new(struct catalog *catalog)
{
    const struct etcd *c = etcd_of(catalog);
    return etcd_stream_watch_new(c->http, buf_bytes(&c->prefix));
}

static const struct catalog_engine engine = {
    .get = etcd_get,
    .list = etcd_list,
    .run = etcd_run,
    .free = etcd_free,
    .lease_revoke = etcd_lease_revoke,
    .session_begin = etcd_session_begin,
    .session_end = etcd_session_end,
    .watch_new = etcd_watch_new,
    .watch_run = etcd_watch_run,
    .watch_wake = etcd_watch_wake,
    .watch_free = etcd_watch_free,
};

/* The name becomes part of each key, and its end is a place to stop a list at. */
static bool cluster_ok(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return n > 0 && n <= CATALOG_CLUSTER_NAME_MAX && name[n] == '\0';
}

enum err catalog_open_etcd(const struct catalog_etcd_options *o, struct catalog **out)
{
    struct etcd_http *http;
    if (!cluster_ok(o->cluster)) {
        note(NOTE_ERROR, "catalog",
             "a cluster's name has 1 to %d letters, digits, dashes, dots and underscores",
             CATALOG_CLUSTER_NAME_MAX);
        return ERR_INVALID;
    }
    enum err e = etcd_http_new(o, &http);
    if (e != ERR_OK) {
        note(NOTE_ERROR, "catalog",
             "etcd's members are named by their URLs, with commas between them, such as "
             "http://10.0.0.1:2379,http://10.0.0.2:2379");
        return e;
    }
    struct etcd *c = mem_new(sizeof *c);
    catalog_init(&c->catalog, &engine);
    c->http = http;
    buf_put_format(&c->prefix, "/leaselog/%s/", o->cluster);
    e = catalog_txn(&c->catalog, NULL, 0, NULL, 0, NULL); /* does anybody answer? */
    if (e != ERR_OK) {
        catalog_close(&c->catalog);
        return e;
    }
    *out = &c->catalog;
    return ERR_OK;
}

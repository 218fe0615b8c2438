// SPDX-License-Identifier: Apache-2.0
/* What is the same whatever stands behind the catalogue: bounds, the lock, lists. */
#include <string.h>

#include "base/mem.h"
#include "catalog/engine.h"

void catalog_init(struct catalog *c, const struct catalog_engine *engine)
{
    c->engine = engine;
    lock_init(&c->lk, LOCK_RANK_CATALOG);
    lock_init(&c->queue_lk, LOCK_RANK_CATALOG_QUEUE);
    c->last = &c->first;
}

void catalog_close(struct catalog *c)
{
    if (c == NULL)
        return;
    lock_fini(&c->queue_lk);
    lock_fini(&c->lk);
    c->engine->free(c);
}

/* Every public call but a session's and a watch's goes through here, because the lock is held over
 * syncs and the network. */
void catalog_lock(struct catalog *c)
{
    lock_check_none_held();
    lock_take(&c->lk);
}

bool catalog_failed(const struct catalog *c)
{
    return atomic_load_explicit(&c->failed, memory_order_relaxed);
}

static bool key_ok(const char *key)
{
    size_t n = strlen(key);
    return n > 0 && n <= CATALOG_KEY_BYTES_MAX;
}

enum err catalog_get(struct catalog *c, const char *key, struct catalog_kv *out)
{
    if (!key_ok(key))
        return ERR_INVALID;
    catalog_lock(c);
    enum err e = c->engine->get(c, key, out);
    lock_give(&c->lk);
    return e;
}

enum err catalog_list(struct catalog *c, const char *prefix, struct catalog_kvs *out)
{
    int64_t rev;
    return catalog_list_at(c, prefix, out, &rev);
}

enum err catalog_list_at(struct catalog *c, const char *prefix, struct catalog_kvs *out,
                         int64_t *rev)
{
    catalog_lock(c);
    enum err e = c->engine->list(c, prefix, out, rev);
    lock_give(&c->lk);
    return e;
}

/* What etcd would refuse is refused for SQLite too: an empty or long key, the same key twice. */
static enum err txn_check(const struct catalog_cmp *cmps, size_t cmps_n,
                          const struct catalog_op *ops, size_t ops_n)
{
    if (cmps_n > CATALOG_TXN_MAX || ops_n > CATALOG_TXN_MAX)
        return ERR_TOO_BIG;
    for (size_t i = 0; i < cmps_n; i++)
        if (!key_ok(cmps[i].key))
            return ERR_INVALID;
    for (size_t i = 0; i < ops_n; i++) {
        if (!key_ok(ops[i].key))
            return ERR_INVALID;
        if (!ops[i].drop && ops[i].value.n > CATALOG_VALUE_BYTES_MAX)
            return ERR_TOO_BIG;
        for (size_t k = 0; k < i; k++)
            if (strcmp(ops[i].key, ops[k].key) == 0)
                return ERR_INVALID;
    }
    return ERR_OK;
}

static void txn_wait(struct catalog *c, struct catalog_txn *t)
{
    lock_take(&c->queue_lk);
    *c->last = t;
    c->last = &t->next;
    lock_give(&c->queue_lk);
}

static struct catalog_txn *txns_take_locked(struct catalog *c)
{
    lock_check_held(&c->lk);
    lock_take(&c->queue_lk);
    struct catalog_txn *first = c->first;
    c->first = NULL;
    c->last = &c->first;
    lock_give(&c->queue_lk);
    return first;
}

/* Whoever gets the lock does the work of all who wait for it. */
static void txns_run_locked(struct catalog *c)
{
    struct catalog_txn *first = txns_take_locked(c), *next;
    c->engine->run(c, first);
    for (struct catalog_txn *t = first; t != NULL; t = next) {
        next = t->next;
        t->done = true;
    }
}

static enum err txn_do(struct catalog *c, struct catalog_txn *t, int64_t *rev)
{
    enum err e = txn_check(t->cmps, t->cmps_n, t->ops, t->ops_n);
    if (e != ERR_OK)
        return e;
    lock_check_none_held();
    txn_wait(c, t);
    catalog_lock(c);
    if (!t->done)
        txns_run_locked(c);
    lock_give(&c->lk);
    if (t->err == ERR_OK && rev != NULL)
        *rev = t->rev;
    return t->err;
}

enum err catalog_txn(struct catalog *c, const struct catalog_cmp *cmps, size_t cmps_n,
                     const struct catalog_op *ops, size_t ops_n, int64_t *rev)
{
    struct catalog_txn t = {.cmps = cmps, .cmps_n = cmps_n, .ops = ops, .ops_n = ops_n};
    return txn_do(c, &t, rev);
}

enum err catalog_txn_leased(struct catalog *c, const struct catalog_session *s,
                            const struct catalog_cmp *cmps, size_t cmps_n,
                            const struct catalog_op *ops, size_t ops_n, int64_t *rev)
{
    struct catalog_txn t = {
        .cmps = cmps, .cmps_n = cmps_n, .ops = ops, .ops_n = ops_n, .lease = s->id};
    CHECK(s->catalog == c);
    return txn_do(c, &t, rev);
}

/* ---- sessions ---- */

enum err catalog_session_begin(struct catalog *c, int ttl_s, void (*lost)(void *self), void *self,
                               struct catalog_session **out)
{
    CHECK(ttl_s > 0);
    lock_check_none_held();
    return c->engine->session_begin(c, ttl_s, lost, self, out);
}

int64_t catalog_session_id(const struct catalog_session *s)
{
    return s->id;
}

void catalog_session_end(struct catalog_session *s)
{
    if (s == NULL)
        return;
    lock_check_none_held();
    s->catalog->engine->session_end(s);
}

enum err catalog_lease_revoke(struct catalog *c, int64_t id)
{
    if (id == 0)
        return ERR_INVALID;
    catalog_lock(c);
    enum err e = c->engine->lease_revoke(c, id);
    lock_give(&c->lk);
    return e;
}

void catalog_kvs_put(struct catalog_kvs *kvs, size_t *room, struct catalog_kv kv)
{
    if (kvs->n == *room) {
        *room = *room == 0 ? 16 : *room * 2;
        kvs->at = mem_resize(kvs->at, *room * sizeof *kvs->at);
    }
    kvs->at[kvs->n++] = kv;
}

void catalog_kv_fini(struct catalog_kv *kv)
{
    mem_free(kv->key); /* the value lies behind it */
    *kv = (struct catalog_kv){0};
}

void catalog_kvs_fini(struct catalog_kvs *kvs)
{
    for (size_t i = 0; i < kvs->n; i++)
        catalog_kv_fini(&kvs->at[i]);
    mem_free(kvs->at);
    *kvs = (struct catalog_kvs){NULL, 0};
}

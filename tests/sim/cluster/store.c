// SPDX-License-Identifier: Apache-2.0
/* The catalogue's store: keys with revisions, leases, and what it tells its watchers. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/cluster/world.h"

struct key *store_find(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->store.keys_n; i++)
        if (strcmp(w->store.keys[i]->name, name) == 0)
            return w->store.keys[i];
    return NULL;
}

static struct key *key_make(struct world *w, const char *name)
{
    struct store *s = &w->store;
    struct key *k = mem_new(sizeof *k);
    size_t at = s->keys_n;
    (void)snprintf(k->name, sizeof k->name, "%s", name);
    s->keys = mem_resize(s->keys, (s->keys_n + 1) * sizeof s->keys[0]);
    for (; at > 0 && strcmp(s->keys[at - 1]->name, name) > 0; at--)
        s->keys[at] = s->keys[at - 1];
    s->keys[at] = k;
    s->keys_n++;
    k->create_rev = s->rev;
    return k;
}

static void key_drop(struct world *w, struct key *k)
{
    struct store *s = &w->store;
    size_t at = 0;
    while (s->keys[at] != k)
        at++;
    for (s->keys_n--; at < s->keys_n; at++)
        s->keys[at] = s->keys[at + 1];
    buf_fini(&k->value);
    mem_free(k);
}

/* The watches are hints: in order, but late, and sometimes silent. */
static void tell(struct world *w, const char *name, const struct key *k)
{
    size_t name_n = strlen(name) + 1;
    for (uint32_t id = 1; id <= w->brokers_n; id++) {
        struct broker *b = &w->brokers[id];
        if (!broker_is_up(b) || b->cut_from_catalogue ||
            (!w->is_healed && !w->is_beginning && chance(w, w->weather.deaf_percent)))
            continue;
        struct item *i = item_new(ITEM_NEWS, id);
        size_t value_n = k == NULL ? 0 : k->value.n;
        int64_t delay_ms = 1 + (int64_t)draw(w, (uint64_t)w->weather.news_ms);
        i->life = b->life;
        i->kv.key = mem_new(name_n + value_n + 1);
        memcpy(i->kv.key, name, name_n);
        i->kv.mod_rev = w->store.rev;
        if (k != NULL) {
            memcpy(i->kv.key + name_n, k->value.at, value_n);
            i->kv.value = (struct bytes){i->kv.key + name_n, value_n};
            i->kv.create_rev = k->create_rev;
        }
        if (b->news_ms < w->now_ms + delay_ms)
            b->news_ms = w->now_ms + delay_ms;
        world_send(w, b->news_ms - w->now_ms, i);
    }
}

static void put(struct world *w, const struct catalog_op *op, int64_t lease)
{
    struct key *k = store_find(w, op->key);
    if (op->drop) {
        if (k == NULL)
            return;
        key_drop(w, k);
        tell(w, op->key, NULL);
        return;
    }
    if (k == NULL)
        k = key_make(w, op->key);
    buf_clear(&k->value);
    buf_put_bytes(&k->value, op->value);
    k->mod_rev = w->store.rev;
    k->lease = lease;
    judge_key(w, k->name, op->value, k->mod_rev);
    tell(w, k->name, k);
}

static struct lease *lease_find(struct world *w, int64_t id)
{
    for (size_t i = 0; i < w->store.leases_n; i++)
        if (w->store.leases[i].id == id)
            return &w->store.leases[i];
    return NULL;
}

enum err store_change(struct world *w, const struct catalog_txn *t, int64_t *rev)
{
    for (size_t i = 0; i < t->cmps_n; i++) {
        const struct key *k = store_find(w, t->cmps[i].key);
        int64_t is = k == NULL ? 0 : t->cmps[i].what == CATALOG_MOD ? k->mod_rev : k->create_rev;
        if (is != t->cmps[i].rev)
            return ERR_CONFLICT;
    }
    const struct lease *l = t->lease == 0 ? NULL : lease_find(w, t->lease);
    if (t->lease != 0 && (l == NULL || l->is_over))
        return ERR_NOT_FOUND;
    if (t->ops_n > 0)
        w->store.rev++;
    for (size_t i = 0; i < t->ops_n; i++)
        put(w, &t->ops[i], t->lease);
    *rev = w->store.rev;
    return ERR_OK;
}

/* ---- leases ---- */

int64_t store_lease(struct world *w)
{
    struct store *s = &w->store;
    s->leases = mem_resize(s->leases, (s->leases_n + 1) * sizeof s->leases[0]);
    s->leases[s->leases_n] = (struct lease){(int64_t)s->leases_n + 1, w->now_ms, false};
    return s->leases[s->leases_n++].id;
}

bool store_lease_renew(struct world *w, int64_t id)
{
    struct lease *l = lease_find(w, id);
    if (l == NULL || l->is_over)
        return false;
    l->renewed_ms = w->now_ms;
    return true;
}

void store_lease_end(struct world *w, int64_t id)
{
    struct lease *l = lease_find(w, id);
    if (l == NULL || l->is_over)
        return;
    l->is_over = true;
    world_say(w, "lease %lld is over", (long long)id);
    w->store.rev++;
    for (size_t i = 0; i < w->store.keys_n;) {
        struct key *k = w->store.keys[i];
        char name[CATALOG_KEY_BYTES_MAX + 1];
        if (k->lease != id) {
            i++;
            continue;
        }
        memcpy(name, k->name, sizeof name);
        key_drop(w, k);
        tell(w, name, NULL);
    }
}

/* While the store has no quorum no lease ends; those that are left have their whole time again. */
void store_leases_look(struct world *w)
{
    for (size_t i = 0; i < w->store.leases_n; i++) {
        struct lease *l = &w->store.leases[i];
        if (w->store.is_down)
            l->renewed_ms = w->now_ms;
        else if (!l->is_over && w->now_ms - l->renewed_ms > TTL_MS)
            store_lease_end(w, l->id);
    }
}

void store_begin(struct world *w)
{
    w->store.rev = 1;
}

void store_end(struct world *w)
{
    while (w->store.keys_n > 0)
        key_drop(w, w->store.keys[0]);
    mem_free(w->store.keys);
    mem_free(w->store.leases);
}

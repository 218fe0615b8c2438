// SPDX-License-Identifier: Apache-2.0
/* What one broker sees of the catalogue: an engine of the room catalog whose answers get lost. */
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "catalog/engine.h"
#include "sim/cluster/world.h"

struct seam {
    struct catalog catalog; /* first */
    struct broker *broker;
};

static struct broker *broker_of(struct catalog *c)
{
    return CONTAINER_OF(c, struct seam, catalog)->broker;
}

bool catalogue_is_reached(const struct broker *b)
{
    return !b->is_dying && !b->cut_from_catalogue && !b->world->store.is_down;
}

/* In one piece, as catalog_kv_fini frees it. */
static struct catalog_kv kv_copy(const struct key *k)
{
    size_t name_n = strlen(k->name) + 1;
    struct catalog_kv kv = {.create_rev = k->create_rev, .mod_rev = k->mod_rev};
    kv.key = mem_new(name_n + k->value.n + 1);
    memcpy(kv.key, k->name, name_n);
    memcpy(kv.key + name_n, k->value.at, k->value.n);
    kv.value = (struct bytes){kv.key + name_n, k->value.n};
    return kv;
}

static enum err get(struct catalog *c, const char *name, struct catalog_kv *out)
{
    struct broker *b = broker_of(c);
    if (!catalogue_is_reached(b))
        return ERR_BUSY;
    const struct key *k = store_find(b->world, name);
    if (k == NULL)
        return ERR_NOT_FOUND;
    *out = kv_copy(k);
    return ERR_OK;
}

static enum err list(struct catalog *c, const char *prefix, struct catalog_kvs *out, int64_t *rev)
{
    struct broker *b = broker_of(c);
    struct store *s = &b->world->store;
    size_t room = 0;
    if (!catalogue_is_reached(b))
        return ERR_BUSY;
    *out = (struct catalog_kvs){.at = NULL};
    for (size_t i = 0; i < s->keys_n; i++)
        if (strncmp(s->keys[i]->name, prefix, strlen(prefix)) == 0)
            catalog_kvs_put(out, &room, kv_copy(s->keys[i]));
    *rev = s->rev;
    return ERR_OK;
}

/* ---- changes ---- */

static struct change *change_copy(const struct catalog_txn *t)
{
    struct change *c = mem_new(sizeof *c);
    c->cmps_n = t->cmps_n;
    c->ops_n = t->ops_n;
    c->lease = t->lease;
    for (size_t i = 0; i < t->cmps_n; i++) {
        (void)snprintf(c->keys[i], sizeof c->keys[i], "%s", t->cmps[i].key);
        c->cmps[i] = (struct catalog_cmp){c->keys[i], t->cmps[i].what, t->cmps[i].rev};
    }
    for (size_t i = 0; i < t->ops_n; i++) {
        (void)snprintf(c->keys[2 + i], sizeof c->keys[0], "%s", t->ops[i].key);
        buf_put_bytes(&c->values[i], t->ops[i].value);
        c->ops[i] = (struct catalog_op){c->keys[2 + i], buf_bytes(&c->values[i]), t->ops[i].drop};
    }
    return c;
}

void change_free(struct change *c)
{
    for (size_t i = 0; i < 2; i++)
        buf_fini(&c->values[i]);
    mem_free(c);
}

void catalogue_late(struct world *w, struct change *c)
{
    int64_t rev;
    struct catalog_txn t = {
        .cmps = c->cmps, .cmps_n = c->cmps_n, .ops = c->ops, .ops_n = c->ops_n, .lease = c->lease};
    enum err e = store_change(w, &t, &rev);
    world_say(w, "a change of %s lands late: %s", c->ops[0].key, err_text(e));
}

/* What becomes of a change whose answer is lost: it was carried out, or will be, or never. */
static void run_unanswered(struct broker *b, const struct catalog_txn *t)
{
    struct world *w = b->world;
    int64_t rev;
    w->counts.unknown++;
    switch (draw(w, 3)) {
    case 0:
        (void)!store_change(w, t, &rev);
        return;
    case 1:
        if (t->cmps_n <= 2 && t->ops_n >= 1 && t->ops_n <= 2) {
            struct item *i = item_new(ITEM_LATE_CHANGE, 0);
            i->change = change_copy(t);
            world_send(w, 1 + (int64_t)draw(w, chance(w, 50) ? 300 : 9000), i);
        }
        return;
    default:
        return;
    }
}

static void run(struct catalog *c, struct catalog_txn *first)
{
    struct broker *b = broker_of(c);
    struct world *w = b->world;
    for (struct catalog_txn *t = first; t != NULL; t = t->next) {
        t->err = ERR_BUSY;
        if (!catalogue_is_reached(b))
            continue;
        if (!w->is_healed && !w->is_beginning && chance(w, w->weather.unknown_percent))
            run_unanswered(b, t);
        else
            t->err = store_change(w, t, &t->rev);
    }
}

static void engine_free(struct catalog *c)
{
    mem_free(CONTAINER_OF(c, struct seam, catalog));
}

/* ---- sessions ---- */

static enum err lease_revoke(struct catalog *c, int64_t id)
{
    struct broker *b = broker_of(c);
    if (!catalogue_is_reached(b))
        return ERR_BUSY;
    for (uint32_t other = 1; other <= b->world->brokers_n; other++) {
        const struct session *s = b->world->brokers[other].session;
        b->world->counts.ended += other != b->id && s != NULL && s->session.id == id;
    }
    store_lease_end(b->world, id);
    return ERR_OK;
}

static enum err session_begin(struct catalog *c, int ttl_s, void (*lost)(void *self), void *self,
                              struct catalog_session **out)
{
    struct broker *b = broker_of(c);
    if (!catalogue_is_reached(b))
        return ERR_BUSY;
    struct session *s = mem_new(sizeof *s);
    CHECK(ttl_s * 1000 == TTL_MS && b->session == NULL);
    *s = (struct session){.session = {c, store_lease(b->world)},
                          .broker = b,
                          .lost = lost,
                          .lost_self = self,
                          .heard_ms = b->world->now_ms};
    b->session = s;
    *out = &s->session;
    return ERR_OK;
}

static void session_end(struct catalog_session *session)
{
    struct session *s = CONTAINER_OF(session, struct session, session);
    struct broker *b = s->broker;
    if (catalogue_is_reached(b))
        store_lease_end(b->world, session->id);
    b->session = NULL;
    mem_free(s);
}

void catalogue_session_look(struct broker *b)
{
    struct session *s = b->session;
    struct world *w = b->world;
    if (s == NULL || s->is_lost)
        return;
    bool is_gone = false;
    if (catalogue_is_reached(b) && w->now_ms - s->heard_ms >= TTL_MS / 3) {
        is_gone = !store_lease_renew(w, s->session.id);
        s->heard_ms = is_gone ? s->heard_ms : w->now_ms;
    }
    if (is_gone || w->now_ms - s->heard_ms >= TTL_MS) {
        s->is_lost = true;
        s->lost(s->lost_self);
    }
}

struct catalog *catalogue_new(struct broker *b)
{
    static const struct catalog_engine engine = {
        .get = get,
        .list = list,
        .run = run,
        .free = engine_free,
        .lease_revoke = lease_revoke,
        .session_begin = session_begin,
        .session_end = session_end,
    };
    struct seam *s = mem_new(sizeof *s);
    s->broker = b;
    catalog_init(&s->catalog, &engine);
    return &s->catalog;
}
